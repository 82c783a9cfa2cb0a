//! Agreement of two partitions.

use crate::arrays::value_error;
use madbayes::metrics as library;
use madbayes::structure::Partition;
use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(pairwise_f1, module)?)?;
    module.add_function(wrap_pyfunction!(variation_of_information, module)?)?;
    module.add_function(wrap_pyfunction!(purity, module)?)
}

fn partitions(first: Vec<i64>, second: Vec<i64>) -> (Partition, Partition) {
    (Partition::from_labels(first), Partition::from_labels(second))
}

/// Precision, recall and F1 of the pairs put together.
#[pyfunction]
fn pairwise_f1(truth: Vec<i64>, found: Vec<i64>) -> PyResult<(f64, f64, f64)> {
    let (truth, found) = partitions(truth, found);
    let agreement = library::pairwise_f1(&truth, &found).map_err(value_error)?;
    Ok((agreement.precision, agreement.recall, agreement.f1))
}

#[pyfunction]
fn variation_of_information(first: Vec<i64>, second: Vec<i64>) -> PyResult<f64> {
    let (first, second) = partitions(first, second);
    library::variation_of_information(&first, &second).map_err(value_error)
}

#[pyfunction]
fn purity(truth: Vec<i64>, found: Vec<i64>) -> PyResult<f64> {
    let (truth, found) = partitions(truth, found);
    library::purity(&truth, &found).map_err(value_error)
}
