//! The best split of one cluster in two that a few steps of 2-means along its widest direction can find.
//!
//! The way to it is sought with the numbers of the data as they are; what is told of the halves is summed in float64.

#[cfg(test)]
mod tests;
mod vectors;

use crate::data::{Data, Real};
use crate::linalg::{Kernel, Lanes, Vector, add_and_square, add_offset_row, dot, on_this_processor};
use vectors::{TILE, Tile, Vectors};

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
    /// Weights of the rows that stay and of those that leave.
    pub weights: [f64; 2],
    /// sum of w |x|^2 of the rows that leave, relative to the reference point.
    pub square: f64,
}

impl Bisection {
    /// Means of the rows that stay and of those that leave, relative to the reference point like that of all. Not kept: few splits
    /// are made of those that are found, and means of many columns take more memory than anything else that is known of them.
    pub fn means<T: Real>(&self, data: &Data<T>, mean: &[f64]) -> [Vec<f64>; 2] {
        let mut leaver = on_this_processor(Sum { data, rows: &self.leaving });
        leaver.iter_mut().for_each(|sum| *sum /= self.weights[1]);
        let [stays, leaves] = self.weights;
        let stayer = mean.iter().zip(&leaver).map(|(mean, leaver)| mean + leaves / stays * (mean - leaver));
        [stayer.collect(), leaver]
    }
}

/// sum w x of some rows, relative to the reference point.
struct Sum<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [u32],
}

impl<T: Real> Kernel for Sum<'_, T> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<f64> {
        let mut sum = vec![0.0; self.data.n_columns()];
        for row in self.rows.iter().map(|row| *row as usize) {
            add_offset_row(&mut sum, self.data.rows().row(row), self.data.reference(), self.data.weight(row));
        }
        sum
    }
}

/// What splits are sought with, kept from cluster to cluster: memory for a few rows costs more than what is done with them.
#[derive(Debug, Default)]
pub(super) struct Room<T> {
    table: Table<T>,
    sides: Sides<T>,
    plane: Plane<T>,
    /// Sums in parts, for each column, and a number for each.
    parts: Vec<Tile<T>>,
    totals: Vec<f64>,
    leaver: Vec<f64>,
}

/// Splits the cluster of these rows with this mean; `None` if all its rows are equal.
pub(super) fn bisect<T: Real>(data: &Data<T>, rows: &[u32], mean: &[f64], room: &mut Room<T>) -> Option<Bisection> {
    on_this_processor(Bisect { cluster: Cluster { data, rows, mean }, room })
}

/// A cluster to be split.
#[derive(Clone, Copy)]
struct Cluster<'a, T> {
    data: &'a Data<'a, T>,
    rows: &'a [u32],
    mean: &'a [f64],
}

struct Bisect<'a, T> {
    cluster: Cluster<'a, T>,
    room: &'a mut Room<T>,
}

impl<T: Real> Kernel for Bisect<'_, T> {
    type Output = Option<Bisection>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Option<Bisection> {
        let Bisect { cluster, room } = self;
        // SAFETY: this kernel runs with FUSED and WIDE.
        unsafe {
            match (FUSED, WIDE) {
                (true, true) => cluster.split::<FUSED, _>(room, Vectors::<T::Wide>::here()),
                (true, false) => cluster.split::<FUSED, _>(room, Vectors::<T::Narrow>::here()),
                (false, _) => cluster.split::<FUSED, _>(room, Vectors::<<T as Lanes>::Plain>::here()),
            }
        }
    }
}

impl<T: Real> Cluster<'_, T> {
    /// # Safety
    /// `FUSED` only inside a kernel that runs with it.
    #[inline(always)]
    unsafe fn split<const FUSED: bool, V: Vector<Number = T>>(
        self,
        room: &mut Room<T>,
        vectors: Vectors<V>,
    ) -> Option<Bisection> {
        let step = self.rows.len().div_ceil(SAMPLE);
        room.table.fill(self, self.rows.iter().step_by(step), vectors);
        // A sample of equal rows says nothing about the others.
        if step > 1 && room.table.farthest(vectors).1 == 0.0 {
            room.table.fill(self, self.rows.iter(), vectors);
        }
        let (farthest, norm) = room.table.farthest(vectors);
        let farthest_row = room.table.numbers[farthest];
        let mut leaving = Vec::new();
        if norm > 0.0 {
            room.two_means(farthest, norm, vectors);
            if step == 1 {
                room.sides.second(&room.table, &mut leaving);
            } else {
                for rows in self.rows.chunks(SAMPLE) {
                    room.table.fill(self, rows.iter(), vectors);
                    room.sides.cut(&room.table, &room.plane, vectors);
                    room.sides.second(&room.table, &mut leaving);
                }
            }
        }
        if leaving.is_empty() || leaving.len() == self.weighty().count() {
            leaving = vec![self.odd_row(farthest_row)?];
        }
        // SAFETY: the caller vouches for FUSED.
        let split = unsafe { self.summed_up::<FUSED>(leaving, &mut room.leaver) };
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
    unsafe fn summed_up<const FUSED: bool>(self, leaving: Vec<u32>, leaver: &mut Vec<f64>) -> Bisection {
        let reference: Vec<f64> = self.data.reference().iter().map(|&r| r.into()).collect();
        leaver.clear();
        leaver.resize(reference.len(), 0.0);
        let (mut weight, mut square) = (0.0, 0.0);
        for &row in &leaving {
            let (values, w) = (self.data.rows().row(row as usize), self.data.weight(row as usize));
            // SAFETY: the caller vouches for FUSED.
            square += w * unsafe { add_and_square::<T, FUSED>(leaver, values, &reference, w) };
            weight += w;
        }
        let all: f64 = match self.data.weights() {
            Some(weights) => self.rows.iter().map(|&row| weights[row as usize]).sum(),
            None => self.rows.len() as f64,
        };
        let weights = [all - weight, weight];
        // Their means are w_a m_a = w m - w_b m_b.
        let gaps = leaver.iter().zip(self.mean).map(|(sum, mean)| (all * mean - sum) / weights[0] - sum / weight);
        let gap: f64 = gaps.map(|gap| gap * gap).sum();
        Bisection { gain: weights[0] * weight / all * gap, leaving, weights, square }
    }
}

/// Deviations of some rows from the cluster's mean, tile by tile and there column by column, filled up with rows of no weight: then
/// every loop goes along rows, whatever their width.
#[derive(Debug, Default)]
struct Table<T> {
    n_columns: usize,
    numbers: Vec<u32>,
    /// In units of the mean weight of all rows.
    weights: Vec<Tile<T>>,
    /// `n_columns` for each tile.
    columns: Vec<Tile<T>>,
    /// Squared distance of each row from the mean.
    norms: Vec<Tile<T>>,
    /// What is taken from every row: the reference point and the mean, their signs changed.
    minus: [Vec<T>; 2],
}

impl<T: Real> Table<T> {
    /// Takes these rows of a cluster instead of those it has.
    #[inline(always)]
    fn fill<'a, V: Vector<Number = T>>(
        &mut self,
        of: Cluster<T>,
        rows: impl Iterator<Item = &'a u32>,
        vectors: Vectors<V>,
    ) {
        let zero = T::default();
        self.numbers.clear();
        self.numbers.extend(rows);
        let (data, d, tiles) = (of.data, of.data.n_columns(), self.numbers.len().div_ceil(TILE));
        let unit = data.n_rows() as f64 / data.total_weight();
        self.n_columns = d;
        let [minus_reference, minus_mean] = &mut self.minus;
        minus_reference.clear();
        minus_reference.extend(data.reference().iter().map(|&r| T::from_f64(-r.into())));
        minus_mean.clear();
        minus_mean.extend(of.mean.iter().map(|&mean| T::from_f64(-mean)));
        let (values, apart) = data.rows().memory();
        self.columns.resize(tiles * d, [zero; TILE]);
        self.weights.clear();
        self.norms.clear();
        for (numbers, columns) in self.numbers.chunks(TILE).zip(self.columns.chunks_exact_mut(d)) {
            // The last row stands where there are no more.
            let place = |i: usize| numbers[i.min(numbers.len() - 1)] as usize * apart;
            let places: [usize; TILE] = std::array::from_fn(place);
            let mut tile_weights = [zero; TILE];
            for (w, &number) in tile_weights.iter_mut().zip(numbers) {
                *w = T::from_f64(unit * data.weight(number as usize));
            }
            let end = places.iter().fold(0, |end, place| end.max(*place)) + d.next_multiple_of(V::LANES);
            if end <= values.len() {
                // SAFETY: whole vectors of columns end before the values do.
                unsafe { vectors.turn(values, &places, [minus_reference, minus_mean], columns) };
            } else {
                for (j, column) in columns.iter_mut().enumerate() {
                    *column = places.map(|place| values[place + j] + minus_reference[j] + minus_mean[j]);
                }
            }
            self.norms.push(vectors.norms(columns));
            self.weights.push(tile_weights);
        }
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
}

impl<T: Real> Room<T> {
    /// Two means, begun with a cut through the mean across the widest direction, then halfway between the means of the sides. The
    /// sides are those of the plane it ends with.
    #[inline(always)]
    fn two_means<V: Vector<Number = T>>(&mut self, first: usize, norm: f64, vectors: Vectors<V>) {
        self.seek_widest(first, norm, vectors);
        let Room { table, sides, plane, totals, .. } = self;
        plane.offset = T::default();
        sides.begin(table, vectors);
        let mut steps = 0..TWO_MEANS_STEPS;
        while sides.cut(table, plane, vectors) && steps.next().is_some() && sides.place_between(plane, totals, vectors)
        {
        }
    }

    /// The direction along which the rows are widest, sought from that of row `first` by multiplying with their scatter.
    #[inline(always)]
    fn seek_widest<V: Vector<Number = T>>(&mut self, first: usize, norm: f64, vectors: Vectors<V>) {
        let Room { table, plane: Plane { normal, .. }, parts, totals, .. } = self;
        let (d, zeros) = (table.n_columns, [T::default(); TILE]);
        let (tile, length) = (&table.columns[first / TILE * d..(first / TILE + 1) * d], norm.sqrt());
        normal.clear();
        normal.extend(tile.iter().map(|column| T::from_f64(column[first % TILE].into() / length)));
        totals.resize(d, 0.0);
        for _ in 0..POWER_STEPS {
            parts.clear();
            parts.resize(d.next_multiple_of(TILE), zeros);
            for (tile, weights) in table.tiles().zip(&table.weights) {
                let along = vectors.product(&vectors.along(tile, normal), weights);
                for (parts, column) in parts.iter_mut().zip(tile) {
                    vectors.add_products(parts, column, &along);
                }
            }
            vectors.totals(parts, totals);
            let shrink = 1.0 / dot(totals, totals).sqrt();
            if !(shrink > 0.0 && shrink.is_finite()) {
                break;
            }
            normal.iter_mut().zip(&*totals).for_each(|(to, total)| *to = T::from_f64(total * shrink));
        }
    }
}

/// The points x with normal'x = offset.
#[derive(Debug, Default)]
struct Plane<T> {
    normal: Vec<T>,
    offset: T,
}

/// Which rows of a table are on the second side of a hyperplane, and their sums.
#[derive(Debug, Default)]
struct Sides<T> {
    /// The weight of each row there, 0 for those on the first side.
    second: Vec<Tile<T>>,
    /// On the second side the sum of w x in each column, then of w.
    sums: Vec<Tile<T>>,
    /// The same of both sides, added up.
    all: Vec<f64>,
}

impl<T: Real> Sides<T> {
    /// All rows on the first side. Sums of both are made as those of one are, so that all rows there leave nothing on the other.
    #[inline(always)]
    fn begin<V: Vector<Number = T>>(&mut self, table: &Table<T>, vectors: Vectors<V>) {
        self.second.clear();
        self.second.resize(table.weights.len(), [T::default(); TILE]);
        self.clear_sums(table);
        for (tile, weights) in table.tiles().zip(&table.weights) {
            self.add(tile, weights, vectors);
        }
        self.all.resize(table.n_columns + 1, 0.0);
        vectors.totals(&self.sums, &mut self.all);
    }

    #[inline(always)]
    fn clear_sums(&mut self, table: &Table<T>) {
        self.sums.clear();
        self.sums.resize((table.n_columns + 1).next_multiple_of(TILE), [T::default(); TILE]);
    }

    /// Adds the rows of a tile with these weights.
    #[inline(always)]
    fn add<V: Vector<Number = T>>(&mut self, tile: &[Tile<T>], weights: &Tile<T>, vectors: Vectors<V>) {
        for (sums, column) in self.sums.iter_mut().zip(tile) {
            vectors.add_products(sums, column, weights);
        }
        vectors.add_products(&mut self.sums[tile.len()], weights, &[T::from_f64(1.0); TILE]);
    }

    /// Cuts a table by a hyperplane; whether a row with weight is on another side than before.
    #[inline(always)]
    fn cut<V: Vector<Number = T>>(&mut self, table: &Table<T>, plane: &Plane<T>, vectors: Vectors<V>) -> bool {
        self.second.resize(table.weights.len(), [T::default(); TILE]);
        self.clear_sums(table);
        let mut changed = false;
        for (i, (tile, weights)) in table.tiles().zip(&table.weights).enumerate() {
            let along = vectors.along(tile, &plane.normal);
            changed |= vectors.weights_above(&along, plane.offset, weights, &mut self.second[i]);
            let second = self.second[i];
            self.add(tile, &second, vectors);
        }
        changed
    }

    /// Puts a hyperplane halfway between the means of the sides; false where one of them has no weight.
    #[inline(always)]
    fn place_between<V: Vector<Number = T>>(
        &self,
        plane: &mut Plane<T>,
        totals: &mut Vec<f64>,
        vectors: Vectors<V>,
    ) -> bool {
        let d = plane.normal.len();
        totals.resize(d + 1, 0.0);
        vectors.totals(&self.sums, totals);
        let (second, first) = (totals[d], self.all[d] - totals[d]);
        if first <= 0.0 || second <= 0.0 {
            return false;
        }
        let mut offset = 0.0;
        for ((sum, all), normal) in totals.iter().zip(&self.all).zip(&mut plane.normal) {
            let (a, b) = ((all - sum) / first, sum / second);
            offset += 0.5 * (b * b - a * a);
            *normal = T::from_f64(b - a);
        }
        plane.offset = T::from_f64(offset);
        true
    }

    /// Adds the rows with weight on the second side.
    #[inline(always)]
    fn second(&self, table: &Table<T>, rows: &mut Vec<u32>) {
        let all = table.numbers.iter().zip(self.second.as_flattened());
        rows.extend(all.filter(|(_, weight)| **weight > T::default()).map(|(number, _)| *number));
    }
}
