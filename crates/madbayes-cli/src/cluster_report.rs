//! `madbayes cluster --report`: the clusters and the path around them as a page.

use crate::arguments::ClusterArguments;
use crate::choice::range;
use crate::number::{number, plural};
use crate::read::Table;
use crate::report::{Facts, Run, sentences};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real};
use madbayes::hard::Clustering;
use madbayes::overview::{ClusterOverview, GroupedRows};
use madbayes::prepare::Standardise;
use madbayes::select::{Choice, ClusterPath, PathSearch, PenaltyInterval};
use madbayes_draw::{Report, RowNames};

/// Values up to which a path is sought for the page alone.
const SMALL: usize = 1 << 22;

/// A fit, and what is known of the penalties around it.
pub struct Found<'a> {
    pub fit: &'a Clustering,
    pub penalty: Option<f64>,
    pub interval: Option<PenaltyInterval>,
    pub choice: Option<&'a Choice>,
    pub path: Option<ClusterPath>,
    pub seconds: f64,
}

/// The page of a fit by distances.
pub fn page<T: Real>(
    arguments: &ClusterArguments,
    table: &Table,
    data: &Data<T>,
    units: Option<&Standardise>,
    found: Found,
) -> Result<String> {
    let Found { fit, penalty, interval, choice, path, seconds } = found;
    let small = data.n_rows() * data.n_columns() <= SMALL && !fit.stopped;
    let path = match path {
        None if small => {
            let watching = Watching::new(arguments.output.quiet, arguments.work.time_limit)?;
            let search =
                PathSearch { seed: arguments.work.seed, threads: arguments.work.threads, ..PathSearch::default() };
            let path = search.clusters(data, &watching)?;
            watching.finish();
            Some(path)
        }
        path => path,
    };
    let run = Run {
        file: &arguments.input.file,
        n_rows: table.n_rows,
        n_columns: table.names.len(),
        seed: arguments.work.seed,
        seconds,
        objective: Some(fit.objective),
        converged: fit.converged,
        stopped: fit.stopped,
    };
    let clusters = ClusterOverview::new(&GroupedRows {
        data,
        columns: &table.names,
        units,
        labels: &fit.labels,
        penalties: interval,
        path: path.as_ref(),
        choice,
        truth: table.labels.as_ref().map(|labels| (labels.name.as_str(), labels.values.as_slice())),
        seed: arguments.work.seed,
        threads: arguments.work.threads,
    })?;
    let mut more: Facts = Vec::new();
    let mut fact = |name: &str, value: String| more.push((name.to_string(), value));
    if let Some(penalty) = penalty {
        fact("Penalty", number(penalty));
    }
    if let Some(interval) = interval {
        fact("The same number is optimal for penalties", range(interval));
    }
    fact("Loss", number(fit.loss()));
    if arguments.standardize {
        fact("Standardised", "yes: distances are in standard deviations, means in the units of the file".into());
    }
    fact(
        "Runs",
        format!("{}, {} in the best", fit.traces.len(), plural(fit.n_passes(), "pass").replace("passs", "passes")),
    );
    let page = Report {
        title: &run.title("Clusters"),
        answer: &plural(fit.n_clusters(), "cluster"),
        sentences: &sentences(choice, "cluster", fit.stopped),
        run: &run.facts(more),
        group: "cluster",
        no_slider: "There is no slider over other penalties here, since a path takes long for so many rows: run the same command \
                    without --penalty and --clusters, or madbayes path with --report.",
        confidence: choice.map(|choice| choice.confidence),
        row_names: table.row_numbers.as_deref().map_or(RowNames::Counted, RowNames::Numbers),
        clusters: Some(&clusters),
    };
    Ok(page.html())
}
