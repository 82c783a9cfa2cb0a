//! A guess of the covariance within clusters: the pooled covariance of a spherical fit.

use crate::data::{Data, Real};
use crate::error::Result;
use crate::hard::{DpMeans, Goal};
use crate::likelihood::within_covariance;
use crate::watch::Watch;

/// Clusters of the first fit where their number is not known.
const MANY: usize = 20;
/// Most rounds of fit and variance.
const ROUNDS: usize = 10;

/// With K given: the pooled covariance of K-means. Else K-means with 20 clusters (or the cap) gives a first variance v within
/// clusters, and DP-means with v times the penalty the next, until K stays: its pooled covariance.
pub fn guess<T: Real>(data: &Data<T>, goal: &Goal, seed: u64, watch: &dyn Watch) -> Result<Vec<f64>> {
    let d = data.n_columns();
    let fit = |goal: Goal| DpMeans { goal, seed, ..Default::default() }.fit(data, watch);
    let Goal::Penalty { penalty, max_clusters } = *goal else {
        return Ok(within_covariance(data, &fit(*goal)?.labels));
    };
    let most = max_clusters.unwrap_or(MANY).min(MANY).min(data.n_rows());
    // Fewer distinct rows than that: one cluster is a start too.
    let mut labels = match fit(Goal::Exactly(most)) {
        Ok(fit) => fit.labels,
        Err(_) => vec![0; data.n_rows()],
    };
    let mut clusters = 0;
    for _ in 0..ROUNDS {
        let covariance = within_covariance(data, &labels);
        let variance = (0..d).map(|j| covariance[j * d + j]).sum::<f64>() / d as f64;
        let next = fit(Goal::Penalty { penalty: penalty * variance, max_clusters })?;
        labels = next.labels;
        if clusters == next.sizes.len() || next.stopped {
            break;
        }
        clusters = next.sizes.len();
    }
    Ok(within_covariance(data, &labels))
}
