//! `madbayes cluster`: from a file to an answer.

use crate::agreement::Agreement;
use crate::arguments::{
    AlgorithmName, ClusterArguments, CovarianceName, DivergenceName, Format, InputArguments, OutputArguments, StartName,
};
use crate::choice::{self, range};
use crate::number::{count, number, plural, table};
use crate::output::{check_targets, hint, make_folder, to_file, to_stdout};
use crate::penalty::ClusterPenalty;
use crate::picture::write_plots;
use crate::read::{Input, Labels, Selection, Table, Values, read};
use crate::watching::Watching;
use crate::{cluster_counts, cluster_covariance, cluster_report};
use anyhow::{Result, bail};
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{Algorithm, Clustering, DpMeans, Goal, Restarts, Start};
use madbayes::model::ClusterModel;
use madbayes::prepare::Standardise;
use madbayes::select::{Choice, Chosen, ClusterPath, PenaltyInterval, fit_exactly};
use madbayes::watch::Watch;
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Clusters and columns shown in the table.
const MOST_CLUSTERS: usize = 30;
const MOST_COLUMNS: usize = 8;
/// What an interval of penalties was judged by.
const COMPARED: &str = " (against 1 and two more or fewer clusters)";

pub fn run(arguments: &ClusterArguments) -> Result<()> {
    let targets = [&arguments.model, &arguments.output.out, &arguments.report].into_iter().flatten();
    check_targets(&[Path::new(&arguments.input.file)], targets.map(|path| path.as_path()))?;
    let full = arguments.covariance == CovarianceName::Full;
    let of_shapes = arguments.covariance_penalty.is_some() || arguments.covariance_prior.is_some();
    if !full && (of_shapes || arguments.covariances.is_some()) {
        bail!(
            "--covariance-penalty, --covariance-prior and --covariances are for clusters that are not round: add \
             --covariance full"
        );
    }
    if arguments.divergence == DivergenceName::KullbackLeibler {
        if full {
            bail!(
                "--covariance full is for distances, and --divergence kullback-leibler for counts: leave one of them out"
            );
        }
        return cluster_counts::run(arguments);
    }
    if full {
        cluster_covariance::check(arguments)?;
    }
    let table = read_table(&arguments.input, arguments.input.columns.clone())?;
    if !arguments.output.quiet {
        let useful = |h: &&String| !(arguments.standardize && h.contains("--standardize"));
        table.hints.iter().filter(useful).for_each(|h| hint(h));
    }
    match &table.values {
        Values::F32(values) if full => cluster_covariance::cluster(arguments, &table, values),
        Values::F64(values) if full => cluster_covariance::cluster(arguments, &table, values),
        Values::F32(values) => cluster(arguments, &table, values),
        Values::F64(values) => cluster(arguments, &table, values),
    }
}

/// Reads the file of a command.
pub fn read_table(input: &InputArguments, columns: Option<Vec<String>>) -> Result<Table> {
    read(&Input::from_argument(&input.file), &selection(input, columns))
}

/// The columns and rows that the arguments name.
pub fn selection(input: &InputArguments, columns: Option<Vec<String>>) -> Selection {
    Selection {
        columns,
        exclude: input.exclude.clone(),
        label_column: input.label_column.clone(),
        drop_missing: input.drop_missing,
    }
}

/// A fit with all that is said about it.
struct Answer<'a> {
    arguments: &'a ClusterArguments,
    table: &'a Table,
    fit: Clustering,
    penalty: Option<f64>,
    interval: Option<PenaltyInterval>,
    choice: Option<Choice>,
    /// Rows that were searched for the penalty, where not all were.
    sampled_rows: Option<usize>,
    centres: Vec<Vec<f64>>,
    agreement: Option<Agreement>,
    seconds: f64,
}

fn cluster<T: Real>(arguments: &ClusterArguments, table: &Table, values: &[T]) -> Result<()> {
    let rows = Rows::new(values, table.names.len())?;
    let standardise = arguments.standardize.then(|| Data::new(rows).map(|data| Standardise::fit(&data))).transpose()?;
    let prepared = standardise.as_ref().map(|s| s.apply(rows)).transpose()?;
    let data = Data::new(Rows::new(prepared.as_deref().unwrap_or(values), table.names.len())?)?;
    let watching = Watching::new(arguments.output.quiet, arguments.work.time_limit)?;
    // A folder that cannot be made is better known now than after the work.
    arguments.plots.as_deref().map(make_folder).transpose()?;
    let begin = Instant::now();
    let Fitted { fit, penalty, interval, choice, sampled_rows, path } = fit(arguments, &data, &watching)?;
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if fit.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best result so far", watching.reason()));
    }
    if 2 * fit.n_clusters() > data.n_rows() && data.n_rows() > 10 && !arguments.output.quiet {
        hint(
            "most clusters are single rows: raise --penalty, or run `madbayes path` to see which penalties lead to which number",
        );
    }
    let choice_made = choice.as_ref();
    let found =
        cluster_report::Found { fit: &fit, penalty, interval, choice: choice_made, path, row_losses: None, seconds };
    let colours = cluster_report::write(arguments, table, &data, standardise.as_ref(), found)?;
    let model = ClusterModel::new(&fit, table.names.clone(), standardise, penalty, arguments.work.seed);
    if let Some(path) = &arguments.model {
        to_file(path, &model.to_bytes())?;
    }
    if let Some(folder) = &arguments.plots {
        // In the units of the fit, where distances are what the clusters were made by.
        write_plots(folder, data.rows(), &fit, &table.names, &colours)?;
    }
    let agreement = table.labels.as_ref().map(|truth: &Labels| Agreement::new(truth, &fit.labels)).transpose()?;
    let centres = model.centres_in_original_units();
    let answer = Answer { arguments, table, fit, penalty, interval, choice, sampled_rows, centres, agreement, seconds };
    answer.write()
}

/// A fit, the penalty that goes with it, and how that was found.
struct Fitted {
    fit: Clustering,
    penalty: Option<f64>,
    interval: Option<PenaltyInterval>,
    choice: Option<Choice>,
    sampled_rows: Option<usize>,
    path: Option<ClusterPath>,
}

fn fit<T: Real>(arguments: &ClusterArguments, data: &Data<T>, watch: &dyn Watch) -> Result<Fitted> {
    if let Some(k) = arguments.clusters {
        let exact = fit_exactly(k, &parameters(arguments, Goal::Exactly(k)), data, watch)?;
        let (penalty, interval) = (exact.penalties.map(|p| p.middle()), exact.penalties);
        return Ok(Fitted { fit: exact.clustering, penalty, interval, choice: None, sampled_rows: None, path: None });
    }
    // Where the data choose, the penalty is filled in by the rule.
    let at = |penalty| parameters(arguments, Goal::Penalty { penalty, max_clusters: arguments.max_clusters });
    match arguments.penalty.unwrap_or_default() {
        ClusterPenalty::Value(penalty) => {
            let fit = at(penalty).fit(data, watch)?;
            Ok(Fitted { fit, penalty: Some(penalty), interval: None, choice: None, sampled_rows: None, path: None })
        }
        ClusterPenalty::Rule(rule) => {
            let found = rule.fit(data, &at(1.0), watch)?;
            let (fit, chosen) = (found.clustering, found.chosen);
            let (penalty, interval) = (Some(chosen.penalty), chosen.penalties);
            let Chosen { choice, sampled_rows, path, .. } = chosen;
            Ok(Fitted { fit, penalty, interval, choice, sampled_rows, path })
        }
    }
}

fn parameters(arguments: &ClusterArguments, goal: Goal) -> DpMeans {
    DpMeans {
        goal,
        algorithm: match arguments.algorithm.unwrap_or(AlgorithmName::Parallel) {
            AlgorithmName::Parallel => Algorithm::Parallel,
            AlgorithmName::Serial => Algorithm::Serial,
            AlgorithmName::Collapsed => Algorithm::Collapsed,
        },
        start: match arguments.start {
            StartName::PlusPlus => Start::PlusPlus,
            StartName::Mean => Start::Mean,
        },
        restarts: arguments.restarts.map_or(Restarts::Auto, Restarts::Exactly),
        max_passes: arguments.max_passes,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..DpMeans::default()
    }
}

impl Answer<'_> {
    fn write(&self) -> Result<()> {
        let labels = labels_csv(self.table.row_numbers.as_deref(), &self.fit.labels);
        write(&self.arguments.output, &labels, || self.text(), || self.json())
    }

    fn json(&self) -> String {
        let (fit, arguments) = (&self.fit, self.arguments);
        let finite = |x: f64| x.is_finite().then_some(x);
        let mut value = json!({
            "n_rows": self.table.n_rows,
            "n_columns": self.table.names.len(),
            "columns": self.table.names,
            "penalty": self.penalty,
            "penalty_low": self.interval.map(|i| i.low),
            "penalty_high": self.interval.and_then(|i| finite(i.high)),
            "choice": self.choice.as_ref().map(choice::json),
            "sampled_rows": self.sampled_rows,
            "objective": fit.objective,
            "loss": fit.loss(),
            "n_groups": fit.n_clusters(),
            "sizes": fit.sizes,
            "centres": self.centres,
            "losses": fit.losses,
            "labels": fit.labels,
            "agreement": self.agreement,
            "standardized": arguments.standardize,
            "algorithm": format!("{:?}", arguments.algorithm.unwrap_or(AlgorithmName::Parallel)).to_lowercase(),
            "runs": fit.traces.len(),
            "passes": fit.n_passes(),
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
        let (fit, table) = (&self.fit, self.table);
        let runs = Some(fit.traces.len());
        let outcome = Outcome { passes: fit.n_passes(), runs, converged: fit.converged, stopped: fit.stopped };
        let mut out = outcome.head(table.n_rows, table.names.len(), table.dropped);
        let asked = self.arguments.clusters.is_some();
        out += &outcome.penalty_line(fit.n_clusters(), asked, self.penalty, self.interval, COMPARED);
        if let Some(rows) = self.sampled_rows {
            out += &format!("searched on a random sample of {}, then refined on all of them\n", plural(rows, "row"));
        }
        if let Some(choice) = &self.choice {
            out += &choice::text(choice, "cluster", fit.stopped);
            if choice.k != fit.n_clusters() && !fit.stopped {
                out += &format!(
                    "the path had {} at this penalty; the fit has found better\n",
                    plural(choice.k, "cluster")
                );
            }
        }
        out += "\n";
        let spread = |(loss, size): (&f64, &usize)| (loss / *size as f64).sqrt();
        let spreads: Vec<f64> = fit.losses.iter().zip(&fit.sizes).map(spread).collect();
        let spreads = Some(&spreads[..]);
        out += &CentreTable { sizes: &fit.sizes, spreads, centres: &self.centres, names: &table.names }.text();
        out += "\n";
        out += &self.spread_lines();
        if let Some(agreement) = &self.agreement {
            out += &agreement.line();
        }
        out + &outcome.tail(self.arguments.work.seed, self.seconds)
    }

    /// What the objective is made of, and how the penalty compares with the spread within clusters.
    fn spread_lines(&self) -> String {
        let (loss, k) = (self.fit.loss(), self.fit.n_clusters());
        let mean_square = loss / self.table.n_rows as f64;
        let Some(penalty) = self.penalty else { return format!("loss {}\n", number(loss)) };
        let mut out = format!(
            "objective {} = loss {} + {} x penalty {}\n",
            number(self.fit.objective),
            number(loss),
            k - 1,
            number(penalty)
        );
        if mean_square > 0.0 {
            out += &format!(
                "the penalty is {} times the mean squared distance of a row to its centre, {}{}\n",
                number(penalty / mean_square),
                number(mean_square),
                if self.arguments.standardize { " (standardised units)" } else { "" }
            );
        }
        out
    }
}

/// How a fit went, for the first and the last line of its text.
pub struct Outcome {
    pub passes: usize,
    /// How many runs it is the best of, where that is told.
    pub runs: Option<usize>,
    pub converged: bool,
    pub stopped: bool,
}

impl Outcome {
    /// Rows, columns, and rows left out.
    pub fn head(&self, n_rows: usize, n_columns: usize, dropped: usize) -> String {
        let mut out = format!("{} x {}", plural(n_rows, "row"), plural(n_columns, "column"));
        if dropped > 0 {
            out += &format!(" ({} with missing cells left out)", plural(dropped, "row"));
        }
        out + "\n"
    }

    /// "3 clusters" and what is known of the penalties for which there are so many; `asked` where K was given.
    pub fn penalty_line(
        &self,
        k: usize,
        asked: bool,
        penalty: Option<f64>,
        interval: Option<PenaltyInterval>,
        compared: &str,
    ) -> String {
        let penalties = match (interval, penalty) {
            (Some(interval), _) if asked => format!(", optimal for penalties {}{compared}", range(interval)),
            (Some(interval), Some(penalty)) => {
                format!(" at penalty {}; the same number is optimal {}", number(penalty), range(interval))
            }
            (Some(interval), None) => format!(", optimal for penalties {}", range(interval)),
            (None, Some(penalty)) => format!(" at penalty {}", number(penalty)),
            (None, None) if self.stopped => String::new(),
            (None, None) => ", but no penalty makes this number optimal: one more or one fewer is always better".into(),
        };
        format!("{}{penalties}\n", plural(k, "cluster"))
    }

    /// How it ended.
    pub fn tail(&self, seed: u64, seconds: f64) -> String {
        let state = match (self.converged, self.stopped) {
            (_, true) => "stopped early",
            (true, _) => "converged",
            (false, _) => "not converged (raise --max-passes)",
        };
        let passes = plural(self.passes, "pass").replace("passs", "passes");
        let runs = self.runs.map_or(String::new(), |runs| format!(", best of {}", plural(runs, "run")));
        format!("{state} after {passes}{runs}, seed {seed}, {seconds:.3} s\n")
    }
}

/// Size, spread and centre of every cluster, in the user's units.
pub struct CentreTable<'a> {
    pub sizes: &'a [usize],
    pub spreads: Option<&'a [f64]>,
    pub centres: &'a [Vec<f64>],
    pub names: &'a [String],
}

impl CentreTable<'_> {
    pub fn text(&self) -> String {
        let columns = self.names.len().min(MOST_COLUMNS);
        let mut head: Vec<String> = ["cluster", "rows", "share"].map(String::from).to_vec();
        head.extend(self.spreads.map(|_| "spread".to_string()));
        head.extend(self.names[..columns].iter().cloned());
        let n_rows = self.sizes.iter().sum::<usize>() as f64;
        let rows: Vec<Vec<String>> = (0..self.sizes.len().min(MOST_CLUSTERS))
            .map(|k| {
                let size = self.sizes[k];
                let mut cells = vec![k.to_string(), count(size), format!("{:.1}%", 100.0 * size as f64 / n_rows)];
                cells.extend(self.spreads.map(|spreads| number(spreads[k])));
                cells.extend(self.centres[k][..columns].iter().map(|c| number(*c)));
                cells
            })
            .collect();
        let mut out = table(&head, &rows);
        if self.sizes.len() > MOST_CLUSTERS {
            out += &format!("  and {} more clusters\n", self.sizes.len() - MOST_CLUSTERS);
        }
        if self.names.len() > columns {
            out += &format!("  and {} more columns\n", self.names.len() - columns);
        }
        out
    }
}

/// Writes the labels where they are asked for, and the result to standard output unless the labels go there.
pub fn write(
    output: &OutputArguments,
    labels: &str,
    text: impl Fn() -> String,
    json: impl Fn() -> String,
) -> Result<()> {
    let labels_to_stdout = output.out.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if let Some(path) = &output.out {
        to_file(path, labels.as_bytes())?;
    }
    match output.format {
        _ if labels_to_stdout => Ok(()),
        Format::Text => to_stdout(text().as_bytes()),
        Format::Json => to_stdout(json().as_bytes()),
    }
}

/// row,cluster with rows counted from 1 as they stand in the file.
pub fn labels_csv(row_numbers: Option<&[usize]>, labels: &[u32]) -> String {
    let mut out = String::from("row,cluster\n");
    for (n, label) in labels.iter().enumerate() {
        let row = row_numbers.map_or(n, |numbers| numbers[n]);
        out += &format!("{},{label}\n", row + 1);
    }
    out
}
