//! DP-means and K-means: parameters, restarts, and the best of the runs (Broderick 2013, Eq. 3, 9, 12).

use super::clustering::Clustering;
use super::passes::{Run, State};
use super::restarts::{Restarts, restarts_within_budget};
use super::start::first_seeds;
use super::{Goal, Start};
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::{Step, Watch};

/// Numbers in a table that one thread clusters sooner than others could be started.
const SMALL: usize = 1 << 16;

/// How the objective is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// All rows at once; opens, deletes, merges, splits and swaps clusters. The lowest objective and the fastest.
    #[default]
    Parallel,
    /// Row after row, as Kulis & Jordan (2012) have it.
    Serial,
    /// Row after row with the means following every move (B Alg. 2).
    Collapsed,
}

/// Parameters of DP-means and K-means.
#[derive(Debug, Clone, PartialEq)]
pub struct DpMeans {
    /// The objective.
    pub goal: Goal,
    /// How it is lowered.
    pub algorithm: Algorithm,
    /// Where a run begins.
    pub start: Start,
    /// How many runs; the best is kept.
    pub restarts: Restarts,
    /// Most passes of one run.
    pub max_passes: usize,
    /// A run has converged when a pass lowers the objective by less than this share of it; with a penalty, 2,000 times this share
    /// once it has done 6e8 multiply-adds (rows x columns x clusters x passes). 0: when nothing changes.
    pub tolerance: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for DpMeans {
    fn default() -> Self {
        DpMeans {
            goal: Goal::Penalty { penalty: 1.0, max_clusters: None },
            algorithm: Algorithm::default(),
            start: Start::default(),
            restarts: Restarts::default(),
            max_passes: 300,
            tolerance: 1e-6,
            seed: 0,
            threads: 0,
        }
    }
}

impl DpMeans {
    /// DP-means with this penalty (lambda^2), other parameters by default.
    pub fn with_penalty(penalty: f64) -> Self {
        DpMeans { goal: Goal::Penalty { penalty, max_clusters: None }, ..Default::default() }
    }

    /// K-means with this many clusters, other parameters by default.
    pub fn k_means(n_clusters: usize) -> Self {
        DpMeans { goal: Goal::Exactly(n_clusters), ..Default::default() }
    }

    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        self.goal.check(data.n_rows())?;
        self.start.check(data, &self.goal)?;
        self.restarts.check()?;
        if self.max_passes == 0 {
            return Err(Error::argument("max_passes", "at least 1", 0, "one pass assigns every row"));
        }
        if !(self.tolerance.is_finite() && self.tolerance >= 0.0) {
            return Err(Error::argument(
                "tolerance",
                "a finite number of at least 0",
                self.tolerance,
                "0 goes on until nothing changes",
            ));
        }
        Ok(())
    }

    /// Whether a fit stays on the calling thread, whatever the number of threads: data are so few that starting others would cost more.
    pub fn is_serial<T: Real>(&self, data: &Data<T>) -> bool {
        self.threads == 1 || data.n_rows() * data.n_columns() < SMALL
    }

    /// Fits; the best of all runs. Stopped by the watch, it returns the best so far.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Clustering> {
        fn either(this: &DpMeans, data: EitherData, watch: &dyn Watch) -> Result<Clustering> {
            either!(data, data => this.fit_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Clustering> {
        self.check(data)?;
        let workers = if self.is_serial(data) { Workers::serial() } else { Workers::new(self.threads) };
        let first = self.run(data, 0, &workers, watch)?;
        let runs = match self.restarts {
            Restarts::Exactly(runs) => runs,
            Restarts::Auto => restarts_within_budget(data.n_rows(), data.n_columns(), first.n_clusters()),
        };
        let runs = if self.is_random() && !first.stopped { runs } else { 1 };
        let _ = watch.step(&Step::Run { run: 0, of: runs });
        let mut all = vec![first];
        // Later runs need their number only; they go in parallel where the first did not use the threads itself.
        let others = workers.map(runs - 1, |i| {
            if watch.step(&Step::Chunk).is_break() {
                return None;
            }
            let run = self.run(data, i + 1, &workers, watch);
            let _ = watch.step(&Step::Run { run: i + 1, of: runs });
            Some(run)
        });
        let skipped = others.iter().any(Option::is_none);
        for run in others.into_iter().flatten() {
            all.push(run?);
        }
        let mut best = best_of(all);
        best.stopped |= skipped;
        Ok(best)
    }

    /// Whether another run could end elsewhere: a random start, or rows taken in another order.
    fn is_random(&self) -> bool {
        self.start.is_random() || self.algorithm != Algorithm::Parallel
    }

    fn run<T: Real>(&self, data: &Data<T>, number: usize, workers: &Workers, watch: &dyn Watch) -> Result<Clustering> {
        let mut rng = stream(self.seed, Stream::Restart(number as u32));
        let run = Run {
            data,
            goal: self.goal,
            opens_above: self.goal.penalty(),
            others: 0.0,
            workers,
            watch,
            number,
            max_passes: self.max_passes,
            tolerance: self.tolerance,
            trials: self.restarts.work_of_trials(&self.goal),
        };
        let grows = self.algorithm == Algorithm::Parallel && self.goal.penalty() > 0.0;
        let offsets = match &self.start {
            Start::PlusPlus if grows => first_seeds(data, &self.goal, &mut rng, watch),
            start => start.offsets(data, &self.goal, &mut rng, watch),
        };
        let offsets = if grows { run.grown(offsets, &mut rng) } else { offsets };
        let mut state = State::new(offsets, data.n_rows(), data.n_columns());
        match self.algorithm {
            Algorithm::Parallel => run.polish(&mut state),
            Algorithm::Serial => run.serial(&mut state, &mut rng),
            Algorithm::Collapsed => run.collapsed(&mut state, &mut rng),
        }
        run.finish(state)
    }
}

/// The run of lowest objective (the first of equals), with the traces of all.
fn best_of(runs: Vec<Clustering>) -> Clustering {
    let traces: Vec<Vec<f64>> = runs.iter().map(|r| r.trace.clone()).collect();
    let stopped = runs.iter().any(|r| r.stopped);
    let best_run = (0..runs.len()).min_by(|&a, &b| runs[a].objective.total_cmp(&runs[b].objective)).unwrap_or(0);
    let mut runs = runs;
    Clustering { traces, best_run, stopped, ..runs.swap_remove(best_run) }
}
