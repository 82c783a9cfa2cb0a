//! How much of a margin components may have used up that moved by E = A' - A since a row was looked at.
//!
//! With r = x - z A the slopes were g = -A r, and are g' = A' (z A' - x) = g - E r + A' (z E)'. So 2 g_k changes by at most
//! 2 |E_k| |r| + 2 max_z |sum_j z_j A'_k E_j|, all else by what G and the floor do, and |r| by at most max_z |z E|.

use super::row_problem::Bounds;
use crate::linalg::dot;

/// What is added for rounding.
const ROUND: f64 = 1.0 + 1e-6;

/// A margin as it is kept for a row, in two bytes: never more than it was, and none where it is not above 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Margin(u16);

impl Margin {
    /// The upper half of a float32, which is at most 1/128 less.
    pub fn at_most(margin: f32) -> Margin {
        Margin(if margin > 0.0 { (margin.to_bits() >> 16) as u16 } else { 0 })
    }

    /// What is kept.
    pub fn get(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

/// How far components have moved.
#[derive(Debug, Clone)]
pub(super) struct Drift {
    /// 2 |E_k|, and 2 max_z |sum_j z_j A'_k E_j|.
    slopes: Vec<(f64, f64)>,
    /// What G and the floor take.
    fixed: f64,
    /// max_z |z E|, at most.
    span: f64,
}

impl Drift {
    /// From components to others, K x D, with what is known of both row problems.
    pub fn between(before: (&[f64], Bounds), after: (&[f64], Bounds), d: usize) -> Drift {
        let moved: Vec<f64> = after.0.iter().zip(before.0).map(|(a, b)| a - b).collect();
        // The largest of |sum_j z_j a'E_j|: all that are positive, or all that are negative.
        let widest = |a: &[f64]| {
            let mut sums = [0.0; 2];
            for e in moved.chunks_exact(d) {
                let along = dot(a, e);
                sums[usize::from(along < 0.0)] += along.abs();
            }
            sums
        };
        let slopes = moved.chunks_exact(d).zip(after.0.chunks_exact(d)).map(|(e, a)| {
            let [up, down] = widest(a);
            (2.0 * dot(e, e).sqrt(), 2.0 * up.max(down))
        });
        let gram = after.1.gram.iter().zip(before.1.gram).map(|(a, b)| 2.0 * (a - b).abs()).fold(0.0, f64::max);
        let floor = before.1.floor.iter().zip(after.1.floor).map(|(b, a)| b - a).fold(0.0, f64::max);
        Drift {
            slopes: slopes.collect(),
            fixed: gram.max(floor),
            span: moved.chunks_exact(d).map(|e| widest(e)[0]).sum::<f64>().sqrt(),
        }
    }

    /// What margins of rows lose whose residuals were at most so long.
    pub fn of(&self, residual: f32) -> f32 {
        let slope = self.slopes.iter().map(|(share, fixed)| share * f64::from(residual) + fixed).fold(0.0, f64::max);
        (ROUND * (slope + self.fixed)) as f32
    }

    /// How long such residuals may be now.
    pub fn lengthened(&self, residual: f32) -> f32 {
        (ROUND * (f64::from(residual) + self.span)) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::hard::features::glance::tests::{gain, problem_of, residual};
    use crate::hard::features::glance::{Glance, Glanced};
    use crate::random::{Stream, stream};
    use rand::RngExt;

    #[test]
    fn margins_are_kept_without_gain_and_with_little_loss() {
        for margin in [1e-30, 0.3, 1.0, 1.999_999_9, 77.7, 1e30, f32::MAX] {
            let kept = Margin::at_most(margin).get();
            assert!(kept <= margin && kept >= margin * (1.0 - 1.0 / 128.0), "{margin} {kept}");
        }
        for none in [0.0, -0.0, -1.0, f32::NEG_INFINITY, f32::NAN] {
            assert_eq!(Margin::at_most(none).get(), 0.0);
        }
    }

    #[test]
    fn rows_whose_margin_outlasts_the_drift_are_the_best_still() {
        let mut rng = stream(12, Stream::Simulation);
        let (mut outlast, mut lost) = (0, 0);
        for round in 0..80 {
            let (k, d) = (1 + round % 9, [1, 3, 20, 64][round % 4]);
            let a: Vec<f64> = (0..k * d).map(|_| 2.0 * rng.random::<f64>() - 0.8).collect();
            let step = [1e-3, 0.03, 0.1, 0.5][round / 4 % 4];
            let moved: Vec<f64> = a.iter().map(|a| a + step * (rng.random::<f64>() - 0.5)).collect();
            let mut words: Vec<u64> = (0..50).map(|_| rng.random::<u64>() & ((1 << k) - 1)).collect();
            let mut x: Vec<f32> = Vec::new();
            for word in &words {
                let rest = residual(&a, &vec![0.0f32; d], *word);
                x.extend(rest.iter().map(|r| (0.3 * (rng.random::<f64>() - 0.5) - r) as f32));
            }
            let places: Vec<u32> = (0..50).collect();
            let (mut margins, mut residuals) = (vec![0.0; 50], vec![0.0; 50]);
            let glanced = Glanced { words: &mut words, margins: &mut margins, residuals: &mut residuals, seen: true };
            let (before, after) = (problem_of(&a, k, d), problem_of(&moved, k, d));
            Glance::new(&a, d, &before).unwrap().at(Rows::new(&x, d).unwrap(), &places, glanced);
            let bounds = (before.bounds().unwrap(), after.bounds().unwrap());
            let drift = Drift::between((&a, bounds.0), (&moved, bounds.1), d);
            for (i, x) in x.chunks_exact(d).enumerate() {
                let length = residuals[i].sqrt();
                let rest = residual(&moved, x, words[i]);
                assert!(dot(&rest, &rest).sqrt() <= f64::from(drift.lengthened(length)) * (1.0 + 1e-6));
                let left = margins[i] - drift.of(length);
                lost += usize::from(margins[i] > 0.0 && left <= 0.0);
                if left > 0.0 {
                    outlast += 1;
                    for flips in 1u64..1 << k {
                        let gain = gain(&moved, d, &rest, words[i], flips);
                        assert!(gain > 0.0, "K = {k}, D = {d}, moved {step}: flips {flips:b} add {gain}");
                        assert!(!flips.is_power_of_two() || gain > 0.999 * f64::from(left));
                    }
                }
            }
        }
        assert!(outlast > 500 && lost > 100, "{outlast} outlast the drift, {lost} do not");
    }
}
