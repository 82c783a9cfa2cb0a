//! Features of few rows by their inner products S = X X' alone: with M = (Z'Z)^-1, all of A A' = M Z'S Z M, X A' = S Z M
//! and the loss tr S - tr(M Z'S Z) follow, and a row that changes costs N (Broderick 2013, Eq. 6, 10, 14).

use super::least_squares::independent;
use super::row_problem::{RowProblem, RowSolver, Scratch};
use super::summary::add_product;
use crate::linalg::{Kernel, dot, on_this_processor};
use crate::structure::{Allocation, ones};
use faer::{Accum, MatMut, MatRef, Par, linalg::matmul::matmul};
use std::borrow::Cow;

/// The most rows whose inner products are all held; of more, products with S go through X where it has few columns.
const HELD: usize = 1024;

/// S = X X' of the rows.
#[derive(Debug, Clone)]
pub(super) struct Products {
    pub n_rows: usize,
    pub n_columns: usize,
    /// X, N x D.
    values: Vec<f64>,
    /// S, N x N, where it is held.
    inner: Option<Vec<f64>>,
    /// The diagonal of S.
    pub squares: Vec<f64>,
    /// tr S = |X|_F^2.
    pub total: f64,
}

impl Products {
    /// Of N x D values.
    pub fn new(values: &[f64], n_rows: usize, n_columns: usize) -> Self {
        let inner = (n_rows <= HELD || n_rows <= 2 * n_columns).then(|| {
            let mut inner = vec![0.0; n_rows * n_rows];
            super::summary::multiply(&mut inner, n_rows, n_rows, values, values, n_columns);
            inner
        });
        let squares: Vec<f64> = values.chunks_exact(n_columns).map(|row| dot(row, row)).collect();
        let total = squares.iter().sum();
        Products { n_rows, n_columns, values: values.to_vec(), inner, squares, total }
    }

    /// One row of S.
    pub fn row(&self, n: usize) -> Cow<'_, [f64]> {
        match &self.inner {
            Some(inner) => Cow::Borrowed(&inner[n * self.n_rows..(n + 1) * self.n_rows]),
            None => {
                let own = &self.values[n * self.n_columns..(n + 1) * self.n_columns];
                Cow::Owned(self.values.chunks_exact(self.n_columns).map(|row| dot(row, own)).collect())
            }
        }
    }

    /// S v, by S itself or by X (X'v), whichever is less work.
    pub fn image(&self, v: &[f64]) -> Vec<f64> {
        on_this_processor(Image { products: self, v })
    }
}

struct Image<'a> {
    products: &'a Products,
    v: &'a [f64],
}

impl Kernel for Image<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) -> Vec<f64> {
        let Image { products, v } = self;
        let (n, d) = (products.n_rows, products.n_columns);
        let mut image = vec![0.0; n];
        match &products.inner {
            Some(inner) if n <= 2 * d => {
                image.iter_mut().zip(inner.chunks_exact(n)).for_each(|(i, row)| *i = dot(row, v));
            }
            _ => {
                let mut along = vec![0.0; d];
                for (row, v) in products.values.chunks_exact(d).zip(v).filter(|(_, v)| **v != 0.0) {
                    add(&mut along, *v, row);
                }
                image.iter_mut().zip(products.values.chunks_exact(d)).for_each(|(i, row)| *i = dot(row, &along));
            }
        }
        image
    }
}

/// to += by v.
#[inline(always)]
fn add(to: &mut [f64], by: f64, v: &[f64]) {
    to.iter_mut().zip(v).for_each(|(to, v)| *to += by * v);
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
        let changes: Vec<(usize, u64)> = rows.into_iter().enumerate().collect();
        core.set(&changes, products);
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

    /// Gives rows these features.
    fn set(&mut self, changes: &[(usize, u64)], products: &Products) {
        on_this_processor(Change { core: self, changes, products });
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
        self.loss = (products.total - dot(&self.inverse, &self.forms)).max(0.0);
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
        let changes: Vec<(usize, u64)> =
            (0..n).filter(|row| on[*row]).map(|row| (row, more.rows[row] | 1 << k)).collect();
        more.set(&changes, products);
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
            let changes: Vec<(usize, u64)> =
                rows.into_iter().enumerate().filter(|(row, bits)| *bits != self.rows[*row]).collect();
            self.set(&changes, products);
            self.solve(products);
        }
        changed
    }

    /// (I - P) v, P the projection on the columns of Z.
    fn residual(&self, v: &mut [f64]) {
        on_this_processor(Residual { core: self, v });
    }

    /// Inner products of all residuals with the combination of residuals that `v` says: R R' v.
    pub fn residual_products(&self, v: &mut Vec<f64>, products: &Products) {
        self.residual(v);
        let mut image = products.image(v);
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
                let mut square = products.squares[row];
                for i in ones(&word) {
                    let own: f64 = ones(&word).map(|j| frozen.gram[i * k + j]).sum();
                    square += own - 2.0 * frozen.along[i * n + row];
                }
                square.max(0.0)
            })
            .collect()
    }
}

struct Residual<'a> {
    core: &'a Core,
    v: &'a mut [f64],
}

impl Kernel for Residual<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let (n, k) = (self.core.rows.len(), self.core.k);
        let column = |i: usize| &self.core.bits[i * n..(i + 1) * n];
        let along: Vec<f64> = (0..k).map(|i| dot(column(i), self.v)).collect();
        for i in 0..k {
            let by: f64 = (0..k).map(|j| self.core.inverse[i * k + j] * along[j]).sum();
            add(self.v, -by, column(i));
        }
    }
}

struct Change<'a> {
    core: &'a mut Core,
    changes: &'a [(usize, u64)],
    products: &'a Products,
}

impl Kernel for Change<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<const FUSED: bool, const WIDE: bool>(self) {
        let Change { core, changes, products } = self;
        let (n, k) = (core.rows.len(), core.k);
        let flips: usize = changes.iter().map(|(row, bits)| (core.rows[*row] ^ bits).count_ones() as usize).sum();
        // Column by column through X, or change by change by the rows of S.
        let by_columns = products.inner.is_none() || flips > 2 * products.n_columns * k;
        let mut moved = if by_columns { vec![0.0; k * n] } else { Vec::new() };
        for &(row, bits) in changes {
            let image = if by_columns { Cow::Borrowed(&[][..]) } else { products.row(row) };
            for bit in ones(&[core.rows[row] ^ bits]) {
                let sign = if bits >> bit & 1 == 1 { 1.0 } else { -1.0 };
                core.bits[bit * n + row] += sign;
                if by_columns {
                    moved[bit * n + row] = sign;
                } else {
                    add(&mut core.images[bit * n..(bit + 1) * n], sign, &image);
                }
            }
            for (word, sign) in [(core.rows[row], -1.0), (bits, 1.0)] {
                for i in ones(&[word]) {
                    ones(&[word]).for_each(|j| core.overlaps[i * k + j] += sign);
                }
            }
            core.rows[row] = bits;
        }
        if by_columns {
            for (images, moved) in core.images.chunks_exact_mut(n).zip(moved.chunks_exact(n)) {
                if moved.iter().any(|m| *m != 0.0) {
                    add(images, 1.0, &products.image(moved));
                }
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Data, Rows};
    use crate::likelihood::collapsed_loss;
    use crate::random::{Stream, stream};
    use rand::RngExt;

    fn problem(n: usize, d: usize, k: usize, seed: u64) -> (Vec<f64>, Allocation) {
        let mut rng = stream(seed, Stream::Simulation);
        let x = (0..n * d).map(|_| rng.random::<f64>() - 0.3).collect();
        (x, Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<bool>())))
    }

    #[test]
    fn losses_after_any_changes_are_those_of_the_data() {
        for seed in 0..20 {
            let (n, d, k) = (12, 5, 3);
            let (x, z) = problem(n, d, k, seed);
            let data = Data::new(Rows::new(&x, d).unwrap()).unwrap();
            // With S held, and without.
            let mut products = Products::new(&x, n, d);
            if seed % 2 == 1 {
                products.inner = None;
            }
            let check = |core: &Core| {
                let direct = collapsed_loss(&core.allocation(), &data);
                assert!((core.loss - direct).abs() < 1e-9 * products.total, "{} and {direct}", core.loss);
            };
            let mut core = Core::new(&z, &products);
            check(&core);
            check(&core.without(1, &products));
            let on: Vec<bool> = (0..n).map(|row| row % 3 == 0).collect();
            check(&core.with(&on, &products));
            let (rise, least) = core.least_rise().unwrap();
            let rises: Vec<f64> = (0..core.k()).map(|i| core.without(i, &products).loss - core.loss).collect();
            assert!((rise - rises[least]).abs() < 1e-9 && rises.iter().all(|r| *r >= rise - 1e-9));
            let before = core.loss;
            let frozen = core.frozen();
            core.pass(frozen, RowSolver::Exact, &products, &mut Scratch::default());
            check(&core);
            assert!(core.loss <= before + 1e-12);
            let squares = core.residual_squares(&products);
            assert!((squares.iter().sum::<f64>() - core.loss).abs() < 1e-9);
            // R R' e_0 against the residual of row 0 itself.
            let mut v = vec![0.0; n];
            v[0] = 1.0;
            core.residual_products(&mut v, &products);
            assert!((v[0] - squares[0]).abs() < 1e-9);
        }
    }

    #[test]
    fn equal_empty_and_dependent_columns_go_and_the_loss_stays() {
        let (x, z) = problem(8, 4, 2, 1);
        let products = Products::new(&x, 8, 4);
        let core = Core::new(&z, &products);
        let again = core.with(&z.column(0), &products);
        assert_eq!((again.k(), again.rows()), (core.k(), core.rows()));
        assert_eq!(core.with(&[false; 8], &products).k(), core.k());
        let columns = ["11000000", "00110000", "10100000", "01010000"];
        let columns: Vec<Vec<bool>> = columns.iter().map(|c| c.chars().map(|b| b == '1').collect()).collect();
        let dependent = Core::new(&Allocation::from_columns(8, &columns), &products);
        let three = Core::new(&Allocation::from_columns(8, &columns[..3]), &products);
        assert_eq!(dependent.k(), 3);
        assert!((dependent.loss - three.loss).abs() < 1e-12);
    }
}
