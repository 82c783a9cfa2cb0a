//! One row of a linear-Gaussian model taken out, scored and put back, by recursive least squares (B Eq. 10 and Alg. 3).
//!
//! With row n out, M = (Z'Z + ridge I)^-1, A = M Z'X, h = z M z' and r = x - zA, the row has density
//! N(x; zA, s2 (1 + h) I), and putting it back adds |r|^2/(1 + h) to the objective. Flipping bit k changes r by A_k and
//! Mz' by M_k: with A r and A A' at hand a flip is scored in O(1) and made in O(K).

use super::factor::Factor;
use super::{LinearGaussian, normal_equations, subtract_features};
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::dot;
use crate::structure::Allocation;

/// 1 - h below this: without the row the features are dependent.
const SINGULAR: f64 = 1e-8;
/// 1 - h below this: a downdate would lose too many digits; everything is computed anew.
const ILL_CONDITIONED: f64 = 1e-4;
/// After this many rows put back (N if that is more) everything is computed anew: about as much work again as those moves.
const REFACTOR: usize = 1000;

/// The live state of all rows and features with the features' values integrated out (in the limit: minimised out).
#[derive(Debug, Clone)]
pub struct CollapsedRows<'a, T> {
    data: &'a Data<'a, T>,
    law: LinearGaussian,
    ridge: f64,
    /// The row that is out has no features here.
    allocation: Allocation,
    counts: Vec<usize>,
    /// M, K x K.
    inverse: Vec<f64>,
    /// A, K x D.
    components: Vec<f64>,
    /// A A', K x K.
    products: Vec<f64>,
    /// log |Z'Z + ridge I|.
    ln_det: f64,
    /// tr(X'(I - Z M Z')X) = |X - ZA|^2 + ridge |A|^2, over the rows that are in.
    loss: f64,
    moves: usize,
    seat: Seat,
}

/// The row that is out and the features it would have.
#[derive(Debug, Clone, Default)]
struct Seat {
    row: Option<usize>,
    bits: Vec<bool>,
    /// r = x - zA, not kept up to date by flips.
    residual: Vec<f64>,
    /// |r|^2.
    square: f64,
    /// A r.
    along: Vec<f64>,
    /// M z'.
    pull: Vec<f64>,
    /// h = z M z'.
    leverage: f64,
}

impl<'a, T: Real> CollapsedRows<'a, T> {
    /// All rows in. Empty features are dropped.
    pub fn new(data: &'a Data<'a, T>, allocation: Allocation, law: LinearGaussian) -> Result<Self> {
        law.check()?;
        Self::start(data, allocation, law)
    }

    /// In the limit, ridge = 0. Features in the span of those before them are dropped: the fit stays the same.
    pub fn in_the_limit(data: &'a Data<'a, T>, allocation: Allocation) -> Result<Self> {
        // Without a prior on A: the noise plays no part.
        Self::start(data, allocation, LinearGaussian { noise: 1.0, scale: f64::INFINITY })
    }

    fn start(data: &'a Data<'a, T>, allocation: Allocation, law: LinearGaussian) -> Result<Self> {
        if allocation.n_rows() != data.n_rows() {
            return Err(Error::argument(
                "allocation",
                format!("one of the {} rows", data.n_rows()),
                format!("one of {} rows", allocation.n_rows()),
                "start from a fit of the same data",
            ));
        }
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent where features' values are integrated out",
                "row weights",
                "repeat the rows",
            ));
        }
        let counts = allocation.counts();
        let used: Vec<usize> = (0..counts.len()).filter(|k| counts[*k] > 0).collect();
        let mut rows = CollapsedRows {
            data,
            law,
            ridge: law.ridge(),
            counts: used.iter().map(|k| counts[*k]).collect(),
            allocation: if used.len() < counts.len() { allocation.select(&used) } else { allocation },
            inverse: vec![],
            components: vec![],
            products: vec![],
            ln_det: 0.0,
            loss: 0.0,
            moves: 0,
            seat: Seat { residual: vec![0.0; data.n_columns()], ..Seat::default() },
        };
        rows.refactor();
        Ok(rows)
    }

    /// Number of features, K: with a row out, those that other rows have.
    pub fn n_features(&self) -> usize {
        self.counts.len()
    }

    /// The features of all rows; none for the row that is out.
    pub fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    /// Rows that have each feature, the row that is out not counted.
    pub fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// A = M Z'X, K x D: the mean of the features' values, in the limit their least squares.
    pub fn components(&self) -> &[f64] {
        &self.components
    }

    /// M = (Z'Z + ridge I)^-1, K x K.
    pub fn inverse(&self) -> &[f64] {
        &self.inverse
    }

    /// A A', K x K.
    pub fn products(&self) -> &[f64] {
        &self.products
    }

    /// A (x - zA)', K numbers, for the row that is out.
    pub fn along(&self) -> &[f64] {
        &self.seat.along
    }

    /// The variances.
    pub fn law(&self) -> LinearGaussian {
        self.law
    }

    /// Other variances; all rows are in.
    pub fn set_law(&mut self, law: LinearGaussian) -> Result<()> {
        law.check()?;
        (self.law, self.ridge) = (law, law.ridge());
        self.refactor();
        Ok(())
    }

    /// tr(X'(I - Z M Z')X) over the rows that are in; in the limit the loss of B Eq. 10.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The log marginal of all rows, as [`LinearGaussian::ln_marginal`]; all rows are in.
    pub fn ln_marginal(&self) -> f64 {
        let (n, d) = (self.data.n_rows(), self.data.n_columns());
        self.law.ln_marginal_of(n, d, self.n_features(), self.ln_det, self.loss)
    }

    /// Takes a row out and says how many features went with it: those it alone had, or in the limit one that without it
    /// is in the span of the others. The rest keep their order. The row's bits stay as they were.
    ///
    /// # Panics
    /// When a row is out already.
    pub fn take_out(&mut self, row: usize) -> usize {
        assert!(self.seat.row.is_none(), "one row is out at a time");
        self.seat.row = Some(row);
        self.seat.bits.clear();
        self.seat.bits.resize(self.n_features(), false);
        let mut own = Vec::new();
        for k in self.allocation.features_of(row) {
            self.seat.bits[k] = true;
            self.counts[k] -= 1;
            if self.counts[k] == 0 {
                own.push(k);
            }
        }
        self.allocation.row_mut(row).fill(0);
        if own.is_empty() { self.downdate() } else { self.drop_own(&own) }
    }

    /// Row out: A -= Mz' r/(1-h), M += Mz'zM/(1-h), with M, A, h and r of the row still in.
    fn downdate(&mut self) -> usize {
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
    fn drop_own(&mut self, own: &[usize]) -> usize {
        let (k, d, ridge) = (self.n_features(), self.data.n_columns(), self.ridge);
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

    /// The features the row that is out would have.
    pub fn bits(&self) -> &[bool] {
        &self.seat.bits
    }

    /// |x - zA|^2 of the row that is out.
    pub fn square(&self) -> f64 {
        self.seat.square
    }

    /// h = z M z' of the row that is out.
    pub fn leverage(&self) -> f64 {
        self.seat.leverage
    }

    /// |x - zA|^2 and h with bit k flipped: |r|^2 -/+ 2 A_k r' + A_k A_k', h +/- 2 M_k z' + M_kk.
    #[inline]
    pub fn flipped(&self, feature: usize) -> (f64, f64) {
        let diagonal = feature * (self.n_features() + 1);
        let sign = if self.seat.bits[feature] { -2.0 } else { 2.0 };
        let square = self.seat.square - sign * self.seat.along[feature] + self.products[diagonal];
        let leverage = self.seat.leverage + sign * self.seat.pull[feature] + self.inverse[diagonal];
        (square.max(0.0), leverage.max(0.0))
    }

    /// Flips bit k of the row that is out, in O(K).
    pub fn flip(&mut self, feature: usize) {
        let k = self.n_features();
        (self.seat.square, self.seat.leverage) = self.flipped(feature);
        let sign = if self.seat.bits[feature] { -1.0 } else { 1.0 };
        add(&mut self.seat.along, -sign, &self.products[feature * k..(feature + 1) * k]);
        add(&mut self.seat.pull, sign, &self.inverse[feature * k..(feature + 1) * k]);
        self.seat.bits[feature] = !self.seat.bits[feature];
    }

    /// The log predictive density of the row that is out, with its bits and `own` features of its own.
    pub fn weigh(&self, own: usize) -> f64 {
        self.law.ln_predictive(self.data.n_columns(), self.seat.square, self.seat.leverage, own)
    }

    /// The same with bit k flipped.
    pub fn weigh_flipped(&self, feature: usize, own: usize) -> f64 {
        let (square, leverage) = self.flipped(feature);
        self.law.ln_predictive(self.data.n_columns(), square, leverage, own)
    }

    /// What putting the row back with its bits adds to the loss: |x - zA|^2/(1 + h). With a feature of its own in the
    /// limit: nothing (and the caller's penalty for that feature).
    pub fn charge(&self) -> f64 {
        self.seat.square / (1.0 + self.seat.leverage)
    }

    /// The same with bit k flipped.
    pub fn charge_flipped(&self, feature: usize) -> f64 {
        let (square, leverage) = self.flipped(feature);
        square / (1.0 + leverage)
    }

    /// Puts the row back with its bits and `own` new features (the last ones then).
    ///
    /// # Panics
    /// When no row is out, or in the limit with more than one new feature: they would be dependent.
    pub fn put_back(&mut self, own: usize) {
        assert!(own <= 1 || self.ridge > 0.0, "in the limit a row has one feature of its own at most");
        let Some(row) = self.seat.row else { panic!("no row is out") };
        self.score_residual();
        let (k, d) = (self.n_features(), self.data.n_columns());
        let (square, leverage) = (self.seat.square, self.seat.leverage);
        if own == 0 {
            self.loss += square / (1.0 + leverage);
            self.ln_det += leverage.ln_1p();
            self.rank_one(1.0 / (1.0 + leverage));
        } else {
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
        debug_assert_eq!(self.components.len(), (k + own) * d);
        for feature in (0..k).filter(|f| self.seat.bits[*f]) {
            self.allocation.set(row, feature, true);
            self.counts[feature] += 1;
        }
        (k..k + own).for_each(|feature| self.allocation.set(row, feature, true));
        self.seat.row = None;
        self.moves += 1;
        if self.moves >= REFACTOR.max(self.data.n_rows()) {
            self.refactor();
        }
    }

    /// A += by Mz' r, M -= by Mz'zM, and A A' with them: by = 1/(1+h) puts the row in, -1/(1-h) takes it out.
    fn rank_one(&mut self, by: f64) {
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

    /// Residual, leverage and the inner products of the row that is out, from its bits.
    fn score(&mut self) {
        self.score_residual();
        let (components, residual) = (&self.components, &self.seat.residual);
        self.seat.along.clear();
        self.seat.along.extend(components.chunks_exact(residual.len()).map(|a| dot(a, residual)));
    }

    fn score_residual(&mut self) {
        let Some(row) = self.seat.row else { return };
        let (k, seat) = (self.counts.len(), &mut self.seat);
        let on = (0..k).filter(|f| seat.bits[*f]);
        subtract_features(&mut seat.residual, self.data.rows().row(row), on.clone(), &self.components);
        seat.square = dot(&seat.residual, &seat.residual);
        seat.pull.clear();
        seat.pull.resize(k, 0.0);
        on.clone().for_each(|f| add(&mut seat.pull, 1.0, &self.inverse[f * k..(f + 1) * k]));
        seat.leverage = on.map(|f| seat.pull[f]).sum::<f64>().max(0.0);
    }

    /// Forgets features, in order of their numbers; M, A and A A' of the others stay as they are.
    fn drop_features(&mut self, dropped: &[usize]) {
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
}

/// sum += times x.
#[inline(always)]
fn add(sum: &mut [f64], times: f64, x: &[f64]) {
    sum.iter_mut().zip(x).for_each(|(s, x)| *s += times * x);
}
