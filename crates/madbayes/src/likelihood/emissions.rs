//! Groups whose parameters are drawn and held still, as beam sampling needs them: log p(x | theta_k), theta_k drawn given the
//! rows of group k or from the prior.

use super::full::FrozenFull;
use super::{DiagonalGroups, FullGroups, Groups, MultinomialGroups, SphericalGroups};
use crate::counts::Counts;
use crate::data::{Data, Real};
use crate::linalg::{add_offset_row, squared_distance};
use crate::random::{Rng, draw_ln_gamma};
use crate::special::ln_sum_exp;
use rand::RngExt;
use rand_distr::StandardNormal;
use std::f64::consts::TAU;

/// Live groups that can draw their parameters.
pub trait Emissions: Groups {
    /// The density of rows given parameters, none of which is drawn yet.
    fn frozen(&self) -> Box<dyn Frozen + '_>;
}

/// Densities of rows under parameters that were drawn.
pub trait Frozen {
    /// Draws the parameters of a group given its rows (none: of a new group, from the prior), numbered as they come.
    fn draw(&mut self, group: Option<usize>, rng: &mut Rng);
    /// The log density of a row under each of the first `out.len()` parameters drawn.
    fn ln_densities(&mut self, row: usize, out: &mut [f64]);
}

impl<T: Real> Emissions for FullGroups<'_, T> {
    fn frozen(&self) -> Box<dyn Frozen + '_> {
        Box::new(FrozenFull::new(self))
    }
}

impl<T: Real> Emissions for DiagonalGroups<'_, T> {
    fn frozen(&self) -> Box<dyn Frozen + '_> {
        let drawn = vec![];
        Box::new(FrozenDiagonal { groups: self, ln_constants: vec![], drawn, row: vec![0.0; self.data().n_columns()] })
    }
}

/// Means and precisions of Gaussians with independent columns.
struct FrozenDiagonal<'g, 'a, T> {
    groups: &'g DiagonalGroups<'a, T>,
    /// sum_j log(precision_j / (2 pi)) / 2.
    ln_constants: Vec<f64>,
    /// Mean and half the precision of each column.
    drawn: Vec<(f64, f64)>,
    row: Vec<f64>,
}

impl<T: Real> Frozen for FrozenDiagonal<'_, '_, T> {
    /// 1/sigma2_j ~ Gamma(v/2, rate P_j/2), mu_j ~ N(m_j, sigma2_j / k).
    fn draw(&mut self, group: Option<usize>, rng: &mut Rng) {
        let (k, v, mean) = self.groups.posterior_numbers(group);
        let mut ln_constant = 0.0;
        for (m, scale) in mean.iter().zip(self.groups.scale_of(group)) {
            let ln_precision = draw_ln_gamma(0.5 * v, rng) - (0.5 * scale).ln();
            let noise: f64 = rng.sample(StandardNormal);
            self.drawn.push((m + noise * (-0.5 * ln_precision).exp() / k.sqrt(), 0.5 * ln_precision.exp()));
            ln_constant += 0.5 * (ln_precision - TAU.ln());
        }
        self.ln_constants.push(ln_constant);
    }

    fn ln_densities(&mut self, row: usize, out: &mut [f64]) {
        load(&mut self.row, self.groups.data(), row);
        let groups = self.drawn.chunks_exact(self.row.len()).zip(&self.ln_constants);
        for (out, (columns, ln_constant)) in out.iter_mut().zip(groups) {
            let squares: f64 = columns.iter().zip(&self.row).map(|((m, half), x)| half * (x - m) * (x - m)).sum();
            *out = ln_constant - squares;
        }
    }
}

/// A row relative to the reference point.
pub(super) fn load<T: Real>(row: &mut [f64], data: &Data<T>, number: usize) {
    row.fill(0.0);
    add_offset_row(row, data.rows().row(number), data.reference(), 1.0);
}

impl<T: Real> Emissions for SphericalGroups<'_, T> {
    fn frozen(&self) -> Box<dyn Frozen + '_> {
        Box::new(FrozenSpherical { groups: self, means: vec![], row: vec![0.0; self.data().n_columns()] })
    }
}

/// Means of spherical Gaussians of one known variance.
struct FrozenSpherical<'g, 'a, T> {
    groups: &'g SphericalGroups<'a, T>,
    means: Vec<f64>,
    row: Vec<f64>,
}

impl<T: Real> Frozen for FrozenSpherical<'_, '_, T> {
    /// mu ~ N((r2 sum + s2 m0)/(n r2 + s2), s2 r2/(n r2 + s2) I).
    fn draw(&mut self, group: Option<usize>, rng: &mut Rng) {
        let (mean, variance) = self.groups.posterior_mean(group);
        self.means.extend(mean.into_iter().map(|m| m + variance.sqrt() * rng.sample::<f64, _>(StandardNormal)));
    }

    fn ln_densities(&mut self, row: usize, out: &mut [f64]) {
        load(&mut self.row, self.groups.data(), row);
        let (d, variance) = (self.row.len(), self.groups.variance());
        let ln_constant = -0.5 * d as f64 * (TAU * variance).ln();
        for (out, mean) in out.iter_mut().zip(self.means.chunks_exact(d)) {
            *out = ln_constant - squared_distance(&self.row, mean) / (2.0 * variance);
        }
    }
}

impl Emissions for MultinomialGroups<'_> {
    fn frozen(&self) -> Box<dyn Frozen + '_> {
        Box::new(FrozenMultinomial { groups: self, counts: self.counts(), ln_probabilities: vec![] })
    }
}

/// Logarithms of the probabilities of the columns.
struct FrozenMultinomial<'g, 'a> {
    groups: &'g MultinomialGroups<'a>,
    counts: &'g Counts,
    ln_probabilities: Vec<f64>,
}

impl Frozen for FrozenMultinomial<'_, '_> {
    /// p ~ Dirichlet(C + a).
    fn draw(&mut self, group: Option<usize>, rng: &mut Rng) {
        let (a, v) = (self.groups.pseudocount(), self.counts.n_columns());
        let tally = |column: usize| group.map_or(0.0, |group| self.groups.tally(group)[column]);
        let ln_draws: Vec<f64> = (0..v).map(|column| draw_ln_gamma(tally(column) + a, rng)).collect();
        let ln_total = ln_sum_exp(&ln_draws);
        self.ln_probabilities.extend(ln_draws.iter().map(|ln| ln - ln_total));
    }

    /// log of x.! / prod x_v! + sum x_v log p_v.
    fn ln_densities(&mut self, row: usize, out: &mut [f64]) {
        let (columns, values) = self.counts.row(row);
        let ln_coefficient = self.groups.ln_coefficient(row);
        for (out, ln) in out.iter_mut().zip(self.ln_probabilities.chunks_exact(self.counts.n_columns())) {
            let sum: f64 = columns.iter().zip(values).map(|(&column, x)| x * ln[column as usize]).sum();
            *out = ln_coefficient + sum;
        }
    }
}
