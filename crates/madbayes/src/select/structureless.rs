//! What data without structure would show: rows of the same covariance, Gaussian or uniform along the principal axes.
//!
//! The path of squared distances does not change when the data are turned, so the standard deviations along the principal
//! axes are all that a reference needs (Tibshirani, Walther & Hastie 2001 compare losses in this way).

use super::climb::Climb;
use super::hull::{HullPoint, lower_hull};
use super::sample::sampled;
use crate::data::{Data, Real, Rows};
use crate::hard::{BpMeans, brief_loss};
use crate::linalg::{dot, symmetric_eigen};
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::watch::Watch;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Data sets of each shape.
const DRAWS: usize = 8;
const SHAPES: [Shape; 3] = [Shape::Gaussian, Shape::Box, Shape::TurnedBox];
/// Paths are compared at least as far as this K.
const LEAST_LOOK: usize = 6;
/// Columns up to which a box may lie askew: with more, any direction askew to the columns is close to Gaussian.
const TURNED_COLUMNS: usize = 3;
/// Data sets of each shape whose features are compared: with more, chance stands out less.
const FEATURE_DRAWS: usize = 16;
/// Columns up to which features are compared with those of a box along the columns.
const BOX_COLUMNS: usize = 100;
/// Rows whose features are compared with those of data without any.
const FEATURE_ROWS: usize = 512;
/// Directions that hold less than this share of the largest variance do not count.
const FLAT: f64 = 1e-10;

/// How many standard deviations the data are above data of the same covariance without structure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// In the most persistent number of clusters; none for features, which are not compared in that.
    pub persistence: Option<f64>,
    /// In how much of the loss the chosen number of groups removes.
    pub loss: f64,
}

/// Shapes without structure.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Gaussian,
    /// Uniform in a box along the columns, S^(1/2) u: the box itself where the columns are not correlated.
    Box,
    /// Uniform in a box along the principal axes.
    TurnedBox,
}

/// What is compared.
pub(super) struct Trial<'a> {
    /// Numbers of groups whose losses are compared.
    pub ks: &'a [usize],
    pub seed: u64,
    /// The largest score on a path.
    pub score: &'a (dyn Fn(&[HullPoint]) -> f64 + Sync),
}

/// What a path shows: its largest score, and minus the log of the share of the loss that is left at each K.
struct Shown {
    score: f64,
    gains: Vec<f64>,
}

/// Compares the path of `data` with those of its references, for each K; none once the watch has said stop.
pub(super) fn evidence<T: Real>(
    data: &Data<T>,
    trial: &Trial,
    workers: &Workers,
    watch: &dyn Watch,
) -> Option<Vec<Evidence>> {
    let spread = Spread::of(data);
    if spread.deviations.is_empty() {
        return None;
    }
    let shown = trial.show(data, watch)?;
    let shapes = if data.n_columns() <= TURNED_COLUMNS { &SHAPES[..] } else { &SHAPES[..2] };
    let drawn = workers.map(shapes.len() * DRAWS, |i| {
        let values = spread.draw(shapes[i / DRAWS], data.n_rows(), trial.seed, i as u32);
        let rows = Rows::new(&values, spread.deviations.len()).ok()?;
        trial.show(&Data::weighted(rows, data.weights()).ok()?, watch)
    });
    let drawn: Vec<Shown> = drawn.into_iter().collect::<Option<_>>()?;
    let least = |of: &dyn Fn(&Shown) -> f64| {
        let families = drawn.chunks(DRAWS).map(|family| excess(of(&shown), family.iter().map(of)));
        families.fold(f64::INFINITY, f64::min)
    };
    let persistence = Some(least(&|shown| shown.score));
    Some((0..trial.ks.len()).map(|i| Evidence { persistence, loss: least(&|shown| shown.gains[i]) }).collect())
}

/// How many standard deviations more of the loss K features explain than in data of the same mean and covariance; none once
/// the watch has said stop.
pub(super) fn feature_evidence<T: Real>(
    data: &Data<T>,
    k: usize,
    seed: u64,
    workers: &Workers,
    watch: &dyn Watch,
) -> Option<f64> {
    let sample = sampled(data, FEATURE_ROWS, seed);
    let seen = sample.as_ref().and_then(|rows| rows.data().ok());
    let seen = seen.as_ref().unwrap_or(data);
    let spread = Spread::of(seen);
    let r = spread.deviations.len();
    if r == 0 {
        return None;
    }
    // Losses are sums of inner products: the principal axes and one direction more for the mean hold them all.
    let mean: Vec<f64> =
        crate::hard::mean_offset(seen).iter().zip(seen.reference()).map(|(m, &r)| m + r.into()).collect();
    let mut place = vec![0.0; r + 1];
    for (axis, mean) in spread.axes.chunks_exact(r).zip(&mean) {
        place[..r].iter_mut().zip(axis).for_each(|(place, a)| *place += a * mean);
    }
    place[r] = (dot(&mean, &mean) - dot(&place[..r], &place[..r])).max(0.0).sqrt();
    // With many columns a box along them is close to Gaussian, and dear.
    let shapes = [Shape::Gaussian, if seen.n_columns() <= BOX_COLUMNS { Shape::Box } else { Shape::TurnedBox }];
    let parameters = BpMeans { seed, threads: 1, ..BpMeans::k_features(k) };
    let found = feature_gain(&parameters, seen, watch)?;
    let drawn = workers.map(2 * FEATURE_DRAWS, |i| {
        let values = spread.draw(shapes[i / FEATURE_DRAWS], seen.n_rows(), seed, i as u32);
        let mut rows = Vec::with_capacity(seen.n_rows() * (r + 1));
        for row in values.chunks_exact(r) {
            rows.extend(row.iter().zip(&place).map(|(x, place)| x + place));
            rows.push(place[r]);
        }
        feature_gain(&parameters, &Data::new(Rows::new(&rows, r + 1).ok()?).ok()?, watch)
    });
    let drawn: Vec<f64> = drawn.into_iter().collect::<Option<_>>()?;
    Some(drawn.chunks(FEATURE_DRAWS).map(|family| excess(found, family.iter().copied())).fold(f64::INFINITY, f64::min))
}

/// Minus the log of the share that features leave of the squares about the mean.
fn feature_gain<T: Real>(parameters: &BpMeans, data: &Data<T>, watch: &dyn Watch) -> Option<f64> {
    let loss = brief_loss(parameters, data, watch)?;
    let mean = crate::hard::mean_offset(data);
    let mut squares = 0.0;
    for row in data.rows().iter() {
        for ((&x, &r), mean) in row.iter().zip(data.reference()).zip(&mean) {
            let offset: f64 = x.into() - r.into() - mean;
            squares += offset * offset;
        }
    }
    Some(-(loss / squares).max(f64::MIN_POSITIVE).ln())
}

/// (value - mean)/(standard deviation of a further draw).
pub(super) fn excess(value: f64, drawn: impl Iterator<Item = f64>) -> f64 {
    let drawn: Vec<f64> = drawn.collect();
    let n = drawn.len() as f64;
    let mean = drawn.iter().sum::<f64>() / n;
    let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (value - mean) / (variance * (1.0 + 1.0 / n)).sqrt().max(1e-12)
}

impl Trial<'_> {
    fn show<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Option<Shown> {
        let serial = Workers::serial();
        let largest = self.ks.iter().copied().fold(LEAST_LOOK, usize::max);
        let mut climb = Climb::new(data, &serial, watch, self.seed);
        if climb.sweep(largest + 1).is_break() || climb.stopped() {
            return None;
        }
        let losses = climb.losses();
        let gain = |k: &usize| {
            let left = losses.get(k - 1).map_or(0.0, |(_, loss)| loss / losses[0].1);
            -left.max(f64::MIN_POSITIVE).ln()
        };
        Some(Shown { score: (self.score)(&lower_hull(&losses, 0.0)), gains: self.ks.iter().map(gain).collect() })
    }
}

/// How rows spread: standard deviations along the principal axes, those without variance left out, and the axes as columns.
struct Spread {
    deviations: Vec<f64>,
    /// D x r, row after row.
    axes: Vec<f64>,
}

impl Spread {
    fn of<T: Real>(data: &Data<T>) -> Self {
        let (n, d) = (data.n_rows(), data.n_columns());
        let mean = crate::hard::mean_offset(data);
        // Rows times the root of their weight, about the mean.
        let mut rows = vec![0.0; n * d];
        for (i, out) in rows.chunks_exact_mut(d).enumerate() {
            let root = data.weight(i).sqrt();
            for (j, out) in out.iter_mut().enumerate() {
                *out = root * (data.rows().row(i)[j].into() - data.reference()[j].into() - mean[j]);
            }
        }
        // X'X and XX' have the same eigenvalues, but for zeros; X'X v = s v, or v = X'w/sqrt(s) with XX'w = s w.
        let order = n.min(d);
        let mut lower = vec![0.0; order * order];
        if d <= n {
            for row in rows.chunks_exact(d) {
                for i in 0..d {
                    lower[i * d..=i * d + i].iter_mut().zip(row).for_each(|(sum, x)| *sum += row[i] * x);
                }
            }
        } else {
            for i in 0..n {
                for j in 0..=i {
                    lower[i * n + j] = dot(&rows[i * d..(i + 1) * d], &rows[j * d..(j + 1) * d]);
                }
            }
        }
        let (values, vectors) = symmetric_eigen(&lower, order);
        let largest = values.last().copied().unwrap_or(0.0);
        let kept: Vec<usize> = (0..order).rev().filter(|&i| values[i] > FLAT * largest && values[i] > 0.0).collect();
        let mut axes = vec![0.0; d * kept.len()];
        let k = kept.len();
        if d <= n {
            for (e, axis) in axes.iter_mut().enumerate() {
                *axis = vectors[(e / k, kept[e % k])];
            }
        } else {
            for (row, values_of_row) in rows.chunks_exact(d).enumerate() {
                let along: Vec<f64> = kept.iter().map(|&i| vectors[(row, i)] / values[i].sqrt()).collect();
                for (axes, x) in axes.chunks_exact_mut(k).zip(values_of_row) {
                    axes.iter_mut().zip(&along).for_each(|(axis, along)| *axis += x * along);
                }
            }
        }
        Spread { deviations: kept.iter().map(|&i| (values[i] / data.total_weight()).sqrt()).collect(), axes }
    }

    /// `n_rows` rows of one shape, in coordinates along the principal axes.
    fn draw(&self, shape: Shape, n_rows: usize, seed: u64, number: u32) -> Vec<f64> {
        let mut rng = stream(seed, Stream::Reference(number));
        let mut even = || (rng.random::<f64>() - 0.5) * 12f64.sqrt();
        let r = self.deviations.len();
        let mut values = vec![0.0; n_rows * r];
        match shape {
            Shape::Gaussian => values.iter_mut().for_each(|v| *v = rng.sample(StandardNormal)),
            Shape::TurnedBox => values.iter_mut().for_each(|v| *v = even()),
            Shape::Box => {
                for out in values.chunks_exact_mut(r) {
                    for axis in self.axes.chunks_exact(r) {
                        let x = even();
                        out.iter_mut().zip(axis).for_each(|(out, a)| *out += x * a);
                    }
                }
            }
        }
        values.chunks_exact_mut(r).for_each(|row| row.iter_mut().zip(&self.deviations).for_each(|(v, s)| *v *= s));
        values
    }
}
