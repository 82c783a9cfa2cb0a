//! From parameters to a result: what the runs share, the best of them, and passes over all rows of the data.

use super::bp_means::{BpMeans, FeatureAlgorithm, FeatureStart};
use super::coordinates::Coordinates;
use super::core::{Core, Products};
use super::learned::Features;
use super::passes::{Run, State, squares};
use super::run::{Ended, Runs};
use super::search::MOST;
use super::{FeatureGoal, collapsed::sweep_collapsed};
use crate::data::{Data, Real, Rows};
use crate::error::Result;
use crate::parallel::Workers;
use crate::random::{Stream, choose_some, stream};
use crate::structure::Allocation;
use crate::watch::{Unwatched, Watch};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const SAMPLE: usize = BpMeans::SAMPLE;
/// Multiply-adds for polishing a run.
const POLISHING: u64 = 500_000_000;
/// The most singular vectors a spectral start looks at.
pub(super) const VECTORS: usize = 32;

/// The rows that starts and polishing see, where these are not all.
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
    squares: Vec<f64>,
    workers: Workers,
}

impl<'a, T: Real> Fit<'a, T> {
    pub fn new(parameters: &'a BpMeans, data: &'a Data<'a, T>, watch: &'a dyn Watch) -> Self {
        let small = data.n_rows() * data.n_columns() < 1 << 16;
        let workers = if small { Workers::serial() } else { Workers::new(parameters.threads) };
        Fit { parameters, data, watch, squares: squares(data), workers }
    }

    /// |X|_F^2.
    pub fn total(&self) -> f64 {
        self.squares.iter().sum()
    }

    /// Passes over all rows, told of by `watch`.
    pub fn passes<'b>(&'b self, watch: &'b dyn Watch, number: usize) -> Run<'b, T> {
        Run {
            data: self.data,
            squares: &self.squares,
            total: self.total(),
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
        self.with_runs(POLISHING, |runs, sample| {
            let ended = match self.parameters.algorithm {
                FeatureAlgorithm::Stepwise => runs.stepwise(),
                _ => runs.best(runs.goal, None, self.parameters.restarts),
            };
            self.finish(ended, sample)
        })
    }

    /// Prepares what all runs share, for all rows or a sample of them.
    pub fn with_runs<R>(&self, polishing: u64, work: impl FnOnce(&Runs, Option<&Sampled>) -> R) -> Result<R> {
        let (n, d) = (self.data.n_rows(), self.data.n_columns());
        let sample = self.sample();
        let is_sample = sample.is_some();
        let rows: Vec<usize> = sample.unwrap_or_else(|| (0..n).collect());
        let values: Vec<f64> =
            rows.iter().flat_map(|row| self.data.rows().row(*row)).map(|&x| Into::<f64>::into(x)).collect();
        let vectors = match self.parameters.start {
            FeatureStart::Spectral => self.parameters.goal.cap(rows.len()).min(VECTORS),
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
            polishing,
        };
        Ok(work(&runs, is_sample.then_some(&Sampled { n_rows: rows.len(), values: &values })))
    }

    /// All rows with the features that the runs found.
    fn finish(&self, ended: Ended, sample: Option<&Sampled>) -> Features {
        let mut state = match sample {
            None => self.passes(&Unwatched, 0).fit_allocation(ended.core.allocation()),
            Some(sample) => self.extend(&ended.core, sample.values),
        };
        // Nothing watches: nothing stops.
        if let ControlFlow::Continue(state) = &mut state {
            if sample.is_none() {
                state.trace.clone_from(&ended.traces[ended.best_run]);
            }
            self.settle(state, &ended, sample.is_some());
        }
        let (ControlFlow::Continue(state) | ControlFlow::Break(state)) = state.map_break(|()| self.nothing());
        let share = sample.map_or(1.0, |sample| sample.n_rows as f64 / self.data.n_rows() as f64);
        self.result(state, ended, share)
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

    /// The rows that starts and polishing see, in order; none when all are few enough.
    fn sample(&self) -> Option<Vec<usize>> {
        let n = self.data.n_rows();
        (n > SAMPLE).then(|| choose_some(n, SAMPLE, &mut stream(self.parameters.seed, Stream::Sample)))
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
    pub fn extend(&self, core: &Core, values: &[f64]) -> ControlFlow<(), State> {
        let d = self.data.n_columns();
        let Ok(few) = Rows::new(values, d).and_then(Data::new) else { return ControlFlow::Break(()) };
        let squares = squares(&few);
        let total = squares.iter().sum();
        let goal = FeatureGoal::Exactly(core.k());
        let solver = self.parameters.row_solver;
        let workers = &self.workers;
        let run = Run { data: &few, squares: &squares, total, goal, solver, workers, watch: &Unwatched, number: 0 };
        let components = run.fit_allocation(core.allocation())?.components;
        ControlFlow::Continue(State::from_components(components, self.data.n_rows(), d))
    }

    /// Passes over all rows until nothing changes; one alone, unwatched, where the watch has said stop already.
    fn settle(&self, state: &mut State, ended: &Ended, sampled: bool) {
        let parameters = self.parameters;
        let run = self.passes(self.watch, ended.best_run);
        if !ended.stopped {
            let tolerance = if sampled { parameters.tolerance } else { 0.0 };
            run.settle(state, tolerance, parameters.max_passes);
            state.converged &= ended.converged;
            if sampled && parameters.algorithm == FeatureAlgorithm::Collapsed && !state.stopped {
                let swept = sweep_collapsed(
                    self.data,
                    state.allocation.clone(),
                    parameters.goal,
                    parameters.max_passes,
                    self.watch,
                );
                state.allocation = swept.allocation;
                state.trace.extend(swept.trace);
                (state.converged, state.stopped) = (swept.converged, swept.stopped);
            }
        }
        if sampled && (ended.stopped || state.loss.is_infinite()) {
            let _ = self.passes(&Unwatched, ended.best_run).pass(state);
        }
        state.stopped |= ended.stopped;
        // What was stopped half way, or swept, gets its own components.
        let (trace, converged, stopped) = (std::mem::take(&mut state.trace), state.converged, state.stopped);
        if let ControlFlow::Continue(fitted) = self.passes(&Unwatched, 0).fit_allocation(state.allocation.clone()) {
            *state = State { trace, converged, stopped, ..fitted };
        }
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
        let state = self.passes(&Unwatched, 0).fit_allocation(start);
        let (ControlFlow::Continue(mut state) | ControlFlow::Break(mut state)) = state.map_break(|()| self.nothing());
        run.settle(&mut state, self.parameters.tolerance, self.parameters.max_passes);
        let (trace, converged, stopped) = (state.trace, state.converged, state.stopped);
        let fitted = self.passes(&Unwatched, 0).fit_allocation(state.allocation);
        let (ControlFlow::Continue(fitted) | ControlFlow::Break(fitted)) = fitted.map_break(|()| self.nothing());
        let state = State { trace: trace.clone(), converged, stopped, ..fitted };
        let products = Products::new(&[], 0, 1);
        let core = Core::of_rows(Vec::new(), 0, &products);
        let ended = Ended { core, traces: vec![trace], best_run: 0, tried: BTreeMap::new(), converged, stopped };
        self.result(state, ended, 1.0)
    }
}
