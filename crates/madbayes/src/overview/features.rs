//! Features as a report shows them: at every number of them on the path what each adds, how often any two occur together,
//! (Z'Z)_jk, and for some rows the original, the parts and their sum.

use super::pictures::Shrunk;
use super::points::{Standing, numbers_shown};
use super::thinned::{MOST_SHOWN, thinned};
use crate::data::{Data, Real, Rows};
use crate::hard::least_squares_components;
use crate::select::{Choice, FeaturePath, HullPoint, PenaltyInterval};
use crate::structure::Allocation;
use std::collections::BTreeMap;

/// Columns of a table that are shown.
const MOST_COLUMNS: usize = 12;
/// Features that are shown of one number of them.
const MOST_FEATURES: usize = 24;
/// Numbers of features that are shown of a path of pictures.
const MOST_PICTURED: usize = 12;
/// Rows that are taken apart: of the most frequent combinations, and those that fit worst.
const TYPICAL: usize = 8;
const WORST: usize = 4;
const MOST_COMBINATIONS: usize = 12;

/// Rows with their features, and what is known of how they were found.
#[derive(Clone, Copy)]
pub struct FeaturedRows<'a, T, U> {
    /// The rows as they were fitted.
    pub data: &'a Data<'a, T>,
    /// The rows as the user has them.
    pub originals: Rows<'a, U>,
    /// Names of the columns; none for pictures.
    pub columns: &'a [String],
    /// Height, width and channels, if rows are pictures.
    pub picture: Option<[usize; 3]>,
    /// What every row has before its features are added, in the user's units.
    pub offset: &'a [f64],
    /// A direction of the fit in the user's units.
    pub undo: &'a dyn Fn(&[f64]) -> Vec<f64>,
    /// Which row has which feature.
    pub allocation: &'a Allocation,
    /// What the features add, K x D, in the units of the fit.
    pub components: &'a [f64],
    /// The squared residual of all rows.
    pub loss: f64,
    /// The penalties for which so many features are optimal.
    pub penalties: Option<PenaltyInterval>,
    /// The path that other numbers of features are taken from.
    pub path: Option<&'a FeaturePath>,
    /// The automatic choice on it.
    pub choice: Option<&'a Choice>,
    /// Seed of the thinning.
    pub seed: u64,
}

/// What a report shows of features.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureOverview {
    /// Number of rows.
    pub n_rows: usize,
    /// Names of the columns; none for pictures.
    pub columns: Vec<String>,
    /// Height, width and channels of the pictures as they are shown.
    pub picture: Option<[usize; 3]>,
    /// What every row has before its features are added: a picture, or numbers by column.
    pub offset: Vec<f64>,
    /// Rows whose features are listed.
    pub shown: Vec<usize>,
    /// Rows that are taken apart, and of these how many are typical; the others fit worst.
    pub examples: Vec<usize>,
    /// How many of them are typical.
    pub n_typical: usize,
    /// Those rows as pictures; empty for tables, where every view has its columns.
    pub originals: Vec<Vec<f64>>,
    /// The features at each number of them, the smallest first.
    pub views: Vec<FeatureView>,
    /// Which of the views is that of the fit.
    pub fitted: usize,
    /// All points of the path, shown or not.
    pub points: Vec<HullPoint>,
}

/// The features at one number of them.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureView {
    /// The penalties for which so many are optimal; none where there are none, or none are known.
    pub penalties: Option<PenaltyInterval>,
    /// What the automatic choice thought of it.
    pub standing: Standing,
    /// The squared residual of all rows.
    pub loss: f64,
    /// Rows with each feature.
    pub counts: Vec<usize>,
    /// The columns shown of a table, those that features change most first.
    pub telling: Vec<usize>,
    /// What the first features add: pictures, or numbers for the telling columns.
    pub components: Vec<Vec<f64>>,
    /// The rows taken apart, in the telling columns; empty for pictures.
    pub originals: Vec<Vec<f64>>,
    /// Rows that have both of two features, for the first ones, K x K.
    pub together: Vec<Vec<usize>>,
    /// The most frequent combinations of features, and rows with them.
    pub combinations: Vec<(Vec<usize>, usize)>,
    /// The features of each row shown.
    pub allocation: Allocation,
    /// The features of the rows taken apart.
    pub examples: Vec<Vec<usize>>,
}

impl FeatureOverview {
    /// All views of these rows.
    pub fn new<T: Real, U: Real>(rows: &FeaturedRows<T, U>) -> Self {
        let (n_rows, k) = (rows.data.n_rows(), rows.allocation.n_features());
        let shown = thinned(n_rows, MOST_SHOWN, rows.seed);
        let mut numbers = numbers_shown(rows.path.map(|path| &path.path), rows.choice, k);
        if rows.picture.is_some() && numbers.len() > MOST_PICTURED {
            let first = numbers.iter().position(|&number| number == k).unwrap_or(0).saturating_sub(MOST_PICTURED / 2);
            numbers = numbers[first..].iter().copied().take(MOST_PICTURED).collect();
        }
        let images: usize = numbers.iter().map(|&number| number.min(MOST_FEATURES)).sum::<usize>() + TYPICAL + WORST;
        let shrunk = rows.picture.map(|shape| Shrunk::new(shape, images));
        let (examples, n_typical) = examples(rows);
        let values = |row: usize| -> Vec<f64> { rows.originals.row(row).iter().map(|&x| x.into()).collect() };
        let mut views = Vec::new();
        for &number in &numbers {
            let on_path = rows.path.filter(|_| number != k).and_then(|path| path.allocation(number));
            let point = rows.path.and_then(|path| path.path.point(number));
            let view = match on_path {
                Some(allocation) => {
                    let components = least_squares_components(rows.data, allocation);
                    let loss = point.map_or(f64::NAN, |point| point.loss);
                    view(rows, allocation, &components, loss, &shown, &examples, shrunk.as_ref())
                }
                None => view(rows, rows.allocation, rows.components, rows.loss, &shown, &examples, shrunk.as_ref()),
            };
            let penalties = point.map(|point| point.interval()).or(rows.penalties.filter(|_| number == k));
            views.push(FeatureView { penalties, ..view });
        }
        FeatureOverview {
            n_rows,
            columns: rows.columns.to_vec(),
            picture: shrunk.as_ref().map(|shrunk| shrunk.shape),
            offset: shrunk.as_ref().map_or_else(|| rows.offset.to_vec(), |shrunk| shrunk.of(rows.offset)),
            originals: shrunk
                .map_or_else(Vec::new, |shrunk| examples.iter().map(|&row| shrunk.of(&values(row))).collect()),
            fitted: numbers.iter().position(|&number| number == k).unwrap_or(0),
            points: rows.path.map_or_else(Vec::new, |path| path.path.points.clone()),
            shown,
            examples,
            n_typical,
            views,
        }
    }
}

fn view<T: Real, U: Real>(
    rows: &FeaturedRows<T, U>,
    allocation: &Allocation,
    components: &[f64],
    loss: f64,
    shown: &[usize],
    examples: &[usize],
    shrunk: Option<&Shrunk>,
) -> FeatureView {
    let d = rows.data.n_columns();
    let listed = allocation.n_features().min(MOST_FEATURES);
    let whole: Vec<Vec<f64>> =
        components.chunks_exact(d).take(listed).map(|component| (rows.undo)(component)).collect();
    let counts = allocation.counts();
    let mut telling: Vec<usize> = Vec::new();
    if shrunk.is_none() {
        let change = |column: usize| whole.iter().zip(&counts).map(|(a, n)| *n as f64 * a[column].powi(2)).sum::<f64>();
        let changes: Vec<f64> = (0..rows.columns.len()).map(change).collect();
        telling = (0..changes.len()).collect();
        telling.sort_by(|&a, &b| changes[b].total_cmp(&changes[a]).then(a.cmp(&b)));
        telling.truncate(MOST_COLUMNS);
    }
    let part = |values: &Vec<f64>| match shrunk {
        Some(shrunk) => shrunk.of(values),
        None => telling.iter().map(|&column| values[column]).collect(),
    };
    let mut together = vec![vec![0; listed]; listed];
    let mut combinations: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    for row in 0..allocation.n_rows() {
        let features: Vec<usize> = allocation.features_of(row).collect();
        for &a in features.iter().filter(|a| **a < listed) {
            features.iter().filter(|b| **b < listed).for_each(|&b| together[a][b] += 1);
        }
        *combinations.entry(features).or_default() += 1;
    }
    let mut combinations: Vec<(Vec<usize>, usize)> = combinations.into_iter().collect();
    combinations.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    combinations.truncate(MOST_COMBINATIONS);
    let original = |&row: &usize| telling.iter().map(|&column| rows.originals.row(row)[column].into()).collect();
    FeatureView {
        penalties: None,
        standing: Standing::of(allocation.n_features(), rows.choice),
        loss,
        components: whole.iter().map(part).collect(),
        originals: if shrunk.is_none() { examples.iter().map(original).collect() } else { Vec::new() },
        allocation: allocation.select_rows(shown),
        examples: examples.iter().map(|&row| allocation.features_of(row).collect()).collect(),
        counts,
        telling,
        together,
        combinations,
    }
}

/// Rows to take apart: one of each of the most frequent combinations, and how many those are; then the rows that fit worst.
fn examples<T: Real, U: Real>(rows: &FeaturedRows<T, U>) -> (Vec<usize>, usize) {
    let (allocation, d) = (rows.allocation, rows.data.n_columns());
    let mut combinations: BTreeMap<&[u64], (usize, usize)> = BTreeMap::new();
    for row in 0..allocation.n_rows() {
        combinations.entry(allocation.row(row)).or_insert((0, row)).0 += 1;
    }
    let mut typical: Vec<(usize, usize)> = combinations.into_values().collect();
    typical.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut examples: Vec<usize> = typical.into_iter().take(TYPICAL).map(|(_, row)| row).collect();
    let n_typical = examples.len();
    let residual = |row: usize| {
        let mut left: Vec<f64> = rows.data.rows().row(row).iter().map(|&x| x.into()).collect();
        for feature in allocation.features_of(row) {
            let component = &rows.components[feature * d..(feature + 1) * d];
            left.iter_mut().zip(component).for_each(|(x, a)| *x -= a);
        }
        left.iter().map(|x| x * x).sum::<f64>()
    };
    let mut worst: Vec<(f64, usize)> = (0..rows.data.n_rows()).map(|row| (residual(row), row)).collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    examples.extend(
        worst.into_iter().map(|(_, row)| row).filter(|row| !examples.contains(row)).take(WORST).collect::<Vec<_>>(),
    );
    (examples, n_typical)
}
