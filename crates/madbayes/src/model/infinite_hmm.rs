//! Hidden states from data alone: priors from the data's scale, chains started from DP-means or at random, and an answer.

#[cfg(test)]
mod tests;

use super::HmmModel;
use super::dp_mixture::{DpMixture, MixtureStart};
use super::mixture_law::{EitherMixtureRows, MixtureLaw, MixtureRows};
use super::mixture_likelihood::{MixtureLikelihood, multinomial};
use crate::counts::Counts;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::gibbs::{
    ChainStart, HmmChain, HmmDraw, HmmMethod, HmmSampler, Loss, STATE_SPLIT_MERGE, Schedule, certainty,
    effective_sample_size, point_estimate, split_r_hat,
};
use crate::parallel::Workers;
use crate::prior::{Concentration, Hdp, HdpValues, StateWeights};
use crate::separator::{Discriminative, Separation};
use crate::structure::{CompactPartition, Partition, Sequences};
use crate::watch::{Silently, Watch};
use serde::{Deserialize, Serialize};

/// A hidden Markov model whose number of states is not known. What is `None` comes from the data.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::model::InfiniteHmm;
/// use madbayes::structure::Sequences;
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2, 0.1, 0.0, 0.2, 9.1];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let fit = InfiniteHmm::default().fit(&data, &Sequences::one(10), vec!["length".into()], &Unwatched)?;
/// assert_eq!(fit.estimate.labels(), [0, 0, 0, 1, 1, 1, 0, 0, 0, 1]);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InfiniteHmm {
    /// The rows of a state.
    pub likelihood: MixtureLikelihood,
    /// alpha, or alpha + kappa where states are sticky; none: redrawn with its Gamma(1, 1) prior.
    pub concentration: Option<f64>,
    /// gamma; none: redrawn with its Gamma(1, 1) prior.
    pub gamma: Option<f64>,
    /// Whether staying has an extra share.
    pub sticky: bool,
    /// That share, kappa / (alpha + kappa), above 0 and below 1; none: redrawn with a uniform prior where states are sticky.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stickiness: Option<f64>,
    /// Hyperplanes that keep states apart, beside the likelihood (Nguyen et al. 2017); none: a plain hidden Markov model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discriminative: Option<Discriminative>,
    /// No more states than this: beta is then Dirichlet(gamma / L, ..).
    pub max_states: Option<usize>,
    /// How the states are redrawn.
    pub method: HmmMethod,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Split-merge proposals of states after each sweep; 0: states only change by their rows.
    pub split_merge: usize,
    /// Number of chains.
    pub chains: usize,
    /// Where they begin. From DP-means they may begin at random instead: see [`HmmFit::start`].
    pub start: MixtureStart,
    /// What the point estimate minimises.
    pub loss: Loss,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for InfiniteHmm {
    fn default() -> Self {
        InfiniteHmm {
            likelihood: MixtureLikelihood::default(),
            concentration: None,
            gamma: None,
            sticky: false,
            stickiness: None,
            discriminative: None,
            max_states: None,
            method: HmmMethod::default(),
            schedule: Schedule { sweeps: 1000, burn_in: 500, thin: 5 },
            split_merge: STATE_SPLIT_MERGE,
            chains: 2,
            start: MixtureStart::default(),
            loss: Loss::default(),
            seed: 0,
            threads: 0,
        }
    }
}

/// What the chains say.
#[derive(Debug, Clone, PartialEq)]
pub struct HmmFit {
    /// What each chain saw. Those that were stopped before they began are left out.
    pub chains: Vec<HmmChain>,
    /// Those that were left out, with their number among all.
    pub waiting: Vec<(usize, HmmChain)>,
    /// The states of least expected loss.
    pub estimate: Partition,
    /// How sure each row's state is.
    pub certainty: Vec<f64>,
    /// R-hat of the number of states, of the log joint, of the concentration and of gamma, after the burn-in.
    pub r_hat: [f64; 4],
    /// Effective sample sizes of the same.
    pub effective_size: [f64; 4],
    /// Transitions, the next step, and what they say of new sequences.
    pub model: HmmModel,
    /// Where the chains began: at random although DP-means was asked for, if that led a chain higher in a few sweeps. None: they
    /// were begun by an earlier version, which did not say.
    pub start: Option<MixtureStart>,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

/// Sweeps after which starts are compared.
const TRIED: usize = 20;

/// The last of them, whose log joints are compared: all of one start above all of the other.
const COMPARED: usize = 5;

impl InfiniteHmm {
    /// Runs the chains and sums them up.
    pub fn fit<T: Real>(
        &self,
        data: &Data<T>,
        sequences: &Sequences,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        fn either(
            this: &InfiniteHmm,
            data: EitherData,
            sequences: &Sequences,
            columns: Vec<String>,
            watch: &dyn Watch,
        ) -> Result<HmmFit> {
            either!(data, data => this.fit_on(data, sequences, columns, watch))
        }
        either(self, T::either_data(data), sequences, columns, watch)
    }

    fn fit_on<T: Real>(
        &self,
        data: &Data<T>,
        sequences: &Sequences,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        if data.weights().is_some() {
            let help = "a posterior has no weighted rows";
            return Err(Error::argument("weights", "absent for a sampler", "row weights", help));
        }
        if let MixtureLikelihood::Multinomial { pseudocount } = self.likelihood {
            multinomial(pseudocount).check(data.n_columns())?;
            return self.fit_counts(&Counts::from_rows(data.rows())?, sequences, columns, watch);
        }
        self.sampler(ChainStart::One)?.check(data.n_rows())?;
        check_rows(sequences, data.n_rows())?;
        let (law, start, _) = self.as_mixture().law_and_start(data, watch)?;
        self.begin(MixtureRows::Dense(data), sequences, law, start, columns, watch)
    }

    /// Goes on from where chains stand, with the law they began with, up to the sweeps of the schedule, which count from the
    /// beginning of the chains: 500 sweeps and then 500 more are 1,000, bit for bit.
    pub fn resume<T: Real>(
        &self,
        rows: MixtureRows<T>,
        sequences: &Sequences,
        columns: Vec<String>,
        (law, chains): (MixtureLaw, Vec<HmmChain>),
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        fn either(
            this: &InfiniteHmm,
            rows: EitherMixtureRows,
            sequences: &Sequences,
            columns: Vec<String>,
            (law, chains): (MixtureLaw, Vec<HmmChain>),
            watch: &dyn Watch,
        ) -> Result<HmmFit> {
            either!(rows, rows => this.run(rows, sequences, law, ChainStart::One, chains, columns, watch))
        }
        check_rows(sequences, rows.n_rows())?;
        law.check(columns.len())?;
        either(self, rows.either(), sequences, columns, (law, chains), watch)
    }

    /// The same for rows of counts.
    pub fn fit_counts(
        &self,
        counts: &Counts,
        sequences: &Sequences,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        let MixtureLikelihood::Multinomial { pseudocount } = self.likelihood else {
            return Err(Error::data(
                "the rows are sparse counts, the likelihood is Gaussian",
                "use the multinomial likelihood, or give the rows as a dense array",
            ));
        };
        let law = multinomial(pseudocount);
        law.check(counts.n_columns())?;
        self.sampler(ChainStart::One)?.check(counts.n_rows())?;
        check_rows(sequences, counts.n_rows())?;
        let start = self.as_mixture().start_of_counts(counts, watch)?;
        self.begin(MixtureRows::<f64>::Counts(counts), sequences, law, start, columns, watch)
    }

    fn begin<T: Real>(
        &self,
        rows: MixtureRows<T>,
        sequences: &Sequences,
        law: MixtureLaw,
        start: ChainStart,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        let (start, chosen) = self.better_start(rows, sequences, &law, start, watch)?;
        let fit = self.run(rows, sequences, law, start, vec![], columns, watch)?;
        Ok(HmmFit { start: Some(chosen), ..fit })
    }

    /// The clusters of DP-means, or rows at random where these have led a chain clearly higher after a few sweeps. DP-means sees too
    /// few where states differ in their spread alone, or overlap; and each split takes a chain some sweeps.
    fn better_start<T: Real>(
        &self,
        rows: MixtureRows<T>,
        sequences: &Sequences,
        law: &MixtureLaw,
        start: ChainStart,
        watch: &dyn Watch,
    ) -> Result<(ChainStart, MixtureStart)> {
        if self.start != MixtureStart::DpMeans {
            return Ok((start, self.start));
        }
        let random = DpMixture { start: MixtureStart::Random, ..self.as_mixture() }.plain_start(rows.n_rows())?;
        let schedule = Schedule { sweeps: TRIED, burn_in: TRIED - 1, thin: 1 };
        let heights = |start: &ChainStart| -> Result<Vec<f64>> {
            let sampler = HmmSampler { schedule, chains: 1, ..self.sampler(start.clone())? };
            let chains = sampler.fit(sequences, &|| law.emissions(rows), &Silently(watch))?;
            let reached = chains.first().filter(|chain| !chain.stopped);
            Ok(reached.map_or_else(|| vec![f64::NEG_INFINITY], |chain| chain.ln_joint[TRIED - COMPARED..].to_vec()))
        };
        let lowest = heights(&random)?.into_iter().fold(f64::INFINITY, f64::min);
        let highest = heights(&start)?.into_iter().fold(f64::NEG_INFINITY, f64::max);
        Ok(match lowest > highest {
            true => (random, MixtureStart::Random),
            false => (start, MixtureStart::DpMeans),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the rows, what is known of them, and where the chains stand")]
    fn run<T: Real>(
        &self,
        rows: MixtureRows<T>,
        sequences: &Sequences,
        law: MixtureLaw,
        start: ChainStart,
        earlier: Vec<HmmChain>,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        let sampler = self.sampler(start)?;
        let make = || law.emissions(rows);
        let inputs = self.discriminative.map(|_| rows.inputs());
        let term = self.discriminative.zip(inputs.as_ref());
        // Without it only where the watch has said stop: the chains will stop at once too.
        let separation = term.and_then(|(term, inputs)| Separation::new(term, inputs, self.seed, watch));
        let chains = if earlier.is_empty() {
            sampler.fit_separated(sequences, &make, separation.as_ref(), watch)?
        } else {
            let states: Vec<_> = earlier.iter().map(|chain| chain.state.clone()).collect();
            let later = sampler.resume_separated(sequences, &states, &make, separation.as_ref(), watch)?;
            earlier.into_iter().zip(later).map(|(before, after)| before.followed_by(after)).collect()
        };
        let mut fit = self.summed_up((rows, sequences), law.clone(), &sampler, chains, columns, watch)?;
        if let Some(separation) = &separation {
            let (labels, k) = (fit.estimate.labels(), fit.estimate.n_groups());
            fit.model.hyperplanes = Some(separation.fitted(labels, k, self.seed, &Workers::new(self.threads)));
        }
        Ok(fit)
    }

    /// From chains to an answer.
    fn summed_up<T: Real>(
        &self,
        (rows, sequences): (MixtureRows<T>, &Sequences),
        law: MixtureLaw,
        sampler: &HmmSampler,
        chains: Vec<HmmChain>,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<HmmFit> {
        let stopped = chains.iter().any(|chain| chain.stopped);
        let (chains, waiting): (Vec<_>, Vec<_>) =
            chains.into_iter().enumerate().partition(|(_, chain)| !chain.n_states.is_empty());
        let chains: Vec<HmmChain> = chains.into_iter().map(|(_, chain)| chain).collect();
        let draws: Vec<&HmmDraw> = chains.iter().flat_map(|chain| &chain.draws).collect();
        // Stopped in the burn-in: the best state there is stands for the draws.
        if draws.is_empty() {
            let best = chains.iter().filter_map(|chain| chain.best.clone()).max_by(|a, b| a.1.total_cmp(&b.1));
            let draw = best.map_or_else(|| first_draw(sampler, rows.n_rows()), |(draw, _)| draw);
            let estimate = draw.states.to_partition();
            let model = HmmModel::new(rows, sequences, law, &[&draw], &estimate, columns, self.seed)?;
            let (certainty, unknown) = (vec![f64::NAN; rows.n_rows()], [f64::NAN; 4]);
            return Ok(HmmFit {
                chains,
                waiting,
                estimate,
                certainty,
                r_hat: unknown,
                effective_size: unknown,
                model,
                start: None,
                stopped,
            });
        }
        let paths: Vec<&CompactPartition> = draws.iter().map(|draw| &draw.states).collect();
        let estimate = point_estimate(&paths, self.loss, watch);
        let certainty = certainty(&estimate, &paths);
        let model = HmmModel::new(rows, sequences, law, &draws, &estimate, columns, self.seed)?;
        let r_hat = self.of_traces(&chains, split_r_hat);
        let effective_size = self.of_traces(&chains, effective_sample_size);
        Ok(HmmFit { chains, waiting, estimate, certainty, r_hat, effective_size, model, start: None, stopped })
    }

    /// A statistic of the traces after the burn-in.
    fn of_traces(&self, chains: &[HmmChain], statistic: fn(&[&[f64]]) -> f64) -> [f64; 4] {
        let of = |value: &dyn Fn(&HmmChain, usize) -> f64| {
            let kept = chains.iter().map(|chain| {
                let sweeps = self.schedule.burn_in.min(chain.n_states.len())..chain.n_states.len();
                sweeps.map(|sweep| value(chain, sweep)).collect::<Vec<f64>>()
            });
            let kept: Vec<Vec<f64>> = kept.collect();
            statistic(&kept.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        [
            of(&|chain, sweep| chain.n_states[sweep] as f64),
            of(&|chain, sweep| chain.ln_joint[sweep]),
            of(&|chain, sweep| chain.values[sweep].concentration),
            of(&|chain, sweep| chain.values[sweep].gamma),
        ]
    }

    /// The mixture with the same likelihood and start.
    fn as_mixture(&self) -> DpMixture {
        DpMixture {
            likelihood: self.likelihood.clone(),
            max_clusters: self.max_states,
            start: self.start,
            seed: self.seed,
            threads: self.threads,
            ..DpMixture::default()
        }
    }

    fn sampler(&self, start: ChainStart) -> Result<HmmSampler> {
        self.discriminative.map_or(Ok(()), |term| term.check())?;
        self.check_stickiness()?;
        let known = |value: Option<f64>| match value {
            Some(_) => Concentration::Fixed,
            None => Concentration::Gamma { shape: 1.0, rate: 1.0 },
        };
        let concentration = self.concentration.unwrap_or(1.0);
        let values = HdpValues { concentration, share: 0.0, gamma: self.gamma.unwrap_or(1.0), start: concentration };
        let hdp = Hdp {
            values,
            concentration: known(self.concentration),
            gamma: known(self.gamma),
            share: None,
            max_states: self.max_states,
        };
        Ok(HmmSampler {
            prior: match self.stickiness {
                Some(share) => Hdp { values: HdpValues { share, ..values }, ..hdp },
                None if self.sticky => hdp.sticky(),
                None => hdp,
            },
            method: self.method,
            schedule: self.schedule,
            split_merge: self.split_merge,
            chains: self.chains,
            start,
            seed: self.seed,
            threads: self.threads,
        })
    }

    fn check_stickiness(&self) -> Result<()> {
        match self.stickiness {
            Some(share) if !self.sticky => {
                let help = "say that states are sticky too, or leave it out";
                Err(Error::argument("stickiness", "absent where states are not sticky", share, help))
            }
            Some(share) if !(share > 0.0 && share < 1.0) => {
                let help = "it is the share kappa / (alpha + kappa) of staying; leave the number out to have it drawn";
                Err(Error::argument("stickiness", "above 0 and below 1", share, help))
            }
            _ => Ok(()),
        }
    }
}

fn check_rows(sequences: &Sequences, n_rows: usize) -> Result<()> {
    Sequences::new(&sequences.lengths(), n_rows).map(|_| ())
}

/// Where chains begin, with weights as even as the rows, for a fit that was stopped before its first sweep.
fn first_draw(sampler: &HmmSampler, n_rows: usize) -> HmmDraw {
    let partition = match &sampler.start {
        ChainStart::Given(partition) => partition.clone(),
        _ => Partition::from_labels(vec![0; n_rows]),
    };
    let total = n_rows as f64 + 1.0;
    let states = partition.sizes().iter().map(|&size| size as f64 / total).collect();
    let weights = StateWeights { states, new: 1.0 / total };
    HmmDraw { states: CompactPartition::from(&partition), weights, values: sampler.prior.values }
}
