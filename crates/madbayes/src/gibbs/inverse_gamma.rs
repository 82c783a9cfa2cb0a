//! The inverse gamma prior of a variance, p(v) proportional to v^-(a+1) exp(-b/v), and its posterior.

use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::ln_gamma;
use rand::RngExt;
use rand_distr::Gamma;

/// 1/v ~ Gamma(shape, rate): worth 2 a numbers of mean square b/a.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InverseGamma {
    /// a.
    pub shape: f64,
    /// b, in the units of the variance.
    pub rate: f64,
}

impl InverseGamma {
    /// Errors, in the name of the argument it is given for, unless both numbers are positive and finite.
    pub fn check(&self, argument: &'static str) -> Result<()> {
        if [self.shape, self.rate].iter().all(|v| v.is_finite() && *v > 0.0) {
            return Ok(());
        }
        Err(Error::argument(
            argument,
            "a positive finite shape and rate",
            format!("shape {} and rate {}", self.shape, self.rate),
            "shape 1 is weak; the rate is about twice the variance expected",
        ))
    }

    /// Log density: a log b - lgamma(a) - (a+1) log v - b/v.
    pub fn ln_density(&self, variance: f64) -> f64 {
        let InverseGamma { shape, rate } = *self;
        shape * rate.ln() - ln_gamma(shape) - (shape + 1.0) * variance.ln() - rate / variance
    }

    /// Given `count` numbers N(0, v) with sum of squares `squares`: InvGamma(a + count/2, b + squares/2).
    pub fn updated(&self, count: usize, squares: f64) -> InverseGamma {
        InverseGamma { shape: self.shape + 0.5 * count as f64, rate: self.rate + 0.5 * squares }
    }

    /// A draw.
    ///
    /// # Panics
    /// When [`check`](Self::check) would fail.
    pub fn sample(&self, rng: &mut Rng) -> f64 {
        let unit: f64 = rng.sample(Gamma::new(self.shape, 1.0).expect("a positive shape"));
        self.rate / unit.max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    #[test]
    fn draws_follow_the_density_which_integrates_to_one() {
        let law = InverseGamma { shape: 3.5, rate: 2.0 };
        let step = 1e-3;
        // v d(log v) = d(v).
        let grid = || (-8_000..12_000).map(|i| (f64::from(i) * step).exp());
        let total: f64 = grid().map(|v| (law.ln_density(v) + v.ln()).exp() * step).sum();
        assert!((total - 1.0).abs() < 1e-9, "{total}");
        let below: f64 = grid().filter(|v| *v < 0.7).map(|v| (law.ln_density(v) + v.ln()).exp() * step).sum();
        let mut rng = stream(0, Stream::Prior);
        let draws: Vec<f64> = (0..100_000).map(|_| law.sample(&mut rng)).collect();
        let share = draws.iter().filter(|v| **v < 0.7).count() as f64 / 1e5;
        assert!((share - below).abs() < 4.0 * (below * (1.0 - below) / 1e5).sqrt() + step, "{share} {below}");
        // The mean is b/(a-1), the variance b^2/((a-1)^2 (a-2)).
        let mean = draws.iter().sum::<f64>() / 1e5;
        assert!((mean - 0.8).abs() < 4.0 * (4.0 / 9.375f64 / 1e5).sqrt(), "{mean}");
    }

    #[test]
    fn the_posterior_is_prior_times_likelihood() {
        let (law, numbers) = (InverseGamma { shape: 1.2, rate: 0.7 }, [0.3f64, -1.1, 2.0]);
        let posterior = law.updated(3, numbers.iter().map(|x| x * x).sum());
        let joint = |v: f64| {
            let normal = |x: &f64| -0.5 * (std::f64::consts::TAU * v).ln() - x * x / (2.0 * v);
            law.ln_density(v) + numbers.iter().map(normal).sum::<f64>()
        };
        let evidence = |v: f64| joint(v) - posterior.ln_density(v);
        assert!((evidence(0.4) - evidence(3.0)).abs() < 1e-12);
    }

    #[test]
    fn bad_numbers_are_named() {
        let error = InverseGamma { shape: 0.0, rate: 1.0 }.check("noise_prior").unwrap_err().to_string();
        assert!(error.starts_with("noise_prior must be a positive finite shape and rate, got shape 0"), "{error}");
        assert!(InverseGamma { shape: 1.0, rate: f64::NAN }.check("scale_prior").is_err());
    }
}
