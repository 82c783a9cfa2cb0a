//! What it takes to go on with saved chains: the rows they are of, and the draws that a longer schedule keeps.

use super::MixtureRows;
use crate::data::Real;
use crate::error::{Error, Result};
use crate::gibbs::Schedule;
use serde::{Deserialize, Serialize};

/// Rows, known again by their number and a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KnownRows {
    pub n_rows: usize,
    pub fingerprint: String,
}

impl KnownRows {
    pub fn new<T: Real>(rows: MixtureRows<T>) -> Self {
        KnownRows { n_rows: rows.n_rows(), fingerprint: fingerprint(rows) }
    }

    /// Errors unless these are the rows.
    pub fn check<T: Real>(&self, rows: MixtureRows<T>) -> Result<()> {
        let found = match rows.n_rows() {
            n if n != self.n_rows => format!("there are {n} rows, and the chains are of {}", self.n_rows),
            _ if fingerprint(rows) != self.fingerprint => "the rows are not those that the chains began with".into(),
            _ => return Ok(()),
        };
        Err(Error::data(found, "go on with the same rows and columns, prepared in the same way, or begin anew"))
    }
}

/// Errors: only sweeps, burn-in, loss and threads may change.
pub(super) fn other_parameters() -> Error {
    Error::data(
        "the parameters are not those that the chains began with",
        "only sweeps, burn-in, loss and threads may change; begin anew for others",
    )
}

/// The schedule for more sweeps than `before`, `done` of them over: the same burn-in, or half of the sweeps where it was half of
/// them, up to what thinning allows.
pub(super) fn schedule_to(before: Schedule, sweeps: usize, done: usize) -> Schedule {
    let half = (sweeps / 2).max(before.burn_in);
    let burn_in = match before.burn_in {
        given if given != before.sweeps / 2 => given,
        // No draw of the earlier sweeps is left: nothing to fit to.
        _ if half >= done => half,
        first => first + (half - first).next_multiple_of(before.thin.max(1)),
    };
    Schedule { sweeps, burn_in, ..before }
}

/// How many draws of each chain the schedule `after` does not keep, `done` sweeps of `before` being over.
pub(super) fn draws_dropped(before: Schedule, after: Schedule, done: usize) -> Result<usize> {
    if after.thin != before.thin {
        let help = "the draws were kept with it; begin anew for another";
        return Err(Error::argument("thin", format!("the {} of the chains", before.thin), after.thin, help));
    }
    if after.burn_in >= done {
        return Ok(usize::MAX);
    }
    let later = after.burn_in.checked_sub(before.burn_in);
    match later.filter(|later| later.is_multiple_of(before.thin)) {
        Some(later) => Ok(later / before.thin),
        None => Err(Error::argument(
            "burn_in",
            format!(
                "{}, that and a multiple of {} (thin), or at least the {done} sweeps already done",
                before.burn_in, before.thin
            ),
            after.burn_in,
            "other draws of the earlier sweeps were not kept",
        )),
    }
}

/// FNV-1a of the numbers' bits: 1e-19 to miss a change by chance, and no promise against malice.
fn fingerprint<T: Real>(rows: MixtureRows<T>) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    let mut take = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    match rows {
        MixtureRows::Dense(data) => {
            take(data.n_columns() as u64);
            data.rows().values().iter().for_each(|&x| take(x.into().to_bits()));
        }
        MixtureRows::Counts(counts) => {
            take(counts.n_columns() as u64);
            for row in 0..counts.n_rows() {
                let (columns, values) = counts.row(row);
                take(columns.len() as u64);
                columns.iter().zip(values).for_each(|(&column, value)| {
                    take(u64::from(column));
                    take(value.to_bits());
                });
            }
        }
    }
    format!("{hash:016x}")
}
