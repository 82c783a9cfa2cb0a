//! One step of a mixture sampler, likelihood and prior left open: a sweep (Neal 2000, Alg. 3), split-merge proposals (Jain &
//! Neal 2004), and a draw of the concentration (Escobar & West 1995).

use super::moves::{Mixture, SplitMerge};
use crate::error::Result;
use crate::likelihood::Groups;
use crate::prior::{PartitionPrior, Seats};
use crate::random::Rng;
use crate::sweep::{LiveLabels, Regime, seat_all, sweep};
use crate::watch::Watch;
use std::ops::ControlFlow;

/// Makes an empty likelihood of the rows. A chain makes three: one for its state, two for its proposals.
pub type MakeGroups<'a, 'g> = &'a (dyn Fn() -> Result<Box<dyn Groups + 'g>> + Sync + 'a);

/// The state of a chain with what changes it.
pub(super) struct Kernel<'g> {
    pub labels: LiveLabels,
    seats: Box<dyn Seats>,
    groups: Box<dyn Groups + 'g>,
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
        Ok(Kernel { labels, seats, groups, split_merge, proposals })
    }

    /// One step. Stopped by the watch, it leaves a state that is no draw.
    pub fn step(&mut self, rng: &mut Rng, watch: &dyn Watch) -> ControlFlow<()> {
        let Kernel { labels, seats, groups, split_merge, proposals } = self;
        let rows = 0..labels.n_rows();
        if sweep(labels, seats.as_mut(), groups.as_mut(), Regime::Posterior, rows, rng, watch).stopped {
            return ControlFlow::Break(());
        }
        for _ in 0..*proposals {
            let mut mixture = Mixture { labels, seats: seats.as_mut(), groups: groups.as_mut() };
            split_merge.propose(&mut mixture, rng, watch)?;
        }
        // From the labels alone, so that a chain that is taken up again has the same bits.
        groups.refresh(&|row| labels.group(row));
        seats.refresh(rng);
        ControlFlow::Continue(())
    }

    /// Log joint of labels, rows and concentration.
    pub fn ln_joint(&self) -> f64 {
        self.seats.ln_prob() + self.seats.ln_hyperprior() + self.groups.ln_marginal()
    }

    /// The current log concentration.
    pub fn ln_concentration(&self) -> f64 {
        self.seats.ln_concentration()
    }
}
