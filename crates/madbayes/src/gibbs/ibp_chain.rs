//! One chain of the IBP sampler: sweeps, draws of mass and variances, thinned draws and traces.

use super::chain::Schedule;
use super::inverse_gamma::InverseGamma;
use crate::data::{Data, Real};
use crate::error::Result;
use crate::likelihood::{LEAST_RIDGE, LinearGaussian, sum_of_squares};
use crate::linalg::dot;
use crate::prior::{Concentration, Ibp, resample_mass};
use crate::random::Rng;
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// Where a chain stands.
#[derive(Debug, Clone, PartialEq)]
pub struct IbpState {
    /// The features of each row.
    pub allocation: Allocation,
    /// The features' values, K x D: a draw while the uncollapsed sampler runs, otherwise their mean given the rest.
    pub components: Vec<f64>,
    /// gamma, the expected number of features of a row.
    pub mass: f64,
    /// s2, the variance of a row about the sum of its features.
    pub noise: f64,
    /// r2, the variance of the features about 0.
    pub scale: f64,
}

/// What one chain saw. Its log joint is log p(X, Z, gamma, s2, r2) in both samplers, the features' values integrated out;
/// what is fixed has no density.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IbpChain {
    /// Draws kept after the burn-in.
    pub draws: Vec<Allocation>,
    /// Number of features after every sweep.
    pub n_features: Vec<usize>,
    /// Log joint after every sweep.
    pub ln_joint: Vec<f64>,
    /// Mass gamma after every sweep.
    pub mass: Vec<f64>,
    /// Noise s2 after every sweep.
    pub noise: Vec<f64>,
    /// Scale r2 after every sweep.
    pub scale: Vec<f64>,
    /// The state of highest log joint, and that log joint.
    pub best: Option<(IbpState, f64)>,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

/// What is redrawn after every sweep; what is not stays as it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Priors {
    /// Shape and rate of the mass.
    pub(super) mass: Option<(f64, f64)>,
    pub(super) noise: Option<InverseGamma>,
    pub(super) scale: Option<InverseGamma>,
}

impl Priors {
    fn ln_density(&self, mass: f64, law: LinearGaussian) -> f64 {
        let mass = self.mass.map_or(0.0, |(shape, rate)| Concentration::Gamma { shape, rate }.ln_density(mass.ln()));
        let variance = |prior: Option<InverseGamma>, value| prior.map_or(0.0, |prior| prior.ln_density(value));
        mass + variance(self.noise, law.noise) + variance(self.scale, law.scale)
    }
}

/// Features with their values integrated out, or at hand.
pub(super) trait LiveFeatures {
    fn allocation(&self) -> &Allocation;
    fn law(&self) -> LinearGaussian;
    fn set_law(&mut self, law: LinearGaussian) -> Result<()>;
    /// log p(X | Z), the features' values integrated out.
    fn ln_marginal(&self) -> f64;
    /// A draw of the features' values given all else, K x D.
    fn draw_components(&mut self, rng: &mut Rng) -> Vec<f64>;
    /// Draws the features of every row once; the watch may break it off between two rows.
    fn sweep(&mut self, mass: f64, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()>;
}

/// One sweep, then A, s2 ~ InvGamma(a + ND/2, b + |X - ZA|^2/2), r2 ~ InvGamma(a + KD/2, b + |A|^2/2) and
/// gamma ~ Gamma(a + K, b + H_N).
pub(super) fn advance<T: Real>(
    live: &mut dyn LiveFeatures,
    mass: &mut f64,
    priors: &Priors,
    keeps_components: bool,
    data: &Data<T>,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Result<ControlFlow<()>> {
    if live.sweep(*mass, rng, watch).is_break() {
        return Ok(ControlFlow::Break(()));
    }
    if keeps_components || priors.noise.is_some() || priors.scale.is_some() {
        let components = live.draw_components(rng);
        let mut law = live.law();
        if let Some(prior) = priors.noise {
            let squares = sum_of_squares(data, live.allocation(), &components);
            law.noise = prior.updated(data.n_rows() * data.n_columns(), squares).sample(rng);
        }
        if let Some(prior) = priors.scale {
            law.scale = prior.updated(components.len(), dot(&components, &components)).sample(rng);
        }
        // Without features the scale comes from its prior, whose tail is long.
        match priors.scale.is_some() {
            true => law.scale = law.scale.min(law.noise / LEAST_RIDGE),
            false => law.noise = law.noise.max(law.scale * LEAST_RIDGE),
        }
        live.set_law(law)?;
    }
    if let Some((shape, rate)) = priors.mass {
        *mass = resample_mass(data.n_rows(), live.allocation().n_features(), shape, rate, rng);
    }
    Ok(ControlFlow::Continue(()))
}

/// Runs a chain from where `live` and `mass` stand.
#[expect(clippy::too_many_arguments, reason = "the parts of a chain")]
pub(super) fn run_chain<T: Real>(
    number: usize,
    live: &mut dyn LiveFeatures,
    mut mass: f64,
    priors: &Priors,
    keeps_components: bool,
    schedule: Schedule,
    data: &Data<T>,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Result<IbpChain> {
    let mut chain = IbpChain::default();
    for done in 0..schedule.sweeps {
        if advance(live, &mut mass, priors, keeps_components, data, rng, watch)?.is_break() {
            chain.stopped = true;
            break;
        }
        let (law, k) = (live.law(), live.allocation().n_features());
        let prior = Ibp::new(mass)?.ln_prob(live.allocation()) + priors.ln_density(mass, law);
        let ln_joint = prior + live.ln_marginal();
        chain.n_features.push(k);
        chain.ln_joint.push(ln_joint);
        chain.mass.push(mass);
        chain.noise.push(law.noise);
        chain.scale.push(law.scale);
        if chain.best.as_ref().is_none_or(|(_, best)| ln_joint > *best) {
            let LinearGaussian { noise, scale } = law;
            let allocation = live.allocation().clone();
            chain.best = Some((IbpState { allocation, components: vec![], mass, noise, scale }, ln_joint));
        }
        if done >= schedule.burn_in && (done - schedule.burn_in).is_multiple_of(schedule.thin) {
            chain.draws.push(live.allocation().clone());
        }
        if watch.step(&Step::Pass { run: number, pass: done + 1, groups: k, objective: -ln_joint }).is_break() {
            chain.stopped = true;
            break;
        }
    }
    if let Some((best, _)) = &mut chain.best {
        let law = LinearGaussian { noise: best.noise, scale: best.scale };
        best.components = law.mean_components(&best.allocation, data);
    }
    Ok(chain)
}
