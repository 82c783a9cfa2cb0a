//! The kernel of [`nearest`](super): the scores of a block of rows, with their largest and second largest.

use super::{FrozenCentres, Reach, Search};
use crate::data::Real;
use crate::linalg::vector::Vector;
use std::ops::Range;

/// The largest block: two vectors of 16 numbers.
const LARGEST_BLOCK: usize = 32;

/// Columns of a block that are turned and multiplied before the next: few enough to stay in the nearest cache with a panel of centres.
pub(super) const SLICE: usize = 128;

/// Bytes that come from memory at once.
const LINE: usize = 64;

/// Data of fewer bytes are near already.
const FAR: usize = 1 << 15;

/// More than the roundings of a root, a product and a number made narrower.
const ROOT_ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// # Safety
/// Only on a processor with the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn nearest_in_blocks<V: Vector, const PANEL: usize>(
    search: Search<V::Number>,
    centres: &FrozenCentres<V::Number>,
    labels: &mut [u32],
    mut reach: Option<Reach>,
) {
    let Search { rows, reference, some, .. } = search;
    let (panels, names) = some.map_or((&centres.panels, None), |some| (&some.panels, Some(&some.names[..])));
    assert_eq!(panels.width, PANEL, "centres are packed for this processor");
    let (d, (memory, apart)) = (rows.n_columns(), rows.memory());
    assert!(reference.len() == d && centres.n_columns == d, "rows, reference and centres have the same columns");
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
    // Vectors of a block begin where lines begin: then none of them is read from two.
    let mut block = vec![V::Number::default(); lanes * d.min(SLICE) + LINE];
    let aligned = block.as_ptr().align_offset(LINE).min(LINE);
    let block = &mut block[aligned..];
    // What rows have scored in the columns before, where these are taken in several slices.
    let mut sums = vec![V::Number::default(); if d > SLICE { panels.minus_half_norms.len() * lanes } else { 0 }];
    let mut copied = Vec::new();
    let minus_reference: Vec<V::Number> = reference.iter().map(|r| number(-(*r).into())).collect();
    let (mut indices, mut doubtful) = ([0; LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    let (mut within, mut beyond) = ([V::Number::default(); LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    let last = labels.len().saturating_sub(1);
    // Where the rows of a block begin. Lanes beyond the last row repeat it.
    let places_from = |first_row: usize| {
        let mut places = [0; LARGEST_BLOCK];
        for (l, place) in places[..lanes].iter_mut().enumerate() {
            *place = search.number((first_row + l).min(last)) * apart;
        }
        places
    };
    let fetched = if size_of_val(memory) > FAR { lanes } else { 0 };
    // Rows that stand one behind the other may share a line.
    let step = if search.numbers.is_none() { (LINE / size_of::<V::Number>() / apart).max(1) } else { 1 };
    let n_panels = panels.values.len() / (d * PANEL);
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
        // SAFETY: the caller vouches for the instructions; whole vectors can be read from all places; `block` has `lanes` numbers for
        // each column of a slice, a panel PANEL for each column, `sums` `lanes` for each centre, the arrays room for two vectors.
        unsafe {
            let mut norms = [zero; 2];
            let mut best = [V::splat(V::Number::from_f64(f64::NEG_INFINITY)); 2];
            let mut second = best;
            let mut index = [zero; 2];
            for first_column in (0..d).step_by(SLICE) {
                let columns = first_column..d.min(first_column + SLICE);
                let (is_first, is_last) = (columns.start == 0, columns.end == d);
                turn::<V>(values, &places, &minus_reference, columns.clone(), block, &mut norms);
                // What is looked at next is fetched meanwhile, a share with each panel.
                let coming = if is_last { 0..d.min(SLICE) } else { columns.end..d.min(columns.end + SLICE) };
                let (values, places) = if is_last { (memory, &next) } else { (values, &places) };
                let mut ahead = Ahead::new(values, &places[..fetched], coming, step);
                let share = ahead.lines().div_ceil(n_panels);
                for (p, panel) in panels.values.chunks_exact(d * PANEL).enumerate() {
                    ahead.fetch::<V>(share);
                    let first = p * PANEL;
                    let sums = sums.as_mut_ptr().wrapping_add(first * lanes);
                    let mut scores = [[zero; 2]; PANEL];
                    for p in 0..PANEL {
                        scores[p] = if is_first {
                            [V::splat(*panels.minus_half_norms.get_unchecked(first + p)); 2]
                        } else {
                            [V::load(sums.add(p * lanes)), V::load(sums.add(p * lanes + V::LANES))]
                        };
                    }
                    let (mut x, mut c) = (block.as_ptr(), panel.as_ptr().add(first_column * PANEL));
                    for _ in columns.clone() {
                        let rows = [V::load(x), V::load(x.add(V::LANES))];
                        for p in 0..PANEL {
                            let centre = V::splat(*c.add(p));
                            scores[p][0] = rows[0].multiply_add(centre, scores[p][0]);
                            scores[p][1] = rows[1].multiply_add(centre, scores[p][1]);
                        }
                        (x, c) = (x.add(lanes), c.add(PANEL));
                    }
                    if !is_last {
                        for p in 0..PANEL {
                            scores[p][0].store(sums.add(p * lanes));
                            scores[p][1].store(sums.add(p * lanes + V::LANES));
                        }
                        continue;
                    }
                    for p in 0..PANEL {
                        let name = V::splat(*panels.indices.get_unchecked(first + p));
                        for half in 0..2 {
                            let score = scores[p][half];
                            index[half] = score.where_greater(best[half], name, index[half]);
                            second[half] = second[half].larger(score.smaller(best[half]));
                            best[half] = best[half].larger(score);
                        }
                    }
                }
            }
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
                labels[l] = centres.nearest_in_float64(rows.row(search.number(first_row + l)), reference, names);
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

/// Some columns of the rows of a block that is looked at soon: asked for line by line, so that they are near by then.
struct Ahead<'a, T> {
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

    #[inline(always)]
    fn new(values: &'a [T], places: &'a [usize], columns: Range<usize>, step: usize) -> Self {
        Ahead { values, places, step, row: 0, column: columns.start, columns }
    }

    /// Lines in all.
    #[inline(always)]
    fn lines(&self) -> usize {
        self.places.len().div_ceil(self.step) * self.columns.len().div_ceil(Self::LINE)
    }

    /// Asks for so many more.
    #[inline(always)]
    fn fetch<V: Vector<Number = T>>(&mut self, lines: usize) {
        for _ in 0..lines {
            let Some(place) = self.places.get(self.row) else { break };
            V::fetch(self.values.as_ptr().wrapping_add(place + self.column));
            self.column += Self::LINE;
            if self.column >= self.columns.end {
                (self.row, self.column) = (self.row + self.step, self.columns.start);
            }
        }
    }
}

/// Writes the differences of two vectors' worth of rows from the reference point column by column, one row per lane, and adds their
/// squares to the norms.
///
/// # Safety
/// Only on a processor with the instructions of `V`; from every place whole vectors of D columns can be read, `block` has room for
/// the columns.
#[inline(always)]
unsafe fn turn<V: Vector>(
    values: &[V::Number],
    places: &[usize; LARGEST_BLOCK],
    minus_reference: &[V::Number],
    columns: Range<usize>,
    block: &mut [V::Number],
    norms: &mut [V; 2],
) {
    let d = minus_reference.len();
    debug_assert!(places[..2 * V::LANES].iter().all(|place| place + d.next_multiple_of(V::LANES) <= values.len()));
    debug_assert!(block.len() >= 2 * V::LANES * columns.len());
    // SAFETY: the caller vouches for the instructions; columns beyond D are read from what follows the row, and not written.
    unsafe {
        let one = V::splat(V::Number::from_f64(1.0));
        for first in columns.clone().step_by(V::LANES) {
            for half in 0..2 {
                let to = block.as_mut_ptr().add((first - columns.start) * 2 * V::LANES + half * V::LANES);
                let mut put = |j: usize, column: V| {
                    let column = column.multiply_add(one, V::splat(*minus_reference.get_unchecked(first + j)));
                    norms[half] = column.multiply_add(column, norms[half]);
                    column.store(to.add(j * 2 * V::LANES));
                };
                let square = V::turned(|i| values.as_ptr().add(places[half * V::LANES + i] + first));
                // Two loops, so that whole squares stay in registers.
                if first + V::LANES <= columns.end {
                    for j in 0..V::LANES {
                        put(j, square[j]);
                    }
                } else {
                    let some = square;
                    for j in 0..columns.end - first {
                        put(j, some[j]);
                    }
                }
            }
        }
    }
}
