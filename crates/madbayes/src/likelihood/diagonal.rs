//! Gaussian rows of unknown mean and variance in every column, integrated out under a normal-gamma prior: a product of t
//! densities, one per column (Murphy 2007, Sec. 3); its limit is full-covariance means with diagonal matrices.

use super::normal_groups::{Covariances, Growth, NormalGroups};
use super::normal_prior::{
    check_covariance_penalty, check_prior_mean, check_prior_strength, check_reach, check_unweighted, prior_from_data,
    prior_offset,
};
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::{Kernel, on_this_processor};
use crate::special::ln_gamma;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Rows with independent columns: x_j ~ N(mu_j, sigma2_j) with 1/sigma2_j ~ Gamma(prior_dof/2, rate prior_scale_j/2) and
/// mu_j ~ N(prior_mean_j, sigma2_j / prior_strength).
///
/// With one column this is [`Full`](super::Full) with the same four parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagonal {
    /// m0, the mean of the groups' means.
    pub prior_mean: Vec<f64>,
    /// k0, how many rows the prior mean is worth.
    pub prior_strength: f64,
    /// v0 > 0, how many rows the prior scale is worth.
    pub prior_dof: f64,
    /// P0, one number per column: the mean of sigma2_j is P0_j / (v0 - 2).
    pub prior_scale: Vec<f64>,
}

impl Diagonal {
    /// A weak prior: the data's mean worth 0.01 rows, 3 degrees of freedom, and `within`, a guess of the variances within a
    /// group, as the mean of sigma2.
    pub fn weak<T: Real>(data: &Data<T>, within: Vec<f64>) -> Self {
        let (prior_mean, prior_strength) = prior_from_data(data);
        Diagonal { prior_mean, prior_strength, prior_dof: 3.0, prior_scale: within }
    }

    /// Errors unless the parameters fit rows of `n_columns` columns.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        check_prior_mean(&self.prior_mean, n_columns)?;
        check_prior_strength(self.prior_strength)?;
        if !(self.prior_dof.is_finite() && self.prior_dof > 0.0) {
            let help = "3 is a good choice: prior_scale is then the mean variance";
            return Err(Error::argument("prior_dof", "a positive finite number", self.prior_dof, help));
        }
        check_variances("prior_scale", &self.prior_scale, n_columns)
    }

    /// Log density of a row of which the law is all that is known: in every column a t with v0 degrees of freedom, centre
    /// m0 and squared scale P0 (k0 + 1) / (k0 v0).
    pub fn ln_predictive(&self, row: &[f64]) -> f64 {
        let (k0, v0) = (self.prior_strength, self.prior_dof);
        let share = k0 / (k0 + 1.0);
        let constant = ln_gamma(0.5 * (v0 + 1.0)) - ln_gamma(0.5 * v0) + 0.5 * (share / PI).ln();
        let columns = row.iter().zip(&self.prior_mean).zip(&self.prior_scale);
        columns
            .map(|((x, m), p)| constant - 0.5 * p.ln() - 0.5 * (v0 + 1.0) * (share * (x - m).powi(2) / p).ln_1p())
            .sum()
    }
}

fn check_variances(name: &'static str, variances: &[f64], n_columns: usize) -> Result<()> {
    if variances.len() == n_columns && variances.iter().all(|v| v.is_finite() && *v > 0.0) {
        return Ok(());
    }
    let allowed = format!("{n_columns} positive finite numbers, one per column");
    let help = "guesses of the variances within a group are a good choice";
    Err(Error::argument(name, allowed, format!("{variances:?}"), help))
}

/// Live groups of rows under [`Diagonal`].
pub type DiagonalGroups<'a, T> = NormalGroups<'a, T, Scales>;

impl<'a, T: Real> DiagonalGroups<'a, T> {
    /// No groups yet. Errors where the law does not fit the data, or the data has weights.
    ///
    /// `charge` and `loss` are those of the limit in which prior_dof grows without bound, in units of it.
    pub fn new(data: &'a Data<'a, T>, law: Diagonal) -> Result<Self> {
        law.check(data.n_columns())?;
        check_unweighted(data)?;
        let offset = prior_offset(data, &law.prior_mean);
        check_reach(data, &offset, "prior_scale", law.prior_scale.iter().map(|p| 1.0 / p).sum())?;
        Ok(Self::with(data, offset, (law.prior_strength, law.prior_dof), law.prior_dof, Scales::new(law.prior_scale)))
    }

    /// For the limit alone: with v0 = c / s2 and k0 of the order of s2 the loss is
    /// sum_k sum_j c log(1 + scatter_kj / Phi_j), c the `covariance_penalty` and Phi the `variance_prior`, one number per
    /// column. Rows may have weights; there is no log probability.
    pub fn in_the_limit(data: &'a Data<'a, T>, covariance_penalty: f64, variance_prior: &[f64]) -> Result<Self> {
        check_covariance_penalty(covariance_penalty)?;
        check_variances("variance_prior", variance_prior, data.n_columns())?;
        let offset = vec![0.0; data.n_columns()];
        check_reach(data, &offset, "variance_prior", variance_prior.iter().map(|p| 1.0 / p).sum())?;
        let scales = Scales::new(variance_prior.to_vec());
        Ok(Self::with(data, offset, (0.0, covariance_penalty), covariance_penalty, scales))
    }

    /// The law of a group given its rows, again normal-gamma: m, k, v and P in place of the prior's.
    pub fn posterior(&self, group: usize) -> Diagonal {
        Diagonal {
            prior_mean: self.mean(group),
            prior_strength: self.strength(group),
            prior_dof: self.dof(group),
            prior_scale: self.scale(group).to_vec(),
        }
    }

    /// P, one number per column: in the limit scatter + Phi.
    pub fn scale(&self, group: usize) -> &[f64] {
        self.covariances().scale(group + 1)
    }

    /// The same, or the prior's.
    pub(super) fn scale_of(&self, group: Option<usize>) -> &[f64] {
        self.covariances().scale(group.map_or(0, |group| group + 1))
    }
}

/// The diagonals of P, and their inverses, for all slots.
#[derive(Debug, Clone)]
pub struct Scales {
    n_columns: usize,
    scales: Vec<f64>,
    inverses: Vec<f64>,
    /// The ratios of a change.
    ratios: Vec<f64>,
}

impl Scales {
    /// Slot 0 alone, and its log determinant.
    fn new(scale: Vec<f64>) -> (Self, f64) {
        let ln_det = scale.iter().map(|p| p.ln()).sum();
        let inverses = scale.iter().map(|p| 1.0 / p).collect();
        (Scales { n_columns: scale.len(), ratios: scale.clone(), scales: scale, inverses }, ln_det)
    }

    fn scale(&self, slot: usize) -> &[f64] {
        &self.scales[slot * self.n_columns..(slot + 1) * self.n_columns]
    }
}

impl Covariances for Scales {
    fn width(&self) -> usize {
        self.n_columns
    }

    /// The columns are independent: D log Gamma(v/2).
    fn ln_gamma(n_columns: usize, v: f64) -> f64 {
        n_columns as f64 * ln_gamma(0.5 * v)
    }

    fn open(&mut self) {
        self.scales.extend_from_within(..self.n_columns);
        self.inverses.extend_from_within(..self.n_columns);
    }

    fn close(&mut self, slot: usize) {
        for numbers in [&mut self.scales, &mut self.inverses] {
            let last = numbers.len() - self.n_columns;
            numbers.copy_within(last.., slot * self.n_columns);
            numbers.truncate(last);
        }
    }

    fn reset(&mut self, slot: usize) {
        for numbers in [&mut self.scales, &mut self.inverses] {
            numbers.copy_within(..self.n_columns, slot * self.n_columns);
        }
    }

    /// sum_j log(1 + share (x_j - m_j)^2 / P_j).
    fn ln_growths(&mut self, row: &[f64], means: &[f64], shares: &[f64], out: &mut [f64]) {
        on_this_processor(LnGrowths { row, means, inverses: &self.inverses, shares, out });
    }

    fn change(&mut self, slot: usize, y: &[f64], share: f64, least: f64) -> Option<Growth> {
        let range = slot * self.n_columns..(slot + 1) * self.n_columns;
        let (scales, inverses) = (&mut self.scales[range.clone()], &mut self.inverses[range]);
        for ((ratio, y), inverse) in self.ratios.iter_mut().zip(y).zip(&*inverses) {
            *ratio = 1.0 + share * y * y * inverse;
        }
        let lowest = self.ratios.iter().copied().fold(1.0, f64::min);
        if lowest <= least {
            return None;
        }
        for (((scale, inverse), y), ratio) in scales.iter_mut().zip(inverses).zip(y).zip(&self.ratios) {
            *scale = share.mul_add(y * y, *scale);
            *inverse /= ratio;
        }
        Some(Growth { ln_ratio: ln_product(&self.ratios), least: lowest })
    }
}

/// Products are taken this far before their logarithm is; one more factor does not overflow.
const LARGEST_PRODUCT: f64 = 1e30;

/// log of the product of positive numbers between 1e-200 and 1e200.
fn ln_product(factors: &[f64]) -> f64 {
    let (mut product, mut ln) = (1.0, 0.0);
    for factor in factors {
        product *= factor;
        if !(1.0 / LARGEST_PRODUCT..LARGEST_PRODUCT).contains(&product) {
            ln += product.ln();
            product = 1.0;
        }
    }
    ln + product.ln()
}

/// out_k = sum_j log(1 + share_k (x_j - m_kj)^2 / P_kj), one logarithm for many columns.
struct LnGrowths<'a> {
    row: &'a [f64],
    means: &'a [f64],
    inverses: &'a [f64],
    shares: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for LnGrowths<'_> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        const LANES: usize = 8;
        let d = self.row.len();
        let slots = self.means.chunks_exact(d).zip(self.inverses.chunks_exact(d)).zip(self.shares);
        for (((mean, inverse), &share), out) in slots.zip(self.out) {
            let factor = |j: usize| {
                let y = self.row[j] - mean[j];
                1.0 + share * y * y * inverse[j]
            };
            let (mut ln, mut products) = (0.0, [1.0; LANES]);
            let whole = d - d % LANES;
            for start in (0..whole).step_by(LANES) {
                for (l, product) in products.iter_mut().enumerate() {
                    *product *= factor(start + l);
                }
                if products.iter().any(|p| *p > LARGEST_PRODUCT) {
                    ln += products.iter().map(|p| p.ln()).sum::<f64>();
                    products = [1.0; LANES];
                }
            }
            for j in whole..d {
                products[j - whole] *= factor(j);
            }
            *out = ln + ln_product(&products);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::likelihood::{Full, FullGroups, Groups, laws};

    const SCALE: [f64; 3] = [2.0, 1.5, 0.9];

    fn law() -> Diagonal {
        Diagonal { prior_mean: vec![0.5, -1.0, 2.0], prior_strength: 0.7, prior_dof: 2.5, prior_scale: SCALE.to_vec() }
    }

    laws::likelihood_laws!(posterior, laws::rows(3), |data| DiagonalGroups::new(data, law()).unwrap());
    laws::limit_laws!(limit, laws::rows(3), |data| DiagonalGroups::in_the_limit(data, 4.0, &SCALE).unwrap());

    #[test]
    fn the_loss_is_the_limit_of_the_marginal() {
        let rows = laws::rows(3);
        let data = rows.data();
        let c = 4.0;
        let at = |s2| DiagonalGroups::new(&data, Diagonal { prior_dof: c / s2, prior_strength: s2, ..law() }).unwrap();
        laws::loss_is_the_limit_of_the_marginal(
            |s2, labels| laws::seated_ln_marginal(at(s2), labels),
            |labels| laws::seated_loss(DiagonalGroups::in_the_limit(&data, c, &SCALE).unwrap(), labels),
        );
    }

    #[test]
    fn with_one_column_it_is_the_full_law_and_with_many_a_product() {
        // 19 columns: whole vectors and a rest. The full law knows nothing of this file's formulas.
        let rows = laws::rows(19);
        let data = rows.data();
        let labels = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1];
        let scale: Vec<f64> = (0..19).map(|j| 0.3 + f64::from(j)).collect();
        let law = Diagonal { prior_scale: scale.clone(), prior_dof: 2.5, ..Diagonal::weak(&data, vec![]) };
        let mut groups = DiagonalGroups::new(&data, law.clone()).unwrap();
        laws::seat(&mut groups, &labels);
        let (mut weights, mut charges) = (vec![0.0; 3], vec![0.0; 3]);
        groups.weigh(11, &mut weights);
        groups.charge(11, &mut charges);
        let (mut product, mut sum, mut marginal) = (vec![0.0; 3], vec![0.0; 3], 0.0);
        for j in 0..19 {
            let column: Vec<f64> = data.rows().iter().map(|row| row[j]).collect();
            let data = Data::new(Rows::new(&column, 1).unwrap()).unwrap();
            let law = Full { prior_dof: 2.5, ..Full::weak(&data, vec![scale[j]]) };
            let mut one = FullGroups::new(&data, law).unwrap();
            laws::seat(&mut one, &labels);
            one.weigh(11, &mut product);
            one.charge(11, &mut sum);
            marginal += one.ln_marginal();
        }
        for (a, b) in [&weights, &charges].into_iter().flatten().zip([&product, &sum].into_iter().flatten()) {
            assert!((a - b).abs() < 1e-11 * b.abs(), "{a} {b}");
        }
        assert!((groups.ln_marginal() - marginal).abs() < 1e-11 * marginal.abs());
        let last = data.rows().row(11);
        assert!((law.ln_predictive(last) - weights[2]).abs() < 1e-11 * weights[2].abs());
        assert!((groups.posterior(1).ln_predictive(last) - weights[1]).abs() < 1e-11 * weights[1].abs());
    }

    #[test]
    fn many_columns_far_out_do_not_overflow_and_leave_no_trace() {
        // Growths of 1e16 in each of 40 columns.
        let mut values: Vec<f64> = (0..160).map(|i| f64::from(i * 37 % 11)).collect();
        values[120..].iter_mut().for_each(|x| *x *= 1e8);
        let data = Data::new(Rows::new(&values, 40).unwrap()).unwrap();
        let law = Diagonal { prior_mean: vec![0.0; 40], ..Diagonal::weak(&data, vec![1.0; 40]) };
        let mut groups = DiagonalGroups::new(&data, law.clone()).unwrap();
        laws::seat(&mut groups, &[0, 0, 0]);
        let before = groups.ln_marginal();
        let mut weights = vec![0.0; 2];
        groups.weigh(3, &mut weights);
        groups.add(0, 3);
        assert!((groups.ln_marginal() - before - weights[0]).abs() < 1e-9 * weights[0].abs());
        groups.sub(0, 3);
        assert!((groups.ln_marginal() - before).abs() < 1e-9 * before.abs(), "{} {before}", groups.ln_marginal());
    }

    #[test]
    fn bad_parameters_are_named() {
        let values = [1.0, 2.0, 0.5, 3.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let good = Diagonal::weak(&data, vec![1.0; 2]);
        for (law, message) in [
            (Diagonal { prior_mean: vec![0.0], ..good.clone() }, "prior_mean must be 2 finite numbers"),
            (Diagonal { prior_strength: -1.0, ..good.clone() }, "prior_strength must be a positive"),
            (Diagonal { prior_dof: 0.0, ..good.clone() }, "prior_dof must be a positive"),
            (Diagonal { prior_scale: vec![1.0, 0.0], ..good.clone() }, "prior_scale must be 2 positive finite numbers"),
            (Diagonal { prior_scale: vec![1.0; 3], ..good.clone() }, "prior_scale must be 2 positive finite numbers"),
            (Diagonal { prior_scale: vec![1e-250; 2], ..good.clone() }, "prior_scale must be of the order"),
        ] {
            let error = DiagonalGroups::new(&data, law).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
