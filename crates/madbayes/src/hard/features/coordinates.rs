//! Data in principal coordinates: at most min(N, D) columns, the same loss for every allocation.

use super::summary::multiply;
use crate::linalg::dot;
use crate::random::{Stream, stream};
use faer::linalg::matmul::matmul;
use faer::linalg::solvers::SelfAdjointEigen;
use faer::{Accum, Mat, MatRef, Par, Side};
use rand::RngExt;

/// The most rows or columns for which all axes are found.
const ALL: usize = 512;
/// Further vectors, and rounds, of the subspace iteration for more.
const FURTHER: usize = 8;
const ROUNDS: usize = 12;
/// Axes whose share of the largest square is below this are rounding.
const NOTHING: f64 = 1e-14;

/// Rows in principal coordinates, about the origin, with the directions a spectral start looks in.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub n_rows: usize,
    pub n_columns: usize,
    /// N x R, the first column the longest.
    pub values: Vec<f64>,
    /// Squared lengths of all principal axes, largest first; none where not all were found.
    pub squares: Vec<f64>,
    /// Left singular vectors of the rows, one after the other.
    pub left: Vec<Vec<f64>>,
    /// The same of the rows less their mean.
    pub left_centred: Vec<Vec<f64>>,
}

impl Coordinates {
    /// Of N x D values, with `n_vectors` singular vectors where there are as many. Rows of few columns stay as they are
    /// where no vectors are wanted; so do those with too many of both for all axes to be found.
    pub fn new(values: &[f64], n_rows: usize, n_columns: usize, n_vectors: usize) -> Self {
        let small = n_rows.min(n_columns);
        if small > ALL || n_vectors == 0 && n_columns <= n_rows {
            let left = leading(values, n_rows, n_columns, n_vectors);
            let centred = centred(values, n_columns).unwrap_or_default();
            let left_centred =
                if centred.is_empty() { left.clone() } else { leading(&centred, n_rows, n_columns, n_vectors) };
            let (values, squares) = (values.to_vec(), Vec::new());
            return Coordinates { n_rows, n_columns, values, squares, left, left_centred };
        }
        let (squares, values) = rotated(values, n_rows, n_columns);
        let left = vectors(&squares, &values, n_rows, n_vectors);
        let left_centred = match centred(&values, squares.len()) {
            None => left.clone(),
            Some(centred) => {
                let (squares, values) = rotated(&centred, n_rows, squares.len());
                vectors(&squares, &values, n_rows, n_vectors)
            }
        };
        Coordinates { n_rows, n_columns: squares.len(), values, squares, left, left_centred }
    }
}

/// The values less their column means; none where the means are 0.
fn centred(values: &[f64], d: usize) -> Option<Vec<f64>> {
    let n = values.len() / d;
    let mut means = vec![0.0; d];
    values.chunks_exact(d).for_each(|row| means.iter_mut().zip(row).for_each(|(m, x)| *m += x / n as f64));
    let (offset, total) = (n as f64 * dot(&means, &means), dot(values, values));
    (offset > 1e-12 * total).then(|| values.iter().zip(means.iter().cycle()).map(|(x, m)| x - m).collect())
}

/// The first columns of rotated values, scaled to length 1.
fn vectors(squares: &[f64], values: &[f64], n: usize, wanted: usize) -> Vec<Vec<f64>> {
    let r = squares.len();
    let column = |j: usize| (0..n).map(|row| values[row * r + j] / squares[j].sqrt()).collect();
    (0..r.min(wanted)).filter(|j| squares[*j] > 0.0).map(column).collect()
}

/// The leading left singular vectors by subspace iteration: Q <- orthonormal basis of X X'Q.
fn leading(values: &[f64], n: usize, d: usize, wanted: usize) -> Vec<Vec<f64>> {
    let width = (wanted + FURTHER).min(n.min(d));
    if wanted == 0 {
        return Vec::new();
    }
    let mut rng = stream(0, Stream::Simulation);
    let x = MatRef::from_row_major_slice(values, n, d);
    let mut basis = Mat::from_fn(n, width, |_, _| rng.random::<f64>() - 0.5);
    let mut image = Mat::<f64>::zeros(d, width);
    for _ in 0..ROUNDS {
        matmul(image.as_mut(), Accum::Replace, x.transpose(), basis.as_ref(), 1.0, Par::Seq);
        matmul(basis.as_mut(), Accum::Replace, x, image.as_ref(), 1.0, Par::Seq);
        basis = basis.qr().compute_thin_Q();
    }
    // Within the subspace: the axes of the rows of Q'X.
    matmul(image.as_mut(), Accum::Replace, x.transpose(), basis.as_ref(), 1.0, Par::Seq);
    let inner = image.transpose() * &image;
    let Ok(eigen) = SelfAdjointEigen::new(inner.as_ref(), Side::Lower) else { return Vec::new() };
    let turned = &basis * eigen.U();
    (0..wanted.min(width)).map(|j| (0..n).map(|row| turned[(row, width - 1 - j)]).collect()).collect()
}

/// Squared lengths of the principal axes, largest first, and the rows in these coordinates: by the smaller of X X' and
/// X'X. Never without a column.
fn rotated(values: &[f64], n: usize, d: usize) -> (Vec<f64>, Vec<f64>) {
    let small = n.min(d);
    let x = MatRef::from_row_major_slice(values, n, d);
    let products = if n <= d {
        let mut products = vec![0.0; n * n];
        multiply(&mut products, n, n, values, values, d);
        products
    } else {
        let mut products = Mat::<f64>::zeros(d, d);
        matmul(products.as_mut(), Accum::Replace, x.transpose(), x, 1.0, Par::Seq);
        (0..d * d).map(|e| products[(e / d, e % d)]).collect()
    };
    let products = MatRef::from_row_major_slice(&products, small, small);
    let Ok(eigen) = SelfAdjointEigen::new(products, Side::Lower) else {
        // Never seen to fail on finite numbers; the rows as they are serve as well.
        return (vec![1.0; d], values.to_vec());
    };
    let (lengths, axes) = (eigen.S().column_vector(), eigen.U());
    let largest = lengths[small - 1].max(0.0);
    let kept = (0..small).rev().take_while(|&j| lengths[j] > NOTHING * largest).count();
    if kept == 0 {
        return (vec![1.0], vec![0.0; n]);
    }
    let squares: Vec<f64> = (0..kept).map(|j| lengths[small - 1 - j]).collect();
    let mut turned = vec![0.0; n * kept];
    if n <= d {
        for row in 0..n {
            (0..kept).for_each(|j| turned[row * kept + j] = axes[(row, n - 1 - j)] * squares[j].sqrt());
        }
    } else {
        let axes: Vec<f64> = (0..kept * d).map(|e| axes[(e % d, d - 1 - e / d)]).collect();
        multiply(&mut turned, n, kept, values, &axes, d);
    }
    (squares, turned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_products_of_rows_are_kept_and_vectors_are_orthonormal() {
        for (n, d) in [(6, 15), (20, 4), (5, 5)] {
            let mut rng = stream(n as u64, Stream::Simulation);
            let values: Vec<f64> = (0..n * d).map(|_| rng.random::<f64>()).collect();
            let turned = Coordinates::new(&values, n, d, 3);
            let r = turned.n_columns;
            assert!(r <= n.min(d));
            let inner = |v: &[f64], w: &[f64]| v.iter().zip(w).map(|(a, b)| a * b).sum::<f64>();
            for i in 0..n {
                for j in 0..n {
                    let before = inner(&values[i * d..(i + 1) * d], &values[j * d..(j + 1) * d]);
                    let after = inner(&turned.values[i * r..(i + 1) * r], &turned.values[j * r..(j + 1) * r]);
                    assert!((before - after).abs() < 1e-10);
                }
            }
            for vectors in [&turned.left, &turned.left_centred] {
                assert_eq!(vectors.len(), 3);
                for i in 0..3 {
                    (0..3).for_each(|j| assert!((inner(&vectors[i], &vectors[j]) - f64::from(i == j)).abs() < 1e-9));
                }
            }
            assert!(turned.left_centred.iter().all(|v| v.iter().sum::<f64>().abs() < 1e-9));
        }
    }
}
