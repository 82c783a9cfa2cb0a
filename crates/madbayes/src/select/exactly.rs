//! Exactly K clusters, and the penalties for which K is optimal: from K to lambda^2.
//!
//! min_K loss(K) + (K - 1) penalty is a lower envelope of lines, so K is optimal exactly for the penalties between
//! max over K' > K of (loss(K) - loss(K'))/(K' - K) and min over K' < K of (loss(K') - loss(K))/(K - K').

use super::{farthest_first_penalty, merge_down};
use crate::data::{Data, EitherData, Real};
use crate::error::Result;
use crate::hard::{Algorithm, Clustering, DpMeans, Goal, Ladder, Restarts, Start};
use crate::parallel::Workers;
use crate::watch::Watch;

/// Numbers of clusters on either side of K that its loss is compared with (K = 1 always is).
const NEIGHBOURS: usize = 2;
/// Passes of a clustering farther away.
const FAR_PASSES: usize = 10;
/// Rows x columns x clusters up to which a neighbour is also fitted from starts of its own.
const SMALL: usize = 1 << 22;

/// The penalties for which a number of clusters is optimal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PenaltyInterval {
    /// Below this, more clusters pay.
    pub low: f64,
    /// Above this, fewer clusters pay; infinite for K = 1.
    pub high: f64,
}

impl PenaltyInterval {
    /// One penalty inside: the geometric middle, or a factor 2 from the one end there is.
    pub fn middle(&self) -> f64 {
        match (self.low > 0.0, self.high.is_finite()) {
            // The product itself may overflow.
            (true, true) => self.low.sqrt() * self.high.sqrt(),
            (true, false) => 2.0 * self.low,
            (false, true) => 0.5 * self.high,
            (false, false) => 1.0,
        }
    }
}

/// A clustering into exactly K.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactFit {
    /// The K-means clustering; its objective and traces are at the middle of `penalties`, where there are any.
    pub clustering: Clustering,
    /// The penalties for which this K is optimal, as far as the losses found for its neighbours at distances 1, 2,
    /// 4, 8, ... and for 1 tell; none if another K is always better.
    pub penalties: Option<PenaltyInterval>,
}

/// Exactly `k` clusters: from `parameters`' own start and restarts, and from DP-means at the farthest-first penalty, the
/// better of both; then measured against its neighbours, which may improve it further (by the parallel algorithm, whatever
/// the parameters say). The parameters' goal is not used.
pub fn fit_exactly<T: Real>(k: usize, parameters: &DpMeans, data: &Data<T>, watch: &dyn Watch) -> Result<ExactFit> {
    fn either(k: usize, parameters: &DpMeans, data: EitherData, watch: &dyn Watch) -> Result<ExactFit> {
        either!(data, data => fit_exactly_on(k, parameters, data, watch))
    }
    either(k, parameters, T::either_data(data), watch)
}

fn fit_exactly_on<T: Real>(k: usize, parameters: &DpMeans, data: &Data<T>, watch: &dyn Watch) -> Result<ExactFit> {
    let exactly = |k: usize| DpMeans { goal: Goal::Exactly(k), ..parameters.clone() };
    let mut best = exactly(k).fit(data, watch)?;
    // From another clustering, merged down or split up to k.
    let warm = |from: &Clustering, k: usize| {
        let start = Start::Given(merge_down(from, k));
        let restarts = Restarts::Exactly(1);
        DpMeans { start, restarts, algorithm: Algorithm::Parallel, ..exactly(k) }.fit(data, watch)
    };
    let penalty = match parameters.start {
        Start::PlusPlus if !best.stopped => farthest_first_penalty(data, k, &Workers::new(parameters.threads), watch),
        _ => 0.0,
    };
    if penalty > 0.0 {
        // That penalty is of single rows, and may ask for far more clusters: twice K is enough to merge down from.
        let goal = Goal::Penalty { penalty, max_clusters: Some((2 * k).min(data.n_rows())) };
        let free = DpMeans { goal, restarts: Restarts::Exactly(1), ..parameters.clone() }.fit(data, watch)?;
        keep_better(&mut best, warm(&free, k)?);
    }
    let mut losses: Vec<(usize, f64)> = Vec::new();
    for other in neighbours(k, data.n_rows()) {
        if best.stopped {
            return Ok(ExactFit { clustering: best, penalties: None });
        }
        if other > k && best.loss() == 0.0 {
            // More clusters cannot gain anything, and there may be no more distinct rows.
            continue;
        }
        // Rows distinct only by rounding cannot be told apart: then there is no such neighbour.
        let Ok(mut neighbour) = warm(&best, other) else { continue };
        if (data.n_rows() * data.n_columns() * other) < SMALL {
            // Centres given for K are no start for another number.
            let start =
                if matches!(parameters.start, Start::Given(_)) { Start::PlusPlus } else { parameters.start.clone() };
            keep_better(&mut neighbour, DpMeans { start, ..exactly(other) }.fit(data, watch)?);
        }
        losses.push((other, neighbour.loss()));
        if other != 1 {
            keep_better(&mut best, warm(&neighbour, k)?);
        }
    }
    let far = if best.stopped { None } else { far_losses(&best, parameters, data, watch) };
    let Some(far) = far else {
        return Ok(ExactFit { clustering: Clustering { stopped: true, ..best }, penalties: None });
    };
    losses.extend(far);
    let penalties = interval(k, best.loss(), &losses);
    if let Some(penalties) = penalties {
        price(&mut best, penalties.middle());
    }
    Ok(ExactFit { clustering: best, penalties })
}

/// Losses farther away, at distances 4, 8, 16, ..., by merges or splits and a few passes: the slope to a near neighbour
/// says little when K is large. None once the watch has said stop.
fn far_losses<T: Real>(
    best: &Clustering,
    parameters: &DpMeans,
    data: &Data<T>,
    watch: &dyn Watch,
) -> Option<Vec<(usize, f64)>> {
    let k = best.n_clusters();
    let most = if best.loss() == 0.0 { k } else { (2 * k).min(data.n_rows()) };
    let distances = || std::iter::successors(Some(2 * NEIGHBOURS), |d| Some(2 * d));
    let below = distances().map_while(|d| k.checked_sub(d)).take_while(|other| *other > 1);
    let above = distances().map(|d| k + d).take_while(|other| *other <= most);
    let others: Vec<usize> = below.chain(above).collect();
    if others.is_empty() {
        return Some(Vec::new());
    }
    let workers = Workers::new(parameters.threads);
    let mut ladder = Ladder::new(data, &workers, watch, FAR_PASSES)?;
    let mut losses = Vec::new();
    for other in others {
        let reference = best.reference.iter().cycle();
        let offsets: Vec<f64> = merge_down(best, other).iter().zip(reference).map(|(c, r)| c - r).collect();
        if ladder.stand_on(&offsets, 1).is_break() || ladder.step_to(other).is_break() {
            return None;
        }
        losses.push((ladder.k(), ladder.loss()));
    }
    Some(losses.into_iter().filter(|(other, _)| *other != k).collect())
}

/// Objective and traces at a penalty: all of its runs had this K in the end, so all are raised by (K - 1) penalty.
fn price(fit: &mut Clustering, penalty: f64) {
    let fixed = (fit.n_clusters() - 1) as f64 * penalty;
    fit.goal = Goal::Penalty { penalty, max_clusters: None };
    fit.objective = fit.goal.objective(fit.loss(), fit.n_clusters());
    fit.traces.iter_mut().chain([&mut fit.trace]).flatten().for_each(|objective| *objective += fixed);
    if let Some(last) = fit.trace.last_mut() {
        *last = fit.objective;
    }
}

/// The numbers of clusters that K is compared with: the nearest ones, and 1.
fn neighbours(k: usize, n_rows: usize) -> Vec<usize> {
    let low = k.saturating_sub(NEIGHBOURS).max(1);
    let high = (k + NEIGHBOURS).min(n_rows);
    let mut all: Vec<usize> = (low..=high).filter(|other| *other != k).collect();
    if low > 1 {
        all.push(1);
    }
    all
}

/// The better of two fits, with the traces of both.
pub(super) fn keep_better(best: &mut Clustering, other: Clustering) {
    let stopped = best.stopped || other.stopped;
    let runs = best.traces.len();
    let mut traces = std::mem::take(&mut best.traces);
    traces.extend(other.traces.iter().cloned());
    if other.objective < best.objective {
        *best = other;
        best.best_run += runs;
    }
    (best.traces, best.stopped) = (traces, stopped);
}

/// The interval on which K beats every other K whose loss is known; none if it is empty.
pub(super) fn interval(k: usize, loss: f64, others: &[(usize, f64)]) -> Option<PenaltyInterval> {
    let (mut low, mut high) = (0.0f64, f64::INFINITY);
    for &(other, other_loss) in others {
        if other > k {
            low = low.max((loss - other_loss) / (other - k) as f64);
        } else {
            high = high.min((other_loss - loss) / (k - other) as f64);
        }
    }
    (low < high).then_some(PenaltyInterval { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::watch::Unwatched;

    /// The least loss for every K by brute force, and from it the exact intervals.
    fn exact_interval(values: &[f64], k: usize) -> Option<PenaltyInterval> {
        let n = values.len();
        let mut losses = vec![f64::INFINITY; n + 1];
        for partition in crate::structure::Partition::all(n) {
            let loss: f64 = partition
                .members()
                .iter()
                .map(|rows| {
                    let mean = rows.iter().map(|r| values[*r]).sum::<f64>() / rows.len() as f64;
                    rows.iter().map(|r| (values[*r] - mean).powi(2)).sum::<f64>()
                })
                .sum();
            let entry = &mut losses[partition.n_groups()];
            *entry = entry.min(loss);
        }
        let others: Vec<(usize, f64)> = (1..=n).filter(|j| *j != k).map(|j| (j, losses[j])).collect();
        interval(k, losses[k], &others)
    }

    #[test]
    fn intervals_equal_those_of_brute_force_where_neighbours_decide() {
        let values = [0.0, 0.4, 1.0, 5.0, 5.3, 9.0, 9.9];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let mut optimal = 0;
        for k in 1..=7 {
            let fit = fit_exactly(k, &DpMeans::default(), &data, &Unwatched).unwrap();
            assert_eq!(fit.clustering.n_clusters(), k);
            match (fit.penalties, exact_interval(&values, k)) {
                (Some(found), Some(exact)) => {
                    optimal += 1;
                    assert!((found.low - exact.low).abs() < 1e-9, "K {k}: {found:?} {exact:?}");
                    assert!(found.high == exact.high || (found.high - exact.high).abs() < 1e-9, "K {k}");
                    let middle = found.middle();
                    assert!(found.low < middle && middle < found.high);
                    let free = DpMeans::with_penalty(middle).fit(&data, &Unwatched).unwrap();
                    assert_eq!(free.n_clusters(), k, "DP-means at the middle of the interval finds K");
                }
                (found, exact) => assert_eq!(found, exact, "K {k}"),
            }
        }
        assert!(optimal >= 3);
    }

    #[test]
    fn k_given_centres_are_a_start_for_exactly_k() {
        let values = [0.0, 0.4, 1.0, 5.0, 5.3, 9.0, 9.9];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        for (k, centres) in [(1, vec![2.0]), (3, vec![9.0, 0.0, 5.0]), (5, vec![0.0, 1.0, 5.0, 9.0, 9.9])] {
            let given = DpMeans { start: Start::Given(centres), ..DpMeans::default() };
            let found = fit_exactly(k, &given, &data, &Unwatched).unwrap();
            let free = fit_exactly(k, &DpMeans::default(), &data, &Unwatched).unwrap();
            assert_eq!(found.clustering.labels, free.clustering.labels, "K {k}");
            assert_eq!(found.penalties, free.penalties, "K {k}");
        }
    }

    #[test]
    fn the_middle_of_penalties_lies_between_them_at_any_scale() {
        for (low, high) in [(1.0, 4.0), (1e160, 4e160), (1e-200, 1e-190), (1e-300, 1e300)] {
            let middle = PenaltyInterval { low, high }.middle();
            assert!(low < middle && middle < high, "{low} {middle} {high}");
        }
    }

    #[test]
    fn many_clusters_are_judged_by_far_neighbours_too() {
        // Twelve tight pairs of triples: between 12 and 24 no K pays, though each looks as good as the next one.
        let mut values = Vec::new();
        for i in 0..12 {
            for j in 0..6 {
                values.push(f64::from(i) * 100.0 + f64::from(j / 3) * 10.0 + f64::from(j % 3) * 0.01);
            }
        }
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        for (k, optimal) in [(12, true), (18, false), (24, true)] {
            let fit = fit_exactly(k, &DpMeans::default(), &data, &Unwatched).unwrap();
            let wide = fit.penalties.is_some_and(|p| p.high > 1.001 * p.low);
            assert_eq!(wide, optimal, "K {k}: {:?}", fit.penalties);
        }
    }

    #[test]
    fn a_k_that_no_penalty_chooses_is_said_to_be_so() {
        // Four equal gaps at the corners of a square: 3 lies above the line between 2 and 4.
        let values = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let fit = fit_exactly(3, &DpMeans::default(), &data, &Unwatched).unwrap();
        assert_eq!((fit.clustering.n_clusters(), fit.penalties), (3, None));
    }
}
