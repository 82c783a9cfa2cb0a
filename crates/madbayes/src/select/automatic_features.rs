//! How many features: the K that persists over the widest range of penalties for its size, if data of the same mean and
//! covariance without features would not be explained as well.

use super::automatic::{Candidate, Choice, choice, ranked};
use super::feature_path::{FeaturePath, default_most_features};
use super::hull::HullPoint;
use super::path::{PathSearch, PenaltyPath};
use super::structureless::{Evidence, feature_evidence};
use crate::data::{Data, EitherData, Real};
use crate::error::Result;
use crate::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, Features};
use crate::parallel::Workers;
use crate::watch::Watch;

/// A climb goes on to this multiple of a K that persists, and two more.
const ROOM_ABOVE: usize = 2;
/// Persistence from which a climb need not go on for ever.
const CLEAR: f64 = 1.0;
/// K times persistence above which no data without features come: theirs stays below 7.
const DECISIVE: f64 = 9.0;
/// Standard deviations above data without features, of the loss explained, from which there are features.
pub const FEATURE_EVIDENCE: f64 = 2.5;
/// A feature of more than this share of the rows is where the data lie, not a group of rows.
const BASE_SHARE: f64 = 0.8;
/// More features than this are not compared with data without any: where there are more, so many explain more already.
const MOST_COMPARED: usize = 6;
/// A single feature, as the mean is, must explain this many times what the next one would.
const BASE_FACTOR: f64 = 3.0;

/// A choice and the path it was made on.
#[derive(Debug, Clone, PartialEq)]
pub struct AutomaticFeatures {
    /// The choice.
    pub choice: Choice,
    /// The path.
    pub path: FeaturePath,
}

impl PathSearch {
    /// The path of features and the choice on it; none at all is possible. Without bounds on the path it goes as far as a
    /// clear choice needs. Stopped by the watch, it chooses on the path so far.
    pub fn automatic_features<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<AutomaticFeatures> {
        if self.max_groups.is_some() || self.least_penalty.is_some() {
            return Ok(self.choose_features(data, self.features(data, watch)?, watch));
        }
        self.look_for_features(data, default_most_features(data), watch)
    }

    fn look_for_features<T: Real>(&self, data: &Data<T>, most: usize, watch: &dyn Watch) -> Result<AutomaticFeatures> {
        fn either(this: &PathSearch, data: EitherData, most: usize, watch: &dyn Watch) -> Result<AutomaticFeatures> {
            either!(data, data => this.look_for_features_on(data, most, watch))
        }
        either(self, T::either_data(data), most, watch)
    }

    fn look_for_features_on<T: Real>(
        &self,
        data: &Data<T>,
        most: usize,
        watch: &dyn Watch,
    ) -> Result<AutomaticFeatures> {
        self.check(data)?;
        let path = self.search_features(data, most, watch, |path| match ranked(&path.points, 0.0, 2).first() {
            Some(best) if best.persistence >= CLEAR => path.losses.len() > ROOM_ABOVE * best.k + 2,
            _ => false,
        })?;
        Ok(self.choose_features(data, path, watch))
    }

    fn choose_features<T: Real>(&self, data: &Data<T>, path: FeaturePath, watch: &dyn Watch) -> AutomaticFeatures {
        fn either(this: &PathSearch, data: EitherData, path: FeaturePath, watch: &dyn Watch) -> AutomaticFeatures {
            either!(data, data => this.choose_features_on(data, path, watch))
        }
        either(self, T::either_data(data), path, watch)
    }

    fn choose_features_on<T: Real>(&self, data: &Data<T>, path: FeaturePath, watch: &dyn Watch) -> AutomaticFeatures {
        let of_most = |rows: usize| rows as f64 > BASE_SHARE * data.n_rows() as f64;
        let base = path.allocation(1).is_some_and(|one| of_most(one.counts()[0]));
        // A feature for every distinct row explains everything and says nothing.
        let largest = (data.n_rows() / 2).min(distinct_rows(data, 2 * path.path.losses.len()) - 1);
        let ranked = ranked(&path.path.points, 0.0, if base { 2 } else { 1 });
        let ranked: Vec<Candidate> = ranked.into_iter().filter(|c| c.k <= largest).collect();
        let (chosen, evidence) = judge(data, &ranked, self.seed, &Workers::new(self.threads), watch);
        let fallback = base_or_nothing(&path.path);
        AutomaticFeatures { choice: choice(&fallback, &ranked, chosen, evidence, FEATURE_EVIDENCE), path }
    }
}

/// The number of features the data suggest, with the path that says so. Of `parameters` the cap, the seed and the threads
/// count; where more are suggested than the cap allows, the most that are optimal below it.
pub fn automatic_features<T: Real>(
    data: &Data<T>,
    parameters: &BpMeans,
    watch: &dyn Watch,
) -> Result<AutomaticFeatures> {
    let search = PathSearch { seed: parameters.seed, threads: parameters.threads, ..PathSearch::default() };
    let mut found = search.look_for_features(data, default_most_features(data), watch)?;
    let cap = parameters.goal.cap(data.n_rows());
    if found.choice.k > cap
        && let Some(point) = found.path.path.points.iter().rev().find(|point| point.k <= cap)
    {
        let penalties = point.interval();
        found.choice = Choice { k: point.k, penalty: penalties.middle(), penalties, ..found.choice };
        found.choice.runners_up.retain(|c| c.k <= cap && c.k != point.k);
    }
    Ok(found)
}

/// How many rows differ, counted up to `enough`.
fn distinct_rows<T: Real>(data: &Data<T>, enough: usize) -> usize {
    let mut seen = std::collections::BTreeSet::new();
    for row in data.rows().iter() {
        // 0 and -0 are equal.
        seen.insert(row.iter().map(|&x| (Into::<f64>::into(x) + 0.0).to_bits()).collect::<Vec<u64>>());
        if seen.len() > enough {
            break;
        }
    }
    seen.len()
}

/// Features at the penalty that the data suggest.
#[derive(Debug, Clone, PartialEq)]
pub struct ChosenFeatures {
    /// The features.
    pub features: Features,
    /// The choice.
    pub choice: Choice,
    /// The path it was made on.
    pub path: FeaturePath,
}

/// BP-means with the penalty that the data suggest, from the features of the path unless another start or algorithm is
/// wanted.
pub fn fit_features_automatically<T: Real>(
    data: &Data<T>,
    parameters: &BpMeans,
    watch: &dyn Watch,
) -> Result<ChosenFeatures> {
    fn either(data: EitherData, parameters: &BpMeans, watch: &dyn Watch) -> Result<ChosenFeatures> {
        either!(data, data => fit_features_automatically_on(data, parameters, watch))
    }
    either(T::either_data(data), parameters, watch)
}

fn fit_features_automatically_on<T: Real>(
    data: &Data<T>,
    parameters: &BpMeans,
    watch: &dyn Watch,
) -> Result<ChosenFeatures> {
    let AutomaticFeatures { choice, path } = automatic_features(data, parameters, watch)?;
    let max_features = match parameters.goal {
        FeatureGoal::Penalty { max_features, .. } => max_features,
        FeatureGoal::Exactly(_) => None,
    };
    let goal = FeatureGoal::Penalty { penalty: choice.penalty, max_features };
    let by_default =
        parameters.start == FeatureStart::Spectral && parameters.algorithm == FeatureAlgorithm::Alternating;
    let start = match path.allocation(choice.k) {
        Some(allocation) if by_default => FeatureStart::Allocation(allocation.clone()),
        _ => parameters.start.clone(),
    };
    let mut fit = BpMeans { goal, start, ..parameters.clone() }.fit(data, watch)?;
    let mut losses: std::collections::BTreeMap<usize, f64> = path.path.losses.iter().copied().collect();
    for (k, loss) in &fit.losses_by_k {
        losses.entry(*k).and_modify(|known| *known = known.min(*loss)).or_insert(*loss);
    }
    fit.losses_by_k = losses.into_iter().collect();
    fit.stopped |= path.path.stopped;
    Ok(ChosenFeatures { features: fit, choice, path })
}

/// The first candidate, if data without features are not explained as well by as many, and how far they are from that.
fn judge<T: Real>(
    data: &Data<T>,
    ranked: &[Candidate],
    seed: u64,
    workers: &Workers,
    watch: &dyn Watch,
) -> (Option<Candidate>, Option<Evidence>) {
    match ranked.first() {
        Some(first) if first.persistence >= CLEAR && first.k as f64 * first.persistence > DECISIVE => {
            (Some(*first), None)
        }
        Some(first) => {
            let Some(loss) = feature_evidence(data, first.k.min(MOST_COMPARED), seed, workers, watch) else {
                return (Some(*first), None);
            };
            let evidence = Evidence { persistence: None, loss };
            ((loss >= FEATURE_EVIDENCE).then_some(*first), Some(evidence))
        }
        None => (None, None),
    }
}

/// Where nothing tells more features: one, if it explains far more than the next would, or none.
fn base_or_nothing(path: &PenaltyPath) -> HullPoint {
    match path.point(1) {
        Some(one) if one.high >= BASE_FACTOR * one.low && one.high > one.low => *one,
        _ => path.points[0],
    }
}
