//! Passes of the parallel algorithm: assign all rows to frozen centres, open clusters for far rows, drop empty ones,
//! move centres to the means. No step raises the objective.

use super::Goal;
use super::bounded_passes::Bounds;
use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, NO_LABEL, add_offset_row, offset_squared_distance};
use crate::parallel::Workers;
use crate::scan::{Assign, Bound, Changes, FarRow, MovedCentres, NEARBY_PAYS_FROM, Sought, Tallies};
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
    /// Sums over the rows of each cluster, where they are known for the present labels.
    pub tallies: Option<Tallies>,
    /// Fingerprints of the centres that the labels were last assigned to, where they were.
    pub assigned: HashSet<u64>,
    /// What is known of every row since the last assignment, where rows are many and nothing but passes came since.
    pub bounds: Option<Bounds>,
    /// Whether bounds would leave most distances open, or clusters are too many for them: passes then look among the centres near each row's own.
    pub loose: bool,
    /// Whether the next pass does; after a pass, whether that one did.
    pub nearby: bool,
    /// Multiply-adds of all passes so far, had they measured every distance: rows x columns x clusters.
    pub work: f64,
    /// Distances between rows and centres in all passes so far, and those that were measured.
    pub distances: f64,
    pub measured: f64,
    /// Multiply-adds of trials.
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
            tallies: None,
            assigned: HashSet::new(),
            bounds: None,
            loose: false,
            nearby: false,
            work: 0.0,
            distances: 0.0,
            measured: 0.0,
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
        if self.k() < STILL_CENTRES {
            return None;
        }
        let flags: Vec<bool> =
            self.offsets.chunks_exact(self.n_columns).map(|c| !self.assigned.contains(&fingerprint(c))).collect();
        let still = flags.iter().filter(|moved| !**moved).count();
        (still >= STILL_CENTRES && 2 * still >= flags.len()).then_some(flags)
    }

    /// Notes that the labels are as the present centres say, where there are enough of them to ask later.
    pub fn assigned_to_present_centres(&mut self) {
        self.assigned.clear();
        if self.k() < STILL_CENTRES {
            return;
        }
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
        if let Some(tallies) = &mut self.tallies {
            tallies.retain(keep);
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

/// So many distances to centres that have not moved cost more than to look which have.
const STILL_CENTRES: usize = 64;

/// Squares about the reference point may round by this share of the loss before the loss is measured row by row instead.
pub(super) const ROUNDING: f64 = 1e-9;

/// What sums of squares are rounded by, as a share of them.
pub(super) const ROUNDING_OF_SQUARES: f64 = 1e-14;

/// From so many rows on, bounds are kept from pass to pass.
const MANY_ROWS: usize = 1 << 14;

/// The most centres whose neighbours are listed for bounds.
const MOST_BOUNDED: usize = 4096;

/// Multiply-adds after which a run with K free is content with less: a pass must lower the objective by `CONTENT` times the tolerance,
/// and no more splits are sought. Such an objective has no end of splits in large data, each worth less than the one before.
const MUCH_WORK: f64 = 6e8;
pub(super) const CONTENT: f64 = 2e3;

/// Candidates for new clusters that are looked at between two questions whether to stop.
const CANDIDATES: usize = 64;

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
            let everywhere = !state.nearby;
            let after = state.trace.last().copied().unwrap_or(f64::INFINITY);
            let wanted = if self.is_content(state) { tolerance.max(CONTENT * self.tolerance) } else { tolerance };
            let slow = before.is_finite() && before - after < wanted * after;
            if matches!(passed, Passed::Unchanged) || slow {
                // Only a look at all centres can tell.
                if everywhere {
                    state.converged = true;
                    return;
                }
                state.nearby = false;
            } else {
                state.nearby = state.loose;
            }
        }
    }

    /// Whether much work has been done, and K is free.
    pub fn is_content(&self, state: &State) -> bool {
        self.goal.penalty() > 0.0 && state.work >= MUCH_WORK
    }

    fn pass(&self, state: &mut State) -> ControlFlow<(), Passed> {
        let mut tallies = match state.tallies.take() {
            Some(tallies) => tallies,
            None => Tallies::of(self.data, &state.labels, state.k()),
        };
        // Seeds are single rows, whose own noise makes all others look far: only from means on is a row far.
        let (penalty, room) = if state.weights.is_empty() { (f64::INFINITY, 0) } else { self.opening(state.k()) };
        let distances = self.data.n_rows() as f64 * state.k() as f64;
        let Changes { changed, far, measured } = self.assign(state, &mut tallies, penalty)?;
        state.distances += distances;
        state.measured += measured as f64;
        let opened = self.open_far(state, &mut tallies, far, room);
        self.take_tallied_means(state, tallies);
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

    /// Gives every row to its nearest centre, or to the nearest of those near its own.
    fn assign(&self, state: &mut State, tallies: &mut Tallies, penalty: f64) -> ControlFlow<(), Changes> {
        let mut packed = None;
        if state.k() > MOST_BOUNDED {
            state.bounds = None;
            state.loose = true;
        }
        if let Some(mut bounds) = state.bounds.take() {
            let Some(followed) = self.shifted(&bounds, state) else { return ControlFlow::Break(()) };
            // Bounds that leave most distances open cost more than they save: passes look nearby from then on.
            let all = self.data.n_rows() * state.k();
            let loose = |measured: usize| 2 * measured > all;
            let pays = state.k() >= NEARBY_PAYS_FROM;
            if !(pays && loose(followed.foreseen(&state.labels, &bounds))) {
                let changes = self.assign_within(followed, &mut bounds, state, tallies, penalty)?;
                state.loose = pays && loose(changes.measured);
                state.bounds = (!state.loose).then_some(bounds);
                return ControlFlow::Continue(changes);
            }
            (state.loose, state.nearby) = (true, true);
            packed = Some(followed.centres);
        }
        let (data, k, moved) = (self.data, state.k(), state.moved());
        // Of wide rows a copy of the centres would be a good part of all memory: they are here until the pass is over.
        let offsets = std::mem::take(&mut state.offsets);
        let centres = packed.unwrap_or_else(|| FrozenCentres::<T>::new(offsets, data.n_columns()));
        let moved = moved.map(|flags| MovedCentres::new(&centres, flags));
        // A sample only shows where clusters are: all rows will look at all centres.
        let nearby = (self.others > 0.0 || state.nearby) && k >= NEARBY_PAYS_FROM && !state.labels.contains(&NO_LABEL);
        let bounded = moved.is_none() && !state.loose && data.n_rows() >= MANY_ROWS;
        let sought = match &moved {
            Some(moved) => Sought::Moved(moved),
            None if nearby && !bounded => Sought::Nearby,
            None => Sought::All,
        };
        state.nearby &= matches!(sought, Sought::Nearby);
        let mut rows = vec![Bound::default(); if bounded { data.n_rows() } else { 0 }];
        let assign = Assign { data, centres: &centres, sought, penalty, workers: self.workers, watch: self.watch };
        state.assigned.clear();
        let changes = assign.run(&mut state.labels, bounded.then_some(&mut rows), tallies);
        state.offsets = centres.into_offsets();
        let changes = changes?;
        // Only a look at all centres says that a row can leave for none but those that move; a sample need not know.
        if !state.nearby {
            state.assigned_to_present_centres();
        }
        state.bounds = bounded.then(|| Bounds { rows, anchors: state.offsets.clone() });
        ControlFlow::Continue(changes)
    }

    /// What rounding may add to an objective: a share of it, and of what the rows' own squares are rounded by.
    pub fn rounding(&self, objective: f64) -> f64 {
        (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective.abs() + self.rounding_of_squares()
    }

    /// Rounding of the sum of all squared distances from the reference point.
    pub fn rounding_of_squares(&self) -> f64 {
        let square: f64 = self.data.spreads().iter().map(|s| s * s).sum();
        ROUNDING_OF_SQUARES * self.data.total_weight() * square
    }

    /// Opens clusters at far rows, farthest first: a row that still pays more than the penalty beside those opened
    /// before it gets a cluster of its own and saves the difference. At most as many as there are clusters already
    /// (or 16), so that K doubles from pass to pass and the number of passes does not grow with K.
    pub(super) fn open_clusters(&self, state: &mut State, mut candidates: Vec<FarRow>, room: usize) -> usize {
        let (data, d, first) = (self.data, self.data.n_columns(), state.k());
        let limit = room.min(first.max(16));
        candidates.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
        for (i, far) in candidates.into_iter().enumerate() {
            // Stopped, those opened until then are clusters like others.
            if state.k() - first == limit || i % CANDIDATES == 0 && self.watch.step(&Step::Chunk).is_break() {
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

    /// Opens clusters at far rows; such a row is its centre.
    fn open_far(&self, state: &mut State, tallies: &mut Tallies, far: Vec<FarRow>, room: usize) -> usize {
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
            tallies.carry(self.data, row, from, to);
            if let Some(bounds) = &mut state.bounds {
                bounds.rows[row] = Bound::default();
            }
        }
        opened
    }

    /// Means, weights and losses from the tallies: loss = sum w |x|^2 - |sum w x|^2 / W. Where that would round, from the rows.
    fn take_tallied_means(&self, state: &mut State, tallies: Tallies) {
        let d = self.data.n_columns();
        let keep: Vec<bool> = tallies.weights.iter().zip(&tallies.counts).map(|(w, n)| *n > 0 && *w > 0.0).collect();
        for (k, weight) in tallies.weights.iter().enumerate().filter(|(k, _)| keep[*k]) {
            let mean = &mut state.offsets[k * d..(k + 1) * d];
            mean.iter_mut().zip(tallies.sum(k)).for_each(|(mean, sum)| *mean = sum / weight);
        }
        state.losses = (0..keep.len()).map(|k| tallies.loss(k)).collect();
        state.weights.clone_from(&tallies.weights);
        if self.rounding_of_squares() > ROUNDING * state.losses.iter().sum::<f64>() {
            self.measure(state);
        }
        // Rows of a cluster without weight lose their labels, which bounds do not know of.
        if keep.iter().zip(&tallies.counts).any(|(keep, n)| !keep && *n > 0) {
            state.bounds = None;
        }
        state.tallies = Some(tallies);
        state.retain(&keep);
    }

    /// Weights, means and losses of the labels, from the rows; clusters without weight go.
    pub fn take_means(&self, state: &mut State) {
        state.bounds = None;
        let tallies = Tallies::of(self.data, &state.labels, state.k());
        self.take_tallied_means(state, tallies);
        self.measure(state);
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

/// A number that tells one centre from another (FNV-1a over its bits, in several parts that need not wait for each other).
fn fingerprint(offset: &[f64]) -> u64 {
    let mix = |hash: u64, bits: u64| (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    let (head, tail) = offset.as_chunks::<8>();
    let mut parts = [0xcbf2_9ce4_8422_2325; 8];
    for numbers in head {
        for (part, x) in parts.iter_mut().zip(numbers) {
            *part = mix(*part, x.to_bits());
        }
    }
    parts.into_iter().chain(tail.iter().map(|x| x.to_bits())).fold(0, mix)
}

/// Rows that have a label, with it.
fn assigned(labels: &[u32]) -> impl Iterator<Item = (usize, usize)> {
    labels.iter().enumerate().filter(|(_, l)| **l != NO_LABEL).map(|(n, l)| (n, *l as usize))
}

#[cfg(test)]
mod tests;
