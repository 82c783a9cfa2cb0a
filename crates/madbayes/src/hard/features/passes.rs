//! Passes over all rows with the components frozen: one matrix product X A', every row's problem in K dimensions, then
//! A = (Z'Z)^-1 Z'X (Broderick 2013, Alg. 1 and 4). No pass raises the objective.

use super::FeatureGoal;
use super::least_squares::independent;
use super::row_problem::{RowProblem, RowSolver};
use super::summary::{BLOCK, Summary, multiply};
use crate::data::{CHUNK, Data, Real};
use crate::linalg::dot;
use crate::parallel::Workers;
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// Chunks whose summaries are held at once: bounds the memory of a pass, and has no influence on its result.
const WAVE: usize = 32;

/// What all steps of one run share.
pub(super) struct Run<'a, T> {
    pub data: &'a Data<'a, T>,
    /// |x_n|^2 of every row.
    pub squares: &'a [f64],
    /// |X|_F^2.
    pub total: f64,
    pub goal: FeatureGoal,
    pub solver: RowSolver,
    pub workers: &'a Workers,
    pub watch: &'a dyn Watch,
    pub number: usize,
}

/// Features on their way: the allocation, its least-squares components, and what they cost.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub allocation: Allocation,
    /// K x D.
    pub components: Vec<f64>,
    /// |X - Z A|_F^2; infinite before the first pass.
    pub loss: f64,
    /// The objective after every pass.
    pub trace: Vec<f64>,
    pub converged: bool,
    pub stopped: bool,
}

impl State {
    /// Components to start from; no row has any of them yet.
    pub fn from_components(components: Vec<f64>, n_rows: usize, n_columns: usize) -> Self {
        let allocation = Allocation::new(n_rows, components.len() / n_columns);
        State { allocation, components, loss: f64::INFINITY, trace: Vec::new(), converged: false, stopped: false }
    }

    /// Number of features, K.
    pub fn k(&self) -> usize {
        self.allocation.n_features()
    }
}

/// |x_n|^2 of every row.
pub(super) fn squares<T: Real>(data: &Data<T>) -> Vec<f64> {
    let square = |row: &[T]| {
        let (head, tail) = row.as_chunks::<8>();
        let mut sums = [0.0; 8];
        for x in head {
            for l in 0..8 {
                let x: f64 = x[l].into();
                sums[l] += x * x;
            }
        }
        let rest: f64 = tail.iter().map(|&x| x.into()).map(|x: f64| x * x).sum();
        sums.iter().sum::<f64>() + rest
    };
    data.rows().iter().map(square).collect()
}

impl<T: Real> Run<'_, T> {
    /// The least-squares components of an allocation. Columns in the span of others go, or are grown anew where K is given.
    pub fn fit_allocation(&self, allocation: Allocation) -> ControlFlow<(), State> {
        let components = vec![0.0; allocation.n_features() * self.data.n_columns()];
        let (trace, loss) = (Vec::new(), f64::INFINITY);
        let mut state = State { allocation, components, loss, trace, converged: false, stopped: false };
        let summary = self.scan(&mut state, None)?;
        self.take(&mut state, summary);
        self.grow_missing(&mut state)?;
        ControlFlow::Continue(state)
    }

    /// Passes until nothing changes, the objective falls by less than `tolerance` of itself, `limit` passes are done,
    /// or the watch says stop. `converged` says whether it was one of the first two.
    pub fn settle(&self, state: &mut State, tolerance: f64, limit: usize) {
        state.converged = false;
        for _ in 0..limit {
            let before = self.goal.objective(state.loss, state.k());
            let ControlFlow::Continue(changed) = self.pass(state) else {
                state.stopped = true;
                return;
            };
            let after = self.goal.objective(state.loss, state.k());
            if changed == 0 || before.is_finite() && before - after < tolerance * after {
                state.converged = true;
                return;
            }
        }
    }

    /// One pass; how many rows, or features, changed.
    pub fn pass(&self, state: &mut State) -> ControlFlow<(), usize> {
        let before = self.goal.objective(state.loss, state.k());
        let gram = gram(&state.components, state.k(), self.data.n_columns());
        let problem = RowProblem::new(gram, state.k(), self.solver);
        let mut summary = self.scan(state, Some(&problem))?;
        let mut changed = summary.changed;
        let penalty = self.goal.penalty();
        let room = penalty > 0.0 && self.goal.cap(self.data.n_rows()) > state.k();
        // Rows seen at once cannot see each other's new features: only the one of largest residual gets one.
        if let Some((_, row)) = summary.far.filter(|far| room && far.0 > penalty) {
            summary.open(&state.allocation, row, self.data.rows().row(row));
            state.allocation.push();
            state.allocation.set(row, state.k() - 1, true);
            changed += 1;
        }
        changed += self.take(state, summary);
        self.grow_missing(state)?;
        let objective = self.goal.objective(state.loss, state.k());
        debug_assert!(
            before.is_infinite() || objective <= before + self.rounding(before),
            "a pass raised the objective from {before} to {objective}"
        );
        state.trace.push(objective);
        self.watch.step(&Step::Pass { run: self.number, pass: state.trace.len(), groups: state.k(), objective })?;
        ControlFlow::Continue(changed)
    }

    /// Every row's problem once; the components stay as they are.
    pub fn assign(&self, state: &mut State) -> ControlFlow<()> {
        let gram = gram(&state.components, state.k(), self.data.n_columns());
        let problem = RowProblem::new(gram, state.k(), self.solver);
        self.scan(state, Some(&problem))?;
        ControlFlow::Continue(())
    }

    /// What rounding may add to an objective: a share of it, and of what the rows' own squares are rounded by.
    fn rounding(&self, objective: f64) -> f64 {
        (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective.abs() + 1e-11 * self.total
    }

    /// Sums over all rows, each row's problem solved first where there is one.
    fn scan(&self, state: &mut State, problem: Option<&RowProblem>) -> ControlFlow<(), Summary> {
        let (k, d) = (state.k(), self.data.n_columns());
        let components = &state.components;
        let stride = state.allocation.stride();
        let mut total = Summary::new(k, d);
        if stride == 0 {
            total.far = farthest(self.squares);
            return ControlFlow::Continue(total);
        }
        let mut first = 0;
        for wave in state.allocation.words_mut().chunks_mut(WAVE * CHUNK * stride) {
            let mut parts: Vec<&mut [u64]> = wave.chunks_mut(CHUNK * stride).collect();
            let summaries = self.workers.map_mut(&mut parts, |i, words| {
                if self.watch.step(&Step::Chunk).is_break() {
                    return None;
                }
                let (start, end) = self.data.chunk(first + i);
                let mut summary = Summary::new(k, d);
                let rows = self.data.rows().slice(start, end);
                summary.add(rows, start, &self.squares[start..end], words, components, problem);
                Some(summary)
            });
            first += summaries.len();
            for summary in summaries {
                match summary {
                    Some(summary) => total.merge(&summary),
                    None => return ControlFlow::Break(()),
                }
            }
        }
        ControlFlow::Continue(total)
    }

    /// A = (Z'Z)^-1 Z'X over the columns that are independent and, where features have a price, worth it; the others go.
    /// How many went.
    fn take(&self, state: &mut State, mut summary: Summary) -> usize {
        let (before, d) = (state.k(), self.data.n_columns());
        let mut kept: Vec<usize> = (0..before).collect();
        loop {
            let (free, factor) = independent(&summary.products, kept.len());
            if free.len() < kept.len() {
                summary = summary.select(&free);
                kept = free.iter().map(|i| kept[*i]).collect();
                continue;
            }
            state.components.clone_from(&summary.sums);
            factor.solve(&mut state.components, d);
            match unpaid(&state.components, &factor.inverse(), kept.len(), self.goal.penalty()) {
                Some(least) => {
                    kept.remove(least);
                    let rest: Vec<usize> = (0..=kept.len()).filter(|i| *i != least).collect();
                    summary = summary.select(&rest);
                }
                None => break,
            }
        }
        if kept.len() < before {
            state.allocation = state.allocation.select(&kept);
        }
        state.loss = (self.total - dot(&state.components, &summary.sums)).max(0.0);
        before - kept.len()
    }

    /// Where K is given and columns were dropped, new ones from the largest residual.
    fn grow_missing(&self, state: &mut State) -> ControlFlow<()> {
        let FeatureGoal::Exactly(wanted) = self.goal else { return ControlFlow::Continue(()) };
        while state.k() < wanted {
            self.grow(state)?;
        }
        ControlFlow::Continue(())
    }

    /// One more feature: the residual a of the row of largest residual, on where 2 r'a > |a|^2; where nothing is left
    /// to explain, on for one row that makes the columns independent.
    fn grow(&self, state: &mut State) -> ControlFlow<()> {
        let (k, d) = (state.k(), self.data.n_columns());
        let (row, residual) = self.largest_residual(state);
        let square = dot(&residual, &residual);
        let before = state.clone();
        if square > 1e-24 * self.total {
            let on = self.residual_blocks(state, |_, block| {
                block.chunks_exact(d).map(|r| 2.0 * dot(r, &residual) > square).collect::<Vec<_>>()
            });
            state.allocation.push();
            on.concat().into_iter().enumerate().for_each(|(n, on)| state.allocation.set(n, k, on));
            state.components.extend_from_slice(&residual);
            let summary = self.scan(state, None)?;
            if self.take(state, summary) == 0 && state.loss <= before.loss {
                return ControlFlow::Continue(());
            }
        }
        // Of N >= K rows some one is not set alone by any combination of the columns.
        for n in (row..self.data.n_rows()).chain(0..row) {
            state.clone_from(&before);
            state.allocation.push();
            state.allocation.set(n, k, true);
            state.components.resize((k + 1) * d, 0.0);
            let summary = self.scan(state, None)?;
            if self.take(state, summary) == 0 {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// The row of largest residual (the first of equals), with it.
    fn largest_residual(&self, state: &State) -> (usize, Vec<f64>) {
        let d = self.data.n_columns();
        let parts = self.residual_blocks(state, |first, block| {
            let mut best = (-1.0, 0, Vec::new());
            for (i, residual) in block.chunks_exact(d).enumerate() {
                let square = dot(residual, residual);
                if square > best.0 {
                    best = (square, first + i, residual.to_vec());
                }
            }
            best
        });
        let best = parts.into_iter().reduce(|a, b| if b.0 > a.0 { b } else { a });
        best.map_or((0, vec![0.0; d]), |(_, row, residual)| (row, residual))
    }

    /// |X - Z A|_F^2 from the residuals themselves.
    pub fn measure(&self, state: &State) -> f64 {
        self.residual_blocks(state, |_, block| dot(block, block)).into_iter().sum()
    }

    /// `see(first row, residuals)` for every block of rows, results in order.
    fn residual_blocks<R: Send>(&self, state: &State, see: impl Fn(usize, &[f64]) -> R + Sync + Send) -> Vec<R> {
        let d = self.data.n_columns();
        let parts = self.workers.map(self.data.n_chunks(), |index| {
            let (start, end) = self.data.chunk(index);
            let mut seen = Vec::new();
            for first in (start..end).step_by(BLOCK) {
                let last = (first + BLOCK).min(end);
                let rows = self.data.rows().slice(first, last);
                let mut block: Vec<f64> = rows.values().iter().map(|&x| x.into()).collect();
                for (n, row) in (first..last).zip(block.chunks_exact_mut(d)) {
                    for feature in state.allocation.features_of(n) {
                        let component = &state.components[feature * d..(feature + 1) * d];
                        row.iter_mut().zip(component).for_each(|(r, a)| *r -= a);
                    }
                }
                seen.push(see(first, &block));
            }
            seen
        });
        parts.into_iter().flatten().collect()
    }
}

/// The feature that costs more than it saves by most: without feature k the loss rises by |A_k|^2 / ((Z'Z)^-1)_kk.
fn unpaid(components: &[f64], inverse: &[f64], k: usize, penalty: f64) -> Option<usize> {
    let d = components.len() / k.max(1);
    let rise = |i: usize| {
        let component = &components[i * d..(i + 1) * d];
        dot(component, component) / inverse[i * k + i]
    };
    let least = (0..k).map(|i| (rise(i), i)).reduce(|a, b| if b.0 < a.0 { b } else { a })?;
    (least.0 < penalty).then_some(least.1)
}

/// A A', K x K.
pub(super) fn gram(components: &[f64], k: usize, d: usize) -> Vec<f64> {
    let mut gram = vec![0.0; k * k];
    multiply(&mut gram, k, k, components, components, d);
    gram
}

/// The largest of the squares (the first of equals) and its row.
fn farthest(squares: &[f64]) -> Option<(f64, usize)> {
    squares.iter().enumerate().map(|(n, s)| (*s, n)).reduce(|a, b| if b.0 > a.0 { b } else { a })
}
