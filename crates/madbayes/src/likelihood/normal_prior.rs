//! What the Gaussian laws share: checks of their priors, and a guess of the covariance within groups.

use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::add_offset_row;

/// Rows the prior mean of a weak prior is worth.
const WEAK_STRENGTH: f64 = 0.01;

/// The variance of a column within groups is taken to be at least this share of its variance over all rows.
const LEAST_SHARE: f64 = 1e-6;

/// The data's mean, and how many rows it is worth as a weak prior mean.
pub(super) fn prior_from_data<T: Real>(data: &Data<T>) -> (Vec<f64>, f64) {
    (data.reference().iter().map(|&r| r.into()).collect(), WEAK_STRENGTH)
}

/// Errors unless there is a finite mean for every column.
pub(super) fn check_prior_mean(mean: &[f64], n_columns: usize) -> Result<()> {
    if mean.len() == n_columns && mean.iter().all(|m| m.is_finite()) {
        return Ok(());
    }
    let allowed = format!("{n_columns} finite numbers, one per column");
    Err(Error::argument("prior_mean", allowed, format!("{mean:?}"), "the column means are a good choice"))
}

/// Errors unless k0 is positive.
pub(super) fn check_prior_strength(strength: f64) -> Result<()> {
    if strength.is_finite() && strength > 0.0 {
        return Ok(());
    }
    let help = "it is the number of rows the prior mean is worth; 0.01 lets the groups lie anywhere";
    Err(Error::argument("prior_strength", "a positive finite number", strength, help))
}

/// Errors unless c is positive.
pub(crate) fn check_covariance_penalty(penalty: f64) -> Result<()> {
    if penalty.is_finite() && penalty > 0.0 {
        return Ok(());
    }
    let help = "it prices the logarithm of a group's covariance; the size of a typical group is a good choice";
    Err(Error::argument("covariance_penalty", "a positive finite number", penalty, help))
}

/// The prior mean relative to the reference point.
pub(super) fn prior_offset<T: Real>(data: &Data<T>, prior_mean: &[f64]) -> Vec<f64> {
    prior_mean.iter().zip(data.reference()).map(|(m, &r)| m - r.into()).collect()
}

/// Errors where squares of the data, in units of a scale whose least eigenvalue is about 1 / `steepest`, would overflow.
pub(super) fn check_reach<T: Real>(data: &Data<T>, offset: &[f64], name: &'static str, steepest: f64) -> Result<()> {
    let reach: f64 = data.spreads().iter().zip(offset).map(|(s, m)| (s + m.abs()).powi(2)).sum();
    if reach * steepest < 1e200 && reach < 1e290 && steepest < 1e290 {
        return Ok(());
    }
    let allowed = format!("of the order of the data's squared spread, {reach:e}");
    let found = format!("eigenvalues down to {:e}", 1.0 / steepest);
    Err(Error::argument(name, allowed, found, "it is the scale of the covariance within a group"))
}

/// Errors where rows have weights: a posterior counts every row once.
pub(super) fn check_unweighted<T: Real>(data: &Data<T>) -> Result<()> {
    if data.weights().is_none() {
        return Ok(());
    }
    let help = "a sampler counts every row once; repeat rows, or use a hard algorithm";
    Err(Error::argument("weights", "left out", "one for every row", help))
}

/// The covariance within the groups of a labelling, pooled over them, D x D row by row: a guess for the scale of a prior.
///
/// A column that hardly varies within the groups (or at all) is given a millionth of its variance over all rows (or 1) on
/// the diagonal, so that the matrix is positive definite.
pub fn within_covariance<T: Real>(data: &Data<T>, labels: &[u32]) -> Vec<f64> {
    let d = data.n_columns();
    let k = labels.iter().max().map_or(0, |m| *m as usize + 1);
    let (mut means, mut sizes) = (vec![0.0; (k + 1) * d], vec![0.0; k + 1]);
    // The last of the means is that of all rows.
    for (n, &label) in labels.iter().enumerate() {
        for group in [label as usize, k] {
            sizes[group] += data.weight(n);
            let sum = &mut means[group * d..(group + 1) * d];
            add_offset_row(sum, data.rows().row(n), data.reference(), data.weight(n));
        }
    }
    for (mean, &size) in means.chunks_exact_mut(d).zip(&sizes) {
        mean.iter_mut().for_each(|m| *m /= if size > 0.0 { size } else { 1.0 });
    }
    let (mut scatter, mut overall) = (vec![0.0; d * d], vec![0.0; d]);
    let mut offset = vec![0.0; d];
    for (n, &label) in labels.iter().enumerate() {
        let (weight, mean) = (data.weight(n), &means[label as usize * d..]);
        offset.fill(0.0);
        add_offset_row(&mut offset, data.rows().row(n), data.reference(), 1.0);
        for i in 0..d {
            overall[i] += weight * (offset[i] - means[k * d + i]).powi(2);
        }
        offset.iter_mut().zip(mean).for_each(|(x, m)| *x -= m);
        for i in 0..d {
            for j in 0..d {
                scatter[i * d + j] += weight * offset[i] * offset[j];
            }
        }
    }
    let (rows, free) = (data.total_weight(), (data.total_weight() - k as f64).max(1.0));
    scatter.iter_mut().for_each(|s| *s /= free);
    for i in 0..d {
        let least = if overall[i] > 0.0 { LEAST_SHARE * overall[i] / rows } else { 1.0 };
        scatter[i * d + i] += (least - scatter[i * d + i]).max(LEAST_SHARE * scatter[i * d + i]);
    }
    scatter
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    #[test]
    fn the_pooled_covariance_is_the_scatter_about_the_means_of_the_groups() {
        // Two groups of two; the third column is constant, the second constant within groups.
        let values = [1.0, 5.0, 7.0, 3.0, 5.0, 7.0, 10.0, 9.0, 7.0, 16.0, 9.0, 7.0];
        let data = Data::new(Rows::new(&values, 3).unwrap()).unwrap();
        let within = within_covariance(&data, &[0, 0, 1, 1]);
        // Scatter 2 + 18 in the first column, two rows less than there are.
        let expected = [10.0, 0.0, 0.0, 0.0, 4e-6, 0.0, 0.0, 0.0, 1.0];
        for (found, expected) in within.iter().zip(expected) {
            assert!((found - expected).abs() <= 1.1e-6 * expected, "{within:?}");
        }
    }
}
