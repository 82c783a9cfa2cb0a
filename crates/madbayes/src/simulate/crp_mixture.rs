//! Data from the Chinese restaurant process mixture itself: z ~ CRP(theta), mu_k ~ N(m0, r2 I), x_n ~ N(mu_{z_n}, s2 I).

use super::{Sample, check_positive, check_shape, rows_about};
use crate::error::{Error, Result};
use crate::prior::Crp;
use crate::random::{Stream, stream};
use rand::RngExt;
use rand_distr::StandardNormal;

/// The model behind DP-means before its limit (Broderick 2013, Sec. 2).
///
/// ```
/// use madbayes::simulate::CrpMixture;
///
/// let sample = CrpMixture { n_rows: 200, concentration: 2.0, ..Default::default() }.sample(0)?;
/// let n_clusters = sample.centres.len() / sample.n_columns;
/// assert!(sample.labels.iter().all(|&label| (label as usize) < n_clusters));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CrpMixture {
    /// Number of rows, N.
    pub n_rows: usize,
    /// theta of the restaurant: about theta log(1 + N/theta) clusters.
    pub concentration: f64,
    /// Variance s2 of the rows about the mean of their cluster, in every direction.
    pub variance: f64,
    /// Mean m0 of the clusters' means; its length is the number of columns.
    pub prior_mean: Vec<f64>,
    /// Variance r2 of the clusters' means, in every direction.
    pub prior_variance: f64,
}

impl Default for CrpMixture {
    /// 1000 rows of 2 columns, theta = 1, s2 = 1, m0 = 0, r2 = 100.
    fn default() -> Self {
        CrpMixture {
            n_rows: 1000,
            concentration: 1.0,
            variance: 1.0,
            prior_mean: vec![0.0, 0.0],
            prior_variance: 100.0,
        }
    }
}

impl CrpMixture {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        if self.prior_mean.is_empty() || self.prior_mean.iter().any(|m| !m.is_finite()) {
            return Err(Error::argument(
                "prior_mean",
                "one finite number for each column",
                format!("{:?}", self.prior_mean),
                "its length is the number of columns",
            ));
        }
        check_shape(self.n_rows, self.prior_mean.len())?;
        Crp::new(self.concentration)?;
        check_positive("variance", self.variance, "it is the variance of the rows about the mean of their cluster")?;
        check_positive("prior_variance", self.prior_variance, "it is the variance of the clusters' means")
    }

    /// Draws the partition, the means, then the rows. The same seed gives the same bits. Labels count clusters in order
    /// of first appearance, and every cluster has a row.
    pub fn sample(&self, seed: u64) -> Result<Sample> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let partition = Crp::new(self.concentration)?.sample(self.n_rows, &mut rng);
        let spread = self.prior_variance.sqrt();
        let centres = (0..partition.n_groups())
            .flat_map(|_| &self.prior_mean)
            .map(|mean| mean + spread * rng.sample::<f64, _>(StandardNormal))
            .collect();
        let labels = partition.labels().to_vec();
        Ok(rows_about(centres, self.prior_mean.len(), self.variance.sqrt(), labels, &mut rng))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Partition;

    fn model() -> CrpMixture {
        CrpMixture { n_rows: 50, concentration: 4.0, variance: 0.25, prior_mean: vec![3.0, -7.0], prior_variance: 9.0 }
    }

    #[test]
    fn rows_and_means_have_the_moments_of_the_model() {
        // Standardised, each sum is over independent standard normals.
        let (mut row_sum, mut row_squares, mut n_values) = (0.0, 0.0, 0.0);
        let (mut mean_sum, mut mean_squares, mut n_means) = (0.0, 0.0, 0.0);
        for seed in 0..300 {
            let sample = model().sample(seed).unwrap();
            for (row, &label) in sample.values.chunks_exact(2).zip(&sample.labels) {
                for (x, mean) in row.iter().zip(&sample.centres[label as usize * 2..]) {
                    row_sum += (x - mean) / 0.5;
                    row_squares += ((x - mean) / 0.5).powi(2);
                    n_values += 1.0;
                }
            }
            for centre in sample.centres.chunks_exact(2) {
                for (mean, prior) in centre.iter().zip([3.0, -7.0]) {
                    mean_sum += (mean - prior) / 3.0;
                    mean_squares += ((mean - prior) / 3.0).powi(2);
                    n_means += 1.0;
                }
            }
        }
        for (sum, squares, n) in [(row_sum, row_squares, n_values), (mean_sum, mean_squares, n_means)] {
            let n: f64 = n;
            assert!(n > 4000.0);
            assert!((sum / n.sqrt()).abs() < 4.0, "mean: z = {}", sum / n.sqrt());
            assert!(((squares - n) / (2.0 * n).sqrt()).abs() < 4.0, "variance: {squares} of {n}");
        }
    }

    #[test]
    fn two_rows_covary_as_often_as_they_share_a_cluster() {
        // Marginally Cov(x_1, x_2) = r2/(1+theta), Var(x_1) = s2 + r2, whatever the partition.
        let runs = 20_000;
        let pairs = CrpMixture { n_rows: 2, ..model() };
        let products: Vec<f64> = (0..runs)
            .map(|seed| pairs.sample(seed).unwrap().values)
            .map(|values| (values[0] - 3.0) * (values[2] - 3.0))
            .collect();
        let n = runs as f64;
        let mean = products.iter().sum::<f64>() / n;
        let error = (products.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
        let z = (mean - 9.0 / 5.0) / error;
        assert!(z.abs() < 4.0, "{mean}, z = {z}");
    }

    #[test]
    fn labels_are_a_draw_from_the_restaurant_and_every_centre_is_used() {
        let counts: Vec<f64> = (0..2000)
            .map(|seed| {
                let sample = model().sample(seed).unwrap();
                let partition = Partition::from_labels(&sample.labels);
                assert_eq!(partition.labels(), sample.labels);
                assert_eq!(partition.n_groups() * 2, sample.centres.len());
                partition.n_groups() as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / 2000.0;
        let error = (counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (2000.0 * 1999.0)).sqrt();
        let expected: f64 = (0..50).map(|i| 4.0 / (4.0 + f64::from(i))).sum();
        assert!(((mean - expected) / error).abs() < 4.0, "{mean} {expected}");
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_does_not() {
        assert_eq!(model().sample(3).unwrap(), model().sample(3).unwrap());
        assert_ne!(model().sample(3).unwrap().values, model().sample(4).unwrap().values);
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let bad = [
            (CrpMixture { n_rows: 0, ..model() }, "n_rows must be between 1 and 4294967295, got 0"),
            (CrpMixture { concentration: 0.0, ..model() }, "concentration must be a positive finite number, got 0"),
            (CrpMixture { variance: -1.0, ..model() }, "variance must be a positive finite number, got -1"),
            (CrpMixture { prior_variance: f64::NAN, ..model() }, "prior_variance must be a positive finite number"),
            (CrpMixture { prior_mean: vec![], ..model() }, "prior_mean must be one finite number for each column"),
            (CrpMixture { prior_mean: vec![f64::INFINITY], ..model() }, "prior_mean must be one finite number"),
        ];
        for (mixture, message) in bad {
            let error = mixture.sample(0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
