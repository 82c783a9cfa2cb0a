//! Centres and rows rounded to whole numbers of 16 bits, of which processors multiply twice as many at once as of float32.
//!
//! A row x becomes y with |x - y| <= e_x, a centre c becomes b with |c - b| <= e_c, and the squared distance |y - b|^2 comes from whole
//! numbers without any rounding. By the triangle inequality |x - c| differs from |y - b| by at most e_x + e_c: where the nearest
//! centre is nearer than the next by more than twice that, it is the nearest. The other rows are measured again with all their digits.

use super::blocks::ROOT_ROUNDING;
use super::{COLUMNS_PACKED, Kernel, dot, on_this_processor};
#[cfg(target_arch = "x86_64")]
use super::{FrozenCentres, NO_LABEL, Reach, Search, SomeCentres, whole_numbers::Whole};
use super::{MOST_TURNED_COLUMNS, WIDE_PANELS};
use crate::data::Real;

/// The largest number of 16 bits.
const LARGEST: f64 = 32767.0;

/// What scores stay below, so that no sum of 32 bits runs over; a little less, for what rounding adds to lengths.
const LARGEST_SCORE: f64 = 0.98 * 2147483648.0;

/// Names of centres stand in the last bits of scores: so few that these tell distances well enough without.
const MOST_CENTRES: usize = 4096;

/// Fewer centres, or products, are not worth the rounding.
const FEWEST_CENTRES: usize = 24;
const LEAST_WORK: usize = 512;

/// Fewer rows are not worth it either; fewer rows in doubt are not worth that centres are packed for them.
const FEWEST_ROWS: usize = 32;
const FEWEST_PACKED: usize = 3;

/// Rows that are looked at for how long rows are: so many, but no more than one in so many.
const ROWS_FOR_LENGTHS: usize = 32;
const LEAST_STEP: usize = 16;

/// Lengths outside of these are left to float64.
const LENGTHS: std::ops::Range<f64> = 1e-12..1e12;

/// 1.5 times 2^52.
const ROUNDS: f64 = 6755399441055744.0;

/// Centres, rounded.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundedCentres {
    /// What they were multiplied with before they were rounded.
    pub scale: f64,
    /// The longest of them, |c|.
    pub longest: f64,
    /// No centre has moved farther: e_c.
    pub moved: f64,
    /// Columns two by two, the later one in the upper half of the number.
    pub n_pairs: usize,
    /// Centre by centre.
    pairs: Vec<i32>,
    /// |b|^2 / 2 of each.
    half_norms: Vec<f64>,
}

/// Whether it pays to round rows of D columns for K centres.
pub(super) fn pays(k: usize, d: usize) -> bool {
    (FEWEST_CENTRES..=MOST_CENTRES).contains(&k) && k * d >= LEAST_WORK
}

impl RoundedCentres {
    /// Rounds K centres of D columns; none where that does not pay, or float64 is wanted for their size.
    pub fn new(offsets: &[f64], d: usize) -> Option<Self> {
        if !pays(offsets.len() / d, d) {
            return None;
        }
        on_this_processor(Round { offsets, d })
    }

    /// One centre.
    fn pairs(&self, k: u32) -> &[i32] {
        &self.pairs[k as usize * self.n_pairs..(k as usize + 1) * self.n_pairs]
    }
}

/// Centres to be rounded.
struct Round<'a> {
    offsets: &'a [f64],
    d: usize,
}

impl Kernel for Round<'_> {
    type Output = Option<RoundedCentres>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Option<RoundedCentres> {
        let Round { offsets, d } = self;
        let (mut longest, mut widest): (f64, f64) = (0.0, 0.0);
        for centre in offsets.chunks_exact(d) {
            let square = dot(centre, centre);
            if !square.is_finite() {
                return None;
            }
            longest = longest.max(square.sqrt());
            centre.iter().for_each(|c| widest = if c.abs() > widest { c.abs() } else { widest });
        }
        if !LENGTHS.contains(&longest) {
            return None;
        }
        // Half of the digits of a score for the centres, where rows are about as long.
        let scale = (LARGEST / widest).min(LARGEST_SCORE / (1.5 * LARGEST * longest));
        let (n_pairs, unit) = (d.div_ceil(2), 1.0 / scale);
        let mut rounded = RoundedCentres { scale, longest, n_pairs, ..RoundedCentres::default() };
        rounded.pairs.reserve_exact(offsets.len() / d * n_pairs);
        // Each loop is one for vectors; zero behind the last of an odd number of columns.
        let (mut shifted, mut whole, mut lost) = (vec![ROUNDS; 2 * n_pairs], vec![0.0; d], vec![0.0; d]);
        for centre in offsets.chunks_exact(d) {
            // Behind numbers as large as this there is no room for a fraction, and the last bits are the number.
            shifted.iter_mut().zip(centre).for_each(|(to, c)| *to = c * scale + ROUNDS);
            whole.iter_mut().zip(&shifted).for_each(|(to, shifted)| *to = (shifted - ROUNDS) * unit);
            lost.iter_mut().zip(centre.iter().zip(&whole)).for_each(|(to, (c, whole))| *to = c - whole);
            let bits = |number: f64| u32::from(number.to_bits() as u16);
            let (pairs, _) = shifted.as_chunks::<2>();
            rounded.pairs.extend(pairs.iter().map(|[first, second]| (bits(*first) | bits(*second) << 16) as i32));
            rounded.moved = rounded.moved.max(dot(&lost, &lost).sqrt());
            rounded.half_norms.push(0.5 * dot(&whole, &whole));
        }
        Some(rounded)
    }
}

/// Rounded centres packed for the kernel: pair by pair in panels, as the exact ones are column by column.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundedPanels {
    pub width: usize,
    pub values: Vec<i32>,
    /// |b|^2 / 2 of each, infinite where a panel is filled up.
    pub half_norms: Vec<f64>,
}

impl RoundedPanels {
    /// Packs these of the centres.
    pub fn pack(&mut self, centres: &RoundedCentres, d: usize, names: impl ExactSizeIterator<Item = u32> + Clone) {
        let k = names.len();
        let best = WIDE_PANELS.into_iter().min_by_key(|width| k.next_multiple_of(*width));
        self.width = if d > MOST_TURNED_COLUMNS { 16 } else { best.unwrap_or(WIDE_PANELS[0]) };
        let filled = k.next_multiple_of(self.width);
        // Zeros where the last panel is filled up.
        self.values.truncate(filled.saturating_sub(self.width) * centres.n_pairs);
        self.values.resize(filled * centres.n_pairs, 0);
        self.half_norms.clear();
        self.half_norms.extend(names.clone().map(|name| centres.half_norms[name as usize]));
        let (width, n_pairs, mut names) = (self.width, centres.n_pairs, names);
        for panel in self.values.chunks_exact_mut(width * n_pairs) {
            let names: Vec<u32> = names.by_ref().take(width).collect();
            // A few columns of one centre after the other: what is written stays near.
            for first in (0..n_pairs).step_by(COLUMNS_PACKED) {
                let panel = &mut panel[first * width..n_pairs.min(first + COLUMNS_PACKED) * width];
                for (i, &name) in names.iter().enumerate() {
                    let pairs = &centres.pairs(name)[first..];
                    panel[i..].iter_mut().step_by(width).zip(pairs).for_each(|(to, from)| *to = *from);
                }
            }
        }
        self.half_norms.resize(filled, f64::INFINITY);
    }
}

/// How the rows of one search are rounded, and what that means for their distances.
pub(super) struct Rounding {
    /// What rows are multiplied with.
    pub scale: f32,
    /// Squared length of rounded rows up to which none of their scores can run over.
    pub largest_norm: i32,
    /// One unit of a squared length of a row, and of a score, times two.
    pub unit_of_norms: f32,
    pub unit_of_scores: f32,
    /// No distance is farther from the rounded one than that: e_x + e_c.
    pub moved: f32,
    /// What names and the starts of scores may change squared distances by.
    pub slack: f32,
    /// Bits of a score that hold a name.
    pub names: i32,
    /// -|b|^2 / 2 of each centre, where scores start.
    pub starts: Vec<i32>,
}

impl Rounding {
    /// For rows that are about `typical` long at most; none where they are too short or too long for it.
    pub fn new(centres: &RoundedCentres, panels: &RoundedPanels, typical: f64, d: usize) -> Option<Self> {
        let longest = (1.25 * typical).max(centres.longest / 16.0);
        if !LENGTHS.contains(&longest) {
            return None;
        }
        // |x| |c| + |c|^2 / 2 is the largest score.
        let centre = centres.longest + centres.moved;
        let score = centre * (longest + 0.5 * centre) * centres.scale;
        let scale = f64::from(((0.999 * LARGEST / longest).min(LARGEST_SCORE / score)) as f32);
        let unit = 1.0 / (scale * centres.scale);
        let names = panels.half_norms.len().next_power_of_two() as i32 - 1;
        // Half a unit in every column, and what float32 rounds before.
        let moved = 0.51 * (d as f64).sqrt() / scale + 4.0 * f64::from(f32::EPSILON) * longest + centres.moved;
        let starts = panels.half_norms.iter().map(|norm| (-norm / unit).round_ties_even() as i32);
        Some(Rounding {
            scale: scale as f32,
            largest_norm: (scale * longest).powi(2) as i32,
            unit_of_norms: (1.0 / (scale * scale)) as f32,
            unit_of_scores: (2.0 * unit) as f32,
            moved: (1.0001 * moved) as f32,
            slack: (2.0 * unit * (f64::from(names) + 2.0)) as f32,
            names,
            starts: starts.collect(),
        })
    }
}

/// The length of the longest of some rows, less the reference point.
pub(super) fn longest<'a, T: Real>(rows: impl Iterator<Item = &'a [T]>, minus_reference: &[T]) -> f64 {
    let squared = |row: &[T]| {
        // Eight sums at a time: one alone would wait for itself.
        let mut sums = [0.0; 8];
        for (row, minus) in row.chunks(8).zip(minus_reference.chunks(8)) {
            for (sum, (x, minus)) in sums.iter_mut().zip(row.iter().zip(minus)) {
                let x: f64 = (*x + *minus).into();
                *sum += x * x;
            }
        }
        sums.iter().sum::<f64>()
    };
    rows.map(squared).fold(0.0, f64::max).sqrt()
}

/// No less than the distance with this square, and no more.
fn at_least(square: f64) -> f32 {
    (square.sqrt() * (1.0 + ROOT_ROUNDING)) as f32 + f32::MIN_POSITIVE
}
fn at_most(square: f64) -> f32 {
    ((square.sqrt() * (1.0 - ROOT_ROUNDING)) as f32 - f32::MIN_POSITIVE).clamp(0.0, f32::MAX)
}

#[cfg(target_arch = "x86_64")]
impl<T: Real> FrozenCentres<T> {
    /// Rounds a search, where that pays.
    pub(super) fn in_whole_numbers<'a>(
        &'a self,
        search: Search<'a, T>,
        minus_reference: &'a [T],
    ) -> Option<Whole<'a, T>> {
        let (rounded, all) = self.rounded.as_ref()?;
        let d = self.n_columns;
        assert!(
            search.rows.n_columns() == d && minus_reference.len() == d,
            "rows, reference and centres have the same columns"
        );
        let panels = search.some.map_or(all, |some| &some.rounded);
        let n_rows = search.numbers.map_or(search.rows.n_rows(), <[u32]>::len);
        let count = search.some.map_or(self.n_centres(), SomeCentres::count);
        if !pays(count, self.n_columns) || n_rows < FEWEST_ROWS {
            return None;
        }
        let step = n_rows.div_ceil(ROWS_FOR_LENGTHS).max(LEAST_STEP);
        let some = (0..n_rows).step_by(step).map(|i| search.rows.row(search.number(i)));
        let rounding = Rounding::new(rounded, panels, longest(some, minus_reference), self.n_columns)?;
        Some(Whole { search, minus_reference, panels, rounding })
    }

    /// The nearest centres by whole numbers; those of rows that rounding leaves in doubt with all digits.
    ///
    /// # Safety
    /// Only on a processor with the instructions for both.
    pub(super) unsafe fn nearest_by_whole_numbers(
        &self,
        whole: Whole<T>,
        labels: &mut [u32],
        mut reach: Option<Reach>,
    ) {
        let (search, minus_reference) = (whole.search, whole.minus_reference);
        let again = reach.as_mut().map(|Reach { nearest, others }| Reach { nearest, others });
        // SAFETY: the caller vouches for the instructions.
        let doubtful = unsafe { whole.nearest(labels, again) };
        let names = search.some.map(|some| &some.names[..]);
        if let Some(names) = names {
            labels.iter_mut().for_each(|label| *label = names[*label as usize]);
        }
        let in_float64 = |n: usize| {
            let (label, least, next) =
                self.nearest_in_float64(search.rows.row(search.number(n)), search.reference, names);
            (label, at_least(least), if least == next { 0.0 } else { at_most(next) })
        };
        let mut settle = |n: usize, (label, within, beyond): (u32, f32, f32)| {
            labels[n] = label;
            if let Some(Reach { nearest, others }) = &mut reach {
                (nearest[n], others[n]) = (within, beyond);
            }
        };
        if doubtful.len() < FEWEST_PACKED {
            doubtful.into_iter().for_each(|n| settle(n as usize, in_float64(n as usize)));
            return;
        }
        let numbers: Vec<u32> = doubtful.iter().map(|n| search.number(*n as usize) as u32).collect();
        let mut found = vec![NO_LABEL; numbers.len()];
        let (mut within, mut beyond) = (vec![0.0; numbers.len()], vec![0.0; numbers.len()]);
        let some = Search { numbers: Some(&numbers), ..search };
        let again = Reach { nearest: &mut within, others: &mut beyond };
        // SAFETY: as above.
        unsafe { self.nearest_with_all_digits::<true, true>(some, minus_reference, &mut found, Some(again)) };
        for (i, n) in doubtful.into_iter().map(|n| n as usize).enumerate() {
            // Squares beyond float32 say nothing of how near a row is.
            let known = within[i].is_finite().then_some((found[i], within[i], beyond[i]));
            settle(n, known.unwrap_or_else(|| in_float64(n)));
        }
    }
}
