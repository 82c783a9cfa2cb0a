//! Inverse Cholesky factors R = L^-1 of P = L L', so that y'P^-1 y = |R y|^2, and their rank-one changes.
//!
//! A factor stands column after column, padded with zeros to a multiple of four rows and columns: R y is then a sum of
//! whole vectors. The inverse is kept rather than L because rows are scored far more often than moved.

use super::processor::{Kernel, multiply_add};

/// Numbers handled at a time.
const LANES: usize = 4;

/// A pivot below this share of its diagonal entry is rounding.
const LEAST_PIVOT: f64 = 1e-14;

/// Rows and columns of a padded factor.
pub(crate) fn padded(order: usize) -> usize {
    order.next_multiple_of(LANES)
}

/// R of a symmetric positive definite matrix, and log |P|; none where a pivot vanishes.
pub(crate) fn inverse_factor(matrix: &[f64], order: usize) -> Option<(Vec<f64>, f64)> {
    let stride = padded(order);
    let mut lower = vec![0.0; order * order];
    let mut ln_det = 0.0;
    for i in 0..order {
        for j in 0..=i {
            let done: f64 = (0..j).map(|l| lower[i * order + l] * lower[j * order + l]).sum();
            let left = matrix[i * order + j] - done;
            if i > j {
                lower[i * order + j] = left / lower[j * order + j];
            } else if left > LEAST_PIVOT * matrix[i * order + i] {
                lower[i * order + i] = left.sqrt();
                ln_det += left.ln();
            } else {
                return None;
            }
        }
    }
    let mut inverse = vec![0.0; stride * stride];
    invert_triangle(|i, j| lower[i * order + j], order, |i, j| j * stride + i, &mut inverse);
    Some((inverse, ln_det))
}

/// P = L L' from R, row by row.
pub(crate) fn matrix_of(factor: &[f64], order: usize) -> Vec<f64> {
    let stride = padded(order);
    let mut lower = vec![0.0; order * order];
    invert_triangle(|i, j| factor[j * stride + i], order, |i, j| i * order + j, &mut lower);
    let entry = |i: usize, j: usize| (0..=i.min(j)).map(|l| lower[i * order + l] * lower[j * order + l]).sum();
    (0..order * order).map(|e| entry(e / order, e % order)).collect()
}

/// The inverse of a lower triangle, put where `place` says.
fn invert_triangle(
    lower: impl Fn(usize, usize) -> f64,
    order: usize,
    place: impl Fn(usize, usize) -> usize,
    inverse: &mut [f64],
) {
    for j in 0..order {
        inverse[place(j, j)] = 1.0 / lower(j, j);
        for i in j + 1..order {
            let done: f64 = (j..i).map(|l| lower(i, l) * inverse[place(l, j)]).sum();
            inverse[place(i, j)] = -done / lower(i, i);
        }
    }
}

/// out[k] = |R_k (row - mean_k)|^2 for every group; `row` and the means are padded.
pub(crate) struct Quadratics<'a> {
    pub order: usize,
    pub row: &'a [f64],
    pub means: &'a [f64],
    pub factors: &'a [f64],
    /// Room for row - mean_k.
    pub deviation: &'a mut [f64],
    pub out: &'a mut [f64],
}

impl Kernel for Quadratics<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let stride = self.row.len();
        let groups = self.means.chunks_exact(stride).zip(self.factors.chunks_exact(stride * stride));
        for ((mean, factor), out) in groups.zip(self.out) {
            for ((y, x), m) in self.deviation.iter_mut().zip(self.row).zip(mean) {
                *y = x - m;
            }
            *out = transformed::<FUSED>(factor, self.order, self.deviation, |_, _| ());
        }
    }
}

/// R y in blocks of four, each handed to `take` with its number; returns |R y|^2.
#[inline(always)]
fn transformed<const FUSED: bool>(
    factor: &[f64],
    order: usize,
    y: &[f64],
    mut take: impl FnMut(usize, [f64; LANES]),
) -> f64 {
    let stride = y.len();
    let mut squares = [0.0; LANES];
    for block in 0..stride / LANES {
        let start = block * LANES;
        let mut sums = [0.0; LANES];
        // The columns beyond the block's last row are zero there.
        for (column, &y) in factor.chunks_exact(stride).zip(&y[..order.min(start + LANES)]) {
            let entries = &column[start..start + LANES];
            for l in 0..LANES {
                sums[l] = multiply_add::<FUSED>(entries[l], y, sums[l]);
            }
        }
        for l in 0..LANES {
            squares[l] = multiply_add::<FUSED>(sums[l], sums[l], squares[l]);
        }
        take(block, sums);
    }
    (squares[0] + squares[2]) + (squares[1] + squares[3])
}

/// Room for the vectors of a rank-one change.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    /// z = R y.
    z: Vec<f64>,
    /// tau_i = 1 + share sum over j <= i of z_j^2, with a 1 before the first.
    tau: Vec<f64>,
    /// sqrt(tau_{i-1} / tau_i).
    shrink: Vec<f64>,
    /// shrink_i share z_i / tau_{i-1}.
    pull: Vec<f64>,
}

impl Room {
    pub fn new(order: usize) -> Self {
        let zeros = vec![0.0; padded(order)];
        Room { z: zeros.clone(), tau: vec![1.0; padded(order) + 1], shrink: zeros.clone(), pull: zeros }
    }
}

/// Changes R of P into R of P + share y y' and returns |P + share y y'| / |P|; where that is not above `least` (a row
/// taken out that was nearly all there was in some direction) nothing is changed.
///
/// With z = R y the new matrix is L (I + share z z') L', and row i of the new factor is
/// sqrt(tau_{i-1}/tau_i) (R_i - share z_i / tau_{i-1} sum over j < i of z_j R_j).
pub(crate) struct RankOne<'a> {
    pub order: usize,
    pub factor: &'a mut [f64],
    pub y: &'a [f64],
    pub share: f64,
    pub least: f64,
    pub room: &'a mut Room,
}

impl Kernel for RankOne<'_> {
    type Output = f64;
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> f64 {
        let RankOne { order, factor, y, share, least, room } = self;
        let stride = y.len();
        let (z, tau) = (&mut room.z[..stride], &mut room.tau[..=stride]);
        let square = transformed::<FUSED>(factor, order, y, |block, sums| {
            z[block * LANES..(block + 1) * LANES].copy_from_slice(&sums);
        });
        if 1.0 + share * square <= least {
            return 1.0 + share * square;
        }
        for i in 0..stride {
            tau[i + 1] = tau[i] + share * z[i] * z[i];
        }
        let (shrink, pull) = (&mut room.shrink[..stride], &mut room.pull[..stride]);
        for i in 0..stride {
            shrink[i] = (tau[i] / tau[i + 1]).sqrt();
        }
        for i in 0..stride {
            pull[i] = shrink[i] * share * z[i] / tau[i];
        }
        // Four columns side by side: each is a chain of dependent steps.
        for (block, columns) in factor.chunks_exact_mut(LANES * stride).enumerate() {
            let (first, rest) = columns.split_at_mut(stride);
            let (second, rest) = rest.split_at_mut(stride);
            let (third, fourth) = rest.split_at_mut(stride);
            let columns = [first, second, third, &mut fourth[..stride]];
            let mut sums = [0.0; LANES];
            for i in block * LANES..stride {
                for l in 0..LANES {
                    let entry = columns[l][i];
                    columns[l][i] = multiply_add::<FUSED>(-pull[i], sums[l], shrink[i] * entry);
                    sums[l] = multiply_add::<FUSED>(z[i], entry, sums[l]);
                }
            }
        }
        tau[stride]
    }
}
