//! Clusters from a stream of batches: what has been seen is kept as weighted points, so K can grow and shrink.

use crate::data::{Data, Real, Rows};
use crate::error::{Error, Result};
use crate::hard::{Clustering, DpMeans, Goal, Restarts, Start};
use crate::watch::Watch;

/// Weighted points kept between batches, and at least this many for each cluster.
const POINTS: usize = 512;
const POINTS_PER_CLUSTER: usize = 8;

/// A clustering that follows a stream. Every batch is clustered together with the points that stand for all earlier
/// rows; then the points are thinned to the means of small neighbourhoods, which keep the sums and the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterStream {
    n_columns: usize,
    points: Vec<f64>,
    weights: Vec<f64>,
    /// The squared distances of the rows that a point stands for, about it.
    scatters: Vec<f64>,
}

impl ClusterStream {
    /// Nothing seen yet.
    pub fn new(n_columns: usize) -> Self {
        ClusterStream { n_columns, points: Vec::new(), weights: Vec::new(), scatters: Vec::new() }
    }

    /// From the points, weights and scatters of another stream; or from a clustering, its centres, weights and losses.
    pub fn from_points(points: Vec<f64>, weights: Vec<f64>, scatters: Vec<f64>, n_columns: usize) -> Result<Self> {
        if n_columns == 0 || points.len() != weights.len() * n_columns || scatters.len() != weights.len() {
            return Err(Error::data(
                format!("{} values are not {} points of {n_columns} columns", points.len(), weights.len()),
                "give what `points` gave",
            ));
        }
        Ok(ClusterStream { n_columns, points, weights, scatters })
    }

    /// The points that stand for all rows seen, row after row, their weights, and the scatter of their rows about them.
    pub fn points(&self) -> (&[f64], &[f64], &[f64]) {
        (&self.points, &self.weights, &self.scatters)
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Total weight of the rows seen so far.
    pub fn weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Takes a batch in and clusters all that has been seen. The labels are those of the batch alone; losses and the
    /// objective are of all rows seen, each at the centre of the point that stands for it; sizes count points.
    pub fn update<T: Real>(&mut self, batch: &Data<T>, parameters: &DpMeans, watch: &dyn Watch) -> Result<Clustering> {
        if batch.n_columns() != self.n_columns {
            return Err(Error::data(
                format!("the batch has {} columns, those before it {}", batch.n_columns(), self.n_columns),
                "give the same columns in every batch",
            ));
        }
        let seen = self.weights.len();
        self.points.extend(batch.rows().values().iter().map(|&x| x.into()));
        self.weights.extend((0..batch.n_rows()).map(|n| batch.weight(n)));
        self.scatters.resize(self.weights.len(), 0.0);
        let data = Data::weighted(Rows::new(&self.points, self.n_columns)?, Some(&self.weights))?;
        let mut fit = parameters.fit(&data, watch)?;
        add_scatter(&mut fit, &self.scatters);
        let room = POINTS.max(POINTS_PER_CLUSTER * fit.n_clusters());
        if data.n_rows() > room {
            let thin = DpMeans {
                goal: Goal::Exactly(room),
                start: Start::PlusPlus,
                restarts: Restarts::Exactly(1),
                // Neighbourhoods need not be the best ones, only small.
                max_passes: 2,
                ..parameters.clone()
            };
            // Fewer distinct rows than that: all are kept.
            if let Ok(mut small) = thin.fit(&data, watch) {
                add_scatter(&mut small, &self.scatters);
                let kept: Vec<usize> = (0..small.weights.len()).filter(|k| small.weights[*k] > 0.0).collect();
                self.points = kept.iter().flat_map(|k| small.centre(*k).to_vec()).collect();
                self.weights = kept.iter().map(|k| small.weights[*k]).collect();
                self.scatters = kept.iter().map(|k| small.losses[*k]).collect();
            }
        }
        fit.labels.drain(..seen);
        Ok(fit)
    }
}

/// The losses of the points and, on top, of the rows about their points.
fn add_scatter(fit: &mut Clustering, scatters: &[f64]) {
    for (label, scatter) in fit.labels.iter().zip(scatters) {
        fit.losses[*label as usize] += scatter;
    }
    let total: f64 = scatters.iter().sum();
    fit.traces.iter_mut().chain([&mut fit.trace]).flatten().for_each(|objective| *objective += total);
    fit.objective = fit.goal.objective(fit.loss(), fit.n_clusters());
    if let Some(last) = fit.trace.last_mut() {
        *last = fit.objective;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::Workers;
    use crate::simulate::GaussianMixture;
    use crate::watch::Unwatched;

    /// Batches of clusters whose number changes from batch to batch.
    fn batch(n_clusters: usize, seed: u64) -> Vec<f64> {
        let recipe = GaussianMixture { n_rows: 600, n_clusters: 6, separation: 8.0, ..GaussianMixture::default() };
        let sample = recipe.sample(7).unwrap();
        let noise = GaussianMixture { n_rows: 600, n_clusters: 1, ..GaussianMixture::default() }.sample(seed).unwrap();
        // Centres stay where they are; the rows around them are new in every batch.
        (0..600)
            .flat_map(|n| (0..2).map(move |j| (n, j)))
            .map(|(n, j)| sample.centres[2 * (n % n_clusters) + j] + noise.values[2 * n + j] - noise.centres[j])
            .collect()
    }

    #[test]
    fn clusters_come_as_they_are_seen_and_go_when_the_penalty_rises() {
        let mut stream = ClusterStream::new(2);
        let parameters = DpMeans::with_penalty(2500.0);
        let mut fit = None;
        let mut all = Vec::new();
        for (round, n_clusters) in [2, 2, 4, 6, 6, 6].into_iter().enumerate() {
            let values = batch(n_clusters, 100 + round as u64);
            let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
            let update = stream.update(&data, &parameters, &Unwatched).unwrap();
            assert_eq!(update.n_clusters(), n_clusters, "round {round}");
            assert_eq!(update.labels.len(), 600);
            assert!((update.weights.iter().sum::<f64>() - 600.0 * (round + 1) as f64).abs() < 1e-6);
            all.extend_from_slice(&values);
            // The loss is that of all rows seen, nearly: a point may be a little off the mean of its rows, and rows on the far
            // side of a border count with their point.
            let seen = Data::new(Rows::new(&all, 2).unwrap()).unwrap();
            let labels =
                crate::hard::nearest_centres(seen.rows(), seen.reference(), &update.centres, &Workers::serial());
            let loss: f64 = crate::hard::losses(&seen, &update.centres, &labels, &Workers::serial()).iter().sum();
            assert!((0.999 * loss..1.01 * loss).contains(&update.loss()), "{} {loss}", update.loss());
            assert_eq!(update.objective, update.loss() + 2500.0 * (n_clusters - 1) as f64);
            fit = Some(update);
        }
        assert!(stream.weights.len() <= POINTS);
        // The centres are the means of all rows seen, up to the few rows that changed sides while points stood for them.
        let truth = GaussianMixture { n_rows: 600, n_clusters: 6, separation: 8.0, ..GaussianMixture::default() }
            .sample(7)
            .unwrap();
        for centre in truth.centres.chunks(2) {
            let nearest = fit.as_ref().unwrap().centres.chunks(2).map(|c| (c[0] - centre[0]).hypot(c[1] - centre[1]));
            assert!(nearest.fold(f64::INFINITY, f64::min) < 0.2);
        }
        let values = batch(6, 200);
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let one = stream.update(&data, &DpMeans::with_penalty(1e9), &Unwatched).unwrap();
        assert_eq!(one.n_clusters(), 1, "K shrinks when clusters no longer pay");
    }

    #[test]
    fn one_batch_is_one_fit() {
        let values = batch(4, 1);
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let parameters = DpMeans::with_penalty(300.0);
        let streamed = ClusterStream::new(2).update(&data, &parameters, &Unwatched).unwrap();
        assert_eq!(streamed.labels, parameters.fit(&data, &Unwatched).unwrap().labels);
    }
}
