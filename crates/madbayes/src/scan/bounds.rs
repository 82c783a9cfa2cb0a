//! Assignment that looks only at rows which may have a new nearest centre (Hamerly 2010): a row stays where it is while an upper
//! bound of the distance to its centre is below a lower bound of the distance to all others.
//!
//! A row at distance u of its centre c is nearer to another centre c' only if |c - c'| < 2 u: rows that their bounds leave open are
//! taken together cluster by cluster, and measured against the centres near their own.

use super::assign::Changes;
use super::tallies::{Carried, Tallies};
use super::{Chunk, scan_parts};
use crate::data::{CHUNK, Data, Real};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, Reach, Search, SomeCentres, on_this_processor, squared_distance};
use crate::parallel::Workers;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// Chunks that are looked at together, so that a cluster has many rows among them: as many as leave work for several threads.
const MOST_CHUNKS: usize = 16;
const PARTS: usize = 32;

/// Rows from which it is foreseen how many distances a pass will measure.
const FORESEEN_FROM: usize = 4096;

/// What is known of one row: no farther from its centre than the first, no nearer to any other than the second. A pair, since memory
/// full of zeros costs nothing until it is written.
pub(crate) type Bound = [f32; 2];

/// More than the roundings of one operation in float32.
const ROUNDING: f32 = 2.0 * f32::EPSILON;

/// A number above that was rounded to this; of a distance, so not below 0.
#[inline(always)]
pub(super) fn up(distance: f32) -> f32 {
    distance * (1.0 + ROUNDING) + f32::MIN_POSITIVE
}

/// A distance below that was rounded to this; finite, since what is beyond the largest number may be infinite only in this type.
#[inline(always)]
pub(super) fn down(distance: f32) -> f32 {
    let below = distance * (1.0 - ROUNDING) - f32::MIN_POSITIVE;
    // Nor is it less than 0, or no number at all.
    if below > 0.0 { below.min(f32::MAX) } else { 0.0 }
}

/// What became of the bounds when the centres moved, and which centres are near each other.
#[derive(Debug)]
pub(crate) struct Shifts {
    of: Vec<Shift>,
    /// For each centre those that a row of it may be nearer to, nearest first. Their distances are measured again where they are asked
    /// for: all of them would take as much memory as the bounds, where clusters are many and overlap.
    near: Vec<Vec<u32>>,
}

/// What became of the bounds of one cluster's rows.
#[derive(Debug, Clone, Copy)]
struct Shift {
    /// How far its centre has moved: upper bounds grow by that.
    own: f32,
    /// The farthest that any other centre has moved: lower bounds shrink by that.
    others: f32,
    /// Half the distance to the nearest other centre: a row nearer than that stays.
    half_gap: f32,
    /// Distance to the nearest centre that is new; infinite if none is.
    to_new: f32,
}

impl Shifts {
    /// From the centres the bounds were of to the present ones; those beyond `anchors` are new. No row of cluster k is farther than
    /// `radii[k]` from the centre it was bounded about. None once the watch has said stop.
    pub fn new<T: Real>(
        anchors: &[f64],
        radii: &[f32],
        centres: &FrozenCentres<T>,
        workers: &Workers,
        watch: &dyn Watch,
    ) -> Option<Self> {
        let (k, d) = (centres.n_centres(), centres.offset(0).len());
        let moved = anchors.chunks_exact(d).enumerate();
        let mut own: Vec<f32> = moved.map(|(i, a)| up(squared_distance(a, centres.offset(i)).sqrt() as f32)).collect();
        own.resize(k, 0.0);
        // The largest, and the largest but one.
        let (mut first, mut second) = ((0, 0.0f32), 0.0f32);
        for (i, &shift) in own.iter().enumerate() {
            if shift > first.1 {
                (second, first) = (first.1, (i, shift));
            } else {
                second = second.max(shift);
            }
        }
        let known = anchors.len() / d;
        let around = workers.map(k, |i| {
            let others = if i == first.0 { second } else { first.1 };
            let look = LookAround {
                centres: centres.offsets(),
                d,
                i,
                known,
                reach: 2.0 * up(radii[i] + own[i]),
                shift: Shift { own: own[i], others, half_gap: f32::INFINITY, to_new: f32::INFINITY },
            };
            watch.step(&Step::Chunk).is_continue().then(|| on_this_processor(look))
        });
        let (of, near) = around.into_iter().collect::<Option<Vec<_>>>()?.into_iter().unzip();
        Some(Shifts { of, near })
    }

    /// About how many distances these bounds leave open. Of some rows it is seen which are open, and how far the farthest of each
    /// cluster is; what that means for a cluster's rows of one part is as the pass has it. Rows that are open since they may be far
    /// are not counted.
    pub fn foreseen<T: Real>(&self, centres: &FrozenCentres<T>, labels: &[u32], bounds: &[Bound]) -> usize {
        let step = labels.len().div_ceil(FORESEEN_FROM);
        // Open rows of each cluster, and the farthest.
        let mut open = vec![(0, 0.0f32); self.of.len()];
        for (&label, &bound) in labels.iter().zip(bounds).step_by(step) {
            let shift = &self.of[label as usize];
            let [upper, lower] = shift.widened(bound);
            if upper > lower.max(shift.half_gap) {
                let (count, farthest) = &mut open[label as usize];
                (*count, *farthest) = (*count + 1, farthest.max(upper));
            }
        }
        let parts = labels.len().div_ceil(part_size(labels.len()));
        let measured = open.iter().enumerate().map(|(k, &(count, farthest))| {
            let group = (count * step).div_ceil(parts);
            let within = self.within(centres, k, 2.0 * farthest) + 1;
            count * if taken_by_itself(group, within, centres.n_centres()) { within } else { centres.n_centres() }
        });
        step * measured.sum::<usize>()
    }

    /// How many centres are within reach of one.
    #[inline(always)]
    fn within<T: Real>(&self, centres: &FrozenCentres<T>, k: usize, reach: f32) -> usize {
        // Halving as `partition_point` does, but with the instructions of the kernel it is in.
        let near = &self.near[k];
        let (mut within, mut beyond) = (0, near.len());
        while within < beyond {
            let middle = usize::midpoint(within, beyond);
            if gap(centres.offset(k), centres.offset(near[middle] as usize)) <= reach {
                within = middle + 1;
            } else {
                beyond = middle;
            }
        }
        within
    }
}

/// Rows that are looked at together.
fn part_size(n_rows: usize) -> usize {
    CHUNK * n_rows.div_ceil(CHUNK).div_ceil(PARTS).clamp(1, MOST_CHUNKS)
}

/// Rows of a block of the kernel, and rows that packing a centre takes as long as: what few rows and few centres cost.
const BLOCK: usize = 32;

/// Whether the open rows of a cluster are measured by themselves, against the centres within their reach: not where most centres are,
/// or rows are so few that it is quicker to measure those of all clusters together against all centres.
#[inline(always)]
fn taken_by_itself(rows: usize, within: usize, k: usize) -> bool {
    (rows.next_multiple_of(BLOCK) + BLOCK) * within < rows * k
}

impl Shift {
    /// What a bound has become.
    #[inline(always)]
    fn widened(&self, [upper, lower]: Bound) -> Bound {
        let upper = up(upper + self.own);
        [upper, down(lower - self.others).min(down(self.to_new - upper))]
    }
}

/// No more than the distance of two centres.
#[inline(always)]
fn gap(here: &[f64], there: &[f64]) -> f32 {
    down(squared_distance(here, there).sqrt() as f32)
}

struct LookAround<'a> {
    centres: &'a [f64],
    d: usize,
    i: usize,
    known: usize,
    reach: f32,
    shift: Shift,
}

impl Kernel for LookAround<'_> {
    type Output = (Shift, Vec<u32>);

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (Shift, Vec<u32>) {
        let here = &self.centres[self.i * self.d..(self.i + 1) * self.d];
        let (mut shift, mut near) = (self.shift, Vec::new());
        for (j, there) in self.centres.chunks_exact(self.d).enumerate() {
            if j == self.i {
                continue;
            }
            let gap = gap(here, there);
            shift.half_gap = shift.half_gap.min(0.5 * gap);
            if j >= self.known {
                shift.to_new = shift.to_new.min(gap);
            }
            if gap <= self.reach {
                near.push((gap, j as u32));
            }
        }
        near.sort_by(|a: &(f32, u32), b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        (shift, near.iter().map(|(_, j)| *j).collect())
    }
}

/// Gives every row to its nearest centre, and lets tallies and bounds follow. A row leaves only for a centre that is strictly nearer
/// in float64. Rows that pay more than `penalty` are reported as far.
#[expect(clippy::too_many_arguments, reason = "the rows, what is known of them, and what became of the centres")]
pub(crate) fn assign_within_bounds<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    shifts: &Shifts,
    penalty: f64,
    labels: &mut [u32],
    bounds: &mut [Bound],
    tallies: &mut Tallies,
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Changes> {
    let mut total = Changes::default();
    let near_enough = down(penalty.sqrt() as f32);
    let size = part_size(data.n_rows());
    let parts = labels.chunks_mut(size).zip(bounds.chunks_mut(size)).collect();
    scan_parts(
        data,
        0,
        size,
        parts,
        workers,
        watch,
        |chunk, (labels, bounds): &mut (&mut [u32], &mut [Bound])| {
            let carried = Carried::new(centres.n_centres(), data.reference());
            on_this_processor(BoundedPart { chunk, centres, shifts, penalty, near_enough, labels, bounds, carried })
        },
        |(changes, carried)| {
            tallies.follow(&carried);
            total.merge(changes);
        },
    )?;
    ControlFlow::Continue(total)
}

struct BoundedPart<'a, T> {
    chunk: Chunk<'a, T>,
    centres: &'a FrozenCentres<T>,
    shifts: &'a Shifts,
    penalty: f64,
    /// No row nearer than that pays more than the penalty, where rows have no weights.
    near_enough: f32,
    labels: &'a mut [u32],
    bounds: &'a mut [Bound],
    carried: Carried,
}

impl<T: Real> Kernel for BoundedPart<'_, T> {
    type Output = (Changes, Carried);

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(mut self) -> (Changes, Carried) {
        let mut changes = Changes::default();
        let (open, starts) = self.widen_bounds();
        let mut measured = Measured::default();
        let mut some = SomeCentres::default();
        let mut others = Vec::new();
        for (label, near) in self.shifts.near.iter().enumerate() {
            let label = label as u32;
            let group = &open[starts[label as usize] as usize..starts[label as usize + 1] as usize];
            if group.is_empty() {
                continue;
            }
            let reach = 2.0 * group.iter().map(|row| self.bounds[*row as usize][0]).fold(0.0, f32::max);
            let within = self.shifts.within(self.centres, label as usize, reach);
            if !taken_by_itself(group.len(), within + 1, self.centres.n_centres()) {
                others.extend_from_slice(group);
                continue;
            }
            // Centres farther away are no nearer than their distance from this one, less the row's.
            let gap_to = |j: u32| gap(self.centres.offset(label as usize), self.centres.offset(j as usize));
            let beyond = near.get(within).map_or(reach, |&j| gap_to(j));
            some.take(self.centres, near[..within].iter().copied().chain([label]));
            changes.measured += group.len() * (within + 1);
            // SAFETY: this kernel runs with FUSED and WIDE.
            unsafe {
                measured.measure::<T, FUSED, WIDE>(&self, group, Some(&some));
                self.settle::<FUSED>(group, &measured, beyond, &mut changes);
            }
        }
        // Where most centres are within reach, or few rows of a cluster open: all centres, for rows of all clusters together.
        changes.measured += others.len() * self.centres.n_centres();
        // SAFETY: as above.
        unsafe {
            measured.measure::<T, FUSED, WIDE>(&self, &others, None);
            self.settle::<FUSED>(&others, &measured, f32::INFINITY, &mut changes);
        }
        changes.keep_farthest();
        (changes, self.carried)
    }
}

/// The nearest centres of some rows, how near these are, and how near any other may be.
#[derive(Default)]
struct Measured {
    nearest: Vec<u32>,
    within: Vec<f32>,
    others: Vec<f32>,
}

impl Measured {
    /// # Safety
    /// To be inlined into a kernel that runs with FUSED and WIDE.
    #[inline(always)]
    unsafe fn measure<T: Real, const FUSED: bool, const WIDE: bool>(
        &mut self,
        part: &BoundedPart<T>,
        open: &[u32],
        some: Option<&SomeCentres<T>>,
    ) {
        let Chunk { rows, reference, .. } = part.chunk;
        self.nearest.resize(open.len(), NO_LABEL);
        self.within.resize(open.len(), 0.0);
        self.others.resize(open.len(), 0.0);
        let search = Search { rows, numbers: Some(open), reference, some };
        let reach = Reach { nearest: &mut self.within, others: &mut self.others };
        // SAFETY: the caller vouches for the instructions.
        unsafe { part.centres.nearest_inlined::<FUSED, WIDE>(search, &mut self.nearest, Some(reach)) };
    }
}

impl<T: Real> BoundedPart<'_, T> {
    /// Whether a row with this upper bound may pay more than the penalty.
    #[inline(always)]
    fn may_be_far(&self, row: usize, upper: f32) -> bool {
        match self.chunk.weights {
            None => upper > self.near_enough,
            Some(weights) => weights[row] * f64::from(upper) * f64::from(upper) > self.penalty,
        }
    }

    /// Lets the bounds follow the centres; the rows that are open then, cluster by cluster, and where those of each cluster begin.
    #[inline(always)]
    fn widen_bounds(&mut self) -> (Vec<u32>, Vec<u32>) {
        let mut open = vec![0; self.labels.len()];
        let mut places = vec![0u32; self.centres.n_centres() + 1];
        let mut n_open = 0;
        for row in 0..self.labels.len() {
            let k = self.labels[row] as usize;
            let shift = self.shifts.of[k];
            let [upper, lower] = shift.widened(self.bounds[row]);
            self.bounds[row] = [upper, lower];
            // Counted without a branch, since nobody can foresee which rows are open.
            let is_open = (upper > lower.max(shift.half_gap)) | self.may_be_far(row, upper);
            open[n_open] = row as u32;
            n_open += usize::from(is_open);
            places[k] += u32::from(is_open);
        }
        open.truncate(n_open);
        // Sorted by counting.
        let mut end = 0;
        for count in &mut places {
            end += *count;
            *count = end;
        }
        let mut sorted = vec![0; open.len()];
        for row in open.into_iter().rev() {
            let place = &mut places[self.labels[row as usize] as usize];
            *place -= 1;
            sorted[*place as usize] = row;
        }
        (sorted, places)
    }

    /// Gives open rows to their nearest centres. None but those that were measured is nearer to their own centre than `beyond`.
    ///
    /// # Safety
    /// To be inlined into a kernel that runs with FUSED.
    #[inline(always)]
    unsafe fn settle<const FUSED: bool>(
        &mut self,
        group: &[u32],
        found: &Measured,
        beyond: f32,
        changes: &mut Changes,
    ) {
        let distances = found.within.iter().zip(&found.others);
        for (&row, (&nearest, (&within, &other))) in group.iter().zip(found.nearest.iter().zip(distances)) {
            let row = row as usize;
            let own = self.labels[row];
            let (mut upper, mut lower) = (within, other);
            if nearest == own {
                upper = upper.min(self.bounds[row][0]);
                lower = lower.min(down(beyond - upper));
            } else {
                lower = lower.min(down(beyond - self.bounds[row][0]));
                let here = self.chunk.square(row, self.centres, own);
                if self.chunk.square(row, self.centres, nearest) < here {
                    let weight = self.chunk.weights.map_or(1.0, |w| w[row]);
                    self.labels[row] = nearest;
                    changes.changed += 1;
                    // SAFETY: the caller vouches for FUSED.
                    unsafe { self.carried.carry::<T, FUSED>(self.chunk.rows.row(row), weight, own, nearest) };
                } else {
                    // A row that stays although another centre is as near has nothing to spare.
                    (upper, lower) = (up(here.sqrt() as f32), 0.0);
                }
            }
            self.bounds[row] = [upper, lower];
            if self.may_be_far(row, upper) {
                let weight = self.chunk.weights.map_or(1.0, |w| w[row]);
                let pays = weight * self.chunk.square(row, self.centres, self.labels[row]);
                changes.note_if_far(self.chunk.first_row + row, pays, self.penalty);
            }
        }
    }
}

#[cfg(test)]
mod tests;
