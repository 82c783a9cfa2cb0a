//! One step of a mixture sampler, likelihood and prior left open: a sweep (Neal 2000, Alg. 3), split-merge proposals (Jain &
//! Neal 2004), a draw of the concentration (Escobar & West 1995), and with a discriminative term draws of its hyperplanes
//! (Nguyen et al. 2017, Sec. 3).

use super::moves::{Mixture, SplitMerge};
use super::separated::Separated;
use crate::error::Result;
use crate::likelihood::Groups;
use crate::prior::{PartitionPrior, Seats};
use crate::random::Rng;
use crate::separator::{HyperplaneState, Hyperplanes, Separator};
use crate::sweep::{LiveLabels, Regime, seat_all, separated_sweep};
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Makes an empty likelihood of the rows. A chain makes three: one for its state, two for its proposals.
pub type MakeGroups<'a, 'g> = &'a (dyn Fn() -> Result<Box<dyn Groups + 'g>> + Sync + 'a);

/// The state of a chain with what changes it.
pub(super) struct Kernel<'g> {
    pub labels: LiveLabels,
    seats: Box<dyn Seats>,
    groups: Box<dyn Groups + 'g>,
    term: Option<Separated<'g>>,
    split_merge: SplitMerge<'g>,
    /// Proposals after each sweep. The same number whatever the state: one that depended on it would bias the draws.
    proposals: usize,
}

impl<'g> Kernel<'g> {
    /// With rows in groups 0..K, none of them empty.
    pub fn new(
        labels: &[u32],
        prior: &PartitionPrior,
        ln_concentration: f64,
        proposals: usize,
        make_groups: MakeGroups<'_, 'g>,
    ) -> Result<Self> {
        let labels = LiveLabels::new(labels);
        let mut seats = prior.seats(labels.n_rows(), ln_concentration);
        let mut groups = make_groups()?;
        seat_all(&labels, seats.as_mut(), groups.as_mut());
        let split_merge = SplitMerge::new(make_groups()?, make_groups()?);
        Ok(Kernel { labels, seats, groups, term: None, split_merge, proposals })
    }

    /// With a discriminative term, `done` sweeps being over.
    pub fn separated_by(self, hyperplanes: Hyperplanes<'g>, state: Option<&HyperplaneState>, done: usize) -> Self {
        Kernel { term: Some(Separated::new(hyperplanes, state, done)), ..self }
    }

    /// One step. Stopped by the watch, it leaves a state that is no draw.
    pub fn step(&mut self, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let Kernel { labels, seats, groups, term, split_merge, proposals } = self;
        let rows = 0..labels.n_rows();
        let mut hyperplanes = term.as_mut().and_then(|term| term.begin_sweep(labels));
        let (seats, groups) = (seats.as_mut(), groups.as_mut());
        let separator = hyperplanes.as_deref_mut().map(|term| -> &mut dyn Separator { term });
        if separated_sweep(labels, seats, groups, separator, Regime::Posterior, rows, rng, watch).stopped {
            return ControlFlow::Break(());
        }
        for _ in 0..*proposals {
            let separator = hyperplanes.as_deref_mut().map(|term| -> &mut dyn Separator { term });
            let mut mixture = Mixture { labels, seats, groups, separator };
            split_merge.propose(&mut mixture, rng, watch)?;
        }
        // From the labels alone, so that a chain that is taken up again has the same bits.
        groups.refresh(&|row| labels.group(row));
        seats.refresh(rng);
        if let Some(term) = term {
            term.end_sweep(labels);
        }
        ControlFlow::Continue(())
    }

    /// Log joint of labels, rows and concentration; with a discriminative term also of the hyperplanes, relative to those of
    /// empty groups.
    pub fn ln_joint(&self) -> f64 {
        let plain = self.seats.ln_prob() + self.seats.ln_hyperprior() + self.groups.ln_marginal();
        plain + self.term.as_ref().map_or(0.0, |term| term.ln_ratio(&self.labels))
    }

    /// The hyperplanes to be saved, where they play a part yet.
    pub fn hyperplane_state(&self) -> Option<HyperplaneState> {
        self.term.as_ref().and_then(Separated::state)
    }

    /// The current log concentration.
    pub fn ln_concentration(&self) -> f64 {
        self.seats.ln_concentration()
    }
}
