//! From parameters to a result: what the runs share, the best of them, and passes over all rows of the data.

use super::bp_means::{BpMeans, FeatureAlgorithm, FeatureStart};
use super::coordinates::Coordinates;
use super::core::{Core, Products};
use super::learned::{Features, allocate};
use super::passes::{Run, State};
use super::run::{Ended, Runs};
use super::search::MOST;
use super::{FeatureGoal, collapsed::sweep_collapsed};
use crate::data::{Data, Real, Rows};
use crate::error::Result;
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::structure::Allocation;
use crate::watch::{Unwatched, Watch};
use rand::RngExt;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const SAMPLE: usize = BpMeans::SAMPLE;
/// Rows of the sample that runs see first, and how many of them there must be for each feature.
const FEW: usize = 512;
const ROWS_FOR_EACH: usize = 24;
/// Multiply-adds for polishing a run.
const POLISHING: u64 = 500_000_000;
/// The most singular vectors a spectral start looks at.
pub(super) const VECTORS: usize = 32;

/// What runs see of the data.
pub(super) struct Seen {
    /// Some rows, or all.
    pub sample: Option<Vec<usize>>,
    /// Multiply-adds for polishing a run.
    pub polishing: u64,
    /// Whether features are good enough that leave nothing but noise.
    pub until_noise: bool,
    /// Whether a start looks for singular vectors.
    pub vectors: bool,
}

impl Seen {
    pub fn all(polishing: u64) -> Self {
        Seen { sample: None, polishing, until_noise: false, vectors: true }
    }

    fn sample(rows: Vec<usize>) -> Self {
        Seen { sample: Some(rows), polishing: POLISHING, until_noise: true, vectors: true }
    }
}

/// The rows that runs see.
pub(super) struct Sampled<'a> {
    pub n_rows: usize,
    /// As they are in the data.
    pub values: &'a [f64],
}

/// A fit on its way.
pub(super) struct Fit<'a, T> {
    parameters: &'a BpMeans,
    data: &'a Data<'a, T>,
    pub watch: &'a dyn Watch,
    workers: Workers,
}

impl<'a, T: Real> Fit<'a, T> {
    pub fn new(parameters: &'a BpMeans, data: &'a Data<'a, T>, watch: &'a dyn Watch) -> Self {
        let small = data.n_rows() * data.n_columns() < 1 << 16;
        let workers = if small { Workers::serial() } else { Workers::new(parameters.threads) };
        Fit { parameters, data, watch, workers }
    }

    /// Passes over all rows, told of by `watch`.
    pub fn passes<'b>(&'b self, watch: &'b dyn Watch, number: usize) -> Run<'b, T> {
        Run {
            data: self.data,
            goal: self.parameters.goal,
            solver: self.parameters.row_solver,
            workers: &self.workers,
            watch,
            number,
        }
    }

    pub fn run(&self) -> Result<Features> {
        if let FeatureGoal::Exactly(k) = self.parameters.goal
            && k > MOST
        {
            return Ok(self.fit_many());
        }
        let Some(sample) = self.sample() else {
            return self.with_runs(Seen::all(POLISHING), |runs, _| self.finish(self.best(runs), None))?;
        };
        if let Some((ended, components)) = self.begin(&sample)? {
            let seen = Seen { vectors: false, ..Seen::sample(sample) };
            return self.with_runs(seen, |runs, sample| {
                let rows = Data::new(Rows::new(sample.values, self.data.n_columns())?)?;
                let allocation = allocate(&rows, &components, self.parameters.row_solver, &self.workers)?;
                self.finish(runs.refined(&allocation, ended), Some(sample))
            })?;
        }
        self.with_runs(Seen::sample(sample), |runs, sample| self.finish(self.best(runs), Some(sample)))?
    }

    fn best(&self, runs: &Runs) -> Ended {
        match self.parameters.algorithm {
            FeatureAlgorithm::Stepwise => runs.stepwise(),
            _ => runs.best(runs.goal, None, self.parameters.restarts),
        }
    }

    /// The best features of a few rows of the sample, with their components; none where features are given, or are too
    /// many for so few rows.
    fn begin(&self, sample: &[usize]) -> Result<Option<(Ended, Vec<f64>)>> {
        let few: Vec<usize> = sample.iter().copied().step_by(SAMPLE / FEW).collect();
        let given = matches!(self.parameters.start, FeatureStart::Given(_) | FeatureStart::Allocation(_));
        if given || matches!(self.parameters.goal, FeatureGoal::Exactly(k) if k * ROWS_FOR_EACH > FEW) {
            return Ok(None);
        }
        self.with_runs(Seen::sample(few), |runs, few| {
            let ended = self.best(runs);
            if ended.core.k() * ROWS_FOR_EACH > FEW && !ended.stopped {
                return Ok(None);
            }
            let components = self.components(&ended.core, few)?;
            Ok(Some((ended, components)))
        })?
    }

    /// Prepares what all runs share, for the rows that they see.
    pub fn with_runs<R>(&self, seen: Seen, work: impl FnOnce(&Runs, &Sampled) -> R) -> Result<R> {
        let (n, d) = (self.data.n_rows(), self.data.n_columns());
        let rows: Vec<usize> = seen.sample.unwrap_or_else(|| (0..n).collect());
        let values: Vec<f64> =
            rows.iter().flat_map(|row| self.data.rows().row(*row)).map(|&x| Into::<f64>::into(x)).collect();
        let vectors = match self.parameters.start {
            FeatureStart::Spectral if seen.vectors => self.parameters.goal.cap(rows.len()).min(VECTORS),
            _ => 0,
        };
        let coordinates = Coordinates::new(&values, rows.len(), d, vectors);
        let few = Data::new(Rows::new(&coordinates.values, coordinates.n_columns)?)?;
        let runs = Runs {
            parameters: self.parameters,
            goal: self.goal_of(rows.len()),
            given: self.given().map(|allocation| allocation.select_rows(&rows)),
            products: Products::new(&coordinates.values, rows.len(), coordinates.n_columns),
            coordinates: &coordinates,
            data: &few,
            watch: self.watch,
            polishing: seen.polishing,
            until_noise: seen.until_noise,
        };
        Ok(work(&runs, &Sampled { n_rows: rows.len(), values: &values }))
    }

    /// All rows with the features that the runs found.
    fn finish(&self, ended: Ended, sample: Option<&Sampled>) -> Result<Features> {
        let mut state = match sample {
            None => self.unstopped(self.passes(&Unwatched, 0).fit_allocation(ended.core.allocation())),
            Some(sample) => self.extend(&ended.core, sample)?,
        };
        if sample.is_none() {
            state.trace.clone_from(&ended.traces[ended.best_run]);
        }
        self.settle(&mut state, &ended, sample.is_some());
        let share = sample.map_or(1.0, |sample| sample.n_rows as f64 / self.data.n_rows() as f64);
        Ok(self.result(state, ended, share))
    }

    /// What nothing watched: nothing stopped it.
    pub fn unstopped(&self, state: ControlFlow<(), State>) -> State {
        let (ControlFlow::Continue(state) | ControlFlow::Break(state)) = state.map_break(|()| self.nothing());
        state
    }

    /// The goal for a sample of so many rows: the price of a feature falls with the number of rows that pay for it.
    fn goal_of(&self, rows: usize) -> FeatureGoal {
        match self.parameters.goal {
            FeatureGoal::Penalty { penalty, max_features } => FeatureGoal::Penalty {
                penalty: penalty * rows as f64 / self.data.n_rows() as f64,
                max_features: max_features.map(|cap| cap.min(rows)),
            },
            goal => goal,
        }
    }

    /// The rows that starts and polishing see, in order: one of each stretch of as many rows. None when all are few enough.
    pub fn sample(&self) -> Option<Vec<usize>> {
        let n = self.data.n_rows();
        let mut rng = stream(self.parameters.seed, Stream::Sample);
        let mut drawn = |i: usize| rng.random_range(i * n / SAMPLE..(i + 1) * n / SAMPLE);
        (n > SAMPLE).then(|| (0..SAMPLE).map(&mut drawn).collect())
    }

    /// The allocation to start from, where one or its components are given.
    fn given(&self) -> Option<Allocation> {
        let (n, d) = (self.data.n_rows(), self.data.n_columns());
        match &self.parameters.start {
            FeatureStart::Allocation(allocation) => Some(allocation.clone()),
            FeatureStart::Given(components) => {
                let mut state = State::from_components(components.clone(), n, d);
                let _ = self.passes(&Unwatched, 0).assign(&mut state);
                Some(state.allocation)
            }
            _ => None,
        }
    }

    /// All rows by the components of a sample.
    pub fn extend(&self, core: &Core, sample: &Sampled) -> Result<State> {
        let components = self.components(core, sample)?;
        Ok(State::from_components(components, self.data.n_rows(), self.data.n_columns()))
    }

    /// The components of a sample, K x D.
    fn components(&self, core: &Core, sample: &Sampled) -> Result<Vec<f64>> {
        let data = Data::new(Rows::new(sample.values, self.data.n_columns())?)?;
        let (goal, solver) = (FeatureGoal::Exactly(core.k()), self.parameters.row_solver);
        let run = Run { data: &data, goal, solver, workers: &self.workers, watch: &Unwatched, number: 0 };
        Ok(self.unstopped(run.fit_allocation(core.allocation())).components)
    }

    /// Passes over all rows until nothing changes; one alone, unwatched, where the watch has said stop already.
    fn settle(&self, state: &mut State, ended: &Ended, sampled: bool) {
        let parameters = self.parameters;
        let run = self.passes(self.watch, ended.best_run);
        let mut swept = false;
        if !ended.stopped {
            let tolerance = if sampled { parameters.tolerance } else { 0.0 };
            run.settle(state, tolerance, parameters.max_passes);
            state.converged &= ended.converged;
            if sampled && parameters.algorithm == FeatureAlgorithm::Collapsed && !state.stopped {
                let allocation = state.allocation.clone();
                let ended = sweep_collapsed(self.data, allocation, parameters.goal, parameters.max_passes, self.watch);
                state.allocation = ended.allocation;
                state.trace.extend(ended.trace);
                (state.converged, state.stopped) = (ended.converged, ended.stopped);
                swept = true;
            }
        }
        let (converged, stopped) = (state.converged, state.stopped || ended.stopped);
        if sampled && state.loss.is_infinite() {
            // The first pass did not come to its end: it is made anew, and nothing stops it.
            let components = std::mem::take(&mut state.components);
            *state = State::from_components(components, self.data.n_rows(), self.data.n_columns());
            let _ = self.passes(&Unwatched, ended.best_run).pass(state);
        }
        if stopped || swept {
            // What was stopped half way, or swept, gets its own components.
            let allocation = std::mem::replace(&mut state.allocation, Allocation::new(0, 0));
            let fitted = self.unstopped(self.passes(&Unwatched, 0).fit_allocation(allocation));
            *state = State { trace: std::mem::take(&mut state.trace), ..fitted };
        }
        (state.converged, state.stopped) = (converged, stopped);
    }

    /// No features.
    pub fn nothing(&self) -> State {
        State::from_components(Vec::new(), self.data.n_rows(), self.data.n_columns())
    }

    fn result(&self, mut state: State, ended: Ended, share: f64) -> Features {
        let loss = self.passes(&Unwatched, 0).measure(&state);
        let objective = self.parameters.goal.objective(loss, state.k());
        match state.trace.last_mut() {
            Some(last) => *last = objective,
            None => state.trace.push(objective),
        }
        let mut losses: BTreeMap<usize, f64> = ended.tried.into_iter().map(|(k, loss)| (k, loss / share)).collect();
        losses.entry(state.k()).and_modify(|l| *l = if share < 1.0 { loss } else { l.min(loss) }).or_insert(loss);
        Features {
            n_columns: self.data.n_columns(),
            allocation: state.allocation,
            components: state.components,
            loss,
            objective,
            goal: self.parameters.goal,
            trace: state.trace,
            traces: ended.traces,
            best_run: ended.best_run,
            losses_by_k: losses.into_iter().collect(),
            converged: state.converged,
            stopped: state.stopped,
        }
    }

    /// More features than a word has bits: passes from features grown one by one, without polishing.
    fn fit_many(&self) -> Features {
        let run = self.passes(self.watch, 0);
        let start = self.given().unwrap_or_else(|| Allocation::new(self.data.n_rows(), 0));
        let mut state = self.unstopped(self.passes(&Unwatched, 0).fit_allocation(start));
        run.settle(&mut state, self.parameters.tolerance, self.parameters.max_passes);
        let (trace, converged, stopped) = (state.trace, state.converged, state.stopped);
        let fitted = self.unstopped(self.passes(&Unwatched, 0).fit_allocation(state.allocation));
        let state = State { trace: trace.clone(), converged, stopped, ..fitted };
        let products = Products::new(&[], 0, 1);
        let core = Core::of_rows(Vec::new(), 0, &products);
        let ended = Ended { core, traces: vec![trace], best_run: 0, tried: BTreeMap::new(), converged, stopped };
        self.result(state, ended, 1.0)
    }
}
