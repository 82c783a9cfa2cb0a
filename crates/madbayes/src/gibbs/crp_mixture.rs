//! The sampler for spherical Gaussians with a Chinese restaurant process prior (Broderick 2013, Sec. 2): Eq. 1 and Eq. 7.

use super::chain::{Chain, ChainState, Schedule};
use super::mixture::{ChainStart, MixtureSampler, SPLIT_MERGE};
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::likelihood::{Spherical, SphericalGroups};
use crate::prior::{Concentration, PartitionPrior};
use crate::watch::Watch;

/// A mixture of spherical Gaussians with a Chinese restaurant process prior on the partition.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::{CrpMixture, Schedule};
/// use madbayes::likelihood::Spherical;
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let law = Spherical { variance: 0.01, prior_mean: vec![4.5], prior_variance: 25.0 };
/// let sampler = CrpMixture { schedule: Schedule { sweeps: 100, burn_in: 50, thin: 1 }, ..CrpMixture::new(law) };
/// let chains = sampler.fit(&data, &Unwatched)?;
/// assert_eq!(chains[0].draws.last().map(|draw| draw.n_groups()), Some(2));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct CrpMixture {
    /// The rows of a group.
    pub likelihood: Spherical,
    /// The concentration alpha to begin with.
    pub concentration: f64,
    /// Whether it stays fixed or is redrawn from its Gamma posterior.
    pub hyperprior: Concentration,
    /// No more groups than this.
    pub max_clusters: Option<usize>,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Split-merge proposals after each sweep.
    pub split_merge: usize,
    /// Number of chains, each with a random stream of its own.
    pub chains: usize,
    /// Where they begin.
    pub start: ChainStart,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl CrpMixture {
    /// This likelihood, other parameters by default: alpha redrawn with its Gamma(1, 1) prior.
    pub fn new(likelihood: Spherical) -> Self {
        CrpMixture {
            likelihood,
            concentration: 1.0,
            hyperprior: Concentration::Gamma { shape: 1.0, rate: 1.0 },
            max_clusters: None,
            schedule: Schedule::default(),
            split_merge: SPLIT_MERGE,
            chains: 1,
            start: ChainStart::default(),
            seed: 0,
            threads: 0,
        }
    }

    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        self.likelihood.check(data.n_columns())?;
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent for a sampler",
                "row weights",
                "a posterior has no weighted rows; repeat the rows, or use DP-means",
            ));
        }
        self.sampler().check(data.n_rows())
    }

    /// Runs all chains. Stopped by the watch, they keep what they have.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Vec<Chain>> {
        fn either(this: &CrpMixture, data: EitherData, watch: &dyn Watch) -> Result<Vec<Chain>> {
            either!(data, data => this.fit_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Vec<Chain>> {
        self.check(data)?;
        self.sampler().fit(data.n_rows(), &|| Ok(Box::new(self.groups(data)?)), watch)
    }

    /// Goes on from saved states, as [`MixtureSampler::resume`] does.
    pub fn resume<T: Real>(&self, data: &Data<T>, states: &[ChainState], watch: &dyn Watch) -> Result<Vec<Chain>> {
        fn either(this: &CrpMixture, data: EitherData, states: &[ChainState], watch: &dyn Watch) -> Result<Vec<Chain>> {
            either!(data, data => this.resume_on(data, states, watch))
        }
        either(self, T::either_data(data), states, watch)
    }

    fn resume_on<T: Real>(&self, data: &Data<T>, states: &[ChainState], watch: &dyn Watch) -> Result<Vec<Chain>> {
        CrpMixture { start: ChainStart::One, ..self.clone() }.check(data)?;
        self.sampler().resume(data.n_rows(), states, &|| Ok(Box::new(self.groups(data)?)), watch)
    }

    fn groups<'a, T: Real>(&self, data: &'a Data<'a, T>) -> Result<SphericalGroups<'a, T>> {
        SphericalGroups::new(data, self.likelihood.clone())
    }

    fn sampler(&self) -> MixtureSampler {
        MixtureSampler {
            prior: PartitionPrior::Crp {
                concentration: self.concentration,
                hyperprior: self.hyperprior,
                max_groups: self.max_clusters,
            },
            schedule: self.schedule,
            split_merge: self.split_merge,
            chains: self.chains,
            start: self.start.clone(),
            seed: self.seed,
            threads: self.threads,
        }
    }
}
