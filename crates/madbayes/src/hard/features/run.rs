//! Runs on few rows: how each is lowered, and the best of them (Broderick 2013, Sec. 5).

use super::FeatureGoal;
use super::bp_means::{BpMeans, FeatureAlgorithm, FeatureStart};
use super::collapsed::sweep_collapsed;
use super::coordinates::Coordinates;
use super::core::{Core, Products};
use super::row_problem::Scratch;
use super::search::Search;
use crate::data::Data;
use crate::hard::Restarts;
use crate::parallel::Workers;
use crate::random::{Stream, stream};
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// No further automatic runs begin when those before have taken so many multiply-adds.
const BUDGET: u64 = 1_000_000_000;
/// The most automatic runs, and how many of them must agree on the best for the others to be left out.
const MOST_RUNS: usize = 12;
const AGREEING: usize = 4;
/// N K^4 below which there are four times as many runs: on few rows many starts end alike, short of the best.
const TINY: usize = 10_000;
/// Multiply-adds of all runs above which threads bring more than they cost.
const MANY: u64 = 20_000_000;
/// Most sweeps of the collapsed algorithm within polishing.
const SWEEPS: usize = 20;
/// How many K in a row may fail to lower the objective before a climb over K ends.
pub(super) const FAILURES: usize = 2;

/// What all runs share.
pub(super) struct Runs<'a> {
    pub parameters: &'a BpMeans,
    pub goal: FeatureGoal,
    /// Where to start, if it is given.
    pub given: Option<Allocation>,
    pub products: Products,
    pub coordinates: &'a Coordinates,
    /// The rows in these coordinates.
    pub data: &'a Data<'a, f64>,
    pub watch: &'a dyn Watch,
    /// Multiply-adds that one run may take for polishing: features of noise can be polished for ever.
    pub polishing: u64,
    /// Whether features are good enough that leave nothing but noise.
    pub until_noise: bool,
}

/// The best of some runs.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub core: Core,
    pub traces: Vec<Vec<f64>>,
    pub best_run: usize,
    /// The least loss found by K.
    pub tried: BTreeMap<usize, f64>,
    pub converged: bool,
    pub stopped: bool,
}

/// One run.
struct Ran {
    core: Core,
    trace: Vec<f64>,
    tried: BTreeMap<usize, f64>,
    /// Multiply-adds.
    work: u64,
    converged: bool,
    stopped: bool,
}

impl Ran {
    /// Nothing yet but no features.
    fn new(products: &Products) -> Self {
        let core = Core::of_rows(vec![0; products.n_rows], 0, products);
        Ran { core, trace: Vec::new(), tried: BTreeMap::new(), work: 0, converged: false, stopped: false }
    }
}

pub(super) fn remember(tried: &mut BTreeMap<usize, f64>, core: &Core) {
    tried.entry(core.k()).and_modify(|l| *l = l.min(core.loss)).or_insert(core.loss);
}

impl Runs<'_> {
    pub fn search(&self, goal: FeatureGoal, number: usize) -> Search<'_> {
        Search {
            products: &self.products,
            goal,
            solver: self.parameters.row_solver,
            watch: self.watch,
            number,
            max_passes: self.parameters.max_passes,
            until_noise: self.until_noise,
            scratch: Scratch::default(),
            work: 0,
            most_work: 0,
            trace: Vec::new(),
        }
    }

    /// The best of as many runs as `restarts` says. The first may also start from features with one less (`warm`).
    pub fn best(&self, goal: FeatureGoal, warm: Option<&Core>, restarts: Restarts) -> Ended {
        let first = self.run(goal, 0, None, warm);
        let times = if self.products.n_rows * first.core.k().pow(4) < TINY { 4 } else { 1 };
        let runs = match restarts {
            Restarts::Exactly(runs) => runs,
            Restarts::Auto if self.is_random() => times * MOST_RUNS,
            Restarts::Auto => 1,
        };
        let agree = |all: &[Ran]| self.agreeing(all, goal) >= times * AGREEING;
        let done = |all: &[Ran]| self.search(goal, 0).is_done(&all[best_of(all, goal)].core);
        let enough = |all: &[Ran]| agree(all) || all.iter().map(|r| r.work).sum::<u64>() > BUDGET || done(all);
        let _ = self.watch.step(&Step::Run { run: 0, of: runs });
        let many = first.work.saturating_mul(runs as u64) > MANY || runs > times * MOST_RUNS;
        let workers = if many { Workers::new(self.parameters.threads) } else { Workers::serial() };
        let mut all = vec![first];
        while all.len() < runs && !all.iter().any(|r| r.stopped) && !(restarts == Restarts::Auto && enough(&all)) {
            let from = all.len();
            // In fours, whatever the number of threads: later ones begin with what the earlier ones found.
            let wave = if self.parameters.start == FeatureStart::PlusPlus { runs } else { AGREEING }.min(runs - from);
            let known = all[best_of(&all, goal)].core.clone();
            all.extend(workers.map(wave, |i| {
                let ran = self.run(goal, from + i, Some(&known), None);
                let _ = self.watch.step(&Step::Run { run: from + i, of: runs });
                ran
            }));
        }
        // The best of several, and the one that owes nothing to chance, are worth a closer look.
        if all.len() >= MOST_RUNS && self.parameters.polish && !agree(&all) {
            for number in BTreeSet::from([0, best_of(&all, goal)]) {
                let mut search = self.search(goal, number);
                let ran = &mut all[number];
                search.trace = std::mem::take(&mut ran.trace);
                ran.stopped |= self.polish(&mut search, ran, true).is_break();
                ran.trace = search.trace;
                remember(&mut ran.tried, &ran.core);
            }
        }
        let best_run = best_of(&all, goal);
        let mut tried = BTreeMap::new();
        for ran in &all {
            for (k, loss) in &ran.tried {
                tried.entry(*k).and_modify(|l: &mut f64| *l = l.min(*loss)).or_insert(*loss);
            }
        }
        let stopped = all.iter().any(|r| r.stopped);
        let traces = all.iter().map(|r| r.trace.clone()).collect();
        let Ran { core, converged, .. } = all.swap_remove(best_run);
        Ended { core, traces, best_run, tried, converged, stopped }
    }

    /// The features of fewer rows on these, which have them as `allocation` says; the losses by K become those of these.
    pub fn refined(&self, allocation: &Allocation, ended: Ended) -> Ended {
        let mut search = self.search(self.goal, ended.best_run);
        search.most_work = self.polishing;
        let mut core = Core::new(allocation, &self.products);
        search.refill(&mut core);
        let more = self.products.n_rows as f64 / ended.core.rows().len() as f64;
        let tried = ended.tried.into_iter().map(|(k, loss)| (k, loss * more)).collect();
        let mut ended = Ended { tried, ..ended };
        if !ended.stopped {
            ended.stopped = search.refine(&mut core, self.parameters.polish).is_break();
        }
        Ended { core, ..ended }
    }

    /// How many runs have found the same best objective.
    fn agreeing(&self, all: &[Ran], goal: FeatureGoal) -> usize {
        let objectives: Vec<f64> = all.iter().map(|r| goal.objective(r.core.loss, r.core.k())).collect();
        let best = objectives.iter().copied().fold(f64::INFINITY, f64::min);
        objectives.iter().filter(|o| **o <= best + 1e-9 * best + 1e-12 * self.products.total).count()
    }

    /// Whether another run could end elsewhere.
    fn is_random(&self) -> bool {
        match self.parameters.start {
            FeatureStart::PlusPlus => true,
            FeatureStart::Spectral => self.parameters.polish,
            FeatureStart::Given(_) | FeatureStart::Allocation(_) => false,
        }
    }

    fn run(&self, goal: FeatureGoal, number: usize, first: Option<&Core>, warm: Option<&Core>) -> Ran {
        let mut ran = Ran::new(&self.products);
        ran.stopped = self.run_watched(&mut ran, goal, number, first, warm).is_break();
        // A stopped run still has as many features as it should.
        self.search(goal, number).refill(&mut ran.core);
        remember(&mut ran.tried, &ran.core);
        ran
    }

    fn run_watched(
        &self,
        ran: &mut Ran,
        goal: FeatureGoal,
        number: usize,
        first: Option<&Core>,
        warm: Option<&Core>,
    ) -> ControlFlow<()> {
        let mut rng = stream(self.parameters.seed, Stream::Restart(number as u32));
        let mut search = self.search(goal, number);
        let mut best: Option<(Core, Vec<f64>)> = None;
        let begun = self.begin(&mut search, &mut best, (first, warm), &mut rng, &mut ran.tried);
        if let Some((core, trace)) = best {
            ran.core = core;
            search.trace = trace;
        }
        let ended = begun.is_continue().then(|| self.lower(&mut search, ran));
        (ran.trace, ran.work) = (search.trace, search.work);
        match ended {
            Some(ended) => ended,
            None => ControlFlow::Break(()),
        }
    }

    /// Lowers the objective of a run that has begun.
    fn lower(&self, search: &mut Search, ran: &mut Ran) -> ControlFlow<()> {
        ran.converged = search.settle(&mut ran.core)?;
        if self.parameters.algorithm == FeatureAlgorithm::Collapsed {
            self.sweep(search, ran, self.parameters.max_passes)?;
        }
        if self.parameters.polish { self.polish(search, ran, false) } else { ControlFlow::Continue(()) }
    }

    /// Moves and collapsed sweeps until neither helps, or the work is enough.
    fn polish(&self, search: &mut Search, ran: &mut Ran, deeply: bool) -> ControlFlow<()> {
        search.most_work = search.work + self.polishing;
        loop {
            search.polish(&mut ran.core, deeply)?;
            if search.is_done(&ran.core) {
                return ControlFlow::Continue(());
            }
            let before = search.objective(&ran.core);
            self.sweep(search, ran, SWEEPS)?;
            if search.is_spent() || !search.is_lower(search.objective(&ran.core), before) {
                return ControlFlow::Continue(());
            }
            search.settle(&mut ran.core)?;
        }
    }

    /// Takes every trial that settles below the features as they are, and polishes where one did; whether one did.
    pub fn attempt_all(&self, core: &mut Core, trials: impl Iterator<Item = Core>) -> ControlFlow<(), bool> {
        let mut search = self.search(FeatureGoal::Exactly(core.k()), 0);
        search.most_work = self.polishing;
        let mut helped = false;
        for trial in trials {
            helped |= search.attempt(core, trial, None)?;
        }
        if helped && self.parameters.polish {
            let mut ran = Ran { core: core.clone(), ..Ran::new(&self.products) };
            let polished = self.polish(&mut search, &mut ran, false);
            *core = ran.core;
            polished?;
        }
        ControlFlow::Continue(helped)
    }

    /// Collapsed sweeps, kept if they helped.
    fn sweep(&self, search: &mut Search, ran: &mut Ran, limit: usize) -> ControlFlow<()> {
        let swept = sweep_collapsed(self.data, ran.core.allocation(), search.goal, limit, self.watch);
        // All combinations of up to 10 features are scored for every row, beyond that flips.
        let each = if ran.core.k() <= 10 { 1 << ran.core.k() } else { ran.core.k().pow(3) };
        search.work += (swept.trace.len() * self.products.n_rows * each) as u64;
        let core = Core::new(&swept.allocation, &self.products);
        if search.is_lower(search.objective(&core), search.objective(&ran.core)) {
            ran.core = core;
            search.note(&ran.core)?;
            ran.converged = swept.converged;
        }
        if swept.stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// K-features for K = 1, 2, .. until loss + K penalty no longer falls, or up to the K asked for; each K also started
    /// from the features of the one before (B Sec. 5).
    pub fn stepwise(&self) -> Ended {
        let restarts = match self.parameters.restarts {
            Restarts::Auto => Restarts::Exactly(1),
            restarts => restarts,
        };
        let nothing = Ran::new(&self.products);
        let mut tried = BTreeMap::from([(0, nothing.core.loss)]);
        let mut last: Option<Core> = None;
        let mut lowest = Ended {
            traces: vec![vec![self.goal.objective(nothing.core.loss, 0)]],
            core: nothing.core,
            best_run: 0,
            tried: BTreeMap::new(),
            converged: true,
            stopped: false,
        };
        let mut failures = 0;
        let search = self.search(self.goal, 0);
        for k in 1..=search.cap() {
            let step = self.best(FeatureGoal::Exactly(k), last.as_ref(), restarts);
            remember(&mut tried, &step.core);
            last = Some(step.core.clone());
            let stopped = step.stopped;
            let lower = search.is_lower(search.objective(&step.core), search.objective(&lowest.core));
            if lower || self.goal.penalty() == 0.0 {
                lowest = step;
                // Losses of K-features become objectives of this goal.
                let price = k as f64 * self.goal.penalty();
                lowest.traces.iter_mut().flatten().for_each(|value| *value += price);
                failures = 0;
            } else {
                failures += 1;
            }
            lowest.stopped |= stopped;
            if stopped || failures >= FAILURES {
                break;
            }
        }
        search.refill(&mut lowest.core);
        lowest.tried = tried;
        lowest
    }
}

/// The run of lowest objective, the first of equals.
fn best_of(all: &[Ran], goal: FeatureGoal) -> usize {
    let objective = |i: usize| goal.objective(all[i].core.loss, all[i].core.k());
    (0..all.len()).min_by(|&a, &b| objective(a).total_cmp(&objective(b))).unwrap_or(0)
}
