//! The best split of one cluster in two that a few steps of 2-means along its widest direction can find.
//!
//! The way to it is sought with the numbers of the data as they are; what is told of the halves is summed in float64.

#[cfg(test)]
mod tests;

use crate::data::{Data, Real};
use crate::linalg::{Kernel, Lanes, Vector, add_and_square, on_this_processor};
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
                (true, true) => self.split::<FUSED, _>(Vectors::<T::Wide>::here()),
                (true, false) => self.split::<FUSED, _>(Vectors::<T::Narrow>::here()),
                (false, _) => self.split::<FUSED, _>(Vectors::<<T as Lanes>::Plain>::here()),
            }
        }
    }
}

impl<T: Real> Bisect<'_, T> {
    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    #[inline(always)]
    unsafe fn split<const FUSED: bool, V: Vector<Number = T>>(&self, vectors: Vectors<V>) -> Option<Bisection> {
        let step = self.rows.len().div_ceil(SAMPLE);
        let mut sample = Table::new(self, self.rows.iter().step_by(step), vectors);
        // A sample of equal rows says nothing about the others.
        if step > 1 && sample.farthest(vectors).1 == 0.0 {
            sample = Table::new(self, self.rows.iter(), vectors);
        }
        let (farthest, norm) = sample.farthest(vectors);
        let mut leaving = Vec::new();
        if norm > 0.0 {
            let plane = sample.two_means(farthest, norm, vectors);
            if step == 1 {
                sample.beyond(&plane, &mut leaving, vectors);
            } else {
                for rows in self.rows.chunks(SAMPLE) {
                    Table::new(self, rows.iter(), vectors).beyond(&plane, &mut leaving, vectors);
                }
            }
        }
        if leaving.is_empty() || leaving.len() == self.weighty().count() {
            leaving = vec![self.odd_row(sample.numbers[farthest])?];
        }
        // SAFETY: the caller vouches for FUSED.
        let split = unsafe { self.summed_up::<FUSED>(leaving) };
        (split.gain > 0.0).then_some(split)
    }

    /// The rows with weight.
    #[inline(always)]
    fn weighty(&self) -> impl Iterator<Item = u32> {
        self.rows.iter().copied().filter(|&row| self.data.weight(row as usize) > 0.0)
    }

    /// This row, or the first with weight where it has none, if there is another: a split wherever there are two different rows.
    #[inline(always)]
    fn odd_row(&self, row: u32) -> Option<u32> {
        let row = if self.data.weight(row as usize) > 0.0 { row } else { self.weighty().next()? };
        let values = |row: u32| self.data.rows().row(row as usize);
        self.weighty().any(|other| values(other) != values(row)).then_some(row)
    }

    /// What the rows that leave and those that stay have, in float64.
    ///
    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    #[inline(always)]
    unsafe fn summed_up<const FUSED: bool>(&self, leaving: Vec<u32>) -> Bisection {
        let reference: Vec<f64> = self.data.reference().iter().map(|&r| r.into()).collect();
        let mut leaver = vec![0.0; reference.len()];
        let (mut weight, mut square) = (0.0, 0.0);
        for &row in &leaving {
            let (values, w) = (self.data.rows().row(row as usize), self.data.weight(row as usize));
            // SAFETY: the caller vouches for FUSED.
            square += w * unsafe { add_and_square::<T, FUSED>(&mut leaver, values, &reference, w) };
            weight += w;
        }
        let all: f64 = match self.data.weights() {
            Some(weights) => self.rows.iter().map(|&row| weights[row as usize]).sum(),
            None => self.rows.len() as f64,
        };
        let weights = [all - weight, weight];
        let stayer = leaver.iter().zip(self.mean).map(|(leaver, mean)| (all * mean - leaver) / weights[0]);
        let offsets = [stayer.collect::<Vec<f64>>(), leaver.iter().map(|leaver| leaver / weight).collect()];
        let gap: f64 = offsets[0].iter().zip(&offsets[1]).map(|(a, b)| (a - b) * (a - b)).sum();
        Bisection { gain: weights[0] * weight / all * gap, leaving, offsets, weights, square }
    }
}

/// Rows that are looked at together: what they have in one column are one to four vectors.
const TILE: usize = 16;

/// A number for each of them; also a sum in as many parts as the largest vector has.
type Tile<T> = [T; TILE];

#[inline(always)]
fn total<T: Real>(parts: &Tile<T>) -> f64 {
    let mut sums: Tile<f64> = parts.map(Into::into);
    for half in [8, 4, 2, 1] {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
    }
    sums[0]
}

/// What the vectors of this processor do with tiles. Loops over arrays are left to half of a vector by the compiler.
#[derive(Clone, Copy)]
struct Vectors<V>(PhantomData<V>);

impl<T: Real, V: Vector<Number = T>> Vectors<V> {
    /// # Safety
    /// Only in a kernel that runs with the instructions of V, into which all is inlined.
    #[inline(always)]
    unsafe fn here() -> Self {
        const { assert!(V::LANES >= 4 && TILE.is_multiple_of(V::LANES), "whole vectors fill a tile, four at most") };
        Vectors(PhantomData)
    }

    /// parts += x y.
    #[inline(always)]
    fn add_products(self, parts: &mut Tile<T>, x: &Tile<T>, y: &Tile<T>) {
        // SAFETY: who made `self` vouches for the instructions; whole vectors fill a tile.
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
    fn along(self, tile: &[Tile<T>], direction: &[T]) -> Tile<T> {
        let mut along = [T::default(); TILE];
        // SAFETY: as above.
        unsafe {
            let mut sums = [V::splat(T::default()); TILE / 4];
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
    fn norms(self, tile: &[Tile<T>]) -> Tile<T> {
        let mut norms = [T::default(); TILE];
        // SAFETY: as above.
        unsafe {
            let mut sums = [V::splat(T::default()); TILE / 4];
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
    fn product(self, x: &Tile<T>, y: &Tile<T>) -> Tile<T> {
        let mut product = [T::default(); TILE];
        // SAFETY: as above.
        unsafe {
            for i in (0..TILE).step_by(V::LANES) {
                let one = V::load(x.as_ptr().add(i)).multiply_add(V::load(y.as_ptr().add(i)), V::splat(T::default()));
                one.store(product.as_mut_ptr().add(i));
            }
        }
        product
    }

    /// The row with weight that has the largest number, the first of equals, and that number: 0 where none has more.
    #[inline(always)]
    fn largest(self, numbers: &[Tile<T>], weights: &[Tile<T>]) -> (usize, T) {
        let mut parts = [T::default(); TILE];
        // SAFETY: as above.
        unsafe {
            let mut largest = V::splat(T::default());
            for (numbers, weights) in numbers.iter().zip(weights) {
                for i in (0..TILE).step_by(V::LANES) {
                    let weight = V::load(weights.as_ptr().add(i));
                    let zero = V::splat(T::default());
                    largest = largest.larger(weight.where_greater(zero, V::load(numbers.as_ptr().add(i)), zero));
                }
            }
            largest.store(parts.as_mut_ptr());
        }
        let largest = parts.iter().fold(T::default(), |a, &b| if b > a { b } else { a });
        let mut rows = numbers.as_flattened().iter().zip(weights.as_flattened());
        (rows.position(|(&number, &weight)| number == largest && weight > T::default()).unwrap_or(0), largest)
    }

    /// Writes rows that stand at these places column by column, less the reference point and the mean.
    ///
    /// # Safety
    /// Whole vectors of columns can be read from every place.
    #[inline(always)]
    unsafe fn turn(self, values: &[T], places: &[usize; TILE], minus: [&[T]; 2], columns: &mut [Tile<T>]) {
        let d = columns.len();
        debug_assert!(places.iter().all(|place| place + d.next_multiple_of(V::LANES) <= values.len()));
        // SAFETY: as above, and the caller vouches for the memory.
        unsafe {
            let one = V::splat(T::from_f64(1.0));
            for first in (0..d).step_by(V::LANES) {
                for side in (0..TILE).step_by(V::LANES) {
                    let square = V::turned(|i| values.as_ptr().add(places[side + i] + first));
                    for j in first..d.min(first + V::LANES) {
                        let column = square[j - first].multiply_add(one, V::splat(minus[0][j]));
                        column.multiply_add(one, V::splat(minus[1][j])).store(columns[j].as_mut_ptr().add(side));
                    }
                }
            }
        }
    }

    /// The weights of the rows whose numbers are above a limit, 0 for the others; whether one is not what it was before.
    #[inline(always)]
    fn weights_above(self, numbers: &Tile<T>, limit: T, weights: &Tile<T>, before: &mut Tile<T>) -> bool {
        let mut changes = [T::default(); TILE];
        // SAFETY: as above.
        unsafe {
            let (zero, minus) = (V::splat(T::default()), V::splat(T::from_f64(-1.0)));
            let mut largest = zero;
            for i in (0..TILE).step_by(V::LANES) {
                let number = V::load(numbers.as_ptr().add(i));
                let weight = number.where_greater(V::splat(limit), V::load(weights.as_ptr().add(i)), zero);
                let change = V::load(before.as_ptr().add(i)).multiply_add(minus, weight);
                largest = largest.larger(change).larger(change.multiply_add(minus, zero));
                weight.store(before.as_mut_ptr().add(i));
            }
            largest.store(changes.as_mut_ptr());
        }
        changes.iter().any(|change| *change > T::default())
    }
}

/// Deviations of some rows from the cluster's mean, tile by tile and there column by column, filled up with rows of no weight: then
/// every loop goes along rows, whatever their width.
struct Table<T> {
    n_columns: usize,
    numbers: Vec<u32>,
    /// In units of the mean weight of all rows.
    weights: Vec<Tile<T>>,
    /// `n_columns` for each tile.
    columns: Vec<Tile<T>>,
    /// Squared distance of each row from the mean.
    norms: Vec<Tile<T>>,
    /// sum of w, and of w x in each column: as the sums on one side are made, so that all rows there leave nothing on the other.
    weight: f64,
    sums: Vec<f64>,
}

impl<T: Real> Table<T> {
    #[inline(always)]
    fn new<'a, V: Vector<Number = T>>(
        of: &Bisect<T>,
        rows: impl Iterator<Item = &'a u32>,
        vectors: Vectors<V>,
    ) -> Self {
        let zero = T::default();
        let numbers: Vec<u32> = rows.copied().collect();
        let (data, d, tiles) = (of.data, of.data.n_columns(), numbers.len().div_ceil(TILE));
        let unit = data.n_rows() as f64 / data.total_weight();
        let minus_mean: Vec<T> = of.mean.iter().map(|&mean| T::from_f64(-mean)).collect();
        let minus_reference: Vec<T> = data.reference().iter().map(|&r| T::from_f64(-r.into())).collect();
        let values = data.rows().values();
        let mut columns = vec![[zero; TILE]; tiles * d];
        let (mut weights, mut norms) = (Vec::with_capacity(tiles), Vec::with_capacity(tiles));
        let (mut weight, mut sums) = ([zero; TILE], vec![[zero; TILE]; d]);
        for (numbers, columns) in numbers.chunks(TILE).zip(columns.chunks_exact_mut(d)) {
            // The last row stands where there are no more.
            let place = |i: usize| numbers[i.min(numbers.len() - 1)] as usize * d;
            let places: [usize; TILE] = std::array::from_fn(place);
            let mut tile_weights = [zero; TILE];
            for (w, &number) in tile_weights.iter_mut().zip(numbers) {
                *w = T::from_f64(unit * data.weight(number as usize));
            }
            let end = places.iter().fold(0, |end, place| end.max(*place)) + d.next_multiple_of(V::LANES);
            if end <= values.len() {
                // SAFETY: whole vectors of columns end before the values do.
                unsafe { vectors.turn(values, &places, [&minus_reference, &minus_mean], columns) };
            } else {
                for (j, column) in columns.iter_mut().enumerate() {
                    *column = places.map(|place| values[place + j] + minus_reference[j] + minus_mean[j]);
                }
            }
            for (sums, column) in sums.iter_mut().zip(&*columns) {
                vectors.add_products(sums, column, &tile_weights);
            }
            norms.push(vectors.norms(columns));
            vectors.add_products(&mut weight, &tile_weights, &[T::from_f64(1.0); TILE]);
            weights.push(tile_weights);
        }
        let (weight, sums) = (total(&weight), sums.iter().map(total).collect());
        Table { n_columns: d, numbers, weights, columns, norms, weight, sums }
    }

    /// The columns of each tile.
    #[inline(always)]
    fn tiles(&self) -> std::slice::ChunksExact<'_, Tile<T>> {
        self.columns.chunks_exact(self.n_columns)
    }

    /// The row with weight that is farthest from the mean, and its squared distance.
    #[inline(always)]
    fn farthest<V: Vector<Number = T>>(&self, vectors: Vectors<V>) -> (usize, f64) {
        let (row, norm) = vectors.largest(&self.norms, &self.weights);
        (row, norm.into())
    }

    /// The direction along which the rows are widest, sought from that of row `first` by multiplying with their scatter.
    #[inline(always)]
    fn widest<V: Vector<Number = T>>(&self, first: usize, norm: f64, vectors: Vectors<V>) -> Vec<T> {
        let d = self.n_columns;
        let tile = &self.columns[first / TILE * d..(first / TILE + 1) * d];
        let mut direction: Vec<T> =
            tile.iter().map(|column| T::from_f64(column[first % TILE].into() / norm.sqrt())).collect();
        let mut parts = vec![[T::default(); TILE]; d];
        let mut next = vec![0.0; d];
        for _ in 0..POWER_STEPS {
            parts.fill([T::default(); TILE]);
            for (tile, weights) in self.tiles().zip(&self.weights) {
                let along = vectors.product(&vectors.along(tile, &direction), weights);
                for (parts, column) in parts.iter_mut().zip(tile) {
                    vectors.add_products(parts, column, &along);
                }
            }
            next.iter_mut().zip(&parts).for_each(|(next, parts)| *next = total(parts));
            let length = next.iter().map(|x| x * x).sum::<f64>().sqrt();
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            direction.iter_mut().zip(&next).for_each(|(to, next)| *to = T::from_f64(next / length));
        }
        direction
    }

    /// Two means, begun with a cut through the mean across the widest direction, then halfway between the means of the sides.
    #[inline(always)]
    fn two_means<V: Vector<Number = T>>(&self, first: usize, norm: f64, vectors: Vectors<V>) -> Plane<T> {
        let mut plane = Plane { normal: self.widest(first, norm, vectors), offset: T::default() };
        let mut sides = Sides::new(self);
        for _ in 0..TWO_MEANS_STEPS {
            let changed = sides.cut(self, &plane, vectors);
            if !changed || !sides.place_between(self, &mut plane) {
                break;
            }
        }
        plane
    }

    /// Adds the rows with weight beyond a hyperplane.
    #[inline(always)]
    fn beyond<V: Vector<Number = T>>(&self, plane: &Plane<T>, rows: &mut Vec<u32>, vectors: Vectors<V>) {
        for (tile, (numbers, weights)) in self.tiles().zip(self.numbers.chunks(TILE).zip(&self.weights)) {
            let along = vectors.along(tile, &plane.normal);
            let is_beyond = |i: &usize| weights[*i] > T::default() && along[*i] > plane.offset;
            rows.extend((0..numbers.len()).filter(is_beyond).map(|i| numbers[i]));
        }
    }
}

/// The points x with normal'x = offset.
struct Plane<T> {
    normal: Vec<T>,
    offset: T,
}

/// Which rows of a table are on the second side of a hyperplane, and their sums.
struct Sides<T> {
    /// The weight of each row there, 0 for those on the first side.
    second: Vec<Tile<T>>,
    /// On the second side: sum of w, and of w x in each column.
    weight: Tile<T>,
    sums: Vec<Tile<T>>,
}

impl<T: Real> Sides<T> {
    /// All rows on the first side.
    #[inline(always)]
    fn new(table: &Table<T>) -> Self {
        let zeros = [T::default(); TILE];
        Sides { second: vec![zeros; table.weights.len()], weight: zeros, sums: vec![zeros; table.n_columns] }
    }

    /// Cuts a table by a hyperplane; whether a row with weight is on another side than before.
    #[inline(always)]
    fn cut<V: Vector<Number = T>>(&mut self, table: &Table<T>, plane: &Plane<T>, vectors: Vectors<V>) -> bool {
        self.sums.fill([T::default(); TILE]);
        self.weight = [T::default(); TILE];
        let mut changed = false;
        for ((tile, weights), second) in table.tiles().zip(&table.weights).zip(&mut self.second) {
            let along = vectors.along(tile, &plane.normal);
            changed |= vectors.weights_above(&along, plane.offset, weights, second);
            vectors.add_products(&mut self.weight, second, &[T::from_f64(1.0); TILE]);
            for (sums, column) in self.sums.iter_mut().zip(tile) {
                vectors.add_products(sums, column, second);
            }
        }
        changed
    }

    /// Puts a hyperplane halfway between the means of the sides; false where one of them has no weight.
    #[inline(always)]
    fn place_between(&self, table: &Table<T>, plane: &mut Plane<T>) -> bool {
        let second = total(&self.weight);
        let first = table.weight - second;
        if first <= 0.0 || second <= 0.0 {
            return false;
        }
        let mut offset = 0.0;
        for ((parts, all), normal) in self.sums.iter().zip(&table.sums).zip(&mut plane.normal) {
            let sum = total(parts);
            let (a, b) = ((all - sum) / first, sum / second);
            offset += 0.5 * (b * b - a * a);
            *normal = T::from_f64(b - a);
        }
        plane.offset = T::from_f64(offset);
        true
    }
}
