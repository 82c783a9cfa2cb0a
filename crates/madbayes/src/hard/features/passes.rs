//! Passes over all rows with the components frozen: c = A x and the problem of every row in K dimensions, then
//! A = (Z'Z)^-1 Z'X (Broderick 2013, Alg. 1 and 4). No pass raises the objective. Z'Z and Z'X follow the rows that change.

use super::FeatureGoal;
use super::drift::Margin;
use super::least_squares::independent;
use super::row_problem::RowSolver;
use super::summary::{Asked, BLOCK, FrozenComponents, Kept, Summary};
use crate::data::{Data, Real, Rows};
use crate::linalg::dot;
use crate::parallel::{MOST_WAITING, Workers};
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// Numbers of the summaries that wait for those before them: bounds the memory of a pass, and has no influence on its result.
const HELD: usize = 1 << 17;

/// The share of its terms that must be left of a loss for their difference to say what it is.
const LEFT: f64 = 1e-4;

/// What all steps of one run share.
pub(super) struct Run<'a, T> {
    pub data: &'a Data<'a, T>,
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
    /// Z'Z and Z'X.
    pub summary: Summary,
    /// What a pass leaves for the next while only components change.
    pub known: Option<Known>,
    /// |X - Z A|_F^2; infinite before the first pass.
    pub loss: f64,
    /// The objective after every pass.
    pub trace: Vec<f64>,
    pub converged: bool,
    pub stopped: bool,
}

/// By how much the features of every row were the best when components were as they are here.
#[derive(Debug, Clone)]
pub(super) struct Known {
    frozen: FrozenComponents,
    margins: Vec<Margin>,
    /// How long the residuals of each chunk may be.
    residuals: Vec<f32>,
}

impl State {
    /// Components to start from; no row has any of them yet.
    pub fn from_components(components: Vec<f64>, n_rows: usize, n_columns: usize) -> Self {
        let k = components.len() / n_columns;
        State {
            allocation: Allocation::new(n_rows, k),
            components,
            summary: Summary::new(k, n_columns),
            known: None,
            loss: f64::INFINITY,
            trace: Vec::new(),
            converged: false,
            stopped: false,
        }
    }

    /// Number of features, K.
    pub fn k(&self) -> usize {
        self.allocation.n_features()
    }
}

impl<T: Real> Run<'_, T> {
    /// The least-squares components of an allocation. Columns in the span of others go, or are grown anew where K is given.
    pub fn fit_allocation(&self, allocation: Allocation) -> ControlFlow<(), State> {
        let (k, d) = (allocation.n_features(), self.data.n_columns());
        let mut state = State::from_components(vec![0.0; k * d], 0, d);
        state.allocation = allocation;
        self.add_up(&mut state)?;
        self.take(&mut state);
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
        let (before, k) = (self.goal.objective(state.loss, state.k()), state.k());
        self.assign(state)?;
        let known = state.known.take();
        let mut changed = state.summary.changed;
        // Rows seen at once cannot see each other's new features: only the one of largest residual gets one.
        if let Some((_, row)) = state.summary.far {
            state.summary.open(&state.allocation, row, self.data.rows().row(row));
            state.allocation.push();
            state.allocation.set(row, state.k() - 1, true);
            changed += 1;
        }
        let dropped = self.take(state);
        if state.summary.far.is_none() && dropped == 0 && state.k() == k {
            state.known = known;
        }
        changed += dropped;
        self.grow_missing(state)?;
        let objective = self.goal.objective(state.loss, state.k());
        debug_assert!(
            before.is_infinite() || objective <= before + rounding::<T>(before, state.summary.square),
            "a pass raised the objective from {before} to {objective}"
        );
        state.trace.push(objective);
        self.watch.step(&Step::Pass { run: self.number, pass: state.trace.len(), groups: state.k(), objective })?;
        ControlFlow::Continue(changed)
    }

    /// What a squared residual must exceed to be worth a feature.
    fn price(&self, k: usize) -> f64 {
        let penalty = self.goal.penalty();
        if penalty > 0.0 && self.goal.cap(self.data.n_rows()) > k { penalty } else { f64::INFINITY }
    }

    /// Every row's problem once; the components stay as they are.
    pub fn assign(&self, state: &mut State) -> ControlFlow<()> {
        let (k, n) = (state.k(), self.data.n_rows());
        let frozen = FrozenComponents::new(&state.components, k, self.data.n_columns(), self.solver);
        let mut known = state.known.take();
        let drift = known.as_ref().and_then(|known| frozen.drift_from(&known.frozen));
        let (mut margins, mut residuals) = match known.take().filter(|_| drift.is_some()) {
            Some(known) => (known.margins, known.residuals),
            None => {
                (vec![Margin::default(); if frozen.tells_margins() { n } else { 0 }], vec![0.0; self.data.n_chunks()])
            }
        };
        let (drift, squares) = (drift.as_ref(), state.summary.square == 0.0);
        let asked = Asked { frozen: &frozen, drift, price: self.price(k), squares };
        let see = |summary: &mut Summary, rows: Rows<T>, first, kept: Kept| summary.solve(rows, first, kept, &asked);
        let scanned = self.scan(&mut state.allocation, &mut margins, &mut residuals, see)?;
        state.summary.follow(scanned);
        state.known = frozen.tells_margins().then_some(Known { frozen, margins, residuals });
        ControlFlow::Continue(())
    }

    /// Z'Z and Z'X from nothing.
    fn add_up(&self, state: &mut State) -> ControlFlow<()> {
        let see = |summary: &mut Summary, rows: Rows<T>, _, kept: Kept| summary.add(rows, kept.words);
        state.summary = self.scan(&mut state.allocation, &mut [], &mut vec![0.0; self.data.n_chunks()], see)?;
        state.known = None;
        ControlFlow::Continue(())
    }

    /// `see(summary, rows, first row, what is kept of them)` for every chunk; the summaries merged in their order.
    fn scan(
        &self,
        allocation: &mut Allocation,
        mut margins: &mut [Margin],
        residuals: &mut [f32],
        see: impl Fn(&mut Summary, Rows<T>, usize, Kept) + Sync + Send,
    ) -> ControlFlow<(), Summary> {
        let (k, d) = (allocation.n_features(), self.data.n_columns());
        let stride = allocation.stride();
        let (mut words, has_margins) = (allocation.words_mut(), !margins.is_empty());
        let mut parts = Vec::with_capacity(residuals.len());
        for (i, residual) in residuals.iter_mut().enumerate() {
            let (start, end) = self.data.chunk(i);
            let (own, own_margins);
            (own, words) = words.split_at_mut((end - start) * stride);
            (own_margins, margins) = margins.split_at_mut(if has_margins { end - start } else { 0 });
            parts.push(Kept { words: own, margins: own_margins, residual });
        }
        let look = |i: usize, kept: &mut Kept| {
            if self.watch.step(&Step::Chunk).is_break() {
                return None;
            }
            let (start, end) = self.data.chunk(i);
            let mut summary = Summary::new(k, d);
            let Kept { words, margins, residual } = kept;
            see(&mut summary, self.data.rows().slice(start, end), start, Kept { words, margins, residual });
            Some(summary)
        };
        let mut total = Summary::new(k, d);
        let most_waiting = (HELD / (k * (k + d) + 1)).clamp(1, MOST_WAITING);
        if self.workers.merge_in_order(&mut parts, most_waiting, look, |summary| total.merge(&summary)) {
            ControlFlow::Continue(total)
        } else {
            ControlFlow::Break(())
        }
    }

    /// A = (Z'Z)^-1 Z'X over the columns that are independent and, where features have a price, worth it; the others go.
    /// How many went.
    fn take(&self, state: &mut State) -> usize {
        let (before, d) = (state.k(), self.data.n_columns());
        let summary = &mut state.summary;
        let mut kept: Vec<usize> = (0..before).collect();
        loop {
            let (free, factor) = independent(&summary.products, kept.len());
            if free.len() < kept.len() {
                *summary = summary.select(&free);
                kept = free.iter().map(|i| kept[*i]).collect();
                continue;
            }
            state.components.clone_from(&summary.sums);
            factor.solve(&mut state.components, d);
            match unpaid(&state.components, &factor.inverse(), kept.len(), self.goal.penalty()) {
                Some(least) => {
                    kept.remove(least);
                    let rest: Vec<usize> = (0..=kept.len()).filter(|i| *i != least).collect();
                    *summary = summary.select(&rest);
                }
                None => break,
            }
        }
        if kept.len() < before {
            state.allocation = state.allocation.select(&kept);
        }
        state.loss = (summary.square - dot(&state.components, &summary.sums)).max(0.0);
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
        if square > 1e-24 * state.summary.square {
            let on = self.residual_blocks(state, |_, block| {
                block.chunks_exact(d).map(|r| 2.0 * dot(r, &residual) > square).collect::<Vec<_>>()
            });
            state.allocation.push();
            on.concat().into_iter().enumerate().for_each(|(n, on)| state.allocation.set(n, k, on));
            state.components.extend_from_slice(&residual);
            self.add_up(state)?;
            if self.take(state) == 0 && state.loss <= before.loss {
                return ControlFlow::Continue(());
            }
        }
        // Of N >= K rows some one is not set alone by any combination of the columns.
        for n in (row..self.data.n_rows()).chain(0..row) {
            state.clone_from(&before);
            state.allocation.push();
            state.allocation.set(n, k, true);
            state.components.resize((k + 1) * d, 0.0);
            self.add_up(state)?;
            if self.take(state) == 0 {
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

    /// |X - Z A|_F^2 = |X|^2 - 2 <A, Z'X> + <A, Z'Z A>, or, where little is left of it, from the residuals themselves.
    pub fn measure(&self, state: &State) -> f64 {
        let (k, d) = (state.k(), self.data.n_columns());
        let Summary { products, sums, square, .. } = &state.summary;
        let mut images = vec![0.0; k * d];
        for (image, overlaps) in images.chunks_exact_mut(d).zip(products.chunks_exact(k.max(1))) {
            for (overlap, component) in overlaps.iter().zip(state.components.chunks_exact(d)) {
                image.iter_mut().zip(component).for_each(|(i, a)| *i += overlap * a);
            }
        }
        let loss = square - 2.0 * dot(&state.components, sums) + dot(&state.components, &images);
        let terms = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
        let largest = square + 2.0 * terms(&state.components, sums) + terms(&state.components, &images);
        if loss > LEFT * largest {
            return loss;
        }
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

/// What rounding may add to an objective: a share of it, and of what |X|^2 is rounded by.
fn rounding<T: Real>(objective: f64, square: f64) -> f64 {
    (if size_of::<T>() == 4 { 1e-6 } else { 1e-9 }) * objective.abs() + 1e-11 * square
}
