//! Passes of the parallel algorithm: assign all rows to frozen centres, open clusters for far rows, drop empty ones,
//! move centres to the means. No step raises the objective.

use super::Goal;
use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, NO_LABEL, add_offset_row, offset_squared_distance, squared_distance};
use crate::parallel::Workers;
use crate::scan::{Assignment, assign};
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// What all steps of one run share.
pub(super) struct Run<'a, T> {
    pub data: &'a Data<'a, T>,
    pub goal: Goal,
    pub workers: &'a Workers,
    pub watch: &'a dyn Watch,
    pub number: usize,
    pub max_passes: usize,
    pub tolerance: f64,
}

/// A clustering on its way: labels, their means, and what they cost.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub labels: Vec<u32>,
    /// Centres relative to the reference point, K x D.
    pub offsets: Vec<f64>,
    n_columns: usize,
    /// Weight of each cluster; empty before the first pass.
    pub weights: Vec<f64>,
    /// Loss of each cluster about its own mean; empty before the first pass.
    pub losses: Vec<f64>,
    /// The objective after every pass.
    pub trace: Vec<f64>,
    pub converged: bool,
    pub stopped: bool,
}

impl State {
    /// Centres to start from; no row is assigned yet.
    pub fn new(offsets: Vec<f64>, n_rows: usize, n_columns: usize) -> Self {
        State {
            labels: vec![NO_LABEL; n_rows],
            offsets,
            n_columns,
            weights: Vec::new(),
            losses: Vec::new(),
            trace: Vec::new(),
            converged: false,
            stopped: false,
        }
    }

    /// Number of clusters, K.
    pub fn k(&self) -> usize {
        self.offsets.len() / self.n_columns
    }

    pub fn offset(&self, k: usize) -> &[f64] {
        &self.offsets[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// The objective of the labels and their means (B Eq. 9).
    pub fn objective(&self, goal: &Goal) -> f64 {
        goal.objective(self.losses.iter().sum(), self.k())
    }

    /// Keeps the clusters for which `keep` is true, in order; rows of the others lose their labels.
    pub fn retain(&mut self, keep: &[bool]) {
        if keep.iter().all(|&k| k) {
            return;
        }
        let d = self.n_columns;
        let mut names = vec![NO_LABEL; keep.len()];
        let mut next = 0;
        for k in 0..keep.len() {
            if keep[k] {
                names[k] = next as u32;
                self.offsets.copy_within(k * d..(k + 1) * d, next * d);
                self.weights[next] = self.weights[k];
                self.losses[next] = self.losses[k];
                next += 1;
            }
        }
        self.offsets.truncate(next * d);
        self.weights.truncate(next);
        self.losses.truncate(next);
        for label in self.labels.iter_mut().filter(|l| **l != NO_LABEL) {
            *label = names[*label as usize];
        }
    }
}

/// How a pass ended.
enum Passed {
    Moved,
    Unchanged,
}

impl<T: Real> Run<'_, T> {
    /// Passes until nothing changes, the objective falls by less than `tolerance` of itself, `limit` passes are done,
    /// or the watch says stop. `converged` says whether it was one of the first two.
    pub fn settle(&self, state: &mut State, tolerance: f64, limit: usize) {
        state.converged = false;
        for _ in 0..limit {
            let before = state.trace.last().copied().unwrap_or(f64::INFINITY);
            let ControlFlow::Continue(passed) = self.pass(state) else {
                state.stopped = true;
                return;
            };
            let after = state.trace.last().copied().unwrap_or(f64::INFINITY);
            let slow = before.is_finite() && before - after < tolerance * after;
            if matches!(passed, Passed::Unchanged) || slow {
                state.converged = true;
                return;
            }
        }
    }

    fn pass(&self, state: &mut State) -> ControlFlow<(), Passed> {
        let d = self.data.n_columns();
        let centres = FrozenCentres::<T>::new(std::mem::take(&mut state.offsets), d);
        let room = self.goal.cap().saturating_sub(centres.n_centres());
        let offers_new = room > 0 && self.goal.penalty() > 0.0;
        let penalty = if offers_new { self.goal.penalty() } else { f64::INFINITY };
        let assigned = assign(self.data, &centres, penalty, &mut state.labels, self.workers, self.watch);
        let ControlFlow::Continue(mut found) = assigned else {
            state.offsets = centres.offsets().to_vec();
            return ControlFlow::Break(());
        };
        let mut frozen = centres.offsets().to_vec();
        let opened = self.open_clusters(state, &mut found, &mut frozen, room);
        // Loss about the new mean: what is lost about the old centre, less W |mean - centre|^2.
        let k = found.counts.len();
        state.offsets = vec![0.0; k * d];
        for i in 0..k {
            let span = i * d..(i + 1) * d;
            if found.weights[i] > 0.0 {
                for (mean, sum) in state.offsets[span.clone()].iter_mut().zip(&found.sums[span.clone()]) {
                    *mean = sum / found.weights[i];
                }
                let shift = squared_distance(&state.offsets[span.clone()], &frozen[span]);
                found.losses[i] = (found.losses[i] - found.weights[i] * shift).max(0.0);
            }
        }
        state.weights = found.weights;
        state.losses = found.losses;
        let keep: Vec<bool> = state.weights.iter().map(|w| *w > 0.0).collect();
        state.retain(&keep);
        let objective = state.objective(&self.goal);
        debug_assert!(
            state.trace.last().is_none_or(|before| objective <= before + self.rounding(*before)),
            "a pass raised the objective from {:?} to {objective}",
            state.trace.last()
        );
        state.trace.push(objective);
        self.watch.step(&Step::Pass { run: self.number, pass: state.trace.len(), groups: state.k(), objective })?;
        let unchanged = found.changed == 0 && opened == 0;
        ControlFlow::Continue(if unchanged { Passed::Unchanged } else { Passed::Moved })
    }

    /// What rounding may add to an objective.
    pub fn rounding(&self, objective: f64) -> f64 {
        (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective.abs() + 1e-250
    }

    /// Opens clusters at far rows, farthest first: a row that still pays more than the penalty beside those opened
    /// before it gets a cluster of its own and saves the difference. At most as many as there are clusters already
    /// (or 16), so that K doubles from pass to pass and the number of passes does not grow with K.
    fn open_clusters(&self, state: &mut State, found: &mut Assignment, frozen: &mut Vec<f64>, room: usize) -> usize {
        let (data, d) = (self.data, self.data.n_columns());
        let limit = room.min(found.counts.len().max(16));
        let mut candidates = std::mem::take(&mut found.far);
        candidates.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
        let first = found.counts.len();
        for far in candidates {
            let opened = found.counts.len() - first;
            if opened == limit {
                break;
            }
            let (row, weight) = (data.rows().row(far.row), data.weight(far.row));
            let distance_to = |k: usize| offset_squared_distance(row, data.reference(), &frozen[k * d..(k + 1) * d]);
            if (first..first + opened).any(|k| weight * distance_to(k) <= self.goal.penalty()) {
                continue;
            }
            let old = state.labels[far.row] as usize;
            state.labels[far.row] = found.counts.len() as u32;
            found.counts[old] -= 1;
            found.weights[old] -= weight;
            found.losses[old] = (found.losses[old] - far.pays).max(0.0);
            add_offset_row(&mut found.sums[old * d..(old + 1) * d], row, data.reference(), -weight);
            if found.counts[old] == 0 {
                found.weights[old] = 0.0;
            }
            let mut own = vec![0.0; d];
            add_offset_row(&mut own, row, data.reference(), 1.0);
            frozen.extend_from_slice(&own);
            found.sums.extend(own.iter().map(|x| weight * x));
            found.counts.push(1);
            found.weights.push(weight);
            found.losses.push(0.0);
        }
        found.counts.len() - first
    }
}
