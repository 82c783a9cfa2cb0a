//! Clusters of counts: DP-means with Kullback-Leibler divergence, on dense arrays or the parts of a SciPy CSR matrix.

use crate::arrays::{Matrix, labels, matrix, rows, value_error, with_matrix};
use crate::clusters::{Floats, Options};
use crate::path::{interval, runners_up};
use crate::watching::listen;
use madbayes::counts::Counts;
use madbayes::hard::DivergenceMeans;
use madbayes::model::CountModel;
use madbayes::parallel::Workers;
use madbayes::select::fit_divergence;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<CountsModel>()?;
    module.add_class::<CountRows>()?;
    module.add_function(wrap_pyfunction!(fit_counts, module)?)
}

/// Counts as the library keeps them: the values above 0 alone.
#[pyclass(frozen, module = "madbayes._core")]
pub struct CountRows(pub Counts);

#[pymethods]
impl CountRows {
    /// From an array with all its zeros.
    #[staticmethod]
    fn dense(x: Matrix<'_>) -> PyResult<Self> {
        with_matrix!(x, |array| Counts::from_rows(rows(array)?).map(CountRows).map_err(value_error))
    }

    /// From the parts of a CSR matrix in canonical form.
    #[staticmethod]
    fn sparse(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        data: PyReadonlyArray1<'_, f64>,
        n_columns: usize,
    ) -> PyResult<Self> {
        let (indptr, indices, data) = (indptr.as_slice()?, indices.as_slice()?, data.as_slice()?);
        let wrong = |_| PyValueError::new_err("X has a row start or a column beyond what a sparse matrix can have");
        let starts = indptr.iter().map(|&i| usize::try_from(i)).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        let columns = indices.iter().map(|&i| u32::try_from(i)).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        py.detach(|| Counts::new(&starts, &columns, data, n_columns)).map(CountRows).map_err(value_error)
    }

    /// Every row times its weight.
    fn weighted(&self, weights: PyReadonlyArray1<'_, f64>) -> PyResult<Self> {
        self.0.weighted(weights.as_slice()?).map(CountRows).map_err(value_error)
    }

    fn __len__(&self) -> usize {
        self.0.n_rows()
    }
}

/// Clusters rows of counts; a dictionary of everything learned.
#[pyfunction]
fn fit_counts<'py>(
    py: Python<'py>,
    counts: &Bound<'py, CountRows>,
    columns: Vec<String>,
    options: Options<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, rule) = (options.parameters()?, options.rule()?);
    let parameters = DivergenceMeans {
        goal: parameters.goal,
        algorithm: parameters.algorithm,
        restarts: parameters.restarts,
        max_passes: parameters.max_passes,
        tolerance: parameters.tolerance,
        seed: parameters.seed,
        threads: parameters.threads,
    };
    let counts = &counts.get().0;
    let (fitted, interrupted) = listen(py, progress, |watch| fit_divergence(counts, &parameters, rule, watch))?;
    let fitted = fitted.map_err(value_error)?;
    let fit = &fitted.clustering;
    let model = CountModel::new(fit, columns, fitted.penalty, parameters.seed);
    let out = PyDict::new(py);
    out.set_item("labels", labels(py, &fit.labels))?;
    out.set_item("centres", matrix(py, &fit.centres(), fit.n_columns)?)?;
    out.set_item("penalty", fitted.penalty)?;
    out.set_item("penalty_range", fitted.penalties.map(interval))?;
    out.set_item("confidence", fitted.choice.as_ref().map(|choice| choice.confidence))?;
    out.set_item("runners_up", fitted.choice.as_ref().map(runners_up))?;
    out.set_item("loss", fit.loss())?;
    out.set_item("objective", fit.objective)?;
    out.set_item("trace", PyArray1::from_slice(py, &fit.trace))?;
    out.set_item("converged", fit.converged)?;
    out.set_item("interrupted", interrupted)?;
    out.set_item("model", Bound::new(py, CountsModel(model))?)?;
    Ok(out)
}

/// A fitted clustering of counts as the library keeps it.
#[pyclass(frozen, module = "madbayes._core")]
struct CountsModel(CountModel);

#[pymethods]
impl CountsModel {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        CountModel::from_bytes(bytes).map(CountsModel).map_err(value_error)
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

    /// What the file holds, by name.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("columns", &self.0.columns)?;
        out.set_item("tallies", matrix(py, &self.0.tallies.concat(), self.0.n_columns())?)?;
        out.set_item("penalty", self.0.penalty)?;
        out.set_item("sizes", &self.0.sizes)?;
        out.set_item("losses", PyArray1::from_slice(py, &self.0.losses))?;
        out.set_item("objective", self.0.objective)?;
        out.set_item("seed", self.0.seed)?;
        Ok(out)
    }

    /// Nearest cluster and divergence of each row.
    fn assign<'py>(
        &self,
        py: Python<'py>,
        counts: &Bound<'py, CountRows>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i32>>, Floats<'py>)> {
        let counts = &counts.get().0;
        let small = counts.n_nonzero() < 1 << 16;
        let assigned = py.detach(|| {
            let workers = if small { Workers::serial() } else { Workers::new(threads) };
            self.0.assign(counts, &workers)
        });
        let assigned = assigned.map_err(value_error)?;
        Ok((labels(py, &assigned.labels), PyArray1::from_slice(py, &assigned.squared_distances)))
    }
}
