//! Gaussians with drawn means and covariances: Sigma ~ InverseWishart(v, P), mu ~ N(m, Sigma / k), and log N(x; mu, Sigma).
//!
//! With P = L L' and R = L^-1, Sigma^-1 = (B'R)'(B'R) where B is upper triangular, B_ii^2 ~ chi-square(v - D + i) for i = 1..D
//! and normal above the diagonal: Bartlett's decomposition read from the last column, so that B'R is a lower triangle as R is.

use super::FullGroups;
use crate::data::Real;
use crate::likelihood::emissions::{Frozen, load};
use crate::linalg::{Quadratics, on_this_processor, padded};
use crate::random::{Rng, draw_ln_gamma};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::f64::consts::{LN_2, TAU};

/// Means and factors of what was drawn.
pub(in crate::likelihood) struct FrozenFull<'g, 'a, T> {
    groups: &'g FullGroups<'a, T>,
    /// Padded, relative to the reference point.
    means: Vec<f64>,
    /// B'R, padded.
    factors: Vec<f64>,
    /// log |B'R| - (D/2) log(2 pi).
    ln_constants: Vec<f64>,
    row: Vec<f64>,
    deviation: Vec<f64>,
}

impl<'g, 'a, T: Real> FrozenFull<'g, 'a, T> {
    pub fn new(groups: &'g FullGroups<'a, T>) -> Self {
        let row = vec![0.0; padded(groups.data().n_columns())];
        FrozenFull { groups, means: vec![], factors: vec![], ln_constants: vec![], deviation: row.clone(), row }
    }
}

impl<T: Real> Frozen for FrozenFull<'_, '_, T> {
    fn draw(&mut self, group: Option<usize>, rng: &mut Rng) {
        let (order, stride) = (self.groups.data().n_columns(), self.row.len());
        let (k, v, mean) = self.groups.posterior_numbers(group);
        let r = self.groups.covariances().factor(group.map_or(0, |group| group + 1));
        // B' row by row: lower triangular.
        let mut b = vec![0.0; order * order];
        let mut ln_det = 0.0;
        for i in 0..order {
            for j in 0..i {
                b[i * order + j] = rng.sample(StandardNormal);
            }
            // Chi-square(n) is twice Gamma(n/2).
            let ln_square = draw_ln_gamma(0.5 * (v - (order - 1 - i) as f64), rng) + LN_2;
            b[i * order + i] = (0.5 * ln_square).exp();
            ln_det += 0.5 * ln_square + r[i * stride + i].ln();
        }
        let start = self.factors.len();
        self.factors.resize(start + stride * stride, 0.0);
        let factor = &mut self.factors[start..];
        for i in 0..order {
            for j in 0..=i {
                factor[j * stride + i] = (j..=i).map(|l| b[i * order + l] * r[j * stride + l]).sum();
            }
        }
        // mu - m = (B'R)^-1 z / sqrt(k), by forward substitution.
        let mut deviation = vec![0.0; order];
        for i in 0..order {
            let noise: f64 = rng.sample(StandardNormal);
            let done: f64 = (0..i).map(|j| factor[j * stride + i] * deviation[j]).sum();
            deviation[i] = (noise - done) / factor[i * stride + i];
        }
        let drawn = mean.iter().zip(deviation).map(|(m, y)| m + y / k.sqrt());
        self.means.extend(drawn.chain(std::iter::repeat_n(0.0, stride - order)));
        self.ln_constants.push(ln_det - 0.5 * order as f64 * TAU.ln());
    }

    fn ln_densities(&mut self, row: usize, out: &mut [f64]) {
        let order = self.groups.data().n_columns();
        load(&mut self.row[..], self.groups.data(), row);
        on_this_processor(Quadratics {
            order,
            row: &self.row,
            means: &self.means,
            factors: &self.factors,
            deviation: &mut self.deviation,
            out,
        });
        out.iter_mut().zip(&self.ln_constants).for_each(|(out, constant)| *out = constant - 0.5 * *out);
    }
}
