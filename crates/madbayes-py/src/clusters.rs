//! DP-means, K-means, their models and streams.

use crate::arrays::{Matrix, data, data_on, labels, matrix, own_labels, rows, value_error, with_matrix};
use crate::path::{interval, runners_up};
use crate::watching::{listen, listen_here};
use madbayes::data::{Data, Real};
use madbayes::hard::{Algorithm, Clustering, DpMeans, Goal, Restarts, Start};
use madbayes::model::{ClusterModel, ClusterStream, kind_of_model};
use madbayes::parallel::Workers;
use madbayes::select::{Choice, PenaltyInterval, PenaltyRule, fit_exactly};
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
pub struct Options<'py> {
    penalty: Option<f64>,
    /// What chooses the penalty where none is given.
    rule: String,
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
    pub fn parameters(&self) -> PyResult<DpMeans> {
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

    /// What chooses the penalty, where nothing else decides it.
    pub fn rule(&self) -> PyResult<Option<PenaltyRule>> {
        if self.penalty.is_some() || self.n_clusters.is_some() {
            return Ok(None);
        }
        let unknown = || {
            PyValueError::new_err(format!(
                "penalty must be a positive finite number or 'auto', 'validation' or 'farthest-first:K' with a number K, \
                 got '{}': it is the price of one more cluster in squared-distance units",
                self.rule
            ))
        };
        self.rule.parse().map(Some).map_err(|()| unknown())
    }
}

/// Numbers on their way to Python.
pub type Floats<'py> = Bound<'py, PyArray1<f64>>;

/// A fit, the penalty that goes with it, the penalties for which its number of clusters is optimal, and how it was chosen.
struct Fitted {
    fit: Clustering,
    penalty: Option<f64>,
    penalties: Option<PenaltyInterval>,
    choice: Option<Choice>,
}

impl Fitted {
    fn of(fit: Clustering, penalty: Option<f64>) -> Self {
        Fitted { fit, penalty, penalties: None, choice: None }
    }
}

/// Clusters the rows of X; a dictionary of everything learned.
#[pyfunction]
fn fit<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    columns: Vec<String>,
    options: Options<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let parameters = options.parameters()?;
    let (rule, plain) = (options.rule()?, options.plain_k_means);
    with_matrix!(x, |array| {
        let data = data_on(py, array, sample_weight.as_ref(), parameters.threads)?;
        let given = rule.is_none() && matches!(parameters.goal, Goal::Penalty { .. });
        let (fitted, interrupted) = if given && parameters.is_serial(&data) {
            listen_here(py, progress, |watch| fit_data(&data, parameters, None, plain, watch))?
        } else {
            listen(py, progress, |watch| fit_data(&data, parameters, rule, plain, watch))?
        };
        as_dictionary(py, fitted.map_err(value_error)?, columns, options.seed, interrupted)
    })
}

fn fit_data<T: Real>(
    data: &Data<T>,
    mut parameters: DpMeans,
    rule: Option<PenaltyRule>,
    plain: bool,
    watch: &dyn madbayes::watch::Watch,
) -> madbayes::Result<Fitted> {
    parameters.check(data)?;
    if let Some(rule) = rule {
        let found = rule.fit(data, &parameters, watch)?;
        let (penalty, penalties) = (Some(found.chosen.penalty), found.chosen.penalties);
        return Ok(Fitted { fit: found.clustering, penalty, penalties, choice: found.chosen.choice });
    }
    match parameters.goal {
        Goal::Exactly(_) if plain => match parameters.fit(data, watch) {
            // As scikit-learn has it: as many clusters as there are distinct rows, and the caller warns.
            Err(madbayes::Error::Distinct { distinct, .. }) => {
                parameters.goal = Goal::Exactly(distinct);
                parameters.start = Start::PlusPlus;
                Ok(Fitted::of(parameters.fit(data, watch)?, None))
            }
            fitted => Ok(Fitted::of(fitted?, None)),
        },
        Goal::Exactly(k) => {
            let exact = fit_exactly(k, &parameters, data, watch)?;
            let (penalty, penalties) = (exact.penalties.map(|p| p.middle()), exact.penalties);
            Ok(Fitted { fit: exact.clustering, penalty, penalties, choice: None })
        }
        Goal::Penalty { penalty, .. } => Ok(Fitted::of(parameters.fit(data, watch)?, Some(penalty))),
    }
}

fn as_dictionary<'py>(
    py: Python<'py>,
    fitted: Fitted,
    columns: Vec<String>,
    seed: u64,
    interrupted: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let mut fit = fitted.fit;
    let out = PyDict::new(py);
    out.set_item("model", Bound::new(py, Model(ClusterModel::new(&fit, columns, None, fitted.penalty, seed)))?)?;
    out.set_item("labels", own_labels(py, std::mem::take(&mut fit.labels)))?;
    out.set_item("centres", matrix(py, &fit.centres, fit.n_columns)?)?;
    out.set_item("weights", PyArray1::from_slice(py, &fit.weights))?;
    out.set_item("penalty", fitted.penalty)?;
    out.set_item("penalty_range", fitted.penalties.map(interval))?;
    out.set_item("confidence", fitted.choice.as_ref().map(|choice| choice.confidence))?;
    out.set_item("runners_up", fitted.choice.as_ref().map(runners_up))?;
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
        columns: Vec<String>,
        options: Options<'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut parameters = options.parameters()?;
        let rule = options.rule()?;
        let stream = &mut self.0;
        with_matrix!(x, |array| {
            let data = data(array, sample_weight.as_ref())?;
            let (fitted, interrupted) = listen(py, None, move |watch| -> madbayes::Result<Fitted> {
                let chosen = rule.map(|rule| rule.choose(&data, &parameters, watch)).transpose()?;
                if let Some(chosen) = &chosen {
                    let max_clusters = parameters.goal.max_clusters();
                    parameters.goal = Goal::Penalty { penalty: chosen.penalty, max_clusters };
                }
                let penalty = parameters.goal.penalty();
                let fit = stream.update(&data, &parameters, watch)?;
                let mut fitted = Fitted::of(fit, (penalty > 0.0).then_some(penalty));
                if let Some(chosen) = chosen {
                    (fitted.penalties, fitted.choice) = (chosen.penalties, chosen.choice);
                }
                Ok(fitted)
            })?;
            as_dictionary(py, fitted.map_err(value_error)?, columns, options.seed, interrupted)
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
