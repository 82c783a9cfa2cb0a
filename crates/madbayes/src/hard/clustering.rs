//! What a hard clustering gives back, and what its centres say of any rows.

use super::Goal;
use crate::data::{Data, EitherData, Real, Rows, rows_of_chunk};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, offset_squared_distance, on_this_processor};
use crate::parallel::Workers;
use crate::watch::{Step, Unwatched, Watch};

/// The result of a hard clustering. `objective` is the objective of exactly these labels and centres.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// The cluster of each row.
    pub labels: Vec<u32>,
    /// K x D.
    pub centres: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// The point distances were computed about.
    pub reference: Vec<f64>,
    /// Rows in each cluster.
    pub sizes: Vec<usize>,
    /// Their weight.
    pub weights: Vec<f64>,
    /// Loss of each cluster: sum of w_n |x_n - mu_k|^2 over its rows.
    pub losses: Vec<f64>,
    /// What was minimised.
    pub goal: Goal,
    /// Sum of the losses + (K - 1) penalty.
    pub objective: f64,
    /// The objective after every pass of the best run; the last is `objective`.
    pub trace: Vec<f64>,
    /// The same for every run.
    pub traces: Vec<Vec<f64>>,
    /// The share of the distances between all rows and all centres, pass by pass, that the best run did not have to measure.
    pub spared: f64,
    /// Which run was best.
    pub best_run: usize,
    /// Whether the best run ended because nothing changed any more (within the tolerance).
    pub converged: bool,
    /// Whether the watch stopped the computation.
    pub stopped: bool,
}

impl Clustering {
    /// Number of clusters, K.
    pub fn n_clusters(&self) -> usize {
        self.sizes.len()
    }

    /// Sum of weighted squared distances to the centres.
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum()
    }

    /// One centre.
    pub fn centre(&self, k: usize) -> &[f64] {
        &self.centres[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// Passes of the best run.
    pub fn n_passes(&self) -> usize {
        self.trace.len()
    }
}

/// The nearest centre of every row, the lowest number where two are equally near: what a fitted model says of any rows.
/// Distances are computed about `reference`.
pub fn nearest_centres<T: Real>(rows: Rows<T>, reference: &[T], centres: &[f64], workers: &Workers) -> Vec<u32> {
    // What nothing watches is not stopped.
    nearest_unless_stopped(rows, reference, centres, workers, &Unwatched).unwrap_or_default()
}

/// The same; none once the watch has said stop.
pub(super) fn nearest_unless_stopped<T: Real>(
    rows: Rows<T>,
    reference: &[T],
    centres: &[f64],
    workers: &Workers,
    watch: &dyn Watch,
) -> Option<Vec<u32>> {
    let offsets = centres.iter().zip(reference.iter().cycle()).map(|(c, &r)| c - r.into()).collect();
    let frozen = FrozenCentres::new(offsets, rows.n_columns());
    let mut labels = vec![NO_LABEL; rows.n_rows()];
    let size = rows_of_chunk(rows.n_columns());
    let mut parts: Vec<&mut [u32]> = labels.chunks_mut(size).collect();
    let looked = workers.map_mut(&mut parts, |i, part| {
        let goes_on = watch.step(&Step::Chunk).is_continue();
        if goes_on {
            frozen.nearest(rows.slice(i * size, i * size + part.len()), reference, part);
        }
        goes_on
    });
    looked.into_iter().all(|looked| looked).then_some(labels)
}

/// sum over the rows of each cluster of w_n |x_n - c_k|^2, from scratch.
pub fn losses<T: Real>(data: &Data<T>, centres: &[f64], labels: &[u32], workers: &Workers) -> Vec<f64> {
    fn either(data: EitherData, centres: &[f64], labels: &[u32], workers: &Workers) -> Vec<f64> {
        either!(data, data => losses_on(data, centres, labels, workers))
    }
    either(T::either_data(data), centres, labels, workers)
}

fn losses_on<T: Real>(data: &Data<T>, centres: &[f64], labels: &[u32], workers: &Workers) -> Vec<f64> {
    let parts = workers.map(data.n_chunks(), |index| on_this_processor(Losses { data, centres, labels, index }));
    let mut total = vec![0.0; centres.len() / data.n_columns()];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(t, p)| *t += p);
    }
    total
}

/// The losses of one chunk of rows.
struct Losses<'a, T> {
    data: &'a Data<'a, T>,
    centres: &'a [f64],
    labels: &'a [u32],
    index: usize,
}

impl<T: Real> Kernel for Losses<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<f64> {
        let (data, d) = (self.data, self.data.n_columns());
        let (start, end) = data.chunk(self.index);
        let (origin, mut losses) = (vec![T::default(); d], vec![0.0; self.centres.len() / d]);
        for n in start..end {
            let label = self.labels[n] as usize;
            let centre = &self.centres[label * d..(label + 1) * d];
            losses[label] += data.weight(n) * offset_squared_distance(data.rows().row(n), &origin, centre);
        }
        losses
    }
}
