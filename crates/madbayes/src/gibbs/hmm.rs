//! Hidden Markov models of unknown number of states (Teh et al. 2006, Sec. 7; Fox et al. 2011), for any likelihood.

use super::chain::Schedule;
use super::hmm_chain::{HmmChain, HmmState, run_hmm_chain};
use super::hmm_kernel::{HmmKernel, HmmMethod, MakeEmissions, STATE_SPLIT_MERGE};
use super::mixture::ChainStart;
use crate::error::{Error, Result};
use crate::parallel::Workers;
use crate::prior::Hdp;
use crate::random::{Rng, Stream, stream};
use crate::separator::Separation;
use crate::structure::{Partition, Sequences};
use crate::watch::{Step, Watch};
use rand::RngExt;

/// A sampler of state sequences, the likelihood of the rows left open.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::{HmmSampler, Schedule};
/// use madbayes::likelihood::{Spherical, SphericalGroups};
/// use madbayes::structure::Sequences;
/// use madbayes::watch::Unwatched;
///
/// let values = [0.0, 0.1, 9.0, 9.1, 0.2, 0.0, 9.2, 9.1, 0.1, 0.2];
/// let data = Data::new(Rows::new(&values, 1)?)?;
/// let law = Spherical { variance: 0.01, prior_mean: vec![4.5], prior_variance: 25.0 };
/// let sampler = HmmSampler { schedule: Schedule { sweeps: 100, burn_in: 50, thin: 1 }, ..Default::default() };
/// let make = || Ok(Box::new(SphericalGroups::new(&data, law.clone())?) as Box<_>);
/// let chains = sampler.fit(&Sequences::one(10), &make, &Unwatched)?;
/// assert_eq!(chains[0].draws.last().map(|draw| draw.states.labels()), Some(vec![0, 0, 1, 1, 0, 0, 1, 1, 0, 0]));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct HmmSampler {
    /// The prior over state sequences.
    pub prior: Hdp,
    /// How the states are redrawn.
    pub method: HmmMethod,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Split-merge proposals of states after each sweep; 0: states only change by their rows. None are made with a discriminative
    /// term under the published rule, which leaves nothing invariant that they could be accepted by.
    pub split_merge: usize,
    /// Number of chains, each with random streams of its own.
    pub chains: usize,
    /// Where they begin.
    pub start: ChainStart,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for HmmSampler {
    fn default() -> Self {
        HmmSampler {
            prior: Hdp::default(),
            method: HmmMethod::default(),
            schedule: Schedule::default(),
            split_merge: STATE_SPLIT_MERGE,
            chains: 1,
            start: ChainStart::default(),
            seed: 0,
            threads: 0,
        }
    }
}

impl HmmSampler {
    /// Errors unless the parameters make sense for `n_rows` rows.
    pub fn check(&self, n_rows: usize) -> Result<()> {
        self.prior.check()?;
        self.schedule.check()?;
        if self.chains == 0 {
            return Err(Error::argument("chains", "at least 1", 0, "several chains show whether they agree"));
        }
        if n_rows == 0 {
            return Err(Error::data("there are no rows", "a state sequence needs at least one"));
        }
        let most = self.prior.most_states().min(n_rows);
        let found = match &self.start {
            ChainStart::Random(k) if *k == 0 || *k > most => format!("{k} random states"),
            ChainStart::Given(given) if given.n_rows() != n_rows => format!("a path of {} rows", given.n_rows()),
            ChainStart::Given(given) if given.n_groups() > most => format!("a path of {} states", given.n_groups()),
            _ => return Ok(()),
        };
        let allowed = format!("between 1 and {most} states for the {n_rows} rows");
        let help = "a state needs at least one row, and the prior may have a largest number of states";
        Err(Error::argument("start", allowed, found, help))
    }

    /// Runs all chains. Stopped by the watch, they keep what they have.
    pub fn fit<'g>(
        &self,
        sequences: &Sequences,
        make_groups: MakeEmissions<'_, 'g>,
        watch: &dyn Watch,
    ) -> Result<Vec<HmmChain>> {
        self.fit_separated(sequences, make_groups, None, watch)
    }

    /// The same with a discriminative term, after some sweeps without it.
    pub fn fit_separated<'g>(
        &self,
        sequences: &Sequences,
        make_groups: MakeEmissions<'_, 'g>,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
    ) -> Result<Vec<HmmChain>> {
        self.check(sequences.n_rows())?;
        self.run(self.chains, separation, watch, |number| {
            let mut rng = stream(self.seed, Stream::Chain(number as u32));
            let states = self.first_states(sequences.n_rows(), &mut rng);
            let sticks = stream(self.seed, Stream::Sticks(number as u32));
            let prior = (self.prior, self.prior.values);
            let kernel = HmmKernel::new(&states, prior, None, sequences, sticks, self.method, make_groups)?;
            Ok((kernel, None, rng))
        })
    }

    /// Goes on from saved states up to the sweeps of the schedule, which count from the very beginning, as do its burn-in and
    /// thinning: 500 sweeps taken up with a schedule of 1000 are the chain of 1000, bit for bit. The chains that come back
    /// hold the later sweeps only: see [`HmmChain::followed_by`]. Start, seed and number of chains are not read.
    pub fn resume<'g>(
        &self,
        sequences: &Sequences,
        states: &[HmmState],
        make_groups: MakeEmissions<'_, 'g>,
        watch: &dyn Watch,
    ) -> Result<Vec<HmmChain>> {
        self.resume_separated(sequences, states, make_groups, None, watch)
    }

    /// The same with a discriminative term.
    pub fn resume_separated<'g>(
        &self,
        sequences: &Sequences,
        states: &[HmmState],
        make_groups: MakeEmissions<'_, 'g>,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
    ) -> Result<Vec<HmmChain>> {
        let n_rows = sequences.n_rows();
        HmmSampler { start: ChainStart::One, ..self.clone() }.check(n_rows)?;
        for state in states {
            state.check(n_rows, &self.prior)?;
            let k = state.weights.states.len();
            separation.map_or(Ok(()), |separation| separation.check(state.hyperplanes.as_ref(), k))?;
        }
        self.schedule.check_left(states.iter().map(|state| state.sweeps))?;
        self.run(states.len(), separation, watch, |number| {
            let state = &states[number];
            let (prior, weights) = ((self.prior, state.values), Some(state.weights.clone()));
            let sticks = Rng::from(state.sticks);
            let kernel = HmmKernel::new(&state.states, prior, weights, sequences, sticks, self.method, make_groups)?;
            Ok((kernel, Some(state), Rng::from(state.rng)))
        })
    }

    /// `begin` makes each chain's kernel, with the state it goes on from.
    fn run<'g, 's>(
        &self,
        chains: usize,
        separation: Option<&'g Separation<'g>>,
        watch: &dyn Watch,
        begin: impl Fn(usize) -> Result<(HmmKernel<'g>, Option<&'s HmmState>, Rng)> + Sync,
    ) -> Result<Vec<HmmChain>> {
        let threads = Workers::new(self.threads);
        let workers = if chains == 1 { Workers::serial() } else { threads.clone() };
        let may_propose = separation.is_none_or(Separation::leaves_a_joint_invariant);
        let proposals = if may_propose { self.split_merge } else { 0 };
        let chains = workers.map(chains, |number| {
            let (mut kernel, state, mut rng) = begin(number)?;
            let done = state.map_or(0, |state| state.sweeps);
            kernel = kernel.after(done).proposing(proposals);
            if let Some(separation) = separation {
                let hyperplanes = separation.hyperplanes(self.seed, number, threads.clone());
                kernel = kernel.separated_by(hyperplanes, state.and_then(|state| state.hyperplanes.as_ref()));
            }
            let chain = run_hmm_chain(number, &mut kernel, done, self.schedule, &mut rng, watch);
            let _ = watch.step(&Step::Run { run: number, of: chains });
            Ok(chain)
        });
        chains.into_iter().collect()
    }

    fn first_states(&self, n_rows: usize, rng: &mut Rng) -> Vec<u32> {
        match &self.start {
            ChainStart::One => vec![0; n_rows],
            ChainStart::Random(k) => {
                let names = (0..n_rows).map(|_| rng.random_range(0..*k));
                Partition::from_labels(names).labels().to_vec()
            }
            ChainStart::Given(partition) => partition.labels().to_vec(),
        }
    }
}
