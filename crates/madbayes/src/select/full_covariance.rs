//! What full-covariance means needs and nobody gave: a guess from spherical clusters, n rows each. The covariance penalty is
//! c = D n; the prior is the pooled covariance of those clusters; the penalty lies between what cutting such a cluster in half
//! gains and what making one of two costs.
//!
//! Why D n: with c = n, clusters in many columns would merge whatever their distance, since c log(1 + n/c) bends too much.

use super::automatic::automatic;
use crate::data::{Data, EitherData, Real, Rows};
use crate::error::Result;
use crate::hard::{
    CovariancePrior, DpMeans, FullCovarianceClustering, FullCovarianceMeans, Goal, nearest_centres, whitened,
};
use crate::likelihood::within_covariance;
use crate::parallel::Workers;
use crate::watch::{Silently, Watch};

/// Which parameters are to be guessed; the prior is where it is `Guessed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CovarianceGuesses {
    /// The penalty, where K is free.
    pub penalty: bool,
    /// The covariance penalty.
    pub covariance_penalty: bool,
}

/// A fit with what was guessed for it.
#[derive(Debug, Clone, PartialEq)]
pub struct CovarianceFit {
    /// The clusters.
    pub clustering: FullCovarianceClustering,
    /// The penalty, given or guessed; none where K was given.
    pub penalty: Option<f64>,
    /// c, given or guessed.
    pub covariance_penalty: f64,
    /// The number of spherical clusters that guesses were made from.
    pub spherical_clusters: Option<usize>,
}

/// Fits with guesses in place of what is not known. Where the expected covariance is given, the spherical clusters are those of
/// the rows in its units: long clusters are round there.
pub fn fit_full_covariance<T: Real>(
    data: &Data<T>,
    parameters: &FullCovarianceMeans,
    guesses: CovarianceGuesses,
    watch: &dyn Watch,
) -> Result<CovarianceFit> {
    fn either(
        data: EitherData,
        parameters: &FullCovarianceMeans,
        guesses: CovarianceGuesses,
        watch: &dyn Watch,
    ) -> Result<CovarianceFit> {
        either!(data, data => fit_full_covariance_on(data, parameters, guesses, watch))
    }
    either(T::either_data(data), parameters, guesses, watch)
}

fn fit_full_covariance_on<T: Real>(
    data: &Data<T>,
    parameters: &FullCovarianceMeans,
    guesses: CovarianceGuesses,
    watch: &dyn Watch,
) -> Result<CovarianceFit> {
    let mut filled = parameters.clone();
    // What is to be guessed is not looked at.
    if guesses.covariance_penalty {
        filled.covariance_penalty = 1.0;
    }
    if let (Goal::Penalty { penalty, .. }, true) = (&mut filled.goal, guesses.penalty) {
        *penalty = 1.0;
    }
    filled.check(data)?;
    let columns = data.n_columns() as f64;
    let mut spherical_clusters = None;
    match filled.goal {
        Goal::Exactly(k) => {
            if guesses.covariance_penalty {
                filled.covariance_penalty = columns * data.total_weight() / k as f64;
            }
        }
        Goal::Penalty { max_clusters, .. } if guesses.penalty || guesses.covariance_penalty => {
            let silent = Silently(watch);
            let spherical = match &parameters.covariance_prior {
                CovariancePrior::Expected(prior) | CovariancePrior::Shared(prior) => {
                    let values = whitened(data, prior);
                    let rows = Rows::new(&values, data.n_columns())?;
                    Spherical::of(&Data::weighted(rows, data.weights())?, parameters, &silent)?
                }
                _ => Spherical::of(data, parameters, &silent)?,
            };
            spherical_clusters = Some(spherical.k);
            let size = data.total_weight() / spherical.k as f64;
            if guesses.covariance_penalty {
                filled.covariance_penalty = columns * size;
            }
            if guesses.penalty {
                // With one covariance for all it is DP-means, which has a choice of its own.
                let shared = matches!(parameters.covariance_prior, CovariancePrior::Shared(_));
                let guessed = || penalty(size, columns, filled.covariance_penalty);
                let penalty = if shared { spherical.penalty } else { guessed() };
                filled.goal = Goal::Penalty { penalty, max_clusters };
                if filled.covariance_prior == CovariancePrior::Guessed {
                    filled.covariance_prior = CovariancePrior::Expected(within_covariance(data, &spherical.labels));
                }
            }
        }
        Goal::Penalty { .. } => {}
    }
    let clustering = filled.fit(data, watch)?;
    let penalty = match filled.goal {
        Goal::Penalty { penalty, .. } => Some(penalty),
        Goal::Exactly(_) => None,
    };
    Ok(CovarianceFit { clustering, penalty, covariance_penalty: filled.covariance_penalty, spherical_clusters })
}

/// A penalty for clusters of `size` rows and the expected covariance: on a log scale two thirds of the way from what cutting one in
/// half gains to what making one of two costs whose centres are 6 standard deviations apart. Tried with c from n/2 to 20n in one and
/// two columns, clusters 6 deviations apart were found from a few percent above the first to 0.8 times the second.
///
/// A cluster costs c log(1 + v n/c) for each direction in which its variance is v times the expected one. A normal
/// distribution cut at its mean has v = 1 - 2/pi in that direction; two together have v = 1 + 6^2/4.
fn penalty(size: f64, columns: f64, c: f64) -> f64 {
    let cost = |n: f64, v: f64| c * (v * n / c).ln_1p();
    let others = columns - 1.0;
    let whole = columns * cost(size, 1.0);
    let halves = 2.0 * (others * cost(0.5 * size, 1.0) + cost(0.5 * size, 1.0 - 2.0 / std::f64::consts::PI));
    let merged = others * cost(2.0 * size, 1.0) + cost(2.0 * size, 10.0);
    let (gain, price) = (whole - halves, merged - 2.0 * whole);
    if price > 0.0 {
        (gain.max(0.05 * price) * price * price).cbrt()
    } else {
        // So small a c keeps nothing apart: any penalty merges.
        gain.max(1e-3 * c)
    }
}

/// The spherical clusters that the data choose.
struct Spherical {
    k: usize,
    penalty: f64,
    labels: Vec<u32>,
}

impl Spherical {
    fn of<T: Real>(data: &Data<T>, parameters: &FullCovarianceMeans, watch: &dyn Watch) -> Result<Self> {
        let goal = Goal::Penalty { penalty: 1.0, max_clusters: parameters.goal.max_clusters() };
        let (seed, threads) = (parameters.seed, parameters.threads);
        let found = automatic(data, &DpMeans { goal, seed, threads, ..DpMeans::default() }, watch)?;
        let k = found.choice.k;
        let labels = match found.path.centres(k) {
            Some(centres) => nearest_centres(data.rows(), data.reference(), centres, &Workers::serial()),
            None => vec![0; data.n_rows()],
        };
        Ok(Spherical { k, penalty: found.choice.penalty, labels })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hard::CovarianceAlgorithm;
    use crate::metrics::adjusted_rand_index;
    use crate::random::{Stream, stream};
    use crate::simulate::GaussianMixture;
    use crate::structure::Partition;
    use crate::watch::Unwatched;
    use rand::RngExt;
    use rand_distr::StandardNormal;

    const ALL: CovarianceGuesses = CovarianceGuesses { penalty: true, covariance_penalty: true };

    #[test]
    fn round_clusters_are_found_with_every_parameter_guessed() {
        for (n_columns, n_clusters, seed) in [(1, 3, 1), (2, 4, 2), (3, 6, 3), (10, 5, 4)] {
            let recipe =
                GaussianMixture { n_rows: 400, n_columns, n_clusters, separation: 7.0, ..GaussianMixture::default() };
            let sample = recipe.sample(seed).unwrap();
            let data = Data::new(Rows::new(&sample.values, n_columns).unwrap()).unwrap();
            let fit = fit_full_covariance(&data, &FullCovarianceMeans::default(), ALL, &Unwatched).unwrap();
            assert_eq!(fit.spherical_clusters, Some(n_clusters));
            assert_eq!(fit.clustering.n_clusters(), n_clusters, "{n_columns} columns");
            let (size, columns) = (400.0 / n_clusters as f64, n_columns as f64);
            assert_eq!(fit.covariance_penalty, columns * size);
            assert_eq!(fit.penalty, Some(penalty(size, columns, columns * size)));
        }
    }

    #[test]
    fn the_penalty_is_near_one_squared_deviation_per_row() {
        // Worked by hand: cutting gains 0.359 n, 0.38 n, merging costs 1.66 n, 2.94 n.
        assert!((penalty(100.0, 1.0, 100.0) - (0.359f64 * 1.66 * 1.66).cbrt() * 100.0).abs() < 0.5);
        assert!((penalty(100.0, 2.0, 200.0) - (0.380f64 * 2.94 * 2.94).cbrt() * 100.0).abs() < 0.5);
        assert!(penalty(100.0, 2.0, 1e-6) > 0.0 && penalty(100.0, 50.0, 100.0) > 0.0);
    }

    #[test]
    fn one_cloud_stays_one_cluster() {
        for n_columns in [1, 2, 8] {
            let mut rng = stream(5, Stream::Simulation);
            let values: Vec<f64> = (0..300 * n_columns).map(|_| rng.sample(StandardNormal)).collect();
            let data = Data::new(Rows::new(&values, n_columns).unwrap()).unwrap();
            let fit = fit_full_covariance(&data, &FullCovarianceMeans::default(), ALL, &Unwatched).unwrap();
            assert_eq!(fit.clustering.n_clusters(), 1, "{n_columns} columns");
        }
    }

    #[test]
    fn strips_are_found_where_their_covariance_is_given_and_nothing_else() {
        let (mut rng, prior) = (stream(6, Stream::Simulation), vec![25.0, 0.0, 0.0, 0.04]);
        let mut values = Vec::new();
        for n in 0..150 {
            values.push(5.0 * rng.sample::<f64, _>(StandardNormal));
            values.push(2.0 * f64::from(n % 3) + 0.2 * rng.sample::<f64, _>(StandardNormal));
        }
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let truth = Partition::from_labels(0..150u32).labels().iter().map(|n| n % 3).collect::<Vec<_>>();
        use CovarianceAlgorithm::{Collapsed, Frozen};
        let penalties = [None, Some(50.0), Some(150.0), Some(1000.0)];
        for (algorithm, c) in [Frozen, Collapsed].into_iter().flat_map(|a| penalties.map(|c| (a, c))) {
            let covariance_prior = CovariancePrior::Expected(prior.clone());
            let covariance_penalty = c.unwrap_or(1.0);
            let means = FullCovarianceMeans { covariance_prior, algorithm, covariance_penalty, ..Default::default() };
            let guesses = CovarianceGuesses { penalty: true, covariance_penalty: c.is_none() };
            let fit = fit_full_covariance(&data, &means, guesses, &Unwatched).unwrap();
            let found = Partition::from_labels(fit.clustering.labels.clone());
            let agreement = adjusted_rand_index(&Partition::from_labels(truth.clone()), &found).unwrap();
            assert!(agreement > 0.99, "{algorithm:?} {c:?}: {agreement}");
        }
    }
}
