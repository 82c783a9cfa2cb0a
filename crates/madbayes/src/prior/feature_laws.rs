//! The laws every prior over feature allocations obeys, given to each by one line of `feature_prior_laws!`.

use super::{BetaBernoulli, Ibp};
use crate::random::{Rng, Stream, stream};
use crate::structure::Allocation;
use rand::RngExt;
use statrs::distribution::{ChiSquared, ContinuousCDF, Discrete, Poisson};
use std::collections::HashMap;

/// `feature_prior_laws!(name, |ln_mass| prior, |ln_mass, n, k| P(K = k))`: the prior has `ln_prob`, `charge`, `sample` and
/// `expected_features`; the last is the law of the number of features among n rows.
macro_rules! feature_prior_laws {
    ($name:ident, $prior:expr, $number:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn probabilities_of_all_multisets_of_columns_sum_to_that_of_their_number() {
                for ln_mass in [-40.0, -1.5, 0.0, 1.0] {
                    let prior = ($prior)(ln_mass);
                    super::sums_to_the_number(|a| prior.ln_prob(a), |n, k| ($number)(ln_mass, n, k));
                }
            }

            #[test]
            fn permuting_rows_or_columns_or_adding_empty_columns_changes_no_probability() {
                super::is_exchangeable(|a| ($prior)(0.4).ln_prob(a));
            }

            #[test]
            fn the_log_probability_tends_to_the_charge() {
                for penalty in [2.5, 0.0] {
                    super::tends_to_the_charge(
                        |ln_mass, a| ($prior)(ln_mass).ln_prob(a),
                        |k| ($prior)(0.0).charge(k, penalty),
                        penalty,
                    );
                }
            }

            #[test]
            fn samples_match_their_probabilities() {
                for ln_mass in [-1.0, 0.0, 0.7] {
                    let prior = ($prior)(ln_mass);
                    super::samples_match(|n, rng| prior.sample(n, rng).unwrap(), |a| prior.ln_prob(a));
                }
            }

            #[test]
            fn samples_have_the_expected_number_of_features() {
                for ln_mass in [-3.0, 0.0, 1.0] {
                    let prior = ($prior)(ln_mass);
                    super::features_match(|n, rng| prior.sample(n, rng).unwrap(), |n| prior.expected_features(n));
                }
            }
        }
    };
}

feature_prior_laws!(ibp, |ln_mass| Ibp { ln_mass }, |ln_mass: f64, n: usize, k: u64| {
    let mean = ln_mass.exp() * (1..=n).map(|i| 1.0 / i as f64).sum::<f64>();
    Poisson::new(mean).unwrap().pmf(k)
});
feature_prior_laws!(
    beta_bernoulli,
    |ln_gamma| BetaBernoulli { features: 4, ln_gamma },
    |ln_gamma: f64, n: usize, k: u64| {
        // Features are independent, and each has no row with probability prod i/(i+gamma).
        let empty: f64 = (1..=n).map(|i| i as f64 / (i as f64 + ln_gamma.exp())).product();
        let used: f64 = (1..=n).map(|i| (ln_gamma.exp() / i as f64).ln_1p()).sum::<f64>();
        let ways = [1.0, 4.0, 6.0, 4.0, 1.0].get(k as usize).copied().unwrap_or(0.0);
        ways * (-(-used).exp_m1()).powi(k as i32) * empty.powi(4 - k as i32)
    }
);

/// Summed over all multisets of K columns, for each K: with the law of K given, the rest beyond the largest K is known.
fn sums_to_the_number(ln_prob: impl Fn(&Allocation) -> f64, number: impl Fn(usize, u64) -> f64) {
    for n in 1..=3 {
        let mut total = 0.0;
        for k in 0..=6 {
            let sum: f64 = Allocation::all_multisets(n, k).map(|a| ln_prob(&a).exp()).sum();
            let expected = number(n, k as u64);
            assert!((sum - expected).abs() < 1e-12 * (1.0 + expected), "{n} rows, {k} features: {sum} {expected}");
            assert!(expected == 0.0 || (sum / expected - 1.0).abs() < 1e-9, "{n} rows, {k} features: {sum} {expected}");
            total += sum;
        }
        let beyond: f64 = (7..80).map(|k| number(n, k)).sum();
        assert!((total + beyond - 1.0).abs() < 1e-12, "{n} rows: {total} + {beyond}");
    }
    assert_eq!(ln_prob(&Allocation::new(0, 0)), 0.0);
}

fn is_exchangeable(ln_prob: impl Fn(&Allocation) -> f64) {
    let mut rng = stream(0, Stream::Prior);
    let mut shuffled = |n: usize| {
        let mut order: Vec<usize> = (0..n).collect();
        (1..n).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
        order
    };
    for allocation in (0..=4).flat_map(|k| Allocation::all_multisets(4, k)).step_by(7) {
        let mut other = allocation.select_rows(&shuffled(4)).select(&shuffled(allocation.n_features()));
        other.push();
        let (a, b) = (ln_prob(&allocation), ln_prob(&other));
        assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()), "{a} is not {b}: {allocation:?}");
    }
}

/// With log gamma = -penalty/(2 s2): -2 s2 log p -> charge.
fn tends_to_the_charge(ln_prob: impl Fn(f64, &Allocation) -> f64, charge: impl Fn(usize) -> f64, penalty: f64) {
    for variance in [1e-2, 1e-4, 1e-6] {
        let ln_mass = -penalty / (2.0 * variance);
        for allocation in (0..=5).flat_map(|k| Allocation::all_multisets(3, k)) {
            let limit = charge(allocation.n_features());
            let found = -2.0 * variance * ln_prob(ln_mass, &allocation);
            // What is left is 2 s2 times logarithms of factorials.
            assert!(found == limit || (found - limit).abs() < 60.0 * variance, "{found} {limit}: {allocation:?}");
        }
    }
}

/// Chi-square test over the multisets of columns of three rows; rare ones are counted together.
fn samples_match(sample: impl Fn(usize, &mut Rng) -> Allocation, ln_prob: impl Fn(&Allocation) -> f64) {
    let n_draws = 100_000;
    let mut rng = stream(5, Stream::Prior);
    let mut counts: HashMap<Allocation, u32> = HashMap::new();
    for _ in 0..n_draws {
        let drawn = sample(3, &mut rng);
        let used: Vec<usize> = (0..drawn.n_features()).filter(|&k| drawn.column(k).contains(&true)).collect();
        *counts.entry(drawn.select(&used).left_ordered()).or_insert(0) += 1;
    }
    let all: Vec<Allocation> = (0..=5).flat_map(|k| Allocation::all_multisets(3, k)).collect();
    let (mut statistic, mut cells, mut common, mut rare) = (0.0, 0.0, 0.0, f64::from(n_draws));
    for allocation in &all {
        let expected = f64::from(n_draws) * ln_prob(allocation).exp();
        if expected > 10.0 {
            let found = f64::from(counts.remove(allocation).unwrap_or(0));
            statistic += (found - expected).powi(2) / expected;
            cells += 1.0;
            common += expected;
            rare -= found;
        }
    }
    let expected_rare = f64::from(n_draws) - common;
    assert!(cells > 20.0 && expected_rare > 10.0, "{cells} cells, {expected_rare} rare draws");
    statistic += (rare - expected_rare).powi(2) / expected_rare;
    for allocation in counts.keys() {
        assert!(ln_prob(allocation) > f64::NEG_INFINITY, "impossible features were drawn: {allocation:?}");
    }
    let p_value = ChiSquared::new(cells).unwrap().sf(statistic);
    assert!(p_value > 1e-3, "p = {p_value}");
}

fn features_match(sample: impl Fn(usize, &mut Rng) -> Allocation, expected_features: impl Fn(usize) -> f64) {
    let n_draws = 5_000;
    let mut rng = stream(6, Stream::Prior);
    let used = |a: Allocation| a.counts().iter().filter(|count| **count > 0).count() as f64;
    let counts: Vec<f64> = (0..n_draws).map(|_| used(sample(20, &mut rng))).collect();
    let n = f64::from(n_draws);
    let mean = counts.iter().sum::<f64>() / n;
    let error = (counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
    let z = (mean - expected_features(20)) / error;
    assert!(z.abs() < 4.0, "mean {mean}, expected {}, z = {z}", expected_features(20));
    assert_eq!(expected_features(0), 0.0);
}
