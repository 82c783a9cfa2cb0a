//! `madbayes path`: every number of clusters or features with the penalties for which it is optimal, and the one that stands out.

mod arguments;
mod page;
mod report;

pub use arguments::PathArguments;

use crate::agreement::Agreement;
use crate::cluster::read_table;
use crate::features::allocation_json;
use crate::output::{check_targets, hint, make_folder, to_file};
use crate::read::{Table, Values};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::parallel::Workers;
use madbayes::prepare::Standardise;
use madbayes::select::PathSearch;
use madbayes::structure::Partition;
use page::Sought;
use report::{Answer, Found};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

pub fn run(arguments: &PathArguments) -> Result<()> {
    let targets = [&arguments.out, &arguments.report].into_iter().flatten();
    check_targets(&[Path::new(&arguments.input.file)], targets.map(|path| path.as_path()))?;
    let table = read_table(&arguments.input, arguments.input.columns.clone())?;
    if !arguments.quiet {
        let useful = |h: &&String| !(arguments.standardize && h.contains("--standardize"));
        table.hints.iter().filter(useful).for_each(|h| hint(h));
    }
    match &table.values {
        Values::F32(values) => seek(arguments, &table, values),
        Values::F64(values) => seek(arguments, &table, values),
    }
}

fn seek<T: Real>(arguments: &PathArguments, table: &Table, values: &[T]) -> Result<()> {
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
    let report = |seconds: f64, html: &dyn Fn(Sought<T>) -> Result<String>| -> Result<()> {
        let Some(target) = &arguments.report else { return Ok(()) };
        let units = standardise.as_ref();
        to_file(target, html(Sought { arguments, table, data: &data, originals: rows, units, seconds })?.as_bytes())
    };
    let found = if arguments.features {
        let found = search.automatic_features(&data, &watching)?;
        report(begin.elapsed().as_secs_f64(), &|sought| sought.features(&found))?;
        let allocation = found.path.allocation(found.choice.k);
        let sizes = allocation.map_or_else(Vec::new, |rows| rows.counts().to_vec());
        let members = json!({ "sizes": sizes, "allocation": allocation.map(allocation_json) });
        Found { path: found.path.path, choice: found.choice, members, agreement: None }
    } else {
        let found = search.automatic_clusters(&data, &watching)?;
        report(begin.elapsed().as_secs_f64(), &|sought| sought.clusters(&found))?;
        let labels = found.path.labels(found.choice.k, &data, &Workers::new(arguments.work.threads));
        // In order of first appearance, as a fit numbers its clusters.
        let partition = Partition::from_labels(labels.unwrap_or_default());
        let agreement = table.labels.as_ref().map(|truth| Agreement::new(truth, partition.labels())).transpose()?;
        let members = json!({ "sizes": partition.sizes(), "labels": partition.labels() });
        Found { path: found.path.path, choice: found.choice, members, agreement }
    };
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if found.path.stopped && !arguments.quiet {
        hint(&format!("{}: this is the path so far, and the choice on it", watching.reason()));
    }
    let group = if arguments.features { "feature" } else { "cluster" };
    Answer { arguments, table, group, found: &found, seconds }.tell()
}
