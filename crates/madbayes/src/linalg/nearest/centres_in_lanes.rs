//! Scores of rows of many columns: centres stand side by side in lanes and meet one number of a row at a time, so that rows need not
//! be turned; their scores are, once all columns are done.

use super::Panels;
use super::blocks::{Ahead, Block, Scored, Scores};
use crate::data::Real;
use crate::linalg::vector::{LINE, Vector};
use std::ops::Range;

/// Columns that are multiplied before the next: few enough to stay in the nearest cache with those of two panels.
pub(super) const SLICE: usize = 128;

/// Columns between two looks ahead: lines that are asked for all at once wait for each other.
const BETWEEN_FETCHES: usize = 8;

/// A block of rows and the panels of one vector of centres it is multiplied with, `GROUP` rows and two panels at a time.
pub(super) struct CentresInLanes<'a, T, const GROUP: usize> {
    panels: &'a Panels<T>,
    minus_reference: &'a [T],
    /// A slice of the block less the reference point, row by row.
    slice: Vec<T>,
    /// A vector for each row, whose sum is |x|^2.
    squares: Vec<T>,
    /// Scores so far: for each panel a vector for each row.
    scores: Vec<T>,
    /// Where lines begin in each of the three.
    aligned: [usize; 3],
}

impl<'a, V: Vector, const GROUP: usize> Scores<'a, V> for CentresInLanes<'a, V::Number, GROUP> {
    #[inline(always)]
    fn new(panels: &'a Panels<V::Number>, minus_reference: &'a [V::Number]) -> Self {
        const { assert!((2 * V::LANES).is_multiple_of(GROUP), "whole groups fill a block") };
        assert_eq!(panels.width, V::LANES, "centres are packed for this processor");
        // A line more than is needed, in numbers, so that there is room behind where the first one begins.
        let room = |numbers: usize| vec![V::Number::default(); numbers + LINE];
        let lanes = 2 * V::LANES;
        let (slice, squares) = (room(lanes * SLICE), room(lanes * V::LANES));
        let scores = room(panels.minus_half_norms.len() * lanes);
        let aligned = [&slice, &squares, &scores].map(|numbers| numbers.as_ptr().align_offset(LINE).min(LINE));
        CentresInLanes { panels, minus_reference, slice, squares, scores, aligned }
    }

    #[inline(always)]
    unsafe fn of(&mut self, block: Block<V::Number>) -> Scored<V> {
        let (d, lanes) = (self.minus_reference.len(), 2 * V::LANES);
        debug_assert!((1..=lanes).contains(&block.n_rows));
        let n_panels = self.panels.minus_half_norms.len() / V::LANES;
        // SAFETY: the caller vouches for the instructions and for D numbers at every place; the buffers have room for a slice, a
        // vector for each row, and one for each row and panel.
        unsafe {
            // Slices are of one size, but for the last.
            let size = d.div_ceil(d.div_ceil(SLICE)).next_multiple_of(V::LANES);
            for first in (0..d).step_by(size) {
                let columns = first..d.min(first + size);
                self.centre::<V>(&block, columns.clone());
                // What is looked at next is fetched meanwhile, a share with each few columns of each group of rows.
                let is_last = columns.end == d;
                let coming = if is_last { 0..size } else { columns.end..d.min(columns.end + size) };
                let mut ahead = Ahead::new(&block, lanes, coming, is_last);
                let times =
                    n_panels.div_ceil(2) * block.n_rows.div_ceil(GROUP) * columns.len().div_ceil(BETWEEN_FETCHES);
                let share = ahead.lines().div_ceil(times);
                for p in (0..n_panels).step_by(2) {
                    if p + 1 < n_panels {
                        self.score::<V, 2>(p, block.n_rows, columns.clone(), &mut ahead, share);
                    } else {
                        self.score::<V, 1>(p, block.n_rows, columns.clone(), &mut ahead, share);
                    }
                }
            }
            let mut scored = Scored::<V>::nothing();
            let one = V::splat(V::Number::from_f64(1.0));
            let squares = self.squares.as_ptr().add(self.aligned[1]);
            let scores = self.scores.as_ptr().add(self.aligned[2]);
            for half in 0..2 {
                let turned = V::turned(|i| squares.add((half * V::LANES + i) * V::LANES));
                for part in &turned[..V::LANES] {
                    scored.norms[half] = part.multiply_add(one, scored.norms[half]);
                }
                for p in 0..n_panels {
                    let turned = V::turned(|i| scores.add((p * lanes + half * V::LANES + i) * V::LANES));
                    for c in 0..V::LANES {
                        scored.note(half, turned[c], V::splat(*self.panels.indices.get_unchecked(p * V::LANES + c)));
                    }
                }
            }
            scored
        }
    }
}

impl<T: Real, const GROUP: usize> CentresInLanes<'_, T, GROUP> {
    /// Some columns of all rows less the reference point, and their squares.
    ///
    /// # Safety
    /// As [`Scores::of`].
    #[inline(always)]
    unsafe fn centre<V: Vector<Number = T>>(&mut self, block: &Block<T>, columns: Range<usize>) {
        let minus_reference = &self.minus_reference[columns.clone()];
        let (first, columns) = (columns.start, columns.len());
        let whole = columns / V::LANES * V::LANES;
        // SAFETY: as above.
        unsafe {
            let one = V::splat(T::from_f64(1.0));
            for row in 0..block.n_rows.next_multiple_of(GROUP) {
                let from = &block.values[block.places[row] + first..][..columns];
                let to = self.slice.as_mut_ptr().add(self.aligned[0] + row * SLICE);
                let squares = self.squares.as_mut_ptr().add(self.aligned[1] + row * V::LANES);
                let mut sum = if first == 0 { V::splat(T::default()) } else { V::load(squares) };
                for j in (0..whole).step_by(V::LANES) {
                    let minus = V::load(minus_reference.as_ptr().add(j));
                    let x = V::load(from.as_ptr().add(j)).multiply_add(one, minus);
                    sum = x.multiply_add(x, sum);
                    x.store(to.add(j));
                }
                sum.store(squares);
                for j in whole..columns {
                    let x = from[j] + minus_reference[j];
                    *to.add(j) = x;
                    *squares += x * x;
                }
            }
        }
    }

    /// Adds to the scores of all rows with one or two panels what these columns give, and asks for a share of what comes next.
    ///
    /// # Safety
    /// As [`Scores::of`].
    #[inline(always)]
    unsafe fn score<V: Vector<Number = T>, const PANELS: usize>(
        &mut self,
        panel: usize,
        n_rows: usize,
        columns: Range<usize>,
        ahead: &mut Ahead<T>,
        share: usize,
    ) {
        let (d, lanes) = (self.minus_reference.len(), 2 * V::LANES);
        let (first, columns) = (columns.start, columns.len());
        // SAFETY: as above.
        unsafe {
            let centres = self.panels.values.as_ptr().add((panel * d + first) * V::LANES);
            let starts = self.panels.minus_half_norms.as_ptr().add(panel * V::LANES);
            for group in (0..n_rows).step_by(GROUP) {
                let x = self.slice.as_ptr().add(self.aligned[0] + group * SLICE);
                let scores = self.scores.as_mut_ptr().add(self.aligned[2] + (panel * lanes + group) * V::LANES);
                let mut sums = [[V::splat(T::default()); PANELS]; GROUP];
                for row in 0..GROUP {
                    for p in 0..PANELS {
                        let so_far = scores.add((p * lanes + row) * V::LANES);
                        sums[row][p] = V::load(if first == 0 { starts.add(p * V::LANES) } else { so_far });
                    }
                }
                for some in (0..columns).step_by(BETWEEN_FETCHES) {
                    ahead.fetch(share);
                    for j in some..columns.min(some + BETWEEN_FETCHES) {
                        let mut c = [V::splat(T::default()); PANELS];
                        for p in 0..PANELS {
                            c[p] = V::load(centres.add((p * d + j) * V::LANES));
                        }
                        for row in 0..GROUP {
                            let x = V::splat(*x.add(row * SLICE + j));
                            for p in 0..PANELS {
                                sums[row][p] = c[p].multiply_add(x, sums[row][p]);
                            }
                        }
                    }
                }
                for row in 0..GROUP {
                    for p in 0..PANELS {
                        sums[row][p].store(scores.add((p * lanes + row) * V::LANES));
                    }
                }
            }
        }
    }
}
