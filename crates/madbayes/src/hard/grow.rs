//! The start of a run over many rows: splits, merges and passes on an even sample of the rows, which knows as much of the clusters
//! as their rows in it can tell.
//!
//! One row in `step` pays one in `step` of the penalty, and a cluster more must save what it would on all rows ([`Run::price`]).

use super::Goal;
use super::passes::{Run, State};
use crate::data::Real;
use crate::random::Rng;
use crate::watch::Silently;
use rand::RngExt;

/// Rows of the first sample, and the numbers in it: what it costs is small beside what all rows cost.
const SAMPLE: usize = 1 << 13;
const SAMPLED_NUMBERS: usize = 1 << 22;
/// Bytes of a row from which on the rows of a sample are read where they stand: a copy would be no nearer, only larger.
const WIDE: usize = 256;
/// A sample with fewer rows for each cluster is not large enough to tell how many there are.
const ROWS_FOR_EACH: usize = 8;

impl<T: Real> Run<'_, T> {
    /// Better centres than these to begin all rows with, relative to the reference point, K x D.
    pub fn grown(&self, mut offsets: Vec<f64>, rng: &mut Rng) -> Vec<f64> {
        let data = self.data;
        let mut rows = SAMPLE.min(SAMPLED_NUMBERS / data.n_columns()).max(ROWS_FOR_EACH);
        while rows * 2 <= data.n_rows() {
            let step = data.n_rows() / rows;
            let first = rng.random_range(0..step);
            let numbers = || (first..data.n_rows()).step_by(step);
            let (gathered, weights): (_, Option<Vec<f64>>);
            let sample = if size_of_val(data.rows().row(0)) < WIDE {
                gathered = data.gather(&numbers().collect::<Vec<_>>());
                data.sample(&gathered)
            } else {
                weights = data.weights().map(|weights| numbers().map(|n| weights[n]).collect());
                data.some_of(data.rows().every(step, first), weights.as_deref())
            };
            let Some(sample) = sample else { break };
            let goal =
                Goal::Penalty { penalty: self.goal.penalty() / step as f64, max_clusters: self.goal.max_clusters() };
            let run =
                Run { data: &sample, goal, others: 1.0 - 1.0 / step as f64, watch: &Silently(self.watch), ..*self };
            let mut state = State::new(offsets, sample.n_rows(), sample.n_columns());
            run.grow(&mut state);
            let enough = state.stopped || state.k() * ROWS_FOR_EACH <= rows;
            offsets = state.offsets;
            if enough {
                break;
            }
            rows *= 4;
        }
        // Splits have left room for as many again.
        offsets.shrink_to_fit();
        offsets
    }
}
