//! The mixing variable of the hinge: exp(-2 max(u, 0)) is the integral over l > 0 of (2 pi l)^(-1/2) exp(-(u+l)^2/(2l))
//! (Polson & Scott 2011, Thm. 1), so that given u, 1/l is inverse Gaussian of mean 1/|u| and shape 1.

use crate::random::Rng;
use rand::RngExt;
use rand_distr::StandardNormal;

/// One draw of l given u. By the roots of Michael, Schucany & Haas (1976), written for l itself, so that nothing cancels as
/// u -> 0, where the mean of 1/l is infinite and l is chi-squared with one degree of freedom.
pub fn hinge_mixing(u: f64, rng: &mut Rng) -> f64 {
    let a = u.abs();
    let normal: f64 = rng.sample(StandardNormal);
    let y = normal * normal;
    let larger = a + 0.5 * (y + (y * (y + 4.0 * a)).sqrt());
    if rng.random::<f64>() * (larger + a) < larger { larger } else { a * (a / larger) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use statrs::distribution::{ContinuousCDF, Normal};

    #[test]
    fn the_integral_over_the_mixing_variable_is_the_hinge() {
        for u in [-30.0, -3.0f64, -1.0, -1e-3, 0.0, 1e-3, 0.4, 1.0, 5.0, 20.0] {
            // Over t = log l the integrand is smooth and falls off at both ends: the trapezoid rule is exact to rounding.
            let h = 1e-2;
            let integrand = |t: f64| {
                let l = t.exp();
                (l / (2.0 * std::f64::consts::PI)).sqrt() * (-0.5 * (u + l) * (u / l + 1.0)).exp()
            };
            let integral = h * (-8000..1000).map(|i| integrand(h * f64::from(i))).sum::<f64>();
            let expected = (-2.0 * u.max(0.0)).exp();
            assert!((integral - expected).abs() < 1e-12 * expected, "u {u}: {integral} {expected}");
        }
    }

    #[test]
    fn draws_have_the_distribution_of_a_reciprocal_inverse_gaussian() {
        let normal = Normal::standard();
        for a in [0.0f64, 1e-12, 1e-6, 1e-3, 0.3, 2.0, 40.0] {
            let mut rng = stream(9, Stream::Simulation);
            let n = 200_000;
            let mut values: Vec<f64> = (0..n).map(|_| hinge_mixing(-a, &mut rng)).collect();
            values.sort_by(f64::total_cmp);
            // P(l <= x) = P(w >= 1/x), w inverse Gaussian of mean 1/a: with r = sqrt(x), P(w <= 1/x) =
            // Phi(r (a/x - 1)... written in x: Phi((a - x)/r) + exp(2a) Phi(-(a + x)/r).
            let below = |x: f64| {
                let r = x.sqrt();
                1.0 - normal.cdf((a - x) / r) - (2.0 * a + normal.cdf(-(a + x) / r).ln()).exp()
            };
            let worst = values
                .iter()
                .enumerate()
                .step_by(50)
                .fold(0.0f64, |worst, (i, &x)| worst.max((below(x) - i as f64 / n as f64).abs()));
            assert!(worst * f64::from(n).sqrt() < 1.95, "a {a}: {}", worst * f64::from(n).sqrt());
            assert!(values.iter().all(|l| *l > 0.0 && l.is_finite()));
        }
    }
}
