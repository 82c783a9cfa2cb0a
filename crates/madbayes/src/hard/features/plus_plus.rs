//! The paper's `++` start: a base feature, then residuals drawn by their squares (Broderick 2013, Sec. 5).

use super::FeatureGoal;
use crate::data::Data;
use crate::linalg::dot;
use crate::random::Rng;
use crate::structure::Allocation;
use rand::RngExt;

/// Feature 1 is on for every row and is their mean. Then, up to `cap` features, or while the objective falls: a row is drawn
/// with probability proportional to its squared residual; that residual a is the next feature, on where 2 r'a > |a|^2.
pub(super) fn plus_plus(data: &Data<f64>, goal: FeatureGoal, cap: usize, rng: &mut Rng) -> Allocation {
    let (n, d) = (data.n_rows(), data.n_columns());
    let mut residuals: Vec<f64> = data.rows().values().to_vec();
    let mut mean = vec![0.0; d];
    residuals.chunks_exact(d).for_each(|row| mean.iter_mut().zip(row).for_each(|(m, x)| *m += x));
    mean.iter_mut().for_each(|m| *m /= n as f64);
    residuals.chunks_exact_mut(d).for_each(|row| row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m));
    let mut squares: Vec<f64> = residuals.chunks_exact(d).map(|r| dot(r, r)).collect();
    let whole: f64 = squares.iter().sum();
    let mut columns = vec![vec![true; n]];
    while columns.len() < cap {
        let total: f64 = squares.iter().sum();
        if total <= 1e-24 * whole {
            break;
        }
        let mut at = rng.random::<f64>() * total;
        let row = squares.iter().position(|s| {
            at -= s;
            at < 0.0
        });
        let row = row.unwrap_or(n - 1);
        let feature = residuals[row * d..(row + 1) * d].to_vec();
        let square = squares[row];
        // What the feature adds to the loss of each row it is on for: |a|^2 - 2 r'a.
        let added: Vec<f64> = residuals.chunks_exact(d).map(|r| square - 2.0 * dot(r, &feature)).collect();
        let gain: f64 = added.iter().filter(|a| **a < 0.0).sum();
        if goal.penalty() > 0.0 && gain + goal.penalty() >= 0.0 {
            break;
        }
        for (m, add) in added.iter().enumerate().filter(|(_, a)| **a < 0.0) {
            residuals[m * d..(m + 1) * d].iter_mut().zip(&feature).for_each(|(r, a)| *r -= a);
            squares[m] = (squares[m] + add).max(0.0);
        }
        columns.push(added.iter().map(|a| *a < 0.0).collect());
    }
    Allocation::from_columns(n, &columns)
}
