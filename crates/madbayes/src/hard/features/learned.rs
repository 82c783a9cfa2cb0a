//! What feature learning gives back, and what its components say of any rows.

use super::FeatureGoal;
use super::least_squares::independent;
use super::passes::{Run, State};
use super::row_problem::RowSolver;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::structure::Allocation;
use crate::watch::Unwatched;
use std::ops::ControlFlow;

/// The result of feature learning. `objective` is the objective of exactly this allocation and these components.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    /// Which rows have which features, Z.
    pub allocation: Allocation,
    /// What each feature adds to a row, A = (Z'Z)^-1 Z'X, K x D.
    pub components: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// |X - Z A|_F^2.
    pub loss: f64,
    /// loss + K penalty.
    pub objective: f64,
    /// What was minimised.
    pub goal: FeatureGoal,
    /// The objective after every pass, sweep and kept move of the best run; the last is `objective`.
    pub trace: Vec<f64>,
    /// The same for every run. Where the runs saw a sample of the rows, these are objectives of the sample.
    pub traces: Vec<Vec<f64>>,
    /// Which run was best.
    pub best_run: usize,
    /// The least loss found for each K that was tried, in order of K.
    pub losses_by_k: Vec<(usize, f64)>,
    /// Whether the best run ended because nothing changed any more (within the tolerance).
    pub converged: bool,
    /// Whether the watch stopped the computation.
    pub stopped: bool,
}

impl Features {
    /// Number of features, K.
    pub fn n_features(&self) -> usize {
        self.allocation.n_features()
    }

    /// What one feature adds.
    pub fn component(&self, k: usize) -> &[f64] {
        &self.components[k * self.n_columns..(k + 1) * self.n_columns]
    }

    /// Passes of the best run.
    pub fn n_passes(&self) -> usize {
        self.trace.len()
    }

    /// Rows that have each feature.
    pub fn counts(&self) -> Vec<usize> {
        self.allocation.counts()
    }
}

/// The features of any rows by given components, K x D: for every row the z of least |x - z A|^2, found as `solver` says.
pub fn allocate<T: Real>(
    data: &Data<T>,
    components: &[f64],
    solver: RowSolver,
    workers: &Workers,
) -> Result<Allocation> {
    fn either(data: EitherData, components: &[f64], solver: RowSolver, workers: &Workers) -> Result<Allocation> {
        either!(data, data => allocate_on(data, components, solver, workers))
    }
    either(T::either_data(data), components, solver, workers)
}

fn allocate_on<T: Real>(
    data: &Data<T>,
    components: &[f64],
    solver: RowSolver,
    workers: &Workers,
) -> Result<Allocation> {
    let d = data.n_columns();
    check_components(components, d)?;
    let run =
        Run { data, goal: FeatureGoal::Exactly(components.len() / d), solver, workers, watch: &Unwatched, number: 0 };
    let mut state = State::from_components(components.to_vec(), data.n_rows(), d);
    match run.assign(&mut state) {
        ControlFlow::Continue(()) | ControlFlow::Break(()) => Ok(state.allocation),
    }
}

/// A = (Z'Z)^-1 Z'X, K x D: what each feature of an allocation adds at the least loss; 0 for one that others make up.
pub fn least_squares_components<T: Real>(data: &Data<T>, allocation: &Allocation) -> Vec<f64> {
    fn either(data: EitherData, allocation: &Allocation) -> Vec<f64> {
        either!(data, data => least_squares_components_on(data, allocation))
    }
    either(T::either_data(data), allocation)
}

fn least_squares_components_on<T: Real>(data: &Data<T>, allocation: &Allocation) -> Vec<f64> {
    let (k, d) = (allocation.n_features(), data.n_columns());
    let (mut products, mut sums) = (vec![0.0; k * k], vec![0.0; k * d]);
    for (n, row) in data.rows().iter().enumerate() {
        let features: Vec<usize> = allocation.features_of(n).collect();
        for &feature in &features {
            features.iter().for_each(|&other| products[feature * k + other] += 1.0);
            sums[feature * d..(feature + 1) * d].iter_mut().zip(row).for_each(|(sum, &x)| *sum += x.into());
        }
    }
    let (kept, factor) = independent(&products, k);
    let mut solution: Vec<f64> =
        kept.iter().flat_map(|&feature| sums[feature * d..(feature + 1) * d].to_vec()).collect();
    factor.solve(&mut solution, d);
    let mut components = vec![0.0; k * d];
    for (&feature, values) in kept.iter().zip(solution.chunks_exact(d)) {
        components[feature * d..(feature + 1) * d].copy_from_slice(values);
    }
    components
}

/// Z A, N x D: what an allocation and components say the rows are.
///
/// # Panics
/// When there is not one component of `n_columns` numbers for each feature.
pub fn reconstruct(allocation: &Allocation, components: &[f64], n_columns: usize) -> Vec<f64> {
    assert_eq!(components.len(), allocation.n_features() * n_columns, "components are K x D");
    let mut rows = vec![0.0; allocation.n_rows() * n_columns];
    for (n, row) in rows.chunks_exact_mut(n_columns).enumerate() {
        for feature in allocation.features_of(n) {
            let component = &components[feature * n_columns..(feature + 1) * n_columns];
            row.iter_mut().zip(component).for_each(|(r, a)| *r += a);
        }
    }
    rows
}

/// Errors unless the components are K x D finite numbers.
pub(super) fn check_components(components: &[f64], n_columns: usize) -> Result<()> {
    if !components.len().is_multiple_of(n_columns) {
        return Err(Error::argument(
            "components",
            format!("K x D numbers, D = {n_columns} columns like the data"),
            format!("{} numbers", components.len()),
            "give one row of D numbers for each feature",
        ));
    }
    if let Some(i) = components.iter().position(|c| !(c.is_finite() && c.abs() < 1e150)) {
        return Err(Error::argument(
            "components",
            "finite numbers whose squares are finite",
            format!("{} for feature {}, column {}", components[i], i / n_columns, i % n_columns),
            "leave the feature out",
        ));
    }
    Ok(())
}
