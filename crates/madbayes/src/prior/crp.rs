//! Chinese restaurant process: a prior over partitions (Broderick 2013, Eq. 1) and its limit.
//!
//! log p(z) = (K-1) log theta + lgamma(theta+1) - lgamma(theta+N) + sum_k lgamma(S_k);
//! with theta = exp(-penalty/(2 s2)), -2 s2 log p(z) -> (K-1) penalty as s2 -> 0.

use super::Seats;
use super::cap::Cap;
use super::concentration::{Concentration, resample_concentration};
use super::rising::{fresh_probability, ln_rising_rest};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::ln_gamma;
use crate::structure::Partition;
use rand::RngExt;

/// The Chinese restaurant process: row i (from 0) opens a new group with probability theta/(theta+i), else it joins
/// a group in proportion to its size.
///
/// ```
/// use madbayes::prior::Crp;
/// use madbayes::random::{Stream, stream};
/// use madbayes::structure::Partition;
///
/// let crp = Crp::new(1.0)?;
/// let two_and_one = Partition::from_labels([0, 0, 1]);
/// assert!((crp.ln_prob(&two_and_one) - (1.0f64 / 6.0).ln()).abs() < 1e-12);
/// let partition = crp.sample(1000, &mut stream(0, Stream::Prior));
/// assert_eq!(partition.n_rows(), 1000);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crp {
    /// log theta. Its logarithm, because theta itself underflows in the limit.
    pub ln_concentration: f64,
}

impl Default for Crp {
    /// Concentration 1.
    fn default() -> Self {
        Crp { ln_concentration: 0.0 }
    }
}

impl Crp {
    /// With concentration theta: about theta log(1 + N/theta) groups among N rows.
    pub fn new(concentration: f64) -> Result<Self> {
        Ok(Crp { ln_concentration: ln_positive("concentration", concentration, CONCENTRATION_HELP)? })
    }

    /// With log theta = -penalty/(2 variance): the concentration whose small-variance limit charges `penalty` for
    /// each group after the first (Broderick 2013, Sec. 2).
    pub fn from_penalty(penalty: f64, variance: f64) -> Result<Self> {
        let help = "it is the price of one more cluster in squared-distance units";
        ln_positive("penalty", penalty, help)?;
        ln_positive("variance", variance, "it is the variance of the rows about their cluster's mean")?;
        let crp = Crp { ln_concentration: -penalty / (2.0 * variance) };
        crp.check()?;
        Ok(crp)
    }

    /// Errors when the logarithm of the concentration is not finite.
    pub fn check(&self) -> Result<()> {
        check_finite_logarithm("ln_concentration", self.ln_concentration)
    }

    /// Log probability of a partition (Broderick 2013, Eq. 1):
    /// (K-1) log theta + lgamma(theta+1) - lgamma(theta+N) + sum_k lgamma(S_k).
    pub fn ln_prob(&self, partition: &Partition) -> f64 {
        ln_prob_of_sizes(self.ln_concentration, partition.sizes())
    }

    /// The limit of -2 s2 log p as s2 -> 0 with theta = exp(-penalty/(2 s2)): (K-1) penalty, 0 without groups.
    pub fn charge(&self, n_groups: usize, penalty: f64) -> f64 {
        n_groups.saturating_sub(1) as f64 * penalty
    }

    /// A partition of `n` rows, in O(n). Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Partition {
        let mut labels: Vec<u32> = Vec::with_capacity(n);
        let mut n_groups = 0;
        for row in 0..n {
            if rng.random::<f64>() < fresh_probability(self.ln_concentration, row) {
                labels.push(n_groups);
                n_groups += 1;
            } else {
                // The group of a row chosen evenly is a group chosen by its size.
                labels.push(labels[rng.random_range(0..row)]);
            }
        }
        Partition::from_labels(labels)
    }

    /// Expected number of groups among `n` rows: sum over i = 0..n-1 of theta/(theta+i).
    pub fn expected_groups(&self, n: usize) -> f64 {
        (0..n).map(|row| fresh_probability(self.ln_concentration, row)).sum()
    }
}

const CONCENTRATION_HELP: &str = "a larger concentration makes more groups; 1 is a usual choice";

/// The logarithm of an argument that must be positive and finite.
pub(super) fn ln_positive(argument: &'static str, value: f64, help: &str) -> Result<f64> {
    if value.is_finite() && value > 0.0 {
        Ok(value.ln())
    } else {
        Err(Error::argument(argument, "a positive finite number", value, help))
    }
}

/// The error of a log concentration that is infinite or not a number.
pub(super) fn check_finite_logarithm(argument: &'static str, value: f64) -> Result<()> {
    if value.is_finite() {
        Ok(())
    } else {
        Err(Error::argument(argument, "a finite number", value, "it is the logarithm of a positive concentration"))
    }
}

/// Eq. 1 from the sizes of the groups; empty groups do not count.
fn ln_prob_of_sizes(ln_concentration: f64, sizes: &[usize]) -> f64 {
    let n_rows: usize = sizes.iter().sum();
    if n_rows == 0 {
        return 0.0;
    }
    let occupied = sizes.iter().filter(|&&size| size > 0);
    let n_groups = occupied.clone().count();
    let within: f64 = occupied.map(|&size| ln_gamma(size as f64)).sum();
    (n_groups - 1) as f64 * ln_concentration + within - ln_rising_rest(ln_concentration, n_rows)
}

/// The restaurant while rows come and go: sizes of the groups, in both regimes.
///
/// Weights: S_k for a group, theta for a new one. Charges: 0 for a group, `penalty` for a new one, 0 for the first.
/// With a largest number of groups no new one is offered there.
#[derive(Debug, Clone)]
pub struct CrpSeats {
    ln_concentration: f64,
    penalty: f64,
    hyperprior: Concentration,
    cap: Option<Cap>,
    sizes: Vec<usize>,
    ln_sizes: Vec<f64>,
    n_seated: usize,
}

impl CrpSeats {
    /// An empty restaurant: `ln_concentration` is what the posterior regime reads, `penalty` what the limit reads.
    pub fn new(ln_concentration: f64, penalty: f64) -> Self {
        CrpSeats {
            ln_concentration,
            penalty,
            hyperprior: Concentration::Fixed,
            cap: None,
            sizes: Vec::new(),
            ln_sizes: Vec::new(),
            n_seated: 0,
        }
    }

    /// The same with a concentration that `refresh` redraws where the hyperprior says so.
    pub fn with_hyperprior(self, hyperprior: Concentration) -> Result<Self> {
        hyperprior.check()?;
        Ok(self.redrawn(hyperprior))
    }

    /// The same for a hyperprior that was checked.
    pub(super) fn redrawn(self, hyperprior: Concentration) -> Self {
        CrpSeats { hyperprior, ..self }
    }

    /// The same restricted to at most `most` groups among `n_rows` rows, and renormalised: p(z) = CRP(z) [K <= most] /
    /// P(K <= most | theta, N). The weights of a row are those of the CRP, without a new group once there are `most`.
    ///
    /// The denominator depends on theta: a redrawn theta is accepted with probability P(K <= most | old) /
    /// P(K <= most | proposed), as the draw of Escobar & West is reversible for the restaurant without a cap.
    /// `ln_prob` is right when all the rows sit.
    pub fn capped(self, most: usize, n_rows: usize) -> Self {
        CrpSeats { cap: Some(Cap::new(most, n_rows)), ..self }
    }

    fn is_full(&self) -> bool {
        self.cap.as_ref().is_some_and(|cap| self.sizes.len() >= cap.most)
    }

    fn ln_allowed(&self, ln_concentration: f64) -> f64 {
        self.cap.as_ref().map_or(0.0, |cap| cap.ln_allowed(ln_concentration))
    }
}

impl Seats for CrpSeats {
    fn n_groups(&self) -> usize {
        self.sizes.len()
    }

    fn open(&mut self) {
        debug_assert!(!self.is_full(), "no more groups are allowed");
        self.sizes.push(0);
        self.ln_sizes.push(f64::NEG_INFINITY);
    }

    fn close(&mut self, group: usize) {
        debug_assert_eq!(self.sizes[group], 0, "only an empty group can be closed");
        self.sizes.swap_remove(group);
        self.ln_sizes.swap_remove(group);
    }

    fn joined(&mut self, group: usize, _row: usize) {
        self.sizes[group] += 1;
        self.ln_sizes[group] = (self.sizes[group] as f64).ln();
        self.n_seated += 1;
    }

    fn left(&mut self, group: usize, _row: usize) {
        self.sizes[group] -= 1;
        self.ln_sizes[group] = (self.sizes[group] as f64).ln();
        self.n_seated -= 1;
    }

    fn weigh(&self, out: &mut [f64]) {
        out.iter_mut().zip(&self.ln_sizes).for_each(|(weight, ln_size)| *weight += ln_size);
        out[self.sizes.len()] += if self.is_full() { f64::NEG_INFINITY } else { self.ln_concentration };
    }

    fn charge(&self, out: &mut [f64]) {
        if self.is_full() {
            out[self.sizes.len()] += f64::INFINITY;
        } else if self.n_seated > 0 {
            out[self.sizes.len()] += self.penalty;
        }
    }

    fn ln_prob(&self) -> f64 {
        ln_prob_of_sizes(self.ln_concentration, &self.sizes) - self.ln_allowed(self.ln_concentration)
    }

    fn ln_concentration(&self) -> f64 {
        self.ln_concentration
    }

    fn ln_hyperprior(&self) -> f64 {
        self.hyperprior.ln_density(self.ln_concentration)
    }

    fn refresh(&mut self, rng: &mut Rng) {
        if let Concentration::Gamma { shape, rate } = self.hyperprior {
            let current = self.ln_concentration.exp();
            let n_groups = self.sizes.iter().filter(|&&size| size > 0).count();
            let proposed = resample_concentration(current, self.n_seated, n_groups, shape, rate, rng).ln();
            let ln_accept = match &self.cap {
                Some(_) => self.ln_allowed(self.ln_concentration) - self.ln_allowed(proposed),
                None => 0.0,
            };
            // Without a cap nothing is drawn here.
            if ln_accept >= 0.0 || rng.random::<f64>().ln() < ln_accept {
                self.ln_concentration = proposed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};

    #[test]
    fn underflowing_concentrations_keep_their_logarithm() {
        let crp = Crp { ln_concentration: -1e6 };
        let [one, two, none] = [vec![0, 0, 0, 0], vec![0, 0, 1, 1], vec![]].map(Partition::from_labels::<i32>);
        assert_eq!(crp.ln_prob(&one), 0.0);
        // The limit of Eq. 1: (K-1) log theta + sum lgamma(S_k) - lgamma(N).
        assert!((crp.ln_prob(&two) - (-1e6 - 6f64.ln())).abs() < 1e-9);
        assert_eq!(crp.ln_prob(&none), 0.0);
        assert_eq!(crp.expected_groups(10), 1.0);
        assert_eq!(crp.sample(100, &mut stream(0, Stream::Prior)), Partition::from_labels([0; 100]));
    }

    #[test]
    fn overflowing_concentrations_put_every_row_alone() {
        let crp = Crp { ln_concentration: 1e6 };
        assert!(crp.ln_prob(&Partition::from_labels(0..5)).abs() < 1e-9);
        assert_eq!(crp.expected_groups(10), 10.0);
        assert_eq!(crp.sample(50, &mut stream(0, Stream::Prior)), Partition::from_labels(0..50));
    }

    #[test]
    fn a_concentration_from_a_penalty_halves_it_by_the_variance() {
        let crp = Crp::from_penalty(3.0, 0.25).unwrap();
        assert_eq!(crp.ln_concentration, -6.0);
        let error = Crp::from_penalty(-1.0, 1.0).unwrap_err().to_string();
        assert_eq!(
            error,
            "penalty must be a positive finite number, got -1: it is the price of one more cluster in squared-distance units"
        );
        assert!(Crp::from_penalty(1.0, 0.0).is_err());
        assert!(Crp::from_penalty(1e300, 1e-300).is_err(), "the logarithm overflows");
    }

    #[test]
    fn concentrations_that_are_not_positive_and_finite_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Crp::new(bad).unwrap_err().to_string();
            assert!(error.starts_with("concentration must be a positive finite number, got "), "{error}");
        }
        assert!(Crp { ln_concentration: f64::NEG_INFINITY }.check().is_err());
        assert_eq!(Crp::new(1.0).unwrap(), Crp::default());
    }

    #[test]
    fn refreshing_moves_a_resampled_concentration_and_only_that() {
        let mut rng = stream(0, Stream::Chain(0));
        let mut fixed = CrpSeats::new(0.5, 1.0);
        let mut resampled =
            CrpSeats::new(0.5, 1.0).with_hyperprior(Concentration::Gamma { shape: 1.0, rate: 1.0 }).unwrap();
        for seats in [&mut fixed, &mut resampled] {
            seats.open();
            (0..30).for_each(|row| seats.joined(0, row));
        }
        let before = rng.clone();
        fixed.refresh(&mut rng);
        assert_eq!((fixed.ln_concentration(), fixed.ln_hyperprior()), (0.5, 0.0));
        assert_eq!(rng, before, "a fixed concentration draws nothing");

        // One group among 30 rows says that alpha is small: the mean of the conditional is 0.23, that of the prior 1.
        let n = 20_000;
        let mean = (0..n)
            .map(|_| {
                resampled.refresh(&mut rng);
                resampled.ln_concentration().exp()
            })
            .sum::<f64>()
            / f64::from(n);
        let density = |a: f64| (-a).exp() * (1..30).map(|i| f64::from(i) / (a + f64::from(i))).product::<f64>();
        let grid: Vec<f64> = (0..200_000).map(|i| (f64::from(i) + 0.5) * 1e-4).collect();
        let exact = grid.iter().map(|&a| a * density(a)).sum::<f64>() / grid.iter().map(|&a| density(a)).sum::<f64>();
        assert!((mean - exact).abs() < 0.01, "{mean} {exact}");
        assert!((resampled.ln_hyperprior() + resampled.ln_concentration().exp()).abs() < 1e-12);
        assert!(CrpSeats::new(0.0, 1.0).with_hyperprior(Concentration::Gamma { shape: 0.0, rate: 1.0 }).is_err());
    }
}
