//! Geweke's joint test: of the mixture sampler with a built-in likelihood, and the z-score of any other test's draws.

use crate::arrays::value_error;
use crate::mixture::{Options, law_in_full};
use madbayes::gibbs::{Agreement, MixtureTest};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(joint_agreement, module)?)?;
    module.add_function(wrap_pyfunction!(mixture_joint_test, module)?)
}

/// The mean of independent draws, the mean along the chain, and their difference in standard errors.
#[pyfunction]
fn joint_agreement(independent: PyReadonlyArray1<f64>, chain: PyReadonlyArray1<f64>) -> PyResult<(f64, f64, f64)> {
    let Agreement { independent, chain, z, .. } = Agreement::new("", independent.as_slice()?, chain.as_slice()?);
    Ok((independent, chain, z))
}

/// A statistic's name and its draws, both ways.
type Drawn<'py> = (&'static str, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// What was seen of each statistic.
#[pyfunction]
fn mixture_joint_test<'py>(
    py: Python<'py>,
    options: Options,
    n_columns: usize,
    n_rows: usize,
    n_draws: usize,
) -> PyResult<Vec<Drawn<'py>>> {
    let mixture = options.parameters()?;
    let law = law_in_full(&mixture.likelihood)?;
    let test = MixtureTest {
        prior: mixture.partition_prior().map_err(value_error)?,
        split_merge: mixture.split_merge,
        n_rows,
        n_draws,
        seed: mixture.seed,
    };
    let draws = py.detach(|| law.joint_test(&test, n_columns)).map_err(value_error)?;
    let both = draws.independent.into_iter().zip(draws.chain);
    let array = |values: Vec<f64>| PyArray1::from_vec(py, values);
    Ok(draws.names.into_iter().zip(both).map(|(name, (a, b))| (name, array(a), array(b))).collect())
}
