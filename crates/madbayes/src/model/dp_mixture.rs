//! A Dirichlet process mixture from data alone: priors from the data's scale, chains started from DP-means, and an answer.

#[cfg(test)]
mod tests;

use super::mixture::{DrawnPartition, MixtureModel};
use super::mixture_law::{MixtureLaw, MixtureRows};
use super::mixture_likelihood::{MixtureLikelihood, multinomial};
use crate::counts::Counts;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::gibbs::{
    Chain, ChainStart, Loss, MixtureSampler, SPLIT_MERGE, Schedule, certainty, effective_sample_size, point_estimate,
    split_r_hat,
};
use crate::hard::{Clustering, DivergenceMeans, DpMeans, Goal};
use crate::parallel::Workers;
use crate::prior::{Concentration, Crp, DirichletMultinomial, PartitionPrior};
use crate::select::{PenaltyRule, automatic_penalty, fit_divergence};
use crate::separator::{Discriminative, NewCluster, Separation};
use crate::structure::{CompactPartition, Partition};
use crate::watch::{Silently, Watch};
use serde::{Deserialize, Serialize};

/// Where the chains begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixtureStart {
    /// From a DP-means clustering, which is close to the answer already; for counts by Kullback-Leibler divergence.
    #[default]
    DpMeans,
    /// All rows in one group.
    One,
    /// Rows at random in as many groups as the prior expects.
    Random,
}

/// How rows fall into groups before anything is known of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixturePrior {
    /// A Dirichlet process: any number of groups, or its restriction to at most `max_clusters`.
    #[default]
    DirichletProcess,
    /// Weights of `max_clusters` components from a symmetric Dirichlet(alpha / `max_clusters`); some may have no rows. The
    /// Dirichlet process is the limit of many components.
    Finite,
}

/// A mixture whose number of components is not known. What is `None` comes from the data.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::model::DpMixture;
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let fit = DpMixture::default().fit(&data, vec!["length".into()], &Unwatched)?;
/// assert_eq!(fit.estimate.labels(), [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DpMixture {
    /// The rows of a group.
    pub likelihood: MixtureLikelihood,
    /// The prior over partitions.
    pub prior: MixturePrior,
    /// alpha; none: redrawn with its Gamma(1, 1) prior.
    pub concentration: Option<f64>,
    /// Hyperplanes that keep groups apart, beside the likelihood (Nguyen et al. 2017); none: a plain mixture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discriminative: Option<Discriminative>,
    /// No more groups than this; for the finite prior the number of components, which must be given.
    pub max_clusters: Option<usize>,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Split-merge proposals after each sweep.
    pub split_merge: usize,
    /// Number of chains.
    pub chains: usize,
    /// Where they begin.
    pub start: MixtureStart,
    /// What the point estimate minimises.
    pub loss: Loss,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    #[serde(skip)]
    pub threads: usize,
}

impl Default for DpMixture {
    fn default() -> Self {
        DpMixture {
            likelihood: MixtureLikelihood::default(),
            prior: MixturePrior::default(),
            concentration: None,
            discriminative: None,
            max_clusters: None,
            schedule: Schedule { sweeps: 1000, burn_in: 500, thin: 5 },
            split_merge: SPLIT_MERGE,
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
pub struct MixtureFit {
    /// What each chain saw. Those that were stopped before they began are left out.
    pub chains: Vec<Chain>,
    /// Those that were left out, with their number among all.
    pub waiting: Vec<(usize, Chain)>,
    /// The partition of least expected loss.
    pub estimate: Partition,
    /// How sure each row's cluster is.
    pub certainty: Vec<f64>,
    /// R-hat of the number of groups, of the log joint and of the concentration, after the burn-in.
    pub r_hat: [f64; 3],
    /// Effective sample sizes of the same.
    pub effective_size: [f64; 3],
    /// What they say of new rows.
    pub model: MixtureModel,
    /// How many clusters of DP-means the spread within a group was guessed from; none: it was given, or there is none.
    pub guessed_from: Option<usize>,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

impl DpMixture {
    /// Runs the chains and sums them up.
    pub fn fit<T: Real>(&self, data: &Data<T>, columns: Vec<String>, watch: &dyn Watch) -> Result<MixtureFit> {
        self.begin(data, columns, None, watch)
    }

    /// The same for rows of counts.
    pub fn fit_counts(&self, counts: &Counts, columns: Vec<String>, watch: &dyn Watch) -> Result<MixtureFit> {
        self.begin_counts(counts, columns, None, watch)
    }

    /// Goes on from where chains stand, with the law they began with, up to the sweeps of the schedule, which count from the
    /// beginning of the chains: 500 sweeps and then 500 more are 1,000, bit for bit.
    pub fn resume<T: Real>(
        &self,
        data: &Data<T>,
        columns: Vec<String>,
        earlier: (MixtureLaw, Vec<Chain>),
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        self.begin(data, columns, Some(earlier), watch)
    }

    /// The same for rows of counts.
    pub fn resume_counts(
        &self,
        counts: &Counts,
        columns: Vec<String>,
        earlier: (MixtureLaw, Vec<Chain>),
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        self.begin_counts(counts, columns, Some(earlier), watch)
    }

    fn begin<T: Real>(
        &self,
        data: &Data<T>,
        columns: Vec<String>,
        earlier: Option<(MixtureLaw, Vec<Chain>)>,
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        fn either(
            this: &DpMixture,
            data: EitherData,
            columns: Vec<String>,
            earlier: Option<(MixtureLaw, Vec<Chain>)>,
            watch: &dyn Watch,
        ) -> Result<MixtureFit> {
            either!(data, data => this.begin_on(data, columns, earlier, watch))
        }
        either(self, T::either_data(data), columns, earlier, watch)
    }

    fn begin_on<T: Real>(
        &self,
        data: &Data<T>,
        columns: Vec<String>,
        earlier: Option<(MixtureLaw, Vec<Chain>)>,
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent for a sampler",
                "row weights",
                "a posterior has no weighted rows; repeat the rows, or use DP-means",
            ));
        }
        if let MixtureLikelihood::Multinomial { pseudocount } = self.likelihood {
            multinomial(pseudocount).check(data.n_columns())?;
            return self.begin_counts(&Counts::from_rows(data.rows())?, columns, earlier, watch);
        }
        let rows = MixtureRows::Dense(data);
        if let Some((law, chains)) = earlier {
            return self.run(rows, law, ChainStart::One, chains, columns, watch);
        }
        let (law, start, guessed_from) = self.law_and_start(data, watch)?;
        Ok(MixtureFit { guessed_from, ..self.run(rows, law, start, vec![], columns, watch)? })
    }

    /// The likelihood with all that was left open filled in, where chains begin, and how many clusters a guess is from.
    pub(super) fn law_and_start<T: Real>(
        &self,
        data: &Data<T>,
        watch: &dyn Watch,
    ) -> Result<(MixtureLaw, ChainStart, Option<usize>)> {
        // Parameters are checked before the work they would spoil.
        let one = vec![0; data.n_rows()];
        self.likelihood.law(data, &one, None).check(data.n_columns())?;
        self.sampler(ChainStart::One)?.check(data.n_rows())?;
        let hard = if self.start == MixtureStart::DpMeans || self.likelihood.needs_scale() {
            Some(self.dp_means(data, &Silently(watch))?)
        } else {
            None
        };
        let start = match (&hard, self.start) {
            (Some(fit), MixtureStart::DpMeans) => ChainStart::Given(Partition::from_labels(fit.labels.iter())),
            _ => self.plain_start(data.n_rows())?,
        };
        let law = self.likelihood.law(data, hard.as_ref().map_or(&one, |fit| &fit.labels), hard.as_ref());
        let guessed_from = hard.filter(|_| self.likelihood.needs_scale()).map(|fit| fit.n_clusters());
        Ok((law, start, guessed_from))
    }

    /// Where chains of counts begin.
    pub(super) fn start_of_counts(&self, counts: &Counts, watch: &dyn Watch) -> Result<ChainStart> {
        if self.start != MixtureStart::DpMeans {
            return self.plain_start(counts.n_rows());
        }
        let max_clusters = self.max_clusters.map(|most| most.min(counts.n_rows()));
        let parameters = DivergenceMeans {
            goal: Goal::Penalty { penalty: 1.0, max_clusters },
            seed: self.seed,
            threads: self.threads,
            ..DivergenceMeans::default()
        };
        let hard = fit_divergence(counts, &parameters, Some(PenaltyRule::Automatic), &Silently(watch))?;
        Ok(ChainStart::Given(Partition::from_labels(hard.clustering.labels.iter())))
    }

    fn begin_counts(
        &self,
        counts: &Counts,
        columns: Vec<String>,
        earlier: Option<(MixtureLaw, Vec<Chain>)>,
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        let (law, chains) = match (earlier, &self.likelihood) {
            (Some(earlier), _) => earlier,
            (None, MixtureLikelihood::Multinomial { pseudocount }) => (multinomial(*pseudocount), vec![]),
            _ => {
                return Err(Error::data(
                    "the rows are sparse counts, the likelihood is Gaussian",
                    "use the multinomial likelihood, or give the rows as a dense array",
                ));
            }
        };
        law.check(counts.n_columns())?;
        self.sampler(ChainStart::One)?.check(counts.n_rows())?;
        let start = if chains.is_empty() { self.start_of_counts(counts, watch)? } else { ChainStart::One };
        self.run::<f64>(MixtureRows::Counts(counts), law, start, chains, columns, watch)
    }

    fn run<T: Real>(
        &self,
        rows: MixtureRows<T>,
        law: MixtureLaw,
        start: ChainStart,
        earlier: Vec<Chain>,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        let sampler = self.sampler(start)?;
        let make_groups = || law.groups(rows);
        let inputs = self.discriminative.map(|_| rows.inputs());
        let term = self.discriminative.zip(inputs.as_ref());
        // Without it only where the watch has said stop: the chains will stop at once too.
        let separation = term.and_then(|(term, inputs)| Separation::new(term, inputs, self.seed, watch));
        let chains = if earlier.is_empty() {
            sampler.fit_separated(rows.n_rows(), &make_groups, separation.as_ref(), watch)?
        } else {
            let states: Vec<_> = earlier.iter().map(|chain| chain.state.clone()).collect();
            let later = sampler.resume_separated(rows.n_rows(), &states, &make_groups, separation.as_ref(), watch)?;
            earlier.into_iter().zip(later).map(|(before, after)| before.followed_by(after)).collect()
        };
        let mut fit = self.summed_up(rows, law.clone(), &sampler.start, chains, columns, watch)?;
        if let Some(separation) = &separation {
            let (labels, k) = (fit.estimate.labels(), fit.estimate.n_groups());
            fit.model.hyperplanes = Some(separation.fitted(labels, k, self.seed, &Workers::new(self.threads)));
        }
        Ok(fit)
    }

    /// From chains to an answer.
    fn summed_up<T: Real>(
        &self,
        rows: MixtureRows<T>,
        law: MixtureLaw,
        start: &ChainStart,
        chains: Vec<Chain>,
        columns: Vec<String>,
        watch: &dyn Watch,
    ) -> Result<MixtureFit> {
        let stopped = chains.iter().any(|chain| chain.stopped);
        let (chains, waiting): (Vec<_>, Vec<_>) =
            chains.into_iter().enumerate().partition(|(_, chain)| !chain.n_groups.is_empty());
        let chains: Vec<Chain> = chains.into_iter().map(|(_, chain)| chain).collect();
        // Stopped in the burn-in: the best state there is stands for the draws.
        if chains.iter().all(|chain| chain.draws.is_empty()) {
            let first = match start {
                ChainStart::Given(partition) => partition.clone(),
                _ => Partition::from_labels(vec![0; rows.n_rows()]),
            };
            let best = chains.iter().filter_map(|chain| chain.best.clone()).max_by(|a, b| a.1.total_cmp(&b.1));
            let estimate = best.map_or(first, |(partition, _)| partition);
            let only = CompactPartition::from(&estimate);
            let draws = [self.weighed(&only, self.concentration.unwrap_or(1.0))];
            let model = MixtureModel::new(rows, law, &draws, &estimate, columns, self.seed)?;
            let certainty = vec![f64::NAN; rows.n_rows()];
            let unknown = [f64::NAN; 3];
            return Ok(MixtureFit {
                chains,
                waiting,
                estimate,
                certainty,
                r_hat: unknown,
                effective_size: unknown,
                model,
                guessed_from: None,
                stopped,
            });
        }
        let draws: Vec<DrawnPartition> = chains.iter().flat_map(|chain| self.drawn(chain)).collect();
        let partitions: Vec<&CompactPartition> = draws.iter().map(|draw| draw.partition).collect();
        let estimate = point_estimate(&partitions, self.loss, watch);
        let certainty = certainty(&estimate, &partitions);
        let model = MixtureModel::new(rows, law, &draws, &estimate, columns, self.seed)?;
        let r_hat = self.of_traces(&chains, split_r_hat);
        let effective_size = self.of_traces(&chains, effective_sample_size);
        Ok(MixtureFit {
            chains,
            waiting,
            estimate,
            certainty,
            r_hat,
            effective_size,
            model,
            guessed_from: None,
            stopped,
        })
    }

    /// Each draw of a chain with its weights for the next row.
    fn drawn<'a>(&self, chain: &'a Chain) -> impl Iterator<Item = DrawnPartition<'a>> {
        let kept = chain.concentration[self.schedule.burn_in.min(chain.concentration.len())..].iter();
        chain.draws.iter().zip(kept.step_by(self.schedule.thin)).map(|(draw, &alpha)| self.weighed(draw, alpha))
    }

    /// A draw with its weights for the next row: n_k and alpha, or, of K components, n_k + alpha / K and alpha / K for each
    /// that has no rows yet.
    fn weighed<'a>(&self, partition: &'a CompactPartition, alpha: f64) -> DrawnPartition<'a> {
        let groups = partition.n_groups();
        match (self.prior, self.max_clusters) {
            (MixturePrior::Finite, Some(components)) => {
                let share = alpha / components as f64;
                let spare = components.saturating_sub(groups) as f64;
                DrawnPartition { partition, new_group: spare * share, per_group: share }
            }
            (_, Some(most)) if groups >= most => DrawnPartition { partition, new_group: 0.0, per_group: 0.0 },
            _ => DrawnPartition { partition, new_group: alpha, per_group: 0.0 },
        }
    }

    /// A statistic of the traces of the number of groups, of the log joint and of the concentration, after the burn-in.
    fn of_traces(&self, chains: &[Chain], statistic: fn(&[&[f64]]) -> f64) -> [f64; 3] {
        let of = |trace: &dyn Fn(&Chain) -> Vec<f64>| {
            let kept: Vec<Vec<f64>> = chains
                .iter()
                .map(|chain| trace(chain).split_off(self.schedule.burn_in.min(chain.n_groups.len())))
                .collect();
            statistic(&kept.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        [
            of(&|chain| chain.n_groups.iter().map(|&k| k as f64).collect()),
            of(&|chain| chain.ln_joint.clone()),
            of(&|chain| chain.concentration.clone()),
        ]
    }

    /// DP-means at the penalty the data suggest.
    fn dp_means<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Clustering> {
        let parameters = DpMeans { seed: self.seed, threads: self.threads, ..DpMeans::default() };
        let penalty = automatic_penalty(data, &parameters, watch)?;
        let max_clusters = self.max_clusters.map(|most| most.clamp(1, data.n_rows()));
        DpMeans { goal: Goal::Penalty { penalty, max_clusters }, ..parameters }.fit(data, watch)
    }

    /// A start that needs no other fit.
    pub(super) fn plain_start(&self, n_rows: usize) -> Result<ChainStart> {
        if self.start != MixtureStart::Random {
            return Ok(ChainStart::One);
        }
        let concentration = self.concentration.unwrap_or(1.0);
        let expected = match (self.prior, self.max_clusters) {
            (MixturePrior::Finite, Some(components)) => {
                DirichletMultinomial::new(components, concentration / components as f64)?.expected_groups(n_rows)
            }
            _ => Crp::new(concentration)?.expected_groups(n_rows),
        };
        let most = self.max_clusters.unwrap_or(n_rows).clamp(1, n_rows);
        Ok(ChainStart::Random((expected.round() as usize).clamp(1, most)))
    }

    /// The prior over partitions, in full. Errors where the finite prior has no number of components.
    pub fn partition_prior(&self) -> Result<PartitionPrior> {
        let concentration = self.concentration.unwrap_or(1.0);
        let hyperprior = match self.concentration {
            Some(_) => Concentration::Fixed,
            None => Concentration::Gamma { shape: 1.0, rate: 1.0 },
        };
        let max_groups = self.max_clusters;
        match (self.prior, max_groups) {
            (MixturePrior::DirichletProcess, _) => Ok(PartitionPrior::Crp { concentration, hyperprior, max_groups }),
            (MixturePrior::Finite, Some(components)) if components > 0 => {
                Ok(PartitionPrior::DirichletMultinomial { components, concentration, hyperprior })
            }
            (MixturePrior::Finite, found) => Err(Error::argument(
                "max_clusters",
                "a whole number of at least 1 for the finite prior",
                found.map_or("none".into(), |most| most.to_string()),
                "it is the number of components; take more than you expect clusters, some may stay empty",
            )),
        }
    }

    fn sampler(&self, start: ChainStart) -> Result<MixtureSampler> {
        self.discriminative.map_or(Ok(()), |term| term.check())?;
        Ok(MixtureSampler {
            prior: self.partition_prior()?,
            schedule: self.schedule,
            // The published rule leaves nothing invariant that a proposal could be accepted by.
            split_merge: match self.discriminative {
                Some(Discriminative { new_cluster: NewCluster::Paper, .. }) => 0,
                _ => self.split_merge,
            },
            chains: self.chains,
            start,
            seed: self.seed,
            threads: self.threads,
        })
    }
}
