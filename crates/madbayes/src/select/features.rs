//! A penalty for features from the data: the number of features that survives the widest range of penalties.

use super::{HullPoint, lower_hull};
use crate::data::{Data, Real};
use crate::error::Result;
use crate::hard::Restarts;
use crate::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart};
use crate::watch::Watch;

/// Numbers of features that are tried, and how many more than columns: beyond that, sums of features fit noise.
const MOST_FEATURES: usize = 12;
const MORE_THAN_COLUMNS: usize = 2;
/// Losses below this share of the data's are rounding.
const NEGLIGIBLE: f64 = 1e-12;

/// A penalty for this data, by persistence over K = 1 .. 12, at most two more than there are columns (B Eq. 6: the hull starts at K = 0 with the sum of squares of the
/// data); `parameters` gives the row solver, the seed and the threads. Data that are all 0 get a penalty of 1: they have no
/// feature at any price.
pub fn persistent_feature_penalty<T: Real>(data: &Data<T>, parameters: &BpMeans, watch: &dyn Watch) -> Result<f64> {
    let square = |&x: &T| -> f64 {
        let x: f64 = x.into();
        x * x
    };
    let total: f64 = data.rows().values().iter().map(square).sum();
    let mut losses = vec![(0, total)];
    let most = MOST_FEATURES.min(data.n_columns() + MORE_THAN_COLUMNS);
    for k in 1..=(most + 1).min(data.n_rows()) {
        let fit = BpMeans {
            goal: FeatureGoal::Exactly(k),
            algorithm: FeatureAlgorithm::Alternating,
            start: FeatureStart::Spectral,
            restarts: Restarts::Exactly(1),
            ..parameters.clone()
        }
        .fit(data, watch)?;
        losses.push((k, fit.loss));
        if fit.loss <= NEGLIGIBLE * total || fit.stopped {
            break;
        }
    }
    let hull = lower_hull(&losses, NEGLIGIBLE * total);
    let chosen = hull.iter().filter(|point| point.k > 0).max_by(|a, b| persistence(a).total_cmp(&persistence(b)));
    Ok(chosen.map_or(1.0, |point| match point.low > 0.0 && point.low < point.high {
        true => point.interval().middle(),
        false => 0.5 * point.high,
    }))
}

/// By how much the penalty can change without changing K; where nothing is left to explain, a factor of 100.
fn persistence(point: &HullPoint) -> f64 {
    if point.low > 0.0 { point.persistence() } else { 100f64.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::simulate::FeatureMixture;
    use crate::watch::Unwatched;

    #[test]
    fn clear_features_are_counted_without_a_penalty() {
        for (n_features, seed) in [(2, 0), (3, 1), (4, 2), (5, 3)] {
            let recipe =
                FeatureMixture { n_rows: 120, n_columns: 30, n_features, noise: 0.2, ..FeatureMixture::default() };
            let sample = recipe.sample(seed).unwrap();
            let data = Data::new(Rows::new(&sample.values, 30).unwrap()).unwrap();
            let penalty = persistent_feature_penalty(&data, &BpMeans::default(), &Unwatched).unwrap();
            let fit = BpMeans::with_penalty(penalty).fit(&data, &Unwatched).unwrap();
            assert_eq!(fit.allocation.n_features(), n_features, "seed {seed}");
        }
    }

    #[test]
    fn degenerate_data_get_a_penalty_too() {
        for values in [vec![3.0], vec![0.0; 10], vec![3.0; 10], vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 5.0]] {
            let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
            let penalty = persistent_feature_penalty(&data, &BpMeans::default(), &Unwatched).unwrap();
            assert!(penalty.is_finite() && penalty > 0.0, "{values:?}: {penalty}");
        }
    }
}
