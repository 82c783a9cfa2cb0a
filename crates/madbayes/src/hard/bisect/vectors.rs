//! Rows in tiles, column by column, and what the vectors of the processor do with them.

use crate::data::Real;
use crate::linalg::Vector;
use std::marker::PhantomData;

/// Rows that are looked at together: what they have in one column are one to four vectors.
pub const TILE: usize = 16;

/// A number for each of them; also a sum in as many parts as a vector has.
pub type Tile<T> = [T; TILE];

/// What the vectors of this processor do with tiles. Loops over arrays are left to half of a vector by the compiler.
#[derive(Clone, Copy)]
pub struct Vectors<V>(PhantomData<V>);

impl<T: Real, V: Vector<Number = T>> Vectors<V> {
    /// # Safety
    /// Only in a kernel that runs with the instructions of V, into which all is inlined.
    #[inline(always)]
    pub unsafe fn here() -> Self {
        const { assert!(V::LANES >= 4 && TILE.is_multiple_of(V::LANES), "whole vectors fill a tile, four at most") };
        Vectors(PhantomData)
    }

    /// parts += x y, in as many parts as a vector has.
    #[inline(always)]
    pub fn add_products(self, parts: &mut Tile<T>, x: &Tile<T>, y: &Tile<T>) {
        // SAFETY: who made `self` vouches for the instructions; whole vectors fill a tile.
        unsafe {
            let mut sum = V::load(parts.as_ptr());
            for i in (0..TILE).step_by(V::LANES) {
                sum = V::load(x.as_ptr().add(i)).multiply_add(V::load(y.as_ptr().add(i)), sum);
            }
            sum.store(parts.as_mut_ptr());
        }
    }

    /// The sum of the parts of each tile: vectors are interleaved and added until one has the sum of another tile in each lane.
    #[inline(always)]
    pub fn totals(self, tiles: &[Tile<T>], totals: &mut [f64]) {
        debug_assert!(tiles.len().is_multiple_of(TILE) && totals.len() <= tiles.len(), "whole vectors of tiles");
        for (tiles, totals) in tiles.chunks_exact(V::LANES).zip(totals.chunks_mut(V::LANES)) {
            let mut numbers = [T::default(); TILE];
            // SAFETY: who made `self` vouches for the instructions; whole vectors fill a tile.
            unsafe {
                let mut sums = [V::splat(T::default()); TILE];
                for (sum, tile) in sums[..V::LANES].iter_mut().zip(tiles) {
                    *sum = V::load(tile.as_ptr());
                }
                for half in [8, 4, 2, 1].into_iter().filter(|half| *half < V::LANES) {
                    for i in 0..half {
                        let [first, second] = sums[i].interleave(sums[i + half]);
                        sums[i] = first.multiply_add(V::splat(T::from_f64(1.0)), second);
                    }
                }
                sums[0].store(numbers.as_mut_ptr());
            }
            totals.iter_mut().zip(numbers).for_each(|(total, number)| *total = number.into());
        }
    }

    /// The rows of a tile along a direction.
    #[inline(always)]
    pub fn along(self, tile: &[Tile<T>], direction: &[T]) -> Tile<T> {
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
    pub fn norms(self, tile: &[Tile<T>]) -> Tile<T> {
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
    pub fn product(self, x: &Tile<T>, y: &Tile<T>) -> Tile<T> {
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
    pub fn largest(self, numbers: &[Tile<T>], weights: &[Tile<T>]) -> (usize, T) {
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
    pub unsafe fn turn(self, values: &[T], places: &[usize; TILE], minus: [&[T]; 2], columns: &mut [Tile<T>]) {
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
    pub fn weights_above(self, numbers: &Tile<T>, limit: T, weights: &Tile<T>, before: &mut Tile<T>) -> bool {
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
