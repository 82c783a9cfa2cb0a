//! What full-covariance means needs and nobody gave: a guess from spherical clusters, n rows each. The covariance penalty
//! c = D n, the penalty n, and the pooled covariance of those clusters.
//!
//! Why: two clusters of n rows and the expected covariance, d standard deviations apart, cost n f(d) more as one, with f(6) = 1.7
//! in one column (c = n), 2.9 in two (c = 2n) and 8 in ten (c = 10n); cutting one of them in half gains 0.4 n in each case. A
//! penalty of n lies between. With c = n alone, clusters in many columns would merge whatever their distance.

use super::automatic::automatic;
use crate::data::{Data, Real, Rows};
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
                let penalty = if shared { spherical.penalty } else { size };
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
            let size = 400.0 / n_clusters as f64;
            assert_eq!((fit.penalty, fit.covariance_penalty), (Some(size), n_columns as f64 * size));
        }
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
        for algorithm in [CovarianceAlgorithm::Frozen, CovarianceAlgorithm::Collapsed] {
            let covariance_prior = CovariancePrior::Expected(prior.clone());
            let means = FullCovarianceMeans { covariance_prior, algorithm, ..FullCovarianceMeans::default() };
            let fit = fit_full_covariance(&data, &means, ALL, &Unwatched).unwrap();
            let found = Partition::from_labels(fit.clustering.labels.clone());
            let agreement = adjusted_rand_index(&Partition::from_labels(truth.clone()), &found).unwrap();
            assert!(agreement > 0.99, "{agreement}");
        }
    }
}
