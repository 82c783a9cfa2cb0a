//! What the page of a mixture says of the run, and its pictures.

use super::Answer;
use crate::number::number;
use crate::report::{Facts, Run};
use crate::sampled_report::Sampled;
use anyhow::Result;
use madbayes::data::Real;
use madbayes::model::MixtureRows;
use madbayes::overview::ChainOverview;

/// Writes the page of --report, and the pictures of --plots that are on it.
pub fn write<T: Real>(answer: &Answer, rows: MixtureRows<T>) -> Result<()> {
    let (fit, mixture, job) = (answer.fit, answer.mixture, answer.job);
    let traces: Vec<(Vec<f64>, Vec<f64>)> = fit
        .chains
        .iter()
        .map(|chain| (chain.n_groups.iter().map(|&k| k as f64).collect(), chain.ln_joint.clone()))
        .collect();
    let r_hat = answer.diagnosed().iter().zip(fit.r_hat).map(|((name, _), r)| (name.to_string(), r)).collect();
    let chains = ChainOverview::new(&traces, mixture.schedule.burn_in, r_hat).with_draws(
        &answer.draws(),
        fit.estimate.labels(),
        &fit.certainty,
        mixture.seed,
    );
    let mut more: Facts =
        vec![("Chains".into(), format!("{} of {} sweeps", fit.chains.len(), mixture.schedule.sweeps))];
    if let Some(objective) = answer.objective {
        more.push(("Mean loss of the labels over the draws".into(), number(objective)));
    }
    let best = fit.chains.iter().filter_map(|chain| chain.best.as_ref()).map(|(_, ln)| *ln).fold(f64::NAN, f64::max);
    more.push(("Largest log joint".into(), number(best)));
    Sampled {
        run: Run {
            file: &job.arguments.input.file,
            n_rows: fit.estimate.n_rows(),
            n_columns: job.names.len(),
            seed: mixture.seed,
            seconds: answer.seconds,
            objective: None,
            converged: answer.converged(),
            stopped: fit.stopped,
        },
        group: "cluster",
        columns: job.names,
        units: fit.model.standardise.as_ref(),
        estimate: &fit.estimate,
        loss: mixture.loss,
        labels: job.labels,
        row_numbers: job.row_numbers,
        chains,
        sequences: None,
        more,
        threads: mixture.threads,
    }
    .write(rows, job.arguments.report.as_deref(), job.arguments.plots.as_deref())
}
