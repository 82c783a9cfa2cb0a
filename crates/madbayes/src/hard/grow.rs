//! The start of a run with a penalty: a few seeds, then splits, merges and passes on an even sample of the rows.

use super::Goal;
use super::known_splits::KnownSplits;
use super::passes::{Run, State};
use super::start::first_seeds;
use crate::data::Real;
use crate::random::Rng;
use crate::watch::Silently;
use rand::RngExt;

/// Rows of the sample. Splits are sought on it many times, on all rows few times.
const SAMPLE: usize = 1 << 13;
const PASSES_BETWEEN_MOVES: usize = 2;
const LOOSE: f64 = 1e-3;

impl<T: Real> Run<'_, T> {
    /// Centres relative to the reference point, K x D. A sample of one row in `step` pays one in `step` of the penalty.
    pub fn grown(&self, penalty: f64, rng: &mut Rng) -> Vec<f64> {
        let step = self.data.n_rows() / SAMPLE;
        if step < 2 {
            return first_seeds(self.data, &self.goal, rng, self.watch);
        }
        let numbers: Vec<usize> = (rng.random_range(0..step)..self.data.n_rows()).step_by(step).collect();
        let values: Vec<T> = numbers.iter().flat_map(|&n| self.data.rows().row(n)).copied().collect();
        let weights: Option<Vec<f64>> = self.data.weights().map(|w| numbers.iter().map(|&n| w[n]).collect());
        let Some(sample) = self.data.sample(&values, weights.as_deref()) else {
            return first_seeds(self.data, &self.goal, rng, self.watch);
        };
        let goal = Goal::Penalty { penalty: penalty / step as f64, max_clusters: self.goal.max_clusters() };
        let watch = Silently(self.watch);
        let run = Run { data: &sample, goal, watch: &watch, ..*self };
        let mut state = State::new(first_seeds(&sample, &goal, rng, &watch), sample.n_rows(), sample.n_columns());
        let mut known = KnownSplits::default();
        loop {
            run.settle(&mut state, LOOSE, PASSES_BETWEEN_MOVES);
            let Some(options) = run.options(&mut state, &mut known) else { break };
            if !run.certain_moves(&mut state, &options) {
                break;
            }
        }
        state.offsets
    }
}
