//! Rows that are sums of features and noise, x ~ N(z A, s2 I) with A ~ N(0, r2 I) integrated out (Griffiths & Ghahramani
//! 2011, Eq. 26), and the limit of small variance (B Eq. 10).

mod factor;
mod rows;
#[cfg(test)]
mod tests;

pub use rows::CollapsedRows;

use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::dot;
use crate::random::Rng;
use crate::structure::Allocation;
use factor::Factor;
use rand::RngExt;
use rand_distr::StandardNormal;
use std::f64::consts::TAU;

/// The least noise / scale that double precision can work with: columns that are nearly equal have M of size scale / noise.
pub(crate) const LEAST_RIDGE: f64 = 1e-8;

/// Rows x ~ N(z A, noise I) with the rows of A ~ N(0, scale I).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearGaussian {
    /// s2, the variance of a row about the sum of its features, in every column.
    pub noise: f64,
    /// r2, the variance of a feature about 0, in every column.
    pub scale: f64,
}

impl LinearGaussian {
    /// Errors unless both variances are positive and noise / scale is at least 1e-8.
    pub fn check(&self) -> Result<()> {
        check_variance("noise", self.noise)?;
        check_variance("scale", self.scale)?;
        // A ridge set to the least may be a rounding below it.
        if self.ridge() < 0.99 * LEAST_RIDGE {
            return Err(Error::argument(
                "noise",
                format!("at least {LEAST_RIDGE:e} of the scale, {}", self.scale),
                self.noise,
                "below that, rounding decides; the limit of no noise is collapsed BP-means",
            ));
        }
        Ok(())
    }

    /// s2/r2, what is added to the diagonal of Z'Z.
    pub fn ridge(&self) -> f64 {
        self.noise / self.scale
    }

    /// The log marginal of all rows (Griffiths & Ghahramani 2011, Eq. 26, with I_K where they print I_D):
    /// -(ND/2) log(2 pi s2) - (D/2) (log |B| - K log(s2/r2)) - loss/(2 s2) with B = Z'Z + s2/r2 I_K and
    /// loss = tr(X'(I - Z B^-1 Z')X). Empty features change nothing.
    pub fn ln_marginal<T: Real>(&self, allocation: &Allocation, data: &Data<T>) -> f64 {
        let (overlaps, mut components) = normal_equations(allocation, data);
        let k = allocation.n_features();
        let Ok(factor) = Factor::new(&overlaps, k, self.ridge()) else { return f64::NAN };
        factor.solve(&mut components, data.n_columns());
        let loss = sum_of_squares(data, allocation, &components) + self.ridge() * dot(&components, &components);
        self.ln_marginal_of(data.n_rows(), data.n_columns(), k, factor.ln_det(), loss)
    }

    /// The mean of the features' values given all rows, M Z'X with M = (Z'Z + s2/r2 I)^-1, K x D.
    pub fn mean_components<T: Real>(&self, allocation: &Allocation, data: &Data<T>) -> Vec<f64> {
        let (overlaps, mut components) = normal_equations(allocation, data);
        if let Ok(factor) = Factor::new(&overlaps, allocation.n_features(), self.ridge()) {
            factor.solve(&mut components, data.n_columns());
        }
        components
    }

    /// A draw of the features' values given all rows, every column N(M Z'X, s2 M), K x D.
    pub fn draw_components<T: Real>(&self, allocation: &Allocation, data: &Data<T>, rng: &mut Rng) -> Vec<f64> {
        let (overlaps, mut components) = normal_equations(allocation, data);
        let mut noise: Vec<f64> = components.iter().map(|_| rng.sample(StandardNormal)).collect();
        if let Ok(factor) = Factor::new(&overlaps, allocation.n_features(), self.ridge()) {
            factor.solve(&mut components, data.n_columns());
            factor.backward(&mut noise, data.n_columns());
        }
        let deviation = self.noise.sqrt();
        components.iter_mut().zip(&noise).for_each(|(a, e)| *a += deviation * e);
        components
    }

    fn ln_marginal_of(&self, n: usize, d: usize, k: usize, ln_det: f64, loss: f64) -> f64 {
        let (n, d, k) = (n as f64, d as f64, k as f64);
        -0.5 * n * d * (TAU * self.noise).ln() - 0.5 * d * (ln_det - k * self.ridge().ln()) - loss / (2.0 * self.noise)
    }

    /// log N(x; zA, (s2 (1 + h) + j r2) I) for a row with |x - zA|^2 = `square`, h = z M z' and j features of its own.
    #[inline]
    pub fn ln_predictive(&self, n_columns: usize, square: f64, leverage: f64, own: usize) -> f64 {
        let own = if own == 0 { 0.0 } else { own as f64 * self.scale };
        let variance = self.noise * (1.0 + leverage) + own;
        -0.5 * n_columns as f64 * (TAU * variance).ln() - square / (2.0 * variance)
    }
}

/// Errors unless a variance is positive and finite.
pub(crate) fn check_variance(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::argument(name, "a positive finite number", value, "it is a variance in squared units of the data"))
}

/// Z'Z (K x K) and Z'X (K x D).
fn normal_equations<T: Real>(allocation: &Allocation, data: &Data<T>) -> (Vec<f64>, Vec<f64>) {
    let (k, d) = (allocation.n_features(), data.n_columns());
    let (mut overlaps, mut sums) = (vec![0.0; k * k], vec![0.0; k * d]);
    for (n, row) in data.rows().iter().enumerate() {
        for i in allocation.features_of(n) {
            allocation.features_of(n).for_each(|j| overlaps[i * k + j] += 1.0);
            sums[i * d..(i + 1) * d].iter_mut().zip(row).for_each(|(s, x)| *s += (*x).into());
        }
    }
    (overlaps, sums)
}

/// |X - ZA|^2 with the features' values A given, K x D.
pub fn sum_of_squares<T: Real>(data: &Data<T>, allocation: &Allocation, components: &[f64]) -> f64 {
    let mut residual = vec![0.0; data.n_columns()];
    (0..data.n_rows())
        .map(|n| {
            subtract_features(&mut residual, data.rows().row(n), allocation.features_of(n), components);
            dot(&residual, &residual)
        })
        .sum()
}

/// residual = x - the sum of these features.
#[inline]
pub(crate) fn subtract_features<T: Real>(
    residual: &mut [f64],
    row: &[T],
    features: impl Iterator<Item = usize>,
    components: &[f64],
) {
    let d = residual.len();
    residual.iter_mut().zip(row).for_each(|(r, x)| *r = (*x).into());
    for k in features {
        residual.iter_mut().zip(&components[k * d..(k + 1) * d]).for_each(|(r, a)| *r -= a);
    }
}

/// The collapsed loss tr(X'(I - Z(Z'Z)^-1 Z')X) of B Eq. 10, by projection: the squared distance of X from the span of
/// the columns of Z. Columns may be empty, equal or dependent. Slow and independent of everything else: the reference.
pub fn collapsed_loss<T: Real>(allocation: &Allocation, data: &Data<T>) -> f64 {
    let (n, d) = (data.n_rows(), data.n_columns());
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for feature in 0..allocation.n_features() {
        let mut column: Vec<f64> = (0..n).map(|row| f64::from(u8::from(allocation.get(row, feature)))).collect();
        let length = dot(&column, &column).sqrt();
        // Twice: the second round removes what rounding left of the first.
        (0..2).for_each(|_| basis.iter().for_each(|b| take_away(&mut column, b)));
        let left = dot(&column, &column).sqrt();
        if left > 1e-7 * length {
            column.iter_mut().for_each(|c| *c /= left);
            basis.push(column);
        }
    }
    (0..d)
        .map(|j| {
            let mut x: Vec<f64> = data.rows().iter().map(|row| row[j].into()).collect();
            (0..2).for_each(|_| basis.iter().for_each(|b| take_away(&mut x, b)));
            dot(&x, &x)
        })
        .sum()
}

/// x -= (x'b) b.
fn take_away(x: &mut [f64], b: &[f64]) {
    let share = dot(x, b);
    x.iter_mut().zip(b).for_each(|(x, b)| *x -= share * b);
}
