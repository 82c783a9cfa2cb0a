//! Data in principal coordinates: at most min(N, D) columns, the same loss for every allocation.

use super::summary::multiply;
use faer::linalg::solvers::SelfAdjointEigen;
use faer::{Mat, MatRef, Side};

/// The most coordinates kept; what lies beyond is the same for all but counts in no product.
const MOST: usize = 256;
/// Axes whose share of the largest square is below this are rounding.
const NOTHING: f64 = 1e-14;

/// Rows in principal coordinates, about the origin, with the directions a spectral start looks in.
#[derive(Debug, Clone)]
pub(super) struct Coordinates {
    pub n_rows: usize,
    pub n_columns: usize,
    /// N x R, the first column the longest.
    pub values: Vec<f64>,
    /// Left singular vectors of the rows, one after the other.
    pub left: Vec<Vec<f64>>,
    /// The same of the rows less their mean.
    pub left_centred: Vec<Vec<f64>>,
}

impl Coordinates {
    /// Of N x D values, with `n_vectors` singular vectors where there are as many.
    pub fn new(values: &[f64], n_rows: usize, n_columns: usize, n_vectors: usize) -> Self {
        let (squares, values) = rotated(values, n_rows, n_columns);
        let r = squares.len();
        let column = |j: usize, centre: f64, square: f64| -> Vec<f64> {
            (0..n_rows).map(|n| (values[n * r + j] - centre) / square.sqrt()).collect()
        };
        let left: Vec<Vec<f64>> = (0..r.min(n_vectors)).map(|j| column(j, 0.0, squares[j])).collect();
        let means: Vec<f64> =
            (0..r).map(|j| (0..n_rows).map(|n| values[n * r + j]).sum::<f64>() / n_rows as f64).collect();
        let offset = n_rows as f64 * means.iter().map(|m| m * m).sum::<f64>();
        let left_centred = if offset <= 1e-12 * squares.iter().sum::<f64>() {
            left.clone()
        } else {
            let centred: Vec<f64> = values.iter().zip(means.iter().cycle()).map(|(x, m)| x - m).collect();
            let (squares, turned) = rotated(&centred, n_rows, r);
            let s = squares.len();
            let column = |j: usize| (0..n_rows).map(|n| turned[n * s + j] / squares[j].sqrt()).collect();
            (0..s.min(n_vectors)).map(column).collect()
        };
        Coordinates { n_rows, n_columns: r, values, left, left_centred }
    }
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
        faer::linalg::matmul::matmul(products.as_mut(), faer::Accum::Replace, x.transpose(), x, 1.0, faer::Par::Seq);
        (0..d * d).map(|e| products[(e / d, e % d)]).collect()
    };
    let products = MatRef::from_row_major_slice(&products, small, small);
    let Ok(eigen) = SelfAdjointEigen::new(products, Side::Lower) else {
        // Never seen to fail on finite numbers; the rows as they are serve as well.
        return (vec![1.0; d], values.to_vec());
    };
    let (lengths, axes) = (eigen.S().column_vector(), eigen.U());
    let largest = lengths[small - 1].max(0.0);
    let kept = (0..small).rev().take(MOST).take_while(|&j| lengths[j] > NOTHING * largest).count();
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
    use crate::random::{Stream, stream};
    use rand::RngExt;

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
