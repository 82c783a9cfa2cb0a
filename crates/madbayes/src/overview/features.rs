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
/// Rows up to which the features of all are listed for the fit, and bytes of the bits that say who has what.
const MOST_LISTED: usize = 200_000;
const MOST_BYTES: usize = 1_500_000;

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
    /// Standard deviation of each column of a table, in the user's units.
    pub deviations: Vec<f64>,
    /// What is black and what is white in pictures: 0 and 1, or wider where they go beyond.
    pub tones: (f64, f64),
    /// Rows whose features are listed in every view.
    pub shown: Vec<usize>,
    /// The features of all rows in the fit, where there is room for them.
    pub all: Option<Allocation>,
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
    /// How many rows the path was sought on, where not on all.
    pub sampled_rows: Option<usize>,
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
    /// The columns shown of a table, those that features change most, for their standard deviations, first.
    pub telling: Vec<usize>,
    /// What the first features add: pictures, or numbers for the telling columns.
    pub components: Vec<Vec<f64>>,
    /// For each row taken apart, what its features beyond those add together; empty where it has none.
    pub rest: Vec<Vec<f64>>,
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
        let mut numbers = numbers_shown(rows.path.map(|path| &path.path), rows.choice, k);
        if rows.picture.is_some() {
            numbers = pictured(&numbers, rows.choice, k);
        }
        let bytes = |number: usize| number.div_ceil(8).max(1);
        let most = MOST_BYTES / numbers.iter().map(|&number| bytes(number)).sum::<usize>();
        let shown = thinned(n_rows, MOST_SHOWN.min(most), rows.seed);
        let fits = shown.len() < n_rows && n_rows <= MOST_LISTED && n_rows * bytes(k) <= MOST_BYTES;
        let rests = numbers.iter().filter(|&&number| number > MOST_FEATURES).count() * (TYPICAL + WORST);
        let listed: usize = numbers.iter().map(|&number| number.min(MOST_FEATURES)).sum();
        let shrunk = rows.picture.map(|shape| Shrunk::new(shape, listed + rests + TYPICAL + WORST));
        let deviations = if rows.picture.is_some() { Vec::new() } else { deviations(rows.originals) };
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
                    view(rows, allocation, &components, loss, &shown, &examples, &deviations, shrunk.as_ref())
                }
                None => {
                    let components = rows.components;
                    view(rows, rows.allocation, components, rows.loss, &shown, &examples, &deviations, shrunk.as_ref())
                }
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
            sampled_rows: rows.path.and_then(|path| path.path.sampled_rows),
            tones: if rows.picture.is_some() { tones(rows.originals) } else { (0.0, 1.0) },
            all: fits.then(|| rows.allocation.clone()),
            deviations,
            shown,
            examples,
            n_typical,
            views,
        }
    }
}

/// The numbers of features that are shown of pictures: the fit's, the choice and its runners-up, and those about the fit.
fn pictured(numbers: &[usize], choice: Option<&Choice>, fitted: usize) -> Vec<usize> {
    let named = |number: usize| number == fitted || Standing::of(number, choice) != Standing::Other;
    let mut order: Vec<usize> = numbers.to_vec();
    order.sort_by_key(|&number| (!named(number), number.abs_diff(fitted), number));
    order.truncate(MOST_PICTURED);
    order.sort_unstable();
    order
}

/// The standard deviation of each column.
fn deviations<U: Real>(rows: Rows<U>) -> Vec<f64> {
    let n = rows.n_rows().max(1) as f64;
    let mut means = vec![0.0; rows.n_columns()];
    rows.iter().for_each(|row| means.iter_mut().zip(row).for_each(|(mean, &x)| *mean += x.into() / n));
    let mut squares = vec![0.0; rows.n_columns()];
    for row in rows.iter() {
        let gaps = row.iter().zip(&means).map(|(&x, mean)| x.into() - mean);
        squares.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += gap * gap / n);
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// What is black and what is white: 0 and 1, or the darkest and the brightest where they go beyond.
fn tones<U: Real>(rows: Rows<U>) -> (f64, f64) {
    let values = || rows.values().iter().map(|&x| -> f64 { x.into() });
    (values().fold(0.0, f64::min), values().fold(1.0, f64::max))
}

#[expect(clippy::too_many_arguments, reason = "what all views share is not worth a struct of its own")]
fn view<T: Real, U: Real>(
    rows: &FeaturedRows<T, U>,
    allocation: &Allocation,
    components: &[f64],
    loss: f64,
    shown: &[usize],
    examples: &[usize],
    deviations: &[f64],
    shrunk: Option<&Shrunk>,
) -> FeatureView {
    let d = rows.data.n_columns();
    let listed = allocation.n_features().min(MOST_FEATURES);
    let whole: Vec<Vec<f64>> =
        components.chunks_exact(d).take(listed).map(|component| (rows.undo)(component)).collect();
    let counts = allocation.counts();
    let mut telling: Vec<usize> = Vec::new();
    if shrunk.is_none() {
        // A column that does not vary is changed by no feature worth naming.
        let unit = |column: usize| if deviations[column] > 0.0 { deviations[column] } else { f64::INFINITY };
        let change = |column: usize| {
            whole.iter().zip(&counts).map(|(a, n)| *n as f64 * (a[column] / unit(column)).powi(2)).sum::<f64>()
        };
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
    let rest = |&row: &usize| {
        let beyond: Vec<usize> = allocation.features_of(row).filter(|&feature| feature >= listed).collect();
        let mut sum = vec![0.0; d];
        for &feature in &beyond {
            sum.iter_mut().zip(&components[feature * d..(feature + 1) * d]).for_each(|(sum, a)| *sum += a);
        }
        if beyond.is_empty() { Vec::new() } else { part(&(rows.undo)(&sum)) }
    };
    let original = |&row: &usize| telling.iter().map(|&column| rows.originals.row(row)[column].into()).collect();
    FeatureView {
        penalties: None,
        standing: Standing::of(allocation.n_features(), rows.choice),
        loss,
        components: whole.iter().map(part).collect(),
        rest: examples.iter().map(rest).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::{Candidate, PenaltyInterval};

    #[test]
    fn features_beyond_the_list_are_in_the_sum_of_a_row() {
        // 30 columns, and as many features that each add to one of them; row 0 has them all.
        let n = 30;
        let values: Vec<f64> =
            (0..n * n).map(|i| if i < n || i / n == i % n { 1.0 + (i % n) as f64 } else { 0.0 }).collect();
        let data = Data::new(Rows::new(&values, n).unwrap()).unwrap();
        let allocation = Allocation::from_bools(n, n, values.iter().map(|&x| x > 0.0));
        let components: Vec<f64> =
            (0..n * n).map(|i| if i / n == i % n { 1.0 + (i % n) as f64 } else { 0.0 }).collect();
        let names: Vec<String> = (0..n).map(|j| j.to_string()).collect();
        let seen = FeatureOverview::new(&FeaturedRows {
            data: &data,
            originals: data.rows(),
            columns: &names,
            picture: None,
            offset: &vec![0.0; n],
            undo: &<[f64]>::to_vec,
            allocation: &allocation,
            components: &components,
            loss: 0.0,
            penalties: None,
            path: None,
            choice: None,
            seed: 0,
        });
        let view = &seen.views[0];
        let all = seen.examples.iter().position(|&row| row == 0).unwrap();
        assert_eq!((view.components.len(), view.rest[all].len()), (MOST_FEATURES, MOST_COLUMNS));
        for (j, &column) in view.telling.iter().enumerate() {
            let listed: f64 = view.components.iter().map(|component| component[j]).sum();
            assert_eq!(listed + view.rest[all][j], 1.0 + column as f64);
        }
    }

    #[test]
    fn columns_are_ranked_by_what_a_feature_changes_for_their_spread() {
        // The second column is in small units, and all its spread comes from the feature.
        let values: Vec<f64> =
            (0..20).flat_map(|n| [100.0 * f64::from(n / 2 % 2) + f64::from(n % 2), 0.01 * f64::from(n % 2)]).collect();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let names = ["large".to_string(), "small".to_string()];
        let seen = FeatureOverview::new(&FeaturedRows {
            data: &data,
            originals: data.rows(),
            columns: &names,
            picture: None,
            offset: &[0.0, 0.0],
            undo: &<[f64]>::to_vec,
            allocation: &Allocation::from_bools(20, 1, (0..20).map(|n| n % 2 == 1)),
            components: &[1.0, 0.01],
            loss: 0.0,
            penalties: None,
            path: None,
            choice: None,
            seed: 0,
        });
        assert_eq!(seen.views[0].telling, [1, 0]);
        assert!((seen.deviations[1] - 0.005).abs() < 1e-12);
    }

    #[test]
    fn pictures_keep_the_choice_and_its_runners_up_however_far_from_the_fit() {
        let candidate = |k| {
            let penalties = PenaltyInterval { low: 1.0, high: 2.0 };
            Candidate { k, persistence: 1.0, score: 1.0, penalties }
        };
        let choice = Choice {
            k: 30,
            penalty: 1.5,
            penalties: PenaltyInterval { low: 1.0, high: 2.0 },
            confidence: 0.5,
            runners_up: vec![candidate(1), candidate(39)],
            evidence: None,
        };
        let numbers: Vec<usize> = (0..40).collect();
        let shown = pictured(&numbers, Some(&choice), 20);
        assert_eq!(shown.len(), MOST_PICTURED);
        assert!([1, 20, 30, 39, 19, 21].iter().all(|k| shown.contains(k)) && shown.is_sorted(), "{shown:?}");
    }

    #[test]
    fn white_is_the_brightest_where_pictures_go_beyond_1() {
        assert_eq!(tones(Rows::new(&[0.2, 0.9], 2).unwrap()), (0.0, 1.0));
        assert_eq!(tones(Rows::new(&[0.0f32, 16.0], 2).unwrap()), (0.0, 16.0));
        assert_eq!(tones(Rows::new(&[-1.0, 0.5], 2).unwrap()), (-1.0, 1.0));
    }
}
