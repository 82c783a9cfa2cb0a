//! Round Gaussian clusters of unit variance at a chosen distance: x_n ~ N(mu_{z_n}, I), |mu_i - mu_j| >= separation.

use super::{Sample, check_positive, check_shape, rows_about};
use crate::error::{Error, Result};
use crate::random::{Rng, Stream, stream};
use rand::RngExt;
use rand_distr::Gamma;

/// How likely each cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Weights {
    /// All the same.
    #[default]
    Equal,
    /// Drawn from a symmetric Dirichlet distribution: the smaller the concentration, the less equal.
    Dirichlet {
        /// Its parameter, above 0; 1 makes all weights equally likely.
        concentration: f64,
    },
}

/// Clusters of unit variance in every direction, apart from each other.
///
/// Each row draws its cluster on its own, so that with few rows a cluster may have none.
///
/// ```
/// use madbayes::simulate::GaussianMixture;
///
/// let sample = GaussianMixture { n_clusters: 3, ..Default::default() }.sample(0)?;
/// assert_eq!(sample.values.len(), 1000 * 2);
/// assert_eq!(sample.centres.len(), 3 * 2);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianMixture {
    /// Number of rows, N.
    pub n_rows: usize,
    /// Number of columns, D.
    pub n_columns: usize,
    /// Number of clusters, K.
    pub n_clusters: usize,
    /// The least distance of two centres, in standard deviations; the closest two are hardly farther apart.
    pub separation: f64,
    /// How likely each cluster is.
    pub weights: Weights,
}

impl Default for GaussianMixture {
    /// 1000 rows of 2 columns in 5 equal clusters, 6 standard deviations apart.
    fn default() -> Self {
        GaussianMixture { n_rows: 1000, n_columns: 2, n_clusters: 5, separation: 6.0, weights: Weights::Equal }
    }
}

/// Beyond this the unit variance drowns in rounding.
const LARGEST_SEPARATION: f64 = 1e9;

/// Draws in a row that must fail before the box of the centres grows, and by how much it then grows.
const PATIENCE: usize = 20;
const GROWTH: f64 = 1.05;

impl GaussianMixture {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        check_shape(self.n_rows, self.n_columns)?;
        // No more clusters than rows: a centre without any row is no cluster.
        if self.n_clusters == 0 || self.n_clusters > self.n_rows {
            return Err(Error::argument(
                "n_clusters",
                format!("between 1 and n_rows = {}", self.n_rows),
                self.n_clusters,
                "it is the number of clusters the rows are drawn from",
            ));
        }
        if !(self.separation > 0.0 && self.separation <= LARGEST_SEPARATION) {
            return Err(Error::argument(
                "separation",
                format!("above 0 and at most {LARGEST_SEPARATION:e}"),
                self.separation,
                "it is the least distance of two centres in standard deviations; at 6 clusters hardly touch",
            ));
        }
        if let Weights::Dirichlet { concentration } = self.weights {
            check_positive("concentration", concentration, "a smaller one makes clusters less equal in size")?;
        }
        Ok(())
    }

    /// Draws the centres, the weights, then the rows. The same seed gives the same bits.
    ///
    /// Centres are drawn uniformly in a box about 0, each redrawn until it is `separation` away from those before it.
    /// The box starts so small that only one fits, and grows by 5 % after every 20 failures in a row. That ends:
    /// with sides of 2 separation (2 K)^(1/D) at least every second draw succeeds.
    pub fn sample(&self, seed: u64) -> Result<Sample> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let centres = self.centres(&mut rng);
        let labels = self.labels(&mut rng);
        Ok(rows_about(centres, self.n_columns, 1.0, labels, &mut rng))
    }

    pub(super) fn centres(&self, rng: &mut Rng) -> Vec<f64> {
        let d = self.n_columns;
        let least = self.separation * self.separation;
        let mut centres: Vec<f64> = Vec::with_capacity(self.n_clusters * d);
        let mut half_side = self.separation / (2.0 * (d as f64).sqrt());
        let mut failures = 0;
        let mut candidate = vec![0.0; d];
        while centres.len() < self.n_clusters * d {
            candidate.fill_with(|| half_side * (2.0 * rng.random::<f64>() - 1.0));
            if centres.chunks_exact(d).all(|centre| squared_distance(centre, &candidate) >= least) {
                centres.extend(&candidate);
                failures = 0;
            } else {
                failures += 1;
                if failures % PATIENCE == 0 {
                    half_side *= GROWTH;
                }
            }
        }
        centres
    }

    fn labels(&self, rng: &mut Rng) -> Vec<u32> {
        let k = self.n_clusters;
        match self.weights {
            Weights::Equal => (0..self.n_rows).map(|_| rng.random_range(0..k as u32)).collect(),
            Weights::Dirichlet { concentration } => {
                let ends = cumulative(&ln_gamma_draws(k, concentration, rng));
                let total = ends[k - 1];
                let draw = |u: f64| ends.partition_point(|&end| end <= u * total).min(k - 1) as u32;
                (0..self.n_rows).map(|_| draw(rng.random())).collect()
            }
        }
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// Logarithms of `k` draws from Gamma(shape, 1), whose shares are Dirichlet. As G(a) = G(a+1) U^(1/a), they are
/// finite where a tiny shape makes the draws themselves underflow.
fn ln_gamma_draws(k: usize, shape: f64, rng: &mut Rng) -> Vec<f64> {
    let gamma = Gamma::new(shape + 1.0, 1.0).expect("a positive shape");
    (0..k).map(|_| rng.sample(gamma).ln() + (1.0 - rng.random::<f64>()).ln() / shape).collect()
}

/// Running sums of exp(x_i), up to one common factor.
fn cumulative(ln_values: &[f64]) -> Vec<f64> {
    let top = ln_values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut total = 0.0;
    let mut add = |ln_value: &f64| {
        total += (ln_value - top).exp();
        total
    };
    ln_values.iter().map(&mut add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(1, 1, 3.0)]
    #[case(1, 30, 2.0)]
    #[case(2, 5, 6.0)]
    #[case(2, 300, 4.0)]
    #[case(3, 40, 10.0)]
    #[case(50, 20, 5.0)]
    #[case(2, 4, 1e9)]
    fn centres_are_apart_but_not_needlessly(
        #[case] n_columns: usize,
        #[case] n_clusters: usize,
        #[case] separation: f64,
    ) {
        for seed in 0..5 {
            let mixture = GaussianMixture { n_rows: 300, n_columns, n_clusters, separation, ..Default::default() };
            let centres = mixture.sample(seed).unwrap().centres;
            assert_eq!(centres.len(), n_clusters * n_columns);
            let rows: Vec<&[f64]> = centres.chunks_exact(n_columns).collect();
            let mut closest = f64::INFINITY;
            for i in 0..n_clusters {
                for j in 0..i {
                    closest = closest.min(squared_distance(rows[i], rows[j]).sqrt());
                }
            }
            assert!(closest >= separation * (1.0 - 1e-12), "{closest}");
            if n_clusters > 1 {
                assert!(closest < 1.6 * separation, "{closest} for {separation}");
            }
        }
    }

    #[test]
    fn rows_have_unit_variance_about_their_centres() {
        let mixture = GaussianMixture { n_rows: 20_000, n_columns: 3, ..Default::default() };
        let sample = mixture.sample(1).unwrap();
        let n = sample.values.len() as f64;
        let (mut first, mut second) = (0.0, 0.0);
        for (row, &label) in sample.values.chunks_exact(3).zip(&sample.labels) {
            for (x, mean) in row.iter().zip(&sample.centres[label as usize * 3..]) {
                first += x - mean;
                second += (x - mean).powi(2);
            }
        }
        assert!((first / n.sqrt()).abs() < 4.0, "{first}");
        assert!(((second - n) / (2.0 * n).sqrt()).abs() < 4.0, "{second}");
    }

    #[test]
    fn equal_weights_give_equal_shares() {
        let sample = GaussianMixture { n_rows: 50_000, ..Default::default() }.sample(2).unwrap();
        for cluster in 0..5 {
            let count = sample.labels.iter().filter(|&&l| l == cluster).count() as f64;
            assert!(((count - 10_000.0) / 8000f64.sqrt()).abs() < 4.0, "{cluster}: {count}");
        }
    }

    #[rstest]
    #[case(0.3)]
    #[case(1.0)]
    #[case(8.0)]
    fn dirichlet_weights_give_shares_of_the_right_spread(#[case] concentration: f64) {
        // Two rows share a cluster with probability (c + 1)/(K c + 1).
        let weights = Weights::Dirichlet { concentration };
        let n_runs = 20_000;
        let mixture = GaussianMixture { n_rows: 3, n_columns: 1, n_clusters: 3, weights, ..Default::default() };
        let same = (0..n_runs).map(|seed| mixture.sample(seed).unwrap().labels).filter(|l| l[0] == l[1]).count();
        let p = (concentration + 1.0) / (3.0 * concentration + 1.0);
        let z = (same as f64 - n_runs as f64 * p) / (n_runs as f64 * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 4.0, "{same}, z = {z}");
    }

    #[test]
    fn tiny_dirichlet_concentrations_put_all_rows_in_one_cluster_chosen_evenly() {
        let weights = Weights::Dirichlet { concentration: 1e-6 };
        let mixture = GaussianMixture { n_rows: 10, weights, ..Default::default() };
        let mut chosen = [0.0; 5];
        for seed in 0..2000 {
            let labels = mixture.sample(seed).unwrap().labels;
            assert!(labels.iter().all(|l| *l == labels[0]), "{labels:?}");
            chosen[labels[0] as usize] += 1.0;
        }
        assert!(chosen.iter().all(|c| ((c - 400.0) / 320f64.sqrt()).abs() < 4.0), "{chosen:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_does_not() {
        let mixture =
            GaussianMixture { weights: Weights::Dirichlet { concentration: 2.0 }, n_rows: 50, ..Default::default() };
        assert_eq!(mixture.sample(3).unwrap(), mixture.sample(3).unwrap());
        assert_ne!(mixture.sample(3).unwrap().values, mixture.sample(4).unwrap().values);
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let good = GaussianMixture::default();
        let bad = [
            (GaussianMixture { n_rows: 0, ..good }, "n_rows must be between 1 and 4294967295, got 0"),
            (GaussianMixture { n_columns: 0, ..good }, "n_columns must be between 1 and"),
            (GaussianMixture { n_columns: usize::MAX, ..good }, "n_columns must be between 1 and"),
            (GaussianMixture { n_clusters: 0, ..good }, "n_clusters must be between 1 and n_rows = 1000, got 0"),
            (GaussianMixture { n_clusters: 1001, ..good }, "n_clusters must be between 1 and n_rows = 1000, got 1001"),
            (GaussianMixture { separation: 0.0, ..good }, "separation must be above 0 and at most 1e9, got 0"),
            (GaussianMixture { separation: f64::NAN, ..good }, "separation must be above 0"),
            (
                GaussianMixture { weights: Weights::Dirichlet { concentration: -1.0 }, ..good },
                "concentration must be a positive finite number, got -1",
            ),
        ];
        for (mixture, message) in bad {
            let error = mixture.sample(0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
