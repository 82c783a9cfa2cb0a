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
/// The same where the axis may be hardly longer than others.
const MANY_ROUNDS: usize = 20;
/// How many times as long as noise at its longest the residuals of noise may be.
const NOISE: f64 = 1.1;

/// What all steps of one search share.
pub(super) struct Search<'a> {
    pub products: &'a Products,
    pub goal: FeatureGoal,
    pub solver: RowSolver,
    pub watch: &'a dyn Watch,
    pub number: usize,
    pub max_passes: usize,
    /// Whether features are good enough that leave nothing but noise.
    pub until_noise: bool,
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

    /// Whether nothing is left of the rows but noise, and that is enough: of a sample other features could only fit its
    /// noise.
    ///
    /// Noise of variance v is at most v (sqrt N + sqrt D)^2 long along its principal axis, squared, and v at most
    /// loss / ((N - K) (D - K)), as if features had taken all of it in K rows and in K columns.
    pub fn is_done(&self, core: &Core) -> bool {
        let (n, d, k) = (self.products.n_rows as f64, self.products.n_columns as f64, core.k() as f64);
        if !self.until_noise || k >= n.min(d) {
            return false;
        }
        let longest = self.principal_axis(core, MANY_ROUNDS).map_or(0.0, |(square, _)| square);
        longest < NOISE * core.loss / ((n - k) * (d - k)) * (n.sqrt() + d.sqrt()).powi(2)
    }

    /// The principal axis u of the residuals R, nearly, as lengths of the rows along it, with |R'u|^2; none where nothing
    /// is left.
    fn principal_axis(&self, core: &Core, rounds: usize) -> Option<(f64, Vec<f64>)> {
        let mut u = vec![0.0; self.products.n_rows];
        u[largest(&core.residual_squares(self.products))] = 1.0;
        let mut length = 0.0;
        for _ in 0..rounds {
            core.residual_products(&mut u, self.products);
            length = dot(&u, &u).sqrt();
            if length == 0.0 {
                return None;
            }
            u.iter_mut().for_each(|u| *u /= length);
        }
        Some((length, u))
    }

    /// One feature more, along the principal axis of the residuals: with u the residuals' lengths along it, on for the
    /// rows S of largest or of smallest u for which (sum over S of u)^2 / |S| is largest.
    pub fn grown_along_axis(&self, core: &Core) -> Core {
        let n = self.products.n_rows;
        let Some((_, u)) = self.principal_axis(core, ROUNDS) else { return core.clone() };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hard::reconstruct;
    use crate::random::{Stream, stream};
    use crate::structure::Allocation;
    use crate::watch::Unwatched;
    use rand::RngExt;
    use rand_distr::{Distribution, StandardNormal};

    #[test]
    fn planted_features_leave_noise_and_one_less_or_one_amiss_do_not() {
        for seed in 0..10 {
            let (n, d, k, noise) = (512, [30, 100][seed % 2], 8, [0.3, 1.0][seed / 5]);
            let mut rng = stream(seed as u64, Stream::Simulation);
            let z = Allocation::from_bools(n, k, (0..n * k).map(|_| rng.random::<bool>()));
            let a: Vec<f64> = (0..k * d).map(|_| StandardNormal.sample(&mut rng)).collect();
            let mut x = reconstruct(&z, &a, d);
            x.iter_mut().for_each(|x| *x += noise * Distribution::<f64>::sample(&StandardNormal, &mut rng));
            let products = Products::new(&x, n, d);
            let mut search = Search {
                products: &products,
                goal: FeatureGoal::Exactly(k),
                solver: RowSolver::Auto,
                watch: &Unwatched,
                number: 0,
                max_passes: 100,
                until_noise: true,
                scratch: Scratch::default(),
                work: 0,
                most_work: 0,
                trace: Vec::new(),
            };
            let mut planted = Core::new(&z, &products);
            assert!(search.settle(&mut planted).is_continue());
            assert!(search.is_done(&planted), "d {d}, noise {noise}");
            assert!(!search.is_done(&planted.without(3, &products)), "d {d}, noise {noise}: one less");
            // One feature for another, as a wrong basis has it: where both are on, one is not.
            let amiss: Vec<bool> = z.column(0).iter().zip(z.column(1)).map(|(a, b)| *a && !b).collect();
            let amiss = planted.without(0, &products).with(&amiss, &products);
            assert!(!search.is_done(&amiss), "d {d}, noise {noise}: one amiss");
            search.until_noise = false;
            assert!(!search.is_done(&planted), "where the rows are all there are, the search goes on");
        }
    }
}
