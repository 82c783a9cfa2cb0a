//! Features of few rows by their inner products S = X X' alone: with M = (Z'Z)^-1, all of A A' = M Z'S Z M, X A' = S Z M
//! and the loss tr S - tr(M Z'S Z) follow, and a row that changes costs N (Broderick 2013, Eq. 6, 10, 14).

use super::least_squares::independent;
use super::row_problem::{RowProblem, RowSolver, Scratch};
use super::summary::add_product;
use crate::structure::{Allocation, ones};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};

/// S = X X' of the rows.
#[derive(Debug, Clone)]
pub(super) struct Products {
    pub n_rows: usize,
    /// N x N.
    pub values: Vec<f64>,
    /// tr S = |X|_F^2.
    pub total: f64,
}

impl Products {
    /// Of N x D values.
    pub fn new(values: &[f64], n_rows: usize, n_columns: usize) -> Self {
        let mut products = vec![0.0; n_rows * n_rows];
        super::summary::multiply(&mut products, n_rows, n_rows, values, values, n_columns);
        let total = (0..n_rows).map(|n| products[n * n_rows + n]).sum();
        Products { n_rows, values: products, total }
    }

    pub fn row(&self, n: usize) -> &[f64] {
        &self.values[n * self.n_rows..(n + 1) * self.n_rows]
    }
}

/// An allocation of at most 64 features with its products, kept up to date.
#[derive(Debug, Clone)]
pub(super) struct Core {
    k: usize,
    /// The features of each row.
    rows: Vec<u64>,
    /// Z, column after column.
    bits: Vec<f64>,
    /// S Z, column after column.
    images: Vec<f64>,
    /// Z'Z.
    overlaps: Vec<f64>,
    /// (Z'Z)^-1.
    inverse: Vec<f64>,
    /// Z'S Z.
    forms: Vec<f64>,
    /// tr S - tr(M Z'S Z).
    pub loss: f64,
}

/// G = A A' and C = X A', column after column, as a row pass sees them.
#[derive(Debug, Clone)]
pub(super) struct Frozen {
    pub gram: Vec<f64>,
    pub along: Vec<f64>,
}

impl Frozen {
    /// A_i += sign A_j.
    pub fn add(&mut self, i: usize, j: usize, sign: f64, k: usize) {
        let n = self.along.len() / k;
        for l in 0..k {
            self.gram[i * k + l] += sign * self.gram[j * k + l];
        }
        for l in 0..k {
            self.gram[l * k + i] += sign * self.gram[l * k + j];
        }
        for m in 0..n {
            self.along[i * n + m] += sign * self.along[j * n + m];
        }
    }
}

impl Core {
    /// Columns in the span of others go.
    pub fn new(allocation: &Allocation, products: &Products) -> Self {
        let n = products.n_rows;
        let rows = (0..n).map(|row| allocation.row(row).first().copied().unwrap_or(0)).collect();
        Self::of_rows(rows, allocation.n_features(), products)
    }

    /// The same from one word of bits per row.
    pub fn of_rows(rows: Vec<u64>, k: usize, products: &Products) -> Self {
        let n = products.n_rows;
        let mut core = Core {
            k,
            rows: vec![0; n],
            bits: vec![0.0; k * n],
            images: vec![0.0; k * n],
            overlaps: vec![0.0; k * k],
            inverse: Vec::new(),
            forms: Vec::new(),
            loss: products.total,
        };
        for (row, bits) in rows.into_iter().enumerate() {
            core.set(row, bits, products);
        }
        core.solve(products);
        core
    }

    /// Number of features, K.
    pub fn k(&self) -> usize {
        self.k
    }

    /// One word of bits per row.
    pub fn rows(&self) -> &[u64] {
        &self.rows
    }

    /// The feature whose loss raises the loss least, by |A_k|^2 / M_kk, with that number first.
    pub fn least_rise(&self) -> Option<(f64, usize)> {
        let k = self.k;
        let half = product(&self.inverse, &self.forms, k);
        // A A' = M Z'S Z M.
        let square = |i: usize| (0..k).map(|l| half[i * k + l] * self.inverse[l * k + i]).sum::<f64>();
        let rises = (0..k).map(|i| (square(i) / self.inverse[i * k + i], i));
        rises.reduce(|a, b| if b.0 < a.0 { b } else { a })
    }

    /// As an allocation.
    pub fn allocation(&self) -> Allocation {
        let mut allocation = Allocation::new(self.rows.len(), self.k);
        if self.k > 0 {
            allocation.words_mut().copy_from_slice(&self.rows);
        }
        allocation
    }

    /// Gives a row these features.
    fn set(&mut self, row: usize, bits: u64, products: &Products) {
        let (n, k) = (self.rows.len(), self.k);
        let image = products.row(row);
        for bit in ones(&[self.rows[row] ^ bits]) {
            let sign = if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
            self.bits[bit * n + row] += sign;
            self.images[bit * n..(bit + 1) * n].iter_mut().zip(image).for_each(|(i, s)| *i += sign * s);
        }
        for (word, sign) in [(self.rows[row], -1.0), (bits, 1.0)] {
            for i in ones(&[word]) {
                ones(&[word]).for_each(|j| self.overlaps[i * k + j] += sign);
            }
        }
        self.rows[row] = bits;
    }

    /// M, Z'S Z and the loss; columns in the span of others go first.
    fn solve(&mut self, products: &Products) {
        let (mut kept, mut factor) = independent(&self.overlaps, self.k);
        if kept.len() < self.k {
            self.keep(&kept);
            (kept, factor) = independent(&self.overlaps, self.k);
            debug_assert_eq!(kept.len(), self.k);
        }
        let (n, k) = (self.rows.len(), self.k);
        self.inverse = factor.inverse();
        self.forms.clear();
        self.forms.resize(k * k, 0.0);
        let column = |values| MatRef::from_column_major_slice(values, n, k);
        add_product(&mut self.forms, column(&self.bits), column(&self.images));
        self.loss = (products.total - crate::linalg::dot(&self.inverse, &self.forms)).max(0.0);
    }

    /// These features only; products are kept.
    fn keep(&mut self, kept: &[usize]) {
        let (n, k) = (self.rows.len(), self.k);
        let pack = |row: &u64| kept.iter().enumerate().fold(0, |word, (new, old)| word | (row >> old & 1) << new);
        self.rows = self.rows.iter().map(pack).collect();
        let columns = |values: &[f64]| kept.iter().flat_map(|i| values[i * n..(i + 1) * n].to_vec()).collect();
        self.bits = columns(&self.bits);
        self.images = columns(&self.images);
        self.overlaps =
            kept.iter().flat_map(|i| kept.iter().map(move |j| i * k + j)).map(|e| self.overlaps[e]).collect();
        self.k = kept.len();
    }

    /// Without one feature.
    pub fn without(&self, feature: usize, products: &Products) -> Self {
        let kept: Vec<usize> = (0..self.k).filter(|i| *i != feature).collect();
        let mut rest = self.clone();
        rest.keep(&kept);
        rest.solve(products);
        rest
    }

    /// With one feature more, on for these rows; without it where it is in the span of the others.
    pub fn with(&self, on: &[bool], products: &Products) -> Self {
        let (n, k) = (self.rows.len(), self.k);
        let mut more = self.clone();
        more.k = k + 1;
        more.bits.resize((k + 1) * n, 0.0);
        more.images.resize((k + 1) * n, 0.0);
        more.overlaps = vec![0.0; (k + 1) * (k + 1)];
        for i in 0..k {
            (0..k).for_each(|j| more.overlaps[i * (k + 1) + j] = self.overlaps[i * k + j]);
        }
        for row in (0..n).filter(|row| on[*row]) {
            more.set(row, more.rows[row] | 1 << k, products);
        }
        more.solve(products);
        more
    }

    /// G and C of the components as they are.
    pub fn frozen(&self) -> Frozen {
        let (n, k) = (self.rows.len(), self.k);
        let mut along = vec![0.0; n * k];
        let inverse = MatRef::from_row_major_slice(&self.inverse, k, k);
        let images = MatRef::from_column_major_slice(&self.images, n, k);
        let to = MatMut::from_column_major_slice_mut(&mut along, n, k);
        matmul(to, Accum::Replace, images, inverse, 1.0, Par::Seq);
        let half = product(&self.inverse, &self.forms, k);
        Frozen { gram: product(&half, &self.inverse, k), along }
    }

    /// Solves every row's problem with the components frozen, then the components; how many rows changed.
    pub fn pass(&mut self, frozen: Frozen, solver: RowSolver, products: &Products, scratch: &mut Scratch) -> usize {
        if self.k == 0 {
            return 0;
        }
        let n = self.rows.len();
        let problem = RowProblem::new(frozen.gram, self.k, solver);
        let mut rows = self.rows.clone();
        let mut costs = vec![0.0; n];
        let changed = problem.solve_block(&frozen.along, &mut rows, &mut costs, scratch);
        if changed > 0 {
            for row in 0..n {
                if rows[row] != self.rows[row] {
                    self.set(row, rows[row], products);
                }
            }
            self.solve(products);
        }
        changed
    }

    /// (I - P) v, P the projection on the columns of Z.
    fn residual(&self, v: &mut [f64]) {
        let (n, k) = (self.rows.len(), self.k);
        let along: Vec<f64> = (0..k).map(|i| crate::linalg::dot(&self.bits[i * n..(i + 1) * n], v)).collect();
        for i in 0..k {
            let by: f64 = (0..k).map(|j| self.inverse[i * k + j] * along[j]).sum();
            v.iter_mut().zip(&self.bits[i * n..(i + 1) * n]).for_each(|(v, b)| *v -= by * b);
        }
    }

    /// Inner products of all residuals with the combination of residuals that `v` says: R R' v.
    pub fn residual_products(&self, v: &mut Vec<f64>, products: &Products) {
        self.residual(v);
        let n = self.rows.len();
        let mut image = vec![0.0; n];
        let s = MatRef::from_row_major_slice(&products.values, n, n);
        let from = MatRef::from_column_major_slice(v, n, 1);
        matmul(MatMut::from_column_major_slice_mut(&mut image, n, 1), Accum::Replace, s, from, 1.0, Par::Seq);
        self.residual(&mut image);
        *v = image;
    }

    /// |x - zA|^2 of every row.
    pub fn residual_squares(&self, products: &Products) -> Vec<f64> {
        let (n, k) = (self.rows.len(), self.k);
        let frozen = self.frozen();
        (0..n)
            .map(|row| {
                let word = [self.rows[row]];
                let mut square = products.values[row * n + row];
                for i in ones(&word) {
                    let own: f64 = ones(&word).map(|j| frozen.gram[i * k + j]).sum();
                    square += own - 2.0 * frozen.along[i * n + row];
                }
                square.max(0.0)
            })
            .collect()
    }
}

/// Of two K x K matrices.
fn product(left: &[f64], right: &[f64], k: usize) -> Vec<f64> {
    let mut to = vec![0.0; k * k];
    for i in 0..k {
        for l in 0..k {
            let by = left[i * k + l];
            (0..k).for_each(|j| to[i * k + j] += by * right[l * k + j]);
        }
    }
    to
}
