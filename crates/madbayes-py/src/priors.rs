//! Draws from the priors, their log probabilities, and simulated data.

use crate::arrays::{allocation, bits, labels, matrix, value_error};
use madbayes::prior::{Base, BetaBernoulli, Crp, DirichletMultinomial, Ibp, PolyaUrn};
use madbayes::random::{Stream, stream};
use madbayes::simulate::{
    CrpMixture, FeatureMixture, FeatureSample, GaussianMixture, HiddenMarkov, IbpMixture, Sample, Tabletop, Weights,
};
use madbayes::structure::Partition;
use numpy::{PyArray1, PyArray2, PyArray4, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(crp_sample, module)?)?;
    module.add_function(wrap_pyfunction!(crp_log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(crp_expected_groups, module)?)?;
    module.add_function(wrap_pyfunction!(dirichlet_multinomial_sample, module)?)?;
    module.add_function(wrap_pyfunction!(dirichlet_multinomial_log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(polya_urn_sample, module)?)?;
    module.add_function(wrap_pyfunction!(polya_urn_log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(ibp_sample, module)?)?;
    module.add_function(wrap_pyfunction!(ibp_log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(ibp_expected_features, module)?)?;
    module.add_function(wrap_pyfunction!(beta_bernoulli_sample, module)?)?;
    module.add_function(wrap_pyfunction!(beta_bernoulli_log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(gaussian_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(hidden_markov, module)?)?;
    module.add_function(wrap_pyfunction!(crp_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(feature_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(ibp_mixture, module)?)?;
    module.add_function(wrap_pyfunction!(tabletop, module)?)
}

#[pyfunction]
fn crp_sample<'py>(py: Python<'py>, concentration: f64, n: usize, seed: u64) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let crp = Crp::new(concentration).map_err(value_error)?;
    Ok(labels(py, crp.sample(n, &mut stream(seed, Stream::Prior)).labels()))
}

#[pyfunction]
fn crp_log_prob(concentration: f64, assignment: Vec<i64>) -> PyResult<f64> {
    let crp = Crp::new(concentration).map_err(value_error)?;
    Ok(crp.ln_prob(&Partition::from_labels(assignment)))
}

#[pyfunction]
fn crp_expected_groups(concentration: f64, n: usize) -> PyResult<f64> {
    Ok(Crp::new(concentration).map_err(value_error)?.expected_groups(n))
}

#[pyfunction]
fn dirichlet_multinomial_sample<'py>(
    py: Python<'py>,
    components: usize,
    theta: f64,
    n: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let prior = DirichletMultinomial::new(components, theta).map_err(value_error)?;
    Ok(labels(py, prior.sample(n, &mut stream(seed, Stream::Prior)).labels()))
}

#[pyfunction]
fn dirichlet_multinomial_log_prob(components: usize, theta: f64, assignment: Vec<i64>) -> PyResult<f64> {
    let prior = DirichletMultinomial::new(components, theta).map_err(value_error)?;
    Ok(prior.ln_prob(&Partition::from_labels(assignment)))
}

/// The base measure by name and its two numbers: mean and standard deviation, or low and high.
fn urn(concentration: f64, base: &str, first: f64, second: f64) -> PyResult<PolyaUrn> {
    let base = match base {
        "normal" => Base::Normal { mean: first, standard_deviation: second },
        "uniform" => Base::Uniform { low: first, high: second },
        other => return Err(PyValueError::new_err(format!("base must be 'normal' or 'uniform', got {other:?}"))),
    };
    PolyaUrn::new(concentration, base).map_err(value_error)
}

#[pyfunction]
fn polya_urn_sample<'py>(
    py: Python<'py>,
    concentration: f64,
    base: &str,
    parameters: (f64, f64),
    n: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let urn = urn(concentration, base, parameters.0, parameters.1)?;
    Ok(PyArray1::from_vec(py, urn.sample(n, &mut stream(seed, Stream::Prior)).colours()))
}

#[pyfunction]
fn polya_urn_log_prob(concentration: f64, base: &str, parameters: (f64, f64), colours: Vec<f64>) -> PyResult<f64> {
    urn(concentration, base, parameters.0, parameters.1)?.ln_prob(&colours).map_err(value_error)
}

#[pyfunction]
fn ibp_sample<'py>(py: Python<'py>, mass: f64, n: usize, seed: u64) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let ibp = Ibp::new(mass).map_err(value_error)?;
    bits(py, &ibp.sample(n, &mut stream(seed, Stream::Prior)).map_err(value_error)?)
}

#[pyfunction]
fn ibp_log_prob(mass: f64, features: PyReadonlyArray2<'_, bool>) -> PyResult<f64> {
    Ok(Ibp::new(mass).map_err(value_error)?.ln_prob(&allocation(&features)))
}

#[pyfunction]
fn ibp_expected_features(mass: f64, n: usize) -> PyResult<f64> {
    Ok(Ibp::new(mass).map_err(value_error)?.expected_features(n))
}

#[pyfunction]
fn beta_bernoulli_sample<'py>(
    py: Python<'py>,
    features: usize,
    gamma: f64,
    n: usize,
    seed: u64,
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let prior = BetaBernoulli::new(features, gamma).map_err(value_error)?;
    bits(py, &prior.sample(n, &mut stream(seed, Stream::Prior)).map_err(value_error)?)
}

#[pyfunction]
fn beta_bernoulli_log_prob(features: usize, gamma: f64, matrix: PyReadonlyArray2<'_, bool>) -> PyResult<f64> {
    Ok(BetaBernoulli::new(features, gamma).map_err(value_error)?.ln_prob_matrix(&allocation(&matrix)))
}

/// Rows, labels and centres of simulated data.
type Simulated<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f64>>);

fn simulated(py: Python<'_>, sample: Sample) -> PyResult<Simulated<'_>> {
    Ok((
        matrix(py, &sample.values, sample.n_columns)?,
        labels(py, &sample.labels),
        matrix(py, &sample.centres, sample.n_columns)?,
    ))
}

#[pyfunction]
fn gaussian_mixture<'py>(
    py: Python<'py>,
    n_rows: usize,
    n_columns: usize,
    n_clusters: usize,
    separation: f64,
    concentration: Option<f64>,
    seed: u64,
) -> PyResult<Simulated<'py>> {
    let weights = concentration.map_or(Weights::Equal, |concentration| Weights::Dirichlet { concentration });
    let recipe = GaussianMixture { n_rows, n_columns, n_clusters, separation, weights };
    simulated(py, recipe.sample(seed).map_err(value_error)?)
}

#[pyfunction]
fn hidden_markov<'py>(
    py: Python<'py>,
    n_rows: usize,
    n_columns: usize,
    n_states: usize,
    separation: f64,
    stay: f64,
    seed: u64,
) -> PyResult<Simulated<'py>> {
    let recipe = HiddenMarkov { n_rows, n_columns, n_states, separation, stay };
    simulated(py, recipe.sample(seed).map_err(value_error)?)
}

#[pyfunction]
fn crp_mixture<'py>(
    py: Python<'py>,
    n_rows: usize,
    concentration: f64,
    variance: f64,
    prior_mean: Vec<f64>,
    prior_variance: f64,
    seed: u64,
) -> PyResult<Simulated<'py>> {
    let recipe = CrpMixture { n_rows, concentration, variance, prior_mean, prior_variance };
    simulated(py, recipe.sample(seed).map_err(value_error)?)
}

/// Rows, allocation and components of simulated data.
type SimulatedFeatures<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<bool>>, Bound<'py, PyArray2<f64>>);

fn simulated_features(py: Python<'_>, sample: FeatureSample) -> PyResult<SimulatedFeatures<'_>> {
    Ok((
        matrix(py, &sample.values, sample.n_columns)?,
        bits(py, &sample.allocation)?,
        matrix(py, &sample.components, sample.n_columns)?,
    ))
}

#[pyfunction]
fn feature_mixture<'py>(
    py: Python<'py>,
    shape: (usize, usize, usize),
    probability: f64,
    noise: f64,
    scale: f64,
    base: bool,
    seed: u64,
) -> PyResult<SimulatedFeatures<'py>> {
    let (n_rows, n_columns, n_features) = shape;
    let recipe = FeatureMixture { n_rows, n_columns, n_features, probability, noise, scale, base };
    simulated_features(py, recipe.sample(seed).map_err(value_error)?)
}

#[pyfunction]
fn ibp_mixture<'py>(
    py: Python<'py>,
    n_rows: usize,
    n_columns: usize,
    mass: f64,
    noise: f64,
    scale: f64,
    seed: u64,
) -> PyResult<SimulatedFeatures<'py>> {
    let recipe = IbpMixture { n_rows, n_columns, mass, noise, scale };
    simulated_features(py, recipe.sample(seed).map_err(value_error)?)
}

/// Pictures, allocation and names of the objects.
type SimulatedPictures<'py> = (Bound<'py, PyArray4<f64>>, Bound<'py, PyArray2<bool>>, Vec<&'static str>);

#[pyfunction]
fn tabletop<'py>(
    py: Python<'py>,
    shape: (usize, usize, usize),
    colour: bool,
    probability: f64,
    disturbances: (f64, f64, f64),
    seed: u64,
) -> PyResult<SimulatedPictures<'py>> {
    let (n_pictures, height, width) = shape;
    let (jitter, lighting, noise) = disturbances;
    let recipe = Tabletop { n_pictures, height, width, colour, probability, jitter, lighting, noise };
    let pictures = recipe.sample(seed).map_err(value_error)?;
    let shape = [n_pictures, height, width, pictures.channels];
    Ok((
        PyArray1::from_vec(py, pictures.pixels).reshape(shape)?,
        bits(py, &pictures.allocation)?,
        pictures.names.to_vec(),
    ))
}
