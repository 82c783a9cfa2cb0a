//! The page of a result, the same as the program writes.

use crate::arrays::{Matrix, allocation, data, rows, value_error, with_matrix};
use crate::counts::CountRows;
use crate::watching::listen;
use madbayes::data::{Data, Real, Rows};
use madbayes::hard::{DpMeans, Goal, least_squares_components};
use madbayes::overview::{
    ChainOverview, ClusterOverview, FeatureOverview, FeaturedRows, GroupedRows, QUICK_PATH, RowLosses, Shares,
};
use madbayes::select::{Choice, ClusterPath, FeaturePath, PathSearch, PenaltyInterval, automatic};
use madbayes::structure::{CompactPartition, Partition, Sequences};
use madbayes::watch::Watch;
use madbayes_draw::{Report, Segments};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(report_clusters, module)?)?;
    module.add_function(wrap_pyfunction!(report_counts, module)?)?;
    module.add_function(wrap_pyfunction!(report_features, module)?)
}

/// What a page says beside its rows, as Python spells it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Page {
    title: String,
    answer: String,
    group: String,
    no_slider: String,
    /// Where the groups of all rows are.
    all_rows: String,
    /// How the groups were taken from the draws of a sampler.
    estimate: String,
    /// What else is to be said at the head.
    sentences: Vec<String>,
    run: Vec<(String, String)>,
    columns: Vec<String>,
    /// Whether a path is sought, and whether the choice on it is shown.
    path: bool,
    choose: bool,
    max_groups: Option<usize>,
    least_penalty: Option<f64>,
    max_clusters: Option<usize>,
    penalties: Option<(f64, f64)>,
    truth: Option<(String, Vec<String>)>,
    /// How badly rows fit, where that is not their distance from the mean: what it is, and a number for each.
    row_losses: Option<(String, Vec<f64>)>,
    /// Lengths of sequences, and the probabilities of transitions.
    sequences: Option<(Vec<usize>, Vec<f64>)>,
    seed: u64,
    threads: usize,
}

/// The chains of a sampler.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Chains<'py> {
    numbers: Vec<Vec<f64>>,
    joints: Vec<Vec<f64>>,
    burn_in: usize,
    r_hat: Vec<(String, f64)>,
    /// Draws x rows, where the groups of rows were drawn.
    draws: Option<PyReadonlyArray2<'py, i32>>,
    certainty: Vec<f64>,
}

impl Chains<'_> {
    fn overview(&self, labels: &[u32], seed: u64) -> ChainOverview {
        let traces: Vec<(Vec<f64>, Vec<f64>)> = self.numbers.iter().cloned().zip(self.joints.iter().cloned()).collect();
        let overview = ChainOverview::new(&traces, self.burn_in, self.r_hat.clone());
        let Some(draws) = &self.draws else { return overview };
        let compact = |draw: numpy::ndarray::ArrayView1<i32>| {
            CompactPartition::from(&Partition::from_labels(draw.iter().copied()))
        };
        let draws: Vec<CompactPartition> = draws.as_array().rows().into_iter().map(compact).collect();
        overview.with_draws(&draws.iter().collect::<Vec<_>>(), labels, &self.certainty, seed)
    }
}

impl Page {
    fn search(&self) -> PathSearch {
        let (max_groups, least_penalty) = (self.max_groups, self.least_penalty);
        PathSearch { max_groups, least_penalty, seed: self.seed, threads: self.threads, ..PathSearch::default() }
    }

    /// Whether a path is sought: where the choice was made on one, or where it takes little time.
    fn seeks<T: Real>(&self, data: &Data<T>) -> bool {
        self.path && (self.choose || data.n_rows() * data.n_columns() <= QUICK_PATH)
    }

    /// The path of clusters, as the fit sought it, and the choice on it.
    fn cluster_path<T: Real>(
        &self,
        data: &Data<T>,
        watch: &dyn Watch,
    ) -> madbayes::Result<(Option<ClusterPath>, Option<Choice>)> {
        if !self.seeks(data) {
            return Ok((None, None));
        }
        if !self.choose {
            return Ok((Some(self.search().clusters(data, watch)?), None));
        }
        let found = match self.max_clusters {
            None => self.search().automatic_clusters(data, watch)?,
            max_clusters => {
                let goal = Goal::Penalty { penalty: 1.0, max_clusters };
                automatic(data, &DpMeans { goal, seed: self.seed, threads: self.threads, ..DpMeans::default() }, watch)?
            }
        };
        Ok((Some(found.path), Some(found.choice)))
    }

    fn clusters<T: Real>(
        &self,
        data: &Data<T>,
        columns: &[String],
        labels: &[u32],
        chains: Option<&ChainOverview>,
        watch: &dyn Watch,
    ) -> madbayes::Result<String> {
        let (path, choice) = self.cluster_path(data, watch)?;
        let overview = ClusterOverview::new(&GroupedRows {
            data,
            columns,
            units: None,
            labels,
            penalties: self.penalties.map(|(low, high)| PenaltyInterval { low, high }),
            path: path.as_ref(),
            choice: choice.as_ref(),
            truth: self.truth.as_ref().map(|(name, values)| (name.as_str(), values.as_slice())),
            row_losses: self.row_losses.as_ref().map(|(name, values)| RowLosses { name, values }),
            seed: self.seed,
            threads: self.threads,
        })?;
        let (svg, said) = match &self.sequences {
            Some((lengths, _)) => self.segments(lengths, labels)?,
            None => Default::default(),
        };
        let sequences = self.sequences.as_ref().map(|(_, steps)| (svg.as_str(), said.as_str(), steps.as_slice()));
        let report = Report { clusters: Some(&overview), chains, sequences, ..Report::default() };
        Ok(self.html(report, choice.as_ref()))
    }

    /// A picture of the states of sequences, and what it shows.
    fn segments(&self, lengths: &[usize], labels: &[u32]) -> madbayes::Result<(String, String)> {
        let sequences = Sequences::new(lengths, labels.len())?;
        let states: Vec<&[u32]> = sequences.ranges().map(|rows| &labels[rows]).collect();
        let many = if lengths.len() == 1 { "1 sequence".to_string() } else { format!("{} sequences", lengths.len()) };
        let said = format!("The state of every row of {many}, in order; the legend below names the colours.");
        Ok((Segments { title: "States", names: &[], sequences: &states }.svg(), said))
    }

    fn html(&self, report: Report, choice: Option<&Choice>) -> String {
        Report {
            title: &self.title,
            answer: &self.answer,
            run: &self.run,
            group: &self.group,
            no_slider: &self.no_slider,
            all_rows: &self.all_rows,
            estimate: &self.estimate,
            sentences: &self.sentences,
            choice,
            ..report
        }
        .html()
    }
}

fn unsigned(labels: &PyReadonlyArray1<'_, i32>) -> Vec<u32> {
    labels.as_array().iter().map(|&label| label as u32).collect()
}

/// The page of rows in clusters or states.
#[pyfunction]
fn report_clusters<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    labels: PyReadonlyArray1<'py, i32>,
    page: Page,
    chains: Option<Chains<'py>>,
) -> PyResult<String> {
    let labels = unsigned(&labels);
    let chains = chains.map(|chains| chains.overview(&labels, page.seed));
    with_matrix!(x, |array| {
        let data = data(array, sample_weight.as_ref())?;
        let (html, _) = listen(py, None, |watch| page.clusters(&data, &page.columns, &labels, chains.as_ref(), watch))?;
        html.map_err(value_error)
    })
}

/// The page of rows of counts, by their shares.
#[pyfunction]
fn report_counts<'py>(
    py: Python<'py>,
    counts: &Bound<'py, CountRows>,
    labels: PyReadonlyArray1<'py, i32>,
    page: Page,
    chains: Option<Chains<'py>>,
) -> PyResult<String> {
    let (labels, shares) = (unsigned(&labels), Shares::new(&counts.get().0));
    let chains = chains.map(|chains| chains.overview(&labels, page.seed));
    let names: Vec<String> = shares.columns.iter().map(|&column| page.columns[column].clone()).collect();
    let data = Rows::new(&shares.values, names.len()).and_then(Data::new).map_err(value_error)?;
    let (html, _) = listen(py, None, |watch| page.clusters(&data, &names, &labels, chains.as_ref(), watch))?;
    html.map_err(value_error)
}

/// The page of rows with features; `picture` is height, width and channels.
#[pyfunction]
fn report_features<'py>(
    py: Python<'py>,
    x: Matrix<'py>,
    bits: PyReadonlyArray2<'py, bool>,
    picture: Option<[usize; 3]>,
    loss: f64,
    page: Page,
    chains: Option<Chains<'py>>,
) -> PyResult<String> {
    let allocation = allocation(&bits);
    with_matrix!(x, |array| {
        let (data, originals) = (data(array, None)?, rows(array)?);
        let (found, _) = listen(py, None, |watch| feature_path(&page, &data, watch))?;
        let (path, choice) = found.map_err(value_error)?;
        let overview = FeatureOverview::new(&FeaturedRows {
            data: &data,
            originals,
            columns: if picture.is_some() { &[] } else { &page.columns },
            picture,
            offset: &vec![0.0; data.n_columns()],
            undo: &<[f64]>::to_vec,
            allocation: &allocation,
            components: &least_squares_components(&data, &allocation),
            loss,
            penalties: page.penalties.map(|(low, high)| PenaltyInterval { low, high }),
            path: path.as_ref(),
            choice: choice.as_ref(),
            seed: page.seed,
        });
        let chains = chains.as_ref().map(|chains| chains.overview(&[], page.seed));
        let report = Report { features: Some(&overview), chains: chains.as_ref(), ..Report::default() };
        Ok(page.html(report, choice.as_ref()))
    })
}

fn feature_path<T: Real>(
    page: &Page,
    data: &Data<T>,
    watch: &dyn Watch,
) -> madbayes::Result<(Option<FeaturePath>, Option<Choice>)> {
    match (page.seeks(data), page.choose) {
        (false, _) => Ok((None, None)),
        (true, false) => Ok((Some(page.search().features(data, watch)?), None)),
        (true, true) => {
            let found = page.search().automatic_features(data, watch)?;
            Ok((Some(found.path), Some(found.choice)))
        }
    }
}
