//! Hierarchical Dirichlet process over the transitions between hidden states (Teh et al. 2006), sticky where asked (Fox et al.
//! 2011): beta ~ GEM(gamma), pi_j ~ DP(alpha + kappa, (alpha beta + kappa [k = j]) / (alpha + kappa)), z_t ~ pi_{z_t-1}.
//!
//! At most L states: beta ~ Dirichlet(gamma/L, .., gamma/L) instead, which tends to the first as L grows.

mod seats;
mod tables;
#[cfg(test)]
mod tests;

pub use seats::HdpSeats;

use super::concentration::{Concentration, draw_gamma};
use crate::error::{Error, Result};
use crate::random::{Rng, draw_beta};
use crate::special::{ln_factorial, ln_gamma};
use crate::structure::Sequences;
use rand::RngExt;
use serde::{Deserialize, Serialize};

/// The prior of a state sequence: where its numbers begin, and which of them are redrawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hdp {
    /// Where the numbers begin, and stay if they are fixed.
    pub values: HdpValues,
    /// What is known of alpha + kappa, and of the start row's concentration.
    pub concentration: Concentration,
    /// What is known of gamma.
    pub gamma: Concentration,
    /// (c, d) where the share rho = kappa / (alpha + kappa) has a Beta(c, d) prior and is redrawn; none: it is fixed.
    pub share: Option<(f64, f64)>,
    /// L, no more states than this.
    pub max_states: Option<usize>,
}

/// The numbers of the prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HdpValues {
    /// alpha + kappa: how alike the rows of the transition matrix are.
    pub concentration: f64,
    /// rho = kappa / (alpha + kappa), the extra share of staying; 0: not sticky, else below 1.
    pub share: f64,
    /// gamma: how evenly the states are used.
    pub gamma: f64,
    /// The concentration of the start row. Where nothing is sticky it is that of the others.
    pub start: f64,
}

/// beta: the weights of the states that are used, and what is left for all others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateWeights {
    /// beta_1, .., beta_K.
    pub states: Vec<f64>,
    /// beta_new; 0 where there are as many states as there may be.
    pub new: f64,
}

impl StateWeights {
    /// One more state takes its part of what is left.
    pub(crate) fn take(&mut self, hdp: &Hdp, gamma: f64, rng: &mut Rng) {
        let (part, new) = hdp.split(gamma, self.states.len(), self.new, rng);
        self.states.push(part);
        self.new = new;
    }
}

impl HdpValues {
    /// alpha.
    pub fn alpha(&self) -> f64 {
        self.concentration * (1.0 - self.share)
    }

    /// kappa.
    pub fn kappa(&self) -> f64 {
        self.concentration * self.share
    }

    /// Whether states stay longer than the others would.
    pub fn is_sticky(&self) -> bool {
        self.share > 0.0
    }

    /// What is added to the number of transitions from a state (none: the start) to one of weight `beta`.
    pub fn added(&self, from: Option<usize>, to: usize, beta: f64) -> f64 {
        match from {
            None => self.start * beta,
            Some(from) if from == to => self.alpha() * beta + self.kappa(),
            Some(_) => self.alpha() * beta,
        }
    }

    /// The sum of what is added over all states: alpha + kappa, or the start row's.
    pub fn added_in_all(&self, from: Option<usize>) -> f64 {
        if from.is_none() { self.start } else { self.concentration }
    }
}

impl Default for Hdp {
    /// All redrawn with Gamma(1, 1) priors, from 1; not sticky.
    fn default() -> Self {
        let redrawn = Concentration::Gamma { shape: 1.0, rate: 1.0 };
        let values = HdpValues { concentration: 1.0, share: 0.0, gamma: 1.0, start: 1.0 };
        Hdp { values, concentration: redrawn, gamma: redrawn, share: None, max_states: None }
    }
}

impl Hdp {
    /// The same where staying has an extra share rho with a uniform prior, redrawn from 1/2.
    pub fn sticky(self) -> Self {
        Hdp { values: HdpValues { share: 0.5, ..self.values }, share: Some((1.0, 1.0)), ..self }
    }

    /// Errors unless the numbers and their priors make sense.
    pub fn check(&self) -> Result<()> {
        self.concentration.check()?;
        self.gamma.check()?;
        self.check_values(&self.values)?;
        if let Some((c, d)) = self.share
            && !(c.is_finite() && d.is_finite() && c > 0.0 && d > 0.0 && self.values.is_sticky())
        {
            let help = "1 and 1 for a uniform prior of the share of staying, which must begin above 0";
            return Err(Error::argument("share", "two positive finite numbers", format!("{c}, {d}"), help));
        }
        if self.max_states == Some(0) {
            return Err(Error::argument("max_states", "at least 1", 0, "every row is in some state"));
        }
        Ok(())
    }

    /// Errors unless numbers of this prior can be these.
    pub fn check_values(&self, values: &HdpValues) -> Result<()> {
        let HdpValues { concentration, share, gamma, start } = *values;
        for (name, value) in [("concentration", concentration), ("gamma", gamma), ("start", start)] {
            if !(value.is_finite() && value > 0.0) {
                let help = "a larger concentration makes more states, or transitions more alike; 1 is a usual choice";
                return Err(Error::argument(name, "a positive finite number", value, help));
            }
        }
        if !(0.0..1.0).contains(&share) {
            let help = "it is the share kappa / (alpha + kappa) of staying; 0 for none";
            return Err(Error::argument("share", "at least 0 and below 1", share, help));
        }
        if share == 0.0 && start != concentration {
            let help = "the start row has a concentration of its own only where states are sticky";
            return Err(Error::argument("start", format!("equal to the concentration, {concentration}"), start, help));
        }
        Ok(())
    }

    /// Most states there can be.
    pub fn most_states(&self) -> usize {
        self.max_states.unwrap_or(usize::MAX)
    }

    /// gamma / L, what the prior adds to a state's weight: 0 without a largest number of states.
    fn added_to_each(&self, gamma: f64) -> f64 {
        self.max_states.map_or(0.0, |most| gamma / most as f64)
    }

    /// What the prior has for all states but k: gamma (L - k) / L, or gamma.
    fn added_to_rest(&self, gamma: f64, k: usize) -> f64 {
        self.max_states.map_or(gamma, |most| gamma * (most - k) as f64 / most as f64)
    }

    /// The part of beta_new that state K + 1 takes, and what is left: Beta(1, gamma) of it, or with at most L states
    /// Beta(1 + gamma/L, gamma (L - K - 1)/L): a state found by chance, so the larger ones first.
    pub fn split(&self, gamma: f64, k: usize, new: f64, rng: &mut Rng) -> (f64, f64) {
        debug_assert!(k < self.most_states(), "no more states are allowed");
        let rest = self.added_to_rest(gamma, k + 1);
        // Only the last of L states leaves nothing.
        if rest == 0.0 {
            return (new, 0.0);
        }
        let (part, left) = draw_beta(1.0 + self.added_to_each(gamma), rest, rng);
        ((new * part).max(f64::MIN_POSITIVE), (new * left).max(f64::MIN_POSITIVE))
    }

    /// Weights of k states found one after another.
    fn split_all(&self, gamma: f64, k: usize, rng: &mut Rng) -> StateWeights {
        let mut weights = StateWeights { states: vec![], new: 1.0 };
        (0..k).for_each(|_| weights.take(self, gamma, rng));
        weights
    }

    /// Log density of the weights of K states and the rest, states not told apart: K log gamma - sum log beta_k +
    /// (gamma - 1) log beta_new; with at most L states the Dirichlet's, times the L!/(L-K)! ways to choose them.
    pub fn ln_weights(&self, gamma: f64, weights: &StateWeights) -> f64 {
        let k = weights.states.len();
        let (each, rest) = (self.added_to_each(gamma), self.added_to_rest(gamma, k));
        let ln_sum: f64 = weights.states.iter().map(|beta| beta.ln()).sum();
        let ln_rest = if rest > 0.0 { (rest - 1.0) * weights.new.ln() - ln_gamma(rest) } else { 0.0 };
        let ln_each = match self.max_states {
            None => k as f64 * gamma.ln(),
            Some(most) => ln_factorial(most) - ln_factorial(most - k) - k as f64 * ln_gamma(each),
        };
        ln_gamma(gamma) + ln_each + (each - 1.0) * ln_sum + ln_rest
    }

    /// Log density of the numbers under their own priors; those that are fixed count nothing.
    pub fn ln_values(&self, values: &HdpValues) -> f64 {
        let start = if values.is_sticky() { self.concentration.ln_density(values.start.ln()) } else { 0.0 };
        let share = self.share.map_or(0.0, |(c, d)| {
            ln_gamma(c + d) - ln_gamma(c) - ln_gamma(d)
                + (c - 1.0) * values.share.ln()
                + (d - 1.0) * (-values.share).ln_1p()
        });
        self.concentration.ln_density(values.concentration.ln())
            + self.gamma.ln_density(values.gamma.ln())
            + start
            + share
    }

    /// The numbers, from their own priors where they are not fixed.
    pub fn sample_values(&self, rng: &mut Rng) -> HdpValues {
        let mut draw = |prior: Concentration, fixed: f64| match prior {
            Concentration::Fixed => fixed,
            Concentration::Gamma { shape, rate } => draw_gamma(shape, rate, rng),
        };
        let mut values = self.values;
        values.concentration = draw(self.concentration, values.concentration);
        values.gamma = draw(self.gamma, values.gamma);
        values.start = if values.is_sticky() { draw(self.concentration, values.start) } else { values.concentration };
        if let Some((c, d)) = self.share {
            values.share = tables::inside(draw_beta(c, d, rng).0);
        }
        values
    }

    /// The states of sequences, numbered in order of first appearance, and the states' weights.
    pub fn sample(&self, values: &HdpValues, sequences: &Sequences, rng: &mut Rng) -> (Vec<u32>, StateWeights) {
        let mut weights = StateWeights { states: vec![], new: 1.0 };
        let mut states: Vec<u32> = Vec::with_capacity(sequences.n_rows());
        // Transitions from the start, then from each state.
        let mut counts: Vec<Vec<f64>> = vec![vec![]];
        for rows in sequences.ranges() {
            let mut from = None;
            for _ in rows {
                let k = weights.states.len();
                let row = from.map_or(0, |state: usize| state + 1);
                counts[row].resize(k, 0.0);
                let chances: Vec<f64> = (0..k)
                    .map(|to| counts[row][to] + values.added(from, to, weights.states[to]))
                    .chain([values.added(from, k, weights.new)])
                    .collect();
                let mut left = rng.random::<f64>() * chances.iter().sum::<f64>();
                let passed = chances.iter().position(|chance| {
                    left -= chance;
                    left < 0.0
                });
                let to = passed.unwrap_or(0);
                if to == k {
                    weights.take(self, values.gamma, rng);
                    counts.push(vec![]);
                    counts[row].push(0.0);
                }
                counts[row][to] += 1.0;
                states.push(to as u32);
                from = Some(to);
            }
        }
        (states, weights)
    }
}
