//! Rows whose features are surely the best already, found for many rows side by side. A set S of flips adds
//! 2 sum_S d_k g_k + |sum_S d_k A_k|^2 >= sum_S w_k to the cost of a row, w_k = 2 d_k g_k + floor_k, where G - diag(floor) is
//! positive semidefinite. So where no single flip helps and the two smallest w have a sum of at least 0, nothing helps; nor
//! where no pair of flips helps and the three smallest have.

use crate::linalg::{Kernel, on_this_processor};

/// Rows side by side.
const LANES: usize = 8;
/// The most features.
const MOST: usize = super::row_problem::EXACT;

/// What is asked of a block of rows.
pub(super) struct Screen<'a> {
    /// G, K x K.
    pub gram: &'a [f64],
    pub floor: &'a [f64],
    /// A flip that lowers the cost by less is none.
    pub least: f64,
    /// c, column after column.
    pub c: &'a [f64],
    /// One word of bits per row.
    pub words: &'a [u64],
    /// The cost of each row as it is.
    pub costs: &'a mut [f64],
    /// Whether it is surely the least.
    pub sure: &'a mut [bool],
}

impl Screen<'_> {
    /// Fills in costs and answers.
    pub fn run(self) {
        on_this_processor(self);
    }
}

impl Kernel for Screen<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let (k, n) = (self.floor.len(), self.words.len());
        let mut bits = [[0.0; LANES]; MOST];
        // What flipping each bit alone adds, and 1 - 2 z.
        let (mut flips, mut steps) = (bits, bits);
        for start in (0..n).step_by(LANES) {
            let rows = LANES.min(n - start);
            let mut words = [0u64; LANES];
            words[..rows].copy_from_slice(&self.words[start..start + rows]);
            for (bit, bits) in bits[..k].iter_mut().enumerate() {
                for l in 0..LANES {
                    bits[l] = if words[l] >> bit & 1 == 1 { 1.0 } else { 0.0 };
                }
            }
            let mut cost = [0.0; LANES];
            let mut flip = [f64::INFINITY; LANES];
            let (mut first, mut second, mut third) = (flip, flip, flip);
            for i in 0..k {
                let mut c = [0.0; LANES];
                c[..rows].copy_from_slice(&self.c[i * n + start..i * n + start + rows]);
                // g_i = (G z)_i - c_i.
                let mut slope = [0.0; LANES];
                for (g, bits) in self.gram[i * k..(i + 1) * k].iter().zip(&bits[..k]) {
                    for l in 0..LANES {
                        slope[l] = if FUSED { g.mul_add(bits[l], slope[l]) } else { slope[l] + g * bits[l] };
                    }
                }
                let (square, floor) = (self.gram[i * k + i], self.floor[i]);
                for l in 0..LANES {
                    let g = slope[l] - c[l];
                    cost[l] += bits[i][l] * (g - c[l]);
                    steps[i][l] = 1.0 - 2.0 * bits[i][l];
                    let along = 2.0 * steps[i][l] * g;
                    flips[i][l] = along + square;
                    flip[l] = lower(flips[i][l], flip[l]);
                    let w = along + floor;
                    let (more, less) = (higher(w, first[l]), lower(w, first[l]));
                    first[l] = less;
                    let (more, less) = (higher(more, second[l]), lower(more, second[l]));
                    second[l] = less;
                    third[l] = lower(more, third[l]);
                }
            }
            let mut pair = [f64::INFINITY; LANES];
            if (0..rows).any(|l| first[l] + second[l] < 0.0) {
                for i in 0..k {
                    for j in i + 1..k {
                        let twice = 2.0 * self.gram[i * k + j];
                        for l in 0..LANES {
                            let both = flips[i][l] + flips[j][l] + twice * steps[i][l] * steps[j][l];
                            pair[l] = lower(both, pair[l]);
                        }
                    }
                }
            }
            for l in 0..rows {
                let two = first[l] + second[l];
                let none_of_more = two >= 0.0 || pair[l] >= -self.least && two + third[l] >= 0.0;
                self.costs[start + l] = cost[l];
                self.sure[start + l] = flip[l] >= -self.least && none_of_more;
            }
        }
    }
}

/// The lower of two numbers, in one instruction.
#[inline(always)]
fn lower(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The higher of two numbers, in one instruction.
#[inline(always)]
fn higher(a: f64, b: f64) -> f64 {
    if a < b { b } else { a }
}

/// The rows G^-1 c, rounded to 0 or 1, side by side.
pub(super) struct Rounding<'a> {
    /// G^-1, K x K.
    pub inverse: &'a [f64],
    /// c, column after column.
    pub c: &'a [f64],
    /// The answer, one word of bits per row.
    pub words: &'a mut [u64],
}

impl Rounding<'_> {
    /// Fills in the words.
    pub fn run(self) {
        on_this_processor(self);
    }
}

impl Kernel for Rounding<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let (n, k) = (self.words.len(), self.c.len() / self.words.len());
        let mut across = [[0.0; LANES]; MOST];
        for (block, out) in self.words.chunks_mut(LANES).enumerate() {
            for (i, across) in across[..k].iter_mut().enumerate() {
                let at = i * n + block * LANES;
                across[..out.len()].copy_from_slice(&self.c[at..at + out.len()]);
            }
            // Words as numbers: vectors add them where they cannot set bits.
            const { assert!(MOST <= 53, "sums of bits are exact") };
            let mut words = [0.0; LANES];
            for i in 0..k {
                let (mut solved, bit) = ([0.0; LANES], (1u64 << i) as f64);
                for (m, c) in self.inverse[i * k..(i + 1) * k].iter().zip(&across[..k]) {
                    for l in 0..LANES {
                        solved[l] = if FUSED { m.mul_add(c[l], solved[l]) } else { solved[l] + m * c[l] };
                    }
                }
                for l in 0..LANES {
                    words[l] += if solved[l] > 0.5 { bit } else { 0.0 };
                }
            }
            out.iter_mut().zip(words).for_each(|(out, word)| *out = word as u64);
        }
    }
}
