//! Passes over many rows: bounds say which rows may have a new nearest centre.

use super::passes::{Run, State};
use crate::data::{CHUNK, Real};
use crate::linalg::FrozenCentres;
use crate::parallel::Workers;
use crate::scan::{Bound, Changes, Shifts, Tallies, assign_within_bounds};
use std::ops::ControlFlow;

/// Bounds of all rows, and the centres they are of.
#[derive(Debug, Clone)]
pub(super) struct Bounds {
    pub rows: Vec<Bound>,
    /// The centres of the last assignment; clusters opened since are beyond them.
    pub anchors: Vec<f64>,
}

impl Bounds {
    /// The largest upper bound of each cluster's rows.
    fn radii(&self, labels: &[u32], k: usize, workers: &Workers) -> Vec<f32> {
        let parts = workers.map(labels.len().div_ceil(16 * CHUNK), |part| {
            let span = part * 16 * CHUNK..((part + 1) * 16 * CHUNK).min(labels.len());
            let mut radii = vec![0.0f32; k];
            for (bound, &label) in self.rows[span.clone()].iter().zip(&labels[span]) {
                radii[label as usize] = radii[label as usize].max(bound[0]);
            }
            radii
        });
        let mut radii = vec![0.0f32; k];
        for part in parts {
            radii.iter_mut().zip(part).for_each(|(all, one)| *all = all.max(one));
        }
        radii
    }

    /// Keeps some clusters, as [`State::retain`] does.
    pub fn retain(&mut self, keep: &[bool], d: usize) {
        let mut keeps = keep.iter().flat_map(|k| std::iter::repeat_n(*k, d));
        self.anchors.retain(|_| keeps.next().unwrap_or(true));
    }
}

/// The present centres, and what became of the bounds when the centres moved there.
pub(super) struct Followed<T> {
    pub centres: FrozenCentres<T>,
    shifts: Shifts,
}

impl<T: Real> Followed<T> {
    /// About how many distances the bounds leave open.
    pub fn foreseen(&self, labels: &[u32], bounds: &Bounds) -> usize {
        self.shifts.foreseen(&self.centres, labels, &bounds.rows)
    }
}

impl<T: Real> Run<'_, T> {
    /// How bounds have shifted with the centres, which were elsewhere when the rows were last assigned; none once the watch has said stop.
    pub fn shifted(&self, bounds: &Bounds, state: &State) -> Option<Followed<T>> {
        let centres = FrozenCentres::<T>::new(state.offsets.clone(), self.data.n_columns());
        let radii = bounds.radii(&state.labels, state.k(), self.workers);
        let shifts = Shifts::new(&bounds.anchors, &radii, &centres, self.workers, self.watch)?;
        Some(Followed { centres, shifts })
    }

    /// Gives rows to their nearest centres, where bounds are known.
    pub fn assign_within(
        &self,
        Followed { centres, shifts }: Followed<T>,
        bounds: &mut Bounds,
        state: &mut State,
        tallies: &mut Tallies,
        penalty: f64,
    ) -> ControlFlow<(), Changes> {
        let changes = assign_within_bounds(
            self.data,
            &centres,
            &shifts,
            penalty,
            &mut state.labels,
            &mut bounds.rows,
            tallies,
            self.workers,
            self.watch,
        )?;
        bounds.anchors.clone_from(&state.offsets);
        state.assigned_to_present_centres();
        ControlFlow::Continue(changes)
    }

    /// Labels as the present centres say, without moving these, and the tallies of them, where bounds are known.
    pub fn follow_centres(&self, state: &mut State) -> Option<Tallies> {
        let (mut bounds, mut tallies) = (state.bounds.take()?, state.tallies.take()?);
        let followed = self.shifted(&bounds, state)?;
        let assigned = self.assign_within(followed, &mut bounds, state, &mut tallies, f64::INFINITY);
        assigned.is_continue().then_some(tallies)
    }
}
