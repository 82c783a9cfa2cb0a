//! One chain of a mixture sampler: sweeps, thinned draws and traces.

use crate::error::{Error, Result};
use crate::likelihood::Groups;
use crate::prior::{CrpSeats, Seats};
use crate::random::Rng;
use crate::structure::Partition;
use crate::sweep::{LiveLabels, Regime, sweep};
use crate::watch::{Step, Watch};

/// How long a chain runs and what is kept of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

/// What one chain saw.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chain {
    /// Draws kept after the burn-in.
    pub draws: Vec<Partition>,
    /// Number of groups after every sweep.
    pub n_groups: Vec<usize>,
    /// Log joint of labels, rows and concentration after every sweep.
    pub ln_joint: Vec<f64>,
    /// Concentration after every sweep.
    pub concentration: Vec<f64>,
    /// The draw of highest log joint, and that log joint.
    pub best: Option<(Partition, f64)>,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

/// Runs a chain from `labels`. `seats` and `groups` hold the same rows in the same groups already.
pub(super) fn run_chain(
    number: usize,
    labels: &mut LiveLabels,
    seats: &mut CrpSeats,
    groups: &mut dyn Groups,
    schedule: Schedule,
    rng: &mut Rng,
    watch: &dyn Watch,
) -> Chain {
    let mut chain = Chain::default();
    for done in 0..schedule.sweeps {
        let swept = sweep(labels, seats, groups, Regime::Posterior, 0..labels.n_rows(), rng, watch);
        if swept.stopped {
            chain.stopped = true;
            break;
        }
        groups.refresh(&|row| labels.group(row));
        seats.refresh(rng);
        let ln_joint = seats.ln_prob() + seats.ln_hyperprior() + groups.ln_marginal();
        chain.n_groups.push(labels.n_groups());
        chain.ln_joint.push(ln_joint);
        chain.concentration.push(seats.ln_concentration().exp());
        if chain.best.as_ref().is_none_or(|(_, best)| ln_joint > *best) {
            chain.best = Some((Partition::from_labels(labels.to_vec()), ln_joint));
        }
        if done >= schedule.burn_in && (done - schedule.burn_in).is_multiple_of(schedule.thin) {
            chain.draws.push(Partition::from_labels(labels.to_vec()));
        }
        let step = Step::Pass { run: number, pass: done + 1, groups: labels.n_groups(), objective: -ln_joint };
        if watch.step(&step).is_break() {
            chain.stopped = true;
            break;
        }
    }
    chain
}
