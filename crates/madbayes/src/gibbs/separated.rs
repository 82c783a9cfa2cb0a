//! The discriminative term of a chain (Nguyen et al. 2017, Sec. 4): no part in the first ten sweeps, then hyperplanes of zeros,
//! drawn given the groups before the next sweep and after every one.

use crate::separator::{HyperplaneState, Hyperplanes, Separator};
use crate::sweep::LiveLabels;

/// First sweeps without the term.
const WITHOUT_TERM: usize = 10;

/// Hyperplanes that wait for their sweep.
pub(super) struct Separated<'g> {
    /// Without groups as long as they play no part.
    hyperplanes: Hyperplanes<'g>,
    /// Sweeps until they do.
    waiting: usize,
}

impl<'g> Separated<'g> {
    /// With `done` sweeps over, and what they left.
    pub fn new(mut hyperplanes: Hyperplanes<'g>, state: Option<&HyperplaneState>, done: usize) -> Self {
        if let Some(state) = state {
            hyperplanes.take_up(state);
        }
        Separated { hyperplanes, waiting: WITHOUT_TERM.saturating_sub(done) }
    }

    /// Those of the next sweep, if they play a part in it.
    pub fn begin_sweep(&mut self, labels: &LiveLabels) -> Option<&mut Hyperplanes<'g>> {
        if self.waiting > 0 {
            self.waiting -= 1;
            return None;
        }
        if self.hyperplanes.n_groups() == 0 {
            self.hyperplanes.begin(labels.n_groups());
            self.hyperplanes.refresh(&|row| labels.group(row));
        }
        Some(&mut self.hyperplanes)
    }

    /// Those that play a part.
    pub fn present(&mut self) -> Option<&mut Hyperplanes<'g>> {
        (self.hyperplanes.n_groups() > 0).then_some(&mut self.hyperplanes)
    }

    /// Draws the hyperplanes given the groups, if they played a part in the sweep.
    pub fn end_sweep(&mut self, labels: &LiveLabels) {
        if self.hyperplanes.n_groups() > 0 {
            self.hyperplanes.refresh(&|row| labels.group(row));
        }
    }

    /// What the term adds to the log joint, relative to hyperplanes of empty groups: the sum over rows of
    /// log p(y = 1)/p(y = -1) under their own.
    pub fn ln_ratio(&self, labels: &LiveLabels) -> f64 {
        if self.hyperplanes.n_groups() == 0 {
            return 0.0;
        }
        (0..labels.n_rows()).map(|row| self.hyperplanes.ln_ratio(labels.group(row), row)).sum()
    }

    /// To be saved, once they play a part.
    pub fn state(&self) -> Option<HyperplaneState> {
        (self.hyperplanes.n_groups() > 0).then(|| self.hyperplanes.state())
    }
}
