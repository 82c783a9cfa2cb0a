//! One chain of a sampler of hidden states: sweeps, thinned draws and traces.

use super::chain::Schedule;
use super::hmm_kernel::HmmKernel;
use crate::error::{Error, Result};
use crate::prior::{Hdp, HdpValues, StateWeights};
use crate::random::{Rng, RngState};
use crate::separator::HyperplaneState;
use crate::structure::CompactPartition;
use crate::watch::{Step, Watch};
use serde::{Deserialize, Serialize};

/// One draw: the state of every row, numbered in order of first appearance, and what the prior says of transitions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmDraw {
    /// The state of every row.
    pub states: CompactPartition,
    /// Their weights, in the same order.
    pub weights: StateWeights,
    /// The prior's numbers.
    pub values: HdpValues,
}

/// What one chain saw, in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmChain {
    /// Draws kept after the burn-in.
    pub draws: Vec<HmmDraw>,
    /// Number of states after every sweep.
    pub n_states: Vec<usize>,
    /// Log joint of states, weights, rows and the prior's numbers after every sweep.
    pub ln_joint: Vec<f64>,
    /// The prior's numbers after every sweep.
    pub values: Vec<HdpValues>,
    /// The draw of highest log joint, and that log joint.
    pub best: Option<(HmmDraw, f64)>,
    /// Where it stands after its last whole sweep, to go on from.
    pub state: HmmState,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

impl HmmChain {
    /// This run and the one that went on from its state, as if they had been one.
    pub fn followed_by(mut self, next: HmmChain) -> HmmChain {
        self.draws.extend(next.draws);
        self.n_states.extend(next.n_states);
        self.ln_joint.extend(next.ln_joint);
        self.values.extend(next.values);
        let better = match (&self.best, &next.best) {
            (Some((_, mine)), Some((_, other))) => other > mine,
            (mine, _) => mine.is_none(),
        };
        HmmChain { best: if better { next.best } else { self.best }, state: next.state, stopped: next.stopped, ..self }
    }
}

/// All that the further course of a chain depends on, beside the data and the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmState {
    /// State of every row. The numbering matters: it is the order in which a row is offered the states.
    pub states: Vec<u32>,
    /// The states' weights.
    pub weights: StateWeights,
    /// The prior's numbers.
    pub values: HdpValues,
    /// Sweeps done since the beginning.
    pub sweeps: usize,
    /// The chain's random stream.
    pub rng: RngState,
    /// The stream of the weights of new states.
    pub sticks: RngState,
    /// Hyperplanes of a discriminative term, once they play a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplanes: Option<HyperplaneState>,
}

impl HmmState {
    fn of(kernel: &HmmKernel, sweeps: usize, rng: &Rng) -> Self {
        let seats = kernel.seats();
        HmmState {
            states: kernel.states(),
            weights: seats.weights(),
            values: *seats.values(),
            sweeps,
            rng: RngState::from(rng),
            sticks: RngState::from(seats.stick_rng()),
            hyperplanes: kernel.hyperplane_state(),
        }
    }

    /// Errors unless a chain of `n_rows` rows under this prior can go on from it.
    pub fn check(&self, n_rows: usize, hdp: &Hdp) -> Result<()> {
        let wrong = |allowed: String, found: String| {
            Err(Error::argument("state", allowed, found, "go on with the data and the prior that the chain began with"))
        };
        if self.states.len() != n_rows {
            return wrong(format!("that of a chain of {n_rows} rows"), format!("one of {}", self.states.len()));
        }
        let k = self.weights.states.len();
        let mut seen = vec![false; k];
        for &state in &self.states {
            match seen.get_mut(state as usize) {
                Some(seen) => *seen = true,
                None => return wrong(format!("one of {k} states"), format!("state {state}")),
            }
        }
        if seen.contains(&false) {
            return wrong("one whose states all have rows".into(), "a state without rows".into());
        }
        if k > hdp.most_states() {
            return wrong(format!("one of at most {} states", hdp.most_states()), format!("one of {k}"));
        }
        let rest = self.weights.new;
        let is_weight = |weight: &f64| weight.is_finite() && *weight > 0.0;
        if !self.weights.states.iter().all(is_weight) || !(is_weight(&rest) || (rest == 0.0 && k == hdp.most_states()))
        {
            return wrong("one of positive weights".into(), format!("{:?}", self.weights));
        }
        hdp.check_values(&self.values)
    }

    /// The draw that stands here.
    pub(super) fn draw(&self) -> HmmDraw {
        let k = self.weights.states.len();
        let states = CompactPartition::from_groups(k, self.states.iter().copied());
        // Weights in the order of the draw's own numbering.
        let mut weights = StateWeights { states: vec![0.0; k], new: self.weights.new };
        for (row, &state) in self.states.iter().enumerate() {
            weights.states[states.label(row) as usize] = self.weights.states[state as usize];
        }
        HmmDraw { states, weights, values: self.values }
    }
}

/// Runs a chain on from the state of `kernel`, `done` sweeps of the schedule being over.
pub(super) fn run_hmm_chain(
    number: usize,
    kernel: &mut HmmKernel,
    done: usize,
    schedule: Schedule,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> HmmChain {
    let mut chain = HmmChain {
        draws: vec![],
        n_states: vec![],
        ln_joint: vec![],
        values: vec![],
        best: None,
        state: HmmState::of(kernel, done, rng),
        stopped: false,
    };
    for done in done..schedule.sweeps {
        if kernel.step(rng, watch).is_break() {
            chain.stopped = true;
            break;
        }
        let (ln_joint, k) = (kernel.ln_joint(), kernel.n_states());
        chain.n_states.push(k);
        chain.ln_joint.push(ln_joint);
        chain.values.push(*kernel.seats().values());
        chain.state = HmmState::of(kernel, done + 1, rng);
        if chain.best.as_ref().is_none_or(|(_, best)| ln_joint > *best) {
            chain.best = Some((chain.state.draw(), ln_joint));
        }
        if done >= schedule.burn_in && (done - schedule.burn_in).is_multiple_of(schedule.thin) {
            chain.draws.push(chain.state.draw());
        }
        let step = Step::Pass { run: number, pass: done + 1, groups: k, objective: -ln_joint };
        if watch.step(&step).is_break() {
            chain.stopped = true;
            break;
        }
    }
    chain
}
