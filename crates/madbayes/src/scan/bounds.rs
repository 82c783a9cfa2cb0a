//! Assignment that looks only at rows which may have a new nearest centre (Hamerly 2010): a row stays where it is while an upper
//! bound of the distance to its centre is below a lower bound of the distance to all others.

use super::assign::{FAR_ROWS, keep_farthest};
use super::{Chunk, FarRow, scan_parts};
use crate::data::{CHUNK, Data, Real, Rows};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, offset_squared_distance, on_this_processor, squared_distance};
use crate::parallel::Workers;
use crate::watch::Watch;
use std::ops::ControlFlow;

/// What is known of one row: no farther from its centre than `upper`, no nearer to any other than `lower`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Bound {
    pub upper: f32,
    pub lower: f32,
}

/// What became of the bounds when the centres moved, and which centres are near each other.
#[derive(Debug)]
pub(crate) struct Shifts {
    /// How far each centre has moved: its rows' upper bounds grow by that.
    own: Vec<f32>,
    /// The farthest that any other centre has moved: lower bounds shrink by that.
    others: Vec<f32>,
    /// Half the distance to the nearest other centre: a row nearer than that stays.
    half_gaps: Vec<f32>,
    /// Distance to the nearest centre that is new; infinite if none is.
    to_new: Vec<f32>,
    /// Each centre's neighbours, nearest first: all that a row of it may be nearer to. None where they are too many.
    neighbours: Vec<Option<Vec<(f32, u32)>>>,
}

impl Shifts {
    /// From the centres the bounds were of to the present ones; those beyond `anchors` are new. No row of cluster k is farther than
    /// `radii[k]` from the centre it was bounded about.
    pub fn new<T: Real>(anchors: &[f64], radii: &[f32], centres: &FrozenCentres<T>, workers: &Workers) -> Self {
        let (k, d) = (centres.n_centres(), centres.offset(0).len());
        let known = anchors.len() / d;
        let up = |distance: f64| (distance as f32).next_up();
        let down = |distance: f64| (distance as f32).next_down();
        let moved = anchors.chunks_exact(d).enumerate();
        let mut own: Vec<f32> = moved.map(|(i, a)| up(squared_distance(a, centres.offset(i)).sqrt())).collect();
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
        let others = (0..k).map(|i| if i == first.0 { second } else { first.1 }).collect();
        let rows = workers.map(k, |i| {
            // A row at distance u of its centre is nearer to another only if that is within 2 u.
            let reach = 2.0 * f64::from((radii[i] + own[i]).next_up());
            let (mut half_gap, mut to_new, mut near) = (f32::INFINITY, f32::INFINITY, Vec::new());
            for j in (0..k).filter(|&j| j != i) {
                let gap = squared_distance(centres.offset(i), centres.offset(j)).sqrt();
                half_gap = half_gap.min(down(0.5 * gap));
                if j >= known {
                    to_new = to_new.min(down(gap));
                }
                if gap <= reach {
                    near.push((down(gap), j as u32));
                }
            }
            near.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            (half_gap, to_new, (near.len() < k * 2 / 3).then_some(near))
        });
        let mut shifts = Shifts { own, others, half_gaps: Vec::new(), to_new: Vec::new(), neighbours: Vec::new() };
        for (half_gap, to_new, near) in rows {
            shifts.half_gaps.push(half_gap);
            shifts.to_new.push(to_new);
            shifts.neighbours.push(near);
        }
        shifts
    }
}

/// What an assignment within bounds found.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// Rows and the clusters they go to.
    pub moves: Vec<(u32, u32)>,
    /// As in [`Assignment`](super::Assignment).
    pub far: Vec<FarRow>,
    /// Rows that were measured against all centres.
    pub measured: usize,
}

/// The rows whose nearest centre is another now, though labels stay as they are: the bounds are of the labels to be. A row leaves
/// only for a centre that is strictly nearer in float64. Rows that pay more than `penalty` are reported as far.
pub(crate) fn assign_within_bounds<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    shifts: &Shifts,
    penalty: f64,
    labels: &[u32],
    bounds: &mut [Bound],
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Changes> {
    let mut total = Changes::default();
    let parts = labels.chunks(CHUNK).zip(bounds.chunks_mut(CHUNK)).collect();
    scan_parts(
        data,
        parts,
        workers,
        watch,
        |chunk, (labels, bounds): &mut (&[u32], &mut [Bound])| {
            on_this_processor(BoundedChunk { chunk, centres, shifts, penalty, labels, bounds })
        },
        |part| {
            total.moves.extend(part.moves);
            total.far.extend(part.far);
            total.measured += part.measured;
        },
    )?;
    ControlFlow::Continue(total)
}

struct BoundedChunk<'a, T> {
    chunk: Chunk<'a, T>,
    centres: &'a FrozenCentres<T>,
    shifts: &'a Shifts,
    penalty: f64,
    labels: &'a [u32],
    bounds: &'a mut [Bound],
}

impl<T: Real> Kernel for BoundedChunk<'_, T> {
    type Output = Changes;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Changes {
        let BoundedChunk { chunk, centres, shifts, penalty, labels, bounds } = self;
        let Chunk { first_row, rows, weights, reference } = chunk;
        let weight = |n: usize| weights.map_or(1.0, |w| w[n]);
        let distance_to =
            |n: usize, k: u32| offset_squared_distance(rows.row(n), reference, centres.offset(k as usize)).sqrt();
        let (mut moves, mut far) = (Vec::new(), Vec::new());
        let mut note_far = |n: usize, distance: f64| {
            let pays = weight(n) * distance * distance;
            if pays > penalty {
                far.push(FarRow { row: first_row + n, pays });
                if far.len() == 2 * FAR_ROWS {
                    keep_farthest(&mut far);
                }
            }
        };
        let mut open = Vec::new();
        let mut uppers = vec![0.0f32; labels.len()];
        for (n, (&label, bound)) in labels.iter().zip(bounds.iter_mut()).enumerate() {
            let k = label as usize;
            let upper = (bound.upper + shifts.own[k]).next_up();
            let lower = (bound.lower - shifts.others[k]).next_down().min((shifts.to_new[k] - upper).next_down());
            *bound = Bound { upper, lower };
            let settled = upper <= lower.max(shifts.half_gaps[k]);
            let near = weight(n) * f64::from(upper) * f64::from(upper) <= penalty;
            if settled && near {
                continue;
            }
            // One look at its own centre is often enough.
            let own = distance_to(n, label);
            bound.upper = (own as f32).next_up();
            uppers[n] = bound.upper;
            if bound.upper <= lower.max(shifts.half_gaps[k]) {
                note_far(n, own);
            } else {
                open.push(n);
            }
        }
        let measured = open.len();
        // Rows of one cluster together: they share the few centres that can be nearer.
        open.sort_by_key(|&n| labels[n]);
        let mut settle = |n: usize, nearest: u32, other: f32| {
            let own = distance_to(n, labels[n]);
            let there = if nearest == labels[n] { own } else { distance_to(n, nearest) };
            if there < own {
                moves.push(((first_row + n) as u32, nearest));
            }
            let lower = if nearest == labels[n] || there < own { other } else { 0.0 };
            bounds[n] = Bound { upper: (there.min(own) as f32).next_up(), lower };
            note_far(n, there.min(own));
        };
        let mut crowded = Vec::new();
        for group in open.chunk_by(|&a, &b| labels[a] == labels[b]) {
            let label = labels[group[0]];
            let Some(neighbours) = &shifts.neighbours[label as usize] else {
                crowded.extend_from_slice(group);
                continue;
            };
            let reach = group.iter().map(|&n| uppers[n]).fold(0.0, f32::max) * 2.0;
            let within = neighbours.partition_point(|(gap, _)| *gap <= reach);
            let names: Vec<u32> = neighbours[..within].iter().map(|(_, j)| *j).chain([label]).collect();
            let beyond = neighbours.get(within).map_or(reach, |(gap, _)| *gap);
            let offsets = names.iter().flat_map(|&j| centres.offset(j as usize)).copied().collect();
            let few = FrozenCentres::<T>::new(offsets, rows.n_columns());
            // SAFETY: this kernel runs with FUSED and WIDE.
            let (nearest, others) = unsafe { measure::<T, FUSED, WIDE>(&few, rows, group, reference) };
            for ((&n, nearest), other) in group.iter().zip(nearest).zip(others) {
                // The others are no nearer than their distance from this centre, less the row's.
                settle(n, names[nearest as usize], other.min((beyond - uppers[n]).next_down()));
            }
        }
        if !crowded.is_empty() {
            // SAFETY: as above.
            let (nearest, others) = unsafe { measure::<T, FUSED, WIDE>(centres, rows, &crowded, reference) };
            for ((&n, nearest), other) in crowded.iter().zip(nearest).zip(others) {
                settle(n, nearest, other);
            }
        }
        moves.sort_unstable();
        keep_farthest(&mut far);
        Changes { moves, far, measured }
    }
}

/// The nearest of these centres for some of the rows, and a distance that no other of them is nearer than.
///
/// # Safety
/// To be inlined into a kernel that runs with FUSED and WIDE.
#[inline(always)]
unsafe fn measure<T: Real, const FUSED: bool, const WIDE: bool>(
    centres: &FrozenCentres<T>,
    rows: Rows<T>,
    some: &[usize],
    reference: &[T],
) -> (Vec<u32>, Vec<f32>) {
    let values: Vec<T> = some.iter().flat_map(|&n| rows.row(n)).copied().collect();
    let (mut nearest, mut others) = (vec![NO_LABEL; some.len()], vec![0.0; some.len()]);
    if let Ok(gathered) = Rows::new(&values, rows.n_columns()) {
        // SAFETY: the caller vouches for the instructions.
        unsafe { centres.nearest_inlined::<FUSED, WIDE>(gathered, reference, &mut nearest, Some(&mut others)) };
    }
    (nearest, others)
}
