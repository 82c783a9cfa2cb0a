//! The search for good features of few rows by their inner products: passes, new features for far rows, features that do
//! not pay dropped (Broderick 2013, Alg. 1 and 4).

use super::FeatureGoal;
use super::core::{Core, Frozen, Products};
use super::row_problem::{RowSolver, Scratch};
use crate::linalg::dot;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// The most features a word of bits holds.
pub(super) const MOST: usize = 64;
/// Rounds of projection along the principal axis of the residuals.
const ROUNDS: usize = 7;

/// What all steps of one search share.
pub(super) struct Search<'a> {
    pub products: &'a Products,
    pub goal: FeatureGoal,
    pub solver: RowSolver,
    pub watch: &'a dyn Watch,
    pub number: usize,
    pub max_passes: usize,
    pub scratch: Scratch,
    /// What passes have taken so far, in multiply-adds: a measure that is the same on every machine.
    pub work: u64,
    /// The work beyond which no further moves are tried.
    pub most_work: u64,
    /// The objective after every pass and every move that was kept.
    pub trace: Vec<f64>,
}

impl Search<'_> {
    /// loss + K penalty.
    pub fn objective(&self, core: &Core) -> f64 {
        self.goal.objective(core.loss, core.k())
    }

    /// Whether `objective` is below another by more than rounding.
    pub fn is_lower(&self, objective: f64, than: f64) -> bool {
        objective < than - 1e-9 * than - 1e-12 * self.products.total
    }

    /// The most features there may be.
    pub fn cap(&self) -> usize {
        self.goal.cap(self.products.n_rows).min(MOST)
    }

    /// Says where the search stands.
    pub fn note(&mut self, core: &Core) -> ControlFlow<()> {
        let objective = self.objective(core);
        debug_assert!(
            self.trace.last().is_none_or(|before| objective <= before + 1e-9 * before + 1e-11 * self.products.total),
            "a step raised the objective from {:?} to {objective}",
            self.trace.last()
        );
        self.trace.push(objective);
        self.watch.step(&Step::Pass { run: self.number, pass: self.trace.len(), groups: core.k(), objective })
    }

    /// Passes until nothing changes; false when `max_passes` came first.
    pub fn settle(&mut self, core: &mut Core) -> ControlFlow<(), bool> {
        for _ in 0..self.max_passes {
            let changed = self.pass(core, None)?;
            self.note(core)?;
            if changed == 0 {
                return ControlFlow::Continue(true);
            }
        }
        ControlFlow::Continue(false)
    }

    /// Every row's problem with the components frozen, as they are or as given; then one feature for the farthest row if
    /// that pays, none for features that do not, and new ones where K is given and columns fell together.
    pub fn pass(&mut self, core: &mut Core, frozen: Option<Frozen>) -> ControlFlow<(), usize> {
        self.watch.step(&Step::Chunk)?;
        let penalty = self.goal.penalty();
        if self.solver == RowSolver::Paper && penalty > 0.0 && frozen.is_none() {
            self.work += (self.products.n_rows * core.k().pow(2)) as u64;
            let mut changed = self.paper_pass(core);
            changed += self.drop_unpaid(core);
            return ControlFlow::Continue(changed);
        }
        let frozen = frozen.unwrap_or_else(|| core.frozen());
        let k = core.k();
        let mut changed = core.pass(frozen, self.solver, self.products, &mut self.scratch);
        let decisions = std::mem::take(&mut self.scratch.decisions);
        // Up to 8 features all rows are gone through one by one.
        let each = if k <= 8 { 1 << k } else { 0 };
        self.work += (self.products.n_rows * (k * k + each + changed)) as u64 + decisions * k as u64;
        if penalty > 0.0 {
            changed += self.drop_unpaid(core);
            if core.k() < self.cap() {
                let squares = core.residual_squares(self.products);
                let row = largest(&squares);
                if squares[row] > penalty {
                    let more = core.with(&alone(row, squares.len()), self.products);
                    if self.is_lower(self.objective(&more), self.objective(core)) {
                        *core = more;
                        changed += 1;
                    }
                }
            }
        } else {
            self.refill(core);
        }
        ControlFlow::Continue(changed + k.abs_diff(core.k()))
    }

    /// Drops features that cost more than they save.
    fn drop_unpaid(&self, core: &mut Core) -> usize {
        let before = core.k();
        while let Some((rise, feature)) = core.least_rise()
            && rise < self.goal.penalty()
        {
            *core = core.without(feature, self.products);
        }
        before - core.k()
    }

    /// Where K is given and columns fell together, new ones.
    pub fn refill(&self, core: &mut Core) {
        let FeatureGoal::Exactly(wanted) = self.goal else { return };
        while core.k() < wanted {
            let before = core.k();
            *core = self.grown_at_largest(core);
            let rows = self.products.n_rows;
            // Nothing is left to explain: any row that makes the columns independent.
            let mut row = 0;
            while core.k() == before && row < rows {
                *core = core.with(&alone(row, rows), self.products);
                row += 1;
            }
        }
    }

    /// One feature more: the largest residual a, on where 2 r'a > |a|^2.
    pub fn grown_at_largest(&self, core: &Core) -> Core {
        self.grown_at(core, largest(&core.residual_squares(self.products)))
    }

    /// One feature more: the residual a of a row, on where 2 r'a > |a|^2.
    pub fn grown_at(&self, core: &Core, row: usize) -> Core {
        let mut v = vec![0.0; self.products.n_rows];
        v[row] = 1.0;
        core.residual_products(&mut v, self.products);
        let on: Vec<bool> = v.iter().map(|p| 2.0 * p > v[row]).collect();
        core.with(&on, self.products)
    }

    /// One feature more, along the principal axis of the residuals: with u the residuals' lengths along it, on for the
    /// rows S of largest or of smallest u for which (sum over S of u)^2 / |S| is largest.
    pub fn grown_along_axis(&self, core: &Core) -> Core {
        let n = self.products.n_rows;
        let mut u = vec![0.0; n];
        u[largest(&core.residual_squares(self.products))] = 1.0;
        for _ in 0..ROUNDS {
            core.residual_products(&mut u, self.products);
            let length = dot(&u, &u).sqrt();
            if length == 0.0 {
                return core.clone();
            }
            u.iter_mut().for_each(|u| *u /= length);
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| u[b].total_cmp(&u[a]).then(a.cmp(&b)));
        let (best, first) = best_prefix(&order, &u);
        order.reverse();
        let (other, last) = best_prefix(&order, &u);
        let mut on = vec![false; n];
        if other > best {
            order[..last].iter().for_each(|row| on[*row] = true);
        } else {
            order[n - first..].iter().for_each(|row| on[*row] = true);
        }
        core.with(&on, self.products)
    }
}

/// The largest (sum of u over the first m)^2 / m, and its m.
fn best_prefix(order: &[usize], u: &[f64]) -> (f64, usize) {
    let (mut sum, mut best) = (0.0, (0.0, 0));
    for (m, row) in order.iter().enumerate() {
        sum += u[*row];
        let gain = sum * sum / (m + 1) as f64;
        if gain > best.0 {
            best = (gain, m + 1);
        }
    }
    best
}

/// Where the largest number stands, the first of equals.
pub(super) fn largest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, n| if values[n] > values[best] { n } else { best })
}

/// A column that is on for one row.
fn alone(row: usize, rows: usize) -> Vec<bool> {
    (0..rows).map(|n| n == row).collect()
}
