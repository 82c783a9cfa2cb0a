//! How Z'Z and Z'X follow rows whose features change.

use crate::data::{Real, Rows};
use crate::linalg::{Kernel, on_this_processor};

/// Features that share a table, and the patterns of bits they may have.
const BITS: usize = 5;
const PATTERNS: usize = 1 << BITS;

/// Tables that are filled at once, and columns of a table: few enough for the nearest cache.
const TABLES: usize = 2;
const SLICE: usize = 64;

/// What a table costs before the first row, and each row of it, in rows added to the sum of one feature.
const EMPTY: usize = 64;
const ROW: usize = 2;

/// Adds rows to sums of theirs, K x D: where `after` has a feature that `before` has not, the row is added to its sum,
/// where it is the other way round subtracted.
///
/// Many rows are added pattern by pattern: to one number in a table for each five features, not to that of each feature. What
/// has a bit set is then the sum of the patterns that have it.
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
        let Moved { rows, before, after, sums } = self;
        let (k, d) = (sums.len() / rows.n_columns(), rows.n_columns());
        let stride = after.len() / rows.n_rows();
        let (mut changed, mut flips) = (Vec::with_capacity(rows.n_rows()), 0);
        for row in 0..rows.n_rows() {
            let different = (row * stride..(row + 1) * stride).map(|at| (before[at] ^ after[at]).count_ones());
            let different: u32 = different.sum();
            if different > 0 {
                changed.push(row);
                flips += different as usize;
            }
        }
        let of = |row: usize| (&before[row * stride..(row + 1) * stride], &after[row * stride..(row + 1) * stride]);
        let together = BITS * TABLES;
        if flips < k.div_ceil(together) * (EMPTY + ROW * changed.len()) {
            for row in changed {
                let (before, after) = of(row);
                for feature in 0..k {
                    let has = |words: &[u64]| words[feature / 64] >> (feature % 64) & 1 == 1;
                    if has(before) != has(after) {
                        let sign = if has(after) { 1.0 } else { -1.0 };
                        let sum = &mut sums[feature * d..(feature + 1) * d];
                        sum.iter_mut().zip(rows.row(row)).for_each(|(sum, &x)| *sum += sign * Into::<f64>::into(x));
                    }
                }
            }
            return;
        }
        let mut patterns = Vec::with_capacity(changed.len());
        let mut tables = [[[0.0; SLICE]; PATTERNS]; TABLES];
        for (panel, sums) in sums.chunks_mut(together * d).enumerate() {
            patterns.clear();
            patterns.extend(changed.iter().map(|&row| {
                let (before, after) = of(row);
                let (before, after) = (window(before, panel * together), window(after, panel * together));
                (row, after & !before, before & !after)
            }));
            for first in (0..d).step_by(SLICE) {
                let last = d.min(first + SLICE);
                tables.as_flattened_mut().iter_mut().for_each(|table| table.fill(0.0));
                for &(row, gained, lost) in &patterns {
                    let row = &rows.row(row)[first..last];
                    add_signed(row, gained, 1.0, &mut tables);
                    if lost > 0 {
                        add_signed(row, lost, -1.0, &mut tables);
                    }
                }
                for (table, sums) in tables.iter_mut().zip(sums.chunks_mut(BITS * d)) {
                    take_apart(table, sums, d, first);
                }
            }
        }
    }
}

/// The bits from one on, as many as a panel may have; 0 beyond the last.
#[inline(always)]
fn window(words: &[u64], first: usize) -> usize {
    let (word, bit) = (first / 64, first % 64);
    let next = words.get(word + 1).map_or(0, |next| *next);
    ((u128::from(next) << 64 | u128::from(words[word])) >> bit) as usize & ((1 << (BITS * TABLES)) - 1)
}

/// Adds a row, with its sign, to what rows of its pattern have in each of the tables.
#[inline(always)]
fn add_signed<T: Real>(row: &[T], pattern: usize, sign: f64, tables: &mut [[[f64; SLICE]; PATTERNS]; TABLES]) {
    let [low, high] = tables;
    let (low, high) = (&mut low[pattern % PATTERNS], &mut high[pattern >> BITS]);
    // Whole slices have a length that the compiler knows.
    if let Ok(row) = <&[T; SLICE]>::try_from(row) {
        for j in 0..SLICE {
            let x = sign * Into::<f64>::into(row[j]);
            low[j] += x;
            high[j] += x;
        }
    } else {
        for (j, &x) in row.iter().enumerate() {
            let x = sign * x.into();
            low[j] += x;
            high[j] += x;
        }
    }
}

/// Adds to the columns of each feature from `first` on the patterns that have it, the last bit first: without it, a pattern is one of
/// those before.
#[inline(always)]
fn take_apart(table: &mut [[f64; SLICE]; PATTERNS], sums: &mut [f64], d: usize, first: usize) {
    for bit in (0..sums.len() / d).rev() {
        let (without, with) = table.split_at_mut(1 << bit);
        let sum = &mut sums[bit * d + first..d.min(first + SLICE) + bit * d];
        for (without, with) in without.iter_mut().zip(with) {
            sum.iter_mut().zip(&*with).for_each(|(sum, x)| *sum += x);
            without.iter_mut().zip(with).for_each(|(without, x)| *without += *x);
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
