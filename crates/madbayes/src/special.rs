//! Special functions: log gamma, harmonic numbers, stable sums of exponentials.

mod many;

pub use many::{ln_gamma_ratio, ln_gammas, sum_ln_gammas_less, sum_x_ln_x};

/// log Gamma(x) for x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// log n!, as log Gamma(n + 1).
pub fn ln_factorial(n: usize) -> f64 {
    ln_gamma(n as f64 + 1.0)
}

/// Euler's constant, the limit of H_n - log n.
const EULER: f64 = 0.577_215_664_901_532_9;

/// H_n = 1 + 1/2 + ... + 1/n: 0 for n = 0. From 100 on by its series, whose error there is below 1e-14.
pub fn harmonic(n: usize) -> f64 {
    if n < 100 {
        return (1..=n).rev().map(|i| 1.0 / i as f64).sum();
    }
    let x = n as f64;
    let square = x * x;
    x.ln() + EULER + 0.5 / x - (1.0 - 0.1 / square) / (12.0 * square)
}

/// log sum_i exp(x_i), without overflow; minus infinity for an empty sum.
pub fn ln_sum_exp(values: &[f64]) -> f64 {
    let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + values.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_gamma_matches_known_values() {
        for (x, expected) in [(1.0, 0.0), (0.5, std::f64::consts::PI.sqrt().ln()), (5.0, 24f64.ln())] {
            assert!((ln_gamma(x) - expected).abs() < 1e-14, "{x}");
        }
        assert!((ln_factorial(10) - 3_628_800f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn harmonic_numbers_are_sums_of_reciprocals() {
        for n in [0usize, 1, 2, 3, 99, 100, 101, 1000, 10_000] {
            let sum: f64 = (1..=n).rev().map(|i| 1.0 / i as f64).sum();
            assert!((harmonic(n) - sum).abs() < 2e-14, "{n}");
        }
    }

    #[test]
    fn ln_sum_exp_survives_values_that_overflow() {
        assert!((ln_sum_exp(&[1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
        assert!((ln_sum_exp(&[-1000.0, f64::NEG_INFINITY]) + 1000.0).abs() < 1e-12);
        assert_eq!(ln_sum_exp(&[]), f64::NEG_INFINITY);
    }
}
