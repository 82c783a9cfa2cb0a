//! A problem small enough that hyperplanes can be integrated over: one column, no intercept.

use madbayes::likelihood::Spherical;
use madbayes::separator::Factor;

/// Five rows that leave the posterior undecided.
pub const ROWS: [f64; 5] = [-1.1, -0.7, 0.1, 0.8, 1.3];
/// w.
pub const SCALE: f64 = 2.0;

/// The rows of a group.
pub fn law() -> Spherical {
    Spherical { variance: 0.3, prior_mean: vec![0.0], prior_variance: 1.0 }
}

/// prod over rows of p(y; eta x) integrated over eta ~ N(0, w), one coefficient and no intercept.
pub fn integrated(factor: Factor, inside: impl Fn(usize) -> bool) -> f64 {
    let h = 0.005;
    let at = |i: i32| {
        let eta = h * f64::from(i);
        let side = |row: usize| if inside(row) { 1.0 } else { -1.0 };
        let ln: f64 = (0..5).map(|row| factor.ln_factor(side(row), eta * ROWS[row])).sum();
        (ln - 0.5 * eta * eta / SCALE).exp()
    };
    h * (-3000..=3000).map(at).sum::<f64>() / (2.0 * std::f64::consts::PI * SCALE).sqrt()
}
