//! Special functions: log gamma, stable sums of exponentials.

/// log Gamma(x) for x > 0.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// log n!, as log Gamma(n + 1).
pub fn ln_factorial(n: usize) -> f64 {
    ln_gamma(n as f64 + 1.0)
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
    fn ln_sum_exp_survives_values_that_overflow() {
        assert!((ln_sum_exp(&[1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
        assert!((ln_sum_exp(&[-1000.0, f64::NEG_INFINITY]) + 1000.0).abs() < 1e-12);
        assert_eq!(ln_sum_exp(&[]), f64::NEG_INFINITY);
    }
}
