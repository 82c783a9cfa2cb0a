//! Assignment of every row to its nearest centre, with the sums the next centres are made of (Broderick 2013, Sec. 2).

use super::{Chunk, scan};
use crate::data::{Data, Real};
use crate::linalg::{FrozenCentres, Kernel, NO_LABEL, add_and_measure, offset_squared_distance, on_this_processor};
use crate::parallel::Workers;
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Rows beyond the penalty that one chunk may report.
const FAR_ROWS: usize = 32;

/// A row that would rather pay the penalty than its distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarRow {
    /// Its number.
    pub row: usize,
    /// What it pays now: weight times squared distance.
    pub pays: f64,
}

/// What an assignment found, cluster by cluster.
#[derive(Debug, Clone)]
pub struct Assignment {
    /// Rows in each cluster.
    pub counts: Vec<usize>,
    /// Sum of their weights.
    pub weights: Vec<f64>,
    /// Weighted sums of rows, relative to the reference point, K x D.
    pub sums: Vec<f64>,
    /// Weighted squared distances to the centre.
    pub losses: Vec<f64>,
    /// Rows whose label changed.
    pub changed: usize,
    /// The rows that pay most above the penalty, a bounded number from each chunk.
    pub far: Vec<FarRow>,
}

impl Assignment {
    fn new(k: usize, d: usize) -> Self {
        Assignment {
            counts: vec![0; k],
            weights: vec![0.0; k],
            sums: vec![0.0; k * d],
            losses: vec![0.0; k],
            changed: 0,
            far: Vec::new(),
        }
    }

    fn merge(&mut self, other: Assignment) {
        fn add<N: std::ops::AddAssign + Copy>(to: &mut [N], from: &[N]) {
            to.iter_mut().zip(from).for_each(|(a, b)| *a += *b);
        }
        add(&mut self.counts, &other.counts);
        add(&mut self.weights, &other.weights);
        add(&mut self.sums, &other.sums);
        add(&mut self.losses, &other.losses);
        self.changed += other.changed;
        self.far.extend(other.far);
    }

    /// Sum of the losses of all clusters.
    pub fn loss(&self) -> f64 {
        self.losses.iter().sum()
    }
}

/// Puts every row into the cluster of its nearest centre. A row leaves the cluster it is in only for a centre that is
/// strictly nearer in float64, so that rounding never raises the loss.
///
/// Rows that pay more than `penalty` are reported as far; infinity asks for none.
pub fn assign<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    penalty: f64,
    labels: &mut [u32],
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Assignment> {
    let mut total = Assignment::new(centres.n_centres(), data.n_columns());
    scan(
        data,
        labels,
        workers,
        watch,
        |chunk, labels| on_this_processor(AssignChunk { chunk, centres, penalty, labels }),
        |part| total.merge(part),
    )?;
    ControlFlow::Continue(total)
}

struct AssignChunk<'a, T> {
    chunk: Chunk<'a, T>,
    centres: &'a FrozenCentres<T>,
    penalty: f64,
    labels: &'a mut [u32],
}

impl<T: Real> Kernel for AssignChunk<'_, T> {
    type Output = Assignment;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Assignment {
        let AssignChunk { chunk: Chunk { first_row, rows, weights, reference }, centres, penalty, labels } = self;
        let d = rows.n_columns();
        let mut found = Assignment::new(centres.n_centres(), d);
        let wide_reference: Vec<f64> = reference.iter().map(|&r| r.into()).collect();
        let mut nearest = vec![NO_LABEL; labels.len()];
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe { centres.nearest_inlined::<FUSED, WIDE>(rows, reference, &mut nearest) };
        for (n, ((row, label), nearest)) in rows.iter().zip(labels.iter_mut()).zip(nearest).enumerate() {
            if *label != nearest {
                let distance_to = |k: u32| offset_squared_distance(row, reference, centres.offset(k as usize));
                if *label == NO_LABEL || distance_to(nearest) < distance_to(*label) {
                    *label = nearest;
                    found.changed += 1;
                }
            }
            let weight = weights.map_or(1.0, |w| w[n]);
            let k = *label as usize;
            let sum = &mut found.sums[k * d..(k + 1) * d];
            // SAFETY: this kernel runs with FUSED.
            let distance = unsafe { add_and_measure::<T, FUSED>(sum, row, &wide_reference, centres.offset(k), weight) };
            found.counts[k] += 1;
            found.weights[k] += weight;
            found.losses[k] += weight * distance;
            if weight * distance > penalty {
                found.far.push(FarRow { row: first_row + n, pays: weight * distance });
                if found.far.len() == 2 * FAR_ROWS {
                    keep_farthest(&mut found.far);
                }
            }
        }
        keep_farthest(&mut found.far);
        found
    }
}

fn keep_farthest(far: &mut Vec<FarRow>) {
    far.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
    far.truncate(FAR_ROWS);
}
