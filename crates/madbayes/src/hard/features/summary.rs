//! What a pass keeps of a chunk of rows: how Z'Z and Z'X change, |X|^2, and the row of largest residual.

use super::along::Turned;
use super::moved::{Moved, count_overlaps};
use super::row_problem::{RowProblem, RowSolver, Scratch};
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
    /// |X|_F^2.
    pub square: f64,
    /// Rows whose features changed.
    pub changed: usize,
    /// The largest squared residual from the frozen components, and its row; the first of equals.
    pub far: Option<(f64, usize)>,
}

impl Summary {
    /// Of no rows.
    pub fn new(k: usize, d: usize) -> Self {
        Summary { k, d, products: vec![0.0; k * k], sums: vec![0.0; k * d], square: 0.0, changed: 0, far: None }
    }

    /// Adds the sums of later rows.
    pub fn merge(&mut self, later: &Summary) {
        self.products.iter_mut().zip(&later.products).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&later.sums).for_each(|(t, p)| *t += p);
        self.square += later.square;
        self.changed += later.changed;
        if later.far.is_some_and(|far| self.far.is_none_or(|known| far.0 > known.0)) {
            self.far = later.far;
        }
    }

    /// What a scan of all rows found: sums change by what it changed.
    pub fn follow(&mut self, scanned: Summary) {
        self.products.iter_mut().zip(&scanned.products).for_each(|(t, p)| *t += p);
        self.sums.iter_mut().zip(&scanned.sums).for_each(|(t, p)| *t += p);
        (self.square, self.changed, self.far) = (scanned.square, scanned.changed, scanned.far);
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

    /// Solves the problem of every row of a chunk, and adds what that changes.
    pub fn solve<T: Real>(&mut self, rows: Rows<T>, first_row: usize, words: &mut [u64], frozen: &FrozenComponents) {
        let (k, stride) = (self.k, self.k.div_ceil(64));
        let most = BLOCK.min(rows.n_rows());
        let mut c = vec![0.0; most * k];
        let (mut costs, mut squares) = (vec![0.0; most], vec![0.0; most]);
        let mut before = Vec::with_capacity(most * stride);
        let mut scratch = Scratch::default();
        for start in (0..rows.n_rows()).step_by(BLOCK) {
            let end = (start + BLOCK).min(rows.n_rows());
            let n = end - start;
            let rows = rows.slice(start, end);
            let words = &mut words[start * stride..end * stride];
            let (c, costs, squares) = (&mut c[..n * k], &mut costs[..n], &mut squares[..n]);
            frozen.components.along(rows, c, squares);
            before.clear();
            before.extend_from_slice(words);
            let changed = if k > 0 { frozen.problem.solve_block(c, words, costs, &mut scratch) } else { 0 };
            if changed > 0 {
                self.changed += changed;
                self.replace(rows, &before, words);
            }
            for i in 0..n {
                self.square += squares[i];
                let residual = squares[i] + costs[i];
                if self.far.is_none_or(|far| residual > far.0) {
                    self.far = Some((residual, first_row + start + i));
                }
            }
        }
    }

    /// Adds rows that had no features.
    pub fn add<T: Real>(&mut self, rows: Rows<T>, words: &[u64]) {
        let mut squares = vec![0.0; rows.n_rows()];
        Turned::new(&[], 0, self.d).along(rows, &mut [], &mut squares);
        self.square += squares.iter().sum::<f64>();
        if self.k > 0 {
            self.replace(rows, &vec![0; words.len()], words);
        }
    }

    /// Rows get other features.
    fn replace<T: Real>(&mut self, rows: Rows<T>, before: &[u64], after: &[u64]) {
        count_overlaps(before, after, self.k, &mut self.products);
        Moved { rows, before, after, sums: &mut self.sums }.add();
    }
}

/// Components as a pass sees them.
pub(super) struct FrozenComponents {
    components: Turned,
    problem: RowProblem,
}

impl FrozenComponents {
    /// K x D components.
    pub fn new(components: &[f64], k: usize, d: usize, solver: RowSolver) -> Self {
        let mut gram = vec![0.0; k * k];
        multiply(&mut gram, k, k, components, components, d);
        FrozenComponents { components: Turned::new(components, k, d), problem: RowProblem::new(gram, k, solver) }
    }
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
