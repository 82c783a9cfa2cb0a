//! All 2^K rows of the row problem in the order of a Gray code, for many rows of the data side by side: from one to the
//! next only one bit k changes, and the cost by d (2 (Gz)_k - 2 c_k) + G_kk, d = +1 or -1.

use crate::linalg::{Kernel, on_this_processor};

/// Rows side by side.
const LANES: usize = 16;

/// The steps of the code for one G.
#[derive(Debug, Clone)]
pub(super) struct GrayCode {
    k: usize,
    steps: Vec<GrayStep>,
}

#[derive(Debug, Clone, Copy)]
struct GrayStep {
    bit: usize,
    /// -2 d.
    sign: f64,
    /// d 2 (Gz)_k + G_kk.
    add: f64,
    /// z after the step.
    row: u64,
}

impl GrayCode {
    /// For G, K x K.
    pub fn new(gram: &[f64], k: usize) -> Self {
        let mut steps = Vec::with_capacity(1 << k);
        let mut row = 0u64;
        // G z, kept up to date.
        let mut image = vec![0.0; k];
        for step in 1u64..1 << k {
            let bit = step.trailing_zeros() as usize;
            let up = if row >> bit & 1 == 0 { 1.0 } else { -1.0 };
            let add = up * 2.0 * image[bit] + gram[bit * k + bit];
            row ^= 1 << bit;
            image.iter_mut().zip(&gram[bit * k..(bit + 1) * k]).for_each(|(i, g)| *i += up * g);
            steps.push(GrayStep { bit, sign: -2.0 * up, add, row });
        }
        GrayCode { k, steps }
    }

    /// The best row and its cost z'Gz - 2c'z for every row; `c` is column after column.
    pub fn solve(&self, c: &[f64], best: &mut [(u64, f64)]) {
        on_this_processor(Enumeration { code: self, c, best });
    }
}

struct Enumeration<'a> {
    code: &'a GrayCode,
    c: &'a [f64],
    best: &'a mut [(u64, f64)],
}

impl Kernel for Enumeration<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let k = self.code.k;
        let mut across = [[0.0; LANES]; 64];
        let n = self.best.len();
        for (block, best) in self.best.chunks_mut(LANES).enumerate() {
            for bit in 0..k {
                let at = bit * n + block * LANES;
                across[bit][..best.len()].copy_from_slice(&self.c[at..at + best.len()]);
            }
            let mut cost = [0.0; LANES];
            let mut least = [0.0; LANES];
            let mut rows = [0u64; LANES];
            for step in &self.code.steps {
                let c = &across[step.bit];
                for l in 0..LANES {
                    cost[l] += step.add + step.sign * c[l];
                }
                for l in 0..LANES {
                    let better = cost[l] < least[l];
                    least[l] = if better { cost[l] } else { least[l] };
                    rows[l] = if better { step.row } else { rows[l] };
                }
            }
            for (lane, best) in best.iter_mut().enumerate() {
                *best = (rows[lane], least[lane]);
            }
        }
    }
}
