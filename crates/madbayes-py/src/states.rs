//! Infinite hidden Markov models: the sampler, its draws, and what they say of new sequences.

use crate::arrays::{Matrix, data, labels, rows, value_error, with_matrix};
use crate::counts::CountRows;
use crate::mixture::{likelihood_of, loss_of, name_of_start, set_law, start_of};
use crate::separation::{discriminative_of, set_hyperplanes};
use crate::watching::listen;
use madbayes::gibbs::{HmmChain, HmmMethod, STATE_SPLIT_MERGE, Schedule};
use madbayes::model::{AssignedStates, HmmFit, HmmModel, HmmRun, InfiniteHmm, MixtureRows, NormalPrior};
use madbayes::parallel::Workers;
use madbayes::structure::Sequences;
use numpy::{PyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StatesModel>()?;
    module.add_class::<StateChains>()?;
    module.add_function(wrap_pyfunction!(fit_states, module)?)?;
    module.add_function(wrap_pyfunction!(fit_count_states, module)?)
}

/// The options of a fit, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    likelihood: String,
    variance: Option<f64>,
    prior_mean: Option<Vec<f64>>,
    prior_variance: Option<f64>,
    prior_strength: Option<f64>,
    prior_dof: Option<f64>,
    prior_scale: Option<Vec<f64>>,
    pseudocount: Option<f64>,
    concentration: Option<f64>,
    gamma: Option<f64>,
    sticky: bool,
    stickiness: Option<f64>,
    discriminative: Option<String>,
    discriminative_scale: f64,
    new_cluster: String,
    sampler: String,
    max_states: Option<usize>,
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
    fn parameters(self) -> PyResult<InfiniteHmm> {
        let normal = NormalPrior {
            mean: self.prior_mean,
            strength: self.prior_strength,
            dof: self.prior_dof,
            scale: self.prior_scale,
        };
        let method = match self.sampler.as_str() {
            "beam" => HmmMethod::Beam,
            "direct" => HmmMethod::Direct,
            other => {
                return Err(PyValueError::new_err(format!("sampler must be 'beam' or 'direct', got {other:?}")));
            }
        };
        let spherical = (self.variance, self.prior_variance);
        Ok(InfiniteHmm {
            likelihood: likelihood_of(&self.likelihood, normal, spherical, self.pseudocount)?,
            concentration: self.concentration,
            gamma: self.gamma,
            sticky: self.sticky,
            stickiness: self.stickiness,
            discriminative: discriminative_of(
                self.discriminative.as_deref(),
                self.discriminative_scale,
                &self.new_cluster,
            )?,
            max_states: self.max_states,
            method,
            schedule: Schedule { sweeps: self.n_sweeps, burn_in: self.burn_in, thin: self.thin },
            split_merge: if self.split_merge { STATE_SPLIT_MERGE } else { 0 },
            chains: self.n_chains,
            start: start_of(&self.init)?,
            loss: loss_of(&self.loss)?,
            seed: self.seed,
            threads: self.threads,
        })
    }
}

/// The sequences of these lengths; none: one of all rows.
fn sequences(lengths: Option<Vec<usize>>, n_rows: usize) -> PyResult<Sequences> {
    match lengths {
        Some(lengths) => Sequences::new(&lengths, n_rows).map_err(value_error),
        None => Ok(Sequences::one(n_rows)),
    }
}

/// Samples state sequences, or goes on with earlier chains; a dictionary of everything learned.
#[pyfunction]
fn fit_states<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    lengths: Option<Vec<usize>>,
    columns: Vec<String>,
    options: Options,
    earlier: Option<&Bound<'py, StateChains>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, earlier) = (options.parameters()?, earlier.map(|chains| chains.get().0.clone()));
    with_matrix!(x, |array| {
        let data = data(array, None)?;
        let (sequences, rows) = (sequences(lengths, data.n_rows())?, MixtureRows::Dense(&data));
        let (fitted, interrupted) = listen(py, progress, |watch| match earlier {
            Some(run) => run.resume(&parameters, rows, &sequences, watch),
            None => parameters.fit(&data, &sequences, columns, watch),
        })?;
        let fit = fitted.map_err(value_error)?;
        let run = HmmRun::new(&parameters, rows, &sequences, &fit);
        as_dictionary(py, fit, run, interrupted)
    })
}

/// The same for rows of counts.
#[pyfunction]
fn fit_count_states<'py>(
    py: Python<'py>,
    counts: &Bound<'py, CountRows>,
    lengths: Option<Vec<usize>>,
    columns: Vec<String>,
    options: Options,
    earlier: Option<&Bound<'py, StateChains>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (parameters, counts) = (options.parameters()?, &counts.get().0);
    let (sequences, rows) = (sequences(lengths, counts.n_rows())?, MixtureRows::<f64>::Counts(counts));
    let earlier = earlier.map(|chains| chains.get().0.clone());
    let (fitted, interrupted) = listen(py, progress, |watch| match earlier {
        Some(run) => run.resume(&parameters, rows, &sequences, watch),
        None => parameters.fit_counts(counts, &sequences, columns, watch),
    })?;
    let fit = fitted.map_err(value_error)?;
    let run = HmmRun::new(&parameters, rows, &sequences, &fit);
    as_dictionary(py, fit, run, interrupted)
}

fn as_dictionary<'py>(py: Python<'py>, fit: HmmFit, run: HmmRun, interrupted: bool) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("states", labels(py, fit.estimate.labels()))?;
    out.set_item("certainty", PyArray1::from_slice(py, &fit.certainty))?;
    out.set_item("n_states_trace", traces(py, &fit.chains, |chain, i| chain.n_states[i] as i64)?)?;
    out.set_item("log_joint_trace", traces(py, &fit.chains, |chain, i| chain.ln_joint[i])?)?;
    out.set_item("concentration_trace", traces(py, &fit.chains, |chain, i| chain.values[i].concentration)?)?;
    out.set_item("gamma_trace", traces(py, &fit.chains, |chain, i| chain.values[i].gamma)?)?;
    out.set_item("share_trace", traces(py, &fit.chains, |chain, i| chain.values[i].share)?)?;
    out.set_item("draws", draws(py, &fit.chains, fit.estimate.n_rows())?)?;
    out.set_item("init", fit.start.map(name_of_start))?;
    out.set_item("r_hat", fit.r_hat)?;
    out.set_item("effective_size", fit.effective_size)?;
    out.set_item("model", Py::new(py, StatesModel(fit.model))?)?;
    out.set_item("chains", Py::new(py, StateChains(run))?)?;
    out.set_item("interrupted", interrupted)?;
    Ok(out)
}

/// Chains x sweeps, as far as all chains came.
fn traces<'py, V: numpy::Element>(
    py: Python<'py>,
    chains: &[HmmChain],
    value: impl Fn(&HmmChain, usize) -> V,
) -> PyResult<Bound<'py, PyArray2<V>>> {
    let sweeps = chains.iter().map(|chain| chain.n_states.len()).min().unwrap_or(0);
    let values = chains.iter().flat_map(|chain| (0..sweeps).map(|i| value(chain, i)).collect::<Vec<_>>());
    PyArray1::from_iter(py, values).reshape([chains.len(), sweeps])
}

/// Chains x draws x rows, as far as all chains came.
fn draws<'py>(py: Python<'py>, chains: &[HmmChain], n_rows: usize) -> PyResult<Bound<'py, PyArray3<i32>>> {
    let kept = chains.iter().map(|chain| chain.draws.len()).min().unwrap_or(0);
    let all = PyArray::zeros(py, [chains.len(), kept, n_rows], false);
    let mut writing = all.readwrite();
    let values = writing.as_slice_mut()?;
    let drawn = chains.iter().flat_map(|chain| &chain.draws[..kept]).flat_map(|draw| draw.states.labels());
    values.iter_mut().zip(drawn).for_each(|(value, state)| *value = state as i32);
    drop(writing);
    Ok(all)
}

/// Chains as they stand, to go on with.
#[pyclass(frozen, module = "madbayes._core")]
struct StateChains(HmmRun);

#[pymethods]
impl StateChains {
    /// From what `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        HmmRun::from_bytes(bytes).map(StateChains).map_err(value_error)
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
        self.0.hmm.seed
    }
}

/// States, probabilities (rows x states) and the log density of each sequence on their way to Python.
type Assigned<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Fitted hidden states as the library keeps them.
#[pyclass(frozen, module = "madbayes._core")]
struct StatesModel(HmmModel);

impl StatesModel {
    fn given<'py>(&self, py: Python<'py>, assigned: AssignedStates) -> PyResult<Assigned<'py>> {
        let probabilities = PyArray1::from_vec(py, assigned.probabilities);
        let shape = [assigned.states.len(), self.0.n_states()];
        let densities = PyArray1::from_vec(py, assigned.ln_density);
        Ok((labels(py, &assigned.states), probabilities.reshape(shape)?, densities))
    }
}

#[pymethods]
impl StatesModel {
    /// From the bytes of a model file.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        HmmModel::from_bytes(bytes).map(StatesModel).map_err(value_error)
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

    /// The states of new sequences.
    fn assign<'py>(
        &self,
        py: Python<'py>,
        x: Matrix<'py>,
        lengths: Option<Vec<usize>>,
        threads: usize,
    ) -> PyResult<Assigned<'py>> {
        with_matrix!(x, |array| {
            let rows = rows(array)?;
            let sequences = sequences(lengths, rows.n_rows())?;
            let assigned = py.detach(|| self.0.assign(rows, &sequences, &Workers::new(threads)));
            self.given(py, assigned.map_err(value_error)?)
        })
    }

    /// The same for rows of counts.
    fn assign_counts<'py>(
        &self,
        py: Python<'py>,
        counts: &Bound<'py, CountRows>,
        lengths: Option<Vec<usize>>,
        threads: usize,
    ) -> PyResult<Assigned<'py>> {
        let counts = &counts.get().0;
        let sequences = sequences(lengths, counts.n_rows())?;
        let assigned = py.detach(|| self.0.assign_counts(counts, &sequences, &Workers::new(threads)));
        self.given(py, assigned.map_err(value_error)?)
    }

    /// The probability of each state, and of a new one, after the end of each sequence of the fit.
    fn next_states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let all: Vec<f64> = (0..self.0.n_sequences()).flat_map(|sequence| self.0.next_states(sequence)).collect();
        PyArray1::from_vec(py, all).reshape([self.0.n_sequences(), self.0.n_states() + 1])
    }

    /// What the file holds, by name.
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (out, k) = (PyDict::new(py), self.0.n_states());
        out.set_item("columns", &self.0.columns)?;
        out.set_item("sizes", &self.0.sizes)?;
        out.set_item("seed", self.0.seed)?;
        out.set_item("transitions", PyArray1::from_slice(py, &self.0.transitions).reshape([k, k])?)?;
        out.set_item("new_state", PyArray1::from_slice(py, &self.0.new_state))?;
        set_law(py, &out, &self.0.likelihood)?;
        set_hyperplanes(&out, self.0.hyperplanes.as_ref(), k)?;
        Ok(out)
    }
}
