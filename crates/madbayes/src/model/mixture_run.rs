//! Chains of a mixture as they stand, to be saved and gone on with: 500 sweeps and then 500 more are 1,000, bit for bit.

#[cfg(test)]
mod tests;

use super::mixture::check_standardisation;
use super::resumed::{KnownRows, draws_dropped, other_parameters, schedule_to};
use super::{DpMixture, MixtureFit, MixtureLaw, MixtureRows, saved};
use crate::data::Real;
use crate::error::Result;
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
    /// The rows, known again by their number and a hash.
    #[serde(flatten)]
    rows: KnownRows,
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
            rows: KnownRows::new(rows),
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
        schedule_to(self.mixture.schedule, sweeps, self.sweeps_done())
    }

    /// Goes on up to the sweeps of `mixture`, which count from the beginning. It may differ from the parameters of the run in
    /// its sweeps, burn-in, loss and threads; errors where it differs in others, or the rows are not those of the run.
    pub fn resume<T: Real>(self, mixture: &DpMixture, rows: MixtureRows<T>, watch: &dyn Watch) -> Result<MixtureFit> {
        self.rows.check(rows)?;
        let DpMixture { schedule, loss, threads, .. } = *mixture;
        let same = DpMixture { schedule, loss, threads, ..self.mixture.clone() };
        if same != *mixture {
            return Err(other_parameters());
        }
        let dropped = draws_dropped(self.mixture.schedule, schedule, self.sweeps_done())?;
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
        if self.chains.is_empty() || self.rows.n_rows == 0 || d == 0 {
            return Err("it has no chains, rows or columns".into());
        }
        if let Some(standardise) = &self.standardise {
            check_standardisation(standardise, d)?;
        }
        self.law.check(d).map_err(|error| error.to_string())?;
        self.mixture.schedule.check().map_err(|error| error.to_string())?;
        if self.chains.len() != self.mixture.chains {
            return Err(format!("it has {} chains of {}", self.chains.len(), self.mixture.chains));
        }
        for chain in &self.chains {
            let positive = |x: f64| x.is_finite() && x > 0.0;
            if !(chain.concentration.iter().copied().all(positive) && chain.ln_joint.iter().all(|x| x.is_finite())) {
                return Err("a trace has numbers that no chain has".into());
            }
            let sweeps = chain.state.sweeps;
            if [chain.n_groups.len(), chain.ln_joint.len(), chain.concentration.len()] != [sweeps; 3] {
                return Err("the traces of a chain are not as long as its sweeps".into());
            }
            if chain.draws.len() != self.mixture.schedule.draws_of(sweeps) {
                return Err("the draws of a chain are not those of its schedule".into());
            }
            let partitions = chain.draws.iter().map(|draw| draw.n_rows()).chain([chain.state.labels.len()]);
            let best = chain.best.iter().map(|(partition, _)| partition.n_rows());
            if partitions.chain(best).any(|n| n != self.rows.n_rows) {
                return Err(format!("a draw is not of its {} rows", self.rows.n_rows));
            }
        }
        Ok(())
    }
}
