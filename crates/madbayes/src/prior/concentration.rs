//! An unknown concentration and its Gibbs step (Escobar & West 1995): alpha | K, N with alpha ~ Gamma(a, b); by slice
//! sampling (Neal 2003) where that is no known law.

use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::ln_gamma;
use rand::RngExt;
use rand_distr::{Distribution, Gamma, StandardUniform};

/// What is known about a concentration.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Concentration {
    /// Its value.
    #[default]
    Fixed,
    /// That it was drawn from Gamma(shape, rate): it is redrawn once per sweep.
    Gamma {
        /// Shape a > 0.
        shape: f64,
        /// Rate b > 0: the mean is a/b.
        rate: f64,
    },
}

impl Concentration {
    /// Errors when the shape or the rate is not a positive finite number.
    pub fn check(&self) -> Result<()> {
        if let Concentration::Gamma { shape, rate } = *self {
            for (name, value) in [("shape", shape), ("rate", rate)] {
                if !(value.is_finite() && value > 0.0) {
                    return Err(Error::argument(
                        name,
                        "a positive finite number",
                        value,
                        "the concentration is drawn from Gamma(shape, rate); shape 1 and rate 1 are usual",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Log density of the concentration exp(ln_value): a log b - lgamma(a) + (a-1) log alpha - b alpha; 0 when fixed.
    pub fn ln_density(&self, ln_value: f64) -> f64 {
        match *self {
            Concentration::Fixed => 0.0,
            Concentration::Gamma { shape, rate } => {
                shape * rate.ln() - ln_gamma(shape) + (shape - 1.0) * ln_value - rate * ln_value.exp()
            }
        }
    }
}

/// A draw of the concentration given that N rows sit in K groups (Escobar & West 1995, Eq. 13-14). It leaves
/// p(alpha | K, N), proportional to Gamma(alpha; a, b) alpha^K Gamma(alpha)/Gamma(alpha+N), unchanged:
///
/// e ~ Beta(alpha+1, N), r = b - log e; alpha ~ Gamma(a+K, r) with odds (a+K-1) : N r, else Gamma(a+K-1, r).
///
/// Without rows the draw is from Gamma(a, b).
///
/// # Panics
/// When `shape` and `rate` would not pass [`Concentration::check`], or there are rows but no groups.
pub fn resample_concentration(
    current: f64,
    n_rows: usize,
    n_groups: usize,
    shape: f64,
    rate: f64,
    rng: &mut Rng,
) -> f64 {
    assert!(n_rows == 0 || n_groups > 0, "{n_rows} rows in no group");
    if n_rows == 0 {
        return draw_gamma(shape, rate, rng);
    }
    let n = n_rows as f64;
    // -log e = log(1 + y/x) with x ~ Gamma(alpha+1), y ~ Gamma(N): e itself may round to 1.
    let x = draw_gamma(current + 1.0, 1.0, rng);
    let y = draw_gamma(n, 1.0, rng);
    let rate = rate + (y / x).ln_1p();
    let more = shape + n_groups as f64 - 1.0;
    let first: f64 = StandardUniform.sample(rng);
    let odds_first = more / (more + n * rate);
    draw_gamma(if first < odds_first { more + 1.0 } else { more }, rate, rng)
}

/// A draw of a log concentration t that leaves exp(ln_posterior(t)) d(alpha) unchanged, by slice sampling with stepping out
/// (Neal 2003, Fig. 3 and 5): for posteriors of alpha = exp(t) that are no known law.
pub(super) fn redraw_by_slice(current: f64, ln_posterior: impl Fn(f64) -> f64, rng: &mut Rng) -> f64 {
    const WIDTH: f64 = 1.0;
    // d(alpha) = alpha d(log alpha).
    let ln_density = |t: f64| ln_posterior(t) + t;
    let level = ln_density(current) + (1.0 - rng.random::<f64>()).ln();
    let mut low = current - WIDTH * rng.random::<f64>();
    let mut high = low + WIDTH;
    while ln_density(low) > level {
        low -= WIDTH;
    }
    while ln_density(high) > level {
        high += WIDTH;
    }
    loop {
        let proposed = low + (high - low) * rng.random::<f64>();
        if ln_density(proposed) >= level {
            return proposed;
        }
        // Rounding may leave nothing of the slice but where it began.
        if high - low < 1e-12 {
            return current;
        }
        if proposed < current {
            low = proposed;
        } else {
            high = proposed;
        }
    }
}

/// Gamma(shape, rate), above 0 even where a tiny shape makes the draw underflow: its logarithm is needed.
pub(super) fn draw_gamma(shape: f64, rate: f64, rng: &mut Rng) -> f64 {
    let unit = Gamma::new(shape, 1.0).expect("a positive shape");
    (rng.sample(unit) / rate).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rstest::rstest;

    /// The values below which alpha lies with each probability, by summing the exact conditional on a fine grid of
    /// log alpha.
    fn exact_quantiles(n: usize, k: usize, shape: f64, rate: f64, probabilities: &[f64]) -> Vec<f64> {
        let step = 1e-4;
        let grid: Vec<f64> = (0..400_000).map(|i| -30.0 + step * i as f64).map(f64::exp).collect();
        let ln_density = |a: f64| {
            // One more log alpha: the grid is in log alpha.
            (shape + k as f64) * a.ln() - rate * a - (0..n).map(|i| (a + i as f64).ln()).sum::<f64>()
        };
        let densities: Vec<f64> = grid.iter().map(|&a| ln_density(a)).collect();
        let top = densities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = densities.iter().map(|d| (d - top).exp()).sum();
        let quantile = |p: f64| {
            let mut below = 0.0;
            for (a, d) in grid.iter().zip(&densities) {
                below += (d - top).exp() / total;
                if below >= p {
                    return *a;
                }
            }
            f64::INFINITY
        };
        probabilities.iter().map(|&p| quantile(p)).collect()
    }

    #[rstest]
    #[case::few_groups(20, 1, 1.0, 1.0)]
    #[case::several_groups(20, 4, 1.0, 1.0)]
    #[case::strong_prior(12, 9, 3.0, 0.5)]
    #[case::a_single_row(1, 1, 0.5, 2.0)]
    fn a_long_run_has_the_quantiles_of_the_exact_conditional(
        #[case] n: usize,
        #[case] k: usize,
        #[case] shape: f64,
        #[case] rate: f64,
    ) {
        let probabilities = [0.05, 0.25, 0.5, 0.75, 0.95];
        let quantiles = exact_quantiles(n, k, shape, rate, &probabilities);
        let mut rng = stream(1, Stream::Prior);
        let mut alpha = 1.0;
        let (n_batches, batch) = (200, 1000);
        let mut shares = vec![Vec::new(); probabilities.len()];
        for _ in 0..n_batches {
            let mut below = [0.0; 5];
            for _ in 0..batch {
                alpha = resample_concentration(alpha, n, k, shape, rate, &mut rng);
                for (count, q) in below.iter_mut().zip(&quantiles) {
                    *count += f64::from(u8::from(alpha <= *q));
                }
            }
            shares.iter_mut().zip(below).for_each(|(all, count)| all.push(count / f64::from(batch)));
        }
        for (p, batches) in probabilities.iter().zip(&shares) {
            // Batch means: the draws of one chain depend on each other.
            let mean = batches.iter().sum::<f64>() / f64::from(n_batches);
            let spread = batches.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / f64::from(n_batches - 1);
            let z = (mean - p) / (spread / f64::from(n_batches)).sqrt();
            assert!(z.abs() < 4.0, "share below the {p} quantile is {mean}, z = {z}");
        }
    }

    #[test]
    fn without_rows_the_draw_is_from_the_prior() {
        let mut rng = stream(2, Stream::Prior);
        let draws: Vec<f64> = (0..100_000).map(|_| resample_concentration(5.0, 0, 0, 3.0, 2.0, &mut rng)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        assert!((mean - 1.5).abs() < 4.0 * (0.75f64 / 1e5).sqrt(), "{mean}");
    }

    #[test]
    fn extreme_values_give_positive_finite_draws() {
        let mut rng = stream(3, Stream::Prior);
        for current in [0.0, f64::MIN_POSITIVE, 1e-10, 1.0, 1e10, f64::MAX, f64::INFINITY] {
            for (n, k) in [(1, 1), (1_000_000, 1), (1_000_000, 1_000_000)] {
                for shape in [1e-6, 1.0, 1e6] {
                    let draw = resample_concentration(current, n, k, shape, 1e-3, &mut rng);
                    assert!(draw > 0.0 && draw.is_finite(), "{current} {n} {k} {shape}: {draw}");
                }
            }
        }
    }

    #[test]
    fn the_hyperprior_integrates_to_one_and_bad_ones_are_refused() {
        let law = Concentration::Gamma { shape: 2.5, rate: 0.7 };
        let step = 1e-3;
        // alpha d(log alpha) = d(alpha).
        let total: f64 = (-20_000..8_000).map(|i| f64::from(i) * step).map(|l| (law.ln_density(l) + l).exp()).sum();
        assert!((total * step - 1.0).abs() < 1e-10, "{total}");
        assert_eq!(Concentration::Fixed.ln_density(3.0), 0.0);
        assert!(law.check().is_ok() && Concentration::Fixed.check().is_ok());
        let error = Concentration::Gamma { shape: 1.0, rate: -1.0 }.check().unwrap_err().to_string();
        assert!(error.starts_with("rate must be a positive finite number, got -1"), "{error}");
        assert!(Concentration::Gamma { shape: f64::NAN, rate: 1.0 }.check().is_err());
    }
}
