//! Mahalanobis distances (x - mu)'S^-1(x - mu) from frozen clusters, and rows in units of a covariance.

use crate::data::{CHUNK, Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::linalg::{Quadratics, add_offset_row, inverse_factor, on_this_processor, padded};
use crate::parallel::Workers;

/// Frozen clusters: means relative to the reference point, and inverse Cholesky factors of the covariances.
#[derive(Clone)]
pub struct Ellipses {
    order: usize,
    means: Vec<f64>,
    factors: Vec<f64>,
    row: Vec<f64>,
    deviation: Vec<f64>,
    distances: Vec<f64>,
}

impl Ellipses {
    pub fn new(order: usize) -> Self {
        let row = vec![0.0; padded(order)];
        Ellipses { order, means: vec![], factors: vec![], deviation: row.clone(), row, distances: vec![] }
    }

    pub fn len(&self) -> usize {
        self.means.len() / self.row.len()
    }

    /// One more cluster; returns log |S|, or none where S is not positive definite.
    pub fn push(&mut self, offset: &[f64], covariance: &[f64]) -> Option<f64> {
        let (factor, ln_det) = inverse_factor(covariance, self.order)?;
        self.means.extend_from_slice(offset);
        self.means.extend(std::iter::repeat_n(0.0, self.row.len() - self.order));
        self.factors.extend(factor);
        Some(ln_det)
    }

    /// Puts the mean of a cluster at a row.
    pub fn move_to<T: Real>(&mut self, cluster: usize, data: &Data<T>, row: usize) {
        let mean = &mut self.means[cluster * self.row.len()..][..self.order];
        mean.fill(0.0);
        add_offset_row(mean, data.rows().row(row), data.reference(), 1.0);
    }

    /// The squared distance of a row from every cluster.
    pub fn distances<T: Real>(&mut self, data: &Data<T>, row: usize) -> &[f64] {
        self.row.fill(0.0);
        add_offset_row(&mut self.row, data.rows().row(row), data.reference(), 1.0);
        self.distances.resize(self.len(), 0.0);
        on_this_processor(Quadratics {
            order: self.order,
            row: &self.row,
            means: &self.means,
            factors: &self.factors,
            deviation: &mut self.deviation,
            out: &mut self.distances,
        });
        &self.distances
    }
}

/// The nearest cluster and its distance; `stay` where another is not nearer.
pub fn nearest(distances: &[f64], stay: Option<usize>) -> (usize, f64) {
    let mut best = stay.map_or((0, f64::INFINITY), |k| (k, distances[k]));
    for (k, &distance) in distances.iter().enumerate() {
        if distance < best.1 {
            best = (k, distance);
        }
    }
    best
}

/// Rows in units of a covariance: R (x - reference), in which distances are those of Mahalanobis.
pub fn whitened<T: Real>(data: &Data<T>, covariance: &[f64]) -> Vec<f64> {
    let d = data.n_columns();
    let (factor, _) = inverse_factor(covariance, d).expect("checked to be positive definite");
    let mut values = vec![0.0; data.n_rows() * d];
    let mut offset = vec![0.0; d];
    for (row, out) in data.rows().iter().zip(values.chunks_exact_mut(d)) {
        offset.fill(0.0);
        add_offset_row(&mut offset, row, data.reference(), 1.0);
        for (x, column) in offset.iter().zip(factor.chunks_exact(padded(d))) {
            out.iter_mut().zip(column).for_each(|(out, r)| *out += r * x);
        }
    }
    values
}

/// The weighted mean of each cluster, K x D.
pub fn means<T: Real>(data: &Data<T>, labels: &[u32], n_clusters: usize) -> Vec<f64> {
    let d = data.n_columns();
    let mut means = offset_means(data, labels, n_clusters);
    for mean in means.chunks_exact_mut(d) {
        mean.iter_mut().zip(data.reference()).for_each(|(m, &r)| *m += r.into());
    }
    means
}

/// The same relative to the reference point; a cluster without weight is put there.
pub fn offset_means<T: Real>(data: &Data<T>, labels: &[u32], n_clusters: usize) -> Vec<f64> {
    let d = data.n_columns();
    let (mut sums, mut weights) = (vec![0.0; n_clusters * d], vec![0.0; n_clusters]);
    for (n, &label) in labels.iter().enumerate() {
        let label = label as usize;
        add_offset_row(&mut sums[label * d..][..d], data.rows().row(n), data.reference(), data.weight(n));
        weights[label] += data.weight(n);
    }
    for (sum, weight) in sums.chunks_exact_mut(d).zip(weights) {
        sum.iter_mut().for_each(|s| *s /= if weight > 0.0 { weight } else { 1.0 });
    }
    sums
}

/// The nearest cluster of every row and its squared Mahalanobis distance, the lowest number where two are equally near: what
/// centres (K x D) and covariances (K x D x D) say of any rows.
pub fn nearest_ellipses<T: Real>(
    data: &Data<T>,
    centres: &[f64],
    covariances: &[f64],
    workers: &Workers,
) -> Result<(Vec<u32>, Vec<f64>)> {
    fn either(
        data: EitherData,
        centres: &[f64],
        covariances: &[f64],
        workers: &Workers,
    ) -> Result<(Vec<u32>, Vec<f64>)> {
        either!(data, data => nearest_ellipses_on(data, centres, covariances, workers))
    }
    either(T::either_data(data), centres, covariances, workers)
}

fn nearest_ellipses_on<T: Real>(
    data: &Data<T>,
    centres: &[f64],
    covariances: &[f64],
    workers: &Workers,
) -> Result<(Vec<u32>, Vec<f64>)> {
    let found = by_ellipses(data, centres, covariances, workers, |_, distances| nearest(distances, None))?;
    Ok(found.into_iter().map(|(k, distance)| (k as u32, distance)).unzip())
}

/// The squared Mahalanobis distance of every row from its own cluster.
pub fn own_ellipses<T: Real>(
    data: &Data<T>,
    labels: &[u32],
    centres: &[f64],
    covariances: &[f64],
    workers: &Workers,
) -> Result<Vec<f64>> {
    fn either(
        data: EitherData,
        labels: &[u32],
        centres: &[f64],
        covariances: &[f64],
        workers: &Workers,
    ) -> Result<Vec<f64>> {
        either!(data, data => own_ellipses_on(data, labels, centres, covariances, workers))
    }
    either(T::either_data(data), labels, centres, covariances, workers)
}

fn own_ellipses_on<T: Real>(
    data: &Data<T>,
    labels: &[u32],
    centres: &[f64],
    covariances: &[f64],
    workers: &Workers,
) -> Result<Vec<f64>> {
    by_ellipses(data, centres, covariances, workers, |row, distances| distances[labels[row] as usize])
}

/// What `look` makes of each row and its distances from all clusters.
fn by_ellipses<T: Real, R: Send>(
    data: &Data<T>,
    centres: &[f64],
    covariances: &[f64],
    workers: &Workers,
    look: impl Fn(usize, &[f64]) -> R + Sync + Send,
) -> Result<Vec<R>> {
    let d = data.n_columns();
    let mut clusters = Ellipses::new(d);
    for (centre, covariance) in centres.chunks_exact(d).zip(covariances.chunks_exact(d * d)) {
        let offset: Vec<f64> = centre.iter().zip(data.reference()).map(|(c, &r)| c - r.into()).collect();
        clusters.push(&offset, covariance).ok_or_else(|| {
            let help = "the covariance of a cluster must be symmetric and positive definite";
            Error::argument("covariances", "positive definite", "one that is not", help)
        })?;
    }
    let parts = workers.map(data.n_rows().div_ceil(CHUNK), |chunk| {
        let mut clusters = clusters.clone();
        let rows = chunk * CHUNK..((chunk + 1) * CHUNK).min(data.n_rows());
        rows.map(|row| look(row, clusters.distances(data, row))).collect::<Vec<_>>()
    });
    Ok(parts.into_iter().flatten().collect())
}
