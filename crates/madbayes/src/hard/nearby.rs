//! A trial move among the clusters near it: rows and centres elsewhere stay as they are, so what lowers the loss here lowers it.

use super::Goal;
use super::passes::{Run, State};
use crate::data::Real;
use crate::linalg::squared_distance;
use crate::watch::Silently;

/// Clusters that take part in a trial beside each that is split or merged, the nearest. With 3 trials find far less than with all
/// clusters, with 8 somewhat less, with 16 as much.
const NEIGHBOURS: usize = 16;
/// Most clusters that a move touches: two merged, one split.
const TOUCHED: usize = 4;

/// How many of `k` clusters take part in a trial, at most.
pub(super) fn most_nearby(k: usize) -> usize {
    k.min(TOUCHED * (NEIGHBOURS + 1))
}

impl<T: Real> Run<'_, T> {
    /// Lets `passes` settle the clusters that were touched and their neighbours, with the rows these have; it is told what the
    /// objective has elsewhere. False, with nothing changed, where none of the rows has weight.
    pub fn settle_nearby(
        &self,
        state: &mut State,
        touched: &[usize],
        passes: impl FnOnce(&Run<T>, &mut State, f64),
    ) -> bool {
        let (d, inside) = (state.n_columns, nearby(state, touched));
        let mut names = vec![None; state.k()];
        inside.iter().enumerate().for_each(|(new, &old)| names[old] = Some(new as u32));
        let label = |l: &u32| names.get(*l as usize).copied().flatten();
        let rows: Vec<usize> = (0..state.labels.len()).filter(|&n| label(&state.labels[n]).is_some()).collect();
        let gathered = self.data.gather(&rows);
        let Some(data) = self.data.sample(&gathered) else { return false };
        let outside = state.k() - inside.len();
        let goal = match self.goal {
            Goal::Exactly(_) => Goal::Exactly(inside.len()),
            Goal::Penalty { penalty, max_clusters } => {
                Goal::Penalty { penalty, max_clusters: max_clusters.map(|most| most.saturating_sub(outside)) }
            }
        };
        let mut part = State::new(inside.iter().flat_map(|&k| state.offset(k)).copied().collect(), rows.len(), d);
        part.labels = rows.iter().filter_map(|&n| label(&state.labels[n])).collect();
        part.weights = inside.iter().map(|&k| state.weights[k]).collect();
        part.losses = inside.iter().map(|&k| state.losses[k]).collect();
        let elsewhere = state.objective(&self.goal) - part.objective(&goal);
        passes(&Run { data: &data, goal, watch: &Silently(self.watch), ..*self }, &mut part, elsewhere);
        // What took part goes to the end.
        state.tallies = None;
        let keep: Vec<bool> = names.iter().map(Option::is_none).collect();
        state.retain(&keep);
        state.offsets.extend(part.offsets);
        state.weights.extend(part.weights);
        state.losses.extend(part.losses);
        state.stopped |= part.stopped;
        for (n, label) in rows.into_iter().zip(part.labels) {
            state.labels[n] = label.saturating_add(outside as u32);
        }
        true
    }
}

/// These clusters and their neighbours.
fn nearby(state: &State, touched: &[usize]) -> Vec<usize> {
    let mut inside = touched.to_vec();
    for &here in touched {
        let mut gaps: Vec<(f64, usize)> = (0..state.k())
            .filter(|k| *k != here)
            .map(|k| (squared_distance(state.offset(here), state.offset(k)), k))
            .collect();
        if gaps.len() > NEIGHBOURS {
            gaps.select_nth_unstable_by(NEIGHBOURS, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        inside.extend(gaps.iter().take(NEIGHBOURS).map(|(_, k)| *k));
    }
    inside.sort_unstable();
    inside.dedup();
    inside
}
