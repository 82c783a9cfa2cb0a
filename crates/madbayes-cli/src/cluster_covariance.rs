//! `madbayes cluster --covariance full`: clusters with covariances of their own, and the guesses that were made.

use crate::agreement::Agreement;
use crate::arguments::{AlgorithmName, ClusterArguments, StartName};
use crate::cluster::{CentreTable, Outcome, labels_csv, write};
use crate::cluster_report;
use crate::matrix_file::{read_matrix, read_numbers};
use crate::number::{number, plural, table};
use crate::output::{hint, make_folder, to_file};
use crate::penalty::ClusterPenalty;
use crate::picture::write_plots;
use crate::read::Table;
use crate::watching::Watching;
use anyhow::{Result, bail};
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{
    Clustering, CovarianceAlgorithm, CovariancePrior, FullCovarianceMeans, Goal, Restarts, own_ellipses,
};
use madbayes::model::CovarianceModel;
use madbayes::overview::RowLosses;
use madbayes::parallel::Workers;
use madbayes::prepare::Standardise;
use madbayes::select::{CovarianceFit, CovarianceGuesses, PenaltyRule, fit_full_covariance};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

/// Columns up to which the expected covariance is shown.
const MOST_COLUMNS: usize = 8;

/// What `--covariance-prior` takes.
#[derive(Debug, Clone, PartialEq)]
pub enum PriorArgument {
    /// The same variance in every column, no correlation.
    Variance(f64),
    /// A file with a D x D matrix.
    File(PathBuf),
    /// 0: covariances are learned from the rows alone.
    Nothing,
}

impl FromStr for PriorArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<f64>() {
            Ok(variance) if variance.is_finite() && variance > 0.0 => Ok(PriorArgument::Variance(variance)),
            Ok(0.0) => Ok(PriorArgument::Nothing),
            Ok(_) => {
                Err("it must be a positive variance, a file with the covariance expected within a cluster, or 0 for \
                          none"
                    .into())
            }
            Err(_) => Ok(PriorArgument::File(text.into())),
        }
    }
}

/// Refuses options that mean nothing here.
pub fn check(arguments: &ClusterArguments) -> Result<()> {
    if arguments.algorithm == Some(AlgorithmName::Serial) {
        bail!("--algorithm serial is for round clusters: leave it out with --covariance full");
    }
    if arguments.start != StartName::PlusPlus {
        bail!("--start mean is for round clusters: leave it out with --covariance full");
    }
    if let Some(ClusterPenalty::Rule(rule)) = arguments.penalty
        && rule != PenaltyRule::Automatic
    {
        bail!(
            "--penalty must be a positive number or auto with --covariance full: the other rules are for round clusters"
        );
    }
    Ok(())
}

pub fn cluster<T: Real>(arguments: &ClusterArguments, table: &Table, values: &[T]) -> Result<()> {
    let n_columns = table.names.len();
    let rows = Rows::new(values, n_columns)?;
    let standardise = arguments.standardize.then(|| Data::new(rows).map(|data| Standardise::fit(&data))).transpose()?;
    let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
    let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), n_columns)?)?;
    let (parameters, guesses) = parameters(arguments, &table.names)?;
    let watching = Watching::new(arguments.output.quiet, arguments.work.time_limit)?;
    arguments.plots.as_deref().map(make_folder).transpose()?;
    let begin = Instant::now();
    let found = fit_full_covariance(&data, &parameters, guesses, &watching)?;
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if found.clustering.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best result so far", watching.reason()));
    }
    let prices = (found.penalty, found.covariance_penalty);
    let model = CovarianceModel::new(&found.clustering, table.names.clone(), standardise, prices, arguments.work.seed);
    if let Some(path) = &arguments.model {
        to_file(path, &model.to_bytes())?;
    }
    if arguments.report.is_some() || arguments.plots.is_some() {
        let fit = &as_drawn(&found, &data);
        let (clusters, workers) = (&found.clustering, Workers::new(arguments.work.threads));
        let values = &own_ellipses(&data, &clusters.labels, &clusters.centres, &clusters.covariances, &workers)?;
        let row_losses = Some(RowLosses { name: "squared Mahalanobis distance", values });
        let penalty = found.penalty;
        let found =
            cluster_report::Found { fit, penalty, interval: None, choice: None, path: None, row_losses, seconds };
        let colours = cluster_report::write(arguments, table, &data, model.standardise.as_ref(), found)?;
        if let Some(folder) = &arguments.plots {
            write_plots(folder, data.rows(), fit, &table.names, &colours)?;
        }
    }
    let agreement = table.labels.as_ref().map(|truth| Agreement::new(truth, &found.clustering.labels)).transpose()?;
    let answer = Answer { arguments, table, found, guesses, model, agreement, seconds };
    let labels = labels_csv(table.row_numbers.as_deref(), &answer.found.clustering.labels);
    write(&arguments.output, &labels, || answer.text(), || answer.json())
}

fn parameters(arguments: &ClusterArguments, names: &[String]) -> Result<(FullCovarianceMeans, CovarianceGuesses)> {
    let mut guesses = CovarianceGuesses { penalty: false, covariance_penalty: arguments.covariance_penalty.is_none() };
    let d = names.len();
    let covariance_prior = match (&arguments.covariance_prior, &arguments.covariances) {
        (_, Some(path)) => read_covariances(path, d, arguments)?,
        (None, None) => CovariancePrior::Guessed,
        (Some(PriorArgument::Nothing), _) => CovariancePrior::Nothing,
        (Some(PriorArgument::Variance(variance)), _) => {
            CovariancePrior::Expected((0..d * d).map(|e| if e / d == e % d { *variance } else { 0.0 }).collect())
        }
        (Some(PriorArgument::File(path)), _) => CovariancePrior::Expected(read_matrix("--covariance-prior", path, d)?),
    };
    let given = match &covariance_prior {
        CovariancePrior::Fixed(matrices) => Some(matrices.len() / (d * d)),
        _ => arguments.clusters,
    };
    let goal = match (given, arguments.penalty) {
        (Some(k), _) => Goal::Exactly(k),
        (None, Some(ClusterPenalty::Value(penalty))) => Goal::Penalty { penalty, max_clusters: arguments.max_clusters },
        (None, _) => {
            guesses.penalty = true;
            Goal::Penalty { penalty: 1.0, max_clusters: arguments.max_clusters }
        }
    };
    let parameters = FullCovarianceMeans {
        goal,
        covariance_penalty: arguments.covariance_penalty.unwrap_or(1.0),
        covariance_prior,
        algorithm: match arguments.algorithm {
            Some(AlgorithmName::Parallel) => CovarianceAlgorithm::Frozen,
            _ => CovarianceAlgorithm::Collapsed,
        },
        restarts: arguments.restarts.map_or(Restarts::Auto, Restarts::Exactly),
        max_passes: arguments.max_passes,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..FullCovarianceMeans::default()
    };
    Ok((parameters, guesses))
}

/// Covariances that are held fixed: one D x D matrix for all clusters, or one below the other for each.
fn read_covariances(path: &Path, d: usize, arguments: &ClusterArguments) -> Result<CovariancePrior> {
    let what = format!("a file with the {d} x {d} covariance of all clusters, or with one below the other for each");
    let (n_rows, width, values) = read_numbers("--covariances", path, &what)?;
    if width != d || n_rows % d != 0 {
        bail!(
            "--covariances {}: the file holds {n_rows} x {width} numbers, and the data has {}: give {what}",
            path.display(),
            plural(d, "column")
        );
    }
    let k = n_rows / d;
    if k == 1 {
        return Ok(CovariancePrior::Shared(values));
    }
    let free = arguments.penalty.is_some() || arguments.max_clusters.is_some();
    if free || arguments.clusters.is_some_and(|clusters| clusters != k) {
        bail!(
            "--covariances {} holds {k} covariances, and there is one cluster for each: leave out --clusters, \
             --max-clusters and --penalty, or give one covariance for all clusters",
            path.display()
        );
    }
    Ok(CovariancePrior::Fixed(values))
}

/// What the pictures show: labels, centres, sizes and the trace.
fn as_drawn<T: Real>(found: &CovarianceFit, data: &Data<T>) -> Clustering {
    let fit = &found.clustering;
    Clustering {
        labels: fit.labels.clone(),
        centres: fit.centres.clone(),
        n_columns: fit.n_columns,
        reference: data.reference().iter().map(|&r| r.into()).collect(),
        sizes: fit.sizes.clone(),
        weights: fit.sizes.iter().map(|size| *size as f64).collect(),
        losses: vec![0.0; fit.sizes.len()],
        goal: fit.goal,
        objective: fit.objective,
        trace: fit.trace.clone(),
        traces: vec![fit.trace.clone()],
        spared: 0.0,
        best_run: 0,
        converged: fit.converged,
        stopped: fit.stopped,
    }
}

/// A fit with all that is said about it.
struct Answer<'a> {
    arguments: &'a ClusterArguments,
    table: &'a Table,
    found: CovarianceFit,
    guesses: CovarianceGuesses,
    model: CovarianceModel,
    agreement: Option<Agreement>,
    seconds: f64,
}

impl Answer<'_> {
    fn json(&self) -> String {
        let (found, fit, arguments) = (&self.found, &self.found.clustering, self.arguments);
        let d = fit.n_columns;
        let square = |matrix: &[f64]| matrix.chunks_exact(d).map(<[f64]>::to_vec).collect::<Vec<_>>();
        let covariances: Vec<_> = self.model.covariances_in_original_units().iter().map(|m| square(m)).collect();
        let mut value = json!({
            "n_rows": self.table.n_rows,
            "n_columns": d,
            "columns": self.table.names,
            "covariance": "full",
            "penalty": found.penalty,
            "covariance_penalty": found.covariance_penalty,
            "covariance_prior": fit.covariance_prior.as_deref().map(square),
            "algorithm": match arguments.algorithm {
                Some(AlgorithmName::Parallel) => "parallel",
                _ => "collapsed",
            },
            "guessed": {
                "penalty": self.guesses.penalty,
                "covariance_penalty": self.guesses.covariance_penalty && arguments.covariances.is_none(),
                "covariance_prior": arguments.covariance_prior.is_none() && arguments.covariances.is_none(),
                "spherical_clusters": found.spherical_clusters,
            },
            "objective": fit.objective,
            "n_groups": fit.n_clusters(),
            "sizes": fit.sizes,
            "centres": self.model.centres_in_original_units(),
            "covariances": covariances,
            "labels": fit.labels,
            "agreement": self.agreement,
            "standardized": arguments.standardize,
            "passes": fit.trace.len(),
            "trace": fit.trace,
            "converged": fit.converged,
            "stopped": fit.stopped,
            "seed": arguments.work.seed,
            "seconds": self.seconds,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(numbers) = &self.table.row_numbers {
            value["dropped_rows"] = self.table.dropped.into();
            value["row_numbers"] = json!(numbers);
        }
        format!("{value:#}\n")
    }

    fn text(&self) -> String {
        let (found, fit) = (&self.found, &self.found.clustering);
        let outcome = Outcome { passes: fit.trace.len(), runs: None, converged: fit.converged, stopped: fit.stopped };
        let mut out = outcome.head(self.table.n_rows, fit.n_columns, self.table.dropped);
        out += &plural(fit.n_clusters(), "cluster");
        if let Some(penalty) = found.penalty {
            out += &format!(" at penalty {}", number(penalty));
        }
        out += if self.arguments.covariances.is_some() {
            " of given covariances\n"
        } else {
            " with covariances of their own\n"
        };
        out += &self.guess_lines();
        out += "\n";
        let centres = self.model.centres_in_original_units();
        out += &CentreTable { sizes: &fit.sizes, spreads: None, centres: &centres, names: &self.table.names }.text();
        out += &format!("\nobjective {}\n", number(fit.objective));
        if let Some(agreement) = &self.agreement {
            out += &agreement.line();
        }
        out + &outcome.tail(self.arguments.work.seed, self.seconds)
    }

    /// What was guessed, from what, and what to give instead.
    fn guess_lines(&self) -> String {
        let (found, d) = (&self.found, self.found.clustering.n_columns);
        let source = match found.spherical_clusters {
            Some(k) => format!("from {} of a spherical fit", plural(k, "cluster")),
            None => "from the number of clusters".into(),
        };
        if self.arguments.covariances.is_some() {
            return if self.guesses.penalty { format!("the penalty is a guess {source}\n") } else { String::new() };
        }
        let mut out = format!("covariance penalty {}", number(found.covariance_penalty));
        match (self.guesses.penalty, self.guesses.covariance_penalty) {
            (true, true) => out += &format!("; both penalties are guesses {source}"),
            (true, false) => out += &format!("; the penalty is a guess {source}"),
            (false, true) => out += &format!(", a guess {source}"),
            (false, false) => {}
        }
        out += "\n";
        let Some(prior) = &found.clustering.covariance_prior else { return out };
        let units = if self.arguments.standardize { ", in standardised units" } else { "" };
        let guessed = self.arguments.covariance_prior.is_none();
        let how = if guessed { "guessed from a spherical fit" } else { "as given" };
        out += &format!("covariance expected within a cluster, {how}{units}:\n");
        if d <= MOST_COLUMNS {
            let rows: Vec<Vec<String>> = prior.chunks(d).map(|row| row.iter().map(|x| number(*x)).collect()).collect();
            out += &table(&self.table.names, &rows);
        } else {
            let variances: Vec<String> = (0..MOST_COLUMNS).map(|j| number(prior[j * d + j])).collect();
            out += &format!("  {d} x {d}, variances {}, ...\n", variances.join(", "));
        }
        if guessed {
            out += "such a guess suits clusters that are nearly round, and long ones are usually not found with it: give what you know of them with \
                    --covariance-prior, or try madbayes mixture, which learns every shape\n";
        }
        out
    }
}
