//! What a pass keeps of a chunk of rows: Z'Z, Z'X, and the row of largest residual.

use super::row_problem::{RowProblem, Scratch};
use crate::data::{Real, Rows};
use crate::structure::Allocation;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Rows worked on at once: few enough to stay in the cache.
pub(super) const BLOCK: usize = 256;

/// Sums over rows.
#[derive(Debug, Clone)]
pub(super) struct Summary {
    k: usize,
    d: usize,
    /// Z'Z, K x K.
    pub products: Vec<f64>,
    /// Z'X, K x D.
    pub sums: Vec<f64>,
    /// Rows whose features changed.
    pub changed: usize,
    /// The largest squared residual from the frozen components, and its row; the first of equals.
    pub far: Option<(f64, usize)>,
}

impl Summary {
    /// Of no rows.
    pub fn new(k: usize, d: usize) -> Self {
        Summary { k, d, products: vec![0.0; k * k], sums: vec![0.0; k * d], changed: 0, far: None }
    }

    /// Adds the sums of later rows.
    pub fn merge(&mut self, later: &Summary) {
        self.products.iter_mut().zip(&later.products).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&later.sums).for_each(|(t, p)| *t += p);
        self.changed += later.changed;
        if later.far.is_some_and(|far| self.far.is_none_or(|known| far.0 > known.0)) {
            self.far = later.far;
        }
    }

    /// Of these features only, in this order.
    pub fn select(&self, features: &[usize]) -> Summary {
        let (k, d) = (self.k, self.d);
        let pairs = features.iter().flat_map(|i| features.iter().map(move |j| i * k + j));
        Summary {
            k: features.len(),
            d,
            products: pairs.map(|e| self.products[e]).collect(),
            sums: features.iter().flat_map(|i| &self.sums[i * d..(i + 1) * d]).copied().collect(),
            ..*self
        }
    }

    /// As if a further feature were on for this row alone.
    pub fn open<T: Real>(&mut self, allocation: &Allocation, row: usize, values: &[T]) {
        let k = self.k;
        let mut products = vec![0.0; (k + 1) * (k + 1)];
        for i in 0..k {
            products[i * (k + 1)..][..k].copy_from_slice(&self.products[i * k..(i + 1) * k]);
        }
        for i in allocation.features_of(row).chain([k]) {
            products[i * (k + 1) + k] = 1.0;
            products[k * (k + 1) + i] = 1.0;
        }
        self.sums.extend(values.iter().map(|&x| Into::<f64>::into(x)));
        self.products = products;
        self.k += 1;
    }

    /// Solves the problem of every row of a chunk, where there is one, and adds the rows.
    pub fn add<T: Real>(
        &mut self,
        rows: Rows<T>,
        first_row: usize,
        squares: &[f64],
        words: &mut [u64],
        components: &[f64],
        problem: Option<&RowProblem>,
    ) {
        let (k, d) = (self.k, self.d);
        let stride = words.len() / rows.n_rows();
        let mut wide = Vec::new();
        let mut c = vec![0.0; BLOCK.min(rows.n_rows()) * k];
        let mut bits = c.clone();
        let mut costs = vec![0.0; BLOCK.min(rows.n_rows())];
        let mut scratch = Scratch::default();
        for start in (0..rows.n_rows()).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows.n_rows());
            let n = end - start;
            let x = widened(rows.slice(start, end).values(), &mut wide);
            let words = &mut words[start * stride..end * stride];
            if let Some(problem) = problem {
                let x = MatRef::from_row_major_slice(x, n, d);
                let components = MatRef::from_row_major_slice(components, k, d).transpose();
                let to = MatMut::from_column_major_slice_mut(&mut c[..n * k], n, k);
                matmul(to, Accum::Replace, x, components, 1.0, Par::Seq);
                self.changed += problem.solve_block(&c[..n * k], words, &mut costs[..n], &mut scratch);
                for i in 0..n {
                    let residual = squares[start + i] + costs[i];
                    if self.far.is_none_or(|far| residual > far.0) {
                        self.far = Some((residual, first_row + start + i));
                    }
                }
            }
            for (z, bits) in words.chunks_exact(stride).zip(bits.chunks_exact_mut(k)) {
                for (feature, bit) in bits.iter_mut().enumerate() {
                    *bit = (z[feature / 64] >> (feature % 64) & 1) as f64;
                }
            }
            let z = MatRef::from_row_major_slice(&bits[..n * k], n, k);
            let x = MatRef::from_row_major_slice(x, n, d);
            add_product(&mut self.products, z, z);
            add_product(&mut self.sums, z, x);
        }
    }
}

/// The values as float64, without a copy where they are.
fn widened<'a, T: Real>(values: &'a [T], buffer: &'a mut Vec<f64>) -> &'a [f64] {
    if let Some(same) = T::as_f64s(values) {
        return same;
    }
    buffer.clear();
    buffer.extend(values.iter().map(|&x| Into::<f64>::into(x)));
    buffer
}

/// to += left' right.
pub(super) fn add_product(to: &mut [f64], left: MatRef<f64>, right: MatRef<f64>) {
    let to = MatMut::from_row_major_slice_mut(to, left.ncols(), right.ncols());
    matmul(to, Accum::Add, left.transpose(), right, 1.0, Par::Seq);
}

/// to = left right', both with rows of `inner` numbers.
pub(super) fn multiply(to: &mut [f64], n: usize, k: usize, left: &[f64], right: &[f64], inner: usize) {
    let to = MatMut::from_row_major_slice_mut(to, n, k);
    let left = MatRef::from_row_major_slice(left, n, inner);
    let right = MatRef::from_row_major_slice(right, k, inner);
    matmul(to, Accum::Replace, left, right.transpose(), 1.0, Par::Seq);
}
