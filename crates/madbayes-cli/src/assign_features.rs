//! `madbayes assign` with a model of features: which features new rows have, and what they leave unexplained.

use crate::arguments::{AssignArguments, Format};
use crate::features::{Source, allocation_csv, allocation_json, combinations};
use crate::number::{count, number, plural, table};
use crate::output::{to_file, to_stdout};
use crate::read::Values;
use crate::read::scale::Scale;
use anyhow::Result;
use madbayes::data::Rows;
use madbayes::hard::RowSolver;
use madbayes::model::{Allocated, FeatureModel};
use madbayes::parallel::Workers;
use serde_json::json;

pub fn run(arguments: &AssignArguments, model: &FeatureModel) -> Result<()> {
    let columns = arguments.input.columns.clone().or_else(|| Some(model.columns.clone()));
    // New pictures are brought to the width of those of the fit.
    let scale = model.picture.map(|[_, width, _]| Scale::Width(width));
    let source = Source::read(&arguments.input, columns, scale, arguments.threads)?;
    let (d, workers) = (source.n_columns(), Workers::new(arguments.threads));
    let found = match source.values() {
        Values::F32(values) => model.allocate(Rows::new(values, d)?, RowSolver::Auto, &workers)?,
        Values::F64(values) => model.allocate(Rows::new(values, d)?, RowSolver::Auto, &workers)?,
    };
    let to_standard_output = arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &arguments.output.out {
        to_file(path, allocation_csv(&source, &found.allocation).as_bytes())?;
    }
    match arguments.output.format {
        _ if to_standard_output => Ok(()),
        Format::Json => {
            let value = json!({
                "n_rows": source.n_rows(),
                "n_columns": d,
                "n_groups": model.n_features(),
                "sizes": found.allocation.counts(),
                "penalty": model.penalty,
                "allocation": allocation_json(&found.allocation),
                "squared_residuals": found.residuals,
                "loss": found.residuals.iter().sum::<f64>(),
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => to_stdout(text(model, &source, &found).as_bytes()),
    }
}

fn text(model: &FeatureModel, source: &Source, found: &Allocated) -> String {
    let n = source.n_rows();
    let mut out =
        format!("{}: features by a model of {}\n\n", source.described(), plural(model.n_features(), "feature"));
    let share = |size: usize, of: usize| format!("{:.1}%", 100.0 * size as f64 / of.max(1) as f64);
    let counts = found.allocation.counts();
    let rows: Vec<Vec<String>> = counts
        .iter()
        .zip(&model.counts)
        .enumerate()
        .map(|(k, (now, then))| vec![k.to_string(), count(*now), share(*now, n), share(*then, model.n_rows)])
        .collect();
    out += &table(&["feature", "rows", "share", "when fitted"].map(String::from), &rows);
    out += &combinations(&found.allocation);
    let loss: f64 = found.residuals.iter().sum();
    out += &format!(
        "\nmean squared residual of a row: {}, {} when fitted\n",
        number(loss / n as f64),
        number(model.loss / model.n_rows.max(1) as f64)
    );
    out
}
