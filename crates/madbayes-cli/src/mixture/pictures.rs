//! Traces and the number of clusters as pictures: text for the terminal, SVG for --plots.

use super::{Answer, Clusters};
use crate::number::plural;
use crate::output::make_folder;
use crate::picture::{Seen, View};
use anyhow::{Context, Result};
use madbayes::data::Real;
use madbayes::gibbs::Chain;
use madbayes::model::MixtureRows;
use madbayes_draw::{Bars, Letters, Lines, Sparks};
use std::io::IsTerminal;
use std::path::Path;

const WIDTH: usize = 78;

/// The share of sweeps with each number of clusters, and the traces, one line for each chain.
pub fn text(answer: &Answer) -> String {
    let mut out = String::new();
    if !answer.distribution.is_empty() {
        let (names, values) = bars(answer);
        let title = "Number of clusters";
        out += &Bars { title, value_name: "% of sweeps after the burn-in", names: &names, values: &values }.text(WIDTH);
        out += "\n";
    }
    let apart = answer.mixture.schedule.burn_in;
    let burn_in = answer.fit.chains.iter().any(|chain| chain.n_groups.len() > apart) && apart > 0;
    let until = if burn_in { " (burn-in before |)" } else { "" };
    for (name, series) in [("Clusters", clusters(answer)), ("Log joint", joints(answer))] {
        let title = format!("{name} after each sweep{until}");
        out += &Sparks { title: &title, series: &series, apart }.text(WIDTH, letters());
    }
    out
}

/// Writes clusters.svg (not for counts), clusters-trace.svg and log-joint.svg.
pub fn write<T: Real>(folder: &Path, answer: &Answer, rows: MixtureRows<T>) -> Result<()> {
    make_folder(folder)?;
    let trace = |title, y_name, series: Vec<(String, Vec<f64>)>| {
        Lines { title, x_name: "sweep", y_name, series: &series }.svg()
    };
    let mut pictures = vec![
        ("clusters-trace.svg", trace("Clusters after each sweep", "clusters", clusters(answer))),
        ("log-joint.svg", trace("Log joint probability after each sweep", "log joint", joints(answer))),
    ];
    if let (MixtureRows::Dense(data), Clusters::Means(means)) = (rows, &answer.clusters) {
        let labels = answer.fit.estimate.labels();
        let seen = Seen {
            labels,
            sizes: answer.fit.estimate.sizes(),
            centres: &in_units_of_the_fit(answer, means),
            reference: &data.reference().iter().map(|&r| r.into()).collect::<Vec<f64>>(),
            colours: &[],
            title: plural(answer.fit.estimate.n_groups(), "cluster"),
        };
        pictures.push(("clusters.svg", View::new(data.rows(), seen, answer.job.names).svg(labels)));
    }
    for (name, svg) in pictures {
        let path = folder.join(name);
        std::fs::write(&path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Blocks where they can be shown.
fn letters() -> Letters {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.is_empty()).then_some(value)
    });
    let unicode = locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if unicode && std::io::stdout().is_terminal() { Letters::Blocks } else { Letters::Ascii }
}

fn bars(answer: &Answer) -> (Vec<String>, Vec<f64>) {
    // Percent to one decimal.
    answer.distribution.iter().map(|(k, share)| (k.to_string(), (1000.0 * share).round() / 10.0)).unzip()
}

fn series(answer: &Answer, trace: impl Fn(&Chain) -> Vec<f64>) -> Vec<(String, Vec<f64>)> {
    let chains = answer.fit.chains.iter().enumerate();
    chains.map(|(i, chain)| (format!("chain {}", i + 1), trace(chain))).collect()
}

fn clusters(answer: &Answer) -> Vec<(String, Vec<f64>)> {
    series(answer, |chain| chain.n_groups.iter().map(|&k| k as f64).collect())
}

fn joints(answer: &Answer) -> Vec<(String, Vec<f64>)> {
    series(answer, |chain| chain.ln_joint.clone())
}

/// The means as the rows are, one after another.
fn in_units_of_the_fit(answer: &Answer, means: &[Vec<f64>]) -> Vec<f64> {
    let one = |mean: &Vec<f64>| -> Vec<f64> {
        match &answer.fit.model.standardise {
            Some(s) => mean.iter().zip(&s.means).zip(&s.scales).map(|((x, m), scale)| (x - m) / scale).collect(),
            None => mean.clone(),
        }
    };
    means.iter().flat_map(one).collect()
}
