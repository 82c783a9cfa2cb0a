//! The path of features: every K that is optimal for some penalty (B Eq. 6; the hull begins with no feature at all).

use super::hull::lower_hull;
use super::path::{PathSearch, PenaltyPath};
use crate::data::{Data, EitherData, Real};
use crate::error::Result;
use crate::hard::{BpMeans, FeatureGoal, FeatureRungs, Restarts};
use crate::structure::Allocation;
use crate::watch::Watch;

/// Numbers of features that are tried where none is given, and how many more than columns: beyond that, sums of features fit
/// noise.
const MOST_FEATURES: usize = 12;
const MORE_THAN_COLUMNS: usize = 2;
/// Losses below this share of the data's are rounding.
const NEGLIGIBLE: f64 = 1e-12;
/// Rows up to which every K has as many starts as this: few rows have few starts that differ, and each costs next to nothing.
const FEW_ROWS: usize = 8;
const STARTS: usize = 100;
/// A path of features ends here at the latest.
const LONGEST: usize = 63;

/// A path with the features on it.
#[derive(Debug, Clone, PartialEq)]
pub struct FeaturePath {
    /// The numbers of features and their penalties.
    pub path: PenaltyPath,
    /// The best allocations found, the smallest K first.
    allocations: Vec<Allocation>,
}

impl FeaturePath {
    /// Which row has which feature in the best allocation found with K features.
    pub fn allocation(&self, k: usize) -> Option<&Allocation> {
        self.allocations.iter().find(|allocation| allocation.n_features() == k)
    }
}

impl PathSearch {
    /// The path of features. Stopped by the watch, it is the path so far.
    pub fn features<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<FeaturePath> {
        fn either(this: &PathSearch, data: EitherData, watch: &dyn Watch) -> Result<FeaturePath> {
            either!(data, data => this.features_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn features_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<FeaturePath> {
        self.check(data)?;
        let most = self.max_groups.unwrap_or_else(|| default_most_features(data));
        let share = data.n_rows().min(BpMeans::SAMPLE) as f64 / data.n_rows() as f64;
        let enough = |path: &PenaltyPath| match (self.least_penalty, path.points.last()) {
            (Some(penalty), Some(last)) => last.high <= penalty * share,
            _ => false,
        };
        let mut found = self.search_features(data, most, watch, enough)?;
        if let Some(penalty) = self.least_penalty {
            found.path.end_at(penalty);
        }
        Ok(found)
    }

    /// Climbs to `most` features and one more, for the last to have a lower end, until the path so far is enough.
    pub(super) fn search_features<T: Real>(
        &self,
        data: &Data<T>,
        most: usize,
        watch: &dyn Watch,
        enough: impl Fn(&PenaltyPath) -> bool,
    ) -> Result<FeaturePath> {
        let restarts = Restarts::Exactly(if data.n_rows() <= FEW_ROWS { STARTS } else { 1 });
        let parameters = BpMeans {
            goal: FeatureGoal::Exactly((most.min(LONGEST) + 1).min(data.n_rows())),
            restarts,
            seed: self.seed,
            threads: self.threads,
            ..BpMeans::default()
        };
        let numbered = |losses: &[f64]| -> Vec<(usize, f64)> { losses.iter().copied().enumerate().collect() };
        let done = |losses: &[f64]| {
            let negligible = NEGLIGIBLE * losses[0];
            let path = || PenaltyPath::new(numbered(losses), losses.len() - 1, negligible);
            losses[losses.len() - 1] <= negligible || enough(&path())
        };
        let hull = |losses: &[f64]| lower_hull(&numbered(losses), 0.0).iter().map(|point| point.k).collect();
        let climbed = FeatureRungs::climb(&parameters, data, watch, done, hull)?;
        let (mut allocations, mut losses) = (Vec::new(), Vec::new());
        let negligible = NEGLIGIBLE * climbed.rungs[0].1;
        for (allocation, loss) in climbed.rungs {
            losses.push((allocation.n_features(), loss));
            allocations.push(allocation);
        }
        let path = PenaltyPath {
            sampled_rows: climbed.sampled_rows,
            stopped: climbed.stopped,
            ..PenaltyPath::new(losses, most, negligible)
        };
        allocations.retain(|allocation| allocation.n_features() <= most);
        Ok(FeaturePath { path, allocations })
    }
}

/// The largest K of a path where none is given.
pub(super) fn default_most_features<T: Real>(data: &Data<T>) -> usize {
    MOST_FEATURES.min(data.n_columns() + MORE_THAN_COLUMNS).min(data.n_rows())
}
