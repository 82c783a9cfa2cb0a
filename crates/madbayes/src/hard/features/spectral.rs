//! The spectral start: 0/1 columns in the column space of the data (after Slawski, Hein & Lutsik 2013).

use super::coordinates::Coordinates;
use crate::linalg::{Kernel, dot, on_this_processor};
use crate::random::Rng;
use crate::structure::Allocation;
use rand::RngExt;
use std::cmp::Ordering;

/// The most features for which all 2^K - 1 patterns are looked at.
pub(super) const ALL_PATTERNS: usize = 14;
/// Columns refined, per feature.
const CANDIDATES: usize = 6;
/// A column must stand out of the span of those chosen by this share of its square.
const INDEPENDENT: f64 = 1e-3;

/// K columns of 0 and 1 near the span of [1, the top K - 1 left singular vectors of the centred rows] (`base`), or of the
/// top K of the rows. Fewer where the data have fewer dimensions. With a random stream the rows that patterns are put on
/// are drawn by their length instead of the longest being taken.
pub(super) fn spectral(coordinates: &Coordinates, k: usize, base: bool, rng: Option<&mut Rng>) -> Allocation {
    let n = coordinates.n_rows;
    let vectors = if base { &coordinates.left_centred } else { &coordinates.left };
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(k);
    if base {
        basis.push(vec![(n as f64).sqrt().recip(); n]);
    }
    basis.extend(vectors.iter().take(k - basis.len()).cloned());
    let columns = columns_in_span(&basis, rng);
    Allocation::from_columns(n, &columns)
}

/// Independent columns of 0 and 1 nearest to the span of an orthonormal basis, one vector after the other.
pub(super) fn columns_in_span(basis: &[Vec<f64>], rng: Option<&mut Rng>) -> Vec<Vec<bool>> {
    let k = basis.len();
    if k == 0 {
        return Vec::new();
    }
    let rows = pivot_rows(basis, rng);
    let unit = columns_of_inverse(basis, &rows);
    let mut candidates: Vec<(f64, Vec<f64>)> = promising(&unit)
        .into_iter()
        .map(|pattern| {
            let mut column = vec![0.0; basis[0].len()];
            for (_, unit) in unit.iter().enumerate().filter(|(i, _)| pattern >> i & 1 == 1) {
                column.iter_mut().zip(unit).for_each(|(c, u)| *c += u);
            }
            refined(basis, column)
        })
        .collect();
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal)));
    let mut chosen: Vec<Vec<bool>> = Vec::new();
    let mut directions: Vec<Vec<f64>> = Vec::new();
    // Units themselves come last: they complete the basis where too few candidates are independent.
    let rest = unit.into_iter().map(|mut column| {
        round(&mut column);
        column
    });
    for column in candidates.into_iter().map(|c| c.1).chain(rest) {
        let mut direction = projected(basis, &column);
        let square = dot(&direction, &direction);
        for _ in 0..2 {
            for known in &directions {
                let along = dot(known, &direction);
                direction.iter_mut().zip(known).for_each(|(d, k)| *d -= along * k);
            }
        }
        let left = dot(&direction, &direction);
        if square > 0.0 && left > INDEPENDENT * square {
            direction.iter_mut().for_each(|d| *d /= left.sqrt());
            directions.push(direction);
            chosen.push(column.iter().map(|v| *v > 0.5).collect());
            if chosen.len() == k {
                break;
            }
        }
    }
    chosen
}

/// K rows on which the basis is well conditioned: pivoted Gram-Schmidt.
fn pivot_rows(basis: &[Vec<f64>], mut rng: Option<&mut Rng>) -> Vec<usize> {
    let (k, n) = (basis.len(), basis[0].len());
    let mut left: Vec<Vec<f64>> = (0..n).map(|i| basis.iter().map(|v| v[i]).collect()).collect();
    let mut rows = Vec::with_capacity(k);
    for _ in 0..k {
        let squares: Vec<f64> = left.iter().map(|row| dot(row, row)).collect();
        let mut row = (0..n).fold(0, |best, i| if squares[i] > squares[best] { i } else { best });
        if let Some(rng) = rng.as_deref_mut() {
            let mut at = rng.random::<f64>() * squares.iter().sum::<f64>();
            row = squares
                .iter()
                .position(|s| {
                    at -= s;
                    at < 0.0 && *s > 1e-9
                })
                .unwrap_or(row);
        }
        let direction: Vec<f64> = left[row].iter().map(|v| v / squares[row].sqrt()).collect();
        for other in &mut left {
            let along = dot(other, &direction);
            other.iter_mut().zip(&direction).for_each(|(o, d)| *o -= along * d);
        }
        rows.push(row);
    }
    rows
}

/// U T, T the inverse of U on the rows: column i is 1 on the i-th row and 0 on the others.
fn columns_of_inverse(basis: &[Vec<f64>], rows: &[usize]) -> Vec<Vec<f64>> {
    let k = basis.len();
    // Gauss-Jordan with row exchanges: [U(rows) | 1].
    let mut table: Vec<Vec<f64>> =
        (0..k).map(|i| basis.iter().map(|v| v[rows[i]]).chain((0..k).map(|j| f64::from(i == j))).collect()).collect();
    for column in 0..k {
        let pivot = (column..k).fold(
            column,
            |best, i| {
                if table[i][column].abs() > table[best][column].abs() { i } else { best }
            },
        );
        table.swap(column, pivot);
        let divisor = table[column][column];
        table[column].iter_mut().for_each(|v| *v /= divisor);
        let pivot_row = table[column].clone();
        for (_, row) in table.iter_mut().enumerate().filter(|(i, _)| *i != column) {
            let by = row[column];
            row.iter_mut().zip(&pivot_row).for_each(|(v, p)| *v -= by * p);
        }
    }
    (0..k)
        .map(|j| {
            let mut column = vec![0.0; basis[0].len()];
            for (i, vector) in basis.iter().enumerate() {
                let by = table[i][k + j];
                column.iter_mut().zip(vector).for_each(|(c, v)| *c += by * v);
            }
            column
        })
        .collect()
}

/// Patterns whose columns are nearest to their own rounding, best first.
fn promising(unit: &[Vec<f64>]) -> Vec<u64> {
    let k = unit.len();
    let mut scored: Vec<(f64, u64)> = Vec::new();
    let mut column = vec![0.0; unit[0].len()];
    if k <= ALL_PATTERNS {
        // Gray code: neighbours differ in one unit.
        let mut pattern = 0u64;
        for step in 1u64..1 << k {
            let bit = step.trailing_zeros() as usize;
            pattern ^= 1 << bit;
            let sign = if pattern >> bit & 1 == 1 { 1.0 } else { -1.0 };
            scored.push((moved_error(&mut column, &unit[bit], sign), pattern));
        }
    } else {
        let mut add = |bits: &[usize]| {
            column.fill(0.0);
            let mut error = 0.0;
            bits.iter().for_each(|&bit| error = moved_error(&mut column, &unit[bit], 1.0));
            scored.push((error, bits.iter().fold(0, |pattern, bit| pattern | 1 << bit)));
        };
        let all: Vec<usize> = (0..k).collect();
        add(&all);
        for a in 0..k {
            add(&[a]);
            for b in a + 1..k {
                add(&[a, b]);
                (b + 1..k).for_each(|c| add(&[a, b, c]));
            }
        }
    }
    scored.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    scored.truncate(CANDIDATES * k + 16);
    scored.into_iter().map(|s| s.1).collect()
}

/// column += sign unit; its squared distance to its own rounding.
fn moved_error(column: &mut [f64], unit: &[f64], sign: f64) -> f64 {
    let mut errors = [0.0; 8];
    let (heads, tail) = column.as_chunks_mut::<8>();
    let (units, unit_tail) = unit.as_chunks::<8>();
    for (c, u) in heads.iter_mut().zip(units) {
        for l in 0..8 {
            c[l] += sign * u[l];
            let rest = c[l] - f64::from(u8::from(c[l] > 0.5));
            errors[l] += rest * rest;
        }
    }
    let mut error: f64 = errors.iter().sum();
    for (c, u) in tail.iter_mut().zip(unit_tail) {
        *c += sign * u;
        let rest = *c - f64::from(u8::from(*c > 0.5));
        error += rest * rest;
    }
    error
}

/// The column projected onto the span and rounded again until it stays, with its squared distance from the span.
fn refined(basis: &[Vec<f64>], column: Vec<f64>) -> (f64, Vec<f64>) {
    on_this_processor(Refined { basis, column })
}

struct Refined<'a> {
    basis: &'a [Vec<f64>],
    column: Vec<f64>,
}

impl Kernel for Refined<'_> {
    type Output = (f64, Vec<f64>);

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> (f64, Vec<f64>) {
        let Refined { basis, mut column } = self;
        // Zeros and ones are their own squares.
        let distance = |column: &[f64], along: &[f64]| dot(column, column) - dot(along, along);
        round(&mut column);
        let mut along = projected(basis, &column);
        let mut error = distance(&column, &along);
        for _ in 0..10 {
            let mut next = vec![0.0; column.len()];
            for (by, vector) in along.iter().zip(basis) {
                next.iter_mut().zip(vector).for_each(|(i, v)| *i += by * v);
            }
            round(&mut next);
            let next_along = projected(basis, &next);
            let next_error = distance(&next, &next_along);
            if next == column || next_error >= error || !next.contains(&1.0) {
                break;
            }
            (column, along, error) = (next, next_along, next_error);
        }
        (error, column)
    }
}

/// To 0 or 1.
#[inline(always)]
fn round(column: &mut [f64]) {
    column.iter_mut().for_each(|v| *v = if *v > 0.5 { 1.0 } else { 0.0 });
}

/// U'b.
#[inline(always)]
fn projected(basis: &[Vec<f64>], column: &[f64]) -> Vec<f64> {
    basis.iter().map(|v| dot(v, column)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Rows};
    use crate::likelihood::collapsed_loss;
    use crate::random::{Stream, stream};

    /// X = Z A without noise, the first column of Z all ones where there is a base.
    fn exact(n: usize, d: usize, k: usize, base: bool, seed: u64) -> Vec<f64> {
        let mut rng = stream(seed, Stream::Simulation);
        let z: Vec<f64> = (0..n * k).map(|i| f64::from(u8::from(base && i % k == 0 || rng.random::<bool>()))).collect();
        let a: Vec<f64> = (0..k * d).map(|_| rng.random::<f64>() - 0.4).collect();
        (0..n * d).map(|e| (0..k).map(|i| z[e / d * k + i] * a[i * d + e % d]).sum()).collect()
    }

    #[test]
    fn data_without_noise_are_explained_by_the_start_alone() {
        for seed in 0..20 {
            let (n, d, k) = (60, 15, 2 + seed as usize % 5);
            for base in [true, false] {
                let x = exact(n, d, k, base, seed);
                let coordinates = Coordinates::new(&x, n, d, k);
                let z = spectral(&coordinates, k, base, None);
                let loss = collapsed_loss(&z, &Data::new(Rows::new(&x, d).unwrap()).unwrap());
                assert!(loss < 1e-9, "K = {k}, base {base}: {loss}");
                let mut rng = stream(seed, Stream::Restart(0));
                let z = spectral(&coordinates, k, base, Some(&mut rng));
                assert_eq!(z.n_features(), k);
            }
        }
    }

    #[test]
    fn many_features_give_as_many_independent_columns() {
        let x = exact(80, 40, 20, false, 3);
        let z = spectral(&Coordinates::new(&x, 80, 40, 20), 20, false, None);
        assert_eq!(z.n_features(), 20);
        assert!(spectral(&Coordinates::new(&x, 80, 40, 32), 32, false, None).n_features() <= 32);
    }
}
