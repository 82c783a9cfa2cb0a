//! One step of a sampler of hidden states, likelihood left open: all rows one by one (Teh et al. 2006, direct assignment) or all
//! rows of a sequence at once (Van Gael et al. 2008, beam sampling), split-merge proposals of whole states, then tables, concentrations
//! and the states' weights, and with a discriminative term the hyperplanes (Nguyen et al. 2017, Sec. 3.2).

use super::beam::beam;
use super::moves::{StateSplitMerge, States};
use super::separated::Separated;
use crate::error::Result;
use crate::likelihood::Emissions;
use crate::prior::{Hdp, HdpSeats, HdpValues, Seats, StateWeights};
use crate::random::Rng;
use crate::separator::{HyperplaneState, Hyperplanes, Separator};
use crate::structure::Sequences;
use crate::sweep::{LiveLabels, Regime, separated_sweep};
use crate::watch::Watch;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// Makes an empty likelihood of the rows. A chain makes two: one for its state, one for its proposals.
pub type MakeEmissions<'a, 'g> = &'a (dyn Fn() -> Result<Box<dyn Emissions + 'g>> + Sync + 'a);

/// How the states are redrawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HmmMethod {
    /// Row by row, transitions and parameters integrated out: slow to change where neighbours hold a row fast.
    Direct,
    /// All rows of a sequence at once, transitions and parameters drawn; one sweep in four row by row.
    #[default]
    Beam,
}

/// The state of a chain with what changes it.
pub struct HmmKernel<'g> {
    labels: LiveLabels,
    seats: HdpSeats,
    groups: Box<dyn Emissions + 'g>,
    term: Option<Separated<'g>>,
    method: HmmMethod,
    split_merge: StateSplitMerge<'g>,
    /// Proposals after each sweep. The same number whatever the state: one that depended on it would bias the draws.
    proposals: usize,
    /// Sweeps over.
    sweeps: usize,
    sequences: Sequences,
}

/// Split-merge proposals of states after each sweep. Large states have fewer, so that they cost about half a sweep.
pub const STATE_SPLIT_MERGE: usize = 8;

/// The rows of all proposals of a sweep are on average no more than this share of all rows, or than so many for each.
const PROPOSED: f64 = 0.5;
const PROPOSED_EACH: f64 = 100.0;

/// One sweep in so many goes row by row under beam sampling too: a new state there has parameters from the prior, which hit hardly a
/// row where there are many columns, so that rows that fit no state would stay where they are. Both leave the same law unchanged.
const ROW_BY_ROW: usize = 4;

impl<'g> HmmKernel<'g> {
    /// With rows in states 0..K, none of them empty; `weights` are drawn where there are none yet, by `sticks`, which goes on
    /// drawing those of new states.
    pub fn new(
        states: &[u32],
        (hdp, values): (Hdp, HdpValues),
        weights: Option<StateWeights>,
        sequences: &Sequences,
        sticks: Rng,
        method: HmmMethod,
        make_groups: MakeEmissions<'_, 'g>,
    ) -> Result<Self> {
        let mut seats = HdpSeats::new(hdp, values, sequences, sticks);
        seats.seat(states, weights);
        let (labels, sequences, groups) = (LiveLabels::new(states), sequences.clone(), make_groups()?);
        let rows = (PROPOSED * states.len() as f64 / STATE_SPLIT_MERGE as f64).max(PROPOSED_EACH);
        let split_merge = StateSplitMerge::new(make_groups()?, rows);
        let proposals = STATE_SPLIT_MERGE;
        let (term, sweeps) = (None, 0);
        let mut kernel = HmmKernel { labels, seats, groups, term, method, split_merge, proposals, sweeps, sequences };
        kernel.form_groups();
        Ok(kernel)
    }

    /// With so many split-merge proposals after each sweep; 0: states only change by their rows.
    pub fn proposing(self, proposals: usize) -> Self {
        HmmKernel { proposals, ..self }
    }

    /// `done` sweeps being over.
    pub fn after(self, done: usize) -> Self {
        HmmKernel { sweeps: done, ..self }
    }

    /// With a discriminative term.
    pub fn separated_by(self, hyperplanes: Hyperplanes<'g>, state: Option<&HyperplaneState>) -> Self {
        HmmKernel { term: Some(Separated::new(hyperplanes, state, self.sweeps)), ..self }
    }

    /// One step. Stopped by the watch, it leaves a state that is no draw.
    pub fn step(&mut self, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let HmmKernel { labels, seats, groups, term, method, sweeps, sequences, .. } = self;
        *sweeps += 1;
        let method = if sweeps.is_multiple_of(ROW_BY_ROW) { HmmMethod::Direct } else { *method };
        let hyperplanes = term.as_mut().and_then(|term| term.begin_sweep(labels));
        match method {
            HmmMethod::Direct => {
                let (rows, posterior) = (0..labels.n_rows(), Regime::Posterior);
                let separator = hyperplanes.map(|term| -> &mut dyn Separator { term });
                if separated_sweep(labels, seats, groups.as_mut(), separator, posterior, rows, rng, watch).stopped {
                    return ControlFlow::Break(());
                }
            }
            HmmMethod::Beam => {
                let drawn = beam(&labels.to_vec(), sequences, seats, groups.as_ref(), hyperplanes, rng, watch);
                let Some((states, weights)) = drawn else { return ControlFlow::Break(()) };
                seats.seat(&states, Some(weights));
                *labels = LiveLabels::new(&states);
                form_groups(labels, groups.as_mut());
            }
        }
        self.propose(rng, watch)?;
        self.seats.refresh(rng);
        if let Some(term) = &mut self.term {
            term.end_sweep(&self.labels);
        }
        ControlFlow::Continue(())
    }

    /// The split-merge proposals that follow every sweep, by themselves.
    pub fn propose(&mut self, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let HmmKernel { labels, seats, groups, term, split_merge, proposals, .. } = self;
        let mut hyperplanes = term.as_mut().and_then(Separated::present);
        for _ in 0..*proposals {
            let separator = hyperplanes.as_deref_mut().map(|term| -> &mut dyn Separator { term });
            let mut states = States { labels, seats, groups: groups.as_mut(), separator };
            split_merge.propose(&mut states, rng, watch)?;
        }
        // From the labels alone, so that a chain that is taken up again has the same bits.
        self.form_groups();
        ControlFlow::Continue(())
    }

    fn form_groups(&mut self) {
        form_groups(&self.labels, self.groups.as_mut());
    }

    /// The state of every row.
    pub fn states(&self) -> Vec<u32> {
        self.labels.to_vec()
    }

    /// Number of states, K.
    pub fn n_states(&self) -> usize {
        self.labels.n_groups()
    }

    /// The prior with its transitions.
    pub fn seats(&self) -> &HdpSeats {
        &self.seats
    }

    /// Log joint of states, their weights, rows and the prior's numbers; with a discriminative term also of the hyperplanes,
    /// relative to those of empty states.
    pub fn ln_joint(&self) -> f64 {
        let plain = self.seats.ln_prob() + self.seats.ln_hyperprior() + self.groups.ln_marginal();
        plain + self.term.as_ref().map_or(0.0, |term| term.ln_ratio(&self.labels))
    }

    /// The hyperplanes to be saved, where they play a part yet.
    pub fn hyperplane_state(&self) -> Option<HyperplaneState> {
        self.term.as_ref().and_then(Separated::state)
    }
}

/// The groups that the labels say.
fn form_groups(labels: &LiveLabels, groups: &mut dyn Emissions) {
    while groups.n_groups() > labels.n_groups() {
        groups.close(groups.n_groups() - 1);
    }
    while groups.n_groups() < labels.n_groups() {
        groups.open();
    }
    groups.refresh(&|row| labels.group(row));
}
