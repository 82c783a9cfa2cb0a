//! Agreement of two partitions, and of two feature allocations.

use crate::arrays::{allocation, value_error};
use madbayes::metrics as library;
use madbayes::structure::Partition;
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(pairwise_f1, module)?)?;
    module.add_function(wrap_pyfunction!(variation_of_information, module)?)?;
    module.add_function(wrap_pyfunction!(purity, module)?)?;
    module.add_function(wrap_pyfunction!(match_features, module)?)
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

/// The number of a true feature, that of the found one, rows in which they differ, whether it is the complement.
type Pair = (usize, usize, usize, bool);

/// Pairs of features, the share of equal bits and the number of features recovered exactly.
#[pyfunction]
fn match_features(
    truth: PyReadonlyArray2<'_, bool>,
    found: PyReadonlyArray2<'_, bool>,
    complements: bool,
) -> PyResult<(Vec<Pair>, f64, usize)> {
    let matching =
        library::match_features(&allocation(&truth), &allocation(&found), complements).map_err(value_error)?;
    let pairs = matching.pairs.iter().map(|pair| (pair.truth, pair.found, pair.distance, pair.complement)).collect();
    Ok((pairs, matching.equal_bits, matching.n_exact))
}
