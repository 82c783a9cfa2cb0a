//! BP-means, K-features, their models, and the Indian buffet sampler.

use crate::arrays::{Matrix, bits, data, matrix, rows, value_error, with_matrix};
use crate::path::{interval, runners_up};
use crate::watching::listen;
use madbayes::data::{Data, Real};
use madbayes::gibbs::{IbpChain, IbpSampler, Schedule};
use madbayes::hard::Restarts;
use madbayes::hard::{BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, Features, RowSolver};
use madbayes::model::{BuffetStart, FeatureModel, IndianBuffet};
use madbayes::parallel::Workers;
use madbayes::select::{Choice, ChosenFeatures, fit_features_automatically};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FeaturesModel>()?;
    module.add_function(wrap_pyfunction!(fit_features, module)?)?;
    module.add_function(wrap_pyfunction!(fit_buffet, module)?)
}

/// The options of a fit, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options<'py> {
    penalty: Option<f64>,
    n_components: Option<usize>,
    max_components: Option<usize>,
    algorithm: String,
    init: Option<PyReadonlyArray2<'py, f64>>,
    plus_plus: bool,
    row_solver: String,
    base_feature: bool,
    polish: bool,
    n_init: Option<usize>,
    max_iter: usize,
    tol: f64,
    seed: u64,
    threads: usize,
}

fn row_solver(name: &str) -> PyResult<RowSolver> {
    match name {
        "auto" => Ok(RowSolver::Auto),
        "exact" => Ok(RowSolver::Exact),
        "coordinate" => Ok(RowSolver::Coordinate),
        "paper" => Ok(RowSolver::Paper),
        other => Err(PyValueError::new_err(format!(
            "row_solver must be 'auto', 'exact', 'coordinate' or 'paper', got {other:?}"
        ))),
    }
}

impl Options<'_> {
    fn parameters(&self) -> PyResult<BpMeans> {
        let algorithm = match self.algorithm.as_str() {
            "alternating" => FeatureAlgorithm::Alternating,
            "collapsed" => FeatureAlgorithm::Collapsed,
            "stepwise" => FeatureAlgorithm::Stepwise,
            other => {
                return Err(PyValueError::new_err(format!(
                    "algorithm must be 'alternating', 'collapsed' or 'stepwise', got {other:?}"
                )));
            }
        };
        let goal = match self.n_components {
            Some(k) => FeatureGoal::Exactly(k),
            // Without a penalty it is chosen from the data.
            None => FeatureGoal::Penalty { penalty: self.penalty.unwrap_or(1.0), max_features: self.max_components },
        };
        let start = match (&self.init, self.plus_plus) {
            (Some(components), _) => FeatureStart::Given(components.as_array().iter().copied().collect()),
            (None, true) => FeatureStart::PlusPlus,
            (None, false) => FeatureStart::Spectral,
        };
        Ok(BpMeans {
            goal,
            algorithm,
            start,
            row_solver: row_solver(&self.row_solver)?,
            base_feature: self.base_feature,
            polish: self.polish,
            restarts: self.n_init.map_or(Restarts::Auto, Restarts::Exactly),
            max_passes: self.max_iter,
            tolerance: self.tol,
            seed: self.seed,
            threads: self.threads,
        })
    }
}

/// Learns features of the rows of X; a dictionary of everything learned.
#[pyfunction]
fn fit_features<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    columns: Vec<String>,
    options: Options<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let parameters = options.parameters()?;
    let choose = options.penalty.is_none() && options.n_components.is_none();
    let seed = parameters.seed;
    with_matrix!(x, |array| {
        let data = data(array, None)?;
        let (fitted, interrupted) = listen(py, progress, |watch| fit(&data, parameters, choose, watch))?;
        let (features, choice) = fitted.map_err(value_error)?;
        features_dictionary(py, features, choice, columns, seed, interrupted)
    })
}

fn fit<T: Real>(
    data: &Data<T>,
    parameters: BpMeans,
    choose: bool,
    watch: &dyn madbayes::watch::Watch,
) -> madbayes::Result<(Features, Option<Choice>)> {
    parameters.check(data)?;
    if choose && let FeatureGoal::Penalty { .. } = parameters.goal {
        let ChosenFeatures { features, choice, .. } = fit_features_automatically(data, &parameters, watch)?;
        return Ok((features, Some(choice)));
    }
    Ok((parameters.fit(data, watch)?, None))
}

fn features_dictionary<'py>(
    py: Python<'py>,
    features: Features,
    choice: Option<Choice>,
    columns: Vec<String>,
    seed: u64,
    interrupted: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let penalty = match features.goal {
        FeatureGoal::Penalty { penalty, .. } => Some(penalty),
        FeatureGoal::Exactly(_) => None,
    };
    let model = FeatureModel::new(&features, columns, penalty, seed);
    out.set_item("allocation", bits(py, &features.allocation)?)?;
    out.set_item("components", matrix(py, &features.components, features.n_columns)?)?;
    out.set_item("penalty", penalty)?;
    out.set_item("penalty_range", choice.as_ref().map(|choice| interval(choice.penalties)))?;
    out.set_item("confidence", choice.as_ref().map(|choice| choice.confidence))?;
    out.set_item("runners_up", choice.as_ref().map(runners_up))?;
    out.set_item("loss", features.loss)?;
    out.set_item("objective", features.objective)?;
    out.set_item("trace", PyArray1::from_slice(py, &features.trace))?;
    out.set_item("converged", features.converged)?;
    out.set_item("model", Py::new(py, FeaturesModel(model))?)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// Features and residuals of rows on their way to Python.
type AllocatedRows<'py> = (Bound<'py, PyArray2<bool>>, Bound<'py, PyArray1<f64>>);

/// Fitted features as the library keeps them.
#[pyclass(frozen, module = "madbayes._core")]
struct FeaturesModel(FeatureModel);

#[pymethods]
impl FeaturesModel {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        FeatureModel::from_bytes(bytes).map(FeaturesModel).map_err(value_error)
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

    /// Features and squared residual of each row.
    fn allocate<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        solver: &str,
        threads: usize,
    ) -> PyResult<AllocatedRows<'py>> {
        let solver = row_solver(solver)?;
        with_matrix!(x, |array| {
            let rows = rows(array)?;
            let found = py.detach(|| {
                let small = rows.values().len() < 1 << 16;
                let workers = if small { Workers::serial() } else { Workers::new(threads) };
                self.0.allocate(rows, solver, &workers)
            });
            let found = found.map_err(value_error)?;
            Ok((bits(py, &found.allocation)?, PyArray1::from_vec(py, found.residuals)))
        })
    }

    /// What the file holds, by name.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        let columns = match self.0.columns.is_empty() {
            true => (1..=self.0.n_columns()).map(|j| j.to_string()).collect(),
            false => self.0.columns.clone(),
        };
        out.set_item("columns", columns)?;
        out.set_item("offset", PyArray1::from_slice(py, &self.0.offset))?;
        out.set_item("components", matrix(py, &self.0.components.concat(), self.0.n_columns())?)?;
        out.set_item("penalty", self.0.penalty)?;
        out.set_item("loss", self.0.loss)?;
        out.set_item("objective", self.0.objective)?;
        out.set_item("seed", self.0.seed)?;
        Ok(out)
    }
}

/// The options of the sampler, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct BuffetOptions {
    mass: Option<f64>,
    noise: Option<f64>,
    scale: Option<f64>,
    collapsed: bool,
    n_sweeps: usize,
    burn_in: usize,
    thin: usize,
    n_chains: usize,
    init: String,
    seed: u64,
    threads: usize,
}

/// Samples feature allocations; a dictionary of everything learned.
#[pyfunction]
fn fit_buffet<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    columns: Vec<String>,
    options: BuffetOptions,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let start = match options.init.as_str() {
        "bp-means" => BuffetStart::BpMeans,
        "one" => BuffetStart::One,
        "random" => BuffetStart::Random,
        other => {
            return Err(PyValueError::new_err(format!("init must be 'bp-means', 'one' or 'random', got {other:?}")));
        }
    };
    let schedule = Schedule { sweeps: options.n_sweeps, burn_in: options.burn_in, thin: options.thin };
    let sampler = IbpSampler {
        mass: options.mass,
        noise: options.noise,
        scale: options.scale,
        collapsed: options.collapsed,
        schedule,
        chains: options.n_chains,
        seed: options.seed,
        threads: options.threads,
        ..IbpSampler::default()
    };
    with_matrix!(x, |array| {
        let data = data(array, None)?;
        let (fitted, interrupted) =
            listen(py, progress, |watch| IndianBuffet { sampler, start }.fit(&data, columns, watch))?;
        let fit = fitted.map_err(value_error)?;
        let out = PyDict::new(py);
        out.set_item("allocation", bits(py, &fit.best.allocation)?)?;
        out.set_item("components", matrix(py, &fit.best.components, data.n_columns())?)?;
        out.set_item("mass", fit.best.mass)?;
        out.set_item("noise", fit.best.noise)?;
        out.set_item("scale", fit.best.scale)?;
        for (name, values) in [
            ("log_joint_trace", traces(py, &fit.chains, |chain| &chain.ln_joint)?),
            ("mass_trace", traces(py, &fit.chains, |chain| &chain.mass)?),
            ("noise_trace", traces(py, &fit.chains, |chain| &chain.noise)?),
            ("scale_trace", traces(py, &fit.chains, |chain| &chain.scale)?),
        ] {
            out.set_item(name, values)?;
        }
        out.set_item("n_components_trace", counts_of(py, &fit.chains)?)?;
        let draws = fit.chains.iter().map(|chain| chain.draws.iter().map(|draw| bits(py, draw)).collect());
        out.set_item("draws", draws.collect::<PyResult<Vec<Vec<_>>>>()?)?;
        out.set_item("r_hat", fit.r_hat)?;
        out.set_item("model", Py::new(py, FeaturesModel(fit.model))?)?;
        out.set_item("interrupted", interrupted)?;
        Ok(out)
    })
}

/// Chains x sweeps, as far as all chains came.
fn traces<'py>(
    py: Python<'py>,
    chains: &[IbpChain],
    trace: impl Fn(&IbpChain) -> &Vec<f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let sweeps = chains.iter().map(|chain| trace(chain).len()).min().unwrap_or(0);
    let values = chains.iter().flat_map(|chain| trace(chain)[..sweeps].iter().copied());
    PyArray1::from_iter(py, values).reshape([chains.len(), sweeps])
}

fn counts_of<'py>(py: Python<'py>, chains: &[IbpChain]) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let sweeps = chains.iter().map(|chain| chain.n_features.len()).min().unwrap_or(0);
    let values = chains.iter().flat_map(|chain| chain.n_features[..sweeps].iter().map(|&k| k as i64));
    PyArray1::from_iter(py, values).reshape([chains.len(), sweeps])
}
