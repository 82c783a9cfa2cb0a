//! Full-covariance means (Broderick 2013, Sup. E, with the terms that keep it bounded; MATH 1):
//! sum_k [sum_n (x_n-mu_k)'S_k^-1(x_n-mu_k) + c log|S_k| + tr(Phi S_k^-1) - c log|Phi| + cD log c - cD] + (K - 1) penalty.

mod ellipses;
mod guess;
mod learned;
mod lloyd;
#[cfg(test)]
mod tests;

use super::restarts::{Restarts, restarts_within_budget};
use super::{DpMeans, Goal};
use crate::data::{Data, EitherData, Real, Rows};
use crate::error::{Error, Result};
use crate::likelihood::{check_covariance, check_covariance_penalty};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::{Silently, Step, Watch};
use ellipses::means;
pub(crate) use ellipses::whitened;
pub use ellipses::{nearest_ellipses, own_ellipses};
use learned::Learned;
use lloyd::Lloyd;

/// Rows times squared columns below which threads do not pay.
const SMALL: usize = 1 << 12;

/// What is known of the covariances of the clusters.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum CovariancePrior {
    /// Phi / c, D x D: the covariance of a cluster of one row. Give the covariance expected within a cluster.
    Expected(Vec<f64>),
    /// The same, guessed: the pooled covariance of a spherical fit. It is good for clusters that are nearly round. Long ones
    /// are cut by such a fit, so the guess is too short along them and too wide across: three parallel strips were not found
    /// with it at any penalty. Where the shape of the clusters is known, give it.
    #[default]
    Guessed,
    /// Phi = 0, the paper's objective, without its constants: K must be given, and the objective is unbounded where a
    /// cluster has no spread in some direction. Then it is an error.
    Nothing,
    /// The covariances themselves, held fixed, K x D x D: K is their number.
    Fixed(Vec<f64>),
    /// One covariance for all clusters, held fixed, D x D: DP-means in its units.
    Shared(Vec<f64>),
}

/// How the objective is lowered where covariances are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CovarianceAlgorithm {
    /// Means and covariances held still while rows choose the nearest cluster; then both anew; merges at the end.
    Frozen,
    /// The same, then row after row with means and covariances following every move.
    #[default]
    Collapsed,
}

/// Parameters of full-covariance means.
#[derive(Debug, Clone, PartialEq)]
pub struct FullCovarianceMeans {
    /// Penalty, cap or exact number of clusters. The penalty is in squared standard deviations of a cluster.
    pub goal: Goal,
    /// c: how firmly covariances keep to the prior, in rows. S_k = (scatter_k + Phi) / c grows with the cluster, so the
    /// size of a typical cluster is a good choice. The gain of a cluster is at most of the order of c log(spread / prior):
    /// a penalty beyond that leaves one cluster.
    pub covariance_penalty: f64,
    /// What is known of the covariances.
    pub covariance_prior: CovariancePrior,
    /// How the objective is lowered.
    pub algorithm: CovarianceAlgorithm,
    /// How many runs; the best is kept.
    pub restarts: Restarts,
    /// Most passes of one run.
    pub max_passes: usize,
    /// A run has converged when a pass lowers the objective by less than this share of it; 0: when nothing changes.
    pub tolerance: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads, which share the runs; 0: one per processor.
    pub threads: usize,
}

impl Default for FullCovarianceMeans {
    fn default() -> Self {
        FullCovarianceMeans {
            goal: Goal::Penalty { penalty: 1.0, max_clusters: None },
            covariance_penalty: 50.0,
            covariance_prior: CovariancePrior::default(),
            algorithm: CovarianceAlgorithm::default(),
            restarts: Restarts::default(),
            max_passes: 300,
            tolerance: 1e-6,
            seed: 0,
            threads: 0,
        }
    }
}

/// The result of full-covariance means. `objective` is the objective of exactly these labels, centres and covariances.
#[derive(Debug, Clone, PartialEq)]
pub struct FullCovarianceClustering {
    /// The cluster of each row.
    pub labels: Vec<u32>,
    /// K x D.
    pub centres: Vec<f64>,
    /// S_k, K x D x D.
    pub covariances: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// Rows in each cluster.
    pub sizes: Vec<usize>,
    /// Phi / c as given or guessed, D x D; none where there is no prior.
    pub covariance_prior: Option<Vec<f64>>,
    /// What was minimised.
    pub goal: Goal,
    /// Its value.
    pub objective: f64,
    /// The objective after every pass of the best run; the last is `objective`.
    pub trace: Vec<f64>,
    /// Whether the best run ended because nothing changed any more.
    pub converged: bool,
    /// Whether the watch stopped the computation.
    pub stopped: bool,
}

impl FullCovarianceClustering {
    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// One centre.
    pub fn centre(&self, k: usize) -> &[f64] {
        &self.centres[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// One covariance, D x D.
    pub fn covariance(&self, k: usize) -> &[f64] {
        let size = self.n_columns * self.n_columns;
        &self.covariances[k * size..(k + 1) * size]
    }
}

/// What a run leaves: labels, and how it got there.
#[derive(Debug, Clone, Default)]
struct Outcome {
    labels: Vec<u32>,
    centres: Vec<f64>,
    covariances: Vec<f64>,
    trace: Vec<f64>,
    converged: bool,
    stopped: bool,
}

impl FullCovarianceMeans {
    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        let (d, size) = (data.n_columns(), data.n_columns() * data.n_columns());
        self.goal.check(data.n_rows())?;
        self.restarts.check()?;
        check_covariance_penalty(self.covariance_penalty)?;
        if self.max_passes == 0 {
            return Err(Error::argument("max_passes", "at least 1", 0, "one pass assigns every row"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            let help = "0 goes on until nothing changes";
            return Err(Error::argument("tolerance", "a finite number of at least 0", self.tolerance, help));
        }
        match &self.covariance_prior {
            CovariancePrior::Expected(matrix) => check_covariance("covariance_prior", matrix, d)?,
            CovariancePrior::Shared(matrix) => check_covariance("covariances", matrix, d)?,
            CovariancePrior::Fixed(matrices) => {
                let Goal::Exactly(k) = self.goal else {
                    let help = "ask for exactly as many clusters as there are covariances, or give one for all";
                    return Err(Error::argument("n_clusters", "given with fixed covariances", "none", help));
                };
                if matrices.len() != k * size {
                    let allowed = format!("{k} matrices of {d} x {d}");
                    let found = format!("{} numbers", matrices.len());
                    return Err(Error::argument("covariances", allowed, found, "give one covariance per cluster"));
                }
                matrices.chunks_exact(size).try_for_each(|m| check_covariance("covariances", m, d))?;
            }
            CovariancePrior::Nothing if !matches!(self.goal, Goal::Exactly(_)) => {
                let help =
                    "without a prior a cluster of few rows costs minus infinity; give covariance_prior to leave K free";
                return Err(Error::argument("n_clusters", "given where there is no covariance prior", "none", help));
            }
            CovariancePrior::Nothing | CovariancePrior::Guessed => {}
        }
        Ok(())
    }

    /// Fits; the best of all runs. Stopped by the watch, it returns the best so far.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<FullCovarianceClustering> {
        fn either(this: &FullCovarianceMeans, data: EitherData, watch: &dyn Watch) -> Result<FullCovarianceClustering> {
            either!(data, data => this.fit_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<FullCovarianceClustering> {
        self.check(data)?;
        match &self.covariance_prior {
            CovariancePrior::Shared(covariance) => self.in_its_units(data, covariance, watch),
            CovariancePrior::Expected(prior) => self.learned(data, prior.clone(), watch),
            CovariancePrior::Guessed => {
                let prior = guess::guess(data, &self.goal, self.seed, &Silently(watch))?;
                self.learned(data, prior, watch)
            }
            CovariancePrior::Nothing => self.lloyd(data, None, watch),
            CovariancePrior::Fixed(covariances) => self.lloyd(data, Some(covariances), watch),
        }
    }

    /// Covariances learned about a prior: starts are DP-means in units of the prior, the limit of a large c.
    fn learned<T: Real>(&self, data: &Data<T>, prior: Vec<f64>, watch: &dyn Watch) -> Result<FullCovarianceClustering> {
        let (d, c) = (data.n_columns(), self.covariance_penalty);
        let scale = prior.iter().map(|p| c * p).collect();
        let (goal, algorithm, tolerance) = (self.goal, self.algorithm, self.tolerance);
        let learned = Learned { data, goal, c, prior: &prior, scale, algorithm, tolerance, watch };
        let values = whitened(data, &prior);
        let round = Data::weighted(Rows::new(&values, d)?, data.weights())?;
        let best = self.best_of_runs(data, watch, |run| {
            let start = DpMeans {
                goal: self.goal,
                restarts: Restarts::Exactly(1),
                seed: self.seed.wrapping_add(run as u64),
                threads: 1,
                ..Default::default()
            };
            let labels = start.fit(&round, &Silently(watch))?.labels;
            let mut rng = stream(self.seed, Stream::Restart(run as u32));
            learned.run(run, labels, self.max_passes, &mut rng)
        })?;
        Ok(self.result(data, best, Some(prior)))
    }

    /// Covariances fixed, or learned without a prior.
    fn lloyd<T: Real>(
        &self,
        data: &Data<T>,
        fixed: Option<&[f64]>,
        watch: &dyn Watch,
    ) -> Result<FullCovarianceClustering> {
        let Goal::Exactly(k) = self.goal else { unreachable!("checked") };
        let (c, tolerance) = (self.covariance_penalty, self.tolerance);
        let lloyd = Lloyd { data, n_clusters: k, c, fixed, tolerance, watch };
        let best = self.best_of_runs(data, watch, |run| {
            lloyd.run(run, self.max_passes, &mut stream(self.seed, Stream::Restart(run as u32)))
        })?;
        Ok(self.result(data, best, None))
    }

    /// One fixed covariance for all: DP-means in its units.
    fn in_its_units<T: Real>(
        &self,
        data: &Data<T>,
        covariance: &[f64],
        watch: &dyn Watch,
    ) -> Result<FullCovarianceClustering> {
        let values = whitened(data, covariance);
        let round = Data::weighted(Rows::new(&values, data.n_columns())?, data.weights())?;
        let fit = DpMeans {
            goal: self.goal,
            restarts: self.restarts,
            max_passes: self.max_passes,
            tolerance: self.tolerance,
            seed: self.seed,
            threads: self.threads,
            ..Default::default()
        }
        .fit(&round, watch)?;
        let outcome = Outcome {
            centres: means(data, &fit.labels, fit.n_clusters()),
            covariances: covariance.repeat(fit.n_clusters()),
            labels: fit.labels,
            trace: fit.trace,
            converged: fit.converged,
            stopped: fit.stopped,
        };
        Ok(self.result(data, outcome, None))
    }

    /// The run of lowest objective, the first of equals. An error of one run counts only where all have failed.
    fn best_of_runs<T: Real>(
        &self,
        data: &Data<T>,
        watch: &dyn Watch,
        run: impl Fn(usize) -> Result<Outcome> + Sync,
    ) -> Result<Outcome> {
        let d = data.n_columns();
        let runs = match self.restarts {
            Restarts::Exactly(runs) => runs,
            Restarts::Auto => restarts_within_budget(data.n_rows(), d * d, self.goal.cap().min(10)),
        };
        let workers = if data.n_rows() * d * d < SMALL { Workers::serial() } else { Workers::new(self.threads) };
        let tried = workers.map(runs, |number| {
            if number > 0 && watch.step(&Step::Chunk).is_break() {
                return None;
            }
            let outcome = run(number);
            let _ = watch.step(&Step::Run { run: number, of: runs });
            Some(outcome)
        });
        let skipped = tried.iter().any(Option::is_none);
        let mut tried = tried.into_iter().flatten();
        let mut best = tried.next().expect("the first run is never left out");
        let mut stopped = skipped || best.as_ref().is_ok_and(|b| b.stopped);
        for next in tried.flatten() {
            stopped |= next.stopped;
            if best.as_ref().map_or(true, |b| next.trace.last() < b.trace.last()) {
                best = Ok(next);
            }
        }
        best.map(|best| Outcome { stopped, ..best })
    }

    fn result<T: Real>(&self, data: &Data<T>, best: Outcome, prior: Option<Vec<f64>>) -> FullCovarianceClustering {
        let (d, k) = (data.n_columns(), best.centres.len() / data.n_columns());
        let mut sizes = vec![0; k];
        best.labels.iter().for_each(|&l| sizes[l as usize] += 1);
        FullCovarianceClustering {
            n_columns: d,
            sizes,
            covariance_prior: prior,
            goal: self.goal,
            objective: best.trace.last().copied().unwrap_or(f64::INFINITY),
            labels: best.labels,
            centres: best.centres,
            covariances: best.covariances,
            trace: best.trace,
            converged: best.converged,
            stopped: best.stopped,
        }
    }
}
