//! What the page of hidden states says of the run, and its pictures.

use super::StatesArguments;
use super::report::Answer;
use crate::number::{number, plural};
use crate::report::Run;
use crate::sampled_report::Sampled;
use anyhow::Result;
use madbayes::data::Real;
use madbayes::model::MixtureRows;
use madbayes::overview::ChainOverview;
use madbayes::structure::CompactPartition;

/// Writes the page of --report, and the pictures of --plots that are on it.
pub fn write<T: Real>(answer: &Answer, arguments: &StatesArguments, rows: MixtureRows<T>) -> Result<()> {
    let (fit, hmm) = (answer.fit, answer.hmm);
    let traces: Vec<(Vec<f64>, Vec<f64>)> = fit
        .chains
        .iter()
        .map(|chain| (chain.n_states.iter().map(|&k| k as f64).collect(), chain.ln_joint.clone()))
        .collect();
    let names = ["states", "log joint", "concentration", "gamma"];
    let r_hat = names.iter().zip(fit.r_hat).map(|(name, r)| (name.to_string(), r)).collect();
    let draws: Vec<&CompactPartition> =
        fit.chains.iter().flat_map(|chain| chain.draws.iter().map(|draw| &draw.states)).collect();
    let chains = ChainOverview::new(&traces, hmm.schedule.burn_in, r_hat).with_draws(
        &draws,
        fit.estimate.labels(),
        &fit.certainty,
        hmm.seed,
    );
    let best = fit.chains.iter().filter_map(|chain| chain.best.as_ref()).map(|(_, ln)| *ln).fold(f64::NAN, f64::max);
    let described = format!(
        "The state of every row of {}, in order; the legend below names the colours.",
        plural(answer.cut.sequences.len(), "sequence")
    );
    Sampled {
        run: Run {
            file: &arguments.input.file,
            n_rows: answer.table.n_rows,
            n_columns: answer.table.names.len(),
            seed: hmm.seed,
            seconds: answer.seconds,
            objective: Some(-best),
            converged: !fit.stopped && answer.agree(),
            stopped: fit.stopped,
        },
        group: "state",
        columns: &answer.table.names,
        units: fit.model.standardise.as_ref(),
        estimate: &fit.estimate,
        loss: hmm.loss,
        labels: answer.table.labels.as_ref(),
        row_numbers: answer.table.row_numbers.as_deref(),
        chains,
        sequences: Some((answer.segments(|picture| picture.svg()), described, &fit.model.transitions)),
        more: vec![
            ("Chains".into(), format!("{} of {} sweeps", fit.chains.len(), hmm.schedule.sweeps)),
            ("Largest log joint".into(), number(best)),
        ],
        threads: hmm.threads,
    }
    .write(rows, arguments.report.as_deref(), arguments.plots.as_deref())
}
