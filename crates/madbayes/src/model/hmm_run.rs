//! Chains of hidden states as they stand, to be saved and gone on with: 500 sweeps and then 500 more are 1,000, bit for bit.

#[cfg(test)]
mod tests;

use super::mixture::check_standardisation;
use super::resumed::{KnownRows, draws_dropped, other_parameters, schedule_to};
use super::{HmmFit, InfiniteHmm, MixtureLaw, MixtureRows, MixtureStart, saved};
use crate::data::Real;
use crate::error::{Error, Result};
use crate::gibbs::{HmmChain, Schedule};
use crate::prepare::Standardise;
use crate::structure::Sequences;
use crate::watch::Watch;
use serde::{Deserialize, Serialize};

const KIND: &str = "states run";

/// All that is needed to go on with a fit, but the rows.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::Schedule;
/// use madbayes::model::{HmmRun, InfiniteHmm, MixtureRows};
/// use madbayes::structure::Sequences;
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 0.1, 0.0, 0.2, 9.1];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let (rows, sequences) = (MixtureRows::Dense(&data), Sequences::one(10));
/// let short = InfiniteHmm { schedule: Schedule { sweeps: 60, burn_in: 50, thin: 5 }, ..InfiniteHmm::default() };
/// let fit = short.fit(&data, &sequences, vec!["length".into()], &Unwatched)?;
/// let bytes = HmmRun::new(&short, rows, &sequences, &fit).to_bytes();
///
/// let run = HmmRun::from_bytes(&bytes)?;
/// let longer = InfiniteHmm { schedule: Schedule { sweeps: 100, ..run.hmm.schedule }, ..run.hmm.clone() };
/// let resumed = run.resume(&longer, rows, &sequences, &Unwatched)?;
/// assert!(resumed == longer.fit(&data, &sequences, vec!["length".into()], &Unwatched)?);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HmmRun {
    /// Names of the columns, in order.
    pub columns: Vec<String>,
    /// What was done to the rows before; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standardise: Option<Standardise>,
    /// The parameters of the fit.
    pub hmm: InfiniteHmm,
    /// The rows of a state, all that was left open filled in.
    pub law: MixtureLaw,
    /// Rows in each sequence.
    pub lengths: Vec<usize>,
    /// Where the chains began; none: an earlier version wrote this, and did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<MixtureStart>,
    /// The rows, known again by their number and a hash.
    #[serde(flatten)]
    rows: KnownRows,
    /// Every chain, those that have not begun too.
    pub chains: Vec<HmmChain>,
}

impl HmmRun {
    /// What a fit of these rows leaves to go on with.
    pub fn new<T: Real>(hmm: &InfiniteHmm, rows: MixtureRows<T>, sequences: &Sequences, fit: &HmmFit) -> Self {
        let mut chains = fit.chains.clone();
        fit.waiting.iter().for_each(|(number, chain)| chains.insert(*number, chain.clone()));
        HmmRun {
            columns: fit.model.columns.clone(),
            standardise: fit.model.standardise.clone(),
            hmm: hmm.clone(),
            law: fit.model.likelihood.clone(),
            lengths: sequences.lengths(),
            start: fit.start,
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
        schedule_to(self.hmm.schedule, sweeps, self.sweeps_done())
    }

    /// Goes on up to the sweeps of `hmm`, which count from the beginning. It may differ from the parameters of the run in its
    /// sweeps, burn-in, loss and threads; errors where it differs in others, or the rows are not those of the run.
    pub fn resume<T: Real>(
        self,
        hmm: &InfiniteHmm,
        rows: MixtureRows<T>,
        sequences: &Sequences,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        self.rows.check(rows)?;
        if self.lengths != sequences.lengths() {
            let found = "the sequences are not those that the chains began with";
            return Err(Error::data(found, "go on with the same lengths, or begin anew"));
        }
        let InfiniteHmm { schedule, loss, threads, .. } = *hmm;
        let same = InfiniteHmm { schedule, loss, threads, ..self.hmm.clone() };
        if same != *hmm {
            return Err(other_parameters());
        }
        let dropped = draws_dropped(self.hmm.schedule, schedule, self.sweeps_done())?;
        let drop = |mut chain: HmmChain| {
            chain.draws.drain(..dropped.min(chain.draws.len()));
            chain
        };
        let earlier = (self.law, self.chains.into_iter().map(drop).collect());
        let mut fit = hmm.resume(rows, sequences, self.columns, earlier, watch)?;
        fit.model.standardise = self.standardise;
        Ok(HmmFit { start: self.start, ..fit })
    }

    /// The run as JSON, on one line.
    pub fn to_bytes(&self) -> Vec<u8> {
        saved::to_compact_bytes(KIND, self)
    }

    /// Reads what `to_bytes` of this or an older version wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        saved::from_bytes(KIND, bytes, HmmRun::check)
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
        Sequences::new(&self.lengths, self.rows.n_rows).map_err(|error| error.to_string())?;
        self.law.check(d).map_err(|error| error.to_string())?;
        self.hmm.schedule.check().map_err(|error| error.to_string())?;
        if self.chains.len() != self.hmm.chains {
            return Err(format!("it has {} chains of {}", self.chains.len(), self.hmm.chains));
        }
        for chain in &self.chains {
            let positive = |x: f64| x.is_finite() && x > 0.0;
            if !(chain.values.iter().flat_map(|values| [values.concentration, values.gamma]).all(positive)
                && chain.ln_joint.iter().all(|x| x.is_finite()))
            {
                return Err("a trace has numbers that no chain has".into());
            }
            let sweeps = chain.state.sweeps;
            if [chain.n_states.len(), chain.ln_joint.len(), chain.values.len()] != [sweeps; 3] {
                return Err("the traces of a chain are not as long as its sweeps".into());
            }
            if chain.draws.len() != self.hmm.schedule.draws_of(sweeps) {
                return Err("the draws of a chain are not those of its schedule".into());
            }
            if chain.state.states.len() != self.rows.n_rows {
                return Err(format!("a chain is not of its {} rows", self.rows.n_rows));
            }
            for draw in chain.draws.iter().chain(chain.best.iter().map(|(draw, _)| draw)) {
                if draw.states.n_rows() != self.rows.n_rows || draw.states.n_groups() != draw.weights.states.len() {
                    return Err(format!("a draw is not of its {} rows and their states", self.rows.n_rows));
                }
            }
        }
        Ok(())
    }
}
