//! The extension module of the Python package: translates between NumPy and the library, and computes nothing.

mod arrays;
mod clusters;
mod counts;
mod covariances;
mod features;
mod joint_test;
mod metrics;
mod mixture;
mod path;
mod priors;
mod report;
mod separation;
mod states;
mod watching;

use pyo3::prelude::*;

/// What `madbayes` is made of; use the classes of the package instead.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    clusters::register(module)?;
    counts::register(module)?;
    covariances::register(module)?;
    features::register(module)?;
    joint_test::register(module)?;
    metrics::register(module)?;
    mixture::register(module)?;
    path::register(module)?;
    priors::register(module)?;
    report::register(module)?;
    separation::register(module)?;
    states::register(module)
}
