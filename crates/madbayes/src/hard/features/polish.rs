//! Polishing: moves that leave a local minimum, each settled and kept if the objective fell, until none helps.

use super::FeatureGoal;
use super::core::{Core, Frozen, Products};
use super::row_problem::{RowSolver, Scratch};
use crate::random::Rng;
use crate::watch::{Step, Watch};
use rand::RngExt;
use std::ops::ControlFlow;

/// A trial is given up when what it still has to gain is more than this many times what its last pass gained.
const PATIENCE: f64 = 3.0;
/// Most passes of a trial.
const TRIAL_PASSES: usize = 30;

/// The search for better features of few rows.
pub(super) struct Search<'a> {
    pub products: &'a Products,
    pub goal: FeatureGoal,
    pub solver: RowSolver,
    pub watch: &'a dyn Watch,
    pub scratch: Scratch,
    pub passes: usize,
}

impl Search<'_> {
    pub fn objective(&self, core: &Core) -> f64 {
        self.goal.objective(core.loss, core.k())
    }

    fn lower(&self, trial: &Core, than: f64) -> bool {
        self.objective(trial) < than - 1e-9 * than - 1e-13 * self.products.total
    }

    fn pass(&mut self, core: &mut Core, frozen: Frozen) -> ControlFlow<(), usize> {
        self.watch.step(&Step::Chunk)?;
        self.passes += 1;
        ControlFlow::Continue(core.pass(frozen, self.solver, self.products, &mut self.scratch))
    }

    /// Passes until nothing changes.
    pub fn settle(&mut self, core: &mut Core, limit: usize) -> ControlFlow<()> {
        for _ in 0..limit {
            let frozen = core.frozen();
            if self.pass(core, frozen)? == 0 {
                break;
            }
            self.refill(core);
        }
        ControlFlow::Continue(())
    }

    /// Where K is given and columns fell together, new ones.
    pub fn refill(&mut self, core: &mut Core) {
        while let FeatureGoal::Exactly(k) = self.goal && core.k() < k {
            let before = core.k();
            *core = self.grown_at_largest(core);
            if core.k() == before {
                // Nothing is left to explain: a row of its own.
                for row in 0..self.products.n_rows {
                    let on: Vec<bool> = (0..self.products.n_rows).map(|m| m == row).collect();
                    *core = core.with(&on, self.products);
                    if core.k() > before {
                        break;
                    }
                }
            }
        }
    }

    /// Settles a trial while it can still come below `goal`; whether it did.
    fn attempt(&mut self, trial: &mut Core, first: Option<Frozen>, target: f64) -> ControlFlow<(), bool> {
        let mut first = first;
        let mut before = f64::INFINITY;
        for _ in 0..TRIAL_PASSES {
            let frozen = first.take().unwrap_or_else(|| trial.frozen());
            let changed = self.pass(trial, frozen)?;
            self.refill(trial);
            let now = self.objective(trial);
            if changed == 0 || now - target > PATIENCE * (before - now) {
                break;
            }
            before = now;
        }
        if self.lower(trial, target) {
            self.settle(trial, 300)?;
            return ControlFlow::Continue(true);
        }
        ControlFlow::Continue(false)
    }

    /// Moves until none helps.
    pub fn polish(&mut self, core: &mut Core) -> ControlFlow<()> {
        loop {
            let mut helped = self.regrow_each(core)?;
            helped |= self.change_basis(core)?;
            if !helped {
                return ControlFlow::Continue(());
            }
        }
    }

    /// A_i + A_j or A_i - A_j instead of A_i.
    fn change_basis(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        let mut helped = false;
        let mut quiet = 0;
        let k = core.k();
        let moves = 2 * k * k;
        let mut at = 0;
        while quiet < moves {
            let (i, j, sign) = (at / 2 / k, at / 2 % k, if at % 2 == 0 { 1.0 } else { -1.0 });
            at = (at + 1) % moves;
            quiet += 1;
            if i == j || i >= core.k() || j >= core.k() {
                continue;
            }
            let mut frozen = core.frozen();
            frozen.add(i, j, sign, core.k());
            let mut trial = core.clone();
            let target = self.objective(core);
            if self.attempt(&mut trial, Some(frozen), target)? {
                *core = trial;
                helped = true;
                quiet = 0;
            }
        }
        ControlFlow::Continue(helped)
    }

    /// Drops each feature and grows another from what is left.
    fn regrow_each(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        let mut helped = false;
        let mut feature = 0;
        let mut quiet = 0;
        while quiet < core.k() {
            feature = (feature + 1) % core.k();
            quiet += 1;
            let rest = core.without(feature, self.products);
            let target = self.objective(core);
            for principal in [true, false] {
                let mut trial = if principal { self.grown_along_axis(&rest) } else { self.grown_at_largest(&rest) };
                self.refill(&mut trial);
                if self.attempt(&mut trial, None, target)? {
                    *core = trial;
                    helped = true;
                    quiet = 0;
                    break;
                }
            }
        }
        ControlFlow::Continue(helped)
    }

    /// One feature more: the largest residual a, on where 2 r'a > |a|^2.
    fn grown_at_largest(&self, core: &Core) -> Core {
        let squares = core.residual_squares(self.products);
        let row = (0..squares.len()).fold(0, |best, n| if squares[n] > squares[best] { n } else { best });
        self.grown_at(core, row)
    }

    /// One feature more: the residual a of a row, on where 2 r'a > |a|^2.
    fn grown_at(&self, core: &Core, row: usize) -> Core {
        let mut v = vec![0.0; self.products.n_rows];
        v[row] = 1.0;
        core.residual_products(&mut v, self.products);
        let on: Vec<bool> = v.iter().map(|p| 2.0 * p > v[row]).collect();
        core.with(&on, self.products)
    }

    /// One feature more, along the principal axis of the residuals: with u the residuals' lengths along it, on for the
    /// rows S of largest or of smallest u for which (sum over S of u)^2 / |S| is largest.
    fn grown_along_axis(&self, core: &Core) -> Core {
        let n = self.products.n_rows;
        let squares = core.residual_squares(self.products);
        let row = (0..n).fold(0, |best, m| if squares[m] > squares[best] { m } else { best });
        let mut v = vec![0.0; n];
        v[row] = 1.0;
        for _ in 0..7 {
            core.residual_products(&mut v, self.products);
            let length = crate::linalg::dot(&v, &v).sqrt();
            if length == 0.0 {
                return core.clone();
            }
            v.iter_mut().for_each(|v| *v /= length);
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| v[b].total_cmp(&v[a]).then(a.cmp(&b)));
        let mut best = (0.0, 0, false);
        for reverse in [false, true] {
            let mut sum = 0.0;
            for m in 0..n {
                sum += v[order[if reverse { n - 1 - m } else { m }]];
                let gain = sum * sum / (m + 1) as f64;
                if gain > best.0 {
                    best = (gain, m + 1, reverse);
                }
            }
        }
        let mut on = vec![false; n];
        (0..best.1).for_each(|m| on[order[if best.2 { n - 1 - m } else { m }]] = true);
        core.with(&on, self.products)
    }

    pub fn kick(&mut self, core: &Core, rng: &mut Rng) -> ControlFlow<(), Core> {
        let k = core.k();
        let target = self.objective(core);
        let mut trial;
        let mut first = None;
        match rng.random_range(0..3) {
            0 => {
                let rest = core.without(rng.random_range(0..k), self.products);
                let squares = rest.residual_squares(self.products);
                let mut at = rng.random::<f64>() * squares.iter().sum::<f64>();
                let row = squares.iter().position(|s| { at -= s; at < 0.0 }).unwrap_or(0);
                trial = self.grown_at(&rest, row);
            }
            1 => {
                trial = core.clone();
                let mut frozen = core.frozen();
                for _ in 0..2 {
                    let (i, j) = (rng.random_range(0..k), rng.random_range(0..k));
                    if i != j { frozen.add(i, j, if rng.random::<bool>() { 1.0 } else { -1.0 }, k); }
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
        self.attempt(&mut trial, first, target)?;
        ControlFlow::Continue(trial)
    }
}
