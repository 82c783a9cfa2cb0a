//! From K clusters to K + 1 by the best split and to K - 1 by the cheapest merge: the warm starts of a penalty path.

use super::Goal;
use super::known_splits::KnownSplits;
use super::passes::{Run, State};
use super::start::mean_offset;
use crate::data::{Data, Real};
use crate::parallel::Workers;
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Passes after a move, before the next moves are looked for.
const PASSES_BETWEEN_MOVES: usize = 3;
const LOOSE: f64 = 1e-4;
const TIGHT: f64 = 1e-5;

/// A clustering that goes up and down in K. Its loss is that of exactly its labels and means.
pub(crate) struct Ladder<'a, T> {
    run: Run<'a, T>,
    state: State,
    known: KnownSplits,
}

impl<'a, T: Real> Ladder<'a, T> {
    /// All rows in one cluster; `max_passes` bounds the passes of one step. None once the watch has said stop.
    pub fn new(data: &'a Data<'a, T>, workers: &'a Workers, watch: &'a dyn Watch, max_passes: usize) -> Option<Self> {
        let goal = Goal::Exactly(1);
        let run = Run {
            data,
            goal,
            opens_above: goal.penalty(),
            others: 0.0,
            workers,
            watch,
            number: 0,
            max_passes,
            tolerance: TIGHT,
            trials: f64::INFINITY,
        };
        let state = State::new(mean_offset(data), data.n_rows(), data.n_columns());
        let mut ladder = Ladder { run, state, known: KnownSplits::default() };
        ladder.settle(0.0, 1).is_continue().then_some(ladder)
    }

    /// Number of clusters.
    pub fn k(&self) -> usize {
        self.state.k()
    }

    /// Sum of the weighted squared distances to the means.
    pub fn loss(&self) -> f64 {
        self.state.losses.iter().sum()
    }

    /// Centres relative to the reference point, K x D.
    pub fn offsets(&self) -> &[f64] {
        &self.state.offsets
    }

    /// Goes to given centres, and lets passes settle from there.
    pub fn stand_on(&mut self, offsets: &[f64], passes: usize) -> ControlFlow<()> {
        self.state.offsets = offsets.to_vec();
        self.state.weights.clear();
        self.state.losses.clear();
        self.state.tallies = None;
        self.state.assigned.clear();
        self.state.bounds = None;
        self.state.labels.fill(crate::linalg::NO_LABEL);
        self.settle(LOOSE, passes)
    }

    /// To exactly `k` clusters: splits or merges, then passes and swaps that pay for certain until there are none.
    /// Afterwards `k()` says whether there were enough distinct rows.
    pub fn step_to(&mut self, k: usize) -> ControlFlow<()> {
        self.run.goal = Goal::Exactly(k);
        let mut left = self.run.max_passes;
        while left > 0 {
            // A split with a row of rounding's worth may be undone by the passes: the loop comes back to it.
            let Some(options) = self.run.options(&mut self.state, &mut self.known) else {
                return ControlFlow::Break(());
            };
            if !self.run.certain_moves(&mut self.state, &options) {
                break;
            }
            let passes = left.min(PASSES_BETWEEN_MOVES);
            self.settle(LOOSE, passes)?;
            left -= passes;
        }
        self.settle(TIGHT, left.max(1))
    }

    fn settle(&mut self, tolerance: f64, passes: usize) -> ControlFlow<()> {
        // Objectives of different K are no trace.
        self.state.trace.clear();
        self.run.settle(&mut self.state, tolerance, passes);
        if self.state.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
