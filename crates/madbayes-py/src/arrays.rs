//! NumPy arrays as rows, and the library's errors as Python's.

use madbayes::data::{Data, Real, Rows};
use madbayes::parallel::Workers;
use madbayes::structure::Allocation;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A C-ordered matrix of either width, as the caller holds it: nothing is copied.
pub enum Matrix<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

impl<'py> FromPyObject<'_, 'py> for Matrix<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = object.extract::<PyReadonlyArray2<f64>>() {
            return Ok(Matrix::F64(array));
        }
        match object.extract::<PyReadonlyArray2<f32>>() {
            Ok(array) => Ok(Matrix::F32(array)),
            Err(_) => Err(PyTypeError::new_err("X must be a two-dimensional NumPy array of float32 or float64")),
        }
    }
}

/// Calls the same generic code for both widths.
macro_rules! with_matrix {
    ($matrix:expr, |$array:ident| $work:expr) => {
        match &$matrix {
            $crate::arrays::Matrix::F32($array) => $work,
            $crate::arrays::Matrix::F64($array) => $work,
        }
    };
}
pub(crate) use with_matrix;

/// The array's own memory as rows.
pub fn rows<'a, T: Real + numpy::Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<Rows<'a, T>> {
    let columns = array.shape()[1];
    let values =
        array.as_slice().map_err(|_| PyValueError::new_err("X must be C-ordered: pass numpy.ascontiguousarray(X)"))?;
    Rows::new(values, columns).map_err(value_error)
}

/// Numbers from which on a look at all of them is worth a second thread.
const MANY: usize = 1 << 22;

/// Rows with their weights, checked.
pub fn data<'a, T: Real + numpy::Element>(
    array: &'a PyReadonlyArray2<'_, T>,
    weights: Option<&'a PyReadonlyArray1<'_, f64>>,
) -> PyResult<Data<'a, T>> {
    let weights = weights.map(|w| w.as_slice()).transpose()?;
    Data::weighted(rows(array)?, weights).map_err(value_error)
}

/// The same by several threads (0: one per processor), where there is much to look at.
pub fn data_on<'a, T: Real + numpy::Element>(
    py: Python<'_>,
    array: &'a PyReadonlyArray2<'_, T>,
    weights: Option<&'a PyReadonlyArray1<'_, f64>>,
    threads: usize,
) -> PyResult<Data<'a, T>> {
    let (rows, weights) = (rows(array)?, weights.map(|w| w.as_slice()).transpose()?);
    if rows.values().len() < MANY {
        return Data::weighted(rows, weights).map_err(value_error);
    }
    py.detach(|| Data::weighted_on(rows, weights, &Workers::new(threads))).map_err(value_error)
}

/// What the library's arguments are called in Python.
const NAMES: [(&str, &str); 15] = [
    ("start", "init"),
    ("tolerance", "tol"),
    ("weights", "sample_weight"),
    ("restarts", "n_init"),
    ("max_passes", "max_iter"),
    ("max_features", "max_components"),
    ("n_features", "n_components"),
    ("sweeps", "n_sweeps"),
    ("chains", "n_chains"),
    ("n_rows", "n_samples"),
    ("n_columns", "n_features"),
    ("first", "labels_true"),
    ("second", "labels_pred"),
    ("components", "n_components"),
    ("features", "n_features"),
];

/// The library's error in its own words, but for the names of arguments.
pub fn value_error(error: madbayes::Error) -> PyErr {
    let text = error.to_string();
    let renamed = |(library, python): &(&str, &str)| {
        let rest = text.strip_prefix(library).filter(|rest| rest.starts_with(" must be "))?;
        Some(format!("{python}{rest}"))
    };
    PyValueError::new_err(NAMES.iter().find_map(renamed).unwrap_or(text))
}

/// K x D values as a matrix.
pub fn matrix<'py>(py: Python<'py>, values: &[f64], columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rows = values.len() / columns.max(1);
    PyArray1::from_slice(py, values).reshape([rows, columns])
}

/// Labels as scikit-learn has them.
pub fn labels<'py>(py: Python<'py>, labels: &[u32]) -> Bound<'py, PyArray1<i32>> {
    own_labels(py, labels.to_vec())
}

/// The same without a copy.
pub fn own_labels(py: Python<'_>, labels: Vec<u32>) -> Bound<'_, PyArray1<i32>> {
    PyArray1::from_vec(py, labels.into_iter().map(|l| l as i32).collect())
}

/// An N x K matrix of bits as an allocation.
pub fn allocation(array: &PyReadonlyArray2<'_, bool>) -> Allocation {
    let [n_rows, n_features] = [array.shape()[0], array.shape()[1]];
    Allocation::from_bools(n_rows, n_features, array.as_array().iter().copied())
}

/// An allocation as an N x K matrix of bits.
pub fn bits<'py>(py: Python<'py>, allocation: &Allocation) -> PyResult<Bound<'py, PyArray2<bool>>> {
    PyArray1::from_vec(py, allocation.to_bools()).reshape([allocation.n_rows(), allocation.n_features()])
}
