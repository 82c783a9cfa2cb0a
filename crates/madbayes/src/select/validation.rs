//! Validation on held-out rows: the largest K whose clusters another half of the rows would predict.
//!
//! Prediction strength (Tibshirani & Walther 2005): cluster both halves; in each cluster of the second, the share of pairs of
//! its rows that the first half's centres put together too; the least of these shares over the clusters. Broderick et al.
//! (2013, Sec. 5) leave the penalty to validation on a part of the data.

use super::PenaltyInterval;
use super::path::{ClusterPath, PathSearch, default_most};
use crate::data::{Data, EitherData, Real, Rows};
use crate::error::Result;
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::Watch;
use rand::RngExt;

/// Rows in both halves together, at most.
const MOST_ROWS: usize = 8192;
/// Ways of halving the rows.
const HALVINGS: usize = 4;
/// The strength from which clusters count as predicted; between 0.8 and 0.9 is usual.
const STRONG: f64 = 0.8;

/// What held-out rows say.
#[derive(Debug, Clone, PartialEq)]
pub struct Validation {
    /// The largest K whose mean strength is at least 0.8.
    pub k: usize,
    /// A penalty for which K is optimal on all rows; where there is none, for which the next smaller K is.
    pub penalty: f64,
    /// All penalties for which it is.
    pub penalties: PenaltyInterval,
    /// (K, its mean prediction strength).
    pub strengths: Vec<(usize, f64)>,
    /// The path of all rows, on which the penalties were found.
    pub path: ClusterPath,
}

impl PathSearch {
    /// Validates the clusters of each K on held-out rows. Stopped by the watch, it answers with the halvings so far.
    pub fn validate_clusters<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Validation> {
        fn either(this: &PathSearch, data: EitherData, watch: &dyn Watch) -> Result<Validation> {
            either!(data, data => this.validate_clusters_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn validate_clusters_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Validation> {
        self.check(data)?;
        let most = self.max_groups.unwrap_or_else(|| default_most(data.n_rows())).min((data.n_rows() / 4).max(1));
        let mut sums = vec![0.0; most];
        let mut halvings = 0.0;
        for number in 0..HALVINGS {
            let Some(strengths) = self.halve(data, most, number, watch)? else { break };
            halvings += 1.0;
            (0..most).for_each(|i| sums[i] += strengths.get(i).copied().unwrap_or(0.0));
        }
        let strengths: Vec<(usize, f64)> =
            sums.iter().enumerate().map(|(i, s)| (i + 1, if halvings > 0.0 { s / halvings } else { 0.0 })).collect();
        let k = strengths.iter().rev().find(|(_, strength)| *strength >= STRONG).map_or(1, |(k, _)| *k);
        let path = PathSearch { max_groups: Some(most), least_penalty: None, ..self.clone() }.clusters(data, watch)?;
        let point = path.path.points.iter().rev().find(|point| point.k <= k);
        let open = PenaltyInterval { low: 0.0, high: f64::INFINITY };
        let penalties = point.map(|point| point.interval()).filter(|p| p.middle().is_finite()).unwrap_or(open);
        Ok(Validation { k, penalty: penalties.middle(), penalties, strengths, path })
    }

    /// The strengths of one halving for K = 1, 2, ...; none once the watch has said stop.
    fn halve<T: Real>(
        &self,
        data: &Data<T>,
        most: usize,
        number: usize,
        watch: &dyn Watch,
    ) -> Result<Option<Vec<f64>>> {
        let mut rng = stream(self.seed, Stream::Restart(number as u32));
        let rows: Vec<usize> = (0..data.n_rows()).filter(|&n| data.weight(n) > 0.0).collect();
        let keep = MOST_ROWS as f64 / rows.len() as f64;
        let (mut values, mut weights) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for n in rows {
            if rng.random::<f64>() < keep {
                let half = usize::from(rng.random::<bool>());
                values[half].extend_from_slice(data.rows().row(n));
                weights[half].push(data.weight(n));
            }
        }
        if weights.iter().any(Vec::is_empty) {
            return Ok(Some(vec![1.0]));
        }
        let half = |i: usize| -> Result<Data<T>> {
            let given = data.weights().is_some().then_some(weights[i].as_slice());
            Data::weighted(Rows::new(&values[i], data.n_columns())?, given)
        };
        let (first, second) = (half(0)?, half(1)?);
        let search = |half: &Data<T>| {
            let max_groups = Some(most.min(half.n_rows()));
            PathSearch { max_groups, least_penalty: None, ..self.clone() }.clusters(half, watch)
        };
        let (teacher, pupil) = (search(&first)?, search(&second)?);
        let stopped = teacher.path.stopped || pupil.path.stopped;
        let strengths = (1..=most).map_while(|k| strength(&teacher, &pupil, &second, k)).collect();
        Ok((!stopped).then_some(strengths))
    }
}

/// The least share, over the pupil's clusters, of pairs of rows that the teacher's centres put together too; clusters of a
/// single row do not count. None beyond the paths.
fn strength<T: Real>(teacher: &ClusterPath, pupil: &ClusterPath, data: &Data<T>, k: usize) -> Option<f64> {
    let serial = Workers::serial();
    let (taught, own) = (teacher.labels(k, data, &serial)?, pupil.labels(k, data, &serial)?);
    let mut counts = vec![0.0f64; k * k];
    taught.iter().zip(&own).for_each(|(&t, &o)| counts[o as usize * k + t as usize] += 1.0);
    let share = |row: &[f64]| {
        let size: f64 = row.iter().sum();
        let pairs: f64 = row.iter().map(|c| c * (c - 1.0)).sum();
        (size > 1.0).then(|| pairs / (size * (size - 1.0)))
    };
    Some(counts.chunks_exact(k).filter_map(share).fold(1.0, f64::min))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hard::DpMeans;
    use crate::simulate::GaussianMixture;
    use crate::watch::Unwatched;

    #[test]
    fn held_out_rows_confirm_clear_clusters_and_no_more() {
        for n_clusters in [1, 4] {
            let recipe = GaussianMixture { n_rows: 120, n_clusters, separation: 8.0, ..GaussianMixture::default() };
            let sample = recipe.sample(3).unwrap();
            let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
            let found = PathSearch::default().validate_clusters(&data, &Unwatched).unwrap();
            assert_eq!(found.k, n_clusters, "{:?}", found.strengths);
            assert_eq!(found.strengths[0], (1, 1.0));
            let fit = DpMeans::with_penalty(found.penalty).fit(&data, &Unwatched).unwrap();
            assert_eq!(fit.n_clusters(), n_clusters);
        }
    }

    #[test]
    fn degenerate_data_are_one_cluster_or_what_they_are() {
        for (values, k) in [(vec![3.0], 1), (vec![3.0; 10], 1), (vec![1.0, 2.0], 1)] {
            let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
            let found = PathSearch::default().validate_clusters(&data, &Unwatched).unwrap();
            assert_eq!(found.k, k);
            assert!(found.penalty > 0.0 && found.penalty.is_finite());
        }
    }
}
