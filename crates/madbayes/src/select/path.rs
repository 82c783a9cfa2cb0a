//! The whole path from K to lambda^2: every K that is optimal for some penalty, its interval and its loss.

use super::climb::Climb;
use super::hull::{HullPoint, lower_hull};
use super::sample::sampled;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::hard::{Ladder, losses, mean_offset, nearest_centres};
use crate::parallel::Workers;
use crate::watch::Watch;

/// Passes over all rows from the centres of a sample, after a first one: only for K that are still optimal then.
const REFINING_PASSES: usize = 2;
/// Values below which a computation is too short for threads.
const SMALL: usize = 1 << 13;

/// Every K that is optimal for some penalty, as far as the losses found tell; for clusters (K >= 1) and features (K >= 0).
#[derive(Debug, Clone, PartialEq)]
pub struct PenaltyPath {
    /// The Ks that are optimal for some penalty, the smallest first.
    pub points: Vec<HullPoint>,
    /// (K, loss) for all K tried, optimal or not, or where rows were sampled for those optimal there; the losses fall.
    pub losses: Vec<(usize, f64)>,
    /// How many rows were searched, where not all were: the clusterings found there were then refined on all rows.
    pub sampled_rows: Option<usize>,
    /// Whether the watch stopped the search; what was found until then is a path too.
    pub stopped: bool,
}

impl PenaltyPath {
    /// The path of these losses up to `most` groups: losses beyond it tell where its last interval ends.
    pub fn new(losses: Vec<(usize, f64)>, most: usize, negligible: f64) -> Self {
        let mut points = lower_hull(&losses, negligible);
        points.retain(|point| point.k <= most);
        let losses = losses.into_iter().filter(|(k, _)| *k <= most).collect();
        PenaltyPath { points, losses, sampled_rows: None, stopped: false }
    }

    /// Leaves out numbers of groups that are optimal for smaller penalties only.
    pub(super) fn end_at(&mut self, least_penalty: f64) {
        self.points.retain(|point| point.high > least_penalty);
        let last = self.points.last().map_or(0, |point| point.k);
        self.losses.retain(|(k, _)| *k <= last);
    }

    /// The point of K; none if no penalty chooses it.
    pub fn point(&self, k: usize) -> Option<&HullPoint> {
        self.points.iter().find(|point| point.k == k)
    }

    /// A penalty for which K is optimal, the middle of its interval; none if there is none.
    pub fn penalty_for(&self, k: usize) -> Option<f64> {
        self.point(k).map(|point| point.interval().middle())
    }

    /// The number of groups that is optimal for a penalty, among those tried.
    pub fn k_for(&self, penalty: f64) -> Option<usize> {
        let of = |p: &&HullPoint| p.loss + p.k as f64 * penalty;
        self.points.iter().min_by(|a, b| of(a).total_cmp(&of(b))).map(|point| point.k)
    }
}

/// A path with the clusterings on it.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPath {
    /// The numbers of clusters and their penalties.
    pub path: PenaltyPath,
    /// Centres of the best clustering found for K = 1, 2, ..., K x D each.
    centres: Vec<Vec<f64>>,
}

impl ClusterPath {
    /// The centres of the best clustering found with K clusters, K x D.
    pub fn centres(&self, k: usize) -> Option<&[f64]> {
        self.centres.get(k.checked_sub(1)?).map(Vec::as_slice)
    }

    /// The cluster of each row in the best clustering found with K clusters; none beyond the path.
    pub fn labels<T: Real>(&self, k: usize, data: &Data<T>, workers: &Workers) -> Option<Vec<u32>> {
        fn either(this: &ClusterPath, k: usize, data: EitherData, workers: &Workers) -> Option<Vec<u32>> {
            either!(data, data => this.labels_on(k, data, workers))
        }
        either(self, k, T::either_data(data), workers)
    }

    fn labels_on<T: Real>(&self, k: usize, data: &Data<T>, workers: &Workers) -> Option<Vec<u32>> {
        Some(nearest_centres(data.rows(), data.reference(), self.centres(k)?, workers))
    }
}

/// How a path is sought.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathSearch {
    /// The largest K; none: 1.5 times the root of the number of rows, at least 12 and at most 120.
    pub max_groups: Option<usize>,
    /// Penalties below this are of no interest: K grows only as long as its interval reaches above it.
    pub least_penalty: Option<f64>,
    /// Rows beyond which a random sample of so many is searched, and the clusterings found are refined on all rows; none: 8192,
    /// or 4096 where there are more than 8 columns.
    pub sample: Option<usize>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl PathSearch {
    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        if let Some(k) = self.max_groups.filter(|k| !(1..=data.n_rows()).contains(k)) {
            return Err(Error::argument(
                "max_groups",
                format!("between 1 and the number of rows, {}", data.n_rows()),
                k,
                "it is the largest number of groups on the path",
            ));
        }
        if let Some(penalty) = self.least_penalty.filter(|p| !(p.is_finite() && *p > 0.0)) {
            return Err(Error::argument(
                "least_penalty",
                "a positive finite number",
                penalty,
                "leave it out to go on to max_groups",
            ));
        }
        if let Some(rows) = self.sample.filter(|rows| *rows < 2) {
            return Err(Error::argument("sample", "at least 2", rows, "a path needs two rows"));
        }
        Ok(())
    }

    /// The path of clusters. Stopped by the watch, it is the path so far.
    pub fn clusters<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<ClusterPath> {
        fn either(this: &PathSearch, data: EitherData, watch: &dyn Watch) -> Result<ClusterPath> {
            either!(data, data => this.clusters_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn clusters_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<ClusterPath> {
        self.check(data)?;
        let most = self.max_groups.unwrap_or_else(|| default_most(data.n_rows()));
        let mut found = self.search(data, watch, |climb, share| {
            let mut reached = if self.least_penalty.is_some() { most.min(8) } else { most };
            loop {
                climb.reach(beyond(reached));
                let path = PenaltyPath::new(climb.losses(), reached, 0.0);
                let enough = match (self.least_penalty, path.points.last()) {
                    (Some(penalty), Some(last)) => last.low <= penalty * share,
                    _ => true,
                };
                if enough || reached >= most || climb.stopped() {
                    break;
                }
                reached = (2 * reached).min(most);
            }
            climb.solve_crossings(beyond(reached), &Workers::new(self.threads));
            reached
        })?;
        if let Some(penalty) = self.least_penalty {
            found.path.end_at(penalty);
        }
        Ok(found)
    }

    /// Searches some rows or all: `reach` climbs as far as it wants to, told what share of the whole its rows are, and says up
    /// to which K the path goes.
    pub(super) fn search<T: Real>(
        &self,
        data: &Data<T>,
        watch: &dyn Watch,
        reach: impl FnOnce(&mut Climb<T>, f64) -> usize,
    ) -> Result<ClusterPath> {
        let rows = self.sample.unwrap_or(if data.n_columns() <= 8 { 8192 } else { 4096 });
        let sample = sampled(data, rows, self.seed);
        let seen = sample.as_ref().map(|rows| rows.data()).transpose()?;
        let seen = seen.as_ref().unwrap_or(data);
        let workers = self.workers(seen);
        let share = seen.total_weight() / data.total_weight();
        let mut climb = Climb::new(seen, &workers, watch, self.seed);
        let most = reach(&mut climb, share);
        let mut stopped = climb.stopped();
        if climb.rungs.is_empty() {
            // Stopped before anything was seen: one cluster is a path.
            let centres = vec![absolute(&mean_offset(data), data)];
            let loss: f64 = losses(data, &centres[0], &vec![0; data.n_rows()], &workers).iter().sum();
            return Ok(ClusterPath {
                path: PenaltyPath { stopped, ..PenaltyPath::new(vec![(1, loss)], 1, 0.0) },
                centres,
            });
        }
        let mut losses = climb.losses();
        let mut centres: Vec<Vec<f64>> = climb.rungs.iter().map(|rung| absolute(&rung.offsets, seen)).collect();
        let sampled_rows = sample.as_ref().map(|_| seen.n_rows());
        if sampled_rows.is_some() {
            let hull: Vec<usize> = lower_hull(&losses, 0.0).iter().map(|point| point.k).collect();
            match self.refine(data, watch, &hull, &mut centres) {
                Some(refined) if !stopped => losses = refined,
                _ => {
                    losses.iter_mut().for_each(|(_, loss)| *loss /= share);
                    stopped = true;
                }
            }
        }
        let path = PenaltyPath { sampled_rows, stopped, ..PenaltyPath::new(losses, most, negligible(data)) };
        centres.truncate(path.losses.last().map_or(1, |(k, _)| *k));
        Ok(ClusterPath { path, centres })
    }

    /// Passes over all rows from the centres found on some of them; the losses there. None once the watch has said stop.
    fn refine<T: Real>(
        &self,
        data: &Data<T>,
        watch: &dyn Watch,
        ks: &[usize],
        centres: &mut [Vec<f64>],
    ) -> Option<Vec<(usize, f64)>> {
        let workers = self.workers(data);
        let mut ladder = Ladder::new(data, &workers, watch, REFINING_PASSES)?;
        centres[0] = absolute(ladder.offsets(), data);
        let one = (1, ladder.loss());
        let mut pass_over = |ks: &[usize], passes: usize| {
            let mut losses = vec![one];
            for &k in ks.iter().filter(|k| **k > 1) {
                let reference = data.reference().iter().map(|&r| r.into()).cycle();
                let offsets: Vec<f64> = centres[k - 1].iter().zip(reference).map(|(c, r): (&f64, f64)| c - r).collect();
                ladder.stand_on(&offsets, passes).continue_value()?;
                if ladder.k() == k && losses.last().is_some_and(|(_, loss)| ladder.loss() < *loss) {
                    losses.push((k, ladder.loss()));
                    centres[k - 1] = absolute(ladder.offsets(), data);
                }
            }
            Some(losses)
        };
        let losses = pass_over(ks, 1)?;
        let optimal: Vec<usize> = lower_hull(&losses, 0.0).iter().map(|point| point.k).collect();
        pass_over(&optimal, REFINING_PASSES)
    }

    fn workers<T: Real>(&self, data: &Data<T>) -> Workers {
        if data.n_rows() * data.n_columns() < SMALL { Workers::serial() } else { Workers::new(self.threads) }
    }
}

/// The largest K of a path where none is given.
pub(super) fn default_most(n_rows: usize) -> usize {
    ((1.5 * (n_rows as f64).sqrt()) as usize).clamp(12, 120).min(n_rows)
}

/// How far a search goes for the intervals up to `most` to have lower ends.
pub(super) fn beyond(most: usize) -> usize {
    most + most / 8 + 1
}

/// Losses and falls that are but rounding of the squares.
pub(super) fn negligible<T: Real>(data: &Data<T>) -> f64 {
    1e-14 * data.total_weight() * data.spreads().iter().map(|s| s * s).sum::<f64>()
}

pub(super) fn absolute<T: Real>(offsets: &[f64], data: &Data<T>) -> Vec<f64> {
    offsets.iter().zip(data.reference().iter().cycle()).map(|(o, &r)| o + r.into()).collect()
}
