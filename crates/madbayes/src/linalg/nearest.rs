//! The nearest of K centres for every row: a blocked matrix product with the argmin fused in.
//!
//! |x - c|^2 = |x|^2 - 2 (x'c - |c|^2/2), so the nearest centre has the largest x'c - |c|^2/2. A block of rows is
//! turned on its side (one row per vector lane) and moved to the reference point; a panel of centres is held in
//! registers' reach; the products of a block with a panel never leave the registers. No N x K matrix is stored.
//!
//! Where the two best scores are closer than rounding can tell apart, the row is measured against all centres again,
//! in float64: the centre found is always the nearest.

use super::distance::offset_squared_distance;
use super::processor::{Kernel, on_this_processor};
use super::vector::Vector;
use crate::data::{Real, Rows};

/// The label of a row that has none yet.
pub const NO_LABEL: u32 = u32::MAX;

/// Centres per panel: what 16 registers of 32 bytes (2 x 6 accumulators) or 32 of 64 (2 x 12) have room for, or fewer where that
/// leaves less of the last panel empty.
const NARROW_PANELS: [usize; 2] = [6, 4];
const WIDE_PANELS: [usize; 4] = [12, 10, 8, 6];

/// The panels that `k` centres fill best.
fn panel_width(k: usize) -> usize {
    let widths: &[usize] = if on_this_processor(IsWide) { &WIDE_PANELS } else { &NARROW_PANELS };
    widths.iter().copied().min_by_key(|width| k.next_multiple_of(*width)).unwrap_or(widths[0])
}

/// Centres that stay as they are during a scan, packed for the kernel.
#[derive(Debug, Clone)]
pub struct FrozenCentres<T> {
    n_columns: usize,
    /// K x D, relative to the reference point.
    offsets: Vec<f64>,
    panels: Panels<T>,
}

/// Centres column by column in panels, and -|c|^2/2 (minus infinity where a panel is filled up).
#[derive(Debug, Clone, Default)]
struct Panels<T> {
    width: usize,
    values: Vec<T>,
    minus_half_norms: Vec<T>,
}

/// Some of many centres, packed for the kernel.
#[derive(Debug, Clone, Default)]
pub struct SomeCentres<T> {
    /// Their numbers among all.
    names: Vec<u32>,
    panels: Panels<T>,
}

impl<T: Real> SomeCentres<T> {
    /// Takes these of the centres instead of those it has.
    pub fn take(&mut self, centres: &FrozenCentres<T>, names: impl Iterator<Item = u32>) {
        self.names.clear();
        self.names.extend(names);
        let (all, d) = (&centres.panels, centres.n_columns);
        let width = panel_width(self.names.len());
        let filled = self.names.len().next_multiple_of(width);
        self.panels.width = width;
        self.panels.values.resize(filled * d, T::default());
        self.panels.minus_half_norms.clear();
        self.panels.minus_half_norms.extend(self.names.iter().map(|&k| all.minus_half_norms[k as usize]));
        self.panels.minus_half_norms.resize(filled, T::from_f64(f64::NEG_INFINITY));
        for (i, &k) in self.names.iter().enumerate() {
            let k = k as usize;
            let to = self.panels.values[i / width * width * d + i % width..].iter_mut().step_by(width);
            let from = all.values[k / all.width * all.width * d + k % all.width..].iter().step_by(all.width);
            to.zip(from).take(d).for_each(|(to, from)| *to = *from);
        }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.names.len()
    }
}

impl<T: Real> FrozenCentres<T> {
    /// Packs K centres given relative to the reference point, K x D.
    ///
    /// # Panics
    /// Without centres, or when the values are not whole rows of `n_columns`.
    pub fn new(offsets: Vec<f64>, n_columns: usize) -> Self {
        assert!(n_columns > 0 && !offsets.is_empty() && offsets.len().is_multiple_of(n_columns), "K x D centres");
        let k = offsets.len() / n_columns;
        let width = panel_width(k);
        let filled = k.next_multiple_of(width);
        let mut values = vec![T::default(); filled * n_columns];
        let mut minus_half_norms = vec![T::from_f64(f64::NEG_INFINITY); filled];
        for (i, centre) in offsets.chunks_exact(n_columns).enumerate() {
            let panel = &mut values[i / width * width * n_columns..];
            let mut norm = 0.0;
            for (j, &c) in centre.iter().enumerate() {
                let rounded = T::from_f64(c);
                panel[j * width + i % width] = rounded;
                norm += rounded.into() * rounded.into();
            }
            minus_half_norms[i] = T::from_f64(-0.5 * norm);
        }
        FrozenCentres { n_columns, offsets, panels: Panels { width, values, minus_half_norms } }
    }

    /// Number of centres, K.
    pub fn n_centres(&self) -> usize {
        self.offsets.len() / self.n_columns
    }

    /// One centre, relative to the reference point.
    #[inline(always)]
    pub fn offset(&self, k: usize) -> &[f64] {
        &self.offsets[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// All centres, relative to the reference point, K x D.
    pub fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    /// The nearest centre of one row, one centre after the other: all of them, or those named.
    fn nearest_in_float64(&self, row: &[T], reference: &[T], names: Option<&[u32]>) -> u32 {
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for i in 0..names.map_or(self.n_centres(), <[u32]>::len) {
            let k = names.map_or(i as u32, |names| names[i]);
            let distance = offset_squared_distance(row, reference, self.offset(k as usize));
            if distance < least || (distance == least && k < nearest) {
                (nearest, least) = (k, distance);
            }
        }
        nearest
    }

    /// The nearest centre of every row; the lowest number where two are equally near.
    ///
    /// # Panics
    /// When rows and reference do not have the columns of the centres.
    pub fn nearest(&self, rows: Rows<T>, reference: &[T], labels: &mut [u32]) {
        on_this_processor(Nearest { centres: self, search: Search::all(rows, reference), labels });
    }

    /// `nearest`, to be inlined into a larger kernel.
    ///
    /// # Safety
    /// `FUSED` and `WIDE` only inside a kernel that runs with them.
    #[inline(always)]
    pub(crate) unsafe fn nearest_inlined<const FUSED: bool, const WIDE: bool>(
        &self,
        search: Search<T>,
        labels: &mut [u32],
        reach: Option<Reach>,
    ) {
        let panels = search.some.map_or(&self.panels, |some| &some.panels);
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            match (FUSED, WIDE, panels.width) {
                (true, true, 12) => nearest_wide::<T::Wide, 12>(search, self, labels, reach),
                (true, true, 10) => nearest_wide::<T::Wide, 10>(search, self, labels, reach),
                (true, true, 8) => nearest_wide::<T::Wide, 8>(search, self, labels, reach),
                (true, true, _) => nearest_wide::<T::Wide, 6>(search, self, labels, reach),
                (true, false, 6) => nearest_narrow::<T::Narrow, 6>(search, self, labels, reach),
                (true, false, _) => nearest_narrow::<T::Narrow, 4>(search, self, labels, reach),
                (false, _, 6) => nearest_in_blocks::<T::Plain, 6>(search, self, labels, reach),
                (false, ..) => nearest_in_blocks::<T::Plain, 4>(search, self, labels, reach),
            }
        }
    }
}

/// The rows whose nearest centre is sought, and among which centres.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a, T> {
    pub rows: Rows<'a, T>,
    /// Only these of them, in this order.
    pub numbers: Option<&'a [u32]>,
    pub reference: &'a [T],
    /// Among these centres; none: among all.
    pub some: Option<&'a SomeCentres<T>>,
}

impl<'a, T: Real> Search<'a, T> {
    /// All rows, among all centres.
    pub fn all(rows: Rows<'a, T>, reference: &'a [T]) -> Self {
        Search { rows, numbers: None, reference, some: None }
    }

    /// The place of a row among all.
    #[inline(always)]
    fn number(&self, i: usize) -> usize {
        self.numbers.map_or(i, |numbers| numbers[i] as usize)
    }
}

/// Distances of each row that rounding cannot undo: the nearest centre is no farther than `nearest`, and no other one nearer than
/// `others`, which is 0 where rounding cannot tell which is nearest.
pub(crate) struct Reach<'a> {
    pub nearest: &'a mut [f32],
    pub others: &'a mut [f32],
}

/// [`nearest_in_blocks`] compiled once for each width, not wherever it is called.
///
/// # Safety
/// Only on a processor with 32 registers of 64 bytes.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512vl,avx2,fma"))]
unsafe fn nearest_wide<V: Vector, const PANEL: usize>(
    search: Search<V::Number>,
    centres: &FrozenCentres<V::Number>,
    labels: &mut [u32],
    reach: Option<Reach>,
) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { nearest_in_blocks::<V, PANEL>(search, centres, labels, reach) };
}

/// The same for narrow vectors.
///
/// # Safety
/// Only on a processor with fused multiply-add.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn nearest_narrow<V: Vector, const PANEL: usize>(
    search: Search<V::Number>,
    centres: &FrozenCentres<V::Number>,
    labels: &mut [u32],
    reach: Option<Reach>,
) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { nearest_in_blocks::<V, PANEL>(search, centres, labels, reach) };
}

struct IsWide;

impl Kernel for IsWide {
    type Output = bool;
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> bool {
        WIDE
    }
}

struct Nearest<'a, T> {
    centres: &'a FrozenCentres<T>,
    search: Search<'a, T>,
    labels: &'a mut [u32],
}

impl<T: Real> Kernel for Nearest<'_, T> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe { self.centres.nearest_inlined::<FUSED, WIDE>(self.search, self.labels, None) };
    }
}

/// The largest block: two vectors of 16 numbers.
const LARGEST_BLOCK: usize = 32;

/// More than the roundings of a root, a product and a number made narrower.
const ROOT_ROUNDING: f64 = 2.0 * f32::EPSILON as f64;

/// # Safety
/// Only on a processor with the instructions of `V`.
#[inline(always)]
unsafe fn nearest_in_blocks<V: Vector, const PANEL: usize>(
    search: Search<V::Number>,
    centres: &FrozenCentres<V::Number>,
    labels: &mut [u32],
    mut reach: Option<Reach>,
) {
    let Search { rows, reference, some, .. } = search;
    let (panels, names) = some.map_or((&centres.panels, None), |some| (&some.panels, Some(&some.names[..])));
    assert_eq!(panels.width, PANEL, "centres are packed for this processor");
    let d = rows.n_columns();
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
    let mut block = vec![V::Number::default(); lanes * d];
    let mut copied = Vec::new();
    // Whole vectors of columns, the last filled up.
    let mut minus_reference: Vec<V::Number> = reference.iter().map(|r| number(-(*r).into())).collect();
    minus_reference.resize(d.next_multiple_of(V::LANES), V::Number::default());
    let (mut indices, mut doubtful) = ([0; LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    let (mut within, mut beyond) = ([V::Number::default(); LARGEST_BLOCK], [V::Number::default(); LARGEST_BLOCK]);
    for (number_of_block, labels) in labels.chunks_mut(lanes).enumerate() {
        let first_row = number_of_block * lanes;
        // Lanes beyond the last row repeat it.
        let mut places = [0; LARGEST_BLOCK];
        for (l, place) in places[..lanes].iter_mut().enumerate() {
            *place = search.number(first_row + l.min(labels.len() - 1)) * d;
        }
        let mut values = rows.values();
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
        // SAFETY: the caller vouches for the instructions; whole vectors can be read from all places.
        unsafe { turn::<V>(values, &places, &minus_reference, d, &mut block) };
        // SAFETY: `block` has d times `lanes` numbers, a panel d times PANEL, the arrays room for two vectors.
        unsafe {
            let mut norms = [V::splat(V::Number::default()); 2];
            for column in block.chunks_exact(lanes) {
                for half in 0..2 {
                    let x = V::load(column.as_ptr().add(half * V::LANES));
                    norms[half] = x.multiply_add(x, norms[half]);
                }
            }
            let mut best = [V::splat(V::Number::from_f64(f64::NEG_INFINITY)); 2];
            let mut second = best;
            // The index travels as a number of the same width, so that one comparison serves both; exact up to 2^24.
            let (mut index, mut name) = ([zero; 2], zero);
            for (first, panel) in panels.values.chunks_exact(d * PANEL).enumerate() {
                let first = first * PANEL;
                let mut scores = [[V::splat(V::Number::default()); 2]; PANEL];
                for p in 0..PANEL {
                    scores[p] = [V::splat(panels.minus_half_norms[first + p]); 2];
                }
                let (mut x, mut c) = (block.as_ptr(), panel.as_ptr());
                for _ in 0..d {
                    let rows = [V::load(x), V::load(x.add(V::LANES))];
                    for p in 0..PANEL {
                        let centre = V::splat(*c.add(p));
                        scores[p][0] = rows[0].multiply_add(centre, scores[p][0]);
                        scores[p][1] = rows[1].multiply_add(centre, scores[p][1]);
                    }
                    (x, c) = (x.add(lanes), c.add(PANEL));
                }
                for p in 0..PANEL {
                    for half in 0..2 {
                        let score = scores[p][half];
                        index[half] = score.where_greater(best[half], name, index[half]);
                        second[half] = second[half].larger(score.smaller(best[half]));
                        best[half] = best[half].larger(score);
                    }
                    name = name.multiply_add(one, one);
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

/// Writes the differences of two vectors' worth of rows from the reference point column by column, one row per lane. A square of rows
/// and columns is turned by interleaving its first half with its second, as often as its side can be halved.
///
/// # Safety
/// Only on a processor with the instructions of `V`; from every place whole vectors of D columns can be read, `minus_reference` is
/// filled up to whole vectors, `block` has room for D columns.
#[inline(always)]
unsafe fn turn<V: Vector>(
    values: &[V::Number],
    places: &[usize; LARGEST_BLOCK],
    minus_reference: &[V::Number],
    d: usize,
    block: &mut [V::Number],
) {
    debug_assert!(places[..2 * V::LANES].iter().all(|place| place + d.next_multiple_of(V::LANES) <= values.len()));
    debug_assert!(block.len() >= 2 * V::LANES * d);
    // SAFETY: the caller vouches for the instructions; columns beyond D are read from what follows the row, and not written.
    unsafe {
        let one = V::splat(V::Number::from_f64(1.0));
        for first_column in (0..d).step_by(V::LANES) {
            let minus = V::load(minus_reference.as_ptr().add(first_column));
            for half in 0..2 {
                let mut square = [one; LARGEST_BLOCK / 2];
                for (i, out) in square[..V::LANES].iter_mut().enumerate() {
                    let row = values.as_ptr().add(places[half * V::LANES + i] + first_column);
                    *out = V::load(row).multiply_add(one, minus);
                }
                for _ in 0..V::LANES.ilog2() {
                    let before = square;
                    for i in 0..V::LANES / 2 {
                        let [low, high] = before[i].interleave(before[i + V::LANES / 2]);
                        (square[2 * i], square[2 * i + 1]) = (low, high);
                    }
                }
                for (j, column) in square[..V::LANES.min(d - first_column)].iter().enumerate() {
                    column.store(block.as_mut_ptr().add((first_column + j) * 2 * V::LANES + half * V::LANES));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
