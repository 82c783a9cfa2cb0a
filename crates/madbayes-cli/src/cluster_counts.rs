//! `madbayes cluster --divergence kullback-leibler`: clusters of rows of counts.

use crate::agreement::Agreement;
use crate::arguments::{AlgorithmName, ClusterArguments, StartName};
use crate::choice;
use crate::cluster::{Outcome, labels_csv, selection, write};
use crate::cluster_report::write_counts;
use crate::number::{count, number, plural, table};
use crate::output::{hint, make_folder, to_file};
use crate::penalty::ClusterPenalty;
use crate::read::{CountsTable, Input, read_counts};
use crate::watching::Watching;
use anyhow::{Result, bail};
use madbayes::hard::{Algorithm, DivergenceMeans, Goal, Restarts};
use madbayes::model::CountModel;
use madbayes::select::{DivergenceFit, PenaltyRule, fit_divergence};
use serde_json::json;
use std::time::Instant;

/// Clusters shown in the table, and columns of each.
const MOST_CLUSTERS: usize = 30;
const MOST_COLUMNS: usize = 6;

/// Refuses options that mean nothing here.
fn check(arguments: &ClusterArguments) -> Result<()> {
    if arguments.standardize {
        bail!(
            "--standardize cannot be used with --divergence kullback-leibler: it compares shares of counts; leave it out"
        );
    }
    if arguments.algorithm == Some(AlgorithmName::Serial) {
        bail!("--algorithm serial is for squared distances: leave it out with --divergence kullback-leibler");
    }
    if arguments.start != StartName::PlusPlus {
        bail!("--start mean is for squared distances: leave it out with --divergence kullback-leibler");
    }
    if let Some(ClusterPenalty::Rule(rule)) = arguments.penalty
        && rule != PenaltyRule::Automatic
    {
        bail!(
            "--penalty must be a positive number or auto with --divergence kullback-leibler: the other rules are for squared \
             distances"
        );
    }
    Ok(())
}

pub fn run(arguments: &ClusterArguments) -> Result<()> {
    check(arguments)?;
    let input = &arguments.input;
    let selection = selection(input, input.columns.clone());
    let table = read_counts(&Input::from_argument(&input.file), &selection)?;
    if !arguments.output.quiet {
        table.hints.iter().filter(|h| !h.contains("--standardize")).for_each(|h| hint(h));
    }
    let (parameters, rule) = parameters(arguments);
    arguments.plots.as_deref().map(make_folder).transpose()?;
    let watching = Watching::new(arguments.output.quiet, arguments.work.time_limit)?;
    let begin = Instant::now();
    let found = fit_divergence(&table.counts, &parameters, rule, &watching)?;
    let seconds = begin.elapsed().as_secs_f64();
    watching.finish();
    if found.clustering.stopped && !arguments.output.quiet {
        hint(&format!("{}: this is the best result so far", watching.reason()));
    }
    if let Some(path) = &arguments.model {
        let model = CountModel::new(&found.clustering, table.names.clone(), found.penalty, arguments.work.seed);
        to_file(path, &model.to_bytes())?;
    }
    write_counts(arguments, &table, &found, seconds)?;
    let labels = &found.clustering.labels;
    let agreement = table.labels.as_ref().map(|truth| Agreement::new(truth, labels)).transpose()?;
    let csv = labels_csv(table.row_numbers.as_deref(), labels);
    let answer = Answer { arguments, table: &table, found, agreement, seconds };
    write(&arguments.output, &csv, || answer.text(), || answer.json())
}

fn parameters(arguments: &ClusterArguments) -> (DivergenceMeans, Option<PenaltyRule>) {
    let (goal, rule) = match (arguments.clusters, arguments.penalty.unwrap_or_default()) {
        (Some(k), _) => (Goal::Exactly(k), None),
        (None, ClusterPenalty::Value(penalty)) => {
            (Goal::Penalty { penalty, max_clusters: arguments.max_clusters }, None)
        }
        (None, ClusterPenalty::Rule(rule)) => {
            (Goal::Penalty { penalty: 1.0, max_clusters: arguments.max_clusters }, Some(rule))
        }
    };
    let parameters = DivergenceMeans {
        goal,
        algorithm: match arguments.algorithm {
            Some(AlgorithmName::Collapsed) => Algorithm::Collapsed,
            _ => Algorithm::Parallel,
        },
        restarts: arguments.restarts.map_or(Restarts::Auto, Restarts::Exactly),
        max_passes: arguments.max_passes,
        seed: arguments.work.seed,
        threads: arguments.work.threads,
        ..DivergenceMeans::default()
    };
    (parameters, rule)
}

/// A fit with all that is said about it.
struct Answer<'a> {
    arguments: &'a ClusterArguments,
    table: &'a CountsTable,
    found: DivergenceFit,
    agreement: Option<Agreement>,
    seconds: f64,
}

impl Answer<'_> {
    fn json(&self) -> String {
        let (found, fit, arguments) = (&self.found, &self.found.clustering, self.arguments);
        let finite = |x: f64| x.is_finite().then_some(x);
        let centres: Vec<Vec<f64>> = (0..fit.n_clusters()).map(|k| fit.centre(k)).collect();
        let mut value = json!({
            "n_rows": self.table.counts.n_rows(),
            "n_columns": self.table.names.len(),
            "columns": self.table.names,
            "divergence": "kullback-leibler",
            "penalty": found.penalty,
            "penalty_low": found.penalties.map(|i| i.low),
            "penalty_high": found.penalties.and_then(|i| finite(i.high)),
            "choice": found.choice.as_ref().map(choice::json),
            "sampled_rows": found.sampled_rows,
            "objective": fit.objective,
            "loss": fit.loss(),
            "n_groups": fit.n_clusters(),
            "sizes": fit.sizes,
            "centres": centres,
            "losses": fit.losses,
            "labels": fit.labels,
            "agreement": self.agreement,
            "algorithm": format!("{:?}", arguments.algorithm.unwrap_or(AlgorithmName::Parallel)).to_lowercase(),
            "runs": fit.runs,
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
        let outcome =
            Outcome { passes: fit.trace.len(), runs: Some(fit.runs), converged: fit.converged, stopped: fit.stopped };
        let counts = &self.table.counts;
        let mut out = outcome.head(counts.n_rows(), self.table.names.len(), self.table.dropped);
        let (asked, compared) = (self.arguments.clusters.is_some(), " (against 1, one more and one fewer)");
        out += &outcome.penalty_line(fit.n_clusters(), asked, found.penalty, found.penalties, compared);
        if let Some(rows) = found.sampled_rows {
            out += &format!("chosen on a random sample of {}\n", plural(rows, "row"));
        }
        if let Some(choice) = &found.choice {
            out +=
                &choice::text(choice, "cluster", fit.stopped).replace("of the same covariance", "of the same spread");
        }
        out += "\n";
        out += &self.cluster_table();
        out += &match found.penalty {
            Some(penalty) => format!(
                "\nobjective {} = divergence {} + {} x penalty {}\n",
                number(fit.objective),
                number(fit.loss()),
                fit.n_clusters() - 1,
                number(penalty)
            ),
            None => format!("\ndivergence {}\n", number(fit.loss())),
        };
        if let Some(agreement) = &self.agreement {
            out += &agreement.line();
        }
        out + &outcome.tail(self.arguments.work.seed, self.seconds)
    }

    /// Size of every cluster, its divergence per count, and the columns that have most of its counts.
    fn cluster_table(&self) -> String {
        let (fit, names) = (&self.found.clustering, &self.table.names);
        let head = ["cluster", "rows", "share", "nats per count", "largest shares"].map(String::from);
        let rows: Vec<Vec<String>> = (0..fit.n_clusters().min(MOST_CLUSTERS))
            .map(|k| {
                let centre = fit.centre(k);
                let total: f64 = fit.tallies[k * fit.n_columns..(k + 1) * fit.n_columns].iter().sum();
                let mut order: Vec<usize> = (0..centre.len()).filter(|&v| centre[v] > 0.0).collect();
                order.sort_by(|&a, &b| centre[b].total_cmp(&centre[a]).then(a.cmp(&b)));
                let shown = order.iter().take(MOST_COLUMNS);
                let shares: Vec<String> = shown.map(|&v| format!("{} {:.1}%", names[v], 100.0 * centre[v])).collect();
                vec![
                    k.to_string(),
                    count(fit.sizes[k]),
                    format!("{:.1}%", 100.0 * fit.sizes[k] as f64 / self.table.counts.n_rows() as f64),
                    number(if total > 0.0 { fit.losses[k] / total } else { 0.0 }),
                    shares.join(", "),
                ]
            })
            .collect();
        let mut out = table(&head, &rows);
        if fit.n_clusters() > MOST_CLUSTERS {
            out += &format!("  and {} more clusters\n", fit.n_clusters() - MOST_CLUSTERS);
        }
        out
    }
}
