//! Serial DP-means as Kulis & Jordan (2012) have it, with empty clusters deleted (Broderick 2013, Sec. 2).

use super::passes::{Run, State};
use crate::data::{CHUNK, Real};
use crate::linalg::{NO_LABEL, add_offset_row, squared_distance};
use crate::random::Rng;
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
            if visited % CHUNK == 0 && self.watch.step(&Step::Chunk).is_break() {
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

    /// Weights, means and losses of the labels; clusters without weight go.
    pub fn take_means(&self, state: &mut State) {
        let (data, d) = (self.data, self.data.n_columns());
        let k = state.k();
        let (mut weights, mut sums, mut losses) = (vec![0.0; k], vec![0.0; k * d], vec![0.0; k]);
        let assigned =
            || state.labels.iter().enumerate().filter(|(_, l)| **l != NO_LABEL).map(|(n, l)| (n, *l as usize));
        for (n, label) in assigned() {
            weights[label] += data.weight(n);
            add_offset_row(&mut sums[label * d..(label + 1) * d], data.rows().row(n), data.reference(), data.weight(n));
        }
        for (sum, weight) in sums.chunks_exact_mut(d).zip(&weights).filter(|(_, w)| **w > 0.0) {
            sum.iter_mut().for_each(|s| *s /= weight);
        }
        for (n, label) in assigned() {
            let mean = &sums[label * d..(label + 1) * d];
            let distance = crate::linalg::offset_squared_distance(data.rows().row(n), data.reference(), mean);
            losses[label] += data.weight(n) * distance;
        }
        let keep: Vec<bool> = weights.iter().map(|w| *w > 0.0).collect();
        (state.weights, state.offsets, state.losses) = (weights, sums, losses);
        state.retain(&keep);
    }
}
