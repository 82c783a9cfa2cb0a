//! `madbayes assign`: which clusters of a saved model new rows belong to, and which fit nowhere.

use crate::agreement::Agreement;
use crate::arguments::{AssignArguments, Format};
use crate::cluster::selection;
use crate::number::{count, number, plural, table};
use crate::output::{check_targets, to_file, to_stdout};
use crate::read::{Input, Labels, Selection, Values, read, read_counts};
use crate::{assign_features, assign_mixture, assign_states};
use anyhow::{Context, Result, anyhow, bail};
use madbayes::counts::Counts;
use madbayes::data::{Real, Rows};
use madbayes::model::{
    Assigned, ClusterModel, CountModel, CovarianceModel, FeatureModel, HmmModel, MixtureModel, kind_of_model,
};
use madbayes::parallel::Workers;
use serde_json::json;
use std::path::Path;

pub fn run(arguments: &AssignArguments) -> Result<()> {
    let path = arguments.model.display();
    check_targets(&[&arguments.model, Path::new(&arguments.input.file)], arguments.output.out.as_deref())?;
    let bytes = std::fs::read(&arguments.model).with_context(|| format!("cannot read {path}"))?;
    let kind = kind_of_model(&bytes).with_context(|| format!("{path}"))?;
    if kind == "mixture run" {
        bail!(
            "{path} holds chains to go on with, not a model: write one with `madbayes mixture --resume {path} --model`"
        );
    }
    if kind == "states" {
        return assign_states::run(arguments, &HmmModel::from_bytes(&bytes).with_context(|| format!("{path}"))?);
    }
    if arguments.sequence_column.is_some() {
        bail!("--sequence-column is for a model of states, but {path} is one of {kind}: leave it out");
    }
    if kind == "features" {
        let model = FeatureModel::from_bytes(&bytes).with_context(|| format!("{path}"))?;
        return assign_features::run(arguments, &model);
    }
    if kind == "mixture" {
        let model = MixtureModel::from_bytes(&bytes).with_context(|| format!("{path}"))?;
        return assign_mixture::run(arguments, &model);
    }
    let model = Clusters::from_bytes(&bytes).with_context(|| format!("{path}"))?;
    let (found, assigned) = model.assign(arguments)?;
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
                "n_columns": model.columns().len(),
                "n_groups": model.sizes().len(),
                "sizes": sizes(&model, &assigned),
                "penalty": model.penalty(),
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

/// A saved clustering of any kind.
enum Clusters {
    Round(ClusterModel),
    Covariances(CovarianceModel),
    Counts(CountModel),
}

/// What is told of the rows that were read.
struct Found {
    n_rows: usize,
    row_numbers: Option<Vec<usize>>,
    labels: Option<Labels>,
}

impl Clusters {
    fn from_bytes(bytes: &[u8]) -> madbayes::Result<Self> {
        match kind_of_model(bytes)?.as_str() {
            "covariance clusters" => CovarianceModel::from_bytes(bytes).map(Clusters::Covariances),
            "count clusters" => CountModel::from_bytes(bytes).map(Clusters::Counts),
            _ => ClusterModel::from_bytes(bytes).map(Clusters::Round),
        }
    }

    fn columns(&self) -> &[String] {
        match self {
            Clusters::Round(model) => &model.columns,
            Clusters::Covariances(model) => &model.columns,
            Clusters::Counts(model) => &model.columns,
        }
    }

    fn sizes(&self) -> &[usize] {
        match self {
            Clusters::Round(model) => &model.sizes,
            Clusters::Covariances(model) => &model.sizes,
            Clusters::Counts(model) => &model.sizes,
        }
    }

    fn penalty(&self) -> Option<f64> {
        match self {
            Clusters::Round(model) => model.penalty,
            Clusters::Covariances(model) => model.penalty,
            Clusters::Counts(model) => model.penalty,
        }
    }

    /// Reads the rows and finds their clusters.
    fn assign(&self, arguments: &AssignArguments) -> Result<(Found, Assigned)> {
        let workers = Workers::new(arguments.threads);
        if let Clusters::Counts(model) = self {
            let table = read_columns(self.columns(), arguments, read_counts, |table| &table.names)?;
            let assigned = model.assign(&table.counts, &workers)?;
            let n_rows = table.counts.n_rows();
            return Ok((Found { n_rows, row_numbers: table.row_numbers, labels: table.labels }, assigned));
        }
        let table = read_columns(self.columns(), arguments, read, |table| &table.names)?;
        let assigned = match &table.values {
            Values::F32(values) => self.nearest(Rows::new(values, table.names.len())?, &workers)?,
            Values::F64(values) => self.nearest(Rows::new(values, table.names.len())?, &workers)?,
        };
        Ok((Found { n_rows: table.n_rows, row_numbers: table.row_numbers, labels: table.labels }, assigned))
    }

    fn nearest<T: Real>(&self, rows: Rows<T>, workers: &Workers) -> Result<Assigned> {
        Ok(match self {
            Clusters::Round(model) => model.assign(rows, workers)?,
            Clusters::Covariances(model) => model.assign(rows, workers)?,
            Clusters::Counts(model) => model.assign(&Counts::from_rows(rows)?, workers)?,
        })
    }
}

/// The columns of the model; the file may have others beside them. With --columns the file's own names for them.
pub fn read_columns<T>(
    columns: &[String],
    arguments: &AssignArguments,
    read: impl Fn(&Input, &Selection) -> Result<T>,
    names: impl Fn(&T) -> &Vec<String>,
) -> Result<T> {
    let expected = columns.join(",");
    let input = Input::from_argument(&arguments.input.file);
    let read = |columns: Vec<String>| read(&input, &selection(&arguments.input, Some(columns)));
    let Some(given) = &arguments.input.columns else {
        // The reader knows of options only.
        return read(columns.to_vec()).map_err(|error| match format!("{error:#}").split_once("--columns names ") {
            Some((file, rest)) => anyhow!(
                "{file}the model needs {rest}; if the file has other names for the columns {expected}, give them \
                     in this order with --columns"
            ),
            None => error,
        });
    };
    let found = read(given.clone())?;
    let elsewhere = |(at, name): (usize, &String)| columns.get(at) != Some(name) && columns.contains(name);
    if names(&found).iter().enumerate().any(elsewhere) {
        bail!(
            "--columns has the model's columns in another order, {}: give them as {expected}, or leave --columns out",
            names(&found).join(",")
        );
    }
    Ok(found)
}

fn sizes(model: &Clusters, assigned: &Assigned) -> Vec<usize> {
    let mut sizes = vec![0; model.sizes().len()];
    assigned.labels.iter().for_each(|l| sizes[*l as usize] += 1);
    sizes
}

/// Number of rows for which a cluster of their own would cost less than joining.
fn strangers(assigned: &Assigned) -> Option<usize> {
    assigned.opening_costs.as_ref().map(|costs| costs.iter().filter(|c| **c < 0.0).count())
}

fn csv(found: &Found, assigned: &Assigned) -> String {
    let mut out = String::from("row,cluster,squared_distance,opening_cost\n");
    for (n, label) in assigned.labels.iter().enumerate() {
        let row = found.row_numbers.as_ref().map_or(n, |numbers| numbers[n]) + 1;
        let opening = assigned.opening_costs.as_ref().map_or(String::new(), |costs| costs[n].to_string());
        out += &format!("{row},{label},{},{opening}\n", assigned.squared_distances[n]);
    }
    out
}

fn text(model: &Clusters, found: &Found, assigned: &Assigned) -> String {
    let mut out = format!("{} assigned to {}\n\n", plural(found.n_rows, "row"), plural(model.sizes().len(), "cluster"));
    let head = ["cluster", "rows", "share", "when fitted"].map(String::from);
    let fitted: usize = model.sizes().iter().sum();
    let share = |size: usize, of: usize| format!("{:.1}%", 100.0 * size as f64 / of.max(1) as f64);
    let rows: Vec<Vec<String>> = sizes(model, assigned)
        .iter()
        .zip(model.sizes())
        .enumerate()
        .map(|(k, (now, then))| vec![k.to_string(), count(*now), share(*now, found.n_rows), share(*then, fitted)])
        .collect();
    out += &table(&head, &rows);
    if let (Some(strangers), Some(penalty)) = (strangers(assigned), model.penalty()) {
        let (fit, their) = if strangers == 1 { ("fits", "its") } else { ("fit", "their") };
        out += &format!(
            "\n{} {fit} nowhere: a cluster of {their} own would cost less (penalty {}) than joining the nearest\n",
            plural(strangers, "row"),
            number(penalty)
        );
    }
    out
}
