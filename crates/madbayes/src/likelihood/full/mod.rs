//! Gaussian rows of unknown mean and covariance, both integrated out under a normal-inverse-Wishart prior (MATH 5; Murphy
//! 2007, Sec. 9); its limit is full-covariance means (Broderick 2013, Sup. E).

mod factors;
mod frozen;
#[cfg(test)]
mod tests;

use super::normal_groups::NormalGroups;
use super::normal_prior::{
    check_covariance_penalty, check_prior_mean, check_prior_strength, check_reach, check_unweighted, prior_from_data,
    prior_offset,
};
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::{Quadratics, inverse_factor, matrix_of, on_this_processor, padded};
use crate::special::ln_gamma;
use factors::Factors;
pub(super) use frozen::FrozenFull;
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Rows x ~ N(mu, Sigma) with Sigma ~ InverseWishart(prior_dof, prior_scale) and mu ~ N(prior_mean, Sigma / prior_strength).
///
/// The posterior of a group is a law of the same kind: see [`FullGroups::posterior`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Full {
    /// m0, the mean of the groups' means.
    pub prior_mean: Vec<f64>,
    /// k0, how many rows the prior mean is worth.
    pub prior_strength: f64,
    /// v0 > D - 1, how many rows the prior scale is worth.
    pub prior_dof: f64,
    /// P0, D x D row by row: the mean of Sigma is P0 / (v0 - D - 1).
    pub prior_scale: Vec<f64>,
}

impl Full {
    /// A weak prior: the data's mean worth 0.01 rows, D + 2 degrees of freedom, and `within` (D x D), a guess of the
    /// covariance within a group, as the mean of Sigma.
    pub fn weak<T: Real>(data: &Data<T>, within: Vec<f64>) -> Self {
        let (prior_mean, prior_strength) = prior_from_data(data);
        Full { prior_mean, prior_strength, prior_dof: data.n_columns() as f64 + 2.0, prior_scale: within }
    }

    /// Errors unless the parameters fit rows of `n_columns` columns.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        check_prior_mean(&self.prior_mean, n_columns)?;
        check_prior_strength(self.prior_strength)?;
        if !(self.prior_dof.is_finite() && self.prior_dof > n_columns as f64 - 1.0) {
            let allowed = format!("a finite number above the number of columns less 1, {}", n_columns - 1);
            let help = "the number of columns plus 2 is a good choice: prior_scale is then the mean covariance";
            return Err(Error::argument("prior_dof", allowed, self.prior_dof, help));
        }
        check_covariance("prior_scale", &self.prior_scale, n_columns)
    }

    /// The density of a row of which the law is all that is known: multivariate t with v0 - D + 1 degrees of freedom, centre
    /// m0 and scale P0 (k0 + 1) / (k0 (v0 - D + 1)). Errors as `check` does.
    pub fn predictive(&self) -> Result<StudentT> {
        let order = self.prior_mean.len();
        self.check(order)?;
        let (factor, ln_det) = factored("prior_scale", &self.prior_scale, order)?;
        let mut centre = self.prior_mean.clone();
        centre.resize(padded(order), 0.0);
        let (k0, v0, d) = (self.prior_strength, self.prior_dof, order as f64);
        let gammas = ln_gamma(0.5 * (v0 + 1.0)) - ln_gamma(0.5 * (v0 - d + 1.0));
        let ln_constant = gammas + 0.5 * d * ((k0 / (k0 + 1.0)).ln() - PI.ln()) - 0.5 * ln_det;
        Ok(StudentT { order, centre, factor, share: k0 / (k0 + 1.0), power: 0.5 * (v0 + 1.0), ln_constant })
    }
}

/// Live groups of rows under [`Full`].
pub type FullGroups<'a, T> = NormalGroups<'a, T, Factors>;

impl<'a, T: Real> FullGroups<'a, T> {
    /// No groups yet. Errors where the law does not fit the data, or the data has weights.
    ///
    /// `charge` and `loss` are those of the limit in which prior_dof grows without bound, in units of it.
    pub fn new(data: &'a Data<'a, T>, law: Full) -> Result<Self> {
        law.check(data.n_columns())?;
        check_unweighted(data)?;
        let offset = prior_offset(data, &law.prior_mean);
        let covariances = covariances(data, "prior_scale", &law.prior_scale, &offset)?;
        Ok(Self::with(data, offset, (law.prior_strength, law.prior_dof), law.prior_dof, covariances))
    }

    /// For the limit alone (MATH 1): with v0 = c / s2, Sigma = s2 S and k0 of the order of s2, the loss is
    /// sum_k c log|I + Phi^-1 scatter_k|, c the `covariance_penalty` and Phi the `covariance_prior` (D x D). Rows may have
    /// weights; there is no log probability.
    pub fn in_the_limit(data: &'a Data<'a, T>, covariance_penalty: f64, covariance_prior: &[f64]) -> Result<Self> {
        check_covariance_penalty(covariance_penalty)?;
        check_covariance("covariance_prior", covariance_prior, data.n_columns())?;
        let offset = vec![0.0; data.n_columns()];
        let covariances = covariances(data, "covariance_prior", covariance_prior, &offset)?;
        Ok(Self::with(data, offset, (0.0, covariance_penalty), covariance_penalty, covariances))
    }

    /// The law of a group given its rows, again normal-inverse-Wishart: m, k, v and P in place of the prior's.
    pub fn posterior(&self, group: usize) -> Full {
        Full {
            prior_mean: self.mean(group),
            prior_strength: self.strength(group),
            prior_dof: self.dof(group),
            prior_scale: self.scale(group),
        }
    }

    /// P, D x D: in the limit scatter + Phi.
    pub fn scale(&self, group: usize) -> Vec<f64> {
        let n_columns = self.mean(group).len();
        matrix_of(self.covariances().factor(group + 1), n_columns)
    }
}

/// Slot 0, and its log determinant. Errors where the data's squares drown the scale altogether.
fn covariances<T: Real>(data: &Data<T>, name: &'static str, scale: &[f64], offset: &[f64]) -> Result<(Factors, f64)> {
    let order = data.n_columns();
    let (factor, ln_det) = factored(name, scale, order)?;
    check_reach(data, offset, name, factor.iter().map(|r| r * r).sum())?;
    Ok((Factors::new(factor, order), ln_det))
}

/// R and log |P| of a matrix that must be symmetric and positive definite.
fn factored(name: &'static str, matrix: &[f64], order: usize) -> Result<(Vec<f64>, f64)> {
    inverse_factor(matrix, order).ok_or_else(|| {
        let help = "add a small multiple of the columns' variances to its diagonal";
        Error::argument(name, "a positive definite matrix", "one that is singular or indefinite", help)
    })
}

/// Errors unless a matrix is D x D, finite, symmetric and positive definite.
pub(crate) fn check_covariance(name: &'static str, matrix: &[f64], order: usize) -> Result<()> {
    if matrix.len() != order * order || matrix.iter().any(|x| !x.is_finite()) {
        let found = match matrix.iter().find(|x| !x.is_finite()) {
            Some(bad) => format!("{bad} in it"),
            None => format!("{} numbers", matrix.len()),
        };
        let help = "a guess of the covariance within a group, row by row, is a good choice";
        return Err(Error::argument(name, format!("{order} x {order} finite numbers"), found, help));
    }
    let entry = |i: usize, j: usize| matrix[i * order + j];
    for i in 0..order {
        for j in 0..i {
            if (entry(i, j) - entry(j, i)).abs() > 1e-9 * (entry(i, i).abs() * entry(j, j).abs()).sqrt() {
                let found = format!("{} at ({i}, {j}) and {} at ({j}, {i})", entry(i, j), entry(j, i));
                return Err(Error::argument(name, "a symmetric matrix", found, "it is a covariance"));
            }
        }
    }
    factored(name, matrix, order).map(|_| ())
}

/// A multivariate t density, ready to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct StudentT {
    order: usize,
    /// Padded, as the factor is.
    centre: Vec<f64>,
    factor: Vec<f64>,
    share: f64,
    power: f64,
    ln_constant: f64,
}

impl StudentT {
    /// Log density of a row.
    pub fn ln_density(&self, row: &[f64]) -> f64 {
        let mut padded_row = vec![0.0; self.centre.len()];
        padded_row[..self.order].copy_from_slice(row);
        let (mut deviation, mut quadratic) = (padded_row.clone(), [0.0]);
        on_this_processor(Quadratics {
            order: self.order,
            row: &padded_row,
            means: &self.centre,
            factors: &self.factor,
            deviation: &mut deviation,
            out: &mut quadratic,
        });
        self.ln_constant - self.power * (self.share * quadratic[0]).ln_1p()
    }
}
