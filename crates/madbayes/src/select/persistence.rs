//! A penalty from the data: the number of clusters that survives the widest range of penalties.
//!
//! K is optimal for penalties between the slopes of the lower convex hull of K -> loss(K) on either side of it; its
//! persistence is log(upper end / lower end). The most persistent K > 1 is chosen, and the middle of its interval.

use super::PenaltyInterval;
use crate::data::{Data, Real, Rows};
use crate::error::Result;
use crate::hard::{DpMeans, Goal, Restarts, Start};
use crate::watch::Watch;

/// Numbers of clusters that are tried.
const MOST_CLUSTERS: usize = 20;
/// Rows that are looked at; more are thinned evenly.
const SAMPLE: usize = 8192;

/// A penalty for this data, by persistence over K = 2 .. 20. Row weights count; `parameters` gives the seed and threads.
/// Data whose rows are all equal get a penalty of 1: they are one cluster at any price.
pub fn persistent_penalty<T: Real>(data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<f64> {
    let step = data.n_rows().div_ceil(SAMPLE);
    let values: Vec<T> = data.rows().iter().step_by(step).flatten().copied().collect();
    let weights: Option<Vec<f64>> = data.weights().map(|w| w.iter().step_by(step).copied().collect());
    let Ok(sample) = Data::weighted(Rows::new(&values, data.n_columns())?, weights.as_deref()) else {
        // A thinned sample without weight says nothing.
        return Ok(1.0);
    };
    let losses = losses_by_k(&sample, parameters, watch);
    let share = data.total_weight() / sample.total_weight();
    Ok(most_persistent(&losses).map_or(1.0, |interval| interval.middle() * share))
}

/// The least losses found for K = 1, 2, ...: each from the one before by one more split.
fn losses_by_k<T: Real>(data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Vec<f64> {
    let mut losses = Vec::new();
    let mut start = Start::Mean;
    for k in 1..=(MOST_CLUSTERS + 1).min(data.n_rows()) {
        let fit = DpMeans {
            goal: Goal::Exactly(k),
            start,
            restarts: Restarts::Exactly(1),
            algorithm: Default::default(),
            ..parameters.clone()
        }
        .fit(data, watch);
        // No more distinct rows.
        let Ok(fit) = fit else { break };
        losses.push(fit.loss());
        if fit.loss() == 0.0 || fit.stopped {
            break;
        }
        start = Start::Given(fit.centres);
    }
    losses
}

/// The interval of the most persistent K > 1 on the lower hull of `losses` (for K = 1, 2, ...); the last K has no lower end
/// unless its loss is 0. With a loss of 0 at the end, its interval counts down to a hundredth of its upper end.
pub(super) fn most_persistent(losses: &[f64]) -> Option<PenaltyInterval> {
    let hull = lower_hull(losses);
    let slope = |a: usize, b: usize| (losses[a] - losses[b]) / (b - a) as f64;
    let mut best: Option<(f64, PenaltyInterval)> = None;
    for i in 1..hull.len() {
        let high = slope(hull[i - 1], hull[i]);
        let low = match hull.get(i + 1) {
            Some(&next) => slope(hull[i], next),
            None if losses[hull[i]] == 0.0 => high / 100.0,
            None => continue,
        };
        let persistence = (high / low.max(f64::MIN_POSITIVE)).ln();
        if best.is_none_or(|(most, _)| persistence > most) {
            best = Some((persistence, PenaltyInterval { low, high }));
        }
    }
    // Two values of K and nothing between: the one fall there is.
    best.map(|(_, interval)| interval).or_else(|| {
        (losses.len() > 1 && losses[0] > 0.0).then(|| PenaltyInterval { low: 0.0, high: losses[0] - losses[1] })
    })
}

/// Indices on the lower convex hull of (index, loss), as long as the losses fall.
fn lower_hull(losses: &[f64]) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::new();
    for (k, &loss) in losses.iter().enumerate() {
        if hull.last().is_some_and(|&last| loss >= losses[last]) {
            continue;
        }
        while let [.., a, b] = hull[..] {
            let (before, after) = ((losses[a] - losses[b]) / (b - a) as f64, (losses[b] - loss) / (k - b) as f64);
            if after < before {
                break;
            }
            hull.pop();
        }
        hull.push(k);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::GaussianMixture;
    use crate::watch::Unwatched;

    #[test]
    fn the_hull_and_its_widest_interval_worked_by_hand() {
        // Falls of 60, 30, 2, 4 (not convex: 4 after 2), 1: K = 4 (index 3) is off the hull.
        let losses = [100.0, 40.0, 10.0, 8.0, 4.0, 3.0];
        assert_eq!(lower_hull(&losses), [0, 1, 2, 4, 5]);
        // K = 3: from (10 - 4)/2 = 3 to 30, a factor of 10; K = 2: from 30 to 60; K = 5: from 1 to 3.
        assert_eq!(most_persistent(&losses), Some(PenaltyInterval { low: 3.0, high: 30.0 }));
        assert_eq!(most_persistent(&[5.0]), None);
        assert_eq!(most_persistent(&[5.0, 2.0]), Some(PenaltyInterval { low: 0.0, high: 3.0 }));
    }

    #[test]
    fn clear_clusters_are_counted_without_a_penalty() {
        for n_clusters in [2, 3, 5, 8] {
            for seed in 0..3 {
                let recipe = GaussianMixture { n_rows: 600, n_clusters, separation: 8.0, ..GaussianMixture::default() };
                let sample = recipe.sample(seed).unwrap();
                let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
                let penalty = persistent_penalty(&data, &DpMeans::default(), &Unwatched).unwrap();
                let fit = DpMeans::with_penalty(penalty).fit(&data, &Unwatched).unwrap();
                assert_eq!(fit.n_clusters(), n_clusters, "seed {seed}");
            }
        }
    }

    #[test]
    fn degenerate_data_get_a_penalty_too() {
        for values in [vec![3.0], vec![3.0; 10], vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 5.0]] {
            let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
            let penalty = persistent_penalty(&data, &DpMeans::default(), &Unwatched).unwrap();
            assert!(penalty.is_finite() && penalty > 0.0, "{values:?}: {penalty}");
        }
    }
}
