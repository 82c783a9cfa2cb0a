//! The best features found for K = 0, 1, 2, ..: up by a feature that is grown or by starts of their own, down by leaving
//! one out, until neither lowers a loss.

use super::FeatureGoal;
use super::bp_means::BpMeans;
use super::core::Core;
use super::fit::{Fit, Sampled, Seen};
use super::passes::{Run, State};
use super::run::Runs;
use crate::data::{Data, Real};
use crate::error::Result;
use crate::hard::Restarts;
use crate::structure::Allocation;
use crate::watch::{Unwatched, Watch};
use std::ops::ControlFlow;

/// Sweeps down and up; improvements become rare long before.
const SWEEPS: usize = 3;
/// Multiply-adds for polishing at each K: neighbours give good starts.
const POLISHING: u64 = 20_000_000;
/// Passes over all rows for each K, from the features of a sample.
const REFINING_PASSES: usize = 3;

/// Features for K = 0, 1, 2, .., one after the other; of a sample refined on all rows, some K only.
#[derive(Debug, Clone)]
pub(crate) struct FeatureRungs {
    /// Which row has which feature, and the loss.
    pub rungs: Vec<(Allocation, f64)>,
    /// How many rows were searched, where not all were.
    pub sampled_rows: Option<usize>,
    pub stopped: bool,
}

impl FeatureRungs {
    /// Up to the number of features that `parameters` ask for, or as far as `enough` lets it: told of the losses for
    /// K = 0, 1, .. after each K. `hull`: the Ks worth refining on all rows.
    pub fn climb<T: Real>(
        parameters: &BpMeans,
        data: &Data<T>,
        watch: &dyn Watch,
        enough: impl Fn(&[f64]) -> bool,
        hull: impl Fn(&[f64]) -> Vec<usize>,
    ) -> Result<Self> {
        parameters.check(data)?;
        let fit = Fit::new(parameters, data, watch);
        fit.with_runs(Seen { sample: fit.sample(), ..Seen::all(POLISHING) }, |runs, seen| {
            let mut cores = vec![Core::of_rows(vec![0; runs.products.n_rows], 0, &runs.products)];
            let mut stopped = up(runs, &mut cores, &enough).is_break();
            stopped |= !stopped && improve(runs, &mut cores).is_break();
            if seen.n_rows == data.n_rows() {
                let rungs = cores.iter().map(|core| (core.allocation(), core.loss)).collect();
                return Ok(FeatureRungs { rungs, sampled_rows: None, stopped });
            }
            let losses: Vec<f64> = cores.iter().map(|core| core.loss).collect();
            let nothing = fit.refined(&cores[0], seen, 0)?;
            let mut rungs = vec![(nothing.allocation, nothing.loss)];
            for k in hull(&losses).into_iter().filter(|k| *k > 0) {
                // After a stop the features of the sample are still given to all rows.
                let passes = if stopped { 0 } else { REFINING_PASSES };
                let refined = fit.refined(&cores[k], seen, passes)?;
                stopped |= refined.stopped;
                if refined.k() == k && rungs.last().is_some_and(|(_, before)| refined.loss < *before) {
                    rungs.push((refined.allocation, refined.loss));
                }
            }
            Ok(FeatureRungs { rungs, sampled_rows: Some(seen.n_rows), stopped })
        })?
    }
}

/// The loss of one start, polished a little; none once the watch has said stop. Not for more rows than a sample.
pub(crate) fn brief_loss<T: Real>(parameters: &BpMeans, data: &Data<T>, watch: &dyn Watch) -> Option<f64> {
    parameters.check(data).ok()?;
    let fit = Fit::new(parameters, data, watch);
    let seen = Seen { sample: fit.sample(), ..Seen::all(POLISHING) };
    let ended = fit.with_runs(seen, |runs, _| runs.best(runs.goal, None, Restarts::Exactly(1))).ok()?;
    (!ended.stopped).then_some(ended.core.loss)
}

/// From K to K + 1, each also from starts of its own.
fn up(runs: &Runs, cores: &mut Vec<Core>, enough: &impl Fn(&[f64]) -> bool) -> ControlFlow<()> {
    let most = runs.goal.cap(runs.products.n_rows);
    let mut losses = vec![cores[0].loss];
    while cores.len() <= most && !enough(&losses) {
        let last = &cores[cores.len() - 1];
        let step = runs.best(FeatureGoal::Exactly(cores.len()), Some(last), runs.parameters.restarts);
        if step.stopped || step.core.k() != cores.len() {
            return ControlFlow::Break(());
        }
        losses.push(step.core.loss.min(last.loss));
        cores.push(step.core);
    }
    ControlFlow::Continue(())
}

/// Down and up until no loss falls.
fn improve(runs: &Runs, cores: &mut [Core]) -> ControlFlow<()> {
    // Whose neighbours have not been tried from it.
    let (mut below, mut above) = (vec![true; cores.len()], vec![true; cores.len()]);
    for _ in 0..SWEEPS {
        let mut helped = false;
        for k in (1..cores.len().saturating_sub(1)).rev() {
            if std::mem::take(&mut below[k + 1]) {
                let more = cores[k + 1].clone();
                let trials = (0..=k).map(|feature| more.without(feature, &runs.products));
                if runs.attempt_all(&mut cores[k], trials)? {
                    (below[k], above[k], helped) = (true, true, true);
                }
            }
        }
        for k in 1..cores.len().saturating_sub(1) {
            if std::mem::take(&mut above[k]) {
                let less = cores[k].clone();
                let search = runs.search(FeatureGoal::Exactly(k + 1), 0);
                let trials = [search.grown_along_axis(&less), search.grown_at_largest(&less)];
                if runs.attempt_all(&mut cores[k + 1], trials.into_iter())? {
                    (below[k + 1], above[k + 1], helped) = (true, true, true);
                }
            }
        }
        if !helped {
            break;
        }
    }
    ControlFlow::Continue(())
}

impl<T: Real> Fit<'_, T> {
    /// Passes over all rows from the features of a sample, as long as the watch allows; one at least, unwatched.
    fn refined(&self, core: &Core, sample: &Sampled, passes: usize) -> Result<State> {
        let goal = FeatureGoal::Exactly(core.k());
        let unwatched = Run { goal, ..self.passes(&Unwatched, 0) };
        let mut state = self.extend(core, sample)?;
        let _ = unwatched.pass(&mut state);
        Run { goal, ..self.passes(self.watch, 0) }.settle(&mut state, 0.0, passes);
        let stopped = state.stopped;
        let fitted = self.unstopped(unwatched.fit_allocation(state.allocation));
        Ok(State { loss: unwatched.measure(&fitted), stopped, ..fitted })
    }
}
