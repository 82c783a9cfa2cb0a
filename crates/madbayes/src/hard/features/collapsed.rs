//! Collapsed BP-means: one row out, its features chosen with the components following, put back (Broderick 2013, Alg. 3).

use super::FeatureGoal;
use crate::data::{Data, Real};
use crate::likelihood::CollapsedRows;
use crate::structure::Allocation;
use crate::watch::{Step, Watch};
use std::ops::ControlFlow;

/// The most features for which all 2^K rows are scored; above, flips of one bit while one helps.
const EXACT: usize = 10;

/// Where the sweeps ended.
#[derive(Debug, Clone)]
pub(super) struct Swept {
    pub allocation: Allocation,
    /// The objective after every sweep.
    pub trace: Vec<f64>,
    pub converged: bool,
    pub stopped: bool,
}

/// Sweeps over all rows until none changes, `limit` sweeps are done, or the watch says stop.
pub(super) fn sweep_collapsed<T: Real>(
    data: &Data<T>,
    allocation: Allocation,
    goal: FeatureGoal,
    limit: usize,
    watch: &dyn Watch,
) -> Swept {
    let mut swept = Swept { allocation, trace: Vec::new(), converged: false, stopped: false };
    let Ok(mut rows) = CollapsedRows::in_the_limit(data, swept.allocation.clone()) else { return swept };
    while swept.trace.len() < limit && !swept.converged && !swept.stopped {
        let mut changed = 0;
        for row in 0..data.n_rows() {
            // With many features one row takes long.
            if watch.step(&Step::Chunk) == ControlFlow::Break(()) {
                swept.stopped = true;
                break;
            }
            changed += usize::from(reseat(&mut rows, row, goal, data.n_rows()));
        }
        swept.trace.push(goal.objective(rows.loss().max(0.0), rows.n_features()));
        swept.converged = changed == 0 && !swept.stopped;
    }
    swept.allocation = rows.allocation().clone();
    swept
}

/// Takes a row out, finds the features that add least to the objective, and puts it back; whether they changed.
fn reseat<T: Real>(rows: &mut CollapsedRows<T>, row: usize, goal: FeatureGoal, n_rows: usize) -> bool {
    let gone = rows.take_out(row);
    let before = rows.bits().to_vec();
    if rows.n_features() <= EXACT {
        enumerate(rows)
    } else {
        flip_while_it_helps(rows)
    }
    let room = rows.n_features() < goal.cap(n_rows);
    // A feature of its own costs its price; where K is given it takes the place of the one that went.
    let own = match goal {
        FeatureGoal::Exactly(_) => room,
        FeatureGoal::Penalty { penalty, .. } => room && penalty < rows.charge(),
    };
    let changed = if gone > 0 { !own } else { own || before != rows.bits() };
    rows.put_back(usize::from(own));
    changed
}

/// Leaves the row that is out with the best of all 2^K rows; the present one of equals.
fn enumerate<T: Real>(rows: &mut CollapsedRows<T>) {
    let k = rows.n_features();
    let mut best = rows.charge() * (1.0 - 1e-9);
    let (mut at, mut now) = (0u64, 0u64);
    for step in 1u64..1 << k {
        let bit = step.trailing_zeros() as usize;
        rows.flip(bit);
        now ^= 1 << bit;
        if rows.charge() < best {
            (best, at) = (rows.charge(), now);
        }
    }
    (0..k).filter(|bit| (now ^ at) >> bit & 1 == 1).for_each(|bit| rows.flip(bit));
}

/// Flips the bit that helps most until none helps.
fn flip_while_it_helps<T: Real>(rows: &mut CollapsedRows<T>) {
    loop {
        let charges = (0..rows.n_features()).map(|k| (rows.charge_flipped(k), k));
        match charges.reduce(|a, b| if b.0 < a.0 { b } else { a }) {
            Some((charge, k)) if charge < rows.charge() * (1.0 - 1e-9) => rows.flip(k),
            _ => return,
        }
    }
}
