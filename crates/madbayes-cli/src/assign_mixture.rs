//! `madbayes assign` with a mixture: the cluster that new rows are most probably with, and how probable the rows are.

use crate::agreement::Agreement;
use crate::arguments::AssignArguments;
use crate::assign::read_columns;
use crate::cluster::write;
use crate::number::{count, number, plural, table};
use crate::read::{Labels, Values, read, read_counts};
use anyhow::Result;
use madbayes::data::Rows;
use madbayes::model::{MixtureLaw, MixtureModel};
use madbayes::parallel::Workers;
use serde_json::json;

/// Rows of least density that are named.
const MOST_UNUSUAL: usize = 5;

/// What is told of the rows that were read.
struct Found {
    row_numbers: Option<Vec<usize>>,
    truth: Option<Labels>,
    labels: Vec<u32>,
    ln_densities: Vec<f64>,
}

pub fn run(arguments: &AssignArguments, model: &MixtureModel) -> Result<()> {
    let found = assign(arguments, model)?;
    let agreement = found.truth.as_ref().map(|truth| Agreement::new(truth, &found.labels)).transpose()?;
    let mut sizes = vec![0; model.sizes.len()];
    found.labels.iter().for_each(|label| sizes[*label as usize] += 1);
    let text = || text(model, &found, &sizes) + &agreement.as_ref().map_or(String::new(), Agreement::line);
    let json = || {
        let value = json!({
            "n_rows": found.labels.len(),
            "n_columns": model.n_columns(),
            "n_groups": model.sizes.len(),
            "sizes": sizes,
            "penalty": null,
            "labels": found.labels,
            "log_densities": found.ln_densities,
            "agreement": agreement,
        });
        format!("{value:#}\n")
    };
    write(&arguments.output, &csv(&found), text, json)
}

fn assign(arguments: &AssignArguments, model: &MixtureModel) -> Result<Found> {
    let workers = Workers::new(arguments.threads);
    if let MixtureLaw::Multinomial(_) = model.likelihood {
        let table = read_columns(&model.columns, arguments, read_counts, |table| &table.names)?;
        let (labels, ln_densities) = model.assign_counts(&table.counts, &workers)?;
        return Ok(Found { row_numbers: table.row_numbers, truth: table.labels, labels, ln_densities });
    }
    let table = read_columns(&model.columns, arguments, read, |table| &table.names)?;
    let (labels, ln_densities) = match &table.values {
        Values::F32(values) => model.assign(Rows::new(values, table.names.len())?, &workers)?,
        Values::F64(values) => model.assign(Rows::new(values, table.names.len())?, &workers)?,
    };
    Ok(Found { row_numbers: table.row_numbers, truth: table.labels, labels, ln_densities })
}

impl Found {
    /// The row of the file, counted from 1.
    fn row(&self, n: usize) -> usize {
        self.row_numbers.as_ref().map_or(n, |numbers| numbers[n]) + 1
    }
}

fn csv(found: &Found) -> String {
    let mut out = String::from("row,cluster,log_density\n");
    for (n, (label, density)) in found.labels.iter().zip(&found.ln_densities).enumerate() {
        out += &format!("{},{label},{density}\n", found.row(n));
    }
    out
}

fn text(model: &MixtureModel, found: &Found, sizes: &[usize]) -> String {
    let n_rows = found.labels.len();
    let mut out = format!("{} assigned to {}\n\n", plural(n_rows, "row"), plural(sizes.len(), "cluster"));
    let fitted: usize = model.sizes.iter().sum();
    let share = |size: usize, of: usize| format!("{:.1}%", 100.0 * size as f64 / of.max(1) as f64);
    let head = ["cluster", "rows", "share", "when fitted"].map(String::from);
    let one = |(k, (now, then)): (usize, (&usize, &usize))| {
        vec![k.to_string(), count(*now), share(*now, n_rows), share(*then, fitted)]
    };
    out += &table(&head, &sizes.iter().zip(&model.sizes).enumerate().map(one).collect::<Vec<_>>());
    let mean = found.ln_densities.iter().sum::<f64>() / n_rows as f64;
    let mut order: Vec<usize> = (0..n_rows).collect();
    order.sort_by(|&a, &b| found.ln_densities[a].total_cmp(&found.ln_densities[b]).then(a.cmp(&b)));
    let least = order.iter().take(MOST_UNUSUAL);
    let least: Vec<String> = least.map(|&n| format!("{} ({})", found.row(n), number(found.ln_densities[n]))).collect();
    out + &format!("\nlog density of a row {} on average; least for rows {}\n", number(mean), least.join(", "))
}
