//! Serial DP-means as Kulis & Jordan (2012) have it, with empty clusters deleted (Broderick 2013, Sec. 2).

use super::passes::{Run, State};
use crate::data::Real;
use crate::linalg::{add_offset_row, squared_distance};
use crate::random::Rng;
use crate::sweep::ROWS_PER_POLL;
use crate::watch::Step;
use rand::seq::SliceRandom;

impl<T: Real> Run<'_, T> {
    /// For n in order: a row whose nearest centre costs more than the penalty opens a cluster where it stands, which
    /// later rows of the same pass see; else it joins the nearest. Then empty clusters go, then means. Until no change.
    /// The first run takes the rows as they come, others in an order of their own.
    pub fn serial(&self, state: &mut State, rng: &mut Rng) {
        let mut order: Vec<usize> = (0..self.data.n_rows()).collect();
        if self.number > 0 {
            order.shuffle(rng);
        }
        for _ in 0..self.max_passes {
            let changed = self.serial_pass(state, &order);
            if state.stopped {
                return;
            }
            let objective = state.objective(&self.goal);
            let before = state.trace.last().copied();
            debug_assert!(before.is_none_or(|b| objective <= b + self.rounding(b)), "{before:?} -> {objective}");
            state.trace.push(objective);
            let step = Step::Pass { run: self.number, pass: state.trace.len(), groups: state.k(), objective };
            if self.watch.step(&step).is_break() {
                state.stopped = true;
                return;
            }
            let slow = before.is_some_and(|b| b - objective < self.tolerance * objective);
            if !changed || slow {
                state.converged = true;
                return;
            }
        }
    }

    /// One pass and the new means; whether a label changed.
    fn serial_pass(&self, state: &mut State, order: &[usize]) -> bool {
        let (data, d) = (self.data, self.data.n_columns());
        let mut changed = false;
        let mut row = vec![0.0; d];
        for (visited, &n) in order.iter().enumerate() {
            if visited % ROWS_PER_POLL == 0 && self.watch.step(&Step::Chunk).is_break() {
                state.stopped = true;
                return changed;
            }
            row.fill(0.0);
            add_offset_row(&mut row, data.rows().row(n), data.reference(), 1.0);
            let (mut nearest, mut least) = (0, f64::INFINITY);
            for (k, centre) in state.offsets.chunks_exact(d).enumerate() {
                let distance = squared_distance(&row, centre);
                if distance < least {
                    (nearest, least) = (k, distance);
                }
            }
            if data.weight(n) * least > self.goal.penalty() && state.k() < self.goal.cap() {
                nearest = state.k();
                state.offsets.extend_from_slice(&row);
            }
            changed |= state.labels[n] != nearest as u32;
            state.labels[n] = nearest as u32;
        }
        self.take_means(state);
        changed
    }
}
