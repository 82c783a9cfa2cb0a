//! Chains of a mixture as they stand, to be saved and gone on with: 500 sweeps and then 500 more are 1,000, bit for bit.

#[cfg(test)]
mod tests;

use super::mixture::check_standardisation;
use super::{DpMixture, MixtureFit, MixtureLaw, MixtureRows, saved};
use crate::data::Real;
use crate::error::{Error, Result};
use crate::gibbs::{Chain, Schedule};
use crate::prepare::Standardise;
use crate::watch::Watch;
use serde::{Deserialize, Serialize};

const KIND: &str = "mixture run";

/// All that is needed to go on with a fit, but the rows.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::Schedule;
/// use madbayes::model::{DpMixture, MixtureRows, MixtureRun};
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let rows = MixtureRows::Dense(&data);
/// let short = DpMixture { schedule: Schedule { sweeps: 60, burn_in: 50, thin: 5 }, ..DpMixture::default() };
/// let fit = short.fit(&data, vec!["length".into()], &Unwatched)?;
/// let bytes = MixtureRun::new(&short, rows, &fit).to_bytes();
///
/// let run = MixtureRun::from_bytes(&bytes)?;
/// let longer = DpMixture { schedule: Schedule { sweeps: 100, ..run.mixture.schedule }, ..run.mixture.clone() };
/// let resumed = run.resume(&longer, rows, &Unwatched)?;
/// assert!(resumed == longer.fit(&data, vec!["length".into()], &Unwatched)?);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixtureRun {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// What was done to the rows before; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standardise: Option<Standardise>,
    /// The parameters of the fit.
    pub mixture: DpMixture,
    /// The rows of a group, all that was left open filled in.
    pub law: MixtureLaw,
    /// How many clusters of DP-means its spread was guessed from, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guessed_from: Option<usize>,
    /// Number of rows.
    pub n_rows: usize,
    /// A hash of the rows, by which they are known again.
    pub fingerprint: String,
    /// Every chain, those that have not begun too.
    pub chains: Vec<Chain>,
}

impl MixtureRun {
    /// What a fit of these rows leaves to go on with.
    pub fn new<T: Real>(mixture: &DpMixture, rows: MixtureRows<T>, fit: &MixtureFit) -> Self {
        let mut chains = fit.chains.clone();
        fit.waiting.iter().for_each(|(number, chain)| chains.insert(*number, chain.clone()));
        MixtureRun {
            columns: fit.model.columns.clone(),
            standardise: fit.model.standardise.clone(),
            mixture: mixture.clone(),
            law: fit.model.likelihood.clone(),
            guessed_from: fit.guessed_from,
            n_rows: rows.n_rows(),
            fingerprint: fingerprint(rows),
            chains,
        }
    }

    /// Sweeps that the chain that is farthest has done.
    pub fn sweeps_done(&self) -> usize {
        self.chains.iter().map(|chain| chain.state.sweeps).max().unwrap_or(0)
    }

    /// The schedule for more sweeps: the same burn-in, or half of the sweeps where it was half of them, up to what thinning
    /// allows.
    pub fn schedule_to(&self, sweeps: usize) -> Schedule {
        let before = self.mixture.schedule;
        let half = (sweeps / 2).max(before.burn_in);
        let burn_in = match before.burn_in {
            given if given != before.sweeps / 2 => given,
            // No draw of the earlier sweeps is left: nothing to fit to.
            _ if half >= self.sweeps_done() => half,
            first => first + (half - first).next_multiple_of(before.thin.max(1)),
        };
        Schedule { sweeps, burn_in, ..before }
    }

    /// Goes on up to the sweeps of `mixture`, which count from the beginning. It may differ from the parameters of the run in
    /// its sweeps, burn-in, loss and threads; errors where it differs in others, or the rows are not those of the run.
    pub fn resume<T: Real>(self, mixture: &DpMixture, rows: MixtureRows<T>, watch: &dyn Watch) -> Result<MixtureFit> {
        self.check_rows(rows)?;
        let DpMixture { schedule, loss, threads, .. } = *mixture;
        let same = DpMixture { schedule, loss, threads, ..self.mixture.clone() };
        if same != *mixture {
            return Err(Error::data(
                "the parameters are not those that the chains began with",
                "only sweeps, burn-in, loss and threads may change; begin anew for others",
            ));
        }
        // Before a burn-in that is too long for them is blamed.
        if schedule.sweeps < self.sweeps_done() {
            let allowed = format!("more than the {} already done", self.sweeps_done());
            return Err(Error::argument(
                "sweeps",
                allowed,
                schedule.sweeps,
                "they count from the beginning of the chain",
            ));
        }
        let dropped = self.draws_dropped(schedule)?;
        let drop = |mut chain: Chain| {
            chain.draws.drain(..dropped.min(chain.draws.len()));
            chain
        };
        let earlier = (self.law, self.chains.into_iter().map(drop).collect());
        let mut fit = match rows {
            MixtureRows::Dense(data) => mixture.resume(data, self.columns, earlier, watch),
            MixtureRows::Counts(counts) => mixture.resume_counts(counts, self.columns, earlier, watch),
        }?;
        fit.model.standardise = self.standardise;
        fit.guessed_from = self.guessed_from;
        Ok(fit)
    }

    /// Errors unless these are the rows of the run.
    fn check_rows<T: Real>(&self, rows: MixtureRows<T>) -> Result<()> {
        let found = match rows.n_rows() {
            n if n != self.n_rows => format!("there are {n} rows, and the chains are of {}", self.n_rows),
            _ if fingerprint(rows) != self.fingerprint => "the rows are not those that the chains began with".into(),
            _ => return Ok(()),
        };
        Err(Error::data(found, "go on with the same rows and columns, prepared in the same way, or begin anew"))
    }

    /// How many draws of each chain the new schedule does not keep.
    fn draws_dropped(&self, schedule: Schedule) -> Result<usize> {
        let before = self.mixture.schedule;
        if schedule.thin != before.thin {
            let help = "the draws were kept with it; begin anew for another";
            return Err(Error::argument("thin", format!("the {} of the chains", before.thin), schedule.thin, help));
        }
        if schedule.burn_in >= self.sweeps_done() {
            return Ok(usize::MAX);
        }
        let later = schedule.burn_in.checked_sub(before.burn_in);
        match later.filter(|later| later.is_multiple_of(before.thin)) {
            Some(later) => Ok(later / before.thin),
            None => Err(Error::argument(
                "burn_in",
                format!(
                    "{}, that and a multiple of {} (thin), or at least the {} sweeps already done",
                    before.burn_in,
                    before.thin,
                    self.sweeps_done()
                ),
                schedule.burn_in,
                "other draws of the earlier sweeps were not kept",
            )),
        }
    }

    /// The run as JSON, on one line.
    pub fn to_bytes(&self) -> Vec<u8> {
        saved::to_compact_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        saved::from_bytes(KIND, bytes, MixtureRun::check)
    }

    /// Says what does not fit together. What a chain goes on from is checked when it does.
    fn check(&self) -> std::result::Result<(), String> {
        let d = self.columns.len();
        if self.chains.is_empty() || self.n_rows == 0 || d == 0 {
            return Err("it has no chains, rows or columns".into());
        }
        if let Some(standardise) = &self.standardise {
            check_standardisation(standardise, d)?;
        }
        self.law.check(d).map_err(|error| error.to_string())?;
        self.mixture.schedule.check().map_err(|error| error.to_string())?;
        for chain in &self.chains {
            let sweeps = chain.state.sweeps;
            if [chain.n_groups.len(), chain.ln_joint.len(), chain.concentration.len()] != [sweeps; 3] {
                return Err("the traces of a chain are not as long as its sweeps".into());
            }
            if chain.draws.len() != self.mixture.schedule.draws_of(sweeps) {
                return Err("the draws of a chain are not those of its schedule".into());
            }
            let partitions = chain.draws.iter().map(|draw| draw.n_rows()).chain([chain.state.labels.len()]);
            let best = chain.best.iter().map(|(partition, _)| partition.n_rows());
            if partitions.chain(best).any(|n| n != self.n_rows) {
                return Err(format!("a draw is not of its {} rows", self.n_rows));
            }
        }
        Ok(())
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
