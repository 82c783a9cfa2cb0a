//! The best split of one cluster in two that a few steps of 2-means along its widest direction can find.

use crate::data::{Data, Real};
use crate::linalg::{Kernel, dot, on_this_processor, squared_distance};

/// Rows on which the direction is found; the split itself is of all rows.
const SAMPLE: usize = 1024;
const POWER_STEPS: usize = 6;
const TWO_MEANS_STEPS: usize = 12;
/// So few columns that their scatter costs less than multiplying with the rows at every step.
const FEW_COLUMNS: usize = 16;
/// Beyond one row in so many, sums are made anew.
const MANY_CHANGES: usize = 6;

/// A cluster cut in two.
#[derive(Debug, Clone)]
pub(super) struct Bisection {
    /// By how much the loss falls: w_a w_b / (w_a + w_b) |m_a - m_b|^2.
    pub gain: f64,
    /// The rows that leave.
    pub leaving: Vec<u32>,
    /// Means relative to the reference point, of the rows that stay and of those that leave.
    pub offsets: [Vec<f64>; 2],
    /// Their weights.
    pub weights: [f64; 2],
    /// sum of w |x|^2 of the rows that leave, relative to the reference point.
    pub square: f64,
}

/// Splits the cluster of these rows with this mean; `None` if all its rows are equal.
pub(super) fn bisect<T: Real>(data: &Data<T>, rows: &[u32], mean: &[f64]) -> Option<Bisection> {
    on_this_processor(Bisect { data, rows, mean })
}

struct Bisect<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [u32],
    mean: &'a [f64],
}

impl<T: Real> Kernel for Bisect<'_, T> {
    type Output = Option<Bisection>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Option<Bisection> {
        let step = self.rows.len().div_ceil(SAMPLE);
        let mut sample = Table::new(&self, self.rows.iter().step_by(step).copied());
        // A sample of equal rows says nothing about the others.
        if step > 1 && sample.farthest().1 == 0.0 {
            sample = Table::new(&self, self.rows.iter().copied());
        }
        let (farthest, norm) = sample.farthest();
        if norm == 0.0 {
            return None;
        }
        // Two means: cut by a hyperplane, first through the mean, then halfway between the two means.
        let mut plane = (sample.widest(farthest), 0.0);
        let mut sides = Sides::default();
        let mut halves = Halves::default();
        for _ in 0..TWO_MEANS_STEPS {
            let changed = sides.see(&sample, &plane);
            halves.follow(&sample, &sides, &changed);
            if changed.is_empty() || halves.is_one_sided() {
                break;
            }
            plane = halves.hyperplane();
        }
        let mut leaving = Vec::new();
        if step == 1 {
            sides.see(&sample, &plane);
            halves = Halves::new(&sample, &sides);
            leaving.extend(sides.second(&sample));
        } else {
            halves = Halves::default();
            for rows in self.rows.chunks(SAMPLE) {
                let table = Table::new(&self, rows.iter().copied());
                sides.see(&table, &plane);
                halves.add(&Halves::new(&table, &sides));
                leaving.extend(sides.second(&table));
            }
        }
        if halves.is_one_sided() {
            // The farthest row against the rest: a split wherever there are two different rows.
            leaving = vec![sample.numbers[farthest]];
            halves = Halves::default();
            for rows in self.rows.chunks(SAMPLE) {
                let table = Table::new(&self, rows.iter().copied());
                sides.single_out(&table, leaving[0]);
                halves.add(&Halves::new(&table, &sides));
            }
            if halves.is_one_sided() {
                return None;
            }
        }
        let gain = halves.gain();
        let [_, leaver] = &halves.sums;
        let square = halves.squares + 2.0 * dot(leaver, self.mean) + halves.weights[1] * dot(self.mean, self.mean);
        let offsets = halves.means().map(|m| m.iter().zip(self.mean).map(|(x, c)| x + c).collect());
        (gain > 0.0).then_some(Bisection { gain, leaving, offsets, weights: halves.weights, square })
    }
}

/// Deviations of some rows from the cluster's mean, column by column: then every loop goes along rows, whatever their width.
struct Table {
    numbers: Vec<u32>,
    weights: Vec<f64>,
    columns: Vec<f64>,
    /// Squared distance of each row from the mean.
    norms: Vec<f64>,
    /// The sum of all rows with their weights.
    total: Vec<f64>,
}

/// Columns that are turned together: what a row has of them lies side by side.
const TURNED: usize = 8;

impl Table {
    #[inline(always)]
    fn new<T: Real>(of: &Bisect<T>, numbers: impl Iterator<Item = u32>) -> Self {
        let numbers: Vec<u32> = numbers.collect();
        let (data, n, d) = (of.data, numbers.len(), of.data.n_columns());
        let mut columns = vec![0.0; n * d];
        for (block, columns) in columns.chunks_mut(n * TURNED).enumerate() {
            let first = block * TURNED;
            let width = columns.len() / n;
            for (i, &row) in numbers.iter().enumerate() {
                let row = &data.rows().row(row as usize)[first..first + width];
                let middle = data.reference()[first..].iter().zip(&of.mean[first..]);
                for (j, (&x, (&reference, mean))) in row.iter().zip(middle).enumerate() {
                    columns[j * n + i] = x.into() - reference.into() - mean;
                }
            }
        }
        let weights: Vec<f64> = numbers.iter().map(|&row| data.weight(row as usize)).collect();
        let mut norms = vec![0.0; n];
        for column in columns.chunks_exact(n) {
            for (norm, x) in norms.iter_mut().zip(column) {
                *norm += x * x;
            }
        }
        let mut total = vec![0.0; d];
        let table = Table { numbers, weights, columns, norms, total: Vec::new() };
        table.sums(&table.weights, &mut total);
        Table { total, ..table }
    }

    #[inline(always)]
    fn columns(&self) -> std::slice::ChunksExact<'_, f64> {
        self.columns.chunks_exact(self.numbers.len())
    }

    /// Every row along a direction.
    #[inline(always)]
    fn along(&self, direction: &[f64], along: &mut Vec<f64>) {
        along.clear();
        along.resize(self.numbers.len(), 0.0);
        // Loops stay in the kernel, where iterators with closures may not.
        for (column, x) in self.columns().zip(direction) {
            for (sum, c) in along.iter_mut().zip(column) {
                *sum += x * c;
            }
        }
    }

    /// The row with weight that is farthest from the mean, and its squared distance.
    #[inline(always)]
    fn farthest(&self) -> (usize, f64) {
        let mut best = (0, 0.0);
        for (i, (&norm, &weight)) in self.norms.iter().zip(&self.weights).enumerate() {
            if weight > 0.0 && norm > best.1 {
                best = (i, norm);
            }
        }
        best
    }

    /// The direction along which the rows are widest, sought from that of row `first` by multiplying with their scatter, which is
    /// made first where columns are few.
    #[inline(always)]
    fn widest(&self, first: usize) -> Vec<f64> {
        let d = self.total.len();
        let mut direction: Vec<f64> = self.columns().map(|column| column[first]).collect();
        let mut scatter = vec![0.0; if d <= FEW_COLUMNS { d * d } else { 0 }];
        let mut along = Vec::new();
        for (i, of_column) in scatter.chunks_exact_mut(d).enumerate() {
            along.clear();
            along.extend_from_slice(&self.columns[i * self.numbers.len()..(i + 1) * self.numbers.len()]);
            self.weigh(&mut along);
            for (sum, column) in of_column.iter_mut().zip(self.columns()).take(i + 1) {
                *sum = dot(column, &along);
            }
        }
        for i in 0..d.min(scatter.len()) {
            for j in i + 1..d {
                scatter[i * d + j] = scatter[j * d + i];
            }
        }
        let mut next = vec![0.0; d];
        for _ in 0..POWER_STEPS {
            if scatter.is_empty() {
                self.along(&direction, &mut along);
                self.weigh(&mut along);
                self.sums(&along, &mut next);
            } else {
                for (sum, of_column) in next.iter_mut().zip(scatter.chunks_exact(d)) {
                    *sum = dot(of_column, &direction);
                }
            }
            let length = dot(&next, &next).sqrt();
            if length == 0.0 {
                break;
            }
            for (to, from) in direction.iter_mut().zip(&next) {
                *to = from / length;
            }
        }
        direction
    }

    /// Multiplies a number for each row with the weight of the row.
    #[inline(always)]
    fn weigh(&self, numbers: &mut [f64]) {
        for (number, weight) in numbers.iter_mut().zip(&self.weights) {
            *number *= weight;
        }
    }

    /// The sum of the rows with these weights.
    #[inline(always)]
    fn sums(&self, weights: &[f64], sums: &mut [f64]) {
        for (sum, column) in sums.iter_mut().zip(self.columns()) {
            *sum = dot(column, weights);
        }
    }
}

/// Which rows of a table are on the second side of a hyperplane.
#[derive(Default)]
struct Sides {
    second: Vec<bool>,
    along: Vec<f64>,
}

impl Sides {
    /// Looks on which side of a hyperplane (normal, offset) the rows are; those that were on another, all at the first look.
    #[inline(always)]
    fn see(&mut self, table: &Table, (normal, offset): &(Vec<f64>, f64)) -> Vec<usize> {
        table.along(normal, &mut self.along);
        let first_look = self.second.len() != self.along.len();
        self.second.resize(self.along.len(), false);
        let mut changed = Vec::new();
        for (i, (second, along)) in self.second.iter_mut().zip(&self.along).enumerate() {
            let is_second = along > offset;
            if first_look || *second != is_second {
                changed.push(i);
            }
            *second = is_second;
        }
        changed
    }

    /// One row on the second side.
    #[inline(always)]
    fn single_out(&mut self, table: &Table, row: u32) {
        self.second = table.numbers.iter().map(|n| *n == row).collect();
    }

    /// The rows on the second side.
    #[inline(always)]
    fn second(&self, table: &Table) -> impl Iterator<Item = u32> {
        table.numbers.iter().zip(&self.second).filter(|(_, second)| **second).map(|(row, _)| *row)
    }
}

/// Sums and weights on the two sides of a hyperplane.
#[derive(Default)]
struct Halves {
    sums: [Vec<f64>; 2],
    weights: [f64; 2],
    /// sum of w |x|^2 on the second side.
    squares: f64,
}

impl Halves {
    #[inline(always)]
    fn new(table: &Table, sides: &Sides) -> Self {
        let mut second = table.weights.clone();
        let mut weights = [0.0; 2];
        for (weight, &is_second) in second.iter_mut().zip(&sides.second) {
            weights[usize::from(is_second)] += *weight;
            *weight = if is_second { *weight } else { 0.0 };
        }
        let mut on_second = vec![0.0; table.total.len()];
        table.sums(&second, &mut on_second);
        let mut on_first = table.total.clone();
        for (first, second) in on_first.iter_mut().zip(&on_second) {
            *first -= second;
        }
        Halves { sums: [on_first, on_second], weights, squares: dot(&table.norms, &second) }
    }

    /// Follows rows that have changed sides; the squares stay behind.
    #[inline(always)]
    fn follow(&mut self, table: &Table, sides: &Sides, changed: &[usize]) {
        if MANY_CHANGES * changed.len() > table.numbers.len() {
            *self = Halves::new(table, sides);
            return;
        }
        let n = table.numbers.len();
        for &i in changed {
            let (to, weight) = (usize::from(sides.second[i]), table.weights[i]);
            self.weights[to] += weight;
            self.weights[1 - to] -= weight;
            for j in 0..table.total.len() {
                let x = weight * table.columns[j * n + i];
                self.sums[to][j] += x;
                self.sums[1 - to][j] -= x;
            }
        }
    }

    /// Adds those of other rows.
    #[inline(always)]
    fn add(&mut self, other: &Halves) {
        for side in 0..2 {
            self.weights[side] += other.weights[side];
            self.sums[side].resize(other.sums[side].len(), 0.0);
            self.sums[side].iter_mut().zip(&other.sums[side]).for_each(|(s, x)| *s += x);
        }
        self.squares += other.squares;
    }

    /// Whether one of the sides has no weight.
    #[inline(always)]
    fn is_one_sided(&self) -> bool {
        self.weights[0] <= 0.0 || self.weights[1] <= 0.0
    }

    #[inline(always)]
    fn means(&self) -> [Vec<f64>; 2] {
        [0, 1].map(|side| self.sums[side].iter().map(|s| s / self.weights[side]).collect())
    }

    /// Normal and offset of the hyperplane halfway between the means.
    #[inline(always)]
    fn hyperplane(&self) -> (Vec<f64>, f64) {
        let [a, b] = self.means();
        let cut = 0.5 * (dot(&b, &b) - dot(&a, &a));
        (b.iter().zip(&a).map(|(b, a)| b - a).collect(), cut)
    }

    #[inline(always)]
    fn gain(&self) -> f64 {
        let [a, b] = self.means();
        let [wa, wb] = self.weights;
        wa * wb / (wa + wb) * squared_distance(&a, &b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    fn loss(values: &[f64], rows: &[u32], d: usize) -> f64 {
        let mean: Vec<f64> =
            (0..d).map(|j| rows.iter().map(|&r| values[r as usize * d + j]).sum::<f64>() / rows.len() as f64).collect();
        rows.iter().map(|&r| (0..d).map(|j| (values[r as usize * d + j] - mean[j]).powi(2)).sum::<f64>()).sum()
    }

    #[test]
    fn the_gain_is_the_fall_of_the_loss() {
        let values: Vec<f64> = (0..60).map(|i| ((i * 7919) % 101) as f64 * 0.3 + f64::from(i > 30) * 50.0).collect();
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let rows: Vec<u32> = (0..30).collect();
        let split = bisect(&data, &rows, &[0.0, 0.0]).unwrap();
        let staying: Vec<u32> = rows.iter().copied().filter(|r| !split.leaving.contains(r)).collect();
        let fall = loss(&values, &rows, 2) - loss(&values, &staying, 2) - loss(&values, &split.leaving, 2);
        assert!((split.gain - fall).abs() < 1e-9 * fall, "{} {fall}", split.gain);
        assert_eq!(split.weights, [staying.len() as f64, split.leaving.len() as f64]);
        let offset = |r: u32, j: usize| values[r as usize * 2 + j] - data.reference()[j];
        let square: f64 = split.leaving.iter().map(|&r| offset(r, 0).powi(2) + offset(r, 1).powi(2)).sum();
        assert!((split.square - square).abs() < 1e-9 * square, "{} {square}", split.square);
    }

    #[test]
    fn equal_rows_cannot_be_split_and_one_other_row_can_be_found() {
        let mut values = vec![3.0; 5000];
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let rows: Vec<u32> = (0..5000).collect();
        assert!(bisect(&data, &rows, &[0.0]).is_none());
        values[4321] = 4.0;
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let mean = 3.0 + 1.0 / 5000.0 - data.reference()[0];
        let split = bisect(&data, &rows, &[mean]).unwrap();
        assert!(split.weights == [1.0, 4999.0] || split.weights == [4999.0, 1.0], "{:?}", split.weights);
        assert!((split.gain - 4999.0 / 5000.0).abs() < 1e-9);
    }
}
