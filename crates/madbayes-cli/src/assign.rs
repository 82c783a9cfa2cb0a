//! `madbayes assign`: which clusters of a saved model new rows belong to, and which fit nowhere.

use crate::agreement::Agreement;
use crate::arguments::{AssignArguments, Format};
use crate::assign_features;
use crate::cluster::read_table;
use crate::number::{count, number, plural, table};
use crate::output::{check_targets, to_file, to_stdout};
use crate::read::{Table, Values};
use anyhow::{Context, Result, anyhow, bail};
use madbayes::data::{Real, Rows};
use madbayes::model::{Assigned, ClusterModel, FeatureModel, kind_of_model};
use madbayes::parallel::Workers;
use serde_json::json;
use std::path::Path;

pub fn run(arguments: &AssignArguments) -> Result<()> {
    let path = arguments.model.display();
    check_targets(&[&arguments.model, Path::new(&arguments.input.file)], arguments.output.out.as_deref())?;
    let bytes = std::fs::read(&arguments.model).with_context(|| format!("cannot read {path}"))?;
    if kind_of_model(&bytes).with_context(|| format!("{path}"))? == "features" {
        let model = FeatureModel::from_bytes(&bytes).with_context(|| format!("{path}"))?;
        return assign_features::run(arguments, &model);
    }
    let model = ClusterModel::from_bytes(&bytes).with_context(|| format!("{path}"))?;
    let found = read_columns(arguments, &model)?;
    let assigned = match &found.values {
        Values::F32(values) => assign(&model, values, &found, arguments.threads)?,
        Values::F64(values) => assign(&model, values, &found, arguments.threads)?,
    };
    let agreement = found.labels.as_ref().map(|truth| Agreement::new(truth, &assigned.labels)).transpose()?;
    let to_standard_output = arguments.output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &arguments.output.out {
        to_file(path, csv(&found, &assigned).as_bytes())?;
    }
    match arguments.output.format {
        _ if to_standard_output => Ok(()),
        Format::Json => {
            let value = json!({
                "n_rows": found.n_rows,
                "n_columns": model.n_columns(),
                "n_groups": model.n_clusters(),
                "sizes": sizes(&model, &assigned),
                "penalty": model.penalty,
                "labels": assigned.labels,
                "squared_distances": assigned.squared_distances,
                "opening_costs": assigned.opening_costs,
                "fit_nowhere": strangers(&assigned),
                "agreement": agreement,
            });
            to_stdout(format!("{value:#}\n").as_bytes())
        }
        Format::Text => {
            let mut out = text(&model, &found, &assigned);
            if let Some(agreement) = &agreement {
                out += &agreement.line();
            }
            to_stdout(out.as_bytes())
        }
    }
}

/// The columns of the model; the file may have others beside them. With --columns the file's own names for them.
fn read_columns(arguments: &AssignArguments, model: &ClusterModel) -> Result<Table> {
    let expected = model.columns.join(",");
    let Some(given) = &arguments.input.columns else {
        // The reader knows of options only.
        return read_table(&arguments.input, Some(model.columns.clone())).map_err(|error| {
            match format!("{error:#}").split_once("--columns names ") {
                Some((file, rest)) => anyhow!(
                    "{file}the model needs {rest}; if the file has other names for the columns {expected}, give them \
                     in this order with --columns"
                ),
                None => error,
            }
        });
    };
    let found = read_table(&arguments.input, Some(given.clone()))?;
    let elsewhere = |(at, name): (usize, &String)| model.columns.get(at) != Some(name) && model.columns.contains(name);
    if found.names.iter().enumerate().any(elsewhere) {
        bail!(
            "--columns has the model's columns in another order, {}: give them as {expected}, or leave --columns out",
            found.names.join(",")
        );
    }
    Ok(found)
}

fn assign<T: Real>(model: &ClusterModel, values: &[T], found: &Table, threads: usize) -> Result<Assigned> {
    Ok(model.assign(Rows::new(values, found.names.len())?, &Workers::new(threads))?)
}

fn sizes(model: &ClusterModel, assigned: &Assigned) -> Vec<usize> {
    let mut sizes = vec![0; model.n_clusters()];
    assigned.labels.iter().for_each(|l| sizes[*l as usize] += 1);
    sizes
}

/// Number of rows for which a cluster of their own would cost less than joining.
fn strangers(assigned: &Assigned) -> Option<usize> {
    assigned.opening_costs.as_ref().map(|costs| costs.iter().filter(|c| **c < 0.0).count())
}

fn csv(found: &Table, assigned: &Assigned) -> String {
    let mut out = String::from("row,cluster,squared_distance,opening_cost\n");
    for (n, label) in assigned.labels.iter().enumerate() {
        let row = found.row_numbers.as_ref().map_or(n, |numbers| numbers[n]) + 1;
        let opening = assigned.opening_costs.as_ref().map_or(String::new(), |costs| costs[n].to_string());
        out += &format!("{row},{label},{},{opening}\n", assigned.squared_distances[n]);
    }
    out
}

fn text(model: &ClusterModel, found: &Table, assigned: &Assigned) -> String {
    let mut out = format!("{} assigned to {}\n\n", plural(found.n_rows, "row"), plural(model.n_clusters(), "cluster"));
    let head = ["cluster", "rows", "share", "when fitted"].map(String::from);
    let fitted: usize = model.sizes.iter().sum();
    let share = |size: usize, of: usize| format!("{:.1}%", 100.0 * size as f64 / of.max(1) as f64);
    let rows: Vec<Vec<String>> = sizes(model, assigned)
        .iter()
        .zip(&model.sizes)
        .enumerate()
        .map(|(k, (now, then))| vec![k.to_string(), count(*now), share(*now, found.n_rows), share(*then, fitted)])
        .collect();
    out += &table(&head, &rows);
    if let (Some(strangers), Some(penalty)) = (strangers(assigned), model.penalty) {
        let (fit, their) = if strangers == 1 { ("fits", "its") } else { ("fit", "their") };
        out += &format!(
            "\n{} {fit} nowhere: a cluster of {their} own would cost less (penalty {}) than joining the nearest\n",
            plural(strangers, "row"),
            number(penalty)
        );
    }
    out
}
