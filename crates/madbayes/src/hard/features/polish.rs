//! Polishing: moves that leave a local minimum, each settled and kept if the objective fell, until none helps. Z and A are
//! defined only up to changes of basis that keep Z binary, and wrong bases are the local minima.

use super::FeatureGoal;
use super::core::{Core, Frozen};
use super::search::{MOST, Search};
use crate::random::Rng;
use rand::RngExt;
use std::ops::ControlFlow;

/// A trial of an even or odd run is given up when it lacks more than this many times what its last pass gained.
const PATIENCE: [f64; 2] = [3.0, 10.0];
/// Most passes of a trial.
const TRIAL_PASSES: usize = 30;
/// The most features for which all pairs are tried as changes of basis.
const PAIRS: usize = 24;

impl Search<'_> {
    /// Moves until none helps. `deeply`: with one feature too many all changes of basis are tried as well.
    pub fn polish(&mut self, core: &mut Core, deeply: bool) -> ControlFlow<()> {
        loop {
            if self.is_done(core) {
                return self.change_number(core).map_continue(|_| ());
            }
            // Odd runs begin with the other move: where one order stops short, the other often does not.
            let basis_first = self.number % 2 == 1;
            let mut helped = basis_first && self.change_basis(core)?;
            helped |= self.regrow_each(core)?;
            helped |= !basis_first && self.change_basis(core)?;
            helped |= self.change_number(core)?;
            if !helped {
                helped |= self.up_and_down(core, deeply)?;
            }
            if !helped {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Features of fewer rows on more of them: passes, then features that only so many rows show.
    pub fn refine(&mut self, core: &mut Core, polish: bool) -> ControlFlow<()> {
        self.settle(core)?;
        if polish && !self.is_done(core) {
            self.regrow_each(core)?;
            self.change_number(core)?;
        }
        ControlFlow::Continue(())
    }

    /// Whether polishing has taken as much work as it may.
    pub fn is_spent(&self) -> bool {
        self.work > self.most_work
    }

    /// Settles a trial while it can still come below the features as they are, and takes it if it does.
    pub fn attempt(&mut self, core: &mut Core, mut trial: Core, first: Option<Frozen>) -> ControlFlow<(), bool> {
        if self.is_spent() {
            return ControlFlow::Continue(false);
        }
        let target = self.objective(core);
        self.refill(&mut trial);
        self.lower(&mut trial, first, target)?;
        if !self.is_lower(self.objective(&trial), target) {
            return ControlFlow::Continue(false);
        }
        *core = trial;
        self.note(core)?;
        self.settle(core)?;
        ControlFlow::Continue(true)
    }

    /// Passes while it is likely that they lead below `target`.
    pub fn lower(&mut self, trial: &mut Core, mut first: Option<Frozen>, target: f64) -> ControlFlow<()> {
        let mut before = f64::INFINITY;
        for _ in 0..TRIAL_PASSES.min(self.max_passes) {
            let changed = self.pass(trial, first.take())?;
            let now = self.objective(trial);
            if changed == 0 || now - target > PATIENCE[self.number % 2] * (before - now) {
                break;
            }
            before = now;
        }
        ControlFlow::Continue(())
    }

    /// A_i + A_j or A_i - A_j instead of A_i, until a round of all pairs helps no more.
    fn change_basis(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        let (mut helped, mut at, mut quiet) = (false, 0, 0);
        while !self.is_spent() && core.k() <= PAIRS && quiet < 2 * core.k() * core.k() {
            let k = core.k();
            at = (at + 1) % (2 * k * k);
            quiet += 1;
            let (i, j, sign) = (at / 2 / k, at / 2 % k, [1.0, -1.0][at % 2]);
            if i != j {
                let mut frozen = core.frozen();
                frozen.add(i, j, sign, k);
                if self.attempt(core, core.clone(), Some(frozen))? {
                    (helped, quiet) = (true, 0);
                }
            }
        }
        ControlFlow::Continue(helped)
    }

    /// Drops each feature and grows another from what is left, until a round of all features helps no more.
    fn regrow_each(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        let (mut helped, mut feature, mut quiet) = (false, 0, 0);
        while !self.is_spent() && quiet < core.k() {
            feature = (feature + 1) % core.k();
            quiet += 1;
            let rest = core.without(feature, self.products);
            if self.attempt(core, self.grown_along_axis(&rest), None)?
                || self.attempt(core, self.grown_at_largest(&rest), None)?
            {
                (helped, quiet) = (true, 0);
            }
        }
        ControlFlow::Continue(helped)
    }

    /// Grows one feature too many, settles, and drops each in turn.
    fn up_and_down(&mut self, core: &mut Core, deeply: bool) -> ControlFlow<(), bool> {
        for along_axis in [true, false] {
            let mut more = if along_axis { self.grown_along_axis(core) } else { self.grown_at_largest(core) };
            if more.k() > MOST || self.is_spent() {
                break;
            }
            // Objectives of another K are no part of the trace.
            let (goal, trace) = (self.goal, std::mem::take(&mut self.trace));
            self.goal = FeatureGoal::Exactly(more.k());
            let settled = self.settle(&mut more);
            let changed = if deeply { self.change_basis(&mut more) } else { ControlFlow::Continue(false) };
            (self.goal, self.trace) = (goal, trace);
            settled?;
            changed?;
            for feature in 0..more.k() {
                if self.attempt(core, more.without(feature, self.products), None)? {
                    return ControlFlow::Continue(true);
                }
            }
        }
        ControlFlow::Continue(false)
    }

    /// One feature more, or one less, where their number is free.
    fn change_number(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        if let FeatureGoal::Exactly(_) = self.goal {
            return ControlFlow::Continue(false);
        }
        let mut helped = false;
        while core.k() < self.cap()
            && (self.attempt(core, self.grown_along_axis(core), None)?
                || self.attempt(core, self.grown_at_largest(core), None)?)
        {
            helped = true;
        }
        while self.drop_base(core)? {
            helped = true;
        }
        let mut feature = 0;
        while feature < core.k() {
            if self.attempt(core, core.without(feature, self.products), None)? {
                (helped, feature) = (true, 0);
            } else {
                feature += 1;
            }
        }
        ControlFlow::Continue(helped)
    }

    /// A random change that polishing may lead to other features from: a feature regrown from a row drawn by its squared
    /// residual, two changes of basis, or two features regrown.
    pub fn kick(&mut self, core: &Core, rng: &mut Rng) -> ControlFlow<(), Core> {
        let k = core.k();
        if k == 0 {
            return ControlFlow::Continue(core.clone());
        }
        let mut first = None;
        let mut trial = core.clone();
        match rng.random_range(0..3) {
            0 => {
                let rest = core.without(rng.random_range(0..k), self.products);
                let squares = rest.residual_squares(self.products);
                let mut at = rng.random::<f64>() * squares.iter().sum::<f64>();
                let drawn = squares.iter().position(|s| {
                    at -= s;
                    at < 0.0
                });
                trial = self.grown_at(&rest, drawn.unwrap_or(0));
            }
            1 => {
                let mut frozen = core.frozen();
                for _ in 0..2 {
                    let (i, j) = (rng.random_range(0..k), rng.random_range(0..k));
                    let sign = [1.0, -1.0][rng.random_range(0..2)];
                    if i != j {
                        frozen.add(i, j, sign, k);
                    }
                }
                first = Some(frozen);
            }
            _ => {
                trial = core.without(rng.random_range(0..k), self.products);
                if k > 1 {
                    trial = trial.without(rng.random_range(0..k - 1), self.products);
                    trial = self.grown_along_axis(&trial);
                }
                trial = self.grown_at_largest(&trial);
            }
        }
        self.refill(&mut trial);
        self.lower(&mut trial, first, self.objective(core))?;
        ControlFlow::Continue(trial)
    }
}
