//! Clusters with covariances of their own.

use crate::arrays::{Matrix, data, labels, matrix, rows, value_error, with_matrix};
use crate::clusters::Floats;
use crate::watching::listen;
use madbayes::hard::{CovarianceAlgorithm, CovariancePrior, FullCovarianceMeans, Goal, Restarts};
use madbayes::model::CovarianceModel;
use madbayes::parallel::Workers;
use madbayes::select::{CovarianceGuesses, fit_full_covariance};
use numpy::{PyArray1, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CovariancesModel>()?;
    module.add_function(wrap_pyfunction!(fit_covariances, module)?)
}

/// The options of a fit, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    penalty: Option<f64>,
    n_clusters: Option<usize>,
    max_clusters: Option<usize>,
    covariance_penalty: Option<f64>,
    /// What is known of the covariances: "guessed", "expected", "nothing", "fixed" or "shared", and its numbers.
    known: (String, Vec<f64>),
    algorithm: String,
    n_init: Option<usize>,
    max_iter: usize,
    tol: f64,
    seed: u64,
    threads: usize,
}

impl Options {
    fn parameters(&self) -> PyResult<(FullCovarianceMeans, CovarianceGuesses)> {
        let algorithm = match self.algorithm.as_str() {
            "frozen" => CovarianceAlgorithm::Frozen,
            "collapsed" => CovarianceAlgorithm::Collapsed,
            other => {
                return Err(PyValueError::new_err(format!("algorithm must be 'collapsed' or 'frozen', got {other:?}")));
            }
        };
        let numbers = self.known.1.clone();
        let covariance_prior = match self.known.0.as_str() {
            "expected" => CovariancePrior::Expected(numbers),
            "nothing" => CovariancePrior::Nothing,
            "fixed" => CovariancePrior::Fixed(numbers),
            "shared" => CovariancePrior::Shared(numbers),
            _ => CovariancePrior::Guessed,
        };
        let goal = match self.n_clusters {
            Some(k) => Goal::Exactly(k),
            None => Goal::Penalty { penalty: self.penalty.unwrap_or(1.0), max_clusters: self.max_clusters },
        };
        let parameters = FullCovarianceMeans {
            goal,
            covariance_penalty: self.covariance_penalty.unwrap_or(1.0),
            covariance_prior,
            algorithm,
            restarts: self.n_init.map_or(Restarts::Auto, Restarts::Exactly),
            max_passes: self.max_iter,
            tolerance: self.tol,
            seed: self.seed,
            threads: self.threads,
        };
        let covariance_penalty = self.covariance_penalty.is_none();
        Ok((parameters, CovarianceGuesses { penalty: self.penalty.is_none(), covariance_penalty }))
    }
}

/// Clusters the rows of X; a dictionary of everything learned.
#[pyfunction]
fn fit_covariances<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    columns: Vec<String>,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, guesses) = options.parameters()?;
    with_matrix!(x, |array| {
        let data = data(array, sample_weight.as_ref())?;
        let work = |watch: &_| fit_full_covariance(&data, &parameters, guesses, watch);
        let (fitted, interrupted) = listen(py, progress, |watch| work(watch))?;
        let fitted = fitted.map_err(value_error)?;
        let (fit, d) = (&fitted.clustering, fitted.clustering.n_columns);
        let prices = (fitted.penalty, fitted.covariance_penalty);
        let out = PyDict::new(py);
        out.set_item("labels", labels(py, &fit.labels))?;
        out.set_item("centres", matrix(py, &fit.centres, d)?)?;
        out.set_item("covariances", matrices(py, &fit.covariances, d)?)?;
        out.set_item("penalty", fitted.penalty)?;
        out.set_item("covariance_penalty", fitted.covariance_penalty)?;
        out.set_item("expected", fit.covariance_prior.as_ref().map(|prior| matrix(py, prior, d)).transpose()?)?;
        out.set_item("objective", fit.objective)?;
        out.set_item("trace", PyArray1::from_slice(py, &fit.trace))?;
        out.set_item("converged", fit.converged)?;
        out.set_item("interrupted", interrupted)?;
        let model = CovarianceModel::new(fit, columns, None, prices, parameters.seed);
        out.set_item("model", Bound::new(py, CovariancesModel(model))?)?;
        Ok(out)
    })
}

/// K x D x D values.
fn matrices<'py>(py: Python<'py>, values: &[f64], d: usize) -> PyResult<Bound<'py, PyArray3<f64>>> {
    PyArray1::from_slice(py, values).reshape([values.len() / (d * d).max(1), d, d])
}

/// A fitted clustering as the library keeps it.
#[pyclass(frozen, module = "madbayes._core")]
struct CovariancesModel(CovarianceModel);

#[pymethods]
impl CovariancesModel {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        CovarianceModel::from_bytes(bytes).map(CovariancesModel).map_err(value_error)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// For pickle.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let build = slf.get_type().getattr("from_bytes")?;
        Ok((build, (slf.get().to_bytes(slf.py()),)))
    }

    /// What the file holds, by name; centres and covariances in the units of the user's columns.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (model, d) = (&self.0, self.0.n_columns());
        let out = PyDict::new(py);
        out.set_item("columns", &model.columns)?;
        out.set_item("centres", matrix(py, &model.centres_in_original_units().concat(), d)?)?;
        out.set_item("covariances", matrices(py, &model.covariances_in_original_units().concat(), d)?)?;
        out.set_item("penalty", model.penalty)?;
        out.set_item("covariance_penalty", model.covariance_penalty)?;
        out.set_item("expected", model.covariance_prior.as_ref().map(|prior| matrix(py, prior, d)).transpose()?)?;
        out.set_item("sizes", &model.sizes)?;
        out.set_item("objective", model.objective)?;
        out.set_item("seed", model.seed)?;
        Ok(out)
    }

    /// Nearest cluster and squared Mahalanobis distance of each row.
    fn assign<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i32>>, Floats<'py>)> {
        with_matrix!(x, |array| {
            let rows = rows(array)?;
            let assigned = py.detach(|| {
                let small = rows.values().len() < 1 << 14;
                let workers = if small { Workers::serial() } else { Workers::new(threads) };
                self.0.assign(rows, &workers)
            });
            let assigned = assigned.map_err(value_error)?;
            Ok((labels(py, &assigned.labels), PyArray1::from_slice(py, &assigned.squared_distances)))
        })
    }
}
