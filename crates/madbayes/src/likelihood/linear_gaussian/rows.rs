//! One row of a linear-Gaussian model taken out, scored and put back, by recursive least squares (B Eq. 10 and Alg. 3).
//!
//! With row n out, M = (Z'Z + ridge I)^-1, A = M Z'X, h = z M z' and r = x - zA, the row has density
//! N(x; zA, s2 (1 + h) I), and putting it back adds |r|^2/(1 + h) to the objective. Flipping bit k changes r by A_k and
//! Mz' by M_k: with A r and A A' at hand a flip is scored in O(1) and made in O(K).

mod moves;

use super::{LinearGaussian, subtract_features};
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::dot;
use crate::structure::Allocation;
use moves::add;

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
    #[cfg(test)]
    pub(super) fn inverse(&self) -> &[f64] {
        &self.inverse
    }

    /// A A', K x K.
    #[cfg(test)]
    pub(super) fn products(&self) -> &[f64] {
        &self.products
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
            self.add_own(own);
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
}
