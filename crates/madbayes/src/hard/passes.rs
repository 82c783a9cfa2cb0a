//! Passes of the parallel algorithm: assign all rows to frozen centres, open clusters for far rows, drop empty ones,
//! move centres to the means. No step raises the objective.

use super::Goal;
use super::bounded_passes::Bounds;
use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, NO_LABEL, add_offset_row, offset_squared_distance, squared_distance};
use crate::parallel::Workers;
use crate::scan::{FarRow, MovedCentres, NEARBY_PAYS_FROM, assign_moved, assign_nearby};
use crate::watch::{Step, Watch};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// What all steps of one run share.
pub(super) struct Run<'a, T> {
    pub data: &'a Data<'a, T>,
    pub goal: Goal,
    /// What a single row pays at most before it opens a cluster: the penalty, where all rows are there.
    pub opens_above: f64,
    /// The share of the rows which the run is about that are not here: 0 but in a sample.
    pub others: f64,
    pub workers: &'a Workers,
    pub watch: &'a dyn Watch,
    pub number: usize,
    pub max_passes: usize,
    pub tolerance: f64,
    /// Multiply-adds that trials of moves may take in all.
    pub trials: f64,
}

/// A clustering on its way: labels, their means, and what they cost.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub labels: Vec<u32>,
    /// Centres relative to the reference point, K x D.
    pub offsets: Vec<f64>,
    pub n_columns: usize,
    /// Weight of each cluster; empty before the first pass.
    pub weights: Vec<f64>,
    /// Loss of each cluster about its own mean; empty before the first pass.
    pub losses: Vec<f64>,
    /// Fingerprints of the centres that the labels were last assigned to, where they were.
    pub assigned: HashSet<u64>,
    /// What is known of every row since the last assignment, where rows are many and nothing but passes came since.
    pub bounds: Option<Bounds>,
    /// Whether the next pass looks among the centres near each row's own: bounds have turned out to leave most distances open.
    pub nearby: bool,
    /// Multiply-adds of all passes so far, had they measured every distance: rows x columns x clusters.
    pub work: f64,
    /// The same of trials.
    pub tried: f64,
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
            assigned: HashSet::new(),
            bounds: None,
            nearby: false,
            work: 0.0,
            tried: 0.0,
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

    /// Which centres have moved since the labels were assigned; none where to know it saves nothing.
    fn moved(&self) -> Option<Vec<bool>> {
        let flags: Vec<bool> =
            self.offsets.chunks_exact(self.n_columns).map(|c| !self.assigned.contains(&fingerprint(c))).collect();
        let count = flags.iter().filter(|moved| **moved).count();
        (2 * count <= flags.len()).then_some(flags)
    }

    /// Notes that the labels are as the present centres say.
    pub fn assigned_to_present_centres(&mut self) {
        self.assigned = self.offsets.chunks_exact(self.n_columns).map(fingerprint).collect();
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
        if let Some(bounds) = &mut self.bounds {
            bounds.retain(keep, d);
        }
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

/// From so many rows on, bounds are kept from pass to pass.
const MANY_ROWS: usize = 1 << 14;

/// Multiply-adds after which a run with K free is content with less: a pass must lower the objective by `CONTENT` times the tolerance,
/// and no more splits are sought. Such an objective has no end of splits in large data, each worth less than the one before.
const MUCH_WORK: f64 = 6e8;
pub(super) const CONTENT: f64 = 2e3;

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
            let wanted = if self.is_content(state) { tolerance.max(CONTENT * self.tolerance) } else { tolerance };
            let slow = before.is_finite() && before - after < wanted * after;
            if matches!(passed, Passed::Unchanged) || slow {
                // Only a look at all centres can tell.
                if std::mem::take(&mut state.nearby) {
                    continue;
                }
                state.converged = true;
                return;
            }
        }
    }

    /// Whether much work has been done, and K is free.
    pub fn is_content(&self, state: &State) -> bool {
        self.goal.penalty() > 0.0 && state.work >= MUCH_WORK
    }

    fn pass(&self, state: &mut State) -> ControlFlow<(), Passed> {
        let (changed, opened) = match state.bounds.take() {
            Some(bounds) => self.pass_within(bounds, state)?,
            None => match state.moved() {
                None if state.nearby => self.pass_over_all(state, None)?,
                None if self.data.n_rows() >= MANY_ROWS => self.pass_with_bounds(state)?,
                moved => self.pass_over_all(state, moved)?,
            },
        };
        state.work += (self.data.n_rows() * self.data.n_columns()) as f64 * state.k() as f64;
        let objective = state.objective(&self.goal);
        debug_assert!(
            state.trace.last().is_none_or(|before| objective <= before + self.rounding(*before)),
            "a pass raised the objective from {:?} to {objective}",
            state.trace.last()
        );
        state.trace.push(objective);
        self.watch.step(&Step::Pass { run: self.number, pass: state.trace.len(), groups: state.k(), objective })?;
        let unchanged = changed == 0 && opened == 0;
        ControlFlow::Continue(if unchanged { Passed::Unchanged } else { Passed::Moved })
    }

    /// What a single row may pay before it opens a cluster, and how many clusters there is room for.
    pub(super) fn opening(&self, k: usize) -> (f64, usize) {
        let room = self.goal.cap().saturating_sub(k);
        let offers_new = room > 0 && self.goal.penalty() > 0.0;
        (if offers_new { self.opens_above } else { f64::INFINITY }, room)
    }

    /// Assigns every row and moves the centres; how many rows changed, and how many opened a cluster.
    fn pass_over_all(&self, state: &mut State, moved: Option<Vec<bool>>) -> ControlFlow<(), (usize, usize)> {
        let centres = FrozenCentres::<T>::new(state.offsets.clone(), self.data.n_columns());
        let (penalty, room) = self.opening(centres.n_centres());
        let moved = moved.map(|flags| MovedCentres::new(&centres, flags));
        // A sample only shows where clusters are: all rows will look at all centres.
        let few = state.k() < NEARBY_PAYS_FROM || state.labels.contains(&NO_LABEL);
        let nearby = (self.others > 0.0 || state.nearby) && moved.is_none() && !few;
        let labels = &mut state.labels;
        let assigned = if nearby {
            assign_nearby(self.data, &centres, penalty, labels, self.workers, self.watch)
        } else {
            assign_moved(self.data, &centres, moved.as_ref(), penalty, labels, self.workers, self.watch)
        };
        state.assigned_to_present_centres();
        let mut found = assigned?;
        let opened = self.open_clusters(state, std::mem::take(&mut found.far), room);
        if opened > 0 {
            self.take_means(state);
        } else {
            self.take_assigned_means(state, found.weights, found.losses, &found.sums);
        }
        ControlFlow::Continue((found.changed, opened))
    }

    /// What rounding may add to an objective: a share of it, and of what the rows' own squares are rounded by.
    pub fn rounding(&self, objective: f64) -> f64 {
        (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective.abs() + self.rounding_of_squares()
    }

    /// Rounding of the sum of all squared distances from the reference point.
    pub fn rounding_of_squares(&self) -> f64 {
        let square: f64 = self.data.spreads().iter().map(|s| s * s).sum();
        1e-14 * self.data.total_weight() * square
    }

    /// Opens clusters at far rows, farthest first: a row that still pays more than the penalty beside those opened
    /// before it gets a cluster of its own and saves the difference. At most as many as there are clusters already
    /// (or 16), so that K doubles from pass to pass and the number of passes does not grow with K.
    pub(super) fn open_clusters(&self, state: &mut State, mut candidates: Vec<FarRow>, room: usize) -> usize {
        let (data, d, first) = (self.data, self.data.n_columns(), state.k());
        let limit = room.min(first.max(16));
        candidates.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
        for far in candidates {
            if state.k() - first == limit {
                break;
            }
            let (row, weight) = (data.rows().row(far.row), data.weight(far.row));
            let pays = |k: usize| weight * offset_squared_distance(row, data.reference(), state.offset(k));
            if (first..state.k()).any(|k| pays(k) <= self.opens_above) {
                continue;
            }
            state.labels[far.row] = state.k() as u32;
            let mut own = vec![0.0; d];
            add_offset_row(&mut own, row, data.reference(), 1.0);
            state.offsets.extend_from_slice(&own);
        }
        state.k() - first
    }

    /// Means, weights and losses from the sums of an assignment to the present centres. The loss about the new mean is
    /// what is lost about the old centre, less W |mean - centre|^2.
    fn take_assigned_means(&self, state: &mut State, weights: Vec<f64>, mut losses: Vec<f64>, sums: &[f64]) {
        let d = self.data.n_columns();
        let before: f64 = losses.iter().sum();
        for (k, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let span = k * d..(k + 1) * d;
            let mean: Vec<f64> = sums[span.clone()].iter().map(|s| s / weight).collect();
            let shift = squared_distance(&mean, &state.offsets[span.clone()]);
            losses[k] = (losses[k] - weight * shift).max(0.0);
            state.offsets[span].copy_from_slice(&mean);
        }
        (state.weights, state.losses) = (weights, losses);
        // Centres that came from far away leave nothing but rounding of the difference.
        let after: f64 = state.losses.iter().sum();
        if after.is_nan() || after < 1e-4 * before {
            self.measure(state);
        }
        let keep: Vec<bool> = state.weights.iter().map(|w| *w > 0.0).collect();
        state.retain(&keep);
    }

    /// Weights, means and losses of the labels, from the rows; clusters without weight go.
    pub fn take_means(&self, state: &mut State) {
        state.bounds = None;
        let (data, d) = (self.data, self.data.n_columns());
        let k = state.k();
        let (mut weights, mut sums) = (vec![0.0; k], vec![0.0; k * d]);
        for (n, label) in assigned(&state.labels) {
            weights[label] += data.weight(n);
            add_offset_row(&mut sums[label * d..(label + 1) * d], data.rows().row(n), data.reference(), data.weight(n));
        }
        for (sum, weight) in sums.chunks_exact_mut(d).zip(&weights).filter(|(_, w)| **w > 0.0) {
            sum.iter_mut().for_each(|s| *s /= weight);
        }
        (state.weights, state.offsets) = (weights, sums);
        self.measure(state);
        let keep: Vec<bool> = state.weights.iter().map(|w| *w > 0.0).collect();
        state.retain(&keep);
    }

    /// Losses of the labels about the present centres, from the rows.
    pub(super) fn measure(&self, state: &mut State) {
        let mut losses = vec![0.0; state.k()];
        for (n, label) in assigned(&state.labels) {
            let row = self.data.rows().row(n);
            let distance = offset_squared_distance(row, self.data.reference(), state.offset(label));
            losses[label] += self.data.weight(n) * distance;
        }
        state.losses = losses;
    }
}

/// A number that tells one centre from another (FNV-1a over its bits).
fn fingerprint(offset: &[f64]) -> u64 {
    let mix = |hash: u64, x: &f64| (hash ^ x.to_bits()).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    offset.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Rows that have a label, with it.
fn assigned(labels: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    labels.iter().enumerate().filter(|(_, l)| **l != NO_LABEL).map(|(n, l)| (n, *l as usize))
}
