//! The best split of one cluster in two that a few steps of 2-means along its widest direction can find.

use crate::data::{Data, Real};
use crate::linalg::{Kernel, Lanes, Vector, dot, on_this_processor};
use std::marker::PhantomData;

/// Rows on which the direction is found; the split itself is of all rows.
const SAMPLE: usize = 1024;
const POWER_STEPS: usize = 6;
const TWO_MEANS_STEPS: usize = 12;

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
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe {
            match (FUSED, WIDE) {
                (true, true) => self.split(Vectors::<<f64 as Lanes>::Wide>::here()),
                (true, false) => self.split(Vectors::<<f64 as Lanes>::Narrow>::here()),
                (false, _) => self.split(Vectors::<<f64 as Lanes>::Plain>::here()),
            }
        }
    }
}

impl<T: Real> Bisect<'_, T> {
    #[inline(always)]
    fn split<V: Vector<Number = f64>>(&self, vectors: Vectors<V>) -> Option<Bisection> {
        let step = self.rows.len().div_ceil(SAMPLE);
        let mut sample = Table::new(self, self.rows.iter().step_by(step), vectors);
        // A sample of equal rows says nothing about the others.
        if step > 1 && sample.farthest().1 == 0.0 {
            sample = Table::new(self, self.rows.iter(), vectors);
        }
        let (farthest, norm) = sample.farthest();
        if norm == 0.0 {
            return None;
        }
        // Two means: cut by a hyperplane, first through the mean, then halfway between the two means.
        let mut plane = Plane { normal: sample.widest(farthest, vectors), offset: 0.0 };
        let mut sides = Sides::default();
        let mut halves = Halves::default();
        for _ in 0..TWO_MEANS_STEPS {
            let changed = sides.cut(&sample, &plane, vectors);
            halves.take(&sample, &sides);
            if !changed || halves.is_one_sided() {
                break;
            }
            halves.place_between(&mut plane);
        }
        let mut parted = Parted::default();
        if step == 1 {
            sides.cut(&sample, &plane, vectors);
            parted.add(&sample, &sides, vectors);
        } else {
            for rows in self.rows.chunks(SAMPLE) {
                let table = Table::new(self, rows.iter(), vectors);
                sides.cut(&table, &plane, vectors);
                parted.add(&table, &sides, vectors);
            }
        }
        if parted.halves.is_one_sided() {
            // The farthest row against the rest: a split wherever there are two different rows.
            parted = Parted::default();
            for rows in self.rows.chunks(SAMPLE) {
                let table = Table::new(self, rows.iter(), vectors);
                sides.single_out(&table, sample.numbers[farthest], vectors);
                parted.add(&table, &sides, vectors);
            }
            if parted.halves.is_one_sided() {
                return None;
            }
        }
        let Parted { halves, leaving, square } = parted;
        let gain = halves.gain();
        let [_, leaver] = &halves.sums;
        let square = square + 2.0 * dot(leaver, self.mean) + halves.weights[1] * dot(self.mean, self.mean);
        let offsets = [0, 1].map(|side| halves.mean(side).zip(self.mean).map(|(x, c)| x + c).collect());
        (gain > 0.0).then_some(Bisection { gain, leaving, offsets, weights: halves.weights, square })
    }
}

/// Rows that are looked at together: what they have in one column are two or four vectors.
const TILE: usize = 16;

/// A sum in as many parts as the largest vector has.
type Parts = [f64; 8];

#[inline(always)]
fn total(parts: &Parts) -> f64 {
    ((parts[0] + parts[4]) + (parts[2] + parts[6])) + ((parts[1] + parts[5]) + (parts[3] + parts[7]))
}

/// What the vectors of this processor do with tiles. Loops over arrays are left to half of a vector by the compiler.
#[derive(Clone, Copy)]
struct Vectors<V>(PhantomData<V>);

impl<V: Vector<Number = f64>> Vectors<V> {
    /// # Safety
    /// Only in a kernel that runs with the instructions of V, into which all is inlined.
    #[inline(always)]
    unsafe fn here() -> Self {
        const {
            assert!(
                V::LANES <= 8 && TILE.is_multiple_of(V::LANES),
                "parts hold a vector, and whole vectors fill a tile"
            )
        };
        Vectors(PhantomData)
    }

    /// parts += x y.
    #[inline(always)]
    fn add_products(self, parts: &mut Parts, x: &[f64; TILE], y: &[f64; TILE]) {
        // SAFETY: who made `self` vouches for the instructions; no vector is longer than `parts`, and whole vectors fill a tile.
        unsafe {
            let mut sum = V::load(parts.as_ptr());
            for i in (0..TILE).step_by(V::LANES) {
                sum = V::load(x.as_ptr().add(i)).multiply_add(V::load(y.as_ptr().add(i)), sum);
            }
            sum.store(parts.as_mut_ptr());
        }
    }

    /// The rows of a tile along a direction.
    #[inline(always)]
    fn along(self, tile: &[[f64; TILE]], direction: &[f64]) -> [f64; TILE] {
        let mut along = [0.0; TILE];
        // SAFETY: as above.
        unsafe {
            let mut sums = [V::splat(0.0); TILE / 4];
            for (column, &x) in tile.iter().zip(direction) {
                let x = V::splat(x);
                for (i, sum) in sums[..TILE / V::LANES].iter_mut().enumerate() {
                    *sum = V::load(column.as_ptr().add(i * V::LANES)).multiply_add(x, *sum);
                }
            }
            for (i, sum) in sums[..TILE / V::LANES].iter().enumerate() {
                sum.store(along.as_mut_ptr().add(i * V::LANES));
            }
        }
        along
    }

    /// The squared length of each row of a tile.
    #[inline(always)]
    fn norms(self, tile: &[[f64; TILE]]) -> [f64; TILE] {
        let mut norms = [0.0; TILE];
        // SAFETY: as above.
        unsafe {
            let mut sums = [V::splat(0.0); TILE / 4];
            for column in tile {
                for (i, sum) in sums[..TILE / V::LANES].iter_mut().enumerate() {
                    let x = V::load(column.as_ptr().add(i * V::LANES));
                    *sum = x.multiply_add(x, *sum);
                }
            }
            for (i, sum) in sums[..TILE / V::LANES].iter().enumerate() {
                sum.store(norms.as_mut_ptr().add(i * V::LANES));
            }
        }
        norms
    }

    /// x y, number by number.
    #[inline(always)]
    fn product(self, x: &[f64; TILE], y: &[f64; TILE]) -> [f64; TILE] {
        let mut product = [0.0; TILE];
        // SAFETY: as above.
        unsafe {
            for i in (0..TILE).step_by(V::LANES) {
                let one = V::load(x.as_ptr().add(i)).multiply_add(V::load(y.as_ptr().add(i)), V::splat(0.0));
                one.store(product.as_mut_ptr().add(i));
            }
        }
        product
    }

    /// The weights of the rows whose numbers are above a limit, 0 for the others; and the largest difference from `before`.
    #[inline(always)]
    fn weights_above(self, numbers: &[f64; TILE], limit: f64, weights: &[f64; TILE], before: &mut [f64; TILE]) -> f64 {
        let mut parts: Parts = [0.0; 8];
        // SAFETY: as above.
        unsafe {
            let (zero, minus) = (V::splat(0.0), V::splat(-1.0));
            let mut largest = zero;
            for i in (0..TILE).step_by(V::LANES) {
                let number = V::load(numbers.as_ptr().add(i));
                let weight = number.where_greater(V::splat(limit), V::load(weights.as_ptr().add(i)), zero);
                let change = V::load(before.as_ptr().add(i)).multiply_add(minus, weight);
                largest = largest.larger(change).larger(change.multiply_add(minus, zero));
                weight.store(before.as_mut_ptr().add(i));
            }
            largest.store(parts.as_mut_ptr());
        }
        parts.iter().fold(0.0, |largest, part| largest.max(*part))
    }
}

/// Deviations of some rows from the cluster's mean, tile by tile and there column by column, filled up with rows of no weight: then
/// every loop goes along rows, whatever their width.
struct Table {
    n_columns: usize,
    numbers: Vec<u32>,
    weights: Vec<[f64; TILE]>,
    /// `n_columns` for each tile.
    columns: Vec<[f64; TILE]>,
    /// Squared distance of each row from the mean.
    norms: Vec<[f64; TILE]>,
    /// sum of w, and of w x in each column: as the sums on one side are made, so that all rows there leave nothing on the other.
    weight: f64,
    sums: Vec<f64>,
}

impl Table {
    #[inline(always)]
    fn new<'a, T: Real, V: Vector<Number = f64>>(
        of: &Bisect<T>,
        rows: impl Iterator<Item = &'a u32>,
        vectors: Vectors<V>,
    ) -> Self {
        let numbers: Vec<u32> = rows.copied().collect();
        let (data, d, tiles) = (of.data, of.data.n_columns(), numbers.len().div_ceil(TILE));
        let mut columns = vec![[0.0; TILE]; tiles * d];
        let mut weights = vec![[0.0; TILE]; tiles];
        let mut norms = vec![[0.0; TILE]; tiles];
        let (mut weight, mut sums) = ([0.0; 8], vec![[0.0; 8]; d]);
        for (t, numbers) in numbers.chunks(TILE).enumerate() {
            let tile = &mut columns[t * d..(t + 1) * d];
            for (i, &number) in numbers.iter().enumerate() {
                weights[t][i] = data.weight(number as usize);
                let middle = data.reference().iter().zip(of.mean);
                let row = data.rows().row(number as usize).iter().zip(middle);
                for (column, (&x, (&reference, mean))) in tile.iter_mut().zip(row) {
                    column[i] = x.into() - reference.into() - mean;
                }
            }
            norms[t] = vectors.norms(tile);
            vectors.add_products(&mut weight, &weights[t], &[1.0; TILE]);
            for (column, sums) in tile.iter().zip(&mut sums) {
                vectors.add_products(sums, column, &weights[t]);
            }
        }
        let (weight, sums) = (total(&weight), sums.iter().map(total).collect());
        Table { n_columns: d, numbers, weights, columns, norms, weight, sums }
    }

    /// The columns of each tile.
    #[inline(always)]
    fn tiles(&self) -> std::slice::ChunksExact<'_, [f64; TILE]> {
        self.columns.chunks_exact(self.n_columns)
    }

    /// The row with weight that is farthest from the mean, and its squared distance.
    #[inline(always)]
    fn farthest(&self) -> (usize, f64) {
        let mut best = (0, 0.0);
        for (i, (&norm, &weight)) in self.norms.as_flattened().iter().zip(self.weights.as_flattened()).enumerate() {
            if weight > 0.0 && norm > best.1 {
                best = (i, norm);
            }
        }
        best
    }

    /// The direction along which the rows are widest, sought from that of row `first` by multiplying with their scatter.
    #[inline(always)]
    fn widest<V: Vector<Number = f64>>(&self, first: usize, vectors: Vectors<V>) -> Vec<f64> {
        let d = self.n_columns;
        let tile = &self.columns[first / TILE * d..(first / TILE + 1) * d];
        let mut direction: Vec<f64> = tile.iter().map(|column| column[first % TILE]).collect();
        let mut parts = vec![[0.0; 8]; d];
        for _ in 0..POWER_STEPS {
            parts.fill([0.0; 8]);
            for (tile, weights) in self.tiles().zip(&self.weights) {
                let along = vectors.product(&vectors.along(tile, &direction), weights);
                for (parts, column) in parts.iter_mut().zip(tile) {
                    vectors.add_products(parts, column, &along);
                }
            }
            let length = parts.iter().map(|parts| total(parts) * total(parts)).sum::<f64>().sqrt();
            if length == 0.0 {
                break;
            }
            direction.iter_mut().zip(&parts).for_each(|(to, parts)| *to = total(parts) / length);
        }
        direction
    }
}

/// The points x with normal'x = offset.
struct Plane {
    normal: Vec<f64>,
    offset: f64,
}

/// Which rows of a table are on the second side of a hyperplane, and their sums.
#[derive(Default)]
struct Sides {
    /// The weight of each row there, 0 for those on the first side.
    second: Vec<[f64; TILE]>,
    /// On the second side: sum of w, and of w x in each column.
    weight: Parts,
    sums: Vec<Parts>,
}

impl Sides {
    /// Cuts a table by a hyperplane; whether a row with weight is on another side than before.
    #[inline(always)]
    fn cut<V: Vector<Number = f64>>(&mut self, table: &Table, plane: &Plane, vectors: Vectors<V>) -> bool {
        self.begin(table);
        let mut change: f64 = 0.0;
        for (t, tile) in table.tiles().enumerate() {
            let along = vectors.along(tile, &plane.normal);
            let second = &mut self.second[t];
            change = change.max(vectors.weights_above(&along, plane.offset, &table.weights[t], second));
            self.tally(table, t, vectors);
        }
        change > 0.0
    }

    /// One row on the second side.
    #[inline(always)]
    fn single_out<V: Vector<Number = f64>>(&mut self, table: &Table, row: u32, vectors: Vectors<V>) {
        self.begin(table);
        for (t, numbers) in table.numbers.chunks(TILE).enumerate() {
            self.second[t] = [0.0; TILE];
            for (i, _) in numbers.iter().enumerate().filter(|(_, number)| **number == row) {
                self.second[t][i] = table.weights[t][i];
            }
            self.tally(table, t, vectors);
        }
    }

    #[inline(always)]
    fn begin(&mut self, table: &Table) {
        self.second.resize(table.weights.len(), [0.0; TILE]);
        self.sums.clear();
        self.sums.resize(table.n_columns, [0.0; 8]);
        self.weight = [0.0; 8];
    }

    /// Adds what the rows of a tile bring to the second side.
    #[inline(always)]
    fn tally<V: Vector<Number = f64>>(&mut self, table: &Table, t: usize, vectors: Vectors<V>) {
        let second = &self.second[t];
        vectors.add_products(&mut self.weight, second, &[1.0; TILE]);
        let tile = &table.columns[t * table.n_columns..(t + 1) * table.n_columns];
        for (sums, column) in self.sums.iter_mut().zip(tile) {
            vectors.add_products(sums, column, second);
        }
    }
}

/// A split that is put together table by table.
#[derive(Default)]
struct Parted {
    halves: Halves,
    /// The rows on the second side, and their sum of w |x|^2.
    leaving: Vec<u32>,
    square: f64,
}

impl Parted {
    #[inline(always)]
    fn add<V: Vector<Number = f64>>(&mut self, table: &Table, sides: &Sides, vectors: Vectors<V>) {
        self.halves.add(table, sides);
        let mut square = [0.0; 8];
        for (second, norms) in sides.second.iter().zip(&table.norms) {
            vectors.add_products(&mut square, second, norms);
        }
        self.square += total(&square);
        let rows = table.numbers.iter().zip(sides.second.as_flattened());
        self.leaving.extend(rows.filter(|(_, weight)| **weight > 0.0).map(|(row, _)| *row));
    }
}

/// Sums and weights on the two sides of a hyperplane.
#[derive(Default)]
struct Halves {
    sums: [Vec<f64>; 2],
    weights: [f64; 2],
}

impl Halves {
    /// Those of a table.
    #[inline(always)]
    fn take(&mut self, table: &Table, sides: &Sides) {
        self.weights = [0.0; 2];
        self.sums.iter_mut().for_each(Vec::clear);
        self.add(table, sides);
    }

    /// Adds those of a table.
    #[inline(always)]
    fn add(&mut self, table: &Table, sides: &Sides) {
        let weight = total(&sides.weight);
        self.weights[0] += table.weight - weight;
        self.weights[1] += weight;
        let [first, second] = &mut self.sums;
        first.resize(table.n_columns, 0.0);
        second.resize(table.n_columns, 0.0);
        for (j, (all, parts)) in table.sums.iter().zip(&sides.sums).enumerate() {
            first[j] += all - total(parts);
            second[j] += total(parts);
        }
    }

    /// Whether one of the sides has no weight.
    #[inline(always)]
    fn is_one_sided(&self) -> bool {
        self.weights[0] <= 0.0 || self.weights[1] <= 0.0
    }

    /// The mean of one side.
    #[inline(always)]
    fn mean(&self, side: usize) -> impl Iterator<Item = f64> {
        self.sums[side].iter().map(move |sum| sum / self.weights[side])
    }

    /// Puts a hyperplane halfway between the means.
    #[inline(always)]
    fn place_between(&self, plane: &mut Plane) {
        plane.offset = 0.0;
        for ((a, b), normal) in self.mean(0).zip(self.mean(1)).zip(&mut plane.normal) {
            plane.offset += 0.5 * (b * b - a * a);
            *normal = b - a;
        }
    }

    #[inline(always)]
    fn gain(&self) -> f64 {
        let [a, b] = self.weights;
        a * b / (a + b) * self.mean(0).zip(self.mean(1)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
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
    fn weighted_splits_of_any_size_are_as_plain_sums_say_whatever_the_vectors() {
        for (n, d) in [(5, 1), (16, 3), (37, 10), (1500, 2)] {
            let values: Vec<f32> =
                (0..n * d).map(|i| ((i * 7919) % 101) as f32 * 0.1 + if i / d % 2 == 0 { 9.0 } else { 0.0 }).collect();
            let weights: Vec<f64> = (0..n).map(|i| [1.0, 0.0, 0.25, 3.0][i % 4]).collect();
            let data = Data::weighted(Rows::new(&values, d).unwrap(), Some(&weights)).unwrap();
            let rows: Vec<u32> = (0..n as u32).collect();
            let offset = |r: usize, j: usize| f64::from(values[r * d + j]) - f64::from(data.reference()[j]);
            let mean_of = |rows: &[u32]| -> (f64, Vec<f64>) {
                let weight: f64 = rows.iter().map(|&r| weights[r as usize]).sum();
                let sum = |j: usize| rows.iter().map(|&r| weights[r as usize] * offset(r as usize, j)).sum::<f64>();
                (weight, (0..d).map(|j| sum(j) / weight).collect())
            };
            let (_, mean) = mean_of(&rows);
            // SAFETY: plain vectors need no instructions of their own.
            let plain = unsafe { Vectors::<<f64 as Lanes>::Plain>::here() };
            let of = Bisect { data: &data, rows: &rows, mean: &mean };
            for split in [bisect(&data, &rows, &mean).unwrap(), of.split(plain).unwrap()] {
                assert!(split.leaving.iter().all(|&r| weights[r as usize] > 0.0), "rows without weight stay");
                let staying: Vec<u32> = rows.iter().copied().filter(|r| !split.leaving.contains(r)).collect();
                let sides = [mean_of(&staying), mean_of(&split.leaving)];
                let mut gain = 0.0;
                for (side, (weight, mean)) in sides.iter().enumerate() {
                    assert!((split.weights[side] - weight).abs() < 1e-9 * weight);
                    for j in 0..d {
                        assert!(
                            (split.offsets[side][j] - mean[j]).abs() < 1e-9,
                            "{} {}",
                            split.offsets[side][j],
                            mean[j]
                        );
                    }
                }
                for j in 0..d {
                    gain += (sides[0].1[j] - sides[1].1[j]).powi(2);
                }
                gain *= sides[0].0 * sides[1].0 / (sides[0].0 + sides[1].0);
                assert!((split.gain - gain).abs() < 1e-9 * gain, "{} {gain}", split.gain);
                let square =
                    |&r: &u32| weights[r as usize] * (0..d).map(|j| offset(r as usize, j).powi(2)).sum::<f64>();
                let square: f64 = split.leaving.iter().map(square).sum();
                assert!((split.square - square).abs() < 1e-9 * square, "{} {square}", split.square);
            }
        }
        // Nothing to split where only rows without weight differ.
        let (values, weights) = ([1.0, 1.0, 5.0], [1.0, 2.0, 0.0]);
        let data = Data::weighted(Rows::new(&values, 1).unwrap(), Some(&weights)).unwrap();
        assert!(bisect(&data, &[0, 1, 2], &[1.0 - data.reference()[0]]).is_none());
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
