//! The scan: parameters frozen, all rows independent; chunks of rows give small summaries that merge in order.

mod assign;
mod bounds;
mod members;
mod nearby;
mod tallies;

pub(crate) use assign::{Assign, MovedCentres, Sought};
pub use assign::{Changes, FarRow, assign};
pub(crate) use bounds::{Bound, Shifts, assign_within_bounds};
pub(crate) use members::Members;
pub(crate) use nearby::PAYS_FROM as NEARBY_PAYS_FROM;
pub use tallies::Tallies;

use crate::data::{Data, Real, Rows, rows_of_chunk};
use crate::linalg::{FrozenCentres, offset_squared_distance};
use crate::parallel::{MOST_WAITING, Workers};
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// One chunk of rows as a scan sees it.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a, T> {
    /// Number of its first row.
    pub first_row: usize,
    /// The rows.
    pub rows: Rows<'a, T>,
    /// Their weights, where there are any.
    pub weights: Option<&'a [f64]>,
    /// The point distances are computed about.
    pub reference: &'a [T],
}

impl<T: Real> Chunk<'_, T> {
    /// |x - c|^2 of a row and a centre, in float64; inlined, so that it has the instructions of the kernel it is in.
    #[inline(always)]
    fn square(&self, row: usize, centres: &FrozenCentres<T>, k: u32) -> f64 {
        offset_squared_distance(self.rows.row(row), self.reference, centres.offset(k as usize))
    }
}

/// Calls `summarise(chunk, its row state)` for every chunk, in parallel, and `merge` with the results in order.
/// `row_state` has one entry per row. Stops between chunks when the watch says so; chunks already seen stay seen.
pub fn scan<T: Real, S: Send, R: Send>(
    data: &Data<T>,
    row_state: &mut [S],
    workers: &Workers,
    watch: &dyn Watch,
    summarise: impl Fn(Chunk<T>, &mut [S]) -> R + Sync + Send,
    merge: impl FnMut(R) + Send,
) -> ControlFlow<()> {
    let size = rows_of_chunk(data.n_columns());
    let parts = row_state.chunks_mut(size).collect();
    scan_parts(data, 0, size, parts, workers, watch, |chunk, part: &mut &mut [S]| summarise(chunk, part), merge)
}

/// The same from one row on with chunks of `size` rows, where the state of rows is already cut into one part for each of them.
#[expect(clippy::too_many_arguments, reason = "which rows, in which parts, and what becomes of them")]
fn scan_parts<T: Real, P: Send, R: Send>(
    data: &Data<T>,
    first_row: usize,
    size: usize,
    mut parts: Vec<P>,
    workers: &Workers,
    watch: &dyn Watch,
    summarise: impl Fn(Chunk<T>, &mut P) -> R + Sync + Send,
    merge: impl FnMut(R) + Send,
) -> ControlFlow<()> {
    let summarise = |i: usize, part: &mut P| {
        if watch.step(&Step::Chunk).is_break() {
            return None;
        }
        let start = first_row + i * size;
        let end = (start + size).min(data.n_rows());
        let chunk = Chunk {
            first_row: start,
            rows: data.rows().slice(start, end),
            weights: data.weights().map(|w| &w[start..end]),
            reference: data.reference(),
        };
        Some(summarise(chunk, part))
    };
    if workers.merge_in_order(&mut parts, MOST_WAITING, summarise, merge) {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}
