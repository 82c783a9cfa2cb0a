//! CRP Gaussian mixture by collapsed Gibbs sampling (Neal 2000, Alg. 3), concentration fixed or resampled.

use super::chain::{Chain, Schedule, run_chain};
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::likelihood::{Spherical, SphericalGroups};
use crate::parallel::Workers;
use crate::prior::{Concentration, Crp, CrpSeats};
use crate::random::{Rng, Stream, stream};
use crate::structure::Partition;
use crate::sweep::{LiveLabels, seat_all};
use crate::watch::{Step, Watch};
use rand::RngExt;

/// Where a chain begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ChainStart {
    /// All rows in one group.
    #[default]
    One,
    /// Rows at random in this many groups.
    Random(usize),
    /// This partition, from another fit for instance.
    Given(Partition),
}

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
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
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
            schedule: Schedule::default(),
            chains: 1,
            start: ChainStart::default(),
            seed: 0,
            threads: 0,
        }
    }

    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        self.likelihood.check(data.n_columns())?;
        self.hyperprior.check()?;
        self.schedule.check()?;
        Crp::new(self.concentration)?;
        if self.chains == 0 {
            return Err(Error::argument("chains", "at least 1", 0, "several chains show whether they agree"));
        }
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent for a sampler",
                "row weights",
                "a posterior has no weighted rows; repeat the rows, or use DP-means",
            ));
        }
        match &self.start {
            ChainStart::Random(k) if *k == 0 || *k > data.n_rows() => Err(Error::argument(
                "start",
                format!("between 1 and {} random groups", data.n_rows()),
                k,
                "a group needs at least one row",
            )),
            ChainStart::Given(partition) if partition.n_rows() != data.n_rows() => Err(Error::argument(
                "start",
                format!("a partition of the {} rows", data.n_rows()),
                format!("one of {} rows", partition.n_rows()),
                "start from a fit of the same data",
            )),
            _ => Ok(()),
        }
    }

    /// Runs all chains. Stopped by the watch, they keep what they have.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Vec<Chain>> {
        self.check(data)?;
        let ln_concentration = Crp::new(self.concentration)?.ln_concentration;
        let workers = if self.chains == 1 { Workers::serial() } else { Workers::new(self.threads) };
        let chains = workers.map(self.chains, |number| {
            let mut rng = stream(self.seed, Stream::Chain(number as u32));
            let partition = self.first_partition(data.n_rows(), &mut rng);
            let mut labels = LiveLabels::new(partition.labels());
            let mut groups = SphericalGroups::new(data, self.likelihood.clone())?;
            // The limit plays no part here, so neither does a penalty.
            let mut seats = CrpSeats::new(ln_concentration, f64::INFINITY).with_hyperprior(self.hyperprior)?;
            seat_all(&labels, &mut seats, &mut groups);
            let chain = run_chain(number, &mut labels, &mut seats, &mut groups, self.schedule, &mut rng, watch);
            let _ = watch.step(&Step::Run { run: number, of: self.chains });
            Ok(chain)
        });
        chains.into_iter().collect()
    }

    fn first_partition(&self, n_rows: usize, rng: &mut Rng) -> Partition {
        match &self.start {
            ChainStart::One => Partition::from_labels(vec![0; n_rows]),
            ChainStart::Random(k) => Partition::from_labels((0..n_rows).map(|_| rng.random_range(0..*k))),
            ChainStart::Given(partition) => partition.clone(),
        }
    }
}
