//! Where runs on few rows begin: given, along singular vectors with K given or free (Slawski, Hein & Lutsik 2013), `++`, or from the best so far.

use super::FeatureGoal;
use super::bp_means::FeatureStart;
use super::core::Core;
use super::fit::VECTORS;
use super::plus_plus::plus_plus;
use super::run::{FAILURES, Runs, remember};
use super::search::Search;
use super::spectral::{ALL_PATTERNS, spectral};
use crate::parallel::Workers;
use crate::random::Rng;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Rows times features times patterns of these above which the two spectral starts go to two threads.
const MANY_PATTERNS: usize = 500_000;
/// Random changes that a later run begins with.
const KICKS: usize = 5;

impl Runs<'_> {
    /// Where a run begins; the best of what is considered, settled.
    pub(super) fn begin(
        &self,
        search: &mut Search,
        best: &mut Option<(Core, Vec<f64>)>,
        (first, warm): (Option<&Core>, Option<&Core>),
        rng: &mut Rng,
        tried: &mut BTreeMap<usize, f64>,
    ) -> ControlFlow<()> {
        if let Some(warm) = warm {
            consider(search, best, search.grown_along_axis(warm))?;
            consider(search, best, search.grown_at_largest(warm))?;
        }
        match (&self.given, &self.parameters.start, first) {
            (Some(given), _, None) => consider(search, best, Core::new(given, &self.products)),
            (_, FeatureStart::PlusPlus, _) => {
                let z = plus_plus(self.data, search.goal, search.cap(), rng);
                consider(search, best, Core::new(&z, &self.products))
            }
            (None, FeatureStart::Spectral, Some(first)) if search.number == 1 => {
                self.both_bases(search, best, first.k().max(1), None)
            }
            (None, _, None) => match search.goal {
                FeatureGoal::Exactly(k) => self.both_bases(search, best, k, None),
                FeatureGoal::Penalty { .. } => match self.at_once(search, best, tried)? {
                    Some(core) => consider(search, best, core),
                    None => self.climb(search, best, tried),
                },
            },
            (None, FeatureStart::Spectral, Some(first)) if search.number % 4 >= 2 => {
                self.both_bases(search, best, first.k().max(1), Some(rng))
            }
            (_, _, Some(first)) => {
                let mut core = first.clone();
                for _ in 0..KICKS {
                    core = search.kick(&core, rng)?;
                }
                consider(search, best, core)
            }
        }
    }

    /// The spectral start with K features: with and without a base feature, or one of them at random.
    fn both_bases(
        &self,
        search: &mut Search,
        best: &mut Option<(Core, Vec<f64>)>,
        k: usize,
        rng: Option<&mut Rng>,
    ) -> ControlFlow<()> {
        let vectors = k.min(VECTORS);
        if let Some(rng) = rng {
            let base = self.parameters.base_feature && (search.number / 4).is_multiple_of(2);
            return consider(
                search,
                best,
                Core::new(&spectral(self.coordinates, vectors, base, Some(rng)), &self.products),
            );
        }
        let many = (self.products.n_rows * k) << vectors.min(ALL_PATTERNS) > MANY_PATTERNS;
        let workers = if many { Workers::new(self.parameters.threads) } else { Workers::serial() };
        let bases = if self.parameters.base_feature { &[true, false][..] } else { &[false] };
        let known = &*best;
        let starts = workers.map(bases.len(), |i| {
            let (mut search, mut best) = (self.search(search.goal, search.number), known.clone());
            let start = Core::new(&spectral(self.coordinates, vectors, bases[i], None), &self.products);
            (consider(&mut search, &mut best, start), best, search.work)
        });
        for (ended, found, work) in starts {
            search.work += work;
            if let Some((core, _)) = &found
                && best.as_ref().is_none_or(|(best, _)| search.objective(core) < search.objective(best))
            {
                *best = found;
            }
            ended?;
        }
        ControlFlow::Continue(())
    }

    /// Features of a sample that leave nothing but noise, as many as there are axes longer than the penalty, squared: by Eckart and
    /// Young (1936) K features leave no less than all axes but the K longest, so that with fewer the objective would be no lower.
    fn at_once(
        &self,
        search: &mut Search,
        best: &mut Option<(Core, Vec<f64>)>,
        tried: &mut BTreeMap<usize, f64>,
    ) -> ControlFlow<(), Option<Core>> {
        let (squares, penalty) = (&self.coordinates.squares, search.goal.penalty());
        let k = squares.iter().filter(|square| **square > penalty).count();
        if !self.until_noise || !(1..=ALL_PATTERNS.min(search.cap())).contains(&k) {
            return ControlFlow::Continue(None);
        }
        let (mut fixed, mut found) = (self.search(FeatureGoal::Exactly(k), search.number), None);
        let begun = self.both_bases(&mut fixed, &mut found, k, None);
        search.work += fixed.work;
        let core = found.map(|(core, _)| core);
        if begun.is_break() {
            keep_lowest(search, best, core.into_iter().chain([self.no_features()]));
            return ControlFlow::Break(());
        }
        let core = core.filter(|core| {
            let one_less = squares[k - 1..].iter().sum::<f64>();
            core.loss + penalty <= one_less && search.is_done(core)
        });
        core.iter().for_each(|core| remember(tried, core));
        ControlFlow::Continue(core)
    }

    fn no_features(&self) -> Core {
        Core::of_rows(vec![0; self.products.n_rows], 0, &self.products)
    }

    /// The spectral start with K free: K-features for K = 1, 2, .. while loss + K penalty falls.
    fn climb(
        &self,
        search: &mut Search,
        best: &mut Option<(Core, Vec<f64>)>,
        tried: &mut BTreeMap<usize, f64>,
    ) -> ControlFlow<()> {
        let goal = search.goal;
        let mut lowest = self.no_features();
        let mut last = lowest.clone();
        let mut failures = 0;
        for k in 1..=search.cap() {
            let mut fixed = self.search(FeatureGoal::Exactly(k), search.number);
            let mut found = None;
            let warm = fixed.grown_along_axis(&last);
            let mut done = consider(&mut fixed, &mut found, warm);
            if done.is_continue() && k <= VECTORS {
                done = self.both_bases(&mut fixed, &mut found, k, None);
            }
            let core = found.map(|(core, _)| core);
            if done.is_break() {
                keep_lowest(search, best, core.into_iter().chain([lowest]));
                return done;
            }
            let Some(core) = core else { break };
            remember(tried, &core);
            last = core;
            if search.is_lower(goal.objective(last.loss, k), search.objective(&lowest)) {
                lowest.clone_from(&last);
                failures = 0;
            } else {
                failures += 1;
            }
            if failures > FAILURES || search.is_done(&last) {
                break;
            }
        }
        consider(search, best, lowest)
    }
}

/// Keeps the best of some starts that the watch has stopped; they were settled for other goals, so that no trace leads there.
fn keep_lowest(search: &Search, best: &mut Option<(Core, Vec<f64>)>, cores: impl Iterator<Item = Core>) {
    for core in cores {
        if best.as_ref().is_none_or(|(known, _)| search.objective(&core) < search.objective(known)) {
            *best = Some((core, Vec::new()));
        }
    }
}

/// Settles a start and keeps it, with its trace, if it is the best so far; given up where it is not likely to become that.
fn consider(search: &mut Search, best: &mut Option<(Core, Vec<f64>)>, start: Core) -> ControlFlow<()> {
    let mut core = start;
    search.trace.clear();
    search.refill(&mut core);
    if let Some((known, _)) = best {
        let target = search.objective(known);
        search.lower(&mut core, None, target)?;
        if search.objective(&core) >= target {
            return ControlFlow::Continue(());
        }
    }
    let settled = search.settle(&mut core);
    *best = Some((core, std::mem::take(&mut search.trace)));
    settled.map_continue(|_| ())
}
