//! `madbayes assign` with a model of hidden states: the states of new sequences by forward-backward.

use crate::agreement::Agreement;
use crate::arguments::{AssignArguments, Format};
use crate::number::{count, number, plural, table};
use crate::output::{to_file, to_stdout};
use crate::read::Values;
use crate::states::{Cut, read_with_sequences};
use anyhow::Result;
use madbayes::data::Rows;
use madbayes::model::{AssignedStates, HmmModel};
use madbayes::parallel::Workers;
use madbayes_draw::Segments;
use serde_json::json;

pub fn run(arguments: &AssignArguments, model: &HmmModel) -> Result<()> {
    let columns = arguments.input.columns.clone().or_else(|| Some(model.columns.clone()));
    let (rows, cut) = read_with_sequences(&arguments.input, columns, arguments.sequence_column.as_deref())?;
    let (d, workers) = (rows.names.len(), Workers::new(arguments.threads));
    let found = match &rows.values {
        Values::F32(values) => model.assign(Rows::new(values, d)?, &cut.sequences, &workers)?,
        Values::F64(values) => model.assign(Rows::new(values, d)?, &cut.sequences, &workers)?,
    };
    let agreement = rows.labels.as_ref().map(|truth| Agreement::new(truth, &found.states)).transpose()?;
    let to_standard_output = arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &arguments.output.out {
        let mut csv = String::from("row,state,probability\n");
        for (n, &state) in found.states.iter().enumerate() {
            let row = rows.row_numbers.as_ref().map_or(n, |numbers| numbers[n]) + 1;
            csv += &format!("{row},{state},{}\n", found.probabilities[n * model.n_states() + state as usize]);
        }
        to_file(path, csv.as_bytes())?;
    }
    match arguments.output.format {
        _ if to_standard_output => Ok(()),
        Format::Json => {
            let value = json!({
                "n_rows": rows.n_rows,
                "n_columns": d,
                "n_sequences": cut.sequences.len(),
                "n_groups": model.n_states(),
                "sizes": sizes(model, &found),
                "labels": found.states,
                "probabilities": found.probabilities.chunks_exact(model.n_states()).collect::<Vec<_>>(),
                "log_density": found.ln_density,
                "agreement": agreement,
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => {
            let mut out = text(model, &cut, &found);
            if let Some(agreement) = &agreement {
                out += &agreement.line();
            }
            to_stdout(out.as_bytes())
        }
    }
}

fn sizes(model: &HmmModel, found: &AssignedStates) -> Vec<usize> {
    let mut sizes = vec![0; model.n_states()];
    found.states.iter().for_each(|&state| sizes[state as usize] += 1);
    sizes
}

fn text(model: &HmmModel, cut: &Cut, found: &AssignedStates) -> String {
    let n = found.states.len();
    let mut out = format!(
        "{} in {}: states by a model of {}\n\n",
        plural(n, "row"),
        plural(cut.sequences.len(), "sequence"),
        plural(model.n_states(), "state")
    );
    let sequences: Vec<&[u32]> = cut.sequences.ranges().map(|rows| &found.states[rows]).collect();
    out += &Segments { title: "States", names: &cut.names, sequences: &sequences }.text(78);
    out += "\n";
    let fitted: usize = model.sizes.iter().sum();
    let share = |size: usize, of: usize| format!("{:.1}%", 100.0 * size as f64 / of.max(1) as f64);
    let rows: Vec<Vec<String>> = sizes(model, found)
        .iter()
        .zip(&model.sizes)
        .enumerate()
        .map(|(k, (now, then))| vec![k.to_string(), count(*now), share(*now, n), share(*then, fitted)])
        .collect();
    out += &table(&["state", "rows", "share", "when fitted"].map(String::from), &rows);
    let ln_density: f64 = found.ln_density.iter().sum();
    out + &format!("\nlog density of a row, on average: {}\n", number(ln_density / n as f64))
}
