//! Assignment of every row to its nearest centre, with the sums the next centres are made of (Broderick 2013, Sec. 2).

use super::bounds::{Bound, up};
use super::nearby::nearest_nearby;
use super::{Chunk, scan, scan_parts};
use crate::data::{CHUNK, Data, Real, Rows};
use crate::linalg::{
    FrozenCentres, Kernel, NO_LABEL, SomeCentres, add_and_measure, offset_squared_distance, on_this_processor,
};
use crate::parallel::Workers;
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Rows beyond the penalty that one chunk may report.
pub(super) const FAR_ROWS: usize = 32;

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
    assign_moved(data, centres, None, penalty, labels, workers, watch)
}

/// The same where only some centres have moved since the labels were assigned; none: all may have.
pub fn assign_moved<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    moved: Option<&MovedCentres<T>>,
    penalty: f64,
    labels: &mut [u32],
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Assignment> {
    let sought = moved.map_or(Sought::All, Sought::Moved);
    assign_sought(data, centres, sought, penalty, labels, workers, watch)
}

/// The same among the centres near each row's own, where one look at all of them would cost more: rows may end at a centre that is
/// not the nearest, but none ends farther from its centre than it was. Every row has a label.
pub(crate) fn assign_nearby<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    penalty: f64,
    labels: &mut [u32],
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Assignment> {
    let nearest = nearest_nearby(data, centres, labels, workers);
    assign_sought(data, centres, Sought::Known(&nearest), penalty, labels, workers, watch)
}

fn assign_sought<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    sought: Sought<T>,
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
        |chunk, labels| on_this_processor(AssignChunk { chunk, centres, sought, penalty, labels, bounds: None }),
        |part| total.merge(part),
    )?;
    ControlFlow::Continue(total)
}

/// `assign` that also notes how near each row is to its centre, and how far from all others.
pub(crate) fn assign_bounded<T: Real>(
    data: &Data<T>,
    centres: &FrozenCentres<T>,
    penalty: f64,
    labels: &mut [u32],
    bounds: &mut [Bound],
    workers: &Workers,
    watch: &dyn Watch,
) -> ControlFlow<(), Assignment> {
    let mut total = Assignment::new(centres.n_centres(), data.n_columns());
    let parts = labels.chunks_mut(CHUNK).zip(bounds.chunks_mut(CHUNK)).collect();
    scan_parts(
        data,
        CHUNK,
        parts,
        workers,
        watch,
        |chunk, (labels, bounds): &mut (&mut [u32], &mut [Bound])| {
            let bounds = Some(&mut **bounds);
            on_this_processor(AssignChunk { chunk, centres, sought: Sought::All, penalty, labels, bounds })
        },
        |part| total.merge(part),
    )?;
    ControlFlow::Continue(total)
}

/// Centres that have moved since the labels were assigned: a row whose own centre has not moved can only leave it for one of
/// these, so few distances are enough.
#[derive(Debug, Clone)]
pub struct MovedCentres<T> {
    flags: Vec<bool>,
    moved: SomeCentres<T>,
}

impl<T: Real> MovedCentres<T> {
    /// Those of the centres whose flag is set.
    pub fn new(centres: &FrozenCentres<T>, flags: Vec<bool>) -> Self {
        let mut moved = SomeCentres::default();
        moved.take(centres, (0..flags.len() as u32).filter(|&k| flags[k as usize]));
        MovedCentres { flags, moved }
    }

    /// For every row a centre that is nearest, or no nearer than its own.
    ///
    /// # Safety
    /// To be inlined into a kernel that runs with FUSED and WIDE.
    #[inline(always)]
    unsafe fn nearest_inlined<const FUSED: bool, const WIDE: bool>(
        &self,
        all: &FrozenCentres<T>,
        rows: Rows<T>,
        reference: &[T],
        labels: &[u32],
        nearest: &mut [u32],
    ) {
        nearest.copy_from_slice(labels);
        if self.moved.count() > 0 {
            // SAFETY: the caller vouches for the instructions.
            unsafe { all.nearest_inlined::<FUSED, WIDE>(Some(&self.moved), rows, reference, nearest, None) };
        }
        // Rows whose own centre has moved may be nearest to any.
        let open: Vec<usize> =
            (0..labels.len()).filter(|&n| labels[n] == NO_LABEL || self.flags[labels[n] as usize]).collect();
        let values: Vec<T> = open.iter().flat_map(|&n| rows.row(n).iter().copied()).collect();
        if let Ok(gathered) = Rows::new(&values, rows.n_columns()) {
            let mut found = vec![NO_LABEL; open.len()];
            // SAFETY: as above.
            unsafe { all.nearest_inlined::<FUSED, WIDE>(None, gathered, reference, &mut found, None) };
            open.iter().zip(found).for_each(|(&n, label)| nearest[n] = label);
        }
    }
}

/// Where the nearest centre of a row is sought.
#[derive(Clone, Copy)]
enum Sought<'a, T> {
    All,
    Moved(&'a MovedCentres<T>),
    /// Found already, for every row of the data.
    Known(&'a [u32]),
}

struct AssignChunk<'a, T> {
    chunk: Chunk<'a, T>,
    centres: &'a FrozenCentres<T>,
    sought: Sought<'a, T>,
    penalty: f64,
    labels: &'a mut [u32],
    bounds: Option<&'a mut [Bound]>,
}

impl<T: Real> Kernel for AssignChunk<'_, T> {
    type Output = Assignment;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Assignment {
        let Chunk { first_row, rows, weights, reference } = self.chunk;
        let AssignChunk { centres, sought, penalty, labels, mut bounds, .. } = self;
        let d = rows.n_columns();
        let mut found = Assignment::new(centres.n_centres(), d);
        let wide_reference: Vec<f64> = reference.iter().map(|&r| r.into()).collect();
        let mut nearest = vec![NO_LABEL; labels.len()];
        let mut others = vec![0.0; if bounds.is_some() { labels.len() } else { 0 }];
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe {
            match sought {
                Sought::Moved(moved) => {
                    moved.nearest_inlined::<FUSED, WIDE>(centres, rows, reference, labels, &mut nearest);
                }
                Sought::Known(known) => nearest.copy_from_slice(&known[first_row..first_row + labels.len()]),
                Sought::All => {
                    let others = bounds.is_some().then_some(&mut others[..]);
                    centres.nearest_inlined::<FUSED, WIDE>(None, rows, reference, &mut nearest, others);
                }
            }
        }
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
            if let Some(bounds) = &mut bounds {
                // A row that stays although another centre is as near has nothing to spare.
                let lower = if *label == nearest { others[n] } else { 0.0 };
                bounds[n] = Bound { upper: up(distance.sqrt() as f32), lower };
            }
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

pub(super) fn keep_farthest(far: &mut Vec<FarRow>) {
    far.sort_by(|a, b| b.pays.total_cmp(&a.pays).then(a.row.cmp(&b.row)));
    far.truncate(FAR_ROWS);
}
