//! One sweep of the IBP linear-Gaussian sampler with the features' values A at hand (Griffiths & Ghahramani 2011, Sec. 5.1),
//! and their draw given all rows, every column N(M Z'X, s2 M).

use super::ibp_chain::LiveFeatures;
use super::ibp_collapsed::{LnOdds, Order, OwnFeatures, ROWS_PER_POLL, draw_flip};
use crate::data::{Data, Real};
use crate::error::Result;
use crate::likelihood::{LinearGaussian, subtract_features};
use crate::linalg::dot;
use crate::random::Rng;
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use rand::RngExt;
use rand_distr::StandardNormal;
use std::ops::ControlFlow;

/// Rows and the values of their features.
pub(super) struct UncollapsedFeatures<'a, T> {
    data: &'a Data<'a, T>,
    law: LinearGaussian,
    allocation: Allocation,
    counts: Vec<usize>,
    /// A, K x D.
    components: Vec<f64>,
    ln_odds: LnOdds,
    order: Order,
    own: OwnFeatures,
}

impl<'a, T: Real> UncollapsedFeatures<'a, T> {
    /// `components` are the values of the features that some row has, K x D.
    pub(super) fn new(
        data: &'a Data<'a, T>,
        allocation: Allocation,
        components: Vec<f64>,
        law: LinearGaussian,
    ) -> Result<Self> {
        law.check()?;
        let (counts, ln_odds) = (allocation.counts(), LnOdds::new(data.n_rows()));
        debug_assert_eq!(components.len(), counts.len() * data.n_columns());
        debug_assert!(counts.iter().all(|count| *count > 0));
        let (order, own) = (Order::default(), OwnFeatures::default());
        Ok(UncollapsedFeatures { data, law, allocation, counts, components, ln_odds, order, own })
    }

    /// The values of the features, K x D.
    pub(super) fn components(&self) -> &[f64] {
        &self.components
    }

    /// The shared bits of a row: log odds log(m/(N-m)) - (|x - z1 A|^2 - |x - z0 A|^2)/(2 s2), flip by flip from A r and
    /// A A' in O(K).
    fn draw_bits(&mut self, row: usize, products: &[f64], residual: &mut [f64], rng: &mut Rng) {
        let (k, d) = (self.counts.len(), self.data.n_columns());
        subtract_features(residual, self.data.rows().row(row), self.allocation.features_of(row), &self.components);
        let mut along: Vec<f64> = self.components.chunks_exact(d).map(|a| dot(a, residual)).collect();
        for &feature in self.order.shuffled(k, rng) {
            let on = self.allocation.get(row, feature);
            let others = self.counts[feature] - usize::from(on);
            if others == 0 {
                continue;
            }
            let sign = if on { -1.0 } else { 1.0 };
            let change = products[feature * (k + 1)] - 2.0 * sign * along[feature];
            let ln_odds = self.ln_odds.of(others, !on) - change / (2.0 * self.law.noise);
            if draw_flip(ln_odds, rng) {
                self.allocation.set(row, feature, !on);
                self.counts[feature] = others + usize::from(!on);
                along.iter_mut().zip(&products[feature * k..]).for_each(|(a, g)| *a -= sign * g);
            }
        }
    }

    /// Drops the features the row alone has and draws new ones: j, then their values jointly,
    /// N(r2/(s2 + j r2) r each, r2 I - r2^2/(s2 + j r2) 11'). Says whether the features changed.
    fn draw_own(&mut self, row: usize, mass: f64, residual: &mut [f64], rng: &mut Rng) -> bool {
        let d = self.data.n_columns();
        let shared: Vec<usize> =
            (0..self.counts.len()).filter(|k| self.counts[*k] > usize::from(self.allocation.get(row, *k))).collect();
        let dropped = shared.len() < self.counts.len();
        if dropped {
            self.allocation = self.allocation.select(&shared);
            for (new, &old) in shared.iter().enumerate() {
                self.components.copy_within(old * d..(old + 1) * d, new * d);
            }
            self.components.truncate(shared.len() * d);
            self.counts = shared.iter().map(|k| self.counts[*k]).collect();
        }
        subtract_features(residual, self.data.rows().row(row), self.allocation.features_of(row), &self.components);
        let LinearGaussian { noise, scale } = self.law;
        let own = self.own.draw(mass / self.data.n_rows() as f64, noise, scale, dot(residual, residual), d, rng);
        let first = self.components.len();
        for _ in 0..own {
            self.components.extend((0..d).map(|_| scale.sqrt() * rng.sample::<f64, _>(StandardNormal)));
            self.allocation.push();
            self.allocation.set(row, self.allocation.n_features() - 1, true);
            self.counts.push(1);
        }
        // Draws from the prior, each moved by its share of what they and a draw of the noise leave of the residual:
        // that is a draw from the posterior.
        let share = scale / (noise + own as f64 * scale);
        let fresh = &mut self.components[first..];
        for column in 0..if own > 0 { d } else { 0 } {
            let mut left = residual[column] - noise.sqrt() * rng.sample::<f64, _>(StandardNormal);
            (0..own).for_each(|i| left -= fresh[i * d + column]);
            (0..own).for_each(|i| fresh[i * d + column] += share * left);
        }
        dropped || own > 0
    }

    fn products(&self) -> Vec<f64> {
        let rows = || self.components.chunks_exact(self.data.n_columns());
        rows().flat_map(|a| rows().map(move |b| dot(a, b))).collect()
    }
}

impl<T: Real> LiveFeatures for UncollapsedFeatures<'_, T> {
    fn allocation(&self) -> &Allocation {
        &self.allocation
    }

    fn law(&self) -> LinearGaussian {
        self.law
    }

    fn set_law(&mut self, law: LinearGaussian) -> Result<()> {
        law.check()?;
        self.law = law;
        Ok(())
    }

    fn ln_marginal(&self) -> f64 {
        self.law.ln_marginal(&self.allocation, self.data)
    }

    /// Kept for the next sweep.
    fn draw_components(&mut self, rng: &mut Rng) -> Vec<f64> {
        self.components = self.law.draw_components(&self.allocation, self.data, rng);
        self.components.clone()
    }

    fn sweep(&mut self, mass: f64, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let mut residual = vec![0.0; self.data.n_columns()];
        let mut products = self.products();
        for row in 0..self.data.n_rows() {
            if row % ROWS_PER_POLL == 0 {
                watch.step(&Step::Chunk)?;
            }
            self.draw_bits(row, &products, &mut residual, rng);
            if self.draw_own(row, mass, &mut residual, rng) {
                products = self.products();
            }
        }
        ControlFlow::Continue(())
    }
}
