//! Data whose rows are sums of features: X = Z A + noise, A ~ N(0, scale^2), with a planted Z or one drawn from the
//! Indian buffet process (Broderick 2013, Sec. 3).

use super::{check_positive, check_shape};
use crate::error::{Error, Result};
use crate::prior::Ibp;
use crate::random::{Rng, Stream, stream};
use crate::structure::Allocation;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Simulated rows and the features they were made of.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureSample {
    /// The rows, one after the other.
    pub values: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// Which row has which feature, Z.
    pub allocation: Allocation,
    /// What each feature adds to the rows that have it, A, one after the other.
    pub components: Vec<f64>,
}

/// A given number of features, each in a share of the rows and in at least one.
///
/// ```
/// use madbayes::simulate::FeatureMixture;
///
/// let sample = FeatureMixture { n_features: 3, ..Default::default() }.sample(0)?;
/// assert_eq!(sample.values.len(), 1000 * 10);
/// assert_eq!(sample.components.len(), 3 * 10);
/// assert!(sample.allocation.counts().iter().all(|rows| *rows > 0));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FeatureMixture {
    /// Number of rows, N.
    pub n_rows: usize,
    /// Number of columns, D.
    pub n_columns: usize,
    /// Number of features, K, the base included.
    pub n_features: usize,
    /// Chance that a row has a feature, above 0 and at most 1.
    pub probability: f64,
    /// Standard deviation of the noise in every cell; 0 is allowed.
    pub noise: f64,
    /// Standard deviation of what a feature adds, in every column.
    pub scale: f64,
    /// Whether every row has the first feature.
    pub base: bool,
}

impl Default for FeatureMixture {
    /// 1000 rows of 10 columns with 4 features, each in half of the rows, no base; scale 1, noise 0.1.
    fn default() -> Self {
        FeatureMixture {
            n_rows: 1000,
            n_columns: 10,
            n_features: 4,
            probability: 0.5,
            noise: 0.1,
            scale: 1.0,
            base: false,
        }
    }
}

const MOST_FEATURES: usize = 100_000;

impl FeatureMixture {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        check_shape(self.n_rows, self.n_columns)?;
        if self.n_features == 0 || self.n_features > MOST_FEATURES {
            return Err(Error::argument(
                "n_features",
                format!("between 1 and {MOST_FEATURES}"),
                self.n_features,
                "it is the number of features the rows are made of",
            ));
        }
        check_probability(self.probability)?;
        check_spreads(self.noise, self.scale)
    }

    /// Draws the allocation, what each feature adds, then the rows. The same seed gives the same bits.
    ///
    /// Each feature is drawn for every row on its own, given that some row has it.
    pub fn sample(&self, seed: u64) -> Result<FeatureSample> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let columns: Vec<Vec<bool>> = (0..self.n_features)
            .map(|k| match self.base && k == 0 {
                true => vec![true; self.n_rows],
                false => used_column(self.n_rows, self.probability, &mut rng),
            })
            .collect();
        let allocation = Allocation::from_columns(self.n_rows, &columns);
        Ok(sums_of_features(allocation, self.n_columns, self.noise, self.scale, &mut rng))
    }
}

/// The model behind BP-means before its limit: Z ~ IBP(mass), A ~ N(0, scale^2), X ~ N(Z A, noise^2).
///
/// ```
/// use madbayes::simulate::IbpMixture;
///
/// let sample = IbpMixture { n_rows: 50, mass: 2.0, ..Default::default() }.sample(0)?;
/// assert_eq!(sample.components.len(), sample.allocation.n_features() * sample.n_columns);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IbpMixture {
    /// Number of rows, N.
    pub n_rows: usize,
    /// Number of columns, D.
    pub n_columns: usize,
    /// gamma of the buffet: the expected number of features of a row.
    pub mass: f64,
    /// Standard deviation of the noise in every cell; 0 is allowed.
    pub noise: f64,
    /// Standard deviation of what a feature adds, in every column.
    pub scale: f64,
}

impl Default for IbpMixture {
    /// 1000 rows of 10 columns, mass 1, scale 1, noise 0.1.
    fn default() -> Self {
        IbpMixture { n_rows: 1000, n_columns: 10, mass: 1.0, noise: 0.1, scale: 1.0 }
    }
}

impl IbpMixture {
    /// Errors when something cannot be simulated.
    pub fn check(&self) -> Result<()> {
        check_shape(self.n_rows, self.n_columns)?;
        Ibp::new(self.mass)?;
        check_spreads(self.noise, self.scale)
    }

    /// Draws the allocation, what each feature adds, then the rows. The same seed gives the same bits. Features are in
    /// order of first appearance, and every one has a row; there may be none.
    pub fn sample(&self, seed: u64) -> Result<FeatureSample> {
        self.check()?;
        let mut rng = stream(seed, Stream::Simulation);
        let allocation = Ibp::new(self.mass)?.sample(self.n_rows, &mut rng)?;
        Ok(sums_of_features(allocation, self.n_columns, self.noise, self.scale, &mut rng))
    }
}

/// A ~ N(0, scale^2), then x_n ~ N(z_n A, noise^2 I).
fn sums_of_features(allocation: Allocation, n_columns: usize, noise: f64, scale: f64, rng: &mut Rng) -> FeatureSample {
    let components: Vec<f64> =
        (0..allocation.n_features() * n_columns).map(|_| scale * rng.sample::<f64, _>(StandardNormal)).collect();
    let mut values = vec![0.0; allocation.n_rows() * n_columns];
    for (n, row) in values.chunks_exact_mut(n_columns).enumerate() {
        for feature in allocation.features_of(n) {
            row.iter_mut().zip(&components[feature * n_columns..]).for_each(|(x, a)| *x += a);
        }
        row.iter_mut().for_each(|x| *x += noise * rng.sample::<f64, _>(StandardNormal));
    }
    FeatureSample { values, n_columns, allocation, components }
}

/// Each row has the feature with this probability, given that at least one has it. The first that has it is drawn from
/// p (1-p)^i / (1 - (1-p)^N), which costs no more for a tiny probability than for a large one.
pub(super) fn used_column(n_rows: usize, probability: f64, rng: &mut Rng) -> Vec<bool> {
    let ln_without = (-probability).ln_1p();
    let any = -(n_rows as f64 * ln_without).exp_m1();
    let first = ((-rng.random::<f64>() * any).ln_1p() / ln_without) as usize;
    let first = first.min(n_rows - 1);
    let mut column = vec![false; n_rows];
    column[first] = true;
    column[first + 1..].fill_with(|| rng.random::<f64>() < probability);
    column
}

/// The error of a share of rows that is none.
pub(super) fn check_probability(probability: f64) -> Result<()> {
    if probability > 0.0 && probability <= 1.0 {
        return Ok(());
    }
    Err(Error::argument(
        "probability",
        "above 0 and at most 1",
        probability,
        "it is the chance that a row has a feature",
    ))
}

/// The error of an argument that must be finite and not negative.
pub(super) fn check_not_negative(argument: &'static str, value: f64, help: &str) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(Error::argument(argument, "a finite number of at least 0", value, help))
    }
}

fn check_spreads(noise: f64, scale: f64) -> Result<()> {
    check_not_negative("noise", noise, "it is the standard deviation of the noise in every cell")?;
    check_positive("scale", scale, "it is the standard deviation of what a feature adds")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deviations of the rows from the sum of their features, computed from the matrix bit by bit.
    fn deviations(sample: &FeatureSample) -> Vec<f64> {
        let d = sample.n_columns;
        let bits = sample.allocation.to_bools();
        let k = sample.allocation.n_features();
        let sum =
            |n: usize, j: usize| (0..k).filter(|f| bits[n * k + f]).map(|f| sample.components[f * d + j]).sum::<f64>();
        sample.values.iter().enumerate().map(|(i, x)| x - sum(i / d, i % d)).collect()
    }

    fn assert_normal(values: &[f64], standard_deviation: f64) {
        let n = values.len() as f64;
        let (sum, squares) =
            values.iter().map(|v| v / standard_deviation).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        assert!(n > 2000.0, "{n}");
        assert!((sum / n.sqrt()).abs() < 4.0, "mean: z = {}", sum / n.sqrt());
        assert!(((squares - n) / (2.0 * n).sqrt()).abs() < 4.0, "variance: {squares} of {n}");
    }

    #[test]
    fn rows_are_sums_of_their_features_and_noise_of_the_right_size() {
        let mixture = FeatureMixture { n_columns: 700, scale: 3.0, noise: 0.25, base: true, ..Default::default() };
        let sample = mixture.sample(0).unwrap();
        assert_normal(&deviations(&sample), 0.25);
        assert_normal(&sample.components, 3.0);
        assert!(sample.allocation.column(0).iter().all(|on| *on), "the base");
        for count in &sample.allocation.counts()[1..] {
            assert!(((*count as f64 - 500.0) / 250f64.sqrt()).abs() < 4.0, "{count}");
        }
        let exact = FeatureMixture { noise: 0.0, ..mixture }.sample(0).unwrap();
        assert!(deviations(&exact).iter().all(|x| x.abs() < 1e-12));
        assert_eq!(exact.allocation, sample.allocation, "noise changes nothing else");
    }

    #[test]
    fn columns_are_drawn_as_bits_given_that_one_is_set() {
        let mut rng = stream(1, Stream::Simulation);
        for probability in [0.1, 0.6] {
            let n_draws = 70_000;
            let mut counts = [0u32; 8];
            for _ in 0..n_draws {
                let column = used_column(3, probability, &mut rng);
                counts[(0..3).filter(|i| column[*i]).map(|i| 1 << i).sum::<usize>()] += 1;
            }
            assert_eq!(counts[0], 0);
            let any = 1.0 - (1.0 - probability).powi(3);
            for (code, count) in counts.iter().enumerate().skip(1) {
                let on = code.count_ones() as i32;
                let p = probability.powi(on) * (1.0 - probability).powi(3 - on) / any;
                let z = (f64::from(*count) - f64::from(n_draws) * p) / (f64::from(n_draws) * p * (1.0 - p)).sqrt();
                assert!(z.abs() < 4.0, "{code}: {count}, z = {z}");
            }
        }
    }

    #[test]
    fn every_feature_has_a_row_even_where_that_is_unlikely() {
        for probability in [f64::MIN_POSITIVE, 1e-12, 1e-3] {
            let mixture = FeatureMixture { n_rows: 10, n_features: 300, probability, ..Default::default() };
            let allocation = mixture.sample(0).unwrap().allocation;
            assert!(allocation.counts().iter().all(|count| *count == 1 || probability > 1e-6 && *count > 0));
            let first_rows = (0..300).filter(|&k| allocation.get(0, k)).count();
            assert!((10..60).contains(&first_rows), "rows are equally likely: {first_rows}");
        }
        let all = FeatureMixture { probability: 1.0, ..Default::default() }.sample(0).unwrap().allocation;
        assert_eq!(all.counts(), [1000; 4]);
    }

    #[test]
    fn a_buffet_gives_rows_with_the_variance_of_the_model() {
        // Marginally Var(x) = mass scale^2 + noise^2, and Cov(x_1, x_2) = scale^2 mass/2: features both rows have.
        let mixture = IbpMixture { n_rows: 2, n_columns: 1, mass: 1.5, noise: 0.5, scale: 2.0 };
        let samples: Vec<FeatureSample> = (0..40_000).map(|seed| mixture.sample(seed).unwrap()).collect();
        for (expected, of) in [(6.25, (0, 0)), (6.25, (1, 1)), (3.0, (0, 1))] {
            let products: Vec<f64> = samples.iter().map(|s| s.values[of.0] * s.values[of.1]).collect();
            let n = products.len() as f64;
            let mean = products.iter().sum::<f64>() / n;
            let error = (products.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / (n * (n - 1.0))).sqrt();
            assert!(((mean - expected) / error).abs() < 4.0, "{mean} {expected}");
        }
        let noise: Vec<f64> = samples.iter().flat_map(deviations).collect();
        assert_normal(&noise, 0.5);
        let features = samples.iter().map(|s| s.allocation.n_features() as f64).sum::<f64>() / 40_000.0;
        assert!((features - 2.25).abs() < 4.0 * (2.25f64 / 40_000.0).sqrt(), "mass times H_2: {features}");
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_does_not() {
        let (planted, buffet) = (FeatureMixture::default(), IbpMixture::default());
        assert_eq!(planted.sample(3).unwrap(), planted.sample(3).unwrap());
        assert_ne!(planted.sample(3).unwrap().values, planted.sample(4).unwrap().values);
        assert_eq!(buffet.sample(3).unwrap(), buffet.sample(3).unwrap());
        assert_ne!(buffet.sample(3).unwrap().values, buffet.sample(4).unwrap().values);
    }

    #[test]
    fn what_cannot_be_simulated_is_refused() {
        let good = FeatureMixture::default();
        for (mixture, message) in [
            (FeatureMixture { n_rows: 0, ..good }, "n_rows must be between 1 and 4294967295, got 0"),
            (FeatureMixture { n_columns: 0, ..good }, "n_columns must be between 1 and"),
            (FeatureMixture { n_features: 0, ..good }, "n_features must be between 1 and 100000, got 0"),
            (FeatureMixture { probability: 0.0, ..good }, "probability must be above 0 and at most 1, got 0"),
            (FeatureMixture { probability: f64::NAN, ..good }, "probability must be above 0 and at most 1, got NaN"),
            (FeatureMixture { noise: -0.1, ..good }, "noise must be a finite number of at least 0, got -0.1"),
            (FeatureMixture { scale: 0.0, ..good }, "scale must be a positive finite number, got 0"),
        ] {
            let error = mixture.sample(0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        let good = IbpMixture::default();
        for (mixture, message) in [
            (IbpMixture { n_rows: 0, ..good }, "n_rows must be between 1 and 4294967295, got 0"),
            (IbpMixture { mass: -1.0, ..good }, "mass must be a positive finite number, got -1"),
            (IbpMixture { mass: 1e9, ..good }, "mass must be small enough for"),
            (IbpMixture { noise: f64::INFINITY, ..good }, "noise must be a finite number of at least 0, got inf"),
            (IbpMixture { scale: -1.0, ..good }, "scale must be a positive finite number, got -1"),
        ] {
            let error = mixture.sample(0).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
