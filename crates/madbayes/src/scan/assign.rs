//! Assignment of every row to its nearest centre, with the tallies the next centres are made of (Broderick 2013, Sec. 2).

use super::bounds::{Bound, down, up};
use super::nearby::{NEIGHBOURS, Neighbourhoods};
use super::tallies::{Carried, Tallies};
use super::{Chunk, scan_parts};
use crate::data::{CHUNK, Data, Real, rows_of_chunk};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, Reach, Search, SomeCentres, on_this_processor};
use crate::parallel::Workers;
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Rows beyond the penalty that one chunk may report.
const FAR_ROWS: usize = 32;

/// Rows that are passed over together where nothing is to be done with them.
const SEVERAL: usize = 16;

/// Rows whose nearest centres are sought nearby before they change hands: what is found is forgotten then.
const STRETCH: usize = 64 * CHUNK;

/// A row that would rather pay the penalty than its distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarRow {
    /// Its number.
    pub row: usize,
    /// What it pays now: weight times squared distance.
    pub pays: f64,
}

/// What an assignment found.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Rows whose label changed.
    pub changed: usize,
    /// The rows that pay most above the penalty, a bounded number from each chunk.
    pub far: Vec<FarRow>,
    /// Distances from rows to centres that were measured.
    pub measured: usize,
}

impl Changes {
    pub(super) fn merge(&mut self, other: Changes) {
        self.changed += other.changed;
        self.far.extend(other.far);
        self.measured += other.measured;
    }

    /// Takes note of what a row pays, if it is far.
    pub(super) fn note_if_far(&mut self, row: usize, pays: f64, penalty: f64) {
        if pays > penalty {
            self.far.push(FarRow { row, pays });
            if self.far.len() == 2 * FAR_ROWS {
                self.keep_farthest();
            }
        }
    }

    pub(super) fn keep_farthest(&mut self) {
        self.far.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
        self.far.truncate(FAR_ROWS);
    }
}

/// Puts every row into the cluster of its nearest centre, and lets the tallies follow. A row leaves the cluster it is in only for a
/// centre that is strictly nearer in float64, so that rounding never raises the loss.
///
/// Rows that pay more than `penalty` are reported as far; infinity asks for none. Stopped by the watch, labels and tallies no longer
/// fit together.
pub fn assign<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    penalty: f64,
    labels: &mut [u32],
    tallies: &mut Tallies,
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Changes> {
    Assign { data, centres, sought: Sought::All, penalty, workers, watch }.run(labels, None, tallies)
}

/// An assignment: of which rows, to which centres.
pub(crate) struct Assign<'a, T> {
    pub data: &'a Data<'a, T>,
    pub centres: &'a FrozenCentres<T>,
    pub sought: Sought<'a, T>,
    pub penalty: f64,
    pub workers: &'a Workers,
    pub watch: &'a dyn Watch,
}

impl<T: Real> Assign<'_, T> {
    /// As [`assign`]. Where bounds are given it notes how near each row is to its centre, and how far from all others.
    pub fn run(
        &self,
        labels: &mut [u32],
        bounds: Option<&mut [Bound]>,
        tallies: &mut Tallies,
    ) -> ControlFlow<(), Changes> {
        let Assign { data, centres, sought, penalty, workers, watch } = *self;
        let around = match sought {
            Sought::Nearby => Some(or_stop(Neighbourhoods::new(centres, workers, watch))?),
            _ => None,
        };
        let mut total = Changes::default();
        let size = rows_of_chunk(data.n_columns());
        let mut bounds = bounds.map(|bounds| bounds.chunks_mut(size));
        for (stretch, labels) in labels.chunks_mut(STRETCH).enumerate() {
            let first_row = stretch * STRETCH;
            let rows = data.rows().slice(first_row, first_row + labels.len());
            let known = match &around {
                Some(around) => or_stop(around.nearest(rows, data.reference(), labels, workers, watch))?,
                None => Vec::new(),
            };
            let bounds = || bounds.as_mut().and_then(Iterator::next);
            let parts = labels.chunks_mut(size).zip(std::iter::repeat_with(bounds)).collect();
            scan_parts(
                data,
                first_row,
                size,
                parts,
                workers,
                watch,
                |chunk, (labels, bounds): &mut (&mut [u32], Option<&mut [Bound]>)| {
                    let (bounds, known) = (bounds.as_deref_mut(), known.get(chunk.first_row - first_row..));
                    let known = known.unwrap_or_default();
                    on_this_processor(AssignChunk { chunk, centres, sought, known, penalty, labels, bounds })
                },
                |(changes, carried)| {
                    tallies.follow(&carried);
                    total.merge(changes);
                },
            )?;
        }
        ControlFlow::Continue(total)
    }
}

/// What there is, unless the watch has said stop.
fn or_stop<R>(found: Option<R>) -> ControlFlow<(), R> {
    found.map_or(ControlFlow::Break(()), ControlFlow::Continue)
}

/// Centres that have moved since the labels were assigned: a row whose own centre has not moved can only leave it for one of
/// these, so few distances are enough.
#[derive(Debug, Clone)]
pub(crate) struct MovedCentres<T> {
    flags: Vec<bool>,
    moved: SomeCentres<T>,
}

impl<T: Real> MovedCentres<T> {
    /// Those of the centres whose flag is set.
    pub fn new(centres: &FrozenCentres<T>, flags: Vec<bool>) -> Self {
        let mut moved = SomeCentres::default();
        moved.take(centres, (0..flags.len() as u32).filter(|&k| flags[k as usize]));
        MovedCentres { flags, moved }
    }

    /// For every row a centre that is nearest, or no nearer than its own; how many distances were measured.
    ///
    /// # Safety
    /// To be inlined into a kernel that runs with FUSED and WIDE.
    #[inline(always)]
    unsafe fn nearest_inlined<const FUSED: bool, const WIDE: bool>(
        &self,
        all: &FrozenCentres<T>,
        search: Search<T>,
        labels: &[u32],
        nearest: &mut [u32],
    ) -> usize {
        nearest.copy_from_slice(labels);
        if self.moved.count() > 0 {
            // SAFETY: the caller vouches for the instructions.
            unsafe {
                all.nearest_inlined::<FUSED, WIDE>(Search { some: Some(&self.moved), ..search }, nearest, None);
            }
        }
        // Rows whose own centre has moved may be nearest to any.
        let is_open = |n: &u32| labels[*n as usize] == NO_LABEL || self.flags[labels[*n as usize] as usize];
        let open: Vec<u32> = (0..labels.len() as u32).filter(is_open).collect();
        let mut found = vec![NO_LABEL; open.len()];
        // SAFETY: as above.
        unsafe { all.nearest_inlined::<FUSED, WIDE>(Search { numbers: Some(&open), ..search }, &mut found, None) };
        open.iter().zip(found).for_each(|(&n, label)| nearest[n as usize] = label);
        labels.len() * self.moved.count() + open.len() * all.n_centres()
    }
}

/// Where the nearest centre of a row is sought.
#[derive(Clone, Copy)]
pub(crate) enum Sought<'a, T> {
    All,
    /// Only some centres have moved since the labels were assigned.
    Moved(&'a MovedCentres<T>),
    /// Among the centres near each row's own, where one look at all of them would cost more: rows may end at a centre that is not the
    /// nearest, but none ends farther from its centre than it was. Every row has a label.
    Nearby,
}

struct AssignChunk<'a, T> {
    chunk: Chunk<'a, T>,
    centres: &'a FrozenCentres<T>,
    sought: Sought<'a, T>,
    /// The nearest centres of these rows and more, and how far they are at most, where they were sought nearby.
    known: &'a [(u32, f32)],
    penalty: f64,
    labels: &'a mut [u32],
    bounds: Option<&'a mut [Bound]>,
}

impl<T: Real> Kernel for AssignChunk<'_, T> {
    type Output = (Changes, Carried);

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (Changes, Carried) {
        let AssignChunk { chunk, centres, sought, known, penalty, labels, bounds } = self;
        let Chunk { first_row, rows, weights, reference } = chunk;
        let n_rows = labels.len();
        let mut changes = Changes::default();
        let mut carried = Carried::new(centres.n_centres(), reference);
        let mut nearest = vec![NO_LABEL; n_rows];
        let (mut within, mut others) = (vec![f32::INFINITY; n_rows], vec![0.0; n_rows]);
        let search = Search::all(rows, reference);
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe {
            match sought {
                Sought::Moved(moved) => {
                    changes.measured = moved.nearest_inlined::<FUSED, WIDE>(centres, search, labels, &mut nearest);
                }
                Sought::Nearby => {
                    changes.measured = n_rows * (NEIGHBOURS + 1).min(centres.n_centres());
                    for (n, &found) in known[..n_rows].iter().enumerate() {
                        (nearest[n], within[n]) = found;
                    }
                }
                Sought::All => {
                    changes.measured = n_rows * centres.n_centres();
                    let reach = Reach { nearest: &mut within, others: &mut others };
                    centres.nearest_inlined::<FUSED, WIDE>(search, &mut nearest, Some(reach));
                }
            }
        }
        let weight = |n: usize| weights.map_or(1.0, |w| w[n]);
        // Few rows change, and few are far: a look at several at once passes the others over.
        for (first, (labels, nearest)) in labels.chunks_mut(SEVERAL).zip(nearest.chunks(SEVERAL)).enumerate() {
            if labels == nearest {
                continue;
            }
            for (n, (label, &nearest)) in (first * SEVERAL..).zip(labels.iter_mut().zip(nearest)) {
                if *label == nearest {
                    continue;
                }
                let here = if *label == NO_LABEL { f64::INFINITY } else { chunk.square(n, centres, *label) };
                if *label == NO_LABEL || chunk.square(n, centres, nearest) < here {
                    // SAFETY: this kernel runs with FUSED.
                    unsafe { carried.carry::<T, FUSED>(rows.row(n), weight(n), *label, nearest) };
                    *label = nearest;
                    changes.changed += 1;
                } else {
                    // A row that stays although another centre is as near has nothing to spare.
                    (within[n], others[n]) = (up(here.sqrt() as f32), 0.0);
                }
            }
        }
        let near_enough = if weights.is_none() { down(penalty.sqrt() as f32) } else { 0.0 };
        for (first, several) in within.chunks(SEVERAL).enumerate() {
            if several.iter().fold(true, |near, upper| near & (*upper <= near_enough)) {
                continue;
            }
            for (n, &upper) in (first * SEVERAL..).zip(several) {
                if weight(n) * f64::from(upper) * f64::from(upper) > penalty {
                    changes.note_if_far(first_row + n, weight(n) * chunk.square(n, centres, labels[n]), penalty);
                }
            }
        }
        for (bound, (&upper, &lower)) in bounds.into_iter().flatten().zip(within.iter().zip(&others)) {
            *bound = [upper, lower];
        }
        changes.keep_farthest();
        (changes, carried)
    }
}
