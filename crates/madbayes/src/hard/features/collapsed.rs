//! Collapsed BP-means: one row out, its features chosen with the components following, put back (Broderick 2013, Alg. 3).

use super::FeatureGoal;
use super::passes::{Run, State};
use crate::data::Real;
use crate::likelihood::CollapsedRows;
use crate::watch::Step;
use std::ops::ControlFlow;

/// The most features for which all 2^K rows are scored.
const EXACT: usize = 10;

impl<T: Real> Run<'_, T> {
    /// Sweeps over all rows until none changes or `limit` sweeps are done; `converged` says which. The objective after
    /// every sweep is added to the trace.
    pub fn sweep_collapsed(&self, state: &mut State, limit: usize) -> ControlFlow<()> {
        let Ok(mut rows) = CollapsedRows::in_the_limit(self.data, state.allocation.clone()) else {
            return ControlFlow::Continue(());
        };
        state.converged = false;
        for _ in 0..limit {
            let mut changed = 0;
            for row in 0..self.data.n_rows() {
                changed += usize::from(self.reseat(&mut rows, row));
                if row % 64 == 63 {
                    self.watch.step(&Step::Chunk)?;
                }
            }
            state.allocation = rows.allocation().clone();
            state.loss = rows.loss();
            state.trace.push(self.goal.objective(rows.loss().max(0.0), rows.n_features()));
            if changed == 0 {
                state.converged = true;
                break;
            }
        }
        let trace = std::mem::take(&mut state.trace);
        *state = self.fit_allocation(state.allocation.clone())?;
        state.trace = trace;
        ControlFlow::Continue(())
    }

    /// Takes a row out, finds the features that add least to the objective, and puts it back; whether they changed.
    fn reseat(&self, rows: &mut CollapsedRows<T>, row: usize) -> bool {
        let gone = rows.take_out(row);
        let before = rows.bits().to_vec();
        let first = rows.charge();
        if rows.n_features() <= EXACT { enumerate(rows) } else { flip_while_it_helps(rows) }
        let room = rows.n_features() < self.goal.cap(self.data.n_rows());
        // A feature of its own costs its price, and where K is given it takes the place of the one that went.
        let own = match self.goal {
            FeatureGoal::Exactly(_) => room,
            FeatureGoal::Penalty { penalty, .. } => room && penalty < rows.charge(),
        };
        let changed = if gone > 0 { !own } else { own || before != rows.bits() && rows.charge() < first };
        rows.put_back(usize::from(own));
        changed
    }
}

/// Leaves the row that is out with the best of all 2^K rows; the present one of equals.
fn enumerate<T: Real>(rows: &mut CollapsedRows<T>) {
    let k = rows.n_features();
    let first = rows.charge();
    let (mut best, mut at, mut now) = (first - 1e-12 * first, 0u64, 0u64);
    for step in 1u64..1 << k {
        let bit = step.trailing_zeros() as usize;
        rows.flip(bit);
        now ^= 1 << bit;
        let charge = rows.charge();
        if charge < best {
            (best, at) = (charge, now);
        }
    }
    (0..k).filter(|bit| (now ^ at) >> bit & 1 == 1).for_each(|bit| rows.flip(bit));
}

/// Flips the bit that helps most until none helps.
fn flip_while_it_helps<T: Real>(rows: &mut CollapsedRows<T>) {
    loop {
        let least = (0..rows.n_features()).map(|k| (rows.charge_flipped(k), k)).reduce(|a, b| if b.0 < a.0 { b } else { a });
        match least {
            Some((charge, k)) if charge < rows.charge() * (1.0 - 1e-12) => rows.flip(k),
            _ => return,
        }
    }
}
