//! One chain of a mixture sampler: sweeps, thinned draws and traces.

use super::kernel::Kernel;
use crate::error::{Error, Result};
use crate::prior::PartitionPrior;
use crate::random::{Rng, RngState};
use crate::separator::HyperplaneState;
use crate::structure::{CompactPartition, Partition};
use crate::watch::{Step, Watch};
use serde::{Deserialize, Serialize};

/// How long a chain runs and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    /// Sweeps in all, burn-in included.
    pub sweeps: usize,
    /// First sweeps whose draws are not kept.
    pub burn_in: usize,
    /// Every how many sweeps after that a draw is kept.
    pub thin: usize,
}

impl Default for Schedule {
    fn default() -> Self {
        Schedule { sweeps: 1000, burn_in: 500, thin: 1 }
    }
}

impl Schedule {
    /// Errors unless at least one draw is kept.
    pub fn check(&self) -> Result<()> {
        if self.thin == 0 {
            return Err(Error::argument("thin", "at least 1", 0, "1 keeps every draw"));
        }
        if self.burn_in >= self.sweeps {
            return Err(Error::argument(
                "burn_in",
                format!("less than the number of sweeps, {}", self.sweeps),
                self.burn_in,
                "the sweeps include the burn-in, and at least one must be kept",
            ));
        }
        Ok(())
    }

    /// Errors unless chains that have done so many sweeps have some left to do. Those that were stopped have not all come as far.
    pub(super) fn check_left(&self, done: impl Iterator<Item = usize> + Clone) -> Result<()> {
        let (least, most) = (done.clone().min().unwrap_or(0), done.max().unwrap_or(0));
        if least < self.sweeps && most <= self.sweeps {
            return Ok(());
        }
        let help = "they count from the beginning of the chain";
        Err(Error::argument("sweeps", format!("more than the {most} already done"), self.sweeps, help))
    }

    /// How many of the first `sweeps` sweeps leave a draw.
    pub fn draws_of(&self, sweeps: usize) -> usize {
        sweeps.saturating_sub(self.burn_in).div_ceil(self.thin.max(1))
    }
}

/// What one chain saw, in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chain {
    /// Draws kept after the burn-in.
    pub draws: Vec<CompactPartition>,
    /// Number of groups after every sweep.
    pub n_groups: Vec<usize>,
    /// Log joint of labels, rows and concentration after every sweep.
    pub ln_joint: Vec<f64>,
    /// Concentration after every sweep.
    pub concentration: Vec<f64>,
    /// The draw of highest log joint, and that log joint.
    pub best: Option<(Partition, f64)>,
    /// Where it stands after its last whole sweep, to go on from.
    pub state: ChainState,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

impl Chain {
    /// This run and the one that went on from its state, as if they had been one.
    pub fn followed_by(mut self, next: Chain) -> Chain {
        self.draws.extend(next.draws);
        self.n_groups.extend(next.n_groups);
        self.ln_joint.extend(next.ln_joint);
        self.concentration.extend(next.concentration);
        let better = match (&self.best, &next.best) {
            (Some((_, mine)), Some((_, other))) => other > mine,
            (mine, _) => mine.is_none(),
        };
        Chain { best: if better { next.best } else { self.best }, state: next.state, stopped: next.stopped, ..self }
    }
}

/// All that the further course of a chain depends on, beside the data and the parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChainState {
    /// Group of every row. The numbering matters: it is the order in which a row is offered the groups.
    pub labels: Vec<u32>,
    /// Log concentration.
    pub ln_concentration: f64,
    /// Sweeps done since the beginning.
    pub sweeps: usize,
    /// The chain's random stream.
    pub rng: RngState,
    /// Hyperplanes of a discriminative term, once they play a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hyperplanes: Option<HyperplaneState>,
}

impl ChainState {
    /// Errors unless a chain of `n_rows` rows under this prior can go on from it.
    pub fn check(&self, n_rows: usize, prior: &PartitionPrior) -> Result<()> {
        let wrong = |allowed: String, found: String| {
            Err(Error::argument("state", allowed, found, "go on with the data and the prior that the chain began with"))
        };
        if self.labels.len() != n_rows {
            return wrong(format!("that of a chain of {n_rows} rows"), format!("one of {}", self.labels.len()));
        }
        let k = self.labels.iter().max().map_or(0, |&label| label as usize + 1);
        let mut seen = vec![false; k.min(n_rows)];
        self.labels.iter().for_each(|&label| {
            if let Some(seen) = seen.get_mut(label as usize) {
                *seen = true;
            }
        });
        if k > n_rows || seen.contains(&false) {
            return wrong("one whose groups all have rows".into(), "a group without rows".into());
        }
        let most = prior.most_groups(n_rows);
        if k > most {
            return wrong(format!("one of at most {most} groups"), format!("one of {k}"));
        }
        if !self.ln_concentration.is_finite() {
            let found = format!("exp({})", self.ln_concentration);
            return wrong("one of a positive finite concentration".into(), found);
        }
        Ok(())
    }
}

/// Runs a chain on from the state of `kernel`, `done` sweeps of the schedule being over.
pub(super) fn run_chain(
    number: usize,
    kernel: &mut Kernel,
    done: usize,
    schedule: Schedule,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Chain {
    let n_rows = kernel.labels.n_rows();
    let mut chain = Chain {
        draws: Vec::new(),
        n_groups: Vec::new(),
        ln_joint: Vec::new(),
        concentration: Vec::new(),
        best: None,
        state: ChainState {
            labels: kernel.labels.to_vec(),
            ln_concentration: kernel.ln_concentration(),
            sweeps: done,
            rng: RngState::from(&*rng),
            hyperplanes: kernel.hyperplane_state(),
        },
        stopped: false,
    };
    let mut best: Option<(CompactPartition, f64)> = None;
    for done in done..schedule.sweeps {
        if kernel.step(rng, watch).is_break() {
            chain.stopped = true;
            break;
        }
        let (ln_joint, k) = (kernel.ln_joint(), kernel.labels.n_groups());
        chain.n_groups.push(k);
        chain.ln_joint.push(ln_joint);
        chain.concentration.push(kernel.ln_concentration().exp());
        chain.state.ln_concentration = kernel.ln_concentration();
        chain.state.sweeps = done + 1;
        chain.state.rng = RngState::from(&*rng);
        chain.state.hyperplanes = kernel.hyperplane_state();
        (0..n_rows).for_each(|row| chain.state.labels[row] = kernel.labels.group(row) as u32);
        let draw = || CompactPartition::from_groups(k, chain.state.labels.iter().copied());
        if best.as_ref().is_none_or(|(_, best)| ln_joint > *best) {
            best = Some((draw(), ln_joint));
        }
        if done >= schedule.burn_in && (done - schedule.burn_in).is_multiple_of(schedule.thin) {
            chain.draws.push(draw());
        }
        let step = Step::Pass { run: number, pass: done + 1, groups: k, objective: -ln_joint };
        if watch.step(&step).is_break() {
            chain.stopped = true;
            break;
        }
    }
    chain.best = best.map(|(draw, ln_joint)| (draw.to_partition(), ln_joint));
    chain
}
