//! The kernel of [`nearest`](super): blocks of rows, whose scores say which centre is nearest, how sure that is, and how far it and the
//! others are.

use super::{Panels, Parts, Reach, Search};
use crate::data::Real;
use crate::linalg::vector::{LINE, Vector, fetch};
use std::ops::Range;

/// The largest block: two vectors of 16 numbers.
pub(super) const LARGEST_BLOCK: usize = 32;

/// Data of fewer bytes are near already.
pub(super) const FAR: usize = 1 << 15;

/// More than the roundings of a root, a product and a number made narrower.
pub(super) const ROOT_ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// Where the rows of a block begin. Lanes beyond the last row repeat it.
pub(super) type Places = [usize; LARGEST_BLOCK];

/// Rows that are scored together, two vectors' worth.
pub(super) struct Block<'a, T> {
    /// How many of them are asked for; lanes of the others may hold anything.
    pub n_rows: usize,
    /// Vectors of columns can be read from every place, as far as rows go.
    pub values: &'a [T],
    pub places: &'a Places,
    /// The rows of the next block, where it pays to ask for them before they are looked at.
    pub next: Option<(&'a [T], &'a Places)>,
    /// Rows of it that share a line.
    pub step: usize,
}

/// What a block has scored, x'c - |c|^2/2: one row per lane in two vectors.
pub(super) struct Scored<V> {
    /// |x|^2, relative to the reference point.
    pub norms: [V; 2],
    /// The largest score, and the largest but one.
    pub best: [V; 2],
    pub second: [V; 2],
    /// Which centre has the largest.
    pub index: [V; 2],
}

impl<V: Vector> Scored<V> {
    /// Before the first score.
    ///
    /// # Safety
    /// Only on a processor with the instructions of `V`.
    #[inline(always)]
    pub unsafe fn nothing() -> Self {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            let (zero, least) = (V::splat(V::Number::default()), V::splat(V::Number::from_f64(f64::NEG_INFINITY)));
            Scored { norms: [zero; 2], best: [least; 2], second: [least; 2], index: [zero; 2] }
        }
    }

    /// Takes note of the scores of one centre.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn note(&mut self, half: usize, score: V, name: V) {
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            self.index[half] = score.where_greater(self.best[half], name, self.index[half]);
            self.second[half] = self.second[half].larger(score.smaller(self.best[half]));
            self.best[half] = self.best[half].larger(score);
        }
    }
}

/// How the scores of a block are found.
pub(super) trait Scores<'a, V: Vector> {
    /// Against the centres of these panels.
    fn new(panels: &'a Panels<V::Number>, minus_reference: &'a [V::Number]) -> Self;

    /// # Safety
    /// Only on a processor with the instructions of `V`, inlined into a kernel; one row at least and two vectors' worth at most, and
    /// whole vectors of D columns at every place.
    unsafe fn of(&mut self, block: Block<V::Number>) -> Scored<V>;
}

/// # Safety
/// Only on a processor with the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn nearest_in_blocks<'a, V: Vector, S: Scores<'a, V>>(parts: Parts<'a, V::Number>) {
    let Parts { search, panels, minus_reference, centres, labels, mut reach } = parts;
    let Search { rows, reference, some, .. } = search;
    let names = some.map(|some| &some.names[..]);
    let (d, (memory, apart)) = (rows.n_columns(), rows.memory());
    let columns = [reference.len(), minus_reference.len(), centres.n_columns];
    assert!(columns == [d; 3], "rows, reference and centres have the same columns");
    assert_eq!(panels.values.len(), panels.minus_half_norms.len() * d, "a number for each column of each centre");
    // The roundings of d products add up like a random walk; four standard deviations, and what packing rounds.
    let number = V::Number::from_f64;
    // SAFETY: the caller vouches for the instructions.
    let (zero, one, minus_one, minus_two, rounding) = unsafe {
        let rounding = 2.0 * (4.0 * (d as f64).sqrt() + 8.0) * V::Number::EPSILON;
        (
            V::splat(number(0.0)),
            V::splat(number(1.0)),
            V::splat(number(-1.0)),
            V::splat(number(-2.0)),
            V::splat(number(rounding)),
        )
    };
    // SAFETY: as above.
    let (above, below) = unsafe { (V::splat(number(1.0 + ROOT_ROUNDING)), V::splat(number(1.0 - ROOT_ROUNDING))) };
    // SAFETY: as above.
    let (tiny, minus_tiny, largest) = unsafe {
        let [tiny, largest] = [f32::MIN_POSITIVE, f32::MAX].map(f64::from);
        (V::splat(number(tiny)), V::splat(number(-tiny)), V::splat(number(largest)))
    };
    let lanes = 2 * V::LANES;
    let mut copied = Vec::new();
    let mut scores = S::new(panels, minus_reference);
    let (mut indices, mut doubtful) = ([0; LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    let (mut within, mut beyond) = ([V::Number::default(); LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    let last = labels.len().saturating_sub(1);
    let places_from = |first_row: usize| {
        let mut places = [0; LARGEST_BLOCK];
        for (l, place) in places[..lanes].iter_mut().enumerate() {
            *place = search.number((first_row + l).min(last)) * apart;
        }
        places
    };
    let far = size_of_val(memory) > FAR;
    // Rows that stand one behind the other may share a line.
    let step = if search.numbers.is_none() { (LINE / size_of::<V::Number>() / apart).max(1) } else { 1 };
    let mut next = if labels.is_empty() { [0; LARGEST_BLOCK] } else { places_from(0) };
    for (number_of_block, labels) in labels.chunks_mut(lanes).enumerate() {
        let first_row = number_of_block * lanes;
        let mut places = next;
        next = places_from(first_row + lanes);
        let mut values = memory;
        // Vectors of columns may reach beyond the end of the last row.
        let end = places[..lanes].iter().fold(0, |end, place| end.max(*place)) + d.next_multiple_of(V::LANES);
        if end > values.len() {
            copied.clear();
            places[..lanes].iter().for_each(|place| copied.extend_from_slice(&values[*place..*place + d]));
            copied.resize(lanes * d + V::LANES, V::Number::default());
            places[..lanes].iter_mut().enumerate().for_each(|(l, place)| *place = l * d);
            values = &copied;
        }
        let mut any_doubt = false;
        let block = Block { n_rows: labels.len(), values, places: &places, next: far.then_some((memory, &next)), step };
        // SAFETY: the caller vouches for the instructions; whole vectors can be read from all places; the arrays have room for two
        // vectors.
        unsafe {
            let Scored { norms, best, second, index } = scores.of(block);
            for half in 0..2 {
                // Centres that could be nearest are no longer than |x| + the distance to the best one:
                // in doubt where best - second <= 2 rounding (|x|^2 + distance^2).
                let distance = best[half].multiply_add(minus_two, norms[half]).larger(zero);
                let doubt = distance.multiply_add(one, norms[half]).multiply_add(rounding, zero);
                let gap = second[half].multiply_add(minus_one, best[half]);
                index[half].store_whole(indices.as_mut_ptr().add(half * V::LANES));
                if !gap.all_greater(doubt) {
                    any_doubt = true;
                    gap.where_greater(doubt, zero, one).store(doubtful.as_mut_ptr().add(half * V::LANES));
                }
                if reach.is_some() {
                    // |x - nearest|^2 and what it may be rounded by, |x - second|^2 less that.
                    let upper = doubt.multiply_add(one, distance).square_root().multiply_add(above, tiny);
                    upper.store(within.as_mut_ptr().add(half * V::LANES));
                    let distance = second[half].multiply_add(minus_two, norms[half]);
                    let other_doubt = distance.multiply_add(one, norms[half]).multiply_add(rounding, zero);
                    let lower = other_doubt.multiply_add(minus_one, distance).larger(zero).square_root();
                    let lower = lower.multiply_add(below, minus_tiny).larger(zero).smaller(largest);
                    gap.where_greater(doubt, lower, zero).store(beyond.as_mut_ptr().add(half * V::LANES));
                }
            }
        }
        match names {
            None => labels.copy_from_slice(&indices[..labels.len()]),
            Some(names) => labels.iter_mut().zip(indices).for_each(|(label, index)| *label = names[index as usize]),
        }
        if any_doubt {
            for l in (0..labels.len()).filter(|l| doubtful[*l] > V::Number::default()) {
                (labels[l], ..) = centres.nearest_in_float64(rows.row(search.number(first_row + l)), reference, names);
            }
            doubtful = Default::default();
        }
        if let Some(Reach { nearest, others }) = &mut reach {
            let span = first_row..first_row + labels.len();
            let ends = nearest[span.clone()].iter_mut().zip(&mut others[span]);
            for ((nearest, other), (within, beyond)) in ends.zip(within.iter().zip(&beyond)) {
                (*nearest, *other) = (within.as_f32(), beyond.as_f32());
            }
        }
    }
}

/// Some columns of rows that are looked at soon: asked for line by line, so that they are near by then.
pub(super) struct Ahead<'a, T> {
    values: &'a [T],
    places: &'a [usize],
    columns: Range<usize>,
    /// Rows that share a line.
    step: usize,
    /// The next row and column.
    row: usize,
    column: usize,
}

impl<'a, T: Real> Ahead<'a, T> {
    /// Numbers in a line.
    const LINE: usize = LINE / size_of::<T>();

    /// Of this block of so many rows or of the next; of none where rows are near already.
    #[inline(always)]
    pub fn new(block: &Block<'a, T>, rows: usize, columns: Range<usize>, of_next: bool) -> Self {
        let (values, places, step) = match block.next {
            Some((values, places)) if of_next => (values, &places[..rows], block.step),
            Some(_) => (block.values, &block.places[..rows], 1),
            None => (block.values, &[][..], 1),
        };
        Ahead { values, places, step, row: 0, column: columns.start, columns }
    }

    /// Of as many rows behind these of the block, in this one or the next.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub fn of_next_group(block: &Block<'a, T>, rows: Range<usize>, columns: usize) -> Self {
        let (values, places) = match block.next {
            Some((values, places)) if rows.end >= block.n_rows => (values, &places[..rows.len()]),
            Some(_) => (block.values, &block.places[rows.end..rows.end + rows.len()]),
            None => (block.values, &[][..]),
        };
        Ahead { values, places, step: 1, row: 0, column: 0, columns: 0..columns }
    }

    /// Lines in all.
    #[inline(always)]
    pub fn lines(&self) -> usize {
        self.places.len().div_ceil(self.step) * self.columns.len().div_ceil(Self::LINE)
    }

    /// Asks for so many more.
    #[inline(always)]
    pub fn fetch(&mut self, lines: usize) {
        for _ in 0..lines {
            let Some(place) = self.places.get(self.row) else { break };
            fetch(self.values.as_ptr().wrapping_add(place + self.column));
            self.column += Self::LINE;
            if self.column >= self.columns.end {
                (self.row, self.column) = (self.row + self.step, self.columns.start);
            }
        }
    }
}
