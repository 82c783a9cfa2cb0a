//! Rows less their mean, in float64 a block at a time, and their products: X X', X'X and weights * X.

use crate::data::{Data, Real, Rows};
use crate::parallel::Workers;
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};
use std::ops::Range;

/// Numbers of a block of centred rows: it stays in the cache.
pub(super) const BLOCK: usize = 1 << 18;
/// The largest number of partial sums of a matrix of products; fixed, so that threads do not change the order of sums.
const PARTS: usize = 8;

/// Rows seen from their mean, in float64, a block at a time.
pub(super) struct Centred<'a, T> {
    pub rows: Rows<'a, T>,
    pub mean: Vec<f64>,
}

impl<'a, T: Real> Centred<'a, T> {
    /// About the column means in float64.
    pub fn new(data: &Data<'a, T>) -> Self {
        Centred { rows: data.rows(), mean: means(data) }
    }

    /// Some rows and columns, less the mean.
    pub fn block<'b>(&self, buffer: &'b mut Vec<f64>, rows: Range<usize>, columns: Range<usize>) -> MatRef<'b, f64> {
        buffer.clear();
        for n in rows.clone() {
            let cells = self.rows.row(n)[columns.clone()].iter().zip(&self.mean[columns.clone()]);
            buffer.extend(cells.map(|(&x, mean)| x.into() - mean));
        }
        MatRef::from_row_major_slice(buffer, rows.len(), columns.len())
    }

    /// X X' (wide) or X'X of the centred rows, row by row; only the lower triangle is filled.
    pub fn products(&self, wide: bool, workers: &Workers) -> Vec<f64> {
        let (n, d) = (self.rows.n_rows(), self.rows.n_columns());
        let (order, length) = if wide { (n, d) } else { (d, n) };
        let parts = (length / (4 * order)).clamp(1, PARTS);
        let bound = |part: usize| part * length / parts;
        let partial = workers.map(parts, |part| {
            let mut sum = vec![0.0; order * order];
            let mut buffer = Vec::new();
            for piece in pieces(bound(part)..bound(part + 1), (BLOCK / order).max(256)) {
                let block = match wide {
                    true => self.block(&mut buffer, 0..n, piece),
                    false => self.block(&mut buffer, piece, 0..d).transpose(),
                };
                let sum = MatMut::from_row_major_slice_mut(&mut sum, order, order);
                let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
                triangular::matmul(sum, lower, Accum::Add, block, full, block.transpose(), full, 1.0, Par::Seq);
            }
            sum
        });
        let mut partial = partial.into_iter();
        let mut sum = partial.next().unwrap_or_default();
        partial.for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x));
        sum
    }

    /// weights * X, K x D, from weights K x N.
    pub fn combine(&self, weights: MatRef<f64>, out: &mut [f64], workers: &Workers) {
        let (n, d) = (self.rows.n_rows(), self.rows.n_columns());
        let mut views = Vec::new();
        let mut rest = MatMut::from_row_major_slice_mut(out, weights.nrows(), d);
        for columns in pieces(0..d, (BLOCK / n).max(256)) {
            let (view, later) = rest.split_at_col_mut(columns.len());
            views.push((columns, view));
            rest = later;
        }
        workers.map_mut(&mut views, |_, (columns, view)| {
            let mut buffer = Vec::new();
            let block = self.block(&mut buffer, 0..n, columns.clone());
            matmul(view.as_mut(), Accum::Replace, weights, block, 1.0, Par::Seq);
        });
    }
}

/// Consecutive ranges of at most `size` that cover `all`.
pub(super) fn pieces(all: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(size).map(move |start| start..(start + size).min(end))
}

/// Column means in float64, about the reference point.
fn means<T: Real>(data: &Data<T>) -> Vec<f64> {
    let d = data.n_columns();
    let mut shifts = vec![0.0; d];
    for chunk in 0..data.n_chunks() {
        let (start, end) = data.chunk(chunk);
        let mut partial = vec![0.0; d];
        for row in data.rows().slice(start, end).iter() {
            for j in 0..d {
                partial[j] += row[j].into() - data.reference()[j].into();
            }
        }
        shifts.iter_mut().zip(&partial).for_each(|(shift, part)| *shift += part);
    }
    let n = data.n_rows() as f64;
    data.reference().iter().zip(&shifts).map(|(&reference, shift)| reference.into() + shift / n).collect()
}
