//! `madbayes cluster --report`: the clusters and the path around them as a page.

use crate::arguments::{ClusterArguments, CovarianceName};
use crate::choice::range;
use crate::number::{number, plural};
use crate::output::to_file;
use crate::overview_plots;
use crate::read::{CountsTable, Table};
use crate::report::{ALL_ROWS, Facts, Run, row_names, truth};
use crate::watching::Watching;
use anyhow::Result;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::Clustering;
use madbayes::overview::{ClusterOverview, GroupedRows, QUICK_PATH, RowLosses, Shares};
use madbayes::prepare::Standardise;
use madbayes::select::{Choice, ClusterPath, DivergenceFit, PathSearch, PenaltyInterval};
use madbayes_draw::Report;

/// Why there is no slider, and how to get one.
const LONG_PATH: &str = "There is no slider over other penalties here, since a path takes long for so many rows: run the same \
                         command without --penalty and --clusters, or madbayes path with --report.";
const NO_PATH: &str = "There is no slider over other penalties here: a path is of round clusters compared by distance. Leave out \
                       --covariance full or --divergence to see one.";

/// What rows of counts are measured by.
const DIVERGENCE: &str = "Kullback-Leibler divergence (nats)";

/// A fit, and what is known of the penalties around it.
pub struct Found<'a> {
    pub fit: &'a Clustering,
    pub penalty: Option<f64>,
    pub interval: Option<PenaltyInterval>,
    pub choice: Option<&'a Choice>,
    pub path: Option<ClusterPath>,
    /// How badly rows fit, where that is not their distance from the mean.
    pub row_losses: Option<RowLosses<'a>>,
    pub seconds: f64,
}

/// Writes the page of a fit by distances where it is asked for, and its pictures; returns the colours of the clusters.
pub fn write<T: Real>(
    arguments: &ClusterArguments,
    table: &Table,
    data: &Data<T>,
    units: Option<&Standardise>,
    found: Found,
) -> Result<Vec<u32>> {
    if arguments.report.is_none() && arguments.plots.is_none() {
        return Ok(Vec::new());
    }
    let Found { fit, penalty, interval, choice, path, row_losses, seconds } = found;
    // A path is of round clusters: others are not on it.
    let full = arguments.covariance == CovarianceName::Full;
    let small = data.n_rows() * data.n_columns() <= QUICK_PATH && !fit.stopped && !full && arguments.report.is_some();
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
        truth: truth(table.labels.as_ref()),
        row_losses,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
    })?;
    if let Some(folder) = &arguments.plots {
        overview_plots::clusters(folder, &clusters, "cluster")?;
    }
    let colours = clusters.views[clusters.fitted].colours.clone();
    let Some(target) = &arguments.report else { return Ok(colours) };
    let mut more: Facts = Vec::new();
    let mut fact = |name: &str, value: String| more.push((name.to_string(), value));
    if let Some(penalty) = penalty {
        fact("Penalty", number(penalty));
    }
    if let Some(interval) = interval {
        fact("The same number is optimal for penalties", range(interval));
    }
    if !full {
        fact("Loss", number(fit.loss()));
    }
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
        run: &run.facts(more),
        group: "cluster",
        no_slider: if full { NO_PATH } else { LONG_PATH },
        all_rows: ALL_ROWS,
        choice,
        row_names: row_names(table.row_numbers.as_deref()),
        clusters: Some(&clusters),
        ..Report::default()
    };
    to_file(target, page.html().as_bytes())?;
    Ok(colours)
}

/// Writes the page of clusters of counts, by their shares, where it is asked for, and its pictures.
pub fn write_counts(
    arguments: &ClusterArguments,
    table: &CountsTable,
    found: &DivergenceFit,
    seconds: f64,
) -> Result<()> {
    if arguments.report.is_none() && arguments.plots.is_none() {
        return Ok(());
    }
    let fit = &found.clustering;
    let run = Run {
        file: &arguments.input.file,
        n_rows: table.counts.n_rows(),
        n_columns: table.names.len(),
        seed: arguments.work.seed,
        seconds,
        objective: Some(fit.objective),
        converged: fit.converged,
        stopped: fit.stopped,
    };
    let shares = Shares::new(&table.counts);
    let names: Vec<String> = shares.columns.iter().map(|&column| table.names[column].clone()).collect();
    let clusters = ClusterOverview::new(&GroupedRows {
        data: &Data::new(Rows::new(&shares.values, names.len())?)?,
        columns: &names,
        units: None,
        labels: &fit.labels,
        penalties: found.penalties,
        path: None,
        choice: found.choice.as_ref(),
        truth: truth(table.labels.as_ref()),
        row_losses: Some(RowLosses { name: DIVERGENCE, values: &fit.row_losses(&table.counts) }),
        seed: arguments.work.seed,
        threads: arguments.work.threads,
    })?;
    if let Some(folder) = &arguments.plots {
        overview_plots::clusters(folder, &clusters, "cluster")?;
    }
    let Some(target) = &arguments.report else { return Ok(()) };
    let mut more: Facts = vec![("Shown".into(), "the share of each column in the counts of a row".into())];
    more.extend(found.penalty.map(|penalty| ("Penalty".to_string(), number(penalty))));
    let page = Report {
        title: &run.title("Clusters"),
        answer: &plural(fit.n_clusters(), "cluster"),
        run: &run.facts(more),
        group: "cluster",
        no_slider: NO_PATH,
        all_rows: ALL_ROWS,
        choice: found.choice.as_ref(),
        row_names: row_names(table.row_numbers.as_deref()),
        clusters: Some(&clusters),
        ..Report::default()
    };
    to_file(target, page.html().as_bytes())
}
