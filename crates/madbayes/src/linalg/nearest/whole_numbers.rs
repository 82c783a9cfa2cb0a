//! The kernel of [`rounded`](super::rounded): nearest centres by whole numbers, with the vector instructions for them (AVX-512 VNNI).

use super::blocks::{Ahead, Block, LARGEST_BLOCK, Places};
use super::rounded::{RoundedPanels, Rounding};
use super::{MOST_TURNED_COLUMNS, Reach, Search};
use crate::data::Real;
use crate::linalg::vector::{LINE, Lanes};
use std::arch::x86_64::*;

/// Rows of a block, and of half of it: a vector of 32-bit numbers.
const BLOCK: usize = LARGEST_BLOCK;
const LANES: usize = 16;

/// Rows that wide rows are multiplied by at a time.
const GROUP: usize = 8;

/// Columns, as pairs, between two looks ahead.
const BETWEEN_FETCHES: usize = 4;

/// Blocks after which it is seen whether most rows remain in doubt.
const TRIED: usize = 4;

/// Whether this processor has the instructions.
pub(super) fn available() -> bool {
    is_x86_feature_detected!("avx512vnni")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
}

/// What is searched, and how it is rounded.
pub(super) struct Whole<'a, T> {
    pub search: Search<'a, T>,
    pub minus_reference: &'a [T],
    pub panels: &'a RoundedPanels,
    pub rounding: Rounding,
}

/// The two best scores so far of 32 rows, with names in their last bits.
#[derive(Clone, Copy)]
struct Best {
    first: [__m512i; 2],
    second: [__m512i; 2],
}

impl<T: Real> Whole<'_, T> {
    /// Notes the nearest centre of each row, as its number among those searched, and how far it and the others are. Returns the rows that remain
    /// in doubt, by their number in the search; of them nothing is known, and their label is 0.
    ///
    /// # Safety
    /// Only where the instructions are [`available`].
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    pub unsafe fn nearest(self, labels: &mut [u32], mut reach: Option<Reach>) -> Vec<u32> {
        let (d, (memory, apart)) = (self.minus_reference.len(), self.search.rows.memory());
        assert_eq!(self.search.rows.n_columns(), d, "rows and reference have the same columns");
        let n_pairs = d.div_ceil(2);
        assert_eq!(
            self.panels.values.len(),
            self.panels.half_norms.len() * n_pairs,
            "a number for each pair of columns"
        );
        let is_wide = d > MOST_TURNED_COLUMNS;
        let far = size_of_val(memory) > super::blocks::FAR;
        let step = if self.search.numbers.is_none() { (LINE / size_of::<T>() / apart).max(1) } else { 1 };
        let (mut doubtful, mut room) = (Vec::new(), Room::new(d, self.panels.half_norms.len()));
        let mut next = if labels.is_empty() { [0; BLOCK] } else { self.places(0, labels.len(), apart) };
        let n_rows = labels.len();
        for first_row in (0..n_rows).step_by(BLOCK) {
            if first_row == TRIED * BLOCK && 2 * doubtful.len() > first_row {
                doubtful.extend(first_row as u32..n_rows as u32);
                labels[first_row..].fill(0);
                break;
            }
            let places = next;
            next = self.places(first_row + BLOCK, n_rows, apart);
            let count = BLOCK.min(n_rows - first_row);
            let block =
                Block { n_rows: count, values: memory, places: &places, next: far.then_some((memory, &next)), step };
            // SAFETY: this function runs with the instructions; the room is for as many columns and centres.
            let (norms, best) = unsafe {
                match (is_wide, self.panels.width) {
                    (true, _) => self.centres_in_lanes(&block, &mut room),
                    (false, 12) => self.rows_in_lanes::<12>(&block, &mut room),
                    (false, 10) => self.rows_in_lanes::<10>(&block, &mut room),
                    (false, 8) => self.rows_in_lanes::<8>(&block, &mut room),
                    (false, _) => self.rows_in_lanes::<6>(&block, &mut room),
                }
            };
            let mut found = Found { labels: [0; BLOCK], within: [0.0; BLOCK], beyond: [0.0; BLOCK] };
            // SAFETY: as above.
            let in_doubt = unsafe { self.judge(norms, best, &mut found) };
            let span = first_row..first_row + count;
            labels[span.clone()].copy_from_slice(&found.labels[..count]);
            if let Some(Reach { nearest, others }) = &mut reach {
                nearest[span.clone()].copy_from_slice(&found.within[..count]);
                others[span].copy_from_slice(&found.beyond[..count]);
            }
            let mut rest = in_doubt & (u32::MAX >> (BLOCK - count));
            while rest != 0 {
                doubtful.push(first_row as u32 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        doubtful
    }

    /// Where the rows of a block begin; the last row again beyond it.
    ///
    /// # Panics
    /// Where one of them is not among the rows.
    #[inline(always)]
    fn places(&self, first_row: usize, n_rows: usize, apart: usize) -> Places {
        let numbers = std::array::from_fn(|l| self.search.number((first_row + l).min(n_rows - 1)));
        assert!(numbers.iter().all(|number| *number < self.search.rows.n_rows()), "rows that are there");
        numbers.map(|number: usize| number * apart)
    }

    /// Labels and distances of a block, and which of its rows are in doubt.
    ///
    /// # Safety
    /// As [`Whole::nearest`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn judge(&self, norms: [__m512i; 2], best: Best, found: &mut Found) -> u32 {
        let rounding = &self.rounding;
        let names = _mm512_set1_epi32(rounding.names);
        let (unit_of_norms, unit_of_scores) =
            (_mm512_set1_ps(rounding.unit_of_norms), _mm512_set1_ps(rounding.unit_of_scores));
        let (slack, moved) = (_mm512_set1_ps(rounding.slack), _mm512_set1_ps(rounding.moved));
        // More than the roundings of the few operations below.
        let few = _mm512_set1_ps(16.0 * f32::EPSILON);
        let (above, below) = (_mm512_set1_ps(1.0 + 4.0 * f32::EPSILON), _mm512_set1_ps(1.0 - 4.0 * f32::EPSILON));
        let zero = _mm512_setzero_ps();
        let mut in_doubt = 0;
        for half in 0..2 {
            let norm = _mm512_mul_ps(_mm512_cvtepi32_ps(norms[half]), unit_of_norms);
            let squared = |score: __m512i| {
                let score = _mm512_cvtepi32_ps(_mm512_andnot_si512(names, score));
                _mm512_max_ps(_mm512_fnmadd_ps(score, unit_of_scores, norm), zero)
            };
            let (near, other) = (squared(best.first[half]), squared(best.second[half]));
            let spare = |square: __m512| _mm512_fmadd_ps(_mm512_add_ps(square, norm), few, slack);
            let upper = _mm512_fmadd_ps(_mm512_sqrt_ps(_mm512_add_ps(near, spare(near))), above, moved);
            let lower = _mm512_sqrt_ps(_mm512_max_ps(_mm512_sub_ps(other, spare(other)), zero));
            let lower = _mm512_max_ps(_mm512_fmsub_ps(lower, below, moved), zero);
            let sure = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(lower, upper)
                & _mm512_cmple_epi32_mask(norms[half], _mm512_set1_epi32(rounding.largest_norm));
            in_doubt |= u32::from(!sure) << (LANES * half);
            // The scores of rows that are too long say nothing.
            let label = _mm512_maskz_and_epi32(sure, names, best.first[half]);
            // SAFETY: there is room for two vectors in each.
            unsafe {
                _mm512_storeu_si512(found.labels.as_mut_ptr().add(LANES * half).cast(), label);
                _mm512_storeu_ps(found.within.as_mut_ptr().add(LANES * half), upper);
                _mm512_storeu_ps(found.beyond.as_mut_ptr().add(LANES * half), lower);
            }
        }
        in_doubt
    }

    /// Rounds some columns of a row; beyond the last of them up to a multiple of 16 there are zeros.
    ///
    /// # Safety
    /// As [`Whole::nearest`]; the columns can be read, and whole vectors written.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn round(&self, from: *const T, minus_reference: &[T], to: *mut i16, mut squares: __m256i) -> __m256i {
        let (columns, scale) = (minus_reference.len(), _mm512_set1_ps(self.rounding.scale));
        for j in (0..columns).step_by(LANES) {
            let which = u16::MAX >> (LANES - (columns - j).min(LANES));
            // SAFETY: the caller vouches for the columns; masked ones are not touched.
            unsafe {
                let x = <T as Lanes>::sixteen_sums(from.add(j), minus_reference.as_ptr().add(j), which);
                // Numbers too large become the largest.
                let whole = _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(_mm512_mul_ps(x, scale)));
                _mm256_storeu_si256(to.add(j).cast(), whole);
                squares = _mm256_dpwssds_epi32(squares, whole, whole);
            }
        }
        squares
    }

    /// Rows of few columns: the block is turned on its side, one row per lane, and meets panels of centres in registers.
    ///
    /// # Safety
    /// As [`Whole::nearest`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn rows_in_lanes<const PANEL: usize>(&self, block: &Block<T>, room: &mut Room) -> ([__m512i; 2], Best) {
        let d = self.minus_reference.len();
        let (stride, n_pairs) = (d.next_multiple_of(LANES), d.div_ceil(2));
        let (rows, turned) = (room.rows(), room.turned());
        let mut norms = [_mm512_setzero_si512(); 2];
        // SAFETY: rows are read by their columns; the room has as many for each, and a panel PANEL numbers for each pair.
        unsafe {
            for l in 0..BLOCK {
                let from = block.values.as_ptr().add(block.places[l]);
                self.round(from, self.minus_reference, rows.add(l * stride), _mm256_setzero_si256());
            }
            for half in 0..2 {
                for quarter in (0..n_pairs).step_by(4) {
                    let row = |i: usize| rows.add((half * LANES + i) * stride + 2 * quarter).cast_const().cast();
                    let pairs = four_turned(row);
                    for p in 0..4.min(n_pairs - quarter) {
                        norms[half] = _mm512_dpwssds_epi32(norms[half], pairs[p], pairs[p]);
                        _mm512_storeu_si512(turned.add((quarter + p) * BLOCK + half * LANES).cast(), pairs[p]);
                    }
                }
            }
            let least = _mm512_set1_epi32(i32::MIN);
            let mut best = Best { first: [least; 2], second: [least; 2] };
            let names = _mm512_set1_epi32(self.rounding.names);
            let mut ahead = Ahead::new(block, BLOCK, 0..d, true);
            let share = ahead.lines().div_ceil(self.rounding.starts.len() / PANEL);
            for (p, panel) in self.panels.values.chunks_exact(n_pairs * PANEL).enumerate() {
                ahead.fetch(share);
                let first = p * PANEL;
                let mut scores = [[least; 2]; PANEL];
                for p in 0..PANEL {
                    scores[p] = [_mm512_set1_epi32(*self.rounding.starts.get_unchecked(first + p)); 2];
                }
                let (mut x, mut c) = (turned.cast_const(), panel.as_ptr());
                for _ in 0..n_pairs {
                    let rows = [_mm512_loadu_si512(x.cast()), _mm512_loadu_si512(x.add(LANES).cast())];
                    for p in 0..PANEL {
                        let centre = _mm512_set1_epi32(*c.add(p));
                        scores[p][0] = _mm512_dpwssd_epi32(scores[p][0], rows[0], centre);
                        scores[p][1] = _mm512_dpwssd_epi32(scores[p][1], rows[1], centre);
                    }
                    (x, c) = (x.add(BLOCK), c.add(PANEL));
                }
                for p in 0..PANEL {
                    let name = _mm512_set1_epi32((first + p) as i32);
                    for half in 0..2 {
                        best.note(half, scores[p][half], names, name);
                    }
                }
            }
            (norms, best)
        }
    }

    /// Rows of many columns: centres stand in lanes and meet two numbers of a row at a time; scores are turned, once they are complete.
    /// Rows are read from end to end, a group after the other, as processors foresee it best; the panels stay near.
    ///
    /// # Safety
    /// As [`Whole::nearest`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn centres_in_lanes(&self, block: &Block<T>, room: &mut Room) -> ([__m512i; 2], Best) {
        let d = self.minus_reference.len();
        let (stride, n_panels) = (d.next_multiple_of(LANES), self.rounding.starts.len() / LANES);
        let (rows, scores) = (room.rows(), room.turned());
        let mut norms = [[0i32; LANES]; 2];
        // SAFETY: as above; there is room for a vector of scores for each row and panel.
        unsafe {
            for first in (0..block.n_rows).step_by(GROUP) {
                for row in 0..GROUP {
                    let from = block.values.as_ptr().add(block.places[first + row]);
                    let to = rows.add(row * stride);
                    let squares = self.round(from, self.minus_reference, to, _mm256_setzero_si256());
                    let parts = std::mem::transmute::<__m256i, [i32; 8]>(squares);
                    let sum = parts.iter().map(|part| i64::from(*part)).sum::<i64>();
                    norms[(first + row) / LANES][(first + row) % LANES] = sum.min(i64::from(i32::MAX)) as i32;
                }
                let mut ahead = Ahead::of_next_group(block, first..first + GROUP, d);
                let share = ahead.lines().div_ceil(n_panels.div_ceil(2) * d.div_ceil(2 * BETWEEN_FETCHES));
                for panel in (0..n_panels).step_by(2) {
                    let scores = scores.add((panel * BLOCK + first) * LANES);
                    if panel + 1 < n_panels {
                        self.group_scores::<2>(panel, rows, scores, &mut ahead, share);
                    } else {
                        self.group_scores::<1>(panel, rows, scores, &mut ahead, share);
                    }
                }
            }
            let least = _mm512_set1_epi32(i32::MIN);
            let mut best = Best { first: [least; 2], second: [least; 2] };
            let names = _mm512_set1_epi32(self.rounding.names);
            for half in 0..2 {
                for p in 0..n_panels {
                    for quarter in 0..4 {
                        let row = |i: usize| scores.add((p * BLOCK + half * LANES + i) * LANES + 4 * quarter);
                        let turned = four_turned(|i| row(i).cast());
                        for c in 0..4 {
                            let name = _mm512_set1_epi32((p * LANES + 4 * quarter + c) as i32);
                            best.note(half, turned[c], names, name);
                        }
                    }
                }
            }
            (norms.map(|half| _mm512_loadu_si512(half.as_ptr().cast())), best)
        }
    }

    /// The scores of a group of rows with one or two panels; a share of what comes next is asked for meanwhile.
    ///
    /// # Safety
    /// As [`Whole::nearest`].
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    unsafe fn group_scores<const PANELS: usize>(
        &self,
        panel: usize,
        rows: *const i16,
        scores: *mut i32,
        ahead: &mut Ahead<T>,
        share: usize,
    ) {
        let d = self.minus_reference.len();
        let (stride, n_pairs) = (d.next_multiple_of(LANES) / 2, d.div_ceil(2));
        // SAFETY: as above.
        unsafe {
            let (x, centres) = (rows.cast::<i32>(), self.panels.values.as_ptr().add(panel * n_pairs * LANES));
            let mut sums = [[_mm512_setzero_si512(); PANELS]; GROUP];
            for p in 0..PANELS {
                let start = _mm512_loadu_si512(self.rounding.starts.as_ptr().add((panel + p) * LANES).cast());
                for row in 0..GROUP {
                    sums[row][p] = start;
                }
            }
            for some in (0..n_pairs).step_by(BETWEEN_FETCHES) {
                ahead.fetch(share);
                for j in some..n_pairs.min(some + BETWEEN_FETCHES) {
                    let mut c = [_mm512_setzero_si512(); PANELS];
                    for p in 0..PANELS {
                        c[p] = _mm512_loadu_si512(centres.add((p * n_pairs + j) * LANES).cast());
                    }
                    for row in 0..GROUP {
                        let x = _mm512_set1_epi32(x.add(row * stride + j).read_unaligned());
                        for p in 0..PANELS {
                            sums[row][p] = _mm512_dpwssd_epi32(sums[row][p], c[p], x);
                        }
                    }
                }
            }
            for row in 0..GROUP {
                for p in 0..PANELS {
                    _mm512_storeu_si512(scores.add((p * BLOCK + row) * LANES).cast(), sums[row][p]);
                }
            }
        }
    }
}

/// What is known of the rows of a block.
struct Found {
    labels: [u32; BLOCK],
    within: [f32; BLOCK],
    beyond: [f32; BLOCK],
}

impl Best {
    /// Takes note of the scores of one centre.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
    fn note(&mut self, half: usize, score: __m512i, names: __m512i, name: __m512i) {
        // (score and not names) or name.
        let score = _mm512_ternarylogic_epi32::<0xba>(score, names, name);
        self.second[half] = _mm512_max_epi32(self.second[half], _mm512_min_epi32(self.first[half], score));
        self.first[half] = _mm512_max_epi32(self.first[half], score);
    }
}

/// Four numbers of each of 16 rows, turned: the rows' quarters of a vector are put side by side as they are read, then each square of 4 x 4
/// is turned by itself.
///
/// # Safety
/// Only with AVX-512; four numbers can be read from each place.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vnni,avx2,fma")]
unsafe fn four_turned(row: impl Fn(usize) -> *const i32) -> [__m512i; 4] {
    // SAFETY: the caller vouches for the memory.
    unsafe {
        let four = |i: usize| _mm_loadu_si128(row(i).cast());
        let mut rows = [_mm512_setzero_si512(); 4];
        for i in 0..4 {
            let mut side = _mm512_castsi128_si512(four(i));
            side = _mm512_mask_broadcast_i32x4(side, 0x00f0, four(i + 4));
            side = _mm512_mask_broadcast_i32x4(side, 0x0f00, four(i + 8));
            rows[i] = _mm512_mask_broadcast_i32x4(side, 0xf000, four(i + 12));
        }
        let (low, high) = (_mm512_unpacklo_epi32(rows[0], rows[1]), _mm512_unpackhi_epi32(rows[0], rows[1]));
        let (low_too, high_too) = (_mm512_unpacklo_epi32(rows[2], rows[3]), _mm512_unpackhi_epi32(rows[2], rows[3]));
        [
            _mm512_unpacklo_epi64(low, low_too),
            _mm512_unpackhi_epi64(low, low_too),
            _mm512_unpacklo_epi64(high, high_too),
            _mm512_unpackhi_epi64(high, high_too),
        ]
    }
}

/// Memory for a block, kept from one to the next.
struct Room {
    /// Rounded rows, or a slice of them.
    rows: Vec<i16>,
    /// A block turned, or its scores.
    turned: Vec<i32>,
    /// Where lines begin in them.
    aligned: [usize; 2],
}

impl Room {
    fn new(d: usize, n_centres: usize) -> Self {
        let (rows, turned) = if d > MOST_TURNED_COLUMNS {
            (GROUP * d.next_multiple_of(LANES), BLOCK * n_centres)
        } else {
            (BLOCK * d.next_multiple_of(LANES), BLOCK * d.div_ceil(2))
        };
        let (rows, turned) = (vec![0i16; rows + LINE], vec![0i32; turned + LINE]);
        let aligned = [rows.as_ptr().align_offset(LINE).min(LINE), turned.as_ptr().align_offset(LINE).min(LINE)];
        Room { rows, turned, aligned }
    }

    fn rows(&mut self) -> *mut i16 {
        self.rows[self.aligned[0]..].as_mut_ptr()
    }

    fn turned(&mut self) -> *mut i32 {
        self.turned[self.aligned[1]..].as_mut_ptr()
    }
}
