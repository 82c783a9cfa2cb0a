//! How M = (Z'Z + ridge I)^-1 and A = M Z'X change when a row comes or goes, with or without features of its own.

use super::super::factor::Factor;
use super::super::{normal_equations, subtract_features};
use super::CollapsedRows;
use crate::data::Real;
use crate::linalg::dot;

/// 1 - h below this: without the row the features are dependent.
const SINGULAR: f64 = 1e-8;
/// 1 - h below this: a downdate would lose too many digits; everything is computed anew.
const ILL_CONDITIONED: f64 = 1e-4;
/// A ridge above this leaves too few digits to recover a row's own features from M: everything is computed anew.
const HEAVY_RIDGE: f64 = 1e6;

impl<T: Real> CollapsedRows<'_, T> {
    /// Row out: A -= Mz' r/(1-h), M += Mz'zM/(1-h), with M, A, h and r of the row still in.
    pub(super) fn downdate(&mut self) -> usize {
        self.score();
        let left = 1.0 - self.seat.leverage;
        if left >= ILL_CONDITIONED {
            self.loss -= self.seat.square / left;
            self.ln_det += left.ln();
            self.rank_one(-1.0 / left);
            // The row as others see it, from what is at hand: r/(1-h), Mz'/(1-h), h/(1-h).
            let seat = &mut self.seat;
            for (along, pull) in seat.along.iter_mut().zip(&mut seat.pull) {
                *along = (*along - *pull * seat.square / left) / left;
                *pull /= left;
            }
            seat.residual.iter_mut().for_each(|r| *r /= left);
            seat.square /= left * left;
            seat.leverage /= left;
            return 0;
        }
        let before = self.n_features();
        if self.ridge == 0.0 && left < SINGULAR {
            // One is enough, and the one of largest weight leaves the rest best conditioned.
            let pull = &self.seat.pull;
            let worst = (0..before).max_by(|a, b| pull[*a].abs().total_cmp(&pull[*b].abs()));
            self.drop_features(&worst.into_iter().collect::<Vec<_>>());
        }
        self.refactor();
        self.score();
        before - self.n_features()
    }

    /// Row out with the j features it alone had. With c = ridge (1 + h) + j, M and h without the row, these features have
    /// A_n = r/c and M_on = -Mz'/c; the others A_o = A + ridge Mz' A_n and M_oo = M - ridge Mz'zM/c. So all that is
    /// needed stands in M and A with the row in, and nothing cancels as the ridge goes to 0.
    pub(super) fn drop_own(&mut self, own: &[usize]) -> usize {
        let (k, d, ridge) = (self.n_features(), self.data.n_columns(), self.ridge);
        if ridge > HEAVY_RIDGE {
            self.drop_features(own);
            self.refactor();
            self.score();
            return own.len();
        }
        if ridge > 0.0 {
            // Equal columns have equal values; their mean is free of what rounding did to their differences.
            let j = own.len() as f64;
            let mean = |at: &dyn Fn(usize) -> f64| own.iter().map(|f| at(*f)).sum::<f64>() / j;
            let c = j / (1.0 - ridge * j * mean(&|a| mean(&|b| self.inverse[a * k + b])));
            let pull: Vec<f64> = (0..k).map(|i| -c * mean(&|f| self.inverse[i * k + f])).collect();
            let along: Vec<f64> = (0..k).map(|i| mean(&|f| self.products[i * k + f])).collect();
            let value: Vec<f64> = (0..d).map(|i| mean(&|f| self.components[f * d + i])).collect();
            let square = dot(&value, &value);
            for a in 0..k {
                let by = ridge * pull[a];
                for b in 0..k {
                    self.inverse[a * k + b] += by / c * pull[b];
                    self.products[a * k + b] += by * (ridge * square * pull[b] - along[b]) - ridge * along[a] * pull[b];
                }
                add(&mut self.components[a * d..(a + 1) * d], -by, &value);
            }
            self.loss -= ridge * c * square;
            self.ln_det -= (j - 1.0) * ridge.ln() + c.ln();
        }
        self.drop_features(own);
        self.score();
        own.len()
    }

    /// A += by Mz' r, M -= by Mz'zM, and A A' with them: by = 1/(1+h) puts the row in, -1/(1-h) takes it out.
    pub(super) fn rank_one(&mut self, by: f64) {
        let (k, d, seat) = (self.n_features(), self.data.n_columns(), &self.seat);
        for a in 0..k {
            let pull = by * seat.pull[a];
            add(&mut self.components[a * d..(a + 1) * d], pull, &seat.residual);
            for b in 0..k {
                self.inverse[a * k + b] -= pull * seat.pull[b];
                self.products[a * k + b] +=
                    pull * seat.along[b] + by * seat.along[a] * seat.pull[b] + pull * by * seat.square * seat.pull[b];
            }
        }
    }

    /// Forgets features, in order of their numbers; M, A and A A' of the others stay as they are.
    pub(super) fn drop_features(&mut self, dropped: &[usize]) {
        let (k, d) = (self.n_features(), self.data.n_columns());
        let kept: Vec<usize> = (0..k).filter(|f| !dropped.contains(f)).collect();
        let square = |m: &[f64]| kept.iter().flat_map(|a| kept.iter().map(move |b| m[a * k + b])).collect::<Vec<f64>>();
        (self.inverse, self.products) = (square(&self.inverse), square(&self.products));
        for (new, &old) in kept.iter().enumerate() {
            self.components.copy_within(old * d..(old + 1) * d, new * d);
        }
        self.components.truncate(kept.len() * d);
        self.allocation = self.allocation.select(&kept);
        self.counts = kept.iter().map(|f| self.counts[*f]).collect();
        if self.seat.row.is_some() {
            self.seat.bits = kept.iter().map(|f| self.seat.bits[*f]).collect();
        }
    }

    /// Everything from Z and X anew, so that rounding does not pile up.
    pub fn refactor(&mut self) {
        self.moves = 0;
        let d = self.data.n_columns();
        let factor = loop {
            let k = self.n_features();
            let (overlaps, sums) = normal_equations(&self.allocation, self.data);
            match Factor::new(&overlaps, k, self.ridge) {
                Ok(factor) => {
                    self.components = sums;
                    break factor;
                }
                Err(dependent) => {
                    (self.inverse, self.products) = (vec![0.0; k * k], vec![0.0; k * k]);
                    self.components = sums;
                    self.drop_features(&[dependent]);
                }
            }
        };
        factor.solve(&mut self.components, d);
        self.inverse = factor.inverse();
        self.ln_det = factor.ln_det();
        let rows = || self.components.chunks_exact(d);
        let products: Vec<f64> = rows().flat_map(|a| rows().map(move |b| dot(a, b))).collect();
        let mut residual = vec![0.0; d];
        let mut loss = self.ridge * dot(&self.components, &self.components);
        for row in (0..self.data.n_rows()).filter(|row| self.seat.row != Some(*row)) {
            subtract_features(
                &mut residual,
                self.data.rows().row(row),
                self.allocation.features_of(row),
                &self.components,
            );
            loss += dot(&residual, &residual);
        }
        (self.products, self.loss) = (products, loss);
    }

    /// Row in with `own` features that it alone has: [`drop_own`](Self::drop_own) the other way round.
    pub(super) fn add_own(&mut self, own: usize) {
        let (k, square, leverage) = (self.n_features(), self.seat.square, self.seat.leverage);
        let j = own as f64;
        let c = self.ridge * (1.0 + leverage) + j;
        let by = self.ridge / c;
        self.loss += square * by;
        self.ln_det += if own > 1 { (j - 1.0) * self.ridge.ln() + c.ln() } else { c.ln() };
        self.rank_one(by);
        let mut inverse = vec![0.0; (k + own) * (k + own)];
        let mut products = inverse.clone();
        for a in 0..k + own {
            for b in 0..k + own {
                let at = a * (k + own) + b;
                (inverse[at], products[at]) = match (a < k, b < k) {
                    (true, true) => (self.inverse[a * k + b], self.products[a * k + b]),
                    (false, false) if a == b && own == 1 => ((1.0 + leverage) / c, square / (c * c)),
                    (false, false) => ((f64::from(u8::from(a == b)) - 1.0 / c) / self.ridge, square / (c * c)),
                    (old, _) => {
                        let i = if old { a } else { b };
                        let (along, pull) = (self.seat.along[i], self.seat.pull[i]);
                        (-pull / c, (along + by * square * pull) / c)
                    }
                };
            }
        }
        (self.inverse, self.products) = (inverse, products);
        for _ in 0..own {
            self.components.extend(self.seat.residual.iter().map(|r| r / c));
            self.counts.push(1);
            self.allocation.push();
        }
    }
}

/// sum += times x.
#[inline(always)]
pub(super) fn add(sum: &mut [f64], times: f64, x: &[f64]) {
    sum.iter_mut().zip(x).for_each(|(s, x)| *s += times * x);
}
