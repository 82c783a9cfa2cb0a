//! What split-merge moves have in common: their two anchor rows, and how the second is found.

use crate::random::{Rng, draw_ln_weights};
use crate::special::ln_sum_exp;
use crate::sweep::{LiveLabels, ROWS_PER_POLL};
use crate::watch::{Step, Watch};
use rand::RngExt;
use std::ops::ControlFlow;

/// The share of merges whose second group is any with equal probability; the others are drawn to where row i fits.
const UNIFORM: f64 = 0.1;

/// A group other than a, as `ln_choice` says.
pub(super) fn draw_other(scores: &mut [f64], a: usize, rng: &mut Rng) -> usize {
    let k = scores.len();
    if rng.random::<f64>() < UNIFORM {
        return (a + 1 + rng.random_range(0..k - 1)) % k;
    }
    scores[a] = f64::NEG_INFINITY;
    draw_ln_weights(scores, rng)
}

/// log (n-1)/n_b, from the sizes of a and b.
pub(super) fn ln_pairs([a, b]: [usize; 2]) -> f64 {
    ((a + b - 1) as f64 / b as f64).ln()
}

/// log(1 + exp(x)).
pub(super) fn softplus(x: f64) -> f64 {
    if x > 30.0 { x } else { x.exp().ln_1p() }
}

/// log w_b = log [u / (K-1) + (1 - u) p_b(x_i) / sum over c != a of p_c(x_i)]; `scores` are log p_c for all K groups.
pub(super) fn ln_choice(scores: &mut [f64], a: usize, b: usize) -> f64 {
    scores[a] = f64::NEG_INFINITY;
    let fitting = (scores[b] - ln_sum_exp(scores)).exp();
    (UNIFORM / (scores.len() - 1) as f64 + (1.0 - UNIFORM) * fitting).ln()
}

pub(super) fn nth_member(labels: &LiveLabels, group: usize, n: usize) -> usize {
    (0..labels.n_rows()).filter(|&row| labels.group(row) == group).nth(n).expect("as many rows as the group has")
}

pub(super) fn logistic(ln_odds: f64) -> f64 {
    1.0 / (1.0 + (-ln_odds).exp())
}

pub(super) fn shuffle(rows: &mut [usize], rng: &mut Rng) {
    for i in (1..rows.len()).rev() {
        rows.swap(i, rng.random_range(0..=i));
    }
}

pub(super) fn poll(visited: usize, watch: &dyn Watch) -> ControlFlow<()> {
    if visited.is_multiple_of(ROWS_PER_POLL) { watch.step(&Step::Chunk) } else { ControlFlow::Continue(()) }
}
