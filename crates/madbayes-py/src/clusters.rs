//! DP-means, K-means, their models and streams.

use crate::arrays::{Matrix, data, labels, matrix, rows, value_error, with_matrix};
use crate::watching::listen;
use madbayes::data::{Data, Real};
use madbayes::hard::{Algorithm, Clustering, DpMeans, Goal, Restarts, Start};
use madbayes::model::{ClusterModel, ClusterStream, kind_of_model};
use madbayes::parallel::Workers;
use madbayes::select::{PenaltyInterval, automatic_penalty, fit_exactly};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Stream>()?;
    module.add_class::<Model>()?;
    module.add_function(wrap_pyfunction!(model_kind, module)?)?;
    module.add_function(wrap_pyfunction!(fit, module)?)
}

/// The kind of a model file from its bytes.
#[pyfunction]
fn model_kind(bytes: &[u8]) -> PyResult<String> {
    kind_of_model(bytes).map_err(value_error)
}

/// The options of a fit, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options<'py> {
    penalty: Option<f64>,
    n_clusters: Option<usize>,
    max_clusters: Option<usize>,
    plain_k_means: bool,
    algorithm: String,
    init: Option<PyReadonlyArray2<'py, f64>>,
    mean: bool,
    n_init: Option<usize>,
    max_iter: usize,
    tol: f64,
    seed: u64,
    threads: usize,
}

impl Options<'_> {
    fn parameters(&self) -> PyResult<DpMeans> {
        let goal = match self.n_clusters {
            Some(k) => Goal::Exactly(k),
            // Without a penalty it is chosen from the data.
            None => Goal::Penalty { penalty: self.penalty.unwrap_or(1.0), max_clusters: self.max_clusters },
        };
        let algorithm = match self.algorithm.as_str() {
            "parallel" => Algorithm::Parallel,
            "serial" => Algorithm::Serial,
            "collapsed" => Algorithm::Collapsed,
            other => {
                return Err(PyValueError::new_err(format!(
                    "algorithm must be 'parallel', 'serial' or 'collapsed', got {other:?}"
                )));
            }
        };
        let start = match (&self.init, self.mean) {
            (Some(centres), _) => Start::Given(centres.as_array().iter().copied().collect()),
            (None, true) => Start::Mean,
            (None, false) => Start::PlusPlus,
        };
        Ok(DpMeans {
            goal,
            algorithm,
            start,
            restarts: self.n_init.map_or(Restarts::Auto, Restarts::Exactly),
            max_passes: self.max_iter,
            tolerance: self.tol,
            seed: self.seed,
            threads: self.threads,
        })
    }

    fn needs_penalty(&self) -> bool {
        self.penalty.is_none() && self.n_clusters.is_none()
    }
}

/// Numbers on their way to Python.
type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// A fit, the penalty that goes with it, and the penalties for which its number of clusters is optimal.
type Fitted = (Clustering, Option<f64>, Option<PenaltyInterval>);

/// Clusters the rows of X; a dictionary of everything learned.
#[pyfunction]
fn fit<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    options: Options<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let parameters = options.parameters()?;
    let (choose, plain) = (options.needs_penalty(), options.plain_k_means);
    with_matrix!(x, |array| {
        let data = data(array, sample_weight.as_ref())?;
        let (fitted, interrupted) = listen(py, progress, |watch| fit_data(&data, parameters, choose, plain, watch))?;
        as_dictionary(py, &fitted.map_err(value_error)?, interrupted)
    })
}

fn fit_data<T: Real>(
    data: &Data<T>,
    mut parameters: DpMeans,
    choose: bool,
    plain: bool,
    watch: &dyn madbayes::watch::Watch,
) -> madbayes::Result<Fitted> {
    parameters.check(data)?;
    match parameters.goal {
        Goal::Exactly(_) if plain => match parameters.fit(data, watch) {
            // As scikit-learn has it: as many clusters as there are distinct rows, and the caller warns.
            Err(madbayes::Error::Distinct { distinct, .. }) => {
                parameters.goal = Goal::Exactly(distinct);
                parameters.start = Start::PlusPlus;
                Ok((parameters.fit(data, watch)?, None, None))
            }
            fitted => Ok((fitted?, None, None)),
        },
        Goal::Exactly(k) => {
            let exact = fit_exactly(k, &parameters, data, watch)?;
            Ok((exact.clustering, exact.penalties.map(|p| p.middle()), exact.penalties))
        }
        Goal::Penalty { mut penalty, max_clusters } => {
            if choose {
                penalty = automatic_penalty(data, &parameters, watch)?;
                parameters.goal = Goal::Penalty { penalty, max_clusters };
            }
            Ok((parameters.fit(data, watch)?, Some(penalty), None))
        }
    }
}

fn as_dictionary<'py>(
    py: Python<'py>,
    (fit, penalty, interval): &Fitted,
    interrupted: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("labels", labels(py, &fit.labels))?;
    out.set_item("centres", matrix(py, &fit.centres, fit.n_columns)?)?;
    out.set_item("reference", PyArray1::from_slice(py, &fit.reference))?;
    out.set_item("sizes", &fit.sizes)?;
    out.set_item("weights", PyArray1::from_slice(py, &fit.weights))?;
    out.set_item("losses", PyArray1::from_slice(py, &fit.losses))?;
    out.set_item("penalty", *penalty)?;
    out.set_item("penalty_range", interval.map(|interval| (interval.low, interval.high)))?;
    out.set_item("loss", fit.loss())?;
    out.set_item("objective", fit.objective)?;
    out.set_item("trace", PyArray1::from_slice(py, &fit.trace))?;
    out.set_item("converged", fit.converged)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// A fitted clustering as the library keeps it.
#[pyclass(frozen, module = "madbayes._core")]
struct Model(ClusterModel);

#[pymethods]
impl Model {
    /// From what an estimator has learned.
    #[new]
    #[allow(clippy::too_many_arguments, reason = "the fields of the model file")]
    fn new(
        columns: Vec<String>,
        centres: PyReadonlyArray2<'_, f64>,
        reference: Vec<f64>,
        penalty: Option<f64>,
        sizes: Vec<usize>,
        losses: Vec<f64>,
        objective: f64,
        seed: u64,
    ) -> Self {
        let centres = centres.as_array().rows().into_iter().map(|row| row.to_vec()).collect();
        Model(ClusterModel { columns, standardise: None, centres, reference, penalty, sizes, losses, objective, seed })
    }

    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        ClusterModel::from_bytes(bytes).map(Model).map_err(value_error)
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
        out.set_item("centres", matrix(py, &self.0.centres.concat(), self.0.n_columns())?)?;
        out.set_item("reference", PyArray1::from_slice(py, &self.0.reference))?;
        out.set_item("penalty", self.0.penalty)?;
        out.set_item("sizes", &self.0.sizes)?;
        out.set_item("losses", PyArray1::from_slice(py, &self.0.losses))?;
        out.set_item("objective", self.0.objective)?;
        out.set_item("seed", self.0.seed)?;
        let standardise = self.0.standardise.as_ref();
        out.set_item("means", standardise.map(|s| PyArray1::from_slice(py, &s.means)))?;
        out.set_item("scales", standardise.map(|s| PyArray1::from_slice(py, &s.scales)))?;
        Ok(out)
    }

    /// Nearest cluster and squared distance of each row.
    fn assign<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i32>>, Floats<'py>)> {
        with_matrix!(x, |array| {
            let rows = rows(array)?;
            let assigned = py.detach(|| {
                let small = rows.values().len() < 1 << 16;
                let workers = if small { Workers::serial() } else { Workers::new(threads) };
                self.0.assign(rows, &workers)
            });
            let assigned = assigned.map_err(value_error)?;
            Ok((labels(py, &assigned.labels), PyArray1::from_slice(py, &assigned.squared_distances)))
        })
    }
}

/// The points of a stream on their way to Python.
type State<'py> = (Bound<'py, numpy::PyArray2<f64>>, Floats<'py>, Floats<'py>);

/// A stream of batches.
#[pyclass(module = "madbayes._core")]
struct Stream(ClusterStream);

#[pymethods]
impl Stream {
    #[new]
    fn new(n_columns: usize) -> Self {
        Stream(ClusterStream::new(n_columns))
    }

    /// Takes a batch in; the same dictionary as `fit`.
    fn update<'py>(
        &mut self,
        py: Python<'py>,
        x: Matrix<'py>,
        sample_weight: Option<PyReadonlyArray1<'py, f64>>,
        options: Options<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut parameters = options.parameters()?;
        let choose = options.needs_penalty();
        let stream = &mut self.0;
        with_matrix!(x, |array| {
            let data = data(array, sample_weight.as_ref())?;
            let (fitted, interrupted) = listen(py, None, move |watch| -> madbayes::Result<Fitted> {
                if choose {
                    let penalty = automatic_penalty(&data, &parameters, watch)?;
                    parameters.goal = Goal::Penalty { penalty, max_clusters: parameters.goal.max_clusters() };
                }
                let penalty = parameters.goal.penalty();
                Ok((stream.update(&data, &parameters, watch)?, (penalty > 0.0).then_some(penalty), None))
            })?;
            as_dictionary(py, &fitted.map_err(value_error)?, interrupted)
        })
    }

    /// Total weight of the rows seen.
    #[getter]
    fn weight(&self) -> f64 {
        self.0.weight()
    }

    /// Points, weights and scatters, for pickling.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let (points, weights, scatters) = self.0.points();
        let points = matrix(py, points, self.0.n_columns())?;
        Ok((points, PyArray1::from_slice(py, weights), PyArray1::from_slice(py, scatters)))
    }

    /// From points, weights and scatters.
    #[staticmethod]
    fn from_state(points: PyReadonlyArray2<'_, f64>, weights: Vec<f64>, scatters: Vec<f64>) -> PyResult<Self> {
        let columns = points.as_array().ncols();
        let points = points.as_array().iter().copied().collect();
        ClusterStream::from_points(points, weights, scatters, columns).map(Stream).map_err(value_error)
    }
}
