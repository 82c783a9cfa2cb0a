//! Exactly K clusters, and the penalties for which K is optimal: from K to lambda^2.
//!
//! min_K loss(K) + (K - 1) penalty is a lower envelope of lines, so K is optimal exactly for the penalties between
//! max over K' > K of (loss(K) - loss(K'))/(K' - K) and min over K' < K of (loss(K') - loss(K))/(K - K').

use super::farthest_first_penalty;
use crate::data::{Data, Real};
use crate::error::Result;
use crate::hard::{Clustering, DpMeans, Goal, Restarts, Start};
use crate::linalg::squared_distance;
use crate::parallel::Workers;
use crate::watch::Watch;

/// Numbers of clusters on either side of K that its loss is compared with (K = 1 always is).
const NEIGHBOURS: usize = 2;

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
            (true, true) => (self.low * self.high).sqrt(),
            (true, false) => 2.0 * self.low,
            (false, true) => 0.5 * self.high,
            (false, false) => 1.0,
        }
    }
}

/// A clustering into exactly K.
#[derive(Debug, Clone, PartialEq)]
pub struct ExactFit {
    /// The K-means clustering.
    pub clustering: Clustering,
    /// The penalties for which this K is optimal, as far as the losses found for K - 2 .. K + 2 and 1 tell; none if
    /// another K is always better.
    pub penalties: Option<PenaltyInterval>,
}

/// Exactly `k` clusters: from DP-means at the farthest-first penalty, and from `parameters`' own start and restarts,
/// the better of both; then measured against its neighbours. Only the parameters' goal is not used.
pub fn fit_exactly<T: Real>(k: usize, parameters: &DpMeans, data: &Data<T>, watch: &dyn Watch) -> Result<ExactFit> {
    let exactly = |k: usize| DpMeans { goal: Goal::Exactly(k), ..parameters.clone() };
    exactly(k).check(data)?;
    let mut best = exactly(k).fit(data, watch)?;
    let warm = |from: &Clustering, k: usize| {
        let start = Start::Given(merge_down(from, k));
        DpMeans { start, restarts: Restarts::Exactly(1), algorithm: Default::default(), ..exactly(k) }.fit(data, watch)
    };
    if matches!(parameters.start, Start::PlusPlus) && !best.stopped {
        let penalty = farthest_first_penalty(data, k, &Workers::new(parameters.threads), watch);
        if penalty > 0.0 {
            let goal = Goal::Penalty { penalty, max_clusters: None };
            // Far more clusters than asked for would be merged away again.
            let goal = if penalty * (k as f64) < best.loss() { Goal::Exactly(k) } else { goal };
            let free = DpMeans { goal, restarts: Restarts::Exactly(1), ..parameters.clone() }.fit(data, watch)?;
            keep_better(&mut best, warm(&free, k)?);
        }
    }
    let mut losses: Vec<(usize, f64)> = Vec::new();
    for distance in 1..=NEIGHBOURS {
        if k > distance && !best.stopped {
            let fewer = warm(&best, k - distance)?;
            losses.push((k - distance, fewer.loss()));
            keep_better(&mut best, warm(&fewer, k)?);
        }
        if k + distance <= data.n_rows() && best.loss() > 0.0 && !best.stopped {
            // Too few distinct rows for more clusters: then the loss of K is 0 up to rounding.
            let Ok(more) = warm(&best, k + distance) else { continue };
            losses.push((k + distance, more.loss()));
            keep_better(&mut best, warm(&more, k)?);
        }
    }
    if k > 1 && k <= NEIGHBOURS + 1 || best.stopped {
        // K = 1 is among the neighbours already.
    } else if k > 1 {
        losses.push((1, warm(&best, 1)?.loss()));
    }
    let penalties = if best.stopped { None } else { interval(k, best.loss(), &losses) };
    Ok(ExactFit { clustering: best, penalties })
}

fn keep_better(best: &mut Clustering, other: Clustering) {
    let stopped = best.stopped || other.stopped;
    if other.objective < best.objective {
        *best = other;
    }
    best.stopped = stopped;
}

/// The interval on which K beats every other K whose loss is known; none if it is empty.
fn interval(k: usize, loss: f64, others: &[(usize, f64)]) -> Option<PenaltyInterval> {
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

/// Centres of a clustering with its cheapest pairs merged until at most `k` are left:
/// n_i n_j/(n_i + n_j) |m_i - m_j|^2 each.
fn merge_down(from: &Clustering, k: usize) -> Vec<f64> {
    let d = from.n_columns;
    let mut clusters: Vec<(f64, Vec<f64>)> =
        from.sizes.iter().map(|s| *s as f64).zip(from.centres.chunks_exact(d).map(<[f64]>::to_vec)).collect();
    while clusters.len() > k {
        let cost = |i: usize, j: usize| {
            let ((a, x), (b, y)) = (&clusters[i], &clusters[j]);
            a * b / (a + b) * squared_distance(x, y)
        };
        let pairs = (0..clusters.len()).flat_map(|i| (0..i).map(move |j| (j, i)));
        let Some((j, i)) = pairs.min_by(|a, b| cost(a.0, a.1).total_cmp(&cost(b.0, b.1))) else { break };
        let (b, y) = clusters.swap_remove(i);
        let (a, x) = &mut clusters[j];
        x.iter_mut().zip(&y).for_each(|(x, y)| *x = (*a * *x + b * y) / (*a + b));
        *a += b;
    }
    clusters.into_iter().flat_map(|(_, centre)| centre).collect()
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
    fn a_k_that_no_penalty_chooses_is_said_to_be_so() {
        // Four equal gaps at the corners of a square: 3 lies above the line between 2 and 4.
        let values = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let fit = fit_exactly(3, &DpMeans::default(), &data, &Unwatched).unwrap();
        assert_eq!((fit.clustering.n_clusters(), fit.penalties), (3, None));
    }
}
