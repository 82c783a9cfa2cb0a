//! Splits and swaps of clusters of counts, which free a run from bad local minima: a cluster cut in two where that gains more than
//! the penalty, or more than merging the cheapest pair of others costs.

use super::run::{MARGIN, Problem, State};
use super::tallies::Merging;
use crate::hard::Goal;
use crate::parallel::Workers;
use crate::random::{Rng, Stream, stream};
use rand::RngExt;

/// Passes in which a cluster is cut in two.
const PASSES: usize = 8;

/// A cluster cut in two.
struct Split {
    cluster: usize,
    /// By how much the loss falls.
    gain: f64,
    leaving: Vec<usize>,
}

impl Problem<'_> {
    /// Makes the moves that lower the objective; returns how many.
    pub(super) fn splits_and_swaps(&self, state: &mut State, rng: &mut Rng) -> usize {
        if !self.moves {
            return 0;
        }
        let margin = MARGIN * self.negentropies.iter().map(|e| e.abs()).sum::<f64>();
        let (splits, mut made) = (self.splits(state, rng), 0);
        let mut k = state.tallies.len();
        if let Goal::Penalty { penalty, .. } = self.goal {
            for split in splits.iter().filter(|split| split.gain > penalty + margin) {
                if k < self.goal.cap() {
                    split.leaving.iter().for_each(|&row| state.labels[row] = k as u32);
                    (k, made) = (k + 1, made + 1);
                }
            }
        }
        // The best split, paid for by the cheapest merge among the others.
        if made == 0
            && let Some(split) = splits.first()
            && let Some((to, from, cost)) =
                Merging::new(state.tallies.clone(), self.workers).cheapest_without(split.cluster)
            && split.gain > cost + margin
        {
            state.labels.iter_mut().filter(|label| **label == from as u32).for_each(|label| *label = to as u32);
            split.leaving.iter().for_each(|&row| state.labels[row] = from as u32);
            made = 1;
        }
        if made > 0 {
            self.reseat(state);
        }
        made
    }

    /// The best cut found of every cluster, the most gainful first.
    fn splits(&self, state: &State, rng: &mut Rng) -> Vec<Split> {
        let losses = self.losses(&state.labels, &state.tallies);
        let mut members = vec![Vec::new(); losses.len()];
        state.labels.iter().enumerate().for_each(|(row, &label)| members[label as usize].push(row));
        let seeds: Vec<u64> = losses.iter().map(|_| rng.random()).collect();
        let splits = self.workers.map(losses.len(), |cluster| {
            let rows = &members[cluster];
            if rows.len() < 2 || losses[cluster] <= 0.0 {
                return None;
            }
            let (counts, serial) = (self.counts.select(rows), Workers::serial());
            let two = Problem::new(&counts, Goal::Exactly(2), &serial, self.watch);
            let two = Problem { moves: false, max_passes: PASSES, ..two };
            let cut = two.run(0, &mut stream(seeds[cluster], Stream::Restart(0))).ok()?;
            let gain = losses[cluster] - cut.trace.last().copied()?;
            let leaving = rows.iter().zip(&cut.labels).filter(|(_, label)| **label == 1).map(|(row, _)| *row).collect();
            Some(Split { cluster, gain, leaving })
        });
        let mut splits: Vec<Split> = splits.into_iter().flatten().collect();
        splits.sort_by(|a, b| b.gain.total_cmp(&a.gain));
        splits
    }
}
