//! Rows of one group of a mixture: its parameters from their prior, then rows given them. With covariances of its own:
//! Sigma ~ IW(v0, P0), mu ~ N(m0, Sigma / k0), x_n ~ N(mu, Sigma).

use crate::error::{Error, Result};
use crate::likelihood::{Diagonal, Full, Multinomial, Spherical};
use crate::linalg::{inverse_factor, padded};
use crate::random::Rng;
use rand::RngExt;
use rand_distr::{ChiSquared, Distribution, Gamma, StandardNormal};

/// mu ~ N(m0, r2 I), x_n ~ N(mu, s2 I): `n` rows, one after the other.
pub fn spherical_rows(law: &Spherical, n: usize, rng: &mut Rng) -> Vec<f64> {
    let (spread, between) = (law.variance.sqrt(), law.prior_variance.sqrt());
    let mean: Vec<f64> = law.prior_mean.iter().map(|m| m + between * normal(rng)).collect();
    (0..n).flat_map(|_| &mean).map(|m| m + spread * normal(rng)).collect()
}

/// Column by column: 1/s2 ~ Gamma(v0 / 2, rate p0 / 2), mu ~ N(m0, s2 / k0), x_n ~ N(mu, s2).
pub fn diagonal_rows(law: &Diagonal, n: usize, rng: &mut Rng) -> Result<Vec<f64>> {
    law.check(law.prior_mean.len())?;
    let mut columns = Vec::with_capacity(law.prior_mean.len());
    for (m, p) in law.prior_mean.iter().zip(&law.prior_scale) {
        let spread = (p / chi_square(law.prior_dof, rng)?).sqrt();
        columns.push((m + spread / law.prior_strength.sqrt() * normal(rng), spread));
    }
    Ok((0..n).flat_map(|_| &columns).map(|(mean, spread)| mean + spread * normal(rng)).collect())
}

/// Sigma ~ IW(v0, P0), mu ~ N(m0, Sigma / k0), x_n ~ N(mu, Sigma).
///
/// By Bartlett's decomposition Sigma = L A^-T A^-1 L' with P0 = L L', A lower triangular, A_ii^2 ~ chi-square(v0 - i) for
/// i = 0, 1, .. and standard normal below: so L A^-T z has the covariance Sigma.
pub fn full_rows(law: &Full, n: usize, rng: &mut Rng) -> Result<Vec<f64>> {
    let d = law.prior_mean.len();
    law.check(d)?;
    let (inverse, _) = inverse_factor(&law.prior_scale, d).ok_or_else(|| {
        Error::argument("prior_scale", "a positive definite matrix", "another", "it is a covariance times its weight")
    })?;
    let mut bartlett = vec![0.0; d * d];
    for i in 0..d {
        (0..i).for_each(|j| bartlett[i * d + j] = normal(rng));
        bartlett[i * d + i] = chi_square(law.prior_dof - i as f64, rng)?.sqrt();
    }
    let deviation = |rng: &mut Rng| {
        // A' u = z from the last entry, then L^-1 y = u from the first.
        let mut y: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
        for i in (0..d).rev() {
            let known: f64 = (i + 1..d).map(|j| bartlett[j * d + i] * y[j]).sum();
            y[i] = (y[i] - known) / bartlett[i * d + i];
        }
        for i in 0..d {
            let known: f64 = (0..i).map(|j| inverse[j * padded(d) + i] * y[j]).sum();
            y[i] = (y[i] - known) / inverse[i * padded(d) + i];
        }
        y
    };
    let shrink = law.prior_strength.sqrt();
    let mean: Vec<f64> = law.prior_mean.iter().zip(deviation(rng)).map(|(m, y)| m + y / shrink).collect();
    Ok((0..n).flat_map(|_| mean.iter().zip(deviation(rng)).map(|(m, y)| m + y).collect::<Vec<_>>()).collect())
}

/// Shares ~ Dirichlet(pseudocount, ..), then one row of counts for each of the totals.
pub fn multinomial_rows(law: &Multinomial, n_columns: usize, totals: &[usize], rng: &mut Rng) -> Result<Vec<f64>> {
    law.check()?;
    let gamma = Gamma::new(law.pseudocount, 1.0).map_err(|_| not_drawn("pseudocount", law.pseudocount))?;
    // One share is above 0, however small the pseudocount.
    let shares: Vec<f64> = (0..n_columns).map(|_| gamma.sample(rng).max(f64::MIN_POSITIVE)).collect();
    let sum: f64 = shares.iter().sum();
    let mut values = vec![0.0; totals.len() * n_columns];
    for (row, &total) in values.chunks_exact_mut(n_columns).zip(totals) {
        for _ in 0..total {
            let mut left = rng.random::<f64>() * sum;
            let drawn = shares.iter().position(|share| {
                left -= share;
                left < 0.0
            });
            row[drawn.unwrap_or(n_columns - 1)] += 1.0;
        }
    }
    Ok(values)
}

fn normal(rng: &mut Rng) -> f64 {
    rng.sample(StandardNormal)
}

fn chi_square(freedom: f64, rng: &mut Rng) -> Result<f64> {
    Ok(ChiSquared::new(freedom).map_err(|_| not_drawn("prior_dof", freedom))?.sample(rng))
}

fn not_drawn(name: &'static str, found: f64) -> Error {
    Error::argument(name, "such that parameters can be drawn", found, "take a number nearer to 1")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    /// The mean of numbers within 4 standard errors of what it should be.
    fn assert_mean(values: &[f64], expected: f64, what: &str) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let error = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
        assert!((mean - expected).abs() < 4.0 * error, "{what}: {mean}, not {expected}, error {error}");
    }

    #[test]
    fn rows_of_unknown_covariance_have_the_moments_of_their_prior() {
        let prior_scale = vec![4.0, 1.0, -0.5, 1.0, 3.0, 0.7, -0.5, 0.7, 2.0];
        let law = Full { prior_mean: vec![1.0, -2.0, 0.5], prior_strength: 0.5, prior_dof: 12.0, prior_scale };
        let mut rng = stream(1, Stream::Simulation);
        let pairs: Vec<Vec<f64>> = (0..40_000).map(|_| full_rows(&law, 2, &mut rng).unwrap()).collect();
        for i in 0..3 {
            assert_mean(&pairs.iter().map(|pair| pair[i]).collect::<Vec<_>>(), law.prior_mean[i], "mean");
            for j in 0..3 {
                // E Sigma = P0 / (v0 - D - 1); the difference of two rows of a group has twice that.
                let expected = law.prior_scale[i * 3 + j] / (12.0 - 4.0);
                let within = |pair: &Vec<f64>| (pair[i] - pair[3 + i]) * (pair[j] - pair[3 + j]) / 2.0;
                assert_mean(&pairs.iter().map(within).collect::<Vec<_>>(), expected, "covariance");
                // Two rows of a group share its mean, whose covariance is Sigma / k0.
                let between = |pair: &Vec<f64>| (pair[i] - law.prior_mean[i]) * (pair[3 + j] - law.prior_mean[j]);
                assert_mean(&pairs.iter().map(between).collect::<Vec<_>>(), expected / 0.5, "mean's covariance");
            }
        }
        // E log|S| of one column: psi differs from log by the degrees of freedom, which moments alone would not show.
        let one = Full { prior_mean: vec![0.0], prior_strength: 1.0, prior_dof: 5.0, prior_scale: vec![2.0] };
        let same = Diagonal { prior_mean: vec![0.0], prior_strength: 1.0, prior_dof: 5.0, prior_scale: vec![2.0] };
        let below = |x: f64| f64::from(u8::from(x.abs() < 0.5));
        let full: Vec<f64> = (0..40_000).map(|_| below(full_rows(&one, 1, &mut rng).unwrap()[0])).collect();
        let diagonal: Vec<f64> = (0..40_000).map(|_| below(diagonal_rows(&same, 1, &mut rng).unwrap()[0])).collect();
        // x / sqrt(2 (1 + 1) / 5) is Student's t with 5 degrees of freedom: P(|t| < 0.5 / sqrt(0.8)) = 0.3994...
        let expected = student_within(0.5 / 0.8f64.sqrt(), 5.0);
        assert_mean(&full, expected, "full");
        assert_mean(&diagonal, expected, "diagonal");
    }

    /// P(|t| < x) by the midpoint rule.
    fn student_within(x: f64, freedom: f64) -> f64 {
        let density = |t: f64| (1.0 + t * t / freedom).powf(-(freedom + 1.0) / 2.0);
        let sum = |to: f64, steps: usize| {
            let h = to / steps as f64;
            (0..steps).map(|i| density((i as f64 + 0.5) * h) * h).sum::<f64>()
        };
        sum(x, 10_000) / sum(2000.0, 2_000_000)
    }

    #[test]
    fn rows_of_a_group_share_its_mean_or_its_shares() {
        let mut rng = stream(2, Stream::Simulation);
        let law = Spherical { variance: 0.5, prior_mean: vec![1.0, -1.0], prior_variance: 2.0 };
        let pairs: Vec<Vec<f64>> = (0..40_000).map(|_| spherical_rows(&law, 2, &mut rng)).collect();
        assert_mean(&pairs.iter().map(|p| (p[0] - 1.0) * (p[2] - 1.0)).collect::<Vec<_>>(), 2.0, "shared");
        assert_mean(&pairs.iter().map(|p| (p[1] + 1.0).powi(2)).collect::<Vec<_>>(), 2.5, "own");
        let law = Multinomial { pseudocount: 0.5 };
        let rows: Vec<Vec<f64>> = (0..40_000).map(|_| multinomial_rows(&law, 3, &[1, 4], &mut rng).unwrap()).collect();
        assert!(rows.iter().all(|r| r[..3].iter().sum::<f64>() == 1.0 && r[3..].iter().sum::<f64>() == 4.0));
        // E p_j^2 = a (a + 1) / (A (A + 1)) with a = 0.5, A = 1.5.
        assert_mean(&rows.iter().map(|r| r[0] * r[3] / 4.0).collect::<Vec<_>>(), 0.75 / 3.75, "together");
        assert_mean(&rows.iter().map(|r| r[0] * r[4] / 4.0).collect::<Vec<_>>(), 0.25 / 3.75, "apart");
    }
}
