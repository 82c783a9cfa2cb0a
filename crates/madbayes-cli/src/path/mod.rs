//! `madbayes path`: every number of clusters with the penalties for which it is optimal, and the one that stands out.

mod arguments;
mod report;

pub use arguments::PathArguments;

use crate::agreement::Agreement;
use crate::cluster::read_table;
use crate::output::{check_targets, hint, make_folder};
use crate::read::{Table, Values};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::parallel::Workers;
use madbayes::prepare::Standardise;
use madbayes::select::PathSearch;
use madbayes::structure::Partition;
use report::Answer;
use serde_json::json;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &PathArguments) -> Result<()> {
    check_targets(&[Path::new(&arguments.input.file)], arguments.out.as_deref())?;
    let table = read_table(&arguments.input, arguments.input.columns.clone())?;
    if !arguments.quiet {
        let useful = |h: &&String| !(arguments.standardize && h.contains("--standardize"));
        table.hints.iter().filter(useful).for_each(|h| hint(h));
    }
    match &table.values {
        Values::F32(values) => clusters(arguments, &table, values),
        Values::F64(values) => clusters(arguments, &table, values),
    }
}

fn clusters<T: Real>(arguments: &PathArguments, table: &Table, values: &[T]) -> Result<()> {
    let rows = Rows::new(values, table.names.len())?;
    let standardise = arguments.standardize.then(|| Data::new(rows).map(|data| Standardise::fit(&data))).transpose()?;
    let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
    let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), table.names.len())?)?;
    let search = PathSearch {
        max_groups: arguments.max_groups,
        least_penalty: arguments.least_penalty,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..PathSearch::default()
    };
    let watching = Watching::new(arguments.quiet, arguments.work.time_limit)?;
    // A folder that cannot be made is better known now than after the work.
    arguments.plots.as_deref().map(make_folder).transpose()?;
    let begin = Instant::now();
    let found = search.automatic_clusters(&data, &watching)?;
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if found.path.path.stopped && !arguments.quiet {
        hint(&format!("{}: this is the path so far, and the choice on it", watching.reason()));
    }
    let k = found.choice.k;
    let labels = found.path.labels(k, &data, &Workers::new(arguments.work.threads)).unwrap_or_default();
    // In order of first appearance, as a fit numbers its clusters.
    let partition = Partition::from_labels(&labels);
    let agreement = table.labels.as_ref().map(|truth| Agreement::new(truth, partition.labels())).transpose()?;
    Answer {
        arguments,
        table,
        group: "cluster",
        path: &found.path.path,
        choice: &found.choice,
        members: json!({ "sizes": partition.sizes(), "labels": partition.labels() }),
        agreement,
        seconds,
    }
    .tell()
}
