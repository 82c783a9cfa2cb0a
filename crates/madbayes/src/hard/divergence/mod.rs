//! DP-means with Kullback-Leibler divergence, for rows of counts: sum_n x_n. KL(x_n/x_n. || centre) + (K - 1) penalty, the
//! limit of the Dirichlet process mixture of multinomials; a centre is the share of each column in its cluster's counts.

mod moves;
mod run;
mod tallies;
#[cfg(test)]
mod tests;

use super::Goal;
use super::dp_means::Algorithm;
use super::restarts::{Restarts, restarts_within_budget};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::{Step, Watch};
pub(crate) use run::Problem;
pub(crate) use tallies::Merging;
pub use tallies::{Tallies, nearest_distributions};

/// Rows of a task.
const ROWS: usize = 256;
/// Counts above 0 beyond which threads share the rows.
const SMALL: usize = 1 << 16;

/// Parameters of DP-means with Kullback-Leibler divergence.
///
/// ```
/// use madbayes::counts::Counts;
/// use madbayes::data::Rows;
/// use madbayes::hard::DivergenceMeans;
/// use madbayes::watch::Unwatched;
///
/// // How often three words occur in four texts.
/// let rows = [9.0, 1.0, 0.0, 4.0, 0.0, 0.0, 0.0, 2.0, 9.0, 0.0, 1.0, 3.0];
/// let counts = Counts::from_rows(Rows::new(&rows, 3)?)?;
/// let fit = DivergenceMeans::with_penalty(5.0).fit(&counts, &Unwatched)?;
/// assert_eq!(fit.labels, [0, 0, 1, 1]);
/// assert!((fit.centre(1)[2] - 12.0 / 15.0).abs() < 1e-12);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DivergenceMeans {
    /// Penalty, cap or exact number of clusters. The penalty is in nats times counts: a row of n counts pays n times the
    /// divergence of its shares from those of its cluster.
    pub goal: Goal,
    /// `Parallel`: all rows at once, then row after row where that finds no more. `Collapsed`: row after row alone.
    pub algorithm: Algorithm,
    /// How many runs; the best is kept.
    pub restarts: Restarts,
    /// Most passes of one run.
    pub max_passes: usize,
    /// A run has converged when a round of passes lowers the objective by less than this share of it.
    pub tolerance: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for DivergenceMeans {
    fn default() -> Self {
        DivergenceMeans {
            goal: Goal::Penalty { penalty: 1.0, max_clusters: None },
            algorithm: Algorithm::default(),
            restarts: Restarts::default(),
            max_passes: 300,
            tolerance: 1e-6,
            seed: 0,
            threads: 0,
        }
    }
}

/// The result. `objective` is the objective of exactly these labels and tallies.
#[derive(Debug, Clone, PartialEq)]
pub struct DivergenceClustering {
    /// The cluster of each row.
    pub labels: Vec<u32>,
    /// Summed counts of each cluster, K x V.
    pub tallies: Vec<f64>,
    /// Number of columns, V.
    pub n_columns: usize,
    /// Rows in each cluster.
    pub sizes: Vec<usize>,
    /// Loss of each cluster: sum of x. KL(x/x. || centre) over its rows.
    pub losses: Vec<f64>,
    /// What was minimised.
    pub goal: Goal,
    /// Sum of the losses + (K - 1) penalty.
    pub objective: f64,
    /// The objective after every pass of the best run; the last is `objective`.
    pub trace: Vec<f64>,
    /// How many runs there were.
    pub runs: usize,
    /// Whether the best run ended because nothing changed any more (within the tolerance).
    pub converged: bool,
    /// Whether the watch stopped the computation.
    pub stopped: bool,
}

impl DivergenceClustering {
    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// The sum of the losses.
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum()
    }

    /// The share of each column in the counts of a cluster; all equal where it has none.
    pub fn centre(&self, k: usize) -> Vec<f64> {
        shares(&self.tallies[k * self.n_columns..(k + 1) * self.n_columns])
    }

    /// x. KL(x/x. || centre) of every row of the fit.
    pub fn row_losses(&self, counts: &Counts) -> Vec<f64> {
        let totals: Vec<f64> = self.tallies.chunks_exact(self.n_columns).map(|tally| tally.iter().sum()).collect();
        let loss = |n: usize| {
            let (label, total) = (self.labels[n] as usize, counts.total(n));
            let tally = &self.tallies[label * self.n_columns..(label + 1) * self.n_columns];
            let (columns, values) = counts.row(n);
            let present = columns.iter().zip(values).filter(|(_, x)| **x > 0.0);
            let part = |(&column, x): (&u32, &f64)| x * (x / total / (tally[column as usize] / totals[label])).ln();
            // Rounding may leave a little less than 0 where a row is alone.
            present.map(part).sum::<f64>().max(0.0)
        };
        (0..self.labels.len()).map(loss).collect()
    }

    /// All centres, K x V.
    pub fn centres(&self) -> Vec<f64> {
        self.tallies.chunks_exact(self.n_columns).flat_map(shares).collect()
    }
}

/// C/C.
fn shares(tally: &[f64]) -> Vec<f64> {
    let total: f64 = tally.iter().sum();
    tally.iter().map(|c| if total > 0.0 { c / total } else { 1.0 / tally.len() as f64 }).collect()
}

/// What a run leaves.
#[derive(Debug, Clone)]
pub(crate) struct Tried {
    pub labels: Vec<u32>,
    pub tallies: Tallies,
    pub trace: Vec<f64>,
    pub converged: bool,
    pub stopped: bool,
}

impl DivergenceMeans {
    /// With this penalty, other parameters by default.
    pub fn with_penalty(penalty: f64) -> Self {
        DivergenceMeans { goal: Goal::Penalty { penalty, max_clusters: None }, ..Default::default() }
    }

    /// With exactly this many clusters, other parameters by default.
    pub fn exactly(n_clusters: usize) -> Self {
        DivergenceMeans { goal: Goal::Exactly(n_clusters), ..Default::default() }
    }

    /// Errors unless the parameters make sense for these counts.
    pub fn check(&self, counts: &Counts) -> Result<()> {
        self.goal.check(counts.n_rows())?;
        self.restarts.check()?;
        if self.max_passes == 0 {
            return Err(Error::argument("max_passes", "at least 1", 0, "one pass assigns every row"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            let help = "0 goes on until nothing changes";
            return Err(Error::argument("tolerance", "a finite number of at least 0", self.tolerance, help));
        }
        if self.algorithm == Algorithm::Serial {
            let help = "the serial algorithm is for squared distances";
            return Err(Error::argument("algorithm", "'parallel' or 'collapsed' for counts", "'serial'", help));
        }
        Ok(())
    }

    /// One run from these labels.
    pub(crate) fn improve(&self, counts: &Counts, labels: Vec<u32>, watch: &dyn Watch) -> Result<DivergenceClustering> {
        self.check(counts)?;
        let workers = self.workers(counts);
        let problem = self.problem(counts, &workers, watch);
        let tried = problem.improve(0, labels, &mut stream(self.seed, Stream::Restart(0)))?;
        let stopped = tried.stopped;
        Ok(finished(&problem, tried, 1, stopped))
    }

    fn workers(&self, counts: &Counts) -> Workers {
        if counts.n_nonzero() < SMALL { Workers::serial() } else { Workers::new(self.threads) }
    }

    fn problem<'a>(&self, counts: &'a Counts, workers: &'a Workers, watch: &'a dyn Watch) -> Problem<'a> {
        let frozen = self.algorithm != Algorithm::Collapsed;
        let (max_passes, tolerance) = (self.max_passes, self.tolerance);
        Problem { frozen, max_passes, tolerance, ..Problem::new(counts, self.goal, workers, watch) }
    }

    /// Fits; the best of all runs. Stopped by the watch, it returns the best so far.
    pub fn fit(&self, counts: &Counts, watch: &dyn Watch) -> Result<DivergenceClustering> {
        self.check(counts)?;
        let nonzero = counts.n_nonzero();
        let workers = self.workers(counts);
        let problem = self.problem(counts, &workers, watch);
        let run = |number: usize| problem.run(number, &mut stream(self.seed, Stream::Restart(number as u32)));
        let first = run(0)?;
        let runs = match self.restarts {
            Restarts::Exactly(runs) => runs,
            // A logarithm costs as much as several multiplications.
            Restarts::Auto => restarts_within_budget(nonzero, 8, first.tallies.len()),
        };
        let _ = watch.step(&Step::Run { run: 0, of: runs });
        let others = workers.map(if first.stopped { 0 } else { runs - 1 }, |i| {
            if watch.step(&Step::Chunk).is_break() {
                return None;
            }
            let tried = run(i + 1);
            let _ = watch.step(&Step::Run { run: i + 1, of: runs });
            Some(tried)
        });
        let mut stopped = first.stopped || others.iter().any(Option::is_none);
        let mut best = first;
        for tried in others.into_iter().flatten() {
            let tried = tried?;
            stopped |= tried.stopped;
            if tried.trace.last() < best.trace.last() {
                best = tried;
            }
        }
        Ok(finished(&problem, best, runs, stopped))
    }
}

/// The result of the best run.
fn finished(problem: &Problem, best: Tried, runs: usize, stopped: bool) -> DivergenceClustering {
    let losses = problem.losses(&best.labels, &best.tallies);
    let objective = problem.goal.objective(losses.iter().sum(), losses.len());
    let (mut trace, mut sizes) = (best.trace, vec![0; losses.len()]);
    if let Some(last) = trace.last_mut() {
        *last = objective;
    }
    best.labels.iter().for_each(|&l| sizes[l as usize] += 1);
    DivergenceClustering {
        labels: best.labels,
        tallies: best.tallies.into_counts(),
        n_columns: problem.counts.n_columns(),
        sizes,
        losses,
        goal: problem.goal,
        objective,
        trace,
        runs,
        converged: best.converged && !stopped,
        stopped,
    }
}
