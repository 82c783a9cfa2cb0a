//! How many restarts: a fixed budget of work, by rows, columns and clusters, never by the clock.

use super::Goal;
use crate::error::{Error, Result};

/// Multiply-adds that all restarts together may take.
const BUDGET: f64 = 1e7;
/// Passes of a typical run.
const TYPICAL_PASSES: f64 = 20.0;
const MOST: f64 = 32.0;
const MOST_ASKED_FOR: usize = 1_000_000;

/// Multiply-adds that trials of moves may take in a run with K free, unless the number of runs was asked for.
const TRIALS: f64 = 2e6;

/// How many runs of an algorithm; the best is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Restarts {
    /// Many for tiny data, one for large: a fixed budget of work. With a penalty, moves that do not pay at once are tried within
    /// such a budget too: in data of more than a few hundred rows hardly any.
    #[default]
    Auto,
    /// This many, each with as many trials as it takes: slower, and often lower by a few parts in a thousand.
    Exactly(usize),
}

impl Restarts {
    /// Multiply-adds that the trials of one run may take.
    pub(super) fn work_of_trials(&self, goal: &Goal) -> f64 {
        match (self, goal) {
            (Restarts::Auto, Goal::Penalty { .. }) => TRIALS,
            _ => f64::INFINITY,
        }
    }

    pub(in crate::hard) fn check(&self) -> Result<()> {
        match self {
            Restarts::Exactly(runs) if !(1..=MOST_ASKED_FOR).contains(runs) => Err(Error::argument(
                "restarts",
                format!("at least 1 and at most {MOST_ASKED_FOR}"),
                runs,
                "one run gives one answer",
            )),
            _ => Ok(()),
        }
    }
}

/// The number of runs that fit the budget, between 1 and 32.
pub(super) fn restarts_within_budget(n_rows: usize, n_columns: usize, n_clusters: usize) -> usize {
    let work = n_rows as f64 * n_columns as f64 * (n_clusters + 4) as f64 * TYPICAL_PASSES;
    (BUDGET / work).clamp(1.0, MOST) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_data_get_many_runs_and_large_data_one() {
        assert_eq!(restarts_within_budget(50, 2, 3), 32);
        assert_eq!(restarts_within_budget(1_000_000, 16, 100), 1);
    }
}
