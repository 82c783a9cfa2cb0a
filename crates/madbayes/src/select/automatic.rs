//! How many groups: the K that persists over the widest range of penalties for its size, if data without structure would
//! not show the like.
//!
//! The persistence of K is log(high/low) of its interval of penalties. In data without structure the loss falls like a
//! power of K, and persistences fall like 1/K; where there are K groups, one stands out. The score of K, sqrt(K) times
//! its persistence, lies between the two: few large groups must stand out more than many small ones.

use super::PenaltyInterval;
use super::climb::Climb;
use super::hull::HullPoint;
use super::path::{ClusterPath, PathSearch, PenaltyPath, beyond, default_most, negligible};
use super::sample::sampled;
use super::structureless::{Evidence, Trial, evidence};
use crate::data::{Data, EitherData, Real};
use crate::error::Result;
use crate::hard::DpMeans;
use crate::parallel::Workers;
use crate::watch::Watch;

/// Persistence beyond this adds nothing: clusters cannot be more than clear, and equal rows persist for ever.
const MOST_PERSISTENCE: f64 = 4.0;
/// K times persistence above which no data without structure come: there it is 1 + 2/D on average, and exponential.
const DECISIVE: f64 = 24.0;
/// Standard deviations above data without structure from which the loss explained is evidence of groups.
pub const LOSS_EVIDENCE: f64 = 3.0;
/// The same of the score.
pub const PERSISTENCE_EVIDENCE: f64 = 4.0;
/// Up to this K a score is compared with the scores of data without structure: beyond it, those are of chance alone.
pub(super) const FEW: usize = 5;
/// Candidates that are compared with data without structure: the best, and of those up to this K as many as make three.
pub(super) const TRIED: usize = 3;
const SMALL: usize = 12;
/// References are not clustered further than this: a larger K is judged by the smaller ones beside it.
const MOST_TESTED: usize = 32;
/// Runners-up that are named.
const RUNNERS_UP: usize = 4;
/// Numbers of groups that are looked at first.
const FIRST_LOOK: usize = 60;
/// A choice needs a path that goes on to this multiple of it.
const ROOM_ABOVE: f64 = 1.5;

/// A number of groups that persists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// Number of groups.
    pub k: usize,
    /// log(high/low) of its interval of penalties, at most 4.
    pub persistence: f64,
    /// sqrt(K) times the persistence: the most is chosen.
    pub score: f64,
    /// The penalties for which it is optimal.
    pub penalties: PenaltyInterval,
}

/// A number of groups chosen by the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Number of groups.
    pub k: usize,
    /// A penalty for which it is optimal, in the middle of `penalties`.
    pub penalty: f64,
    /// All penalties for which it is optimal.
    pub penalties: PenaltyInterval,
    /// From 0 to 1: by what share the score of the runner-up is below that of the choice. For K = 1, how far the data are from
    /// showing more than data without structure do.
    pub confidence: f64,
    /// Other numbers of groups worth a look, the best first.
    pub runners_up: Vec<Candidate>,
    /// How the choice compares with data without structure; none where it is too clear to need that, or was stopped.
    pub evidence: Option<Evidence>,
}

/// A choice and the path it was made on.
#[derive(Debug, Clone, PartialEq)]
pub struct Automatic {
    /// The choice.
    pub choice: Choice,
    /// The path.
    pub path: ClusterPath,
}

/// All K > 1 that persist, the highest score first. `resolution`: a lower end of penalties for a K whose loss is 0, below
/// which equal rows say nothing.
pub fn candidates(points: &[HullPoint], resolution: f64) -> Vec<Candidate> {
    ranked(points, resolution, 2)
}

/// The same for all K from `least`.
pub(super) fn ranked(points: &[HullPoint], resolution: f64, least: usize) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for point in points.iter().skip(1).filter(|point| point.k >= least) {
        let low = if point.loss == 0.0 { point.low.max(resolution) } else { point.low };
        let persistence = (point.high / low).ln().clamp(0.0, MOST_PERSISTENCE);
        let score = (point.k as f64).sqrt() * persistence;
        if score > 0.0 {
            all.push(Candidate { k: point.k, persistence, score, penalties: point.interval() });
        }
    }
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.k.cmp(&b.k)));
    all
}

impl Candidate {
    /// Whether data without structure never come near.
    fn is_decisive(&self) -> bool {
        self.k as f64 * self.persistence > DECISIVE
    }
}

/// The number of clusters the data suggest, with the path that says so. Of `parameters` the cap, the seed and the threads
/// count. Stopped by the watch, it chooses on the path so far.
pub fn automatic<T: Real>(data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<Automatic> {
    fn either(data: EitherData, parameters: &DpMeans, watch: &dyn Watch) -> Result<Automatic> {
        either!(data, data => automatic_on(data, parameters, watch))
    }
    either(T::either_data(data), parameters, watch)
}

fn automatic_on<T: Real>(data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<Automatic> {
    let search = PathSearch { seed: parameters.seed, threads: parameters.threads, ..PathSearch::default() };
    let cap = parameters.goal.max_clusters().unwrap_or(usize::MAX);
    // A cluster has two rows, on average.
    let largest = (data.n_rows() / 2).clamp(1, cap.max(1));
    let path = search.search(data, watch, |climb, _| look(climb, largest, data.n_rows()))?;
    let choice = choose(data, &path.path, largest, parameters.seed, parameters.threads, watch);
    Ok(Automatic { choice, path })
}

impl PathSearch {
    /// The path of clusters and the choice on it; without bounds on the path it is what [`automatic`] finds.
    pub fn automatic_clusters<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Automatic> {
        self.check(data)?;
        if *self == (PathSearch { seed: self.seed, threads: self.threads, ..PathSearch::default() }) {
            let parameters = DpMeans { seed: self.seed, threads: self.threads, ..DpMeans::default() };
            return automatic(data, &parameters, watch);
        }
        let path = self.clusters(data, watch)?;
        Ok(Automatic { choice: self.choose_clusters(data, &path.path, watch), path })
    }

    /// The number of clusters that a path of this data suggests. Stopped by the watch, it does without the comparison with
    /// data without structure.
    pub fn choose_clusters<T: Real>(&self, data: &Data<T>, path: &PenaltyPath, watch: &dyn Watch) -> Choice {
        choose(data, path, (data.n_rows() / 2).max(1), self.seed, self.threads, watch)
    }
}

/// The choice among numbers of clusters up to `largest`.
fn choose<T: Real>(
    data: &Data<T>,
    path: &PenaltyPath,
    largest: usize,
    seed: u64,
    threads: usize,
    watch: &dyn Watch,
) -> Choice {
    fn either(
        data: EitherData,
        path: &PenaltyPath,
        largest: usize,
        seed: u64,
        threads: usize,
        watch: &dyn Watch,
    ) -> Choice {
        either!(data, data => choose_on(data, path, largest, seed, threads, watch))
    }
    either(T::either_data(data), path, largest, seed, threads, watch)
}

fn choose_on<T: Real>(
    data: &Data<T>,
    path: &PenaltyPath,
    largest: usize,
    seed: u64,
    threads: usize,
    watch: &dyn Watch,
) -> Choice {
    let resolution = match path.points.last() {
        Some(last) if last.loss == 0.0 => resolution(data, last.k),
        _ => 0.0,
    };
    let ranked: Vec<Candidate> = candidates(&path.points, resolution).into_iter().filter(|c| c.k <= largest).collect();
    let (chosen, evidence) = judge(data, &ranked, seed, &Workers::new(threads), watch);
    let one = path.points.first().copied();
    let one = one.unwrap_or(HullPoint { k: 1, loss: 0.0, low: 0.0, high: f64::INFINITY });
    choice(&one, &ranked, chosen, evidence, LOSS_EVIDENCE)
}

/// A penalty for the number of clusters the data suggest. Data whose rows are all equal get a penalty of 1: they are one
/// cluster at any price.
pub fn automatic_penalty<T: Real>(data: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<f64> {
    Ok(automatic(data, parameters, watch)?.choice.penalty)
}

/// Climbs until the choice has room above it: as far as a decisive candidate needs, or as far as is usual.
fn look<T: Real>(climb: &mut Climb<T>, largest: usize, n_rows: usize) -> usize {
    let usual = default_most(n_rows).min(largest);
    let mut most = usual.min(FIRST_LOOK);
    loop {
        climb.reach(beyond(most));
        let path = PenaltyPath::new(climb.losses(), most, 0.0);
        let wanted = match candidates(&path.points, 0.0).first() {
            Some(best) if best.is_decisive() => ((best.k as f64 * ROOM_ABOVE) as usize + 2).min(largest),
            _ => usual,
        };
        if wanted <= most || climb.stopped() || climb.losses().len() < most {
            return most;
        }
        most = wanted.min(2 * most);
    }
}

/// The first candidate, if data without structure do not show it or the next ones, and how far they are from them.
fn judge<T: Real>(
    data: &Data<T>,
    ranked: &[Candidate],
    seed: u64,
    workers: &Workers,
    watch: &dyn Watch,
) -> (Option<Candidate>, Option<Evidence>) {
    let Some(first) = ranked.first() else { return (None, None) };
    if first.is_decisive() {
        return (Some(*first), None);
    }
    let rows = test_rows(data.n_columns());
    let sample = sampled(data, rows, seed);
    let seen = sample.as_ref().map(|rows| rows.data());
    let seen = match &seen {
        Some(Ok(seen)) => seen,
        _ => data,
    };
    let largest = first.k.clamp(SMALL, MOST_TESTED).min(seen.n_rows() / 2);
    let tried: Vec<&Candidate> = ranked.iter().filter(|c| c.k <= largest).take(TRIED).collect();
    let ks: Vec<usize> = tried.iter().map(|c| c.k).collect();
    let score = |points: &[HullPoint]| candidates(points, 0.0).first().map_or(0.0, |c| c.score);
    let Some(found) = evidence(seen, &Trial { ks: &ks, seed, score: &score }, workers, watch) else {
        return (Some(*first), None);
    };
    let most = |of: &dyn Fn(&Evidence) -> f64| found.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let persistence = most(&|e| e.persistence.unwrap_or(f64::NEG_INFINITY));
    let evidence = Evidence { persistence: Some(persistence), loss: most(&|e| e.loss) };
    let stands_out = first.k <= FEW && persistence >= PERSISTENCE_EVIDENCE;
    ((stands_out || evidence.loss >= LOSS_EVIDENCE).then_some(*first), Some(evidence))
}

/// The choice of a candidate, or of `fallback` where there is none; `enough` is the evidence of loss that makes one.
pub(super) fn choice(
    fallback: &HullPoint,
    ranked: &[Candidate],
    chosen: Option<Candidate>,
    evidence: Option<Evidence>,
    enough: f64,
) -> Choice {
    let k = chosen.map_or(fallback.k, |chosen| chosen.k);
    let runners_up: Vec<Candidate> = ranked.iter().filter(|c| c.k != k).take(RUNNERS_UP).copied().collect();
    match chosen {
        Some(best) => {
            let next = runners_up.first().map_or(0.0, |c| c.score);
            let confidence = (1.0 - next / best.score).clamp(0.0, 1.0);
            let penalties = best.penalties;
            Choice { k, penalty: penalties.middle(), penalties, confidence, runners_up, evidence }
        }
        None if fallback.low.is_infinite() => {
            // Nothing but the first K was seen: what is surely known is that no other pays above its whole loss.
            let penalties = PenaltyInterval { low: fallback.loss, high: f64::INFINITY };
            Choice { k, penalty: penalties.middle(), penalties, confidence: 0.0, runners_up, evidence }
        }
        None => {
            let penalties = fallback.interval();
            let nearness = evidence.map_or(0.0, |e| {
                let persistence = e.persistence.map_or(0.0, |p| p / PERSISTENCE_EVIDENCE);
                (e.loss / enough).max(persistence).clamp(0.0, 1.0)
            });
            let confidence = 1.0 - nearness;
            Choice { k, penalty: penalties.middle(), penalties, confidence, runners_up, evidence }
        }
    }
}

/// Rows that are compared with data without structure: more in many columns, where less of each row is seen.
fn test_rows(n_columns: usize) -> usize {
    let most = if n_columns <= 10 { 1024 } else { 2048 };
    ((1 << 17) / n_columns).clamp(256, most)
}

/// The penalty at which values that are but rounded would merge with their neighbours: half the weight of a group times the
/// square of the least gap of the column where that is largest. Columns of two values tell nothing.
fn resolution<T: Real>(data: &Data<T>, k: usize) -> f64 {
    let gap = |column: usize| {
        let mut values: Vec<f64> =
            (0..data.n_rows()).filter(|&n| data.weight(n) > 0.0).map(|n| data.rows().row(n)[column].into()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let least = values.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
        if values.len() > 2 { least } else { 0.0 }
    };
    let widest = (0..data.n_columns()).map(gap).fold(0.0, f64::max);
    (0.5 * widest * widest * data.total_weight() / k as f64).max(negligible(data))
}
