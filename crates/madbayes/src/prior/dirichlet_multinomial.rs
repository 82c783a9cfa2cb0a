//! Dirichlet-multinomial: a prior over labels in a fixed number of components (Broderick 2013, Eq. 11) and its limits.
//!
//! log p(z) = lgamma(K theta) - lgamma(N + K theta) + sum_k [lgamma(S_k+theta) - lgamma(theta)];
//! theta fixed: -2 s2 log p -> 0 (K-means); theta = exp(-penalty/(2 s2)): (K+ - 1) penalty, K+ <= K groups with rows
//! (capped DP-means, Eq. 12). With theta/K it tends to the Chinese restaurant process as K grows.

use super::concentration::redraw_by_slice;
use super::crp::{check_finite_logarithm, ln_positive};
use super::rising::{fresh_probability, ln_rising_rest};
use super::{Concentration, Seats};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::special::{ln_factorial, ln_sum_exp};
use crate::structure::Partition;
use rand::RngExt;

/// A symmetric Dirichlet(theta, ..., theta) over `components` weights, and labels drawn from them.
///
/// ```
/// use madbayes::prior::DirichletMultinomial;
/// use madbayes::structure::Partition;
///
/// let prior = DirichletMultinomial::new(2, 1.0)?;
/// assert!((prior.ln_prob_labels(&[0, 1]) - (1.0f64 / 6.0).ln()).abs() < 1e-12);
/// assert!((prior.ln_prob(&Partition::from_labels([0, 1])) - (1.0f64 / 3.0).ln()).abs() < 1e-12);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DirichletMultinomial {
    /// Number of components, K: never more groups than this.
    pub components: usize,
    /// log theta, the concentration of each component.
    pub ln_theta: f64,
}

impl Default for DirichletMultinomial {
    /// Eight components with theta = 1: every vector of weights equally likely.
    fn default() -> Self {
        DirichletMultinomial { components: 8, ln_theta: 0.0 }
    }
}

impl DirichletMultinomial {
    /// With `theta` for each of the components.
    pub fn new(components: usize, theta: f64) -> Result<Self> {
        let help = "a larger theta makes the components more equal in size; 1 is a usual choice";
        let prior = DirichletMultinomial { components, ln_theta: ln_positive("theta", theta, help)? };
        prior.check()?;
        Ok(prior)
    }

    /// Errors when there is no component or log theta is not finite.
    pub fn check(&self) -> Result<()> {
        if self.components == 0 || u32::try_from(self.components).is_err() {
            return Err(Error::argument(
                "components",
                "between 1 and 4294967295",
                self.components,
                "it is the largest number of groups there may be",
            ));
        }
        check_finite_logarithm("ln_theta", self.ln_theta)
    }

    /// log(K theta): the mass of the whole urn.
    fn ln_mass(&self) -> f64 {
        (self.components as f64).ln() + self.ln_theta
    }

    /// Log probability of labels (Broderick 2013, Eq. 11); they sum to 1 over all K^N of them:
    /// lgamma(K theta) - lgamma(N + K theta) + sum_k [lgamma(S_k+theta) - lgamma(theta)].
    ///
    /// Minus infinity when a label is not below the number of components.
    pub fn ln_prob_labels(&self, labels: &[u32]) -> f64 {
        if labels.iter().any(|&label| label as usize >= self.components) {
            return f64::NEG_INFINITY;
        }
        self.ln_prob_of_sizes(Partition::from_labels(labels).sizes())
    }

    /// Log probability of a partition: Eq. 11 times the K!/(K-K+)! ways to name its K+ groups.
    ///
    /// Minus infinity when it has more groups than there are components.
    pub fn ln_prob(&self, partition: &Partition) -> f64 {
        self.ln_prob_of_sizes(partition.sizes()) + self.ln_namings(partition.n_groups())
    }

    /// Eq. 11 from the sizes, empty groups skipped. Each term is split as log theta + the rest, so that tiny theta
    /// cancel exactly between the first group and the total.
    fn ln_prob_of_sizes(&self, sizes: &[usize]) -> f64 {
        let n_rows: usize = sizes.iter().sum();
        if n_rows == 0 {
            return 0.0;
        }
        let occupied = sizes.iter().filter(|&&size| size > 0);
        let n_groups = occupied.clone().count();
        let within: f64 = occupied.map(|&size| ln_rising_rest(self.ln_theta, size)).sum();
        (n_groups - 1) as f64 * self.ln_theta + within
            - (self.components as f64).ln()
            - ln_rising_rest(self.ln_mass(), n_rows)
    }

    /// log K!/(K-K+)!.
    fn ln_namings(&self, n_groups: usize) -> f64 {
        match self.components.checked_sub(n_groups) {
            Some(spare) if n_groups < 1000 => ((spare + 1)..=self.components).map(|c| (c as f64).ln()).sum(),
            Some(spare) => ln_factorial(self.components) - ln_factorial(spare),
            None => f64::NEG_INFINITY,
        }
    }

    /// The limit of -2 s2 log p as s2 -> 0 with theta = exp(-penalty/(2 s2)): (K+ - 1) penalty, infinite for more
    /// groups than components (Broderick 2013, Eq. 12). Penalty 0 is the limit with theta fixed: K-means.
    pub fn charge(&self, n_groups: usize, penalty: f64) -> f64 {
        if n_groups > self.components { f64::INFINITY } else { n_groups.saturating_sub(1) as f64 * penalty }
    }

    /// Labels of `n` rows, each below the number of components, in O(n). Panics when [`check`](Self::check) would fail.
    pub fn sample_labels(&self, n: usize, rng: &mut Rng) -> Vec<u32> {
        let mut labels: Vec<u32> = Vec::with_capacity(n);
        for row in 0..n {
            labels.push(if rng.random::<f64>() < fresh_probability(self.ln_mass(), row) {
                rng.random_range(0..self.components as u32)
            } else {
                labels[rng.random_range(0..row)]
            });
        }
        labels
    }

    /// A partition of `n` rows, in O(n). Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n: usize, rng: &mut Rng) -> Partition {
        Partition::from_labels(self.sample_labels(n, rng))
    }

    /// Expected number of components with a row among `n`: K [1 - prod over i = 0..n-1 of (1 - theta/(K theta + i))].
    pub fn expected_groups(&self, n: usize) -> f64 {
        let k = self.components as f64;
        let ln_empty: f64 = (0..n).map(|row| (-fresh_probability(self.ln_mass(), row) / k).ln_1p()).sum();
        -k * ln_empty.exp_m1()
    }
}

/// The urn while rows come and go: sizes of the groups that are open, never more than the components.
///
/// Weights: S_k + theta for a group, (components - K) theta for a new one. Charges: 0 for a group, `penalty` for a
/// new one, 0 for the first, infinity at the cap. Penalty 0 gives K-means.
#[derive(Debug, Clone)]
pub struct DirichletMultinomialSeats {
    prior: DirichletMultinomial,
    /// log of alpha = K theta. Kept, so that one that is saved and set again has the same bits.
    ln_concentration: f64,
    hyperprior: Concentration,
    penalty: f64,
    sizes: Vec<usize>,
    ln_weights: Vec<f64>,
    n_seated: usize,
}

impl DirichletMultinomialSeats {
    /// An empty urn: `ln_theta` is what the posterior regime reads, `penalty` what the limit reads, `components` both.
    pub fn new(components: usize, ln_theta: f64, penalty: f64) -> Self {
        let prior = DirichletMultinomial { components, ln_theta };
        DirichletMultinomialSeats {
            prior,
            ln_concentration: prior.ln_mass(),
            hyperprior: Concentration::Fixed,
            penalty,
            sizes: Vec::new(),
            ln_weights: Vec::new(),
            n_seated: 0,
        }
    }

    /// An empty urn for the posterior regime, by the concentration alpha = K theta of all components together, which
    /// `refresh` redraws where the hyperprior says so.
    pub(super) fn shared(components: usize, ln_concentration: f64, hyperprior: Concentration) -> Self {
        let mut seats = DirichletMultinomialSeats { hyperprior, ..Self::new(components, 0.0, f64::INFINITY) };
        seats.set_concentration(ln_concentration);
        seats
    }

    fn set_concentration(&mut self, ln_concentration: f64) {
        self.ln_concentration = ln_concentration;
        self.prior.ln_theta = ln_concentration - (self.prior.components as f64).ln();
        (0..self.sizes.len()).for_each(|group| self.resize(group, self.sizes[group]));
    }

    fn resize(&mut self, group: usize, size: usize) {
        self.sizes[group] = size;
        self.ln_weights[group] = ln_sum_exp(&[(size as f64).ln(), self.prior.ln_theta]);
    }

    fn is_full(&self) -> bool {
        self.sizes.len() >= self.prior.components
    }
}

impl Seats for DirichletMultinomialSeats {
    fn n_groups(&self) -> usize {
        self.sizes.len()
    }

    fn open(&mut self) {
        debug_assert!(!self.is_full(), "no component is left");
        self.sizes.push(0);
        self.ln_weights.push(self.prior.ln_theta);
    }

    fn close(&mut self, group: usize) {
        debug_assert_eq!(self.sizes[group], 0, "only an empty group can be closed");
        self.sizes.swap_remove(group);
        self.ln_weights.swap_remove(group);
    }

    fn joined(&mut self, group: usize, _row: usize) {
        self.resize(group, self.sizes[group] + 1);
        self.n_seated += 1;
    }

    fn left(&mut self, group: usize, _row: usize) {
        self.resize(group, self.sizes[group] - 1);
        self.n_seated -= 1;
    }

    fn weigh(&self, out: &mut [f64]) {
        out.iter_mut().zip(&self.ln_weights).for_each(|(weight, ln_weight)| *weight += ln_weight);
        let spare = self.prior.components.saturating_sub(self.sizes.len());
        out[self.sizes.len()] += (spare as f64).ln() + self.prior.ln_theta;
    }

    fn charge(&self, out: &mut [f64]) {
        if self.is_full() {
            out[self.sizes.len()] += f64::INFINITY;
        } else if self.n_seated > 0 {
            out[self.sizes.len()] += self.penalty;
        }
    }

    fn ln_prob(&self) -> f64 {
        let occupied = self.sizes.iter().filter(|&&size| size > 0).count();
        self.prior.ln_prob_of_sizes(&self.sizes) + self.prior.ln_namings(occupied)
    }

    fn ln_concentration(&self) -> f64 {
        self.ln_concentration
    }

    fn ln_hyperprior(&self) -> f64 {
        self.hyperprior.ln_density(self.ln_concentration)
    }

    fn refresh(&mut self, rng: &mut Rng) {
        if self.hyperprior == Concentration::Fixed {
            return;
        }
        let ln_posterior = |ln_concentration: f64| {
            let ln_theta = ln_concentration - (self.prior.components as f64).ln();
            let prior = DirichletMultinomial { ln_theta, ..self.prior };
            prior.ln_prob_of_sizes(&self.sizes) + self.hyperprior.ln_density(ln_concentration)
        };
        let redrawn = redraw_by_slice(self.ln_concentration, ln_posterior, rng);
        self.set_concentration(redrawn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prior::Crp;
    use crate::random::{Stream, stream};

    #[test]
    fn probabilities_of_all_labels_sum_to_one() {
        for ln_theta in [-20.0, -1.0, 0.0, 3.0] {
            let prior = DirichletMultinomial { components: 3, ln_theta };
            for n in 0..=6u32 {
                let total: f64 = (0..3u32.pow(n))
                    .map(|code| (0..n).map(|i| code / 3u32.pow(i) % 3).collect::<Vec<u32>>())
                    .map(|labels| prior.ln_prob_labels(&labels).exp())
                    .sum();
                assert!((total - 1.0).abs() < 1e-12, "{ln_theta} {n}: {total}");
            }
        }
    }

    #[test]
    fn theta_shared_among_many_components_is_the_restaurant() {
        let crp = Crp { ln_concentration: 0.7 };
        for partition in Partition::all(6) {
            let error_with = |components: usize| {
                let prior = DirichletMultinomial { components, ln_theta: 0.7 - (components as f64).ln() };
                (prior.ln_prob(&partition) - crp.ln_prob(&partition)).abs()
            };
            // The distance is O(1/K).
            assert!(error_with(1_000_000) < 2e-5, "{:?}", partition.labels());
            assert!(error_with(1_000_000) <= 0.011 * error_with(10_000) + 1e-12);
        }
        let prior = DirichletMultinomial { components: 1_000_000, ln_theta: 0.7 - 1e6f64.ln() };
        assert!((prior.expected_groups(100) - crp.expected_groups(100)).abs() < 1e-3);
    }

    #[test]
    fn labels_match_their_probabilities() {
        let prior = DirichletMultinomial::new(3, 0.5).unwrap();
        let mut rng = stream(0, Stream::Prior);
        let n = 90_000;
        let mut counts = [0u32; 9];
        for _ in 0..n {
            let labels = prior.sample_labels(2, &mut rng);
            counts[(labels[0] * 3 + labels[1]) as usize] += 1;
        }
        for (code, count) in counts.into_iter().enumerate() {
            let p = prior.ln_prob_labels(&[code as u32 / 3, code as u32 % 3]).exp();
            let z = (f64::from(count) - f64::from(n) * p) / (f64::from(n) * p * (1.0 - p)).sqrt();
            assert!(z.abs() < 4.0, "{code}: z = {z}");
        }
    }

    #[test]
    fn a_fixed_theta_costs_nothing_in_the_limit() {
        for ln_theta in [-2.0, 0.0, 5.0] {
            let prior = DirichletMultinomial { components: 4, ln_theta };
            for partition in Partition::all(5).filter(|p| p.n_groups() <= 4) {
                let limit = |variance: f64| -2.0 * variance * prior.ln_prob(&partition);
                assert!(limit(1e-8).abs() < 1e-6, "{:?}", partition.labels());
                assert_eq!(prior.charge(partition.n_groups(), 0.0), 0.0);
            }
        }
    }

    #[test]
    fn more_groups_than_components_are_impossible_and_infinitely_dear() {
        let prior = DirichletMultinomial::new(2, 1.0).unwrap();
        assert_eq!(prior.ln_prob(&Partition::from_labels([0, 1, 2])), f64::NEG_INFINITY);
        assert_eq!(prior.ln_prob_labels(&[0, 2]), f64::NEG_INFINITY);
        assert_eq!(prior.charge(3, 1.0), f64::INFINITY);
        assert_eq!(prior.charge(2, 1.5), 1.5);
        let mut seats = DirichletMultinomialSeats::new(2, 0.0, 1.5);
        for group in 0..2 {
            seats.open();
            seats.joined(group, group);
        }
        let (mut weights, mut charges) = ([0.0; 3], [0.0; 3]);
        seats.weigh(&mut weights);
        seats.charge(&mut charges);
        assert_eq!((weights[2], charges[2]), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn a_redrawn_concentration_has_its_exact_posterior_and_is_in_every_weight() {
        let hyperprior = Concentration::Gamma { shape: 2.0, rate: 0.5 };
        let mut seats = DirichletMultinomialSeats::shared(4, 0.3, hyperprior);
        let partition = Partition::from_labels([0, 0, 0, 1, 2, 0, 1]);
        (0..3).for_each(|_| seats.open());
        partition.labels().iter().enumerate().for_each(|(row, &group)| seats.joined(group as usize, row));
        // The posterior mean of alpha and of log alpha, on a grid of log alpha.
        let (mut total, mut mean, mut ln_mean) = (0.0, 0.0, 0.0);
        for i in 0..40_000 {
            let t = -20.0 + f64::from(i) * 1e-3;
            let prior = DirichletMultinomial::new(4, t.exp() / 4.0).unwrap();
            let weight = (prior.ln_prob(&partition) + hyperprior.ln_density(t) + t).exp();
            total += weight;
            mean += weight * t.exp();
            ln_mean += weight * t;
        }
        let mut rng = stream(4, Stream::Prior);
        let (n_batches, batch) = (200, 500);
        let mut batches = vec![[0.0; 2]; n_batches];
        for sums in &mut batches {
            for _ in 0..batch {
                seats.refresh(&mut rng);
                sums[0] += seats.ln_concentration().exp() / f64::from(batch);
                sums[1] += seats.ln_concentration() / f64::from(batch);
            }
        }
        for (which, expected) in [mean / total, ln_mean / total].into_iter().enumerate() {
            let found = batches.iter().map(|b| b[which]).sum::<f64>() / n_batches as f64;
            let spread = batches.iter().map(|b| (b[which] - found).powi(2)).sum::<f64>() / (n_batches - 1) as f64;
            let z = (found - expected) / (spread / n_batches as f64).sqrt();
            assert!(z.abs() < 4.0, "{which}: {found}, exactly {expected}, z = {z}");
        }
        let theta = seats.ln_concentration().exp() / 4.0;
        let mut weights = [0.0; 4];
        seats.weigh(&mut weights);
        for (weight, expected) in weights.iter().zip([4.0 + theta, 2.0 + theta, 1.0 + theta, theta]) {
            assert!((weight - f64::ln(expected)).abs() < 1e-12);
        }
        assert_eq!(seats.ln_hyperprior(), hyperprior.ln_density(seats.ln_concentration()));
    }

    #[test]
    fn many_namings_agree_with_their_product() {
        let prior = DirichletMultinomial { components: 5000, ln_theta: 0.0 };
        let product: f64 = (3001..=5000).map(|c| f64::from(c).ln()).sum();
        assert!((prior.ln_namings(2000) - product).abs() < 1e-9);
    }

    #[test]
    fn no_components_and_bad_thetas_are_refused() {
        let error = DirichletMultinomial::new(0, 1.0).unwrap_err().to_string();
        assert!(error.starts_with("components must be between 1 and 4294967295, got 0"), "{error}");
        assert!(DirichletMultinomial::new(3, 0.0).is_err());
        assert!(DirichletMultinomial { components: 3, ln_theta: f64::NAN }.check().is_err());
        assert!(DirichletMultinomial::default().check().is_ok());
    }
}
