//! Beta-Bernoulli: a prior over a fixed number of features (Broderick 2013, Eq. 13) and its limits.
//!
//! log p(Z) = sum_k [lgamma(S_k+gamma) + lgamma(N-S_k+1) - lgamma(N+gamma+1) + log gamma];
//! gamma fixed: -2 s2 log p -> 0 (K-features, Eq. 14); gamma = exp(-penalty/(2 s2)): K+ penalty, K+ <= K features with
//! rows (capped BP-means, Eq. 15). With gamma/K it tends to the Indian buffet process as K grows.

use super::crp::{check_finite_logarithm, ln_positive};
use super::ibp::{check_size, ln_of_penalty, ln_repetitions};
use super::rising::ln_rising_rest;
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::ln_factorial;
use crate::structure::Allocation;
use rand::RngExt;

/// Each of `features` features has its own frequency, drawn from Beta(gamma, 1); each row has it with that frequency.
///
/// ```
/// use madbayes::prior::BetaBernoulli;
/// use madbayes::structure::Allocation;
///
/// let prior = BetaBernoulli::new(2, 1.0)?;
/// let [first, both] = [[true, false], [true, true]].map(|row| Allocation::from_bools(1, 2, row));
/// assert!((prior.ln_prob_matrix(&first) - 0.25f64.ln()).abs() < 1e-12);   // one of four matrices
/// assert!((prior.ln_prob(&first) - 0.5f64.ln()).abs() < 1e-12);           // either feature
/// assert!((prior.ln_prob(&both) - 0.25f64.ln()).abs() < 1e-12);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BetaBernoulli {
    /// Number of features, K: never more than this.
    pub features: usize,
    /// log gamma, the first parameter of each frequency's beta law.
    pub ln_gamma: f64,
}

impl Default for BetaBernoulli {
    /// Eight features with gamma = 1: every frequency equally likely.
    fn default() -> Self {
        BetaBernoulli { features: 8, ln_gamma: 0.0 }
    }
}

impl BetaBernoulli {
    /// With Beta(gamma, 1) for the frequency of each feature: its mean is gamma/(gamma+1).
    pub fn new(features: usize, gamma: f64) -> Result<Self> {
        let help = "a larger gamma gives each feature to more rows; 1 makes every frequency equally likely";
        let prior = BetaBernoulli { features, ln_gamma: ln_positive("gamma", gamma, help)? };
        prior.check()?;
        Ok(prior)
    }

    /// With log gamma = -penalty/(2 variance): the small-variance limit charges `penalty` for each feature that some row
    /// has (Broderick 2013, Eq. 15).
    pub fn from_penalty(features: usize, penalty: f64, variance: f64) -> Result<Self> {
        let prior = BetaBernoulli { features, ln_gamma: ln_of_penalty(penalty, variance)? };
        prior.check()?;
        Ok(prior)
    }

    /// Errors when there is no feature or log gamma is not finite.
    pub fn check(&self) -> Result<()> {
        if self.features == 0 || u32::try_from(self.features).is_err() {
            return Err(Error::argument(
                "features",
                "between 1 and 4294967295",
                self.features,
                "it is the largest number of features there may be",
            ));
        }
        check_finite_logarithm("ln_gamma", self.ln_gamma)
    }

    /// Log probability of a matrix (Broderick 2013, Eq. 13); they sum to 1 over all 2^(N K) of them:
    /// sum_k [lgamma(S_k+gamma) + lgamma(N-S_k+1) - lgamma(N+gamma+1) + log gamma].
    ///
    /// A matrix with fewer than K columns stands for itself with empty columns after its own; one with more is
    /// impossible, minus infinity, unless they can be left out because no row has them.
    pub fn ln_prob_matrix(&self, allocation: &Allocation) -> f64 {
        let counts = allocation.counts();
        if counts.iter().skip(self.features).any(|count| *count > 0) {
            return f64::NEG_INFINITY;
        }
        self.ln_prob_of_counts(allocation.n_rows(), &counts)
    }

    /// Log probability of the features in whatever order, columns that no row has ignored: Eq. 13 times the
    /// K!/((K-K+)! prod_h K_h!) ways to place the K+ others, K_h of which share the h-th distinct column.
    ///
    /// Minus infinity when there are more than K features.
    pub fn ln_prob(&self, allocation: &Allocation) -> f64 {
        let counts = allocation.counts();
        let used: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
        let Some(spare) = self.features.checked_sub(used.len()) else {
            return f64::NEG_INFINITY;
        };
        let ways: f64 = (spare + 1..=self.features).map(|way| (way as f64).ln()).sum();
        self.ln_prob_of_counts(allocation.n_rows(), &counts) + ways - ln_repetitions(&allocation.select(&used))
    }

    /// Eq. 13 from the counts, empty columns being all alike. Each term is split as log gamma + the rest, so that a tiny
    /// gamma cancels exactly in columns that no row has.
    fn ln_prob_of_counts(&self, n_rows: usize, counts: &[usize]) -> f64 {
        let with_rows: f64 = counts
            .iter()
            .filter(|&&count| count > 0)
            .map(|&count| {
                self.ln_gamma + ln_rising_rest(self.ln_gamma, count) + ln_factorial(n_rows - count)
                    - ln_rising_rest(self.ln_gamma, n_rows + 1)
            })
            .sum();
        let n_empty = self.features - counts.iter().filter(|&&count| count > 0).count();
        with_rows + n_empty as f64 * self.ln_empty(n_rows)
    }

    /// Log probability that none of N rows has a feature: -sum over i = 1..N of log(1 + gamma/i). Summed, because the
    /// difference of log gamma functions loses all digits where gamma/K is tiny and K large.
    fn ln_empty(&self, n_rows: usize) -> f64 {
        let gamma = self.ln_gamma.exp();
        if gamma.is_finite() {
            -(1..=n_rows).map(|i| (gamma / i as f64).ln_1p()).sum::<f64>()
        } else {
            ln_factorial(n_rows) - ln_rising_rest(self.ln_gamma, n_rows + 1)
        }
    }

    /// The limit of -2 s2 log p as s2 -> 0 with gamma = exp(-penalty/(2 s2)): K+ penalty, infinite for more features
    /// than K (Broderick 2013, Eq. 15). Penalty 0 is the limit with gamma fixed: K-features (Eq. 14).
    pub fn charge(&self, n_features: usize, penalty: f64) -> f64 {
        if n_features > self.features { f64::INFINITY } else { n_features as f64 * penalty }
    }

    /// An N x K matrix, columns that no row has included.
    ///
    /// Errors when it would not fit into memory. Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Result<Allocation> {
        check_size("features", self.features, n, self.features as f64)?;
        let gamma = self.ln_gamma.exp();
        // The distribution function of Beta(gamma, 1) is p^gamma.
        let frequencies: Vec<f64> =
            (0..self.features).map(|_| ((1.0 - rng.random::<f64>()).ln() / gamma).exp()).collect();
        let mut allocation = Allocation::new(n, self.features);
        for row in 0..n {
            for (feature, frequency) in frequencies.iter().enumerate() {
                allocation.set(row, feature, rng.random::<f64>() < *frequency);
            }
        }
        Ok(allocation)
    }

    /// Expected number of features that some of `n` rows has: K [1 - prod over i = 1..n of i/(i+gamma)].
    pub fn expected_features(&self, n: usize) -> f64 {
        -(self.features as f64) * self.ln_empty(n).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::Ibp;
    use crate::random::{Stream, stream};

    #[test]
    fn probabilities_of_all_matrices_sum_to_one() {
        for ln_gamma in [-40.0, -1.5, 0.0, 2.0] {
            for (n, k) in [(0, 2), (1, 1), (1, 3), (2, 2), (3, 2), (2, 4), (4, 3)] {
                let prior = BetaBernoulli { features: k, ln_gamma };
                let total: f64 = Allocation::all(n, k).map(|a| prior.ln_prob_matrix(&a).exp()).sum();
                assert!((total - 1.0).abs() < 1e-12, "{n} x {k}: {total}");
            }
        }
    }

    #[test]
    fn a_matrix_has_the_probability_of_its_bits_in_turn() {
        // The chance that row i (from 0) has a feature that m rows before it have is (gamma+m)/(gamma+1+i).
        for gamma in [0.3f64, 1.0, 5.0] {
            let prior = BetaBernoulli::new(2, gamma).unwrap();
            for allocation in Allocation::all(4, 2) {
                let mut expected = 0.0;
                for feature in 0..2 {
                    let mut before = 0.0;
                    for row in 0..4 {
                        let chance = (gamma + before) / (gamma + 1.0 + row as f64);
                        let on = allocation.get(row, feature);
                        expected += if on { chance } else { 1.0 - chance }.ln();
                        before += f64::from(u8::from(on));
                    }
                }
                let found = prior.ln_prob_matrix(&allocation);
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
        }
    }

    #[test]
    fn features_have_the_probability_of_all_matrices_with_them() {
        let prior = BetaBernoulli::new(3, 0.6).unwrap();
        let mut sums = std::collections::HashMap::new();
        for matrix in Allocation::all(3, 3) {
            *sums.entry(matrix.left_ordered()).or_insert(0.0) += prior.ln_prob_matrix(&matrix).exp();
        }
        assert!(sums.len() > 100);
        for (features, sum) in sums {
            let found = prior.ln_prob(&features).exp();
            assert!((found - sum).abs() < 1e-13, "{found} {sum}");
        }
    }

    #[test]
    fn with_gamma_shared_by_many_features_it_is_the_indian_buffet_process() {
        let mass: f64 = 1.4;
        let ibp = Ibp::new(mass).unwrap();
        let worst = |features: usize| {
            let prior = BetaBernoulli::new(features, mass / features as f64).unwrap();
            (0..=4)
                .flat_map(|k| Allocation::all_multisets(3, k))
                .map(|a| (prior.ln_prob(&a) - ibp.ln_prob(&a)).abs())
                .fold(0.0, f64::max)
        };
        // The difference falls as 1/K.
        let differences = [1000, 10_000, 100_000, 1_000_000].map(worst);
        assert!(differences[0] < 0.02, "{differences:?}");
        for pair in differences.windows(2) {
            assert!((pair[0] / pair[1] - 10.0).abs() < 0.2, "{differences:?}");
        }
        for n in [1, 5, 30] {
            let found = BetaBernoulli::new(1_000_000, mass / 1e6).unwrap().expected_features(n);
            assert!((found - ibp.expected_features(n)).abs() < 1e-4, "{found}");
        }
    }

    #[test]
    fn matrices_are_drawn_as_often_as_their_probability_says() {
        let prior = BetaBernoulli::new(2, 0.8).unwrap();
        let mut rng = stream(3, Stream::Prior);
        let n_draws = 100_000;
        let mut counts = std::collections::HashMap::new();
        for _ in 0..n_draws {
            *counts.entry(prior.sample(2, &mut rng).unwrap()).or_insert(0u32) += 1;
        }
        for matrix in Allocation::all(2, 2) {
            let p = prior.ln_prob_matrix(&matrix).exp();
            let share = f64::from(counts[&matrix]) / f64::from(n_draws);
            let z = (share - p) / (p * (1.0 - p) / f64::from(n_draws)).sqrt();
            assert!(z.abs() < 4.0, "{matrix:?}: {share}, {p}");
        }
    }

    #[test]
    fn extreme_gammas_give_all_or_nothing() {
        let mut rng = stream(4, Stream::Prior);
        let [none, all] = [-1e6, 1e6].map(|ln_gamma| BetaBernoulli { features: 3, ln_gamma });
        let full = Allocation::from_bools(5, 3, [true; 15]);
        assert_eq!(none.sample(5, &mut rng).unwrap(), Allocation::new(5, 3));
        assert_eq!(all.sample(5, &mut rng).unwrap(), full);
        assert_eq!((none.ln_prob(&Allocation::new(5, 3)), none.expected_features(5)), (0.0, 0.0));
        assert_eq!((all.ln_prob(&full), all.expected_features(5)), (0.0, 3.0));
        assert!((none.ln_prob(&full) - (-3e6 + 3.0 * (0.2f64).ln())).abs() < 1e-8);
    }

    #[test]
    fn columns_beyond_the_features_are_impossible_unless_empty() {
        let prior = BetaBernoulli::new(2, 1.0).unwrap();
        let three = Allocation::from_bools(1, 3, [true; 3]);
        assert_eq!((prior.ln_prob(&three), prior.ln_prob_matrix(&three)), (f64::NEG_INFINITY, f64::NEG_INFINITY));
        let [padded, plain, short] = [vec![true, false, false], vec![true, false], vec![true]]
            .map(|row| Allocation::from_bools(1, row.len(), row));
        assert_eq!(prior.ln_prob_matrix(&padded), prior.ln_prob_matrix(&plain));
        assert_eq!(prior.ln_prob_matrix(&short), prior.ln_prob_matrix(&plain));
    }

    #[test]
    fn what_is_no_prior_is_refused() {
        let error = BetaBernoulli::new(0, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("features must be between 1 and 4294967295, got 0"), "{error}");
        let error = BetaBernoulli::new(2, -1.0).unwrap_err().to_string();
        assert!(error.starts_with("gamma must be a positive finite number, got -1"), "{error}");
        let error =
            BetaBernoulli::new(5_000_000, 1.0).unwrap().sample(3000, &mut stream(0, Stream::Prior)).unwrap_err();
        assert!(error.to_string().starts_with("features must be small enough for 1e7 features and 1e10 entries"));
        assert!(BetaBernoulli { features: 2, ln_gamma: f64::NAN }.check().is_err());
        assert_eq!(BetaBernoulli::from_penalty(4, 3.0, 0.25).unwrap().ln_gamma, -6.0);
        assert!(BetaBernoulli::from_penalty(4, 0.0, 0.25).is_err());
    }
}
