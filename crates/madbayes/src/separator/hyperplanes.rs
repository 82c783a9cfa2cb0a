//! The hyperplanes of all groups, and where that of a new group comes from (Nguyen et al. 2017, Eq. 5, corrected).

use super::{Discriminative, Factor, Hyperplane, Inputs, Scaling, Separator};
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::random::{Rng, RngState, Stream, stream};
use crate::watch::{Step, Watch};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

/// Where the hyperplane of a new group comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewCluster {
    /// From the posterior of an empty group's hyperplane, h(eta) proportional to N(eta; 0, wI) prod over all rows of
    /// p(y = -1); a row that was alone keeps its own. Opening a group puts a factor on every other row: only with h do these
    /// cancel, and a joint distribution is left invariant: CRP * marginals * prod_k [h(eta_k) prod over its rows of p(1)/p(-1)].
    #[default]
    Exact,
    /// From the prior, afresh each time, as published. No joint distribution is left invariant.
    Paper,
}

/// Draws from h, made beforehand: it depends on the rows and w alone.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pool {
    hyperplanes: Vec<f64>,
    width: usize,
}

/// Hyperplanes in a pool: as many as this many multiply-adds give, between these bounds.
const POOL_WORK: f64 = 4e9;
const FEWEST: f64 = 64.0;
const MOST: f64 = 4096.0;
/// Steps of the chain between two that are kept, and before the first.
const THIN: usize = 2;
const BURN_IN: usize = 30;

impl Pool {
    /// By a chain with every row on the far side; none once the watch has said stop.
    pub fn new(hyperplane: &Hyperplane, seed: u64, watch: &dyn Watch) -> Option<Self> {
        let (n, width) = (hyperplane.inputs().n_rows() as f64, hyperplane.inputs().width());
        let size = match hyperplane.scale {
            0.0 => 1,
            _ => (POOL_WORK / (n * (width as f64 * width as f64 + 30.0)) / THIN as f64).clamp(FEWEST, MOST) as usize,
        };
        let mut rng = stream(seed, Stream::Pool);
        let (mut eta, mut hyperplanes) = (vec![0.0; width], Vec::with_capacity(size * width));
        for step in 0..BURN_IN + THIN * size {
            if watch.step(&Step::Chunk).is_break() {
                return None;
            }
            hyperplane.step(&mut eta, &|_| -1.0, &mut rng);
            if step >= BURN_IN && (step - BURN_IN).is_multiple_of(THIN) {
                hyperplanes.extend_from_slice(&eta);
            }
        }
        Some(Pool { hyperplanes, width })
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.hyperplanes.len() / self.width
    }

    fn draw(&self, rng: &mut Rng) -> &[f64] {
        let i = rng.random_range(0..self.size());
        &self.hyperplanes[i * self.width..(i + 1) * self.width]
    }
}

/// The discriminative term of a model: what draws hyperplanes, and those that a new group may have.
#[derive(Debug, Clone)]
pub struct Separation<'a> {
    hyperplane: Hyperplane<'a>,
    pool: Pool,
    rule: NewCluster,
}

impl<'a> Separation<'a> {
    /// With its pool; none once the watch has said stop.
    pub fn new(term: Discriminative, inputs: &'a Inputs, seed: u64, watch: &dyn Watch) -> Option<Self> {
        let rule = term.new_cluster;
        let hyperplane = Hyperplane::new(term.factor, term.scale, inputs);
        let pool = match rule {
            NewCluster::Exact => Pool::new(&hyperplane, seed, watch)?,
            NewCluster::Paper => Pool::default(),
        };
        Some(Separation { hyperplane, pool, rule })
    }

    /// What draws hyperplanes.
    pub fn hyperplane(&self) -> &Hyperplane<'a> {
        &self.hyperplane
    }

    /// Whether proposals can be accepted by a joint distribution: not under the published rule for new groups, unless w is 0.
    pub fn leaves_a_joint_invariant(&self) -> bool {
        self.rule == NewCluster::Exact || self.hyperplane.scale == 0.0
    }

    /// Errors unless saved hyperplanes, if there are any yet, are of so many groups.
    pub fn check(&self, state: Option<&HyperplaneState>, n_groups: usize) -> Result<()> {
        let wanted = n_groups * self.hyperplane.inputs().width();
        let fits = |state: &HyperplaneState| {
            state.hyperplanes.len() == wanted && state.hyperplanes.iter().all(|eta| eta.is_finite())
        };
        if state.is_none_or(fits) {
            return Ok(());
        }
        let allowed = format!("{wanted} finite numbers for {n_groups} hyperplanes");
        let found = format!("{} numbers", state.map_or(0, |state| state.hyperplanes.len()));
        Err(Error::argument("state", allowed, found, "go on with the data and the term that the chain began with"))
    }

    /// The hyperplanes of a chain, without groups.
    pub fn hyperplanes(&self, seed: u64, chain: usize, workers: Workers) -> Hyperplanes<'_> {
        let rng = stream(seed, Stream::Hyperplanes(chain as u32));
        let candidate = vec![0.0; self.hyperplane.inputs().width()];
        Hyperplanes { separation: self, workers, etas: vec![], candidate, kept: false, rng }
    }
}

/// The hyperplanes of a fit: means of their posterior given the groups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FittedHyperplanes {
    /// How a row on the wrong side is punished.
    pub factor: Factor,
    /// From rows to inputs.
    pub scaling: Scaling,
    /// K x (D+1), the last of each the intercept.
    pub hyperplanes: Vec<f64>,
}

/// Steps over which hyperplanes are averaged: as many as this many multiply-adds give, between these bounds.
const MEAN_WORK: f64 = 2e10;
const FEWEST_STEPS: f64 = 10.0;
const MOST_STEPS: f64 = 500.0;

impl Separation<'_> {
    /// The hyperplanes of given groups.
    pub fn fitted(&self, labels: &[u32], n_groups: usize, seed: u64, workers: &Workers) -> FittedHyperplanes {
        let inputs = self.hyperplane.inputs();
        let work = (inputs.n_rows() * n_groups) as f64 * (inputs.width() as f64).powi(2);
        let steps = (MEAN_WORK / work).clamp(FEWEST_STEPS, MOST_STEPS) as usize;
        let hyperplanes = workers.map(n_groups, |k| {
            let side = |row: usize| if labels[row] as usize == k { 1.0 } else { -1.0 };
            let mut rng = stream(seed, Stream::Estimate(k as u32));
            self.hyperplane.mean(&side, steps, &mut rng)
        });
        let scaling = inputs.scaling().clone();
        FittedHyperplanes { factor: self.hyperplane.factor, scaling, hyperplanes: hyperplanes.concat() }
    }
}

impl FittedHyperplanes {
    /// The hyperplane of a group in the units of the rows: coefficients of the columns, and the intercept.
    pub fn in_units(&self, group: usize) -> (Vec<f64>, f64) {
        self.scaling.in_units(self.of(group))
    }

    /// log p(y = 1)/p(y = -1) of a row under the hyperplane of a group.
    pub fn ln_ratio(&self, group: usize, row: impl Iterator<Item = f64>) -> f64 {
        self.factor.ln_ratio(self.scaling.value(self.of(group), row))
    }

    /// Says what does not fit `n_groups` groups of rows of `n_columns` columns.
    pub fn check(&self, n_groups: usize, n_columns: usize) -> std::result::Result<(), String> {
        let finite = self.hyperplanes.iter().all(|eta| eta.is_finite());
        if self.hyperplanes.len() != n_groups * (n_columns + 1) || !finite || !self.scaling.fits(n_columns) {
            return Err("its hyperplanes are not of its clusters and columns".into());
        }
        Ok(())
    }

    fn of(&self, group: usize) -> &[f64] {
        let width = self.scaling.width();
        &self.hyperplanes[group * width..(group + 1) * width]
    }
}

/// The hyperplanes of K groups with a random stream of their own: with w = 0 the other draws of a chain are those of a mixture
/// without them.
pub struct Hyperplanes<'a> {
    separation: &'a Separation<'a>,
    workers: Workers,
    /// K x (D+1).
    etas: Vec<f64>,
    candidate: Vec<f64>,
    /// Whether the candidate is that of the group closed last.
    kept: bool,
    rng: Rng,
}

/// All that the further course of hyperplanes depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HyperplaneState {
    /// K x (D+1).
    pub hyperplanes: Vec<f64>,
    /// Their random stream.
    pub rng: RngState,
}

impl Hyperplanes<'_> {
    /// Hyperplanes of zeros for K groups.
    pub fn begin(&mut self, n_groups: usize) {
        self.etas.clear();
        self.etas.resize(n_groups * self.candidate.len(), 0.0);
        self.kept = false;
    }

    /// More groups until there are this many, each with a hyperplane drawn as for a new group.
    pub fn extend_to(&mut self, n_groups: usize) {
        while self.n_groups() < n_groups {
            self.draw_candidate();
            self.open();
        }
    }

    /// Only these groups, in this order; the hyperplanes of the others are forgotten. The factors of a group without rows
    /// integrate to 1.
    pub fn keep(&mut self, groups: &[usize]) {
        self.etas = groups.iter().flat_map(|&group| self.of(group).to_vec()).collect();
        self.kept = false;
    }

    /// To be saved.
    pub fn state(&self) -> HyperplaneState {
        HyperplaneState { hyperplanes: self.etas.clone(), rng: RngState::from(&self.rng) }
    }

    /// Goes on from a saved state.
    pub fn take_up(&mut self, state: &HyperplaneState) {
        self.etas.clone_from(&state.hyperplanes);
        self.rng = Rng::from(state.rng);
        self.kept = false;
    }

    /// Those of all groups, K x (D+1).
    pub fn hyperplanes(&self) -> &[f64] {
        &self.etas
    }

    fn of(&self, group: usize) -> &[f64] {
        let width = self.candidate.len();
        self.etas.get(group * width..(group + 1) * width).unwrap_or(&self.candidate)
    }
}

impl Separator for Hyperplanes<'_> {
    fn n_groups(&self) -> usize {
        self.etas.len() / self.candidate.len()
    }

    fn open(&mut self) {
        self.etas.extend_from_slice(&self.candidate);
    }

    fn close(&mut self, group: usize) {
        let width = self.candidate.len();
        let last = self.etas.len() - width;
        if self.separation.rule == NewCluster::Exact {
            self.candidate.copy_from_slice(&self.etas[group * width..(group + 1) * width]);
            self.kept = true;
        }
        self.etas.copy_within(last.., group * width);
        self.etas.truncate(last);
    }

    fn weigh(&mut self, row: usize, out: &mut [f64]) {
        if !std::mem::take(&mut self.kept) {
            self.draw_candidate();
        }
        out.iter_mut().enumerate().for_each(|(group, weight)| *weight += self.ln_ratio(group, row));
    }

    fn draw_candidate(&mut self) {
        self.kept = false;
        match self.separation.rule {
            NewCluster::Exact => self.candidate.copy_from_slice(self.separation.pool.draw(&mut self.rng)),
            NewCluster::Paper => {
                let deviation = self.separation.hyperplane.scale.sqrt();
                let rng = &mut self.rng;
                self.candidate.fill_with(|| deviation * rng.sample::<f64, _>(StandardNormal));
            }
        }
    }

    fn ln_ratio(&self, group: usize, row: usize) -> f64 {
        let law = &self.separation.hyperplane;
        law.factor.ln_ratio(law.inputs().value(self.of(group), row))
    }

    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize) {
        let (width, law) = (self.candidate.len(), &self.separation.hyperplane);
        let group: Vec<u32> = (0..law.inputs().n_rows()).map(|row| group_of_row(row) as u32).collect();
        // A stream for each, so that threads do not matter.
        let mut drawn: Vec<(&mut [f64], u64)> =
            self.etas.chunks_exact_mut(width).map(|eta| (eta, self.rng.random())).collect();
        self.workers.map_mut(&mut drawn, |k, (eta, seed)| {
            let side = |row: usize| if group[row] as usize == k { 1.0 } else { -1.0 };
            law.step(eta, &side, &mut Rng::seed_from_u64(*seed));
        });
    }
}
