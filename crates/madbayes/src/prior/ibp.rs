//! Indian buffet process: a prior over feature allocations (Broderick 2013, Eq. 4) and its limit.
//!
//! log p(Z) = K log gamma - gamma H_N - sum_h log K_h! + sum_k [lgamma(S_k) + lgamma(N-S_k+1) - lgamma(N+1)], with K_h
//! the number of features that share the h-th distinct column and H_N = 1 + 1/2 + ... + 1/N;
//! with gamma = exp(-penalty/(2 s2)), -2 s2 log p(Z) -> K penalty as s2 -> 0.

use super::concentration::draw_gamma;
use super::crp::{check_finite_logarithm, ln_positive};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::{harmonic, ln_factorial, ln_gamma};
use crate::structure::Allocation;
use rand::RngExt;
use rand_distr::Poisson;

/// The Indian buffet process: row n (from 1) takes each feature with probability m_k/n, m_k the rows before it that
/// have the feature, then Poisson(gamma/n) new ones.
///
/// It is a law over features, which are columns with at least one row, in no order: a column that no row has is no
/// feature and counts for nothing.
///
/// ```
/// use madbayes::prior::Ibp;
/// use madbayes::random::{Stream, stream};
/// use madbayes::structure::Allocation;
///
/// let ibp = Ibp::new(2.0)?;
/// let none = Allocation::new(3, 0);
/// assert!((ibp.ln_prob(&none) + 2.0 * (1.0 + 1.0 / 2.0 + 1.0 / 3.0)).abs() < 1e-12);
/// let allocation = ibp.sample(100, &mut stream(0, Stream::Prior))?;
/// assert_eq!(allocation.n_rows(), 100);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ibp {
    /// log gamma. Its logarithm, because gamma itself underflows in the limit.
    pub ln_mass: f64,
}

impl Default for Ibp {
    /// Mass 1.
    fn default() -> Self {
        Ibp { ln_mass: 0.0 }
    }
}

impl Ibp {
    /// With mass gamma: Poisson(gamma) features in each row, gamma H_N expected features among N rows.
    pub fn new(mass: f64) -> Result<Self> {
        Ok(Ibp { ln_mass: ln_positive("mass", mass, MASS_HELP)? })
    }

    /// With log gamma = -penalty/(2 variance): the mass whose small-variance limit charges `penalty` for each feature
    /// (Broderick 2013, Sec. 3).
    pub fn from_penalty(penalty: f64, variance: f64) -> Result<Self> {
        let ibp = Ibp { ln_mass: ln_of_penalty(penalty, variance)? };
        ibp.check()?;
        Ok(ibp)
    }

    /// Errors when the logarithm of the mass is not finite.
    pub fn check(&self) -> Result<()> {
        check_finite_logarithm("ln_mass", self.ln_mass)
    }

    /// Log probability of the features (Broderick 2013, Eq. 4), in whatever order; they sum to 1 over all multisets of
    /// nonempty columns:
    /// K log gamma - gamma H_N - sum_h log K_h! + sum_k [lgamma(S_k) + lgamma(N-S_k+1) - lgamma(N+1)].
    ///
    /// Columns that no row has are ignored.
    pub fn ln_prob(&self, allocation: &Allocation) -> f64 {
        let n_rows = allocation.n_rows();
        let counts = allocation.counts();
        let used: Vec<usize> = (0..counts.len()).filter(|&k| counts[k] > 0).collect();
        let columns: f64 = used.iter().map(|&k| ln_column(n_rows, counts[k])).sum();
        let expected = self.expected_features(n_rows);
        used.len() as f64 * self.ln_mass - expected - ln_repetitions(&allocation.select(&used)) + columns
    }

    /// The limit of -2 s2 log p as s2 -> 0 with gamma = exp(-penalty/(2 s2)): K penalty; the first feature pays too.
    pub fn charge(&self, n_features: usize, penalty: f64) -> f64 {
        n_features as f64 * penalty
    }

    /// The features of `n` rows, in order of first appearance and each with a row: the buffet.
    ///
    /// Errors when more features or entries are to be expected than a draw can hold.
    /// Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Result<Allocation> {
        check_size("mass", self.ln_mass.exp(), n, self.expected_features(n))?;
        let mass = self.ln_mass.exp();
        let mut counts: Vec<usize> = Vec::new();
        let mut taken: Vec<Vec<usize>> = Vec::with_capacity(n);
        for row in 1..=n {
            let mut dishes: Vec<usize> =
                (0..counts.len()).filter(|&k| rng.random::<f64>() * (row as f64) < counts[k] as f64).collect();
            dishes.iter().for_each(|&k| counts[k] += 1);
            // A mass that underflows offers nothing new.
            if let Ok(poisson) = Poisson::new(mass / row as f64) {
                let fresh = rng.sample(poisson) as usize;
                dishes.extend(counts.len()..counts.len() + fresh);
                counts.resize(counts.len() + fresh, 1);
            }
            taken.push(dishes);
        }
        let mut allocation = Allocation::new(n, counts.len());
        for (row, dishes) in taken.iter().enumerate() {
            dishes.iter().for_each(|&k| allocation.set(row, k, true));
        }
        Ok(allocation)
    }

    /// Expected number of features among `n` rows: gamma H_n. The number itself is Poisson with this mean.
    pub fn expected_features(&self, n: usize) -> f64 {
        // Not exp(log gamma) * 0 without rows, which is not a number where gamma overflows.
        if n == 0 { 0.0 } else { self.ln_mass.exp() * harmonic(n) }
    }
}

const MASS_HELP: &str = "it is the expected number of features of a row; 1 is a usual choice";

/// The error of a draw that would not fit into memory; `value` is what the number of features is due to.
pub(super) fn check_size(argument: &'static str, value: impl ToString, n: usize, features: f64) -> Result<()> {
    if u32::try_from(n).is_err() {
        return Err(Error::argument("n", "between 0 and 4294967295", n, "it is the number of rows to draw"));
    }
    if features > MOST_FEATURES || features * n as f64 > MOST_ENTRIES {
        return Err(Error::argument(
            argument,
            format!("small enough for {MOST_FEATURES:e} features and {MOST_ENTRIES:e} entries"),
            value,
            format!("about {features:.0} features of {n} rows are to be expected; take fewer of either"),
        ));
    }
    Ok(())
}

/// A draw with more features or entries than this would not fit into memory.
const MOST_FEATURES: f64 = 1e7;
const MOST_ENTRIES: f64 = 1e10;

/// -penalty/(2 variance), of arguments that must be positive and finite.
pub(super) fn ln_of_penalty(penalty: f64, variance: f64) -> Result<f64> {
    ln_positive("penalty", penalty, "it is the price of one more feature in squared-distance units")?;
    ln_positive("variance", variance, "it is the variance of the rows about the sum of their features")?;
    Ok(-penalty / (2.0 * variance))
}

/// log[(S-1)! (N-S)!/N!]: the mean number of features on exactly S given rows, for mass 1.
fn ln_column(n_rows: usize, count: usize) -> f64 {
    ln_gamma(count as f64) + ln_factorial(n_rows - count) - ln_factorial(n_rows)
}

/// sum_h log K_h!, over the distinct columns.
pub(super) fn ln_repetitions(allocation: &Allocation) -> f64 {
    allocation.multiplicities().into_iter().map(ln_factorial).sum()
}

/// A draw of the mass given that N rows have K features, with gamma ~ Gamma(shape, rate) beforehand: since
/// p(Z | gamma) is proportional to gamma^K exp(-gamma H_N) (Broderick 2013, Eq. 4), gamma ~ Gamma(shape + K, rate + H_N).
///
/// # Panics
/// When `shape` and `rate` would not pass [`Concentration::check`](super::Concentration::check).
pub fn resample_mass(n_rows: usize, n_features: usize, shape: f64, rate: f64, rng: &mut Rng) -> f64 {
    draw_gamma(shape + n_features as f64, rate + harmonic(n_rows), rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rstest::rstest;

    #[test]
    fn a_column_counts_as_often_as_a_poisson_number_says() {
        // Each nonempty subset of S rows is the column of Poisson(gamma (S-1)! (N-S)!/N!) features, independently.
        let gamma: f64 = 1.7;
        let ibp = Ibp::new(gamma).unwrap();
        let rate = |count: usize| gamma * [1.0 / 3.0, 1.0 / 6.0, 1.0 / 3.0][count - 1];
        for k in 0..=4 {
            for allocation in Allocation::all_multisets(3, k) {
                let mut expected = 0.0;
                for code in 1u32..8 {
                    let column: Vec<bool> = (0..3).map(|row| code >> row & 1 == 1).collect();
                    let copies = (0..k).filter(|&f| allocation.column(f) == column).count();
                    let rate = rate(code.count_ones() as usize);
                    expected += copies as f64 * rate.ln() - rate - (1..=copies).map(|i| (i as f64).ln()).sum::<f64>();
                }
                let found = ibp.ln_prob(&allocation);
                assert!((found - expected).abs() < 1e-12, "{found} {expected} {allocation:?}");
            }
        }
    }

    #[test]
    fn underflowing_masses_keep_their_logarithm() {
        let ibp = Ibp { ln_mass: -1e6 };
        assert_eq!(ibp.ln_prob(&Allocation::new(4, 0)), 0.0);
        let two = Allocation::from_columns(2, &[[true, true], [true, false]]);
        assert!((ibp.ln_prob(&two) - (-2e6 - 4f64.ln())).abs() < 1e-9);
        assert_eq!(ibp.sample(50, &mut stream(0, Stream::Prior)).unwrap(), Allocation::new(50, 0));
        assert_eq!(ibp.expected_features(50), 0.0);
    }

    #[test]
    fn draws_that_memory_cannot_hold_are_refused() {
        let mut rng = stream(0, Stream::Prior);
        for (ln_mass, n) in [(1e6, 1), (17.0, 2), (10.0, 10_000_000)] {
            let error = Ibp { ln_mass }.sample(n, &mut rng).unwrap_err().to_string();
            assert!(error.starts_with("mass must be small enough for 1e7 features and 1e10 entries, got "), "{error}");
        }
        let error = Ibp { ln_mass: -50.0 }.sample(1 << 40, &mut rng).unwrap_err().to_string();
        assert!(error.starts_with("n must be between 0 and 4294967295, got 1099511627776"), "{error}");
        assert_eq!(Ibp { ln_mass: 1e6 }.sample(0, &mut rng).unwrap(), Allocation::new(0, 0));
    }

    #[test]
    fn every_feature_of_a_draw_has_a_row_and_rows_have_as_many_features_as_the_mass() {
        let ibp = Ibp::new(3.0).unwrap();
        let mut rng = stream(1, Stream::Prior);
        let (n_draws, n_rows) = (4000, 10);
        let mut of_row = vec![0.0; n_rows];
        for _ in 0..n_draws {
            let allocation = ibp.sample(n_rows, &mut rng).unwrap();
            assert!(allocation.counts().iter().all(|count| *count > 0));
            (0..n_rows).for_each(|row| of_row[row] += allocation.features_of(row).count() as f64);
        }
        for total in of_row {
            let z = (total - 3.0 * f64::from(n_draws)) / (3.0 * f64::from(n_draws)).sqrt();
            assert!(z.abs() < 4.0, "{total}, z = {z}");
        }
    }

    #[rstest]
    #[case::few_rows(3, 2, 1.0, 1.0)]
    #[case::no_feature(3, 0, 0.5, 2.0)]
    #[case::no_rows(0, 0, 2.0, 0.7)]
    fn resampled_masses_have_the_quantiles_of_prior_times_probability(
        #[case] n_rows: usize,
        #[case] n_features: usize,
        #[case] shape: f64,
        #[case] rate: f64,
    ) {
        let allocation = Allocation::from_bools(n_rows, n_features, vec![true; n_rows * n_features]);
        let step = 1e-4;
        let grid: Vec<f64> = (-250_000..40_000).map(|i| step * f64::from(i)).collect();
        // One more log gamma: the grid is in log gamma.
        let ln_density = |l: f64| shape * l - rate * l.exp() + Ibp { ln_mass: l }.ln_prob(&allocation);
        let densities: Vec<f64> = grid.iter().map(|&l| ln_density(l).exp()).collect();
        let total: f64 = densities.iter().sum();
        let mut rng = stream(2, Stream::Prior);
        let n_draws = 40_000;
        let draws: Vec<f64> =
            (0..n_draws).map(|_| resample_mass(n_rows, n_features, shape, rate, &mut rng).ln()).collect();
        let mut below = 0.0;
        let mut wanted = [0.05, 0.25, 0.5, 0.75, 0.95].into_iter().peekable();
        for (l, density) in grid.iter().zip(&densities) {
            below += density / total;
            if let Some(p) = wanted.next_if(|p| below >= *p) {
                let share = draws.iter().filter(|draw| *draw <= l).count() as f64 / f64::from(n_draws);
                let z = (share - p) / (p * (1.0 - p) / f64::from(n_draws)).sqrt();
                assert!(z.abs() < 4.0, "share below the {p} quantile is {share}, z = {z}");
            }
        }
        assert_eq!(wanted.next(), None);
    }

    #[test]
    fn a_mass_from_a_penalty_halves_it_by_the_variance() {
        assert_eq!(Ibp::from_penalty(3.0, 0.25).unwrap().ln_mass, -6.0);
        let error = Ibp::from_penalty(-1.0, 1.0).unwrap_err().to_string();
        assert_eq!(
            error,
            "penalty must be a positive finite number, got -1: it is the price of one more feature in squared-distance units"
        );
        assert!(Ibp::from_penalty(1.0, 0.0).is_err());
        assert!(Ibp::from_penalty(1e300, 1e-300).is_err(), "the logarithm overflows");
    }

    #[test]
    fn masses_that_are_not_positive_and_finite_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Ibp::new(bad).unwrap_err().to_string();
            assert!(error.starts_with("mass must be a positive finite number, got "), "{error}");
        }
        assert!(Ibp { ln_mass: f64::NEG_INFINITY }.check().is_err());
        assert_eq!(Ibp::new(1.0).unwrap(), Ibp::default());
    }
}
