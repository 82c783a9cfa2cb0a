//! The penalty path and the choice on it.

use crate::arrays::{Matrix, bits, data, labels, matrix, rows, value_error, with_matrix};
use crate::watching::listen;
use madbayes::data::{Real, Rows};
use madbayes::hard::nearest_centres;
use madbayes::parallel::Workers;
use madbayes::select::{Choice, HullPoint, PathSearch, PenaltyInterval, PenaltyPath};
use madbayes::structure::Partition;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(path_labels, module)?)?;
    module.add_function(wrap_pyfunction!(cluster_path, module)?)?;
    module.add_function(wrap_pyfunction!(feature_path, module)?)
}

/// How a path is sought, as Python spells it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    max_groups: Option<usize>,
    least_penalty: Option<f64>,
    seed: u64,
    threads: usize,
}

impl Options {
    fn search(self) -> PathSearch {
        let Options { max_groups, least_penalty, seed, threads } = self;
        PathSearch { max_groups, least_penalty, seed, threads, ..PathSearch::default() }
    }
}

/// Both ends.
pub fn interval(penalties: PenaltyInterval) -> (f64, f64) {
    (penalties.low, penalties.high)
}

/// Other numbers of groups, the best first.
pub fn runners_up(choice: &Choice) -> Vec<usize> {
    choice.runners_up.iter().map(|candidate| candidate.k).collect()
}

/// The path of clusters; a dictionary of everything found, with the centres for each K.
#[pyfunction]
fn cluster_path<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let search = options.search();
    with_matrix!(x, |array| {
        let data = data(array, sample_weight.as_ref())?;
        let (found, interrupted) = listen(py, progress, |watch| search.automatic_clusters(&data, watch))?;
        let found = found.map_err(value_error)?;
        let out = as_dictionary(py, &found.path.path, &found.choice)?;
        let centres = (1..).map_while(|k| found.path.centres(k)).map(|centres| matrix(py, centres, data.n_columns()));
        out.set_item("centres", centres.collect::<PyResult<Vec<_>>>()?)?;
        out.set_item("reference", PyArray1::from_vec(py, doubles(data.reference())))?;
        out.set_item("interrupted", interrupted)?;
        Ok(out)
    })
}

/// The path of features; a dictionary of everything found, with the allocation of each K.
#[pyfunction]
fn feature_path<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    options: Options,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let search = options.search();
    with_matrix!(x, |array| {
        let data = data(array, sample_weight.as_ref())?;
        let (found, interrupted) = listen(py, progress, |watch| search.automatic_features(&data, watch))?;
        let found = found.map_err(value_error)?;
        let out = as_dictionary(py, &found.path.path, &found.choice)?;
        let allocations = PyDict::new(py);
        for (k, _) in &found.path.path.losses {
            if let Some(allocation) = found.path.allocation(*k) {
                allocations.set_item(k, bits(py, allocation)?)?;
            }
        }
        out.set_item("allocations", allocations)?;
        out.set_item("interrupted", interrupted)?;
        Ok(out)
    })
}

fn doubles<T: Real>(values: &[T]) -> Vec<f64> {
    values.iter().map(|&x| x.into()).collect()
}

fn as_dictionary<'py>(py: Python<'py>, path: &PenaltyPath, choice: &Choice) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    let column = |of: &dyn Fn(&HullPoint) -> f64| PyArray1::from_iter(py, path.points.iter().map(of));
    out.set_item("k", PyArray1::from_iter(py, path.points.iter().map(|point| point.k as i64)))?;
    out.set_item("penalty_low", column(&|point| point.low))?;
    out.set_item("penalty_high", column(&|point| point.high))?;
    out.set_item("loss", column(&|point| point.loss))?;
    out.set_item("persistence", column(&HullPoint::persistence))?;
    out.set_item("penalty", column(&|point| point.interval().middle()))?;
    out.set_item("losses", &path.losses)?;
    out.set_item("sampled_rows", path.sampled_rows)?;
    out.set_item("best_k", choice.k)?;
    out.set_item("best_penalty", choice.penalty)?;
    out.set_item("penalty_range", interval(choice.penalties))?;
    out.set_item("confidence", choice.confidence)?;
    out.set_item("runners_up", runners_up(choice))?;
    out.set_item("evidence", choice.evidence.map(|e| (e.loss, e.persistence)))?;
    Ok(out)
}

/// The nearest of the centres to each row, numbered in order of first appearance.
#[pyfunction]
fn path_labels<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    centres: PyReadonlyArray2<'py, f64>,
    reference: PyReadonlyArray1<'py, f64>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let (centres, reference) = (centres.as_slice()?, reference.as_slice()?);
    with_matrix!(x, |array| {
        let rows = rows(array)?;
        let found = py.detach(|| nearest(rows, reference, centres, threads));
        Ok(labels(py, Partition::from_labels(found).labels()))
    })
}

fn nearest<T: Real>(rows: Rows<T>, reference: &[f64], centres: &[f64], threads: usize) -> Vec<u32> {
    let reference: Vec<T> = reference.iter().map(|&r| T::from_f64(r)).collect();
    nearest_centres(rows, &reference, centres, &Workers::new(threads))
}
