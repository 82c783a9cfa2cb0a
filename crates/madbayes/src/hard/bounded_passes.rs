//! Passes over many rows: sums follow the few rows that change, and bounds say which these may be.

use super::passes::{Run, State};
use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, dot};
use crate::scan::{Assignment, Bound, Changes, FarRow, NEARBY_PAYS_FROM, Shifts, assign_bounded, assign_within_bounds};
use std::ops::ControlFlow;

/// Squares about the reference point may round by this share of the loss before the loss is measured row by row instead.
const ROUNDING: f64 = 1e-8;

/// Bounds of all rows, the centres they are of, and each cluster's tallies.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    rows: Vec<Bound>,
    /// The centres of the last assignment; clusters opened since are beyond them.
    anchors: Vec<f64>,
    tallies: Tallies,
}

/// Sums over the rows of each cluster, relative to the reference point.
#[derive(Debug, Clone)]
struct Tallies {
    counts: Vec<usize>,
    weights: Vec<f64>,
    /// sum of w x, K x D.
    sums: Vec<f64>,
    /// sum of w |x|^2.
    squares: Vec<f64>,
}

impl Bounds {
    /// The largest upper bound of each cluster's rows.
    fn radii(&self, labels: &[u32], k: usize) -> Vec<f32> {
        let mut radii = vec![0.0f32; k];
        for (bound, &label) in self.rows.iter().zip(labels) {
            radii[label as usize] = radii[label as usize].max(bound.upper);
        }
        radii
    }

    /// Keeps some clusters, as [`State::retain`] does.
    pub fn retain(&mut self, keep: &[bool], d: usize) {
        fn kept<N: Copy>(values: &mut Vec<N>, keep: &[bool], width: usize) {
            let mut keeps = keep.iter().flat_map(|k| std::iter::repeat_n(*k, width));
            values.retain(|_| keeps.next().unwrap_or(true));
        }
        kept(&mut self.anchors, keep, d);
        kept(&mut self.tallies.counts, keep, 1);
        kept(&mut self.tallies.weights, keep, 1);
        kept(&mut self.tallies.sums, keep, d);
        kept(&mut self.tallies.squares, keep, 1);
    }
}

impl Tallies {
    /// From an assignment to these centres: sum w |x|^2 = loss + 2 c'sum w x - W |c|^2.
    fn new(found: &Assignment, centres: &[f64], d: usize) -> Self {
        let clusters =
            centres.chunks_exact(d).zip(found.sums.chunks_exact(d)).zip(found.losses.iter().zip(&found.weights));
        let squares =
            clusters.map(|((c, sum), (loss, weight))| loss + 2.0 * dot(c, sum) - weight * dot(c, c)).collect();
        let (counts, weights, sums) = (found.counts.clone(), found.weights.clone(), found.sums.clone());
        Tallies { counts, weights, sums, squares }
    }

    /// Takes a row from one cluster to another, which may be the next new one.
    fn carry<T: Real>(&mut self, data: &Data<T>, row: usize, from: usize, to: usize) {
        let d = data.n_columns();
        if to == self.counts.len() {
            self.counts.push(0);
            self.weights.push(0.0);
            self.sums.resize((to + 1) * d, 0.0);
            self.squares.push(0.0);
        }
        let weight = data.weight(row);
        let mut square = 0.0;
        for (j, (x, r)) in data.rows().row(row).iter().zip(data.reference()).enumerate() {
            let x: f64 = (*x).into() - (*r).into();
            square += x * x;
            self.sums[from * d + j] -= weight * x;
            self.sums[to * d + j] += weight * x;
        }
        self.counts[from] -= 1;
        self.counts[to] += 1;
        self.weights[from] -= weight;
        self.weights[to] += weight;
        self.squares[from] -= weight * square;
        self.squares[to] += weight * square;
    }
}

impl<T: Real> Run<'_, T> {
    /// Assigns every row, moves the centres, and keeps bounds; how many rows changed, and how many opened a cluster.
    pub fn pass_with_bounds(&self, state: &mut State) -> ControlFlow<(), (usize, usize)> {
        let d = self.data.n_columns();
        let centres = FrozenCentres::<T>::new(state.offsets.clone(), d);
        let (penalty, room) = self.opening(centres.n_centres());
        let mut rows = vec![Bound::default(); self.data.n_rows()];
        state.assigned.clear();
        let labels = &mut state.labels;
        let mut found = assign_bounded(self.data, &centres, penalty, labels, &mut rows, self.workers, self.watch)?;
        state.assigned_to_present_centres();
        let tallies = Tallies::new(&found, &state.offsets, d);
        let mut bounds = Bounds { rows, anchors: state.offsets.clone(), tallies };
        let opened = self.open_far(state, &mut bounds, std::mem::take(&mut found.far), room);
        self.take_tallied_means(state, bounds);
        ControlFlow::Continue((found.changed, opened))
    }

    /// The same where bounds are known.
    pub fn pass_within(&self, mut bounds: Bounds, state: &mut State) -> ControlFlow<(), (usize, usize)> {
        let (penalty, room) = self.opening(state.k());
        let changes = self.reassign(&mut bounds, state, penalty)?;
        let opened = self.open_far(state, &mut bounds, changes.far, room);
        let distances = self.data.n_rows() * state.k();
        self.take_tallied_means(state, bounds);
        // Bounds that leave most distances open cost more than they save.
        if 2 * changes.measured > distances && state.k() >= NEARBY_PAYS_FROM {
            (state.nearby, state.bounds) = (true, None);
        }
        ControlFlow::Continue((changes.moves.len(), opened))
    }

    /// Labels as the present centres say, without moving these, where bounds are known.
    pub fn follow_centres(&self, state: &mut State) -> bool {
        let Some(mut bounds) = state.bounds.take() else { return false };
        self.reassign(&mut bounds, state, f64::INFINITY).is_continue()
    }

    /// Gives rows to their nearest centres.
    fn reassign(&self, bounds: &mut Bounds, state: &mut State, penalty: f64) -> ControlFlow<(), Changes> {
        let d = self.data.n_columns();
        let centres = FrozenCentres::<T>::new(state.offsets.clone(), d);
        let shifts = Shifts::new(&bounds.anchors, &bounds.radii(&state.labels, state.k()), &centres, self.workers);
        let (labels, rows) = (&state.labels, &mut bounds.rows);
        let changes =
            assign_within_bounds(self.data, &centres, &shifts, penalty, labels, rows, self.workers, self.watch)?;
        bounds.anchors.clone_from(&state.offsets);
        state.assigned_to_present_centres();
        for &(row, to) in &changes.moves {
            let from = std::mem::replace(&mut state.labels[row as usize], to);
            bounds.tallies.carry(self.data, row as usize, from as usize, to as usize);
        }
        ControlFlow::Continue(changes)
    }

    /// Opens clusters at far rows; such a row is its centre.
    fn open_far(&self, state: &mut State, bounds: &mut Bounds, far: Vec<FarRow>, room: usize) -> usize {
        let first = state.k();
        let before: Vec<(usize, u32)> = far.iter().map(|far| (far.row, state.labels[far.row])).collect();
        let opened = self.open_clusters(state, far, room);
        let mut rows: Vec<(usize, usize, usize)> = before
            .into_iter()
            .map(|(row, from)| (state.labels[row] as usize, row, from as usize))
            .filter(|(to, ..)| *to >= first)
            .collect();
        rows.sort_unstable();
        for (to, row, from) in rows {
            bounds.tallies.carry(self.data, row, from, to);
            bounds.rows[row] = Bound::default();
        }
        opened
    }

    /// Means, weights and losses from the tallies: loss = sum w |x|^2 - |sum w x|^2 / W. Where that would round, from the rows.
    fn take_tallied_means(&self, state: &mut State, bounds: Bounds) {
        let (d, tallies) = (self.data.n_columns(), &bounds.tallies);
        let keep: Vec<bool> = tallies.weights.iter().zip(&tallies.counts).map(|(w, n)| *n > 0 && *w > 0.0).collect();
        let weightless = keep.iter().zip(&tallies.counts).any(|(keep, n)| !keep && *n > 0);
        for (k, weight) in tallies.weights.iter().enumerate().filter(|(k, _)| keep[*k]) {
            let span = k * d..(k + 1) * d;
            let sums = &tallies.sums[span.clone()];
            state.offsets[span].iter_mut().zip(sums).for_each(|(mean, sum)| *mean = sum / weight);
        }
        let losses = (0..keep.len()).map(|k| {
            let sum = &tallies.sums[k * d..(k + 1) * d];
            if keep[k] { (tallies.squares[k] - dot(sum, sum) / tallies.weights[k]).max(0.0) } else { 0.0 }
        });
        (state.losses, state.weights) = (losses.collect(), tallies.weights.clone());
        let rounds = self.rounding_of_squares() > ROUNDING * state.losses.iter().sum::<f64>();
        state.bounds = (!weightless && !rounds).then_some(bounds);
        if rounds {
            self.measure(state);
        }
        state.retain(&keep);
    }
}
