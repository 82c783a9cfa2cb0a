//! Where chains of hidden states end that begin in different places, with and without split-merge moves of states.

use crate::clusters::shared;
use crate::common::data;
use anyhow::Result;
use madbayes::data::Data;
use madbayes::gibbs::{ChainStart, HmmMethod, HmmSampler, STATE_SPLIT_MERGE, Schedule};
use madbayes::hard::DpMeans;
use madbayes::likelihood::{Emissions, Full, FullGroups, within_covariance};
use madbayes::metrics::adjusted_rand_index;
use madbayes::select::fit_exactly;
use madbayes::simulate::HiddenMarkov;
use madbayes::structure::{Partition, Sequences};
use madbayes::watch::Unwatched;
use std::fmt::Write;

const SWEEPS: usize = 200;
/// Sweeps whose log joints have a spread.
const LAST: usize = 50;
const METHODS: [(&str, HmmMethod); 2] = [("direct", HmmMethod::Direct), ("beam", HmmMethod::Beam)];

/// Two chains from each start, on a real sequence and on a simulated one.
pub fn starts() -> Result<String> {
    let mut page = format!(
        "# Hidden states from different starts\n\nTwo chains of {SWEEPS} sweeps from each start, with {STATE_SPLIT_MERGE} split-merge proposals \
         after each sweep and without. States, log joint and agreement with the labels (adjusted Rand index) of the last draw; spread is the \
         standard deviation of the log joint within the last {LAST} sweeps of each chain. Chains that have arrived agree in their log joint, \
         up to a few times the spread, wherever they began. Gaussian states with full covariance, its guess from K-means with the \
         true number of states.\n",
    );
    match shared("../sequences/wifi_localization") {
        Some((values, d, rooms)) => {
            section(&mut page, "wifi_localization: 2,000 rows x 7, sorted by room", &data(&values, d), &rooms)?;
        }
        None => page += "\nSKIPPED: wifi_localization, since ../shared/data is not here.\n",
    }
    let sample = HiddenMarkov { n_rows: 10_000, ..HiddenMarkov::default() }.sample(100)?;
    let labels: Vec<String> = sample.labels.iter().map(u32::to_string).collect();
    section(&mut page, "Simulated: 10,000 rows x 2, five states", &data(&sample.values, 2), &labels)?;
    Ok(page)
}

fn section(page: &mut String, title: &str, rows: &Data<f64>, labels: &[String]) -> Result<()> {
    let truth = Partition::from_labels(labels);
    let means = fit_exactly(truth.n_groups(), &DpMeans::default(), rows, &Unwatched)?.clustering;
    let law = Full::weak(rows, within_covariance(rows, &means.labels));
    let starts = [
        ("K-means", ChainStart::Given(Partition::from_labels(&means.labels))),
        ("the labels", ChainStart::Given(truth.clone())),
        ("one state", ChainStart::One),
        ("12 random states", ChainStart::Random(12)),
    ];
    writeln!(
        page,
        "\n## {title}\n\n| sampler | start | moves | states | log joint | spread | agreement |\n|---|---|---|---|---|---|---|"
    )?;
    for (sampler, method) in METHODS {
        for (name, start) in &starts {
            for split_merge in [0, STATE_SPLIT_MERGE] {
                let schedule = Schedule { sweeps: SWEEPS, burn_in: SWEEPS - 1, thin: 1 };
                let start = start.clone();
                let hmm = HmmSampler { split_merge, method, start, chains: 2, schedule, ..HmmSampler::default() };
                let make = || -> madbayes::Result<Box<dyn Emissions + '_>> {
                    Ok(Box::new(FullGroups::new(rows, law.clone())?))
                };
                let chains = hmm.fit(&Sequences::one(rows.n_rows()), &make, &Unwatched)?;
                let mut cells = [vec![], vec![], vec![], vec![]];
                for chain in &chains {
                    let (Some(draw), Some(ln_joint)) = (chain.draws.last(), chain.ln_joint.last()) else { continue };
                    let states = Partition::from_labels(draw.states.labels());
                    cells[0].push(states.n_groups().to_string());
                    cells[1].push(format!("{ln_joint:.0}"));
                    cells[2].push(format!("{:.0}", deviation(&chain.ln_joint[SWEEPS - LAST..])));
                    cells[3].push(format!("{:.3}", adjusted_rand_index(&states, &truth)?));
                }
                let [states, ln_joints, spreads, agreements] = cells.map(|cells| cells.join(", "));
                let moves = if split_merge > 0 { "yes" } else { "no" };
                writeln!(page, "| {sampler} | {name} | {moves} | {states} | {ln_joints} | {spreads} | {agreements} |")?;
            }
        }
    }
    Ok(())
}

/// The standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}
