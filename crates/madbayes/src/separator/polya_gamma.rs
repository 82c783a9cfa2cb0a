//! Polya-Gamma(1, z), exactly, by Devroye's alternating series (Polson, Scott & Windle 2013, Sec. 4 and Alg. 1):
//! omega = X/4 with X of density proportional to cosh(Z) exp(-Z^2 x/2) sum_n (-1)^n a_n(x), Z = |z|/2.

use crate::random::Rng;
use rand::RngExt;
use rand_distr::{Exp1, StandardNormal};
use std::f64::consts::{FRAC_PI_2, PI};
use std::sync::LazyLock;

/// Where the left proposal, an inverse Gaussian, gives way to the right one, an exponential.
const CUT: f64 = 0.64;
const INVERSE_CUT: f64 = 1.0 / CUT;
/// 1/sqrt(CUT).
const INVERSE_ROOT: f64 = 1.25;
/// Beyond this Z the right proposal has probability below exp(-500).
const LEFT_ONLY: f64 = 40.0;

/// One draw of Polya-Gamma(1, z): mean tanh(z/2)/(2z), or 1/4 at z = 0.
pub fn polya_gamma(z: f64, rng: &mut Rng) -> f64 {
    let half = 0.5 * z.abs();
    let rate = PI * PI / 8.0 + 0.5 * half * half;
    loop {
        let x = if goes_right(rng.random(), half, rate) {
            CUT + rng.sample::<f64, _>(Exp1) / rate
        } else {
            truncated_inverse_gaussian(half, rng)
        };
        if accepts(rng.random(), x) {
            return 0.25 * x;
        }
    }
}

/// Whether u < sum_n (-1)^n a_n(x)/a_0(x): yes once u is below a partial sum from below, no once above one from above.
fn accepts(u: f64, x: f64) -> bool {
    // At the cut, where it is largest, a_1/a_0 is below 0.006.
    if u < 0.99 {
        return true;
    }
    let mut sum = 1.0;
    for n in 1.. {
        let term = relative_coefficient(f64::from(n), x);
        if n % 2 == 1 {
            sum -= term;
            if u <= sum {
                return true;
            }
        } else {
            sum += term;
            if u > sum {
                return false;
            }
        }
    }
    unreachable!("the terms fall to 0")
}

/// a_n(x)/a_0(x), from a_n(x) = pi (n+1/2) (2/(pi x))^(3/2) exp(-2 (n+1/2)^2/x) left of the cut and
/// pi (n+1/2) exp(-(n+1/2)^2 pi^2 x/2) right of it.
fn relative_coefficient(n: f64, x: f64) -> f64 {
    let exponent = if x > CUT { 0.5 * PI * PI * x } else { 2.0 / x };
    (2.0 * n + 1.0) * (-n * (n + 1.0) * exponent).exp()
}

/// Steps of the table of probabilities per unit of Z, and where it ends.
const STEPS: usize = 32;
const TABLE: usize = 8 * STEPS;

/// Whether u < p/(p+q). That falls with Z, so its values at both neighbours on a grid decide nearly always.
fn goes_right(u: f64, half: f64, rate: f64) -> bool {
    static GRID: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let at = |step: usize| step as f64 / STEPS as f64;
        (0..=TABLE).map(|step| probability_of_right(at(step), PI * PI / 8.0 + 0.5 * at(step).powi(2))).collect()
    });
    let step = (half * STEPS as f64) as usize;
    if step < TABLE {
        if u < GRID[step + 1] {
            return true;
        }
        if u >= GRID[step] {
            return false;
        }
    }
    u < probability_of_right(half, rate)
}

/// p/(p+q), p = pi/(2 rate) exp(-rate cut), q = 2 exp(-Z) P(inverse Gaussian(1/Z, 1) < cut).
fn probability_of_right(half: f64, rate: f64) -> f64 {
    if half > LEFT_ONLY {
        return 0.0;
    }
    let p = FRAC_PI_2 / rate * (-rate * CUT).exp();
    let below = normal_below(INVERSE_ROOT * (CUT * half - 1.0));
    let q = 2.0 * ((-half).exp() * below + half.exp() * normal_below(-INVERSE_ROOT * (CUT * half + 1.0)));
    p / (p + q)
}

/// The standard normal distribution function.
fn normal_below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// Inverse Gaussian of mean 1/Z and shape 1, given that it is below the cut.
fn truncated_inverse_gaussian(half: f64, rng: &mut Rng) -> f64 {
    if half < INVERSE_CUT {
        // The mean is beyond the cut: 1/chi^2_1 above 1/cut, thinned by exp(-Z^2 x/2).
        loop {
            let excess = loop {
                let (e, f): (f64, f64) = (rng.sample(Exp1), rng.sample(Exp1));
                if e * e <= 2.0 * INVERSE_CUT * f {
                    break e;
                }
            };
            let root = 1.0 + CUT * excess;
            let x = CUT / (root * root);
            if half == 0.0 || rng.random::<f64>() <= (-0.5 * half * half * x).exp() {
                return x;
            }
        }
    }
    let mean = 1.0 / half;
    loop {
        let normal: f64 = rng.sample(StandardNormal);
        let y = normal * normal;
        // The smaller root of Michael, Schucany & Haas (1976), without the difference of large numbers.
        let smaller = 2.0 / (2.0 * half + y + (y * (y + 4.0 * half)).sqrt());
        let x = if rng.random::<f64>() * (1.0 + half * smaller) <= 1.0 { smaller } else { mean * mean / smaller };
        if x < CUT {
            return x;
        }
    }
}

/// P(omega <= x), omega ~ Polya-Gamma(1, z), by the density series of Polson, Scott & Windle (2013, Eq. 8) integrated term by
/// term: 4 omega = J, and the density of J at z = 0, sum (-1)^n pi k exp(-k^2 pi^2 j/2) with k = n + 1/2, times
/// cosh(z/2) exp(-z^2 j/8). To 1e-6 or better for |z| up to 50; for comparisons, not for speed.
pub fn polya_gamma_below(z: f64, x: f64) -> f64 {
    let half = 0.5 * z.abs();
    let mut tail = 0.0;
    for n in (0..4000).rev() {
        let k = f64::from(n) + 0.5;
        let rate = 0.5 * (k * k * PI * PI + half * half);
        let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
        // cosh(Z) exp(-rate 4x), in logarithms for large Z.
        let exponent = half - rate * 4.0 * x;
        tail += sign * PI * k / rate * 0.5 * (exponent.exp() + (exponent - 2.0 * half).exp());
    }
    1.0 - tail
}

/// Mean and variance of Polya-Gamma(1, z): tanh(z/2)/(2z) and (sinh z - z)/(4 z^3 cosh^2(z/2)).
pub fn polya_gamma_moments(z: f64) -> (f64, f64) {
    let z = z.abs();
    if z < 1e-3 {
        return (0.25 - z * z / 48.0, 1.0 / 24.0 - z * z / 120.0);
    }
    // Written with exp(-z), which does not overflow.
    let e = (-z).exp();
    let ratio = (1.0 - e * e - 2.0 * z * e) / ((1.0 + e) * (1.0 + e));
    ((0.5 * z).tanh() / (2.0 * z), ratio / (2.0 * z.powi(3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    fn draws(z: f64, n: usize) -> Vec<f64> {
        let mut rng = stream(5, Stream::Simulation);
        (0..n).map(|_| polya_gamma(z, &mut rng)).collect()
    }

    #[test]
    fn mean_and_variance_are_the_published_ones() {
        for z in [0.0f64, 0.1, 1.0, 2.5, 3.2, 7.0, 50.0, 500.0] {
            let n = 200_000;
            let values = draws(z, n);
            let mean = values.iter().sum::<f64>() / n as f64;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n as f64;
            let (m, v) = polya_gamma_moments(z);
            assert!((mean - m).abs() < 4.0 * (v / n as f64).sqrt(), "z {z}: mean {mean}, not {m}");
            assert!((variance / v - 1.0).abs() < 0.03, "z {z}: variance {variance}, not {v}");
        }
    }

    /// z, x and `polyagamma_cdf(x, 1, z)` of polyagamma 2.0.2 (PyPI), x at 0.4, 1 and 2.2 times the mean.
    const REFERENCE: [(f64, f64, f64); 15] = [
        (0.0, 0.1, 0.227688393141),
        (0.0, 0.25, 0.6292225702),
        (0.0, 0.55, 0.915632813216),
        (1.0, 0.092423, 0.218562988677),
        (1.0, 0.231059, 0.628657765421),
        (1.0, 0.508329, 0.91770945985),
        (3.2, 0.057604, 0.153643595643),
        (3.2, 0.144011, 0.622218427249),
        (3.2, 0.316824, 0.93339476072),
        (10.0, 0.019998, 0.0251176189902),
        (10.0, 0.049995, 0.585226214024),
        (10.0, 0.10999, 0.980289705905),
        (50.0, 0.004, 1.51582557781e-6),
        (50.0, 0.01, 0.539506694101),
        (50.0, 0.022, 0.999984117844),
    ];

    #[test]
    fn the_distribution_function_is_that_of_another_implementation() {
        for (z, x, expected) in REFERENCE {
            let found = polya_gamma_below(z, x);
            assert!((found - expected).abs() < 1e-7, "z {z}, x {x}: {found} {expected}");
        }
    }

    #[test]
    fn the_right_proposal_is_rarer_the_larger_z() {
        let of = |half: f64| probability_of_right(half, PI * PI / 8.0 + 0.5 * half * half);
        assert!((0..4100).all(|i| of(0.01 * f64::from(i)) >= of(0.01 * f64::from(i + 1))));
        // At z = 0 (Polson, Scott & Windle 2013, Sec. 4.2): p = 0.57810 and q = 0.42259.
        assert!((of(0.0) - 0.57810 / (0.57810 + 0.42259)).abs() < 1e-4, "{}", of(0.0));
    }

    #[test]
    fn draws_have_the_distribution_of_the_density_series() {
        for z in [0.0, 0.5, 3.0, 3.3, 10.0, 50.0] {
            let mut values = draws(z, 100_000);
            values.sort_by(f64::total_cmp);
            let n = values.len() as f64;
            // At every hundredth draw; the supremum is hardly larger.
            let worst = values
                .iter()
                .enumerate()
                .step_by(100)
                .fold(0.0f64, |worst, (i, &x)| worst.max((polya_gamma_below(z, x) - i as f64 / n).abs()));
            assert!(worst * n.sqrt() < 1.95, "z {z}: {}", worst * n.sqrt());
        }
    }
}
