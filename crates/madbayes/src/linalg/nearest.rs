//! The nearest of K centres for every row: a blocked matrix product with the argmin fused in.
//!
//! |x - c|^2 = |x|^2 - 2 (x'c - |c|^2/2), so the nearest centre has the largest x'c - |c|^2/2. A block of rows is moved to the
//! reference point and multiplied with panels of centres in registers: rows of few columns one per vector lane, those of many
//! columns with one centre per lane. No N x K matrix is stored. Where the processor has instructions for it, rows are measured in
//! whole numbers of 16 bits first ([`rounded`]), and only those that remain in doubt with all their digits.
//!
//! Where the two best scores are closer than rounding can tell apart, the row is measured against all centres again,
//! in float64: the centre found is always the nearest.

mod blocks;
mod centres_in_lanes;
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "other processors have no kernel for them yet"))]
mod rounded;
mod rows_in_lanes;
#[cfg(target_arch = "x86_64")]
mod whole_numbers;

use super::distance::{dot, offset_squared_distance};
use super::processor::{Kernel, on_this_processor};
use super::vector::Vector;
use crate::data::{Real, Rows};
use blocks::{Scores, nearest_in_blocks};
use centres_in_lanes::CentresInLanes;
use rounded::{RoundedCentres, RoundedPanels};
use rows_in_lanes::RowsInLanes;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// The label of a row that has none yet.
pub const NO_LABEL: u32 = u32::MAX;

/// Centres per panel: what 16 registers of 32 bytes (2 x 6 accumulators) or 32 of 64 (2 x 12) have room for, or fewer where that
/// leaves less of the last panel empty.
const NARROW_PANELS: [usize; 2] = [6, 4];
const WIDE_PANELS: [usize; 4] = [12, 10, 8, 6];

/// Rows of more columns are not turned: to turn D numbers of a row is 1/K of the work of its products, to turn its K scores 1/D of it.
/// Panels of whole vectors stay emptier than others then, which turning would cost as well where centres are few.
const MOST_TURNED_COLUMNS: usize = 128;

/// Columns of a panel that are packed together.
const COLUMNS_PACKED: usize = 64;

/// The width of the panels of `k` centres of `d` columns: a vector where rows are not turned, else what `k` centres fill best.
fn panel_width<T: Real>(k: usize, d: usize) -> usize {
    let (is_wide, lanes) = on_this_processor(VectorWidth(PhantomData::<T>));
    if d > MOST_TURNED_COLUMNS {
        return lanes;
    }
    let widths: &[usize] = if is_wide { &WIDE_PANELS } else { &NARROW_PANELS };
    widths.iter().copied().min_by_key(|width| k.next_multiple_of(*width)).unwrap_or(widths[0])
}

/// Centres that stay as they are during a scan, packed for the kernels.
#[derive(Debug, Clone)]
pub struct FrozenCentres<T> {
    n_columns: usize,
    /// K x D, relative to the reference point.
    offsets: Vec<f64>,
    /// Where the processor has instructions for whole numbers, and that pays: all of them rounded.
    rounded: Option<(RoundedCentres, RoundedPanels)>,
    /// -|c|^2/2 of each, as it is packed with all its digits.
    minus_half_norms: Vec<T>,
    exact: OnceLock<Panels<T>>,
}

/// -|c|^2/2 of centres as they are packed.
struct MinusHalfNorms<'a, T> {
    offsets: &'a [f64],
    n_columns: usize,
    of: PhantomData<T>,
}

impl<T: Real> Kernel for MinusHalfNorms<'_, T> {
    type Output = Vec<T>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<T> {
        let mut narrow = vec![0.0; self.n_columns];
        let centres = self.offsets.chunks_exact(self.n_columns);
        let norms = centres.map(|centre| {
            narrow.iter_mut().zip(centre).for_each(|(to, c)| *to = T::from_f64(*c).into());
            T::from_f64(-0.5 * dot(&narrow, &narrow))
        });
        norms.collect()
    }
}

/// Centres column by column in panels, and -|c|^2/2 (minus infinity where a panel is filled up).
#[derive(Debug, Clone, Default)]
struct Panels<T> {
    width: usize,
    values: Vec<T>,
    minus_half_norms: Vec<T>,
    /// 0, 1, 2, .. as numbers of the same width, so that one comparison serves score and index; exact up to 2^24.
    indices: Vec<T>,
}

impl<T: Real> Panels<T> {
    /// Packs these of the centres, K x D, with what their halved norms are.
    fn pack(&mut self, offsets: &[f64], d: usize, names: &[u32], minus_half_norm: impl Fn(u32) -> T) {
        self.pack_by(panel_width::<T>(names.len(), d), offsets, d, names, minus_half_norm);
    }

    /// The same into panels of this width.
    fn pack_by(&mut self, width: usize, offsets: &[f64], d: usize, names: &[u32], minus_half_norm: impl Fn(u32) -> T) {
        let filled = names.len().next_multiple_of(width);
        self.width = width;
        self.values.resize(filled * d, T::default());
        for (panel, names) in self.values.chunks_exact_mut(width * d).zip(names.chunks(width)) {
            // A few columns of one centre after the other: what is written stays near.
            for first in (0..d).step_by(COLUMNS_PACKED) {
                let panel = &mut panel[first * width..d.min(first + COLUMNS_PACKED) * width];
                for (i, &k) in names.iter().enumerate() {
                    let centre = &offsets[k as usize * d + first..(k as usize + 1) * d];
                    panel[i..].iter_mut().step_by(width).zip(centre).for_each(|(to, from)| *to = T::from_f64(*from));
                }
            }
        }
        self.minus_half_norms.clear();
        self.minus_half_norms.extend(names.iter().map(|k| minus_half_norm(*k)));
        self.minus_half_norms.resize(filled, T::from_f64(f64::NEG_INFINITY));
        self.indices.extend((self.indices.len()..filled).map(|i| T::from_f64(i as f64)));
    }
}

/// Some of many centres, packed for the kernels.
#[derive(Debug, Clone, Default)]
pub struct SomeCentres<T> {
    /// Their numbers among all.
    names: Vec<u32>,
    rounded: RoundedPanels,
    exact: OnceLock<Panels<T>>,
    /// Memory for what is packed next.
    spare: Panels<T>,
}

impl<T: Real> SomeCentres<T> {
    /// Takes these of the centres instead of those it has.
    pub fn take(&mut self, centres: &FrozenCentres<T>, names: impl Iterator<Item = u32>) {
        self.names.clear();
        self.names.extend(names);
        if let Some(exact) = self.exact.take() {
            self.spare = exact;
        }
        match &centres.rounded {
            Some((rounded, _)) if rounded::pays(self.names.len(), centres.n_columns) => {
                self.rounded.pack(rounded, centres.n_columns, self.names.iter().copied());
            }
            _ => self.exact = OnceLock::from(centres.pack(std::mem::take(&mut self.spare), &self.names)),
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
        #[cfg(target_arch = "x86_64")]
        let rounded = whole_numbers::available().then(|| RoundedCentres::new(&offsets, n_columns)).flatten();
        #[cfg(not(target_arch = "x86_64"))]
        let rounded: Option<RoundedCentres> = None;
        let rounded = rounded.map(|rounded| {
            let mut panels = RoundedPanels::default();
            panels.pack(&rounded, n_columns, 0..(offsets.len() / n_columns) as u32);
            (rounded, panels)
        });
        let minus_half_norms = on_this_processor(MinusHalfNorms { offsets: &offsets, n_columns, of: PhantomData });
        FrozenCentres { n_columns, offsets, rounded, minus_half_norms, exact: OnceLock::new() }
    }

    /// Packs these of the centres with all their digits.
    fn pack(&self, mut panels: Panels<T>, names: &[u32]) -> Panels<T> {
        panels.pack(&self.offsets, self.n_columns, names, |k| self.minus_half_norms[k as usize]);
        panels
    }

    /// Some of the centres or all with all their digits, packed when they are first asked for.
    fn exact<'a>(&'a self, some: Option<&'a SomeCentres<T>>) -> &'a Panels<T> {
        let all = || (0..self.n_centres() as u32).collect::<Vec<_>>();
        match some {
            Some(some) => some.exact.get_or_init(|| self.pack(Panels::default(), &some.names)),
            None => self.exact.get_or_init(|| self.pack(Panels::default(), &all())),
        }
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

    /// The same, to go on with.
    pub fn into_offsets(self) -> Vec<f64> {
        self.offsets
    }

    /// The nearest centre of one row, one centre after the other, of all or those named: its number, its squared distance, and the least
    /// of the others.
    fn nearest_in_float64(&self, row: &[T], reference: &[T], names: Option<&[u32]>) -> (u32, f64, f64) {
        let (mut nearest, mut least, mut next) = (0, f64::INFINITY, f64::INFINITY);
        for i in 0..names.map_or(self.n_centres(), <[u32]>::len) {
            let k = names.map_or(i as u32, |names| names[i]);
            let distance = offset_squared_distance(row, reference, self.offset(k as usize));
            next = next.min(distance.max(least));
            if distance < least || (distance == least && k < nearest) {
                (nearest, least) = (k, distance);
            }
        }
        (nearest, least, next)
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
        let minus_reference: Vec<T> = search.reference.iter().map(|r| T::from_f64(-(*r).into())).collect();
        #[cfg(target_arch = "x86_64")]
        if FUSED
            && WIDE
            && let Some(whole) = self.in_whole_numbers(search, &minus_reference)
        {
            // SAFETY: centres are rounded only where the instructions for them are; this kernel runs with FUSED and WIDE.
            unsafe { self.nearest_by_whole_numbers(whole, labels, reach) };
            return;
        }
        // SAFETY: the caller vouches for the instructions.
        unsafe { self.nearest_with_all_digits::<FUSED, WIDE>(search, &minus_reference, labels, reach) };
    }

    /// The nearest centres in numbers as the data have them, and in float64 where these are in doubt.
    ///
    /// # Safety
    /// As [`FrozenCentres::nearest_inlined`].
    #[inline(always)]
    unsafe fn nearest_with_all_digits<const FUSED: bool, const WIDE: bool>(
        &self,
        search: Search<T>,
        minus_reference: &[T],
        labels: &mut [u32],
        reach: Option<Reach>,
    ) {
        let panels = self.exact(search.some);
        let parts = Parts { search, panels, minus_reference, centres: self, labels, reach };
        // SAFETY: the caller vouches for the instructions.
        unsafe {
            if self.n_columns > MOST_TURNED_COLUMNS {
                return match (FUSED, WIDE) {
                    (true, true) => on_wide::<T::Wide, CentresInLanes<T, 8>>(parts),
                    (true, false) => on_narrow::<T::Narrow, CentresInLanes<T, 4>>(parts),
                    (false, _) => nearest_in_blocks::<T::Plain, CentresInLanes<T, 4>>(parts),
                };
            }
            match (FUSED, WIDE, panels.width) {
                (true, true, 12) => on_wide::<T::Wide, RowsInLanes<T, 12>>(parts),
                (true, true, 10) => on_wide::<T::Wide, RowsInLanes<T, 10>>(parts),
                (true, true, 8) => on_wide::<T::Wide, RowsInLanes<T, 8>>(parts),
                (true, true, _) => on_wide::<T::Wide, RowsInLanes<T, 6>>(parts),
                (true, false, 6) => on_narrow::<T::Narrow, RowsInLanes<T, 6>>(parts),
                (true, false, _) => on_narrow::<T::Narrow, RowsInLanes<T, 4>>(parts),
                (false, _, 6) => nearest_in_blocks::<T::Plain, RowsInLanes<T, 6>>(parts),
                (false, ..) => nearest_in_blocks::<T::Plain, RowsInLanes<T, 4>>(parts),
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

/// All that a search is about.
struct Parts<'a, T> {
    search: Search<'a, T>,
    panels: &'a Panels<T>,
    minus_reference: &'a [T],
    centres: &'a FrozenCentres<T>,
    labels: &'a mut [u32],
    reach: Option<Reach<'a>>,
}

/// [`nearest_in_blocks`] compiled once for each way to score, not wherever it is called.
///
/// # Safety
/// Only on a processor with 32 registers of 64 bytes.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx512f,avx512vl,avx2,fma"))]
unsafe fn on_wide<'a, V: Vector, S: Scores<'a, V>>(parts: Parts<'a, V::Number>) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { nearest_in_blocks::<V, S>(parts) };
}

/// The same for narrow vectors.
///
/// # Safety
/// Only on a processor with fused multiply-add.
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma"))]
unsafe fn on_narrow<'a, V: Vector, S: Scores<'a, V>>(parts: Parts<'a, V::Number>) {
    // SAFETY: the caller vouches for the instructions.
    unsafe { nearest_in_blocks::<V, S>(parts) };
}

/// Whether there are 32 registers of 64 bytes, and how many numbers a vector has.
struct VectorWidth<T>(PhantomData<T>);

impl<T: Real> Kernel for VectorWidth<T> {
    type Output = (bool, usize);
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (bool, usize) {
        let lanes = match (FUSED, WIDE) {
            (true, true) => <T::Wide as Vector>::LANES,
            (true, false) => <T::Narrow as Vector>::LANES,
            (false, _) => <T::Plain as Vector>::LANES,
        };
        (WIDE, lanes)
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

#[cfg(test)]
mod tests;

#[cfg(all(test, target_arch = "x86_64"))]
mod rounded_tests;
