//! One sweep of the IBP linear-Gaussian sampler with the features' values integrated out (Griffiths & Ghahramani 2011,
//! Sec. 5.2), by the row-out predictive: x | z, j ~ N(zA, (s2 (1 + z M z') + j r2) I).

use super::ibp_chain::LiveFeatures;
use crate::data::{Data, Real};
use crate::error::Result;
use crate::likelihood::{CollapsedRows, LinearGaussian};
use crate::random::{Rng, draw_ln_weights};
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use rand::RngExt;
use std::f64::consts::TAU;
use std::ops::ControlFlow;

/// Rows between two questions to the watch.
pub(super) const ROWS_PER_POLL: usize = 64;
/// The most features a row is offered for itself at once. Their Poisson weights vanish long before, unless a fixed scale
/// is far too small for the data.
const MOST_OWN: usize = 100;
/// Weights below exp(-40) of the largest are never drawn.
const NEGLIGIBLE: f64 = 40.0;

/// Rows whose features' values are integrated out.
pub(super) struct CollapsedFeatures<'a, T> {
    data: &'a Data<'a, T>,
    rows: CollapsedRows<'a, T>,
    ln_odds: LnOdds,
    order: Order,
    own: OwnFeatures,
}

impl<'a, T: Real> CollapsedFeatures<'a, T> {
    pub(super) fn new(data: &'a Data<'a, T>, allocation: Allocation, law: LinearGaussian) -> Result<Self> {
        let rows = CollapsedRows::new(data, allocation, law)?;
        Ok(CollapsedFeatures {
            data,
            rows,
            ln_odds: LnOdds::new(data.n_rows()),
            order: Order::default(),
            own: OwnFeatures::default(),
        })
    }
}

impl<T: Real> LiveFeatures for CollapsedFeatures<'_, T> {
    fn allocation(&self) -> &Allocation {
        self.rows.allocation()
    }

    fn law(&self) -> LinearGaussian {
        self.rows.law()
    }

    fn set_law(&mut self, law: LinearGaussian) -> Result<()> {
        self.rows.set_law(law)
    }

    fn ln_marginal(&self) -> f64 {
        self.rows.ln_marginal()
    }

    /// Forgotten afterwards.
    fn draw_components(&mut self, rng: &mut Rng) -> Vec<f64> {
        self.rows.law().draw_components(self.rows.allocation(), self.data, rng)
    }

    /// For each row: the bits of the features that others have, with prior odds m_k : N - m_k and the number j of its own
    /// features kept in the variance; then j, with weights Poisson(j; gamma/N) times the density.
    fn sweep(&mut self, mass: f64, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let (n, d) = (self.data.n_rows(), self.data.n_columns());
        let law = self.rows.law();
        let rows = &mut self.rows;
        for row in 0..n {
            if row % ROWS_PER_POLL == 0 {
                watch.step(&Step::Chunk)?;
            }
            let own = rows.take_out(row);
            let mut now = rows.weigh(own);
            for &feature in self.order.shuffled(rows.n_features(), rng) {
                let flipped = rows.weigh_flipped(feature, own);
                let prior = self.ln_odds.of(rows.counts()[feature], !rows.bits()[feature]);
                if draw_flip(prior + flipped - now, rng) {
                    rows.flip(feature);
                    now = flipped;
                }
            }
            let variance = law.noise * (1.0 + rows.leverage());
            let own = self.own.draw(mass / n as f64, variance, law.scale, rows.square(), d, rng);
            rows.put_back(own);
        }
        ControlFlow::Continue(())
    }
}

/// Whether to flip a bit whose other value has these log odds.
#[inline]
pub(super) fn draw_flip(ln_odds: f64, rng: &mut Rng) -> bool {
    // Below: flipped with probability odds/(1 + odds).
    rng.random::<f64>() * (1.0 + (-ln_odds).exp()) < 1.0
}

/// The log odds that a row has a feature of m others: m : N - m.
pub(super) struct LnOdds(Vec<f64>);

impl LnOdds {
    pub(super) fn new(n_rows: usize) -> Self {
        LnOdds((0..n_rows).map(|m| (m as f64 / (n_rows - m) as f64).ln()).collect())
    }

    /// Of having it, or of lacking it.
    #[inline]
    pub(super) fn of(&self, others: usize, has: bool) -> f64 {
        if has { self.0[others] } else { -self.0[others] }
    }
}

/// The order in which a row's bits are drawn: a new one for every row. Features stand in order of age, and whether a row
/// has one had its part in that age: bits drawn in that order would depend on themselves, and the posterior be missed.
#[derive(Default)]
pub(super) struct Order(Vec<usize>);

impl Order {
    pub(super) fn shuffled(&mut self, n_features: usize, rng: &mut Rng) -> &[usize] {
        self.0.clear();
        self.0.extend(0..n_features);
        for i in (1..n_features).rev() {
            self.0.swap(i, rng.random_range(0..=i));
        }
        &self.0
    }
}

/// Draws the number of features that a row alone has.
#[derive(Default)]
pub(super) struct OwnFeatures {
    ln_weights: Vec<f64>,
}

impl OwnFeatures {
    /// j with weights Poisson(j; rate) N(r; 0, (variance + j r2) I), |r|^2 = `square` in `d` columns.
    pub(super) fn draw(&mut self, rate: f64, variance: f64, scale: f64, square: f64, d: usize, rng: &mut Rng) -> usize {
        let d = d as f64;
        let (mut top, mut ln_prior) = (f64::NEG_INFINITY, 0.0);
        self.ln_weights.clear();
        for j in 0..=MOST_OWN {
            let spread = variance + j as f64 * scale;
            let weight = ln_prior - 0.5 * d * (TAU * spread).ln() - square / (2.0 * spread);
            self.ln_weights.push(weight);
            top = top.max(weight);
            // Past both modes the weights only fall.
            if weight < top - NEGLIGIBLE && d * spread >= square && j as f64 >= rate {
                break;
            }
            ln_prior += (rate / (j + 1) as f64).ln();
        }
        draw_ln_weights(&self.ln_weights, rng)
    }
}
