//! Clusters as a report shows them: at every number of clusters on the path their sizes, means by column against the mean of
//! all rows in standard deviations, (mean_k - mean) / sd, and the rows that fit worst.

use super::axes::{Axes, in_units};
use super::colours::kept_colours;
use super::members::{Members, Misfit, RowLosses};
use super::points::{Standing, numbers_shown};
use super::thinned::{MOST_SHOWN, thinned};
use crate::data::{Data, Either, Real};
use crate::error::Result;
use crate::metrics::{Average, adjusted_rand_index, normalized_mutual_information, purity};
use crate::parallel::Workers;
use crate::prepare::Standardise;
use crate::select::{Choice, ClusterPath, HullPoint, PenaltyInterval};
use crate::structure::Partition;

/// Clusters that are described, and columns of each.
const MOST_PROFILES: usize = 30;
const MOST_COLUMNS: usize = 12;
/// Clusters whose centres are drawn.
const MOST_CENTRES: usize = 200;
/// The columns a cluster is summed up by.
const MOST_TELLING: usize = 3;
/// Labels that a table of agreement has columns for.
const MOST_LABELS: usize = 12;

/// Rows in groups, and what is known of how they came there.
#[derive(Debug, Clone, Copy)]
pub struct GroupedRows<'a, T> {
    /// The rows in the units of the fit.
    pub data: &'a Data<'a, T>,
    /// Names of the columns.
    pub columns: &'a [String],
    /// What turns the units of the fit into those of the user.
    pub units: Option<&'a Standardise>,
    /// The group of every row, from 0.
    pub labels: &'a [u32],
    /// The penalties for which so many groups are optimal.
    pub penalties: Option<PenaltyInterval>,
    /// The path that other numbers of groups are taken from.
    pub path: Option<&'a ClusterPath>,
    /// The automatic choice on it.
    pub choice: Option<&'a Choice>,
    /// A column to compare with: its name and a value for each row.
    pub truth: Option<(&'a str, &'a [String])>,
    /// How badly rows fit, where the model does not measure it by the distance to the mean.
    pub row_losses: Option<RowLosses<'a>>,
    /// Seed of the thinning.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl<'a, T> GroupedRows<'a, T> {
    /// The same about other data.
    fn of<U>(&self, data: &'a Data<'a, U>) -> GroupedRows<'a, U> {
        let GroupedRows { data: _, columns, units, labels, penalties, path, choice, truth, row_losses, seed, threads } =
            *self;
        GroupedRows { data, columns, units, labels, penalties, path, choice, truth, row_losses, seed, threads }
    }
}

/// What a report shows of clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterOverview {
    /// Number of rows.
    pub n_rows: usize,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows in the picture.
    pub shown: Vec<usize>,
    /// What they can be seen along.
    pub axes: Axes,
    /// Mean of each column in the user's units.
    pub means: Vec<f64>,
    /// The clusters at each number of them, the smallest first.
    pub views: Vec<ClusterView>,
    /// Which of the views is that of the fit.
    pub fitted: usize,
    /// The fit's cluster of every row.
    pub labels: Vec<u32>,
    /// All points of the path, shown or not.
    pub points: Vec<HullPoint>,
    /// How many rows the path was sought on, where not on all.
    pub sampled_rows: Option<usize>,
    /// What tells how badly rows fit, where that is not their distance from the mean.
    pub measure: Option<String>,
    /// The name of the column that clusters are compared with.
    pub truth: Option<String>,
}

/// The clusters at one number of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterView {
    /// The penalties for which so many are optimal; none where there are none, or none are known.
    pub penalties: Option<PenaltyInterval>,
    /// What the automatic choice thought of it.
    pub standing: Standing,
    /// The sum of squared distances to the centres.
    pub loss: f64,
    /// Rows in each cluster.
    pub sizes: Vec<usize>,
    /// The root mean square distance of its rows to its mean, in the units of the fit.
    pub spreads: Vec<f64>,
    /// A number for each cluster that stays with its rows from one view to the next.
    pub colours: Vec<u32>,
    /// The cluster of each row shown.
    pub labels: Vec<u32>,
    /// The largest clusters, in order: those whose centres are drawn.
    pub largest: Vec<usize>,
    /// Their means on every axis.
    pub centres: Vec<Vec<f64>>,
    /// The columns of the profiles, those with the largest share of variance between clusters first.
    pub telling: Vec<usize>,
    /// What the very largest are like, in order.
    pub profiles: Vec<Profile>,
    /// The rows that fit worst, the worst first.
    pub misfits: Vec<Misfit>,
    /// The comparison with a label column.
    pub agreement: Option<LabelTable>,
}

/// One cluster against all rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// The cluster.
    pub group: usize,
    /// Its mean in each of the telling columns, in the user's units.
    pub means: Vec<f64>,
    /// How many standard deviations of the column that is above the mean of all rows.
    pub above: Vec<f64>,
    /// The columns, of all, in which it is farthest from the mean of all rows, and by how many standard deviations.
    pub most: Vec<(usize, f64)>,
}

/// How clusters agree with labels that were known.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelTable {
    /// 1: the same groups; about 0: by chance.
    pub adjusted_rand_index: f64,
    /// 1: either tells the other.
    pub normalized_mutual_information: f64,
    /// The share of rows whose label is that of most of their cluster.
    pub purity: f64,
    /// How many labels there are.
    pub n_labels: usize,
    /// Those with most rows.
    pub labels: Vec<String>,
    /// Rows with each of them, for each cluster of `profiles`.
    pub counts: Vec<Vec<usize>>,
}

impl ClusterOverview {
    /// All views of these rows.
    pub fn new<T: Real>(rows: &GroupedRows<T>) -> Result<Self> {
        fn either(rows: Either<GroupedRows<f32>, GroupedRows<f64>>) -> Result<ClusterOverview> {
            either!(rows, rows => ClusterOverview::of(&rows))
        }
        either(match T::either_data(rows.data) {
            Either::Single(data) => Either::Single(rows.of(data)),
            Either::Double(data) => Either::Double(rows.of(data)),
        })
    }

    fn of<T: Real>(rows: &GroupedRows<T>) -> Result<Self> {
        let (data, workers) = (rows.data, Workers::new(rows.threads));
        let shown = thinned(data.n_rows(), MOST_SHOWN, rows.seed);
        let n_fitted = rows.labels.iter().max().map_or(1, |&last| last as usize + 1);
        let whole = Members::new(data, &vec![0; data.n_rows()], 1, &workers);
        let truth = rows.truth.map(|(_, values)| (values, Partition::from_labels(values)));
        let numbers = numbers_shown(rows.path.map(|path| &path.path), rows.choice, n_fitted);
        let fitted = numbers.iter().position(|&k| k == n_fitted).unwrap_or(0);
        let scene = Scene { rows, whole: &whole, deviations: deviations(data, &whole.means[0]), shown: &shown };
        let columns = scene.by_variance_between(&Members::new(data, rows.labels, n_fitted, &workers));
        let axes = Axes::new(data, &shown, &columns, rows.units, &workers);
        let mut views: Vec<ClusterView> = Vec::new();
        for k in numbers {
            let on_path = rows.path.filter(|_| k != n_fitted).and_then(|path| path.labels(k, data, &workers));
            // In order of first appearance, as a fit numbers its clusters.
            let other = on_path.map(Partition::from_labels);
            let (labels, k) = other.as_ref().map_or((rows.labels, k), |other| (other.labels(), other.n_groups()));
            views.push(scene.view(labels, k, views.last(), &axes, truth.as_ref(), &workers)?);
        }
        let mean = |(column, &x): (usize, &f64)| in_units(x, column, rows.units);
        let means = whole.means[0].iter().enumerate().map(mean).collect();
        Ok(ClusterOverview {
            n_rows: data.n_rows(),
            columns: rows.columns.to_vec(),
            axes,
            means,
            views,
            fitted,
            labels: rows.labels.to_vec(),
            points: rows.path.map_or_else(Vec::new, |path| path.path.points.clone()),
            sampled_rows: rows.path.and_then(|path| path.path.sampled_rows),
            measure: rows.row_losses.map(|losses| losses.name.to_string()),
            truth: rows.truth.map(|(name, _)| name.to_string()),
            shown,
        })
    }
}

/// The standard deviation of each column.
fn deviations<T: Real>(data: &Data<T>, means: &[f64]) -> Vec<f64> {
    let mut squares = vec![0.0; means.len()];
    for (n, row) in data.rows().iter().enumerate() {
        let gaps = row.iter().zip(means).map(|(&x, mean)| x.into() - mean);
        squares.iter_mut().zip(gaps).for_each(|(sum, gap)| *sum += data.weight(n) * gap * gap);
    }
    squares.iter().map(|sum| (sum / data.total_weight()).sqrt()).collect()
}

/// What all views share.
struct Scene<'a, T> {
    rows: &'a GroupedRows<'a, T>,
    whole: &'a Members,
    deviations: Vec<f64>,
    shown: &'a [usize],
}

impl<T: Real> Scene<'_, T> {
    fn view(
        &self,
        labels: &[u32],
        k: usize,
        before: Option<&ClusterView>,
        axes: &Axes,
        truth: Option<&(&[String], Partition)>,
        workers: &Workers,
    ) -> Result<ClusterView> {
        let rows = self.rows;
        let members = Members::new(rows.data, labels, k, workers);
        let seen: Vec<u32> = self.shown.iter().map(|&row| labels[row]).collect();
        let colours = kept_colours(before.map(|view| (&view.labels[..], &view.colours[..])), &seen, k);
        let mut telling = self.by_variance_between(&members);
        telling.truncate(MOST_COLUMNS);
        let largest = largest_groups(&members.sizes, MOST_CENTRES);
        let described = largest_groups(&members.sizes, MOST_PROFILES);
        let on_path = rows.path.and_then(|path| path.path.point(k)).map(|point| point.interval());
        Ok(ClusterView {
            penalties: on_path.or(rows.penalties.filter(|_| labels == rows.labels)),
            standing: Standing::of(k, rows.choice),
            loss: members.losses.iter().sum(),
            spreads: (0..k).map(|group| members.spread(group)).collect(),
            centres: largest.iter().map(|&group| axes.place(&members.means[group], rows.units)).collect(),
            profiles: described.iter().map(|&group| self.profile(group, &members.means[group], &telling)).collect(),
            misfits: members.misfits(
                rows.data,
                labels,
                rows.row_losses.filter(|_| labels == rows.labels),
                &self.deviations,
                rows.units,
            ),
            agreement: truth.map(|truth| label_table(truth, labels, &described)).transpose()?,
            largest,
            sizes: members.sizes,
            colours,
            labels: seen,
            telling,
        })
    }

    /// Standard deviations above the mean of all rows.
    fn above(&self, column: usize, mean: f64) -> f64 {
        let deviation = self.deviations[column];
        if deviation > 0.0 { (mean - self.whole.means[0][column]) / deviation } else { 0.0 }
    }

    fn profile(&self, group: usize, mean: &[f64], telling: &[usize]) -> Profile {
        let mut most: Vec<(usize, f64)> = (0..mean.len()).map(|j| (j, self.above(j, mean[j]))).collect();
        most.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        most.truncate(MOST_TELLING);
        Profile {
            group,
            means: telling.iter().map(|&j| in_units(mean[j], j, self.rows.units)).collect(),
            above: telling.iter().map(|&j| self.above(j, mean[j])).collect(),
            most,
        }
    }

    /// The columns, those with the largest share of their variance between groups first.
    fn by_variance_between(&self, members: &Members) -> Vec<usize> {
        let share = |column: usize| {
            let square = |(mean, weight): (&Vec<f64>, &f64)| weight * self.above(column, mean[column]).powi(2);
            let groups = members.means.iter().zip(&members.weights);
            groups.filter(|(_, weight)| **weight > 0.0).map(square).sum::<f64>()
        };
        let shares: Vec<f64> = (0..self.deviations.len()).map(share).collect();
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        order
    }
}

/// So many of the largest groups, in order; a group without rows is none.
fn largest_groups(sizes: &[usize], most: usize) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..sizes.len()).filter(|&group| sizes[group] > 0).collect();
    groups.sort_by_key(|&group| std::cmp::Reverse(sizes[group]));
    groups.truncate(most);
    groups.sort_unstable();
    groups
}

fn label_table((values, known): &(&[String], Partition), labels: &[u32], groups: &[usize]) -> Result<LabelTable> {
    let found = &Partition::from_labels(labels);
    let mut names = vec![String::new(); known.n_groups()];
    known.labels().iter().zip(*values).rev().for_each(|(&label, value)| names[label as usize].clone_from(value));
    let mut order: Vec<usize> = (0..known.n_groups()).collect();
    order.sort_by_key(|&label| std::cmp::Reverse(known.sizes()[label]));
    order.truncate(MOST_LABELS);
    let mut counts = vec![vec![0; order.len()]; groups.len()];
    let column = |label: u32| order.iter().position(|&other| other == label as usize);
    let columns: Vec<Option<usize>> = (0..known.n_groups() as u32).map(column).collect();
    let k = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let lines: Vec<Option<usize>> = (0..k).map(|group| groups.binary_search(&group).ok()).collect();
    for (&group, &label) in labels.iter().zip(known.labels()) {
        if let (Some(line), Some(column)) = (lines[group as usize], columns[label as usize]) {
            counts[line][column] += 1;
        }
    }
    Ok(LabelTable {
        adjusted_rand_index: adjusted_rand_index(known, found)?,
        normalized_mutual_information: normalized_mutual_information(known, found, Average::Arithmetic)?,
        purity: purity(known, found)?,
        n_labels: known.n_groups(),
        labels: order.iter().map(|&label| names[label].clone()).collect(),
        counts,
    })
}
