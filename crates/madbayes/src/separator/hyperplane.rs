//! One hyperplane given the rows on its sides, by augmentation (MATH: Polson & Scott 2011; Polson, Scott & Windle 2013):
//! eta ~ N(V X'b, V), V^-1 = I/w + sum_i c_i x_i x_i', where for the SVM c = 1/l and b = y (1 + 1/l), for logistic c = omega
//! and b = y/2, with one l or omega per row and hyperplane.

use super::inverse_gaussian::hinge_mixing;
use super::polya_gamma::polya_gamma;
use super::{Factor, Inputs};
use crate::random::Rng;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::solvers::Llt;
use faer::prelude::Solve;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use rand::RngExt;
use rand_distr::StandardNormal;

/// Numbers weighted at a time, a row at least: every block passes over the whole matrix of products.
const BLOCK: usize = 1 << 20;
/// The largest c_i: beyond it the factorisation would lose the prior's I/w. A row sits there with probability 1e-6.
const MOST_WEIGHT: f64 = 1e12;

/// Which side a row belongs on: 1 for a group's own rows, -1 for all others.
pub type Side<'a> = &'a (dyn Fn(usize) -> f64 + Sync);

/// What draws a hyperplane: factor, prior variance w and inputs.
#[derive(Debug, Clone)]
pub struct Hyperplane<'a> {
    /// How a row on the wrong side is punished.
    pub factor: Factor,
    /// w.
    pub scale: f64,
    inputs: &'a Inputs,
    /// X X', where the inputs are wider than they are many.
    gram: Option<Vec<f64>>,
}

impl<'a> Hyperplane<'a> {
    /// On these inputs.
    pub fn new(factor: Factor, scale: f64, inputs: &'a Inputs) -> Self {
        let (n, p) = (inputs.n_rows(), inputs.width());
        let gram = (p > n).then(|| {
            let mut gram = vec![0.0; n * n];
            let rows = MatRef::from_row_major_slice(inputs.rows(), n, p);
            let product = MatMut::from_row_major_slice_mut(&mut gram, n, n);
            lower_product(product, rows);
            gram
        });
        Hyperplane { factor, scale, inputs, gram }
    }

    /// The inputs it was made for.
    pub fn inputs(&self) -> &'a Inputs {
        self.inputs
    }

    /// One step of the chain whose limit is the posterior of a hyperplane: augmentation given `eta`, then `eta` given it.
    pub fn step(&self, eta: &mut [f64], side: Side, rng: &mut Rng) {
        if self.scale == 0.0 {
            return eta.fill(0.0);
        }
        let (n, inputs) = (self.inputs.n_rows(), self.inputs);
        let (mut precisions, mut targets) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for i in 0..n {
            let (y, f) = (side(i), inputs.value(eta, i));
            let (c, b) = match self.factor {
                Factor::Svm => {
                    let c = hinge_mixing(1.0 - y * f, rng).recip().min(MOST_WEIGHT);
                    (c, y * (1.0 + c))
                }
                Factor::Logistic => (polya_gamma(f, rng), 0.5 * y),
            };
            precisions.push(c);
            targets.push(b);
        }
        match &self.gram {
            None => self.draw(&precisions, &targets, eta, rng),
            Some(gram) => self.draw_by_dual(gram, &precisions, &targets, eta, rng),
        }
    }

    /// V^-1 = I/w + sum_i c_i x_i x_i', its lower triangle, row by row: most of the work of a draw, N p^2 / 2 multiply-adds.
    pub fn precision(&self, c: &[f64]) -> Vec<f64> {
        let p = self.inputs.width();
        let mut precision = vec![0.0; p * p];
        let block = (BLOCK / p).clamp(1, c.len());
        let mut weighted = Vec::with_capacity(block * p);
        for start in (0..c.len()).step_by(block) {
            let end = (start + block).min(c.len());
            weighted.clear();
            for (i, c) in c.iter().enumerate().take(end).skip(start) {
                let root = c.sqrt();
                weighted.extend(self.inputs.row(i).iter().map(|x| x * root));
            }
            let rows = MatRef::from_row_major_slice(&weighted, end - start, p);
            lower_product(MatMut::from_row_major_slice_mut(&mut precision, p, p), rows.transpose());
        }
        (0..p).for_each(|j| precision[j * p + j] += self.scale.recip());
        precision
    }

    /// eta = V X'b + L^-T e with V^-1 = L L'.
    fn draw(&self, c: &[f64], b: &[f64], eta: &mut [f64], rng: &mut Rng) {
        let p = self.inputs.width();
        let precision = self.precision(c);
        let mut right = vec![0.0; p];
        for (i, b) in b.iter().enumerate() {
            right.iter_mut().zip(self.inputs.row(i)).for_each(|(sum, x)| *sum += b * x);
        }
        let matrix = MatRef::from_row_major_slice(&precision, p, p);
        // I/w and squares: only rounding could fail here, and then the hyperplane stays.
        let Ok(factor) = Llt::new(matrix, faer::Side::Lower) else { return };
        let lower = factor.L();
        // L L' m = X'b, and eta = m + L^-T e: one solve from below, one from above.
        let mut t = Mat::from_fn(p, 1, |j, _| right[j]);
        faer::linalg::triangular_solve::solve_lower_triangular_in_place(lower, t.as_mut(), Par::Seq);
        (0..p).for_each(|j| t[(j, 0)] += rng.sample::<f64, _>(StandardNormal));
        faer::linalg::triangular_solve::solve_upper_triangular_in_place(lower.transpose(), t.as_mut(), Par::Seq);
        (0..p).for_each(|j| eta[j] = t[(j, 0)]);
    }

    /// The same through an N x N system (Bhattacharya, Chakraborty & Mallick 2016): with P = diag(sqrt c) X, u ~ N(0, wI),
    /// d ~ N(0, I) and (w P P' + I) s = b/sqrt(c) - P u - d, eta = u + w P's.
    fn draw_by_dual(&self, gram: &[f64], c: &[f64], b: &[f64], eta: &mut [f64], rng: &mut Rng) {
        let (n, w) = (c.len(), self.scale);
        let roots: Vec<f64> = c.iter().map(|c| c.sqrt()).collect();
        let system = Mat::from_fn(n, n, |i, j| {
            if j > i {
                return 0.0;
            }
            w * roots[i] * roots[j] * gram[i * n + j] + f64::from(u8::from(i == j))
        });
        // I and squares, as above.
        let Ok(factor) = Llt::new(system.as_ref(), faer::Side::Lower) else { return };
        eta.iter_mut().for_each(|u| *u = w.sqrt() * rng.sample::<f64, _>(StandardNormal));
        let right = Mat::from_fn(n, 1, |i, _| {
            b[i] / roots[i] - roots[i] * self.inputs.value(eta, i) - rng.sample::<f64, _>(StandardNormal)
        });
        let s = factor.solve(&right);
        for (i, root) in roots.iter().enumerate() {
            let step = w * root * s[(i, 0)];
            eta.iter_mut().zip(self.inputs.row(i)).for_each(|(eta, x)| *eta += step * x);
        }
    }

    /// The mean of the posterior given the rows on either side, over `steps` steps after a tenth of them.
    pub fn mean(&self, side: Side, steps: usize, rng: &mut Rng) -> Vec<f64> {
        let mut eta = vec![0.0; self.inputs.width()];
        let mut mean = eta.clone();
        (0..steps / 10).for_each(|_| self.step(&mut eta, side, rng));
        for _ in 0..steps {
            self.step(&mut eta, side, rng);
            mean.iter_mut().zip(&eta).for_each(|(mean, eta)| *mean += eta / steps as f64);
        }
        mean
    }
}

/// Adds A A' to the lower triangle.
fn lower_product(sum: MatMut<f64>, a: MatRef<f64>) {
    let (lower, full) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(sum, lower, Accum::Add, a, full, a.transpose(), full, 1.0, Par::Seq);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gibbs::geweke;
    use crate::random::{Stream, stream};

    const XS: [f64; 10] = [-1.2, 1.0, 0.3, 1.0, 0.9, 1.0, 2.0, 1.0, -0.4, 1.0];

    /// Mean, and mean square, of each coefficient by a grid over the two of them.
    fn by_grid(factor: Factor, w: f64, inputs: &Inputs, ys: &[f64]) -> [f64; 4] {
        let (h, m) = (0.02f64, 500);
        let (mut total, mut sums) = (0.0, [0.0; 4]);
        for a in -m..=m {
            for b in -m..=m {
                let eta = [h * f64::from(a), h * f64::from(b)];
                let ln = (0..ys.len()).map(|i| factor.ln_factor(ys[i], inputs.value(&eta, i))).sum::<f64>()
                    - 0.5 * (eta[0] * eta[0] + eta[1] * eta[1]) / w;
                let p = ln.exp();
                total += p;
                let values = [eta[0], eta[1], eta[0] * eta[0], eta[1] * eta[1]];
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += p * value);
            }
        }
        sums.map(|sum| sum / total)
    }

    #[test]
    fn a_chain_of_hyperplanes_has_the_posterior_of_numerical_integration() {
        let inputs = Inputs::as_given(XS.to_vec(), 2);
        let ys = [1.0, -1.0, 1.0, -1.0, -1.0];
        for factor in [Factor::Svm, Factor::Logistic] {
            let exact = by_grid(factor, 1.5, &inputs, &ys);
            let hyperplane = Hyperplane::new(factor, 1.5, &inputs);
            let mut rng = stream(2, Stream::Chain(0));
            let (mut eta, mut means) = ([0.0; 2], [0.0; 4]);
            let n = 200_000;
            for _ in 0..n {
                hyperplane.step(&mut eta, &|i| ys[i], &mut rng);
                let values = [eta[0], eta[1], eta[0] * eta[0], eta[1] * eta[1]];
                means.iter_mut().zip(values).for_each(|(mean, value)| *mean += value / f64::from(n));
            }
            for (found, exact) in means.iter().zip(exact) {
                assert!((found - exact).abs() < 0.012, "{factor:?}: {means:?} {exact:?}");
            }
        }
    }

    #[test]
    fn the_dual_system_gives_the_same_posterior() {
        // Three rows, five columns: both ways apply once the product matrix is there.
        let rows: Vec<f64> = (0..15).map(|i| ((i * 7 + 3) as f64).sin()).collect();
        let inputs = Inputs::as_given(rows, 5);
        let dual = Hyperplane::new(Factor::Logistic, 2.0, &inputs);
        assert!(dual.gram.is_some());
        let primal = Hyperplane { gram: None, ..dual.clone() };
        let c = [0.7, 1.3, 0.2];
        let b = [0.5, -0.5, 0.5];
        // Moments of draws with the augmentation held still.
        let moments = |hyperplane: &Hyperplane| {
            let mut rng = stream(4, Stream::Chain(0));
            let (mut mean, mut second) = ([0.0; 5], [0.0; 5]);
            let n = 100_000;
            for _ in 0..n {
                let mut eta = [0.0; 5];
                match &hyperplane.gram {
                    None => hyperplane.draw(&c, &b, &mut eta, &mut rng),
                    Some(gram) => hyperplane.draw_by_dual(gram, &c, &b, &mut eta, &mut rng),
                }
                for j in 0..5 {
                    mean[j] += eta[j] / f64::from(n);
                    second[j] += eta[j] * eta[(j + 1) % 5] / f64::from(n);
                }
            }
            (mean, second)
        };
        let ((m1, s1), (m2, s2)) = (moments(&dual), moments(&primal));
        for j in 0..5 {
            assert!((m1[j] - m2[j]).abs() < 0.025 && (s1[j] - s2[j]).abs() < 0.04, "{m1:?} {m2:?} {s1:?} {s2:?}");
        }
    }

    #[test]
    fn the_logistic_hyperplane_passes_the_joint_test() {
        let inputs = Inputs::as_given(XS.to_vec(), 2);
        let hyperplane = Hyperplane::new(Factor::Logistic, 1.5, &inputs);
        type State = ([f64; 2], [f64; 5]);
        let sides = |eta: &[f64; 2], rng: &mut Rng| -> [f64; 5] {
            std::array::from_fn(|i| {
                let p = Factor::Logistic.ln_factor(1.0, inputs.value(eta, i)).exp();
                if rng.random::<f64>() < p { 1.0 } else { -1.0 }
            })
        };
        let results = geweke(
            40_000,
            &mut stream(3, Stream::Simulation),
            |rng| {
                let eta: [f64; 2] = std::array::from_fn(|_| 1.5f64.sqrt() * rng.sample::<f64, _>(StandardNormal));
                (eta, sides(&eta, rng))
            },
            |(eta, ys), rng| {
                hyperplane.step(eta, &|i| ys[i], rng);
                *ys = sides(eta, rng);
            },
            &[
                ("slope", |s: &State| s.0[0]),
                ("slope squared", |s| s.0[0] * s.0[0]),
                ("intercept squared", |s| s.0[1] * s.0[1]),
                ("product", |s| s.0[0] * s.0[1]),
                ("rows inside", |s| s.1.iter().sum()),
                ("slope times side", |s| s.0[0] * s.1[3]),
            ],
        );
        assert!(results.iter().all(|a| a.z.abs() < 3.5), "{results:?}");
    }
}
