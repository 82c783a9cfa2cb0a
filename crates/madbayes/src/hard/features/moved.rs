//! How Z'Z and Z'X follow rows whose features change.

use crate::data::{Real, Rows};
use crate::linalg::{Kernel, Lanes, Vector, on_this_processor};

/// Rows that are added at once, in float64: few enough for the cache.
const TOGETHER: usize = 32;

/// The most features whose sums stay in registers.
const MOST: usize = 12;

/// Adds rows to sums of theirs, K x D: where `after` has a feature that `before` has not, the row is added to its sum,
/// where it is the other way round subtracted.
pub(super) struct Moved<'a, T> {
    pub rows: Rows<'a, T>,
    /// The features of each row, in as many words as they take.
    pub before: &'a [u64],
    pub after: &'a [u64],
    pub sums: &'a mut [f64],
}

impl<T: Real> Moved<'_, T> {
    /// Adds them.
    pub fn add(self) {
        on_this_processor(self);
    }
}

impl<T: Real> Kernel for Moved<'_, T> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        // SAFETY: this kernel runs with WIDE and FUSED, which is all that their vectors need.
        unsafe {
            if WIDE {
                self.panels::<<f64 as Lanes>::Wide>(MOST);
            } else if FUSED {
                self.panels::<<f64 as Lanes>::Narrow>(MOST / 2);
            } else {
                self.panels::<<f64 as Lanes>::Plain>(MOST / 2);
            }
        }
    }
}

impl<T: Real> Moved<'_, T> {
    /// Some rows that change after the other, with a panel of no more features than `most` after the other.
    ///
    /// # Safety
    /// Only in a kernel that runs with the instructions of V.
    #[inline(always)]
    unsafe fn panels<V: Vector<Number = f64>>(self, most: usize) {
        let d = self.rows.n_columns();
        let (k, stride) = (self.sums.len() / d, self.after.len() / self.rows.n_rows());
        let width = k.div_ceil(k.div_ceil(most)).next_multiple_of(2);
        let changes = |row: &usize| {
            let at = row * stride..(row + 1) * stride;
            self.before[at.clone()] != self.after[at]
        };
        let mut changed = (0..self.rows.n_rows()).filter(changes);
        let mut wide = vec![0.0; TOGETHER * d];
        let (mut some, mut signs) = ([0; TOGETHER], [[0.0; MOST]; TOGETHER]);
        loop {
            let mut n = 0;
            some.iter_mut().zip(&mut changed).for_each(|(some, row)| (*some, n) = (row, n + 1));
            for (wide, row) in wide.chunks_exact_mut(d).zip(&some[..n]) {
                wide.iter_mut().zip(self.rows.row(*row)).for_each(|(w, &x)| *w = x.into());
            }
            for (panel, sums) in self.sums.chunks_mut(width * d).enumerate() {
                for (signs, row) in signs.iter_mut().zip(&some[..n]) {
                    let of = |words: &[u64]| window(&words[row * stride..(row + 1) * stride], panel * width);
                    let (before, after) = (of(self.before), of(self.after));
                    for i in 0..MOST {
                        signs[i] = f64::from((after >> i & 1) as i32 - (before >> i & 1) as i32);
                    }
                }
                let rows = &wide[..n * d];
                // SAFETY: the caller vouches for the instructions.
                unsafe {
                    match width {
                        2 => add_signed::<V, 2>(rows, &signs[..n], sums, d),
                        4 => add_signed::<V, 4>(rows, &signs[..n], sums, d),
                        6 => add_signed::<V, 6>(rows, &signs[..n], sums, d),
                        8 => add_signed::<V, 8>(rows, &signs[..n], sums, d),
                        10 => add_signed::<V, 10>(rows, &signs[..n], sums, d),
                        _ => add_signed::<V, 12>(rows, &signs[..n], sums, d),
                    }
                }
            }
            if n < TOGETHER {
                return;
            }
        }
    }
}

/// The bits from one on, as many as a panel may have; 0 beyond the last.
#[inline(always)]
fn window(words: &[u64], first: usize) -> u32 {
    let (word, bit) = (first / 64, first % 64);
    let next = words.get(word + 1).map_or(0, |next| *next);
    ((u128::from(next) << 64 | u128::from(words[word])) >> bit) as u32
}

/// Adds each row to each of up to P sums with its sign, which is 1, 0 or -1: no product is rounded.
///
/// # Safety
/// Only in a kernel that runs with the instructions of V.
#[inline(always)]
unsafe fn add_signed<V: Vector<Number = f64>, const P: usize>(
    rows: &[f64],
    signs: &[[f64; MOST]],
    sums: &mut [f64],
    d: usize,
) {
    let (k, step) = (sums.len() / d, 2 * V::LANES);
    let whole = d / step * step;
    assert!(rows.len() == signs.len() * d && k <= P && P <= MOST);
    // SAFETY: the caller vouches for the instructions; two vectors begin at each step of whole ones, in rows and in sums.
    unsafe {
        for first in (0..whole).step_by(step) {
            let mut totals = [[V::splat(0.0); 2]; P];
            for p in 0..P.min(k) {
                let sum = sums.as_ptr().add(p * d + first);
                totals[p] = [V::load(sum), V::load(sum.add(V::LANES))];
            }
            for (row, signs) in rows.chunks_exact(d).zip(signs) {
                let x = row.as_ptr().add(first);
                let x = [V::load(x), V::load(x.add(V::LANES))];
                for p in 0..P {
                    let sign = V::splat(signs[p]);
                    totals[p] = [x[0].multiply_add(sign, totals[p][0]), x[1].multiply_add(sign, totals[p][1])];
                }
            }
            for p in 0..P.min(k) {
                let sum = sums.as_mut_ptr().add(p * d + first);
                totals[p][0].store(sum);
                totals[p][1].store(sum.add(V::LANES));
            }
        }
    }
    for (row, signs) in rows.chunks_exact(d).zip(signs) {
        for (sums, sign) in sums.chunks_exact_mut(d).zip(signs) {
            sums[whole..].iter_mut().zip(&row[whole..]).for_each(|(sum, x)| *sum += sign * x);
        }
    }
}

/// Adds to Z'Z, K x K, what rows change that had the features `before` and have those `after`: of 256 rows at a time each
/// feature is four words of bits, and two features have as many rows in common as both have bits.
pub(super) fn count_overlaps(before: &[u64], after: &[u64], k: usize, products: &mut [f64]) {
    on_this_processor(Overlaps { before, after, k, products });
}

struct Overlaps<'a> {
    before: &'a [u64],
    after: &'a [u64],
    k: usize,
    products: &'a mut [f64],
}

impl Kernel for Overlaps<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let k = self.k;
        let stride = k.div_ceil(64);
        let (mut columns, mut counts) = (vec![[0u64; 4]; stride * 64], vec![0i64; k * k]);
        for (before, after) in self.before.chunks(256 * stride).zip(self.after.chunks(256 * stride)) {
            if before == after {
                continue;
            }
            for (words, sign) in [(before, -1), (after, 1)] {
                if words.iter().all(|word| *word == 0) {
                    continue;
                }
                turn(words, stride, k.min(64), &mut columns);
                for i in 0..k {
                    for j in 0..=i {
                        let common = (0..4).map(|w| i64::from((columns[i][w] & columns[j][w]).count_ones()));
                        counts[i * k + j] += sign * common.sum::<i64>();
                    }
                }
            }
        }
        for i in 0..k {
            for j in 0..k {
                self.products[i * k + j] += counts[i.max(j) * k + i.min(j)] as f64;
            }
        }
    }
}

/// Words of up to 256 rows as words of features, of which the first `used` of each word are.
#[inline(always)]
fn turn(words: &[u64], stride: usize, used: usize, columns: &mut [[u64; 4]]) {
    columns.fill([0; 4]);
    for (quarter, words) in words.chunks(64 * stride).enumerate() {
        for word in 0..stride {
            let mut rows = [0u64; 64];
            rows.iter_mut().zip(words.chunks_exact(stride)).for_each(|(row, words)| *row = words[word]);
            for (bit, column) in columns[word * 64..][..used].iter_mut().enumerate() {
                // All rows of a feature at once: eight of them are a vector.
                column[quarter] = (0..64).fold(0, |turned, row| turned | (rows[row] >> bit & 1) << row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use crate::structure::Allocation;
    use rand::RngExt;

    #[test]
    fn sums_and_overlaps_follow_rows_that_change() {
        let mut rng = stream(2, Stream::Simulation);
        for (n, d, k) in [(1, 1, 1), (70, 6, 5), (300, 3, 70), (100, 37, 13), (90, 64, 10)] {
            let x: Vec<f32> = (0..n * d).map(|_| rng.random::<f32>() - 0.5).collect();
            let rows = Rows::new(&x, d).unwrap();
            let mut random = || Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<bool>()));
            let (mut none, mut before, mut after) = (Allocation::new(n, k), random(), random());
            let (mut sums, mut products) = (vec![0.0; k * d], vec![0.0; k * k]);
            for (before, after) in [(&mut none, &mut before.clone()), (&mut before, &mut after)] {
                let (before, after) = (before.words_mut(), after.words_mut());
                Moved { rows, before, after, sums: &mut sums }.add();
                count_overlaps(before, after, k, &mut products);
            }
            for i in 0..k {
                for j in 0..k {
                    let common = (0..n).filter(|row| after.get(*row, i) && after.get(*row, j)).count();
                    assert_eq!(products[i * k + j], common as f64);
                }
                for j in 0..d {
                    let on = (0..n).filter(|row| after.get(*row, i));
                    let sum: f64 = on.map(|row| f64::from(x[row * d + j])).sum();
                    assert!((sums[i * d + j] - sum).abs() < 1e-12);
                }
            }
        }
    }
}
