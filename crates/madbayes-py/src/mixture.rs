//! Dirichlet process mixtures: the sampler, its draws, and what they say of new rows.

use crate::arrays::{Matrix, data, labels, rows, value_error, with_matrix};
use crate::counts::CountRows;
use crate::separation::{discriminative_of, set_hyperplanes};
use crate::watching::listen;
use madbayes::gibbs::{Chain, Schedule, coclustering as pairwise, coclustering_matrix};
use madbayes::gibbs::{Loss, SPLIT_MERGE};
use madbayes::likelihood::{Diagonal, Full, Multinomial, Spherical};
use madbayes::model::{
    DpMixture, MixtureFit, MixtureLaw, MixtureLikelihood, MixtureModel, MixturePrior, MixtureRows, MixtureRun,
    MixtureStart, NormalPrior,
};
use madbayes::parallel::Workers;
use madbayes::prepare::Redundant;
use madbayes::structure::{CompactPartition, Partition};
use numpy::ndarray::ArrayView1;
use numpy::{PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Mixture>()?;
    module.add_class::<Chains>()?;
    module.add_function(wrap_pyfunction!(fit_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(fit_count_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(redundant_columns, module)?)?;
    module.add_function(wrap_pyfunction!(coclustering, module)?)
}

/// Columns that are constant, and columns that are linear combinations of those before them.
#[pyfunction]
fn redundant_columns<'py>(py: Python<'py>, x: Matrix<'py>) -> PyResult<(Vec<usize>, Vec<usize>)> {
    let Redundant { constant, combined } = with_matrix!(x, |array| {
        let rows = data(array, None)?;
        py.detach(|| Redundant::of(&rows))
    });
    Ok((constant, combined))
}

/// The options of a fit, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Options {
    likelihood: String,
    variance: Option<f64>,
    prior_mean: Option<Vec<f64>>,
    prior_variance: Option<f64>,
    prior_strength: Option<f64>,
    prior_dof: Option<f64>,
    prior_scale: Option<Vec<f64>>,
    pseudocount: Option<f64>,
    prior: String,
    concentration: Option<f64>,
    discriminative: Option<String>,
    discriminative_scale: f64,
    new_cluster: String,
    max_clusters: Option<usize>,
    split_merge: bool,
    n_sweeps: usize,
    burn_in: usize,
    thin: usize,
    n_chains: usize,
    init: String,
    loss: String,
    seed: u64,
    threads: usize,
}

impl Options {
    pub fn parameters(self) -> PyResult<DpMixture> {
        let normal = NormalPrior {
            mean: self.prior_mean,
            strength: self.prior_strength,
            dof: self.prior_dof,
            scale: self.prior_scale,
        };
        let spherical = (self.variance, self.prior_variance);
        let prior = match self.prior.as_str() {
            "dirichlet-process" => MixturePrior::DirichletProcess,
            "finite" => MixturePrior::Finite,
            other => return wrong("prior", "'dirichlet-process' or 'finite'", other),
        };
        Ok(DpMixture {
            likelihood: likelihood_of(&self.likelihood, normal, spherical, self.pseudocount)?,
            prior,
            discriminative: discriminative_of(
                self.discriminative.as_deref(),
                self.discriminative_scale,
                &self.new_cluster,
            )?,
            concentration: self.concentration,
            max_clusters: self.max_clusters,
            schedule: Schedule { sweeps: self.n_sweeps, burn_in: self.burn_in, thin: self.thin },
            split_merge: if self.split_merge { SPLIT_MERGE } else { 0 },
            chains: self.n_chains,
            start: start_of(&self.init)?,
            loss: loss_of(&self.loss)?,
            seed: self.seed,
            threads: self.threads,
        })
    }
}

pub fn wrong<T>(name: &str, allowed: &str, found: &str) -> PyResult<T> {
    Err(PyValueError::new_err(format!("{name} must be {allowed}, got {found:?}")))
}

/// The likelihood of this name; `spherical` are its variance and that of the means.
pub fn likelihood_of(
    name: &str,
    normal: NormalPrior,
    spherical: (Option<f64>, Option<f64>),
    pseudocount: Option<f64>,
) -> PyResult<MixtureLikelihood> {
    let (variance, prior_variance) = spherical;
    match name {
        "gaussian" => Ok(MixtureLikelihood::Full(normal)),
        "diagonal" => Ok(MixtureLikelihood::Diagonal(normal)),
        "spherical" => Ok(MixtureLikelihood::Spherical { variance, prior_mean: normal.mean, prior_variance }),
        "multinomial" => Ok(MixtureLikelihood::Multinomial { pseudocount }),
        other => wrong("likelihood", "'gaussian', 'diagonal', 'spherical' or 'multinomial'", other),
    }
}

/// Where chains begin.
pub fn start_of(name: &str) -> PyResult<MixtureStart> {
    match name {
        "dp-means" => Ok(MixtureStart::DpMeans),
        "one" => Ok(MixtureStart::One),
        "random" => Ok(MixtureStart::Random),
        other => wrong("init", "'dp-means', 'one' or 'random'", other),
    }
}

/// What Python calls a start.
pub fn name_of_start(start: MixtureStart) -> &'static str {
    match start {
        MixtureStart::DpMeans => "dp-means",
        MixtureStart::One => "one",
        MixtureStart::Random => "random",
    }
}

/// What a point estimate minimises.
pub fn loss_of(name: &str) -> PyResult<Loss> {
    match name {
        "variation-of-information" => Ok(Loss::VariationOfInformation),
        "binder" => Ok(Loss::Binder),
        other => wrong("loss", "'variation-of-information' or 'binder'", other),
    }
}

/// Samples a mixture, or goes on with earlier chains; a dictionary of everything learned.
#[pyfunction]
fn fit_mixture<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    columns: Vec<String>,
    options: Options,
    earlier: Option<&Bound<'py, Chains>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, earlier) = (options.parameters()?, earlier.map(|chains| chains.get().0.clone()));
    with_matrix!(x, |array| {
        let data = data(array, None)?;
        let rows = MixtureRows::Dense(&data);
        let (fitted, interrupted) = listen(py, progress, |watch| match earlier {
            Some(run) => run.resume(&parameters, rows, watch),
            None => parameters.fit(&data, columns, watch),
        })?;
        let fit = fitted.map_err(value_error)?;
        let run = MixtureRun::new(&parameters, rows, &fit);
        as_dictionary(py, fit, run, interrupted)
    })
}

/// The same for rows of counts.
#[pyfunction]
fn fit_count_mixture<'py>(
    py: Python<'py>,
    counts: &Bound<'py, CountRows>,
    columns: Vec<String>,
    options: Options,
    earlier: Option<&Bound<'py, Chains>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, counts) = (options.parameters()?, &counts.get().0);
    let (earlier, rows) = (earlier.map(|chains| chains.get().0.clone()), MixtureRows::<f64>::Counts(counts));
    let (fitted, interrupted) = listen(py, progress, |watch| match earlier {
        Some(run) => run.resume(&parameters, rows, watch),
        None => parameters.fit_counts(counts, columns, watch),
    })?;
    let fit = fitted.map_err(value_error)?;
    let run = MixtureRun::new(&parameters, rows, &fit);
    as_dictionary(py, fit, run, interrupted)
}

fn as_dictionary<'py>(
    py: Python<'py>,
    fit: MixtureFit,
    run: MixtureRun,
    interrupted: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("labels", labels(py, fit.estimate.labels()))?;
    out.set_item("n_clusters", fit.estimate.n_groups())?;
    out.set_item("certainty", PyArray1::from_slice(py, &fit.certainty))?;
    out.set_item("n_clusters_trace", traces(py, &fit.chains, |chain, i| chain.n_groups[i] as i64)?)?;
    out.set_item("log_joint_trace", traces(py, &fit.chains, |chain, i| chain.ln_joint[i])?)?;
    out.set_item("concentration_trace", traces(py, &fit.chains, |chain, i| chain.concentration[i])?)?;
    out.set_item("draws", draws(py, &fit.chains, fit.estimate.n_rows())?)?;
    out.set_item("r_hat", fit.r_hat)?;
    out.set_item("effective_size", fit.effective_size)?;
    set_law(py, &out, &fit.model.likelihood)?;
    set_hyperplanes(&out, fit.model.hyperplanes.as_ref(), fit.estimate.n_groups())?;
    out.set_item("model", Py::new(py, Mixture(fit.model))?)?;
    out.set_item("chains", Py::new(py, Chains(run))?)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// The prior that was used, under the names of the constructor.
pub fn set_law(py: Python<'_>, out: &Bound<'_, PyDict>, law: &MixtureLaw) -> PyResult<()> {
    let (name, mean) = match law {
        MixtureLaw::Full(law) => ("gaussian", Some(&law.prior_mean)),
        MixtureLaw::Diagonal(law) => ("diagonal", Some(&law.prior_mean)),
        MixtureLaw::Spherical(law) => ("spherical", Some(&law.prior_mean)),
        MixtureLaw::Multinomial(_) => ("multinomial", None),
    };
    out.set_item("likelihood", name)?;
    let prior = PyDict::new(py);
    if let Some(mean) = mean {
        prior.set_item("prior_mean", PyArray1::from_slice(py, mean))?;
    }
    match law {
        MixtureLaw::Full(law) => {
            prior.set_item("prior_strength", law.prior_strength)?;
            prior.set_item("prior_dof", law.prior_dof)?;
            let d = law.prior_mean.len();
            prior.set_item("prior_scale", PyArray1::from_slice(py, &law.prior_scale).reshape([d, d])?)?;
        }
        MixtureLaw::Diagonal(law) => {
            prior.set_item("prior_strength", law.prior_strength)?;
            prior.set_item("prior_dof", law.prior_dof)?;
            prior.set_item("prior_scale", PyArray1::from_slice(py, &law.prior_scale))?;
        }
        MixtureLaw::Spherical(law) => {
            prior.set_item("variance", law.variance)?;
            prior.set_item("prior_variance", law.prior_variance)?;
        }
        MixtureLaw::Multinomial(law) => prior.set_item("pseudocount", law.pseudocount)?,
    }
    out.set_item("prior", prior)
}

/// The law of a likelihood of which nothing was left open.
pub fn law_in_full(likelihood: &MixtureLikelihood) -> PyResult<MixtureLaw> {
    let law = match likelihood.clone() {
        MixtureLikelihood::Full(NormalPrior {
            mean: Some(prior_mean),
            strength: Some(prior_strength),
            dof: Some(prior_dof),
            scale: Some(prior_scale),
        }) => MixtureLaw::Full(Full { prior_mean, prior_strength, prior_dof, prior_scale }),
        MixtureLikelihood::Diagonal(NormalPrior {
            mean: Some(prior_mean),
            strength: Some(prior_strength),
            dof: Some(prior_dof),
            scale: Some(prior_scale),
        }) => MixtureLaw::Diagonal(Diagonal { prior_mean, prior_strength, prior_dof, prior_scale }),
        MixtureLikelihood::Spherical {
            variance: Some(variance),
            prior_mean: Some(prior_mean),
            prior_variance: Some(prior_variance),
        } => MixtureLaw::Spherical(Spherical { variance, prior_mean, prior_variance }),
        MixtureLikelihood::Multinomial { pseudocount: Some(pseudocount) } => {
            MixtureLaw::Multinomial(Multinomial { pseudocount })
        }
        _ => return Err(PyValueError::new_err("every parameter of the likelihood must be given")),
    };
    Ok(law)
}

/// Chains x sweeps, as far as all chains came.
fn traces<'py, V: numpy::Element>(
    py: Python<'py>,
    chains: &[Chain],
    value: impl Fn(&Chain, usize) -> V,
) -> PyResult<Bound<'py, PyArray2<V>>> {
    let sweeps = chains.iter().map(|chain| chain.n_groups.len()).min().unwrap_or(0);
    let values = chains.iter().flat_map(|chain| (0..sweeps).map(|i| value(chain, i)).collect::<Vec<_>>());
    PyArray1::from_iter(py, values).reshape([chains.len(), sweeps])
}

/// Chains x draws x rows, as far as all chains came.
fn draws<'py>(py: Python<'py>, chains: &[Chain], n_rows: usize) -> PyResult<Bound<'py, PyArray3<i32>>> {
    let kept = chains.iter().map(|chain| chain.draws.len()).min().unwrap_or(0);
    let all = PyArray::zeros(py, [chains.len(), kept, n_rows], false);
    let mut writing = all.readwrite();
    let values = writing.as_slice_mut()?;
    let drawn = chains.iter().flat_map(|chain| &chain.draws[..kept]).flat_map(CompactPartition::labels);
    values.iter_mut().zip(drawn).for_each(|(value, label)| *value = label as i32);
    drop(writing);
    Ok(all)
}

/// The share of draws (draws x rows) in which rows are together: of the given pairs, or of all.
#[pyfunction]
fn coclustering<'py>(
    py: Python<'py>,
    draws: PyReadonlyArray2<'py, i32>,
    pairs: Option<Vec<(usize, usize)>>,
) -> PyResult<Bound<'py, PyAny>> {
    let n_rows = draws.shape()[1];
    let compact = |draw: ArrayView1<i32>| CompactPartition::from(&Partition::from_labels(draw.iter().copied()));
    let partitions: Vec<CompactPartition> = draws.as_array().rows().into_iter().map(compact).collect();
    let partitions: Vec<&CompactPartition> = partitions.iter().collect();
    match pairs {
        Some(pairs) => Ok(PyArray1::from_vec(py, py.detach(|| pairwise(&partitions, &pairs))).into_any()),
        None => {
            let matrix = py.detach(|| coclustering_matrix(&partitions));
            Ok(PyArray1::from_vec(py, matrix).reshape([n_rows, n_rows])?.into_any())
        }
    }
}

/// Chains as they stand, to go on with.
#[pyclass(frozen, module = "madbayes._core")]
struct Chains(MixtureRun);

#[pymethods]
impl Chains {
    /// From what `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        MixtureRun::from_bytes(bytes).map(Chains).map_err(value_error)
    }

    /// The saved run that the program goes on with, too.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// For pickle.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let build = slf.get_type().getattr("from_bytes")?;
        Ok((build, (slf.get().to_bytes(slf.py()),)))
    }

    /// Sweeps that every chain has done, and that the one farthest on has.
    #[getter]
    fn sweeps(&self) -> (usize, usize) {
        let least = self.0.chains.iter().map(|chain| chain.state.sweeps).min();
        (least.unwrap_or(0), self.0.sweeps_done())
    }

    /// The seed the chains began with.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.mixture.seed
    }
}

/// Clusters and log densities on their way to Python.
type Assigned<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);

/// A fitted mixture as the library keeps it.
#[pyclass(frozen, module = "madbayes._core")]
struct Mixture(MixtureModel);

#[pymethods]
impl Mixture {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        MixtureModel::from_bytes(bytes).map(Mixture).map_err(value_error)
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

    /// Most probable cluster and log predictive density of each row.
    fn assign<'py>(&self, py: Python<'py>, x: Matrix<'py>, threads: usize) -> PyResult<Assigned<'py>> {
        with_matrix!(x, |array| {
            let rows = rows(array)?;
            let assigned = py.detach(|| {
                let workers = if rows.n_rows() < 1024 { Workers::serial() } else { Workers::new(threads) };
                self.0.assign(rows, &workers)
            });
            let (clusters, densities) = assigned.map_err(value_error)?;
            Ok((labels(py, &clusters), PyArray1::from_vec(py, densities)))
        })
    }

    /// The same for rows of counts.
    fn assign_counts<'py>(
        &self,
        py: Python<'py>,
        counts: &Bound<'py, CountRows>,
        threads: usize,
    ) -> PyResult<Assigned<'py>> {
        let counts = &counts.get().0;
        let assigned = py.detach(|| {
            let workers = if counts.n_rows() < 1024 { Workers::serial() } else { Workers::new(threads) };
            self.0.assign_counts(counts, &workers)
        });
        let (clusters, densities) = assigned.map_err(value_error)?;
        Ok((labels(py, &clusters), PyArray1::from_vec(py, densities)))
    }

    /// What the file holds, by name.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        out.set_item("columns", &self.0.columns)?;
        out.set_item("sizes", &self.0.sizes)?;
        out.set_item("seed", self.0.seed)?;
        set_law(py, &out, &self.0.likelihood)?;
        Ok(out)
    }
}
