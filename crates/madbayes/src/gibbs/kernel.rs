//! One step of a mixture sampler, likelihood and prior left open: a sweep (Neal 2000, Alg. 3), split-merge proposals (Jain &
//! Neal 2004), a draw of the concentration (Escobar & West 1995), and with a discriminative term draws of its hyperplanes
//! (Nguyen et al. 2017, Sec. 3).

use super::moves::{Mixture, SplitMerge};
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

/// First sweeps without the discriminative term (Nguyen et al. 2017, Sec. 4).
pub(super) const WITHOUT_TERM: usize = 10;

/// The state of a chain with what changes it.
pub(super) struct Kernel<'g> {
    pub labels: LiveLabels,
    seats: Box<dyn Seats>,
    groups: Box<dyn Groups + 'g>,
    /// Without groups as long as it plays no part.
    hyperplanes: Option<Hyperplanes<'g>>,
    /// Sweeps until it does.
    waiting: usize,
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
        Ok(Kernel { labels, seats, groups, hyperplanes: None, waiting: 0, split_merge, proposals })
    }

    /// With a discriminative term, `done` sweeps being over.
    pub fn separated_by(self, mut hyperplanes: Hyperplanes<'g>, state: Option<&HyperplaneState>, done: usize) -> Self {
        if let Some(state) = state {
            hyperplanes.take_up(state);
        }
        Kernel { hyperplanes: Some(hyperplanes), waiting: WITHOUT_TERM.saturating_sub(done), ..self }
    }

    /// One step. Stopped by the watch, it leaves a state that is no draw.
    pub fn step(&mut self, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let Kernel { labels, seats, groups, hyperplanes, waiting, split_merge, proposals } = self;
        let rows = 0..labels.n_rows();
        let mut hyperplanes = hyperplanes.as_mut().filter(|_| *waiting == 0);
        *waiting = waiting.saturating_sub(1);
        if let Some(hyperplanes) = hyperplanes.as_mut().filter(|hyperplanes| hyperplanes.n_groups() == 0) {
            hyperplanes.begin(labels.n_groups());
            hyperplanes.refresh(&|row| labels.group(row));
        }
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
        if let Some(hyperplanes) = hyperplanes {
            hyperplanes.refresh(&|row| labels.group(row));
        }
        ControlFlow::Continue(())
    }

    /// Log joint of labels, rows and concentration; with a discriminative term also of the hyperplanes, relative to those of
    /// empty groups: plus the sum over rows of log p(y = 1)/p(y = -1) under their own.
    pub fn ln_joint(&self) -> f64 {
        let plain = self.seats.ln_prob() + self.seats.ln_hyperprior() + self.groups.ln_marginal();
        let separator = self.hyperplanes.as_ref().filter(|hyperplanes| hyperplanes.n_groups() > 0);
        plain + separator.map_or(0.0, |s| (0..self.labels.n_rows()).map(|n| s.ln_ratio(self.labels.group(n), n)).sum())
    }

    /// The hyperplanes to be saved, where they play a part yet.
    pub fn hyperplane_state(&self) -> Option<HyperplaneState> {
        self.hyperplanes.as_ref().filter(|hyperplanes| hyperplanes.n_groups() > 0).map(Hyperplanes::state)
    }

    /// The current log concentration.
    pub fn ln_concentration(&self) -> f64 {
        self.seats.ln_concentration()
    }
}
