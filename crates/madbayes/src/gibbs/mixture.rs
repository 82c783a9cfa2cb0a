//! Mixtures by collapsed Gibbs sampling (Neal 2000, Alg. 3) with split-merge moves, for any likelihood and prior.

use super::chain::{Chain, ChainState, Schedule, run_chain};
use super::kernel::{Kernel, MakeGroups};
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::prior::PartitionPrior;
use crate::random::{Rng, RngState, Stream, stream};
use crate::separator::Separation;
use crate::structure::Partition;
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

/// Split-merge proposals after each sweep. A proposal scores the rows of one or two groups three times against two groups;
/// with three of them, half of them splits and most merges refused at first sight, that is about 9 N / K scores of a row
/// against a group where the sweep takes N K: less than half a sweep from K = 5 on, several sweeps while K = 1.
pub const SPLIT_MERGE: usize = 3;

/// A sampler of partitions, the likelihood of the rows left open.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::{MixtureSampler, Schedule};
/// use madbayes::likelihood::{Spherical, SphericalGroups};
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let law = Spherical { variance: 0.01, prior_mean: vec![4.5], prior_variance: 25.0 };
/// let sampler = MixtureSampler { schedule: Schedule { sweeps: 100, burn_in: 50, thin: 1 }, ..Default::default() };
/// let chains = sampler.fit(6, &|| Ok(Box::new(SphericalGroups::new(&data, law.clone())?)), &Unwatched)?;
/// assert_eq!(chains[0].draws.last().map(|draw| draw.n_groups()), Some(2));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureSampler {
    /// The prior over partitions.
    pub prior: PartitionPrior,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Split-merge proposals after each sweep; 0: rows only move one by one.
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

impl Default for MixtureSampler {
    fn default() -> Self {
        MixtureSampler {
            prior: PartitionPrior::default(),
            schedule: Schedule::default(),
            split_merge: SPLIT_MERGE,
            chains: 1,
            start: ChainStart::default(),
            seed: 0,
            threads: 0,
        }
    }
}

impl MixtureSampler {
    /// Errors unless the parameters make sense for `n_rows` rows.
    pub fn check(&self, n_rows: usize) -> Result<()> {
        self.prior.check()?;
        self.schedule.check()?;
        if self.chains == 0 {
            return Err(Error::argument("chains", "at least 1", 0, "several chains show whether they agree"));
        }
        if n_rows == 0 {
            return Err(Error::data("there are no rows", "a mixture needs at least one"));
        }
        let most = self.prior.most_groups(n_rows);
        match &self.start {
            ChainStart::Random(k) if *k == 0 || *k > most => Err(Error::argument(
                "start",
                format!("between 1 and {most} random groups"),
                k,
                "a group needs at least one row, and the prior may have a largest number of groups",
            )),
            ChainStart::Given(partition) if partition.n_rows() != n_rows => Err(Error::argument(
                "start",
                format!("a partition of the {n_rows} rows"),
                format!("one of {} rows", partition.n_rows()),
                "start from a fit of the same data",
            )),
            ChainStart::Given(partition) if partition.n_groups() > most => Err(Error::argument(
                "start",
                format!("a partition of at most {most} groups"),
                format!("one of {}", partition.n_groups()),
                "the prior has no more groups; start from a fit with the same largest number",
            )),
            _ => Ok(()),
        }
    }

    /// Runs all chains. Stopped by the watch, they keep what they have.
    pub fn fit<'g>(&self, n_rows: usize, make_groups: MakeGroups<'_, 'g>, watch: &dyn Watch) -> Result<Vec<Chain>> {
        self.fit_separated(n_rows, make_groups, None, watch)
    }

    /// The same with a discriminative term, after some sweeps without it.
    pub fn fit_separated<'g>(
        &self,
        n_rows: usize,
        make_groups: MakeGroups<'_, 'g>,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
    ) -> Result<Vec<Chain>> {
        self.check(n_rows)?;
        self.run(self.chains, make_groups, separation, watch, |number| {
            let mut rng = stream(self.seed, Stream::Chain(number as u32));
            ChainState {
                labels: self.first_labels(n_rows, &mut rng),
                ln_concentration: self.prior.ln_concentration(),
                sweeps: 0,
                rng: RngState::from(&rng),
                hyperplanes: None,
            }
        })
    }

    /// Goes on from saved states up to the sweeps of the schedule, which count from the very beginning, as do its burn-in and
    /// thinning: a chain of 500 sweeps taken up with a schedule of 1000 is the chain of 1000, bit for bit. The chains that
    /// come back hold the later sweeps only: see [`Chain::followed_by`]. Start, seed and number of chains are not read.
    pub fn resume<'g>(
        &self,
        n_rows: usize,
        states: &[ChainState],
        make_groups: MakeGroups<'_, 'g>,
        watch: &dyn Watch,
    ) -> Result<Vec<Chain>> {
        self.resume_separated(n_rows, states, make_groups, None, watch)
    }

    /// The same with a discriminative term.
    pub fn resume_separated<'g>(
        &self,
        n_rows: usize,
        states: &[ChainState],
        make_groups: MakeGroups<'_, 'g>,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
    ) -> Result<Vec<Chain>> {
        MixtureSampler { start: ChainStart::One, ..self.clone() }.check(n_rows)?;
        for state in states {
            state.check(n_rows, &self.prior)?;
            let groups = state.labels.iter().max().map_or(0, |&label| label as usize + 1);
            separation.map_or(Ok(()), |separation| separation.check(state.hyperplanes.as_ref(), groups))?;
        }
        self.schedule.check_left(states.iter().map(|state| state.sweeps))?;
        self.run(states.len(), make_groups, separation, watch, |number| states[number].clone())
    }

    fn run<'g>(
        &self,
        chains: usize,
        make_groups: MakeGroups<'_, 'g>,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
        begin: impl Fn(usize) -> ChainState + Sync,
    ) -> Result<Vec<Chain>> {
        let threads = Workers::new(self.threads);
        let workers = if chains == 1 { Workers::serial() } else { threads.clone() };
        let chains = workers.map(chains, |number| {
            let state = begin(number);
            let mut rng = Rng::from(state.rng);
            let (prior, alpha) = (&self.prior, state.ln_concentration);
            let mut kernel = Kernel::new(&state.labels, prior, alpha, self.split_merge, make_groups)?;
            if let Some(separation) = separation {
                let hyperplanes = separation.hyperplanes(self.seed, number, threads.clone());
                kernel = kernel.separated_by(hyperplanes, state.hyperplanes.as_ref(), state.sweeps);
            }
            let chain = run_chain(number, &mut kernel, state.sweeps, self.schedule, &mut rng, watch);
            let _ = watch.step(&Step::Run { run: number, of: chains });
            Ok(chain)
        });
        chains.into_iter().collect()
    }

    fn first_labels(&self, n_rows: usize, rng: &mut Rng) -> Vec<u32> {
        match &self.start {
            ChainStart::One => vec![0; n_rows],
            ChainStart::Random(k) => {
                Partition::from_labels((0..n_rows).map(|_| rng.random_range(0..*k))).labels().to_vec()
            }
            ChainStart::Given(partition) => partition.labels().to_vec(),
        }
    }
}
