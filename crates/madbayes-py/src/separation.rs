//! The discriminative term: its options, its hyperplanes, and draws of its augmentation.

use crate::mixture::wrong;
use madbayes::random::{Stream, stream};
use madbayes::separator::{Discriminative, Factor, FittedHyperplanes, NewCluster, polya_gamma as draw_polya_gamma};
use numpy::{PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(polya_gamma, module)?)
}

/// The discriminative term of this name.
pub fn discriminative_of(name: Option<&str>, scale: f64, new_cluster: &str) -> PyResult<Option<Discriminative>> {
    let new_cluster = match new_cluster {
        "exact" => NewCluster::Exact,
        "paper" => NewCluster::Paper,
        other => return wrong("new_cluster", "'exact' or 'paper'", other),
    };
    let factor = match name {
        None => return Ok(None),
        Some("svm") => Factor::Svm,
        Some("logistic") => Factor::Logistic,
        Some(other) => return wrong("discriminative", "None, 'svm' or 'logistic'", other),
    };
    Ok(Some(Discriminative { factor, scale, new_cluster }))
}

/// Coefficients of the columns (groups x columns) and intercepts, where there are hyperplanes.
pub fn set_hyperplanes(
    out: &Bound<'_, PyDict>,
    hyperplanes: Option<&FittedHyperplanes>,
    n_groups: usize,
) -> PyResult<()> {
    let (py, Some(hyperplanes)) = (out.py(), hyperplanes) else { return Ok(()) };
    let (slopes, intercepts): (Vec<_>, Vec<_>) = (0..n_groups).map(|k| hyperplanes.in_units(k)).unzip();
    let slopes = PyArray2::from_vec2(py, &slopes).map_err(|error| PyValueError::new_err(error.to_string()))?;
    out.set_item("hyperplanes", slopes)?;
    out.set_item("intercepts", PyArray1::from_vec(py, intercepts))
}

/// Draws of Polya-Gamma(1, z), to be compared with others'.
#[pyfunction]
fn polya_gamma(py: Python<'_>, z: f64, n: usize, seed: u64) -> PyResult<Bound<'_, PyArray1<f64>>> {
    if !z.is_finite() {
        return Err(PyValueError::new_err(format!("z must be a finite number, got {z}")));
    }
    let mut rng = stream(seed, Stream::Simulation);
    Ok(PyArray1::from_iter(py, (0..n).map(|_| draw_polya_gamma(z, &mut rng))))
}
