//! Sampler of the IBP linear-Gaussian model (Griffiths & Ghahramani 2011): collapsed or not, mass and variances fixed or
//! resampled.

use super::chain::Schedule;
use super::ibp_chain::{IbpChain, IbpState, LiveFeatures, Priors, advance, run_chain};
use super::ibp_collapsed::CollapsedFeatures;
use super::ibp_uncollapsed::UncollapsedFeatures;
use super::inverse_gamma::InverseGamma;
use crate::data::{Data, EitherData, Real};
use crate::error::{Error, Result};
use crate::likelihood::{CollapsedRows, LEAST_RIDGE, LinearGaussian, check_variance};
use crate::linalg::dot;
use crate::parallel::Workers;
use crate::prior::{Concentration, Ibp};
use crate::random::{Rng, Stream, stream};
use crate::special::harmonic;
use crate::structure::Allocation;
use crate::watch::{Step, Unwatched, Watch};
use rand::RngExt;

/// Where a chain begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum IbpStart {
    /// One feature that all rows have.
    #[default]
    One,
    /// This many features, each row with each of them by a coin.
    Random(usize),
    /// These features, from another fit for instance.
    Given(Allocation),
}

/// Rows that are sums of features and noise, x ~ N(z A, noise I), A ~ N(0, scale I), z by an Indian buffet process of
/// this mass. Features are about 0: a table far from it has a feature that all rows share.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::{IbpSampler, Schedule};
/// use madbayes::watch::Unwatched;
///
/// // (5, 0) and (0, 5), each with either, both or none.
/// let values = [5.0, 0.1, 0.1, 5.1, 5.1, 4.9, 0.1, 0.0, 4.9, 0.0, 5.0, 5.0, -0.1, 4.9, 0.0, 0.1];
/// let data = Data::new(Rows::new(&values, 2)?)?;
/// let schedule = Schedule { sweeps: 300, burn_in: 100, thin: 1 };
/// let sampler = IbpSampler { noise: Some(0.01), scale: Some(10.0), schedule, ..IbpSampler::default() };
/// let chains = sampler.fit(&data, &Unwatched)?;
/// let (best, _) = chains[0].best.as_ref().unwrap();
/// assert_eq!(best.allocation.n_features(), 2);
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct IbpSampler {
    /// gamma, the expected number of features of a row. None: redrawn from its Gamma posterior.
    pub mass: Option<f64>,
    /// s2, the variance of a row about the sum of its features. None: redrawn from its inverse gamma posterior.
    pub noise: Option<f64>,
    /// r2, the variance of the features about 0. None: redrawn from its inverse gamma posterior.
    pub scale: Option<f64>,
    /// Shape and rate of the mass where it is redrawn.
    pub mass_prior: (f64, f64),
    /// Prior of the noise where it is redrawn. None: shape 1 and 0.01 of the mean square of the data about its column
    /// means.
    pub noise_prior: Option<InverseGamma>,
    /// Prior of the scale where it is redrawn. None: shape 1 and 0.1 of the mean square of the data about 0.
    pub scale_prior: Option<InverseGamma>,
    /// Whether the features' values are integrated out. Then chains mix faster, at about the same cost.
    pub collapsed: bool,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Number of chains, each with a random stream of its own.
    pub chains: usize,
    /// Where they begin.
    pub start: IbpStart,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for IbpSampler {
    fn default() -> Self {
        IbpSampler {
            mass: None,
            noise: None,
            scale: None,
            mass_prior: (1.0, 1.0),
            noise_prior: None,
            scale_prior: None,
            collapsed: true,
            schedule: Schedule::default(),
            chains: 1,
            start: IbpStart::default(),
            seed: 0,
            threads: 0,
        }
    }
}

impl IbpSampler {
    /// Errors unless the parameters make sense for this data.
    pub fn check<T: Real>(&self, data: &Data<T>) -> Result<()> {
        self.schedule.check()?;
        if let Some(mass) = self.mass {
            Ibp::new(mass)?;
        }
        let (shape, rate) = self.mass_prior;
        if (Concentration::Gamma { shape, rate }).check().is_err() {
            return Err(Error::argument(
                "mass_prior",
                "a positive finite shape and rate",
                format!("shape {shape} and rate {rate}"),
                "shape 1 and rate 1 are usual",
            ));
        }
        for (name, value) in [("noise", self.noise), ("scale", self.scale)] {
            value.map_or(Ok(()), |value| check_variance(name, value))?;
        }
        if let (Some(noise), Some(scale)) = (self.noise, self.scale) {
            LinearGaussian { noise, scale }.check()?;
        }
        self.noise_prior.map_or(Ok(()), |prior| prior.check("noise_prior"))?;
        self.scale_prior.map_or(Ok(()), |prior| prior.check("scale_prior"))?;
        if self.chains == 0 {
            return Err(Error::argument("chains", "at least 1", 0, "several chains show whether they agree"));
        }
        if data.weights().is_some() {
            return Err(Error::argument(
                "weights",
                "absent for a sampler",
                "row weights",
                "a posterior has no weighted rows; repeat the rows, or use BP-means",
            ));
        }
        match &self.start {
            IbpStart::Random(k) if *k > data.n_rows() => Err(Error::argument(
                "start",
                format!("at most {} random features", data.n_rows()),
                k,
                "more features than rows say nothing; the sampler adds what it needs",
            )),
            IbpStart::Given(allocation) if allocation.n_rows() != data.n_rows() => Err(Error::argument(
                "start",
                format!("an allocation of the {} rows", data.n_rows()),
                format!("one of {} rows", allocation.n_rows()),
                "start from a fit of the same data",
            )),
            _ => Ok(()),
        }
    }

    /// Runs all chains. Stopped by the watch, they keep what they have.
    pub fn fit<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Vec<IbpChain>> {
        fn either(this: &IbpSampler, data: EitherData, watch: &dyn Watch) -> Result<Vec<IbpChain>> {
            either!(data, data => this.fit_on(data, watch))
        }
        either(self, T::either_data(data), watch)
    }

    fn fit_on<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Vec<IbpChain>> {
        self.check(data)?;
        let priors = self.priors(data);
        let workers = if self.chains == 1 { Workers::serial() } else { Workers::new(self.threads) };
        let chains = workers.map(self.chains, |number| {
            let mut rng = stream(self.seed, Stream::Chain(number as u32));
            let state = self.first_state(data, &mut rng)?;
            let law = LinearGaussian { noise: state.noise, scale: state.scale };
            let mut live: Box<dyn LiveFeatures> = match self.collapsed {
                true => Box::new(CollapsedFeatures::new(data, state.allocation, law)?),
                false => Box::new(UncollapsedFeatures::new(data, state.allocation, state.components, law)?),
            };
            let chain = run_chain(
                number,
                live.as_mut(),
                state.mass,
                &priors,
                !self.collapsed,
                self.schedule,
                data,
                &mut rng,
                watch,
            )?;
            let _ = watch.step(&Step::Run { run: number, of: self.chains });
            Ok(chain)
        });
        chains.into_iter().collect()
    }

    /// One sweep of all moves from a state, as a chain makes it; for callers who keep the state themselves, and for
    /// Geweke's joint test.
    ///
    /// Errors when the parameters or the state do not fit the data.
    pub fn step<T: Real>(&self, data: &Data<T>, state: &mut IbpState, rng: &mut Rng) -> Result<()> {
        fn either(this: &IbpSampler, data: EitherData, state: &mut IbpState, rng: &mut Rng) -> Result<()> {
            either!(data, data => this.step_on(data, state, rng))
        }
        either(self, T::either_data(data), state, rng)
    }

    fn step_on<T: Real>(&self, data: &Data<T>, state: &mut IbpState, rng: &mut Rng) -> Result<()> {
        self.check(data)?;
        let (priors, law) = (self.priors(data), LinearGaussian { noise: state.noise, scale: state.scale });
        let (counts, expected) = (state.allocation.counts(), state.allocation.n_features() * data.n_columns());
        let valid = state.allocation.n_rows() == data.n_rows() && counts.iter().all(|count| *count > 0);
        if !valid || (!self.collapsed && state.components.len() != expected) {
            return Err(Error::argument(
                "state",
                format!("features of the {} rows, none empty, with their values", data.n_rows()),
                format!("{} features of {} rows", counts.len(), state.allocation.n_rows()),
                "take it from a chain of the same data",
            ));
        }
        let mut mass = state.mass;
        if self.collapsed {
            let mut live = CollapsedFeatures::new(data, state.allocation.clone(), law)?;
            let _ = advance(&mut live, &mut mass, &priors, false, data, rng, &Unwatched)?;
            *state = self.state_of(&live, mass, live.law().mean_components(live.allocation(), data));
        } else {
            let (allocation, components) = (state.allocation.clone(), state.components.clone());
            let mut live = UncollapsedFeatures::new(data, allocation, components, law)?;
            let _ = advance(&mut live, &mut mass, &priors, true, data, rng, &Unwatched)?;
            *state = self.state_of(&live, mass, live.components().to_vec());
        }
        Ok(())
    }

    fn state_of(&self, live: &dyn LiveFeatures, mass: f64, components: Vec<f64>) -> IbpState {
        let LinearGaussian { noise, scale } = live.law();
        IbpState { allocation: live.allocation().clone(), components, mass, noise, scale }
    }

    fn priors<T: Real>(&self, data: &Data<T>) -> Priors {
        let weak = |share: f64, square: f64| InverseGamma { shape: 1.0, rate: share * square };
        let (about_means, about_zero) = mean_squares(data);
        Priors {
            mass: self.mass.is_none().then_some(self.mass_prior),
            noise: self.noise.is_none().then(|| self.noise_prior.unwrap_or(weak(0.01, about_means))),
            scale: self.scale.is_none().then(|| self.scale_prior.unwrap_or(weak(0.1, about_zero))),
        }
    }

    /// The features of the start; where noise and scale are to be redrawn, the mean squares of its least squares fit
    /// (the noise at least a thousandth of the data's); the mass that this many features suggest.
    fn first_state<T: Real>(&self, data: &Data<T>, rng: &mut Rng) -> Result<IbpState> {
        let (n, d) = (data.n_rows(), data.n_columns());
        let allocation = match &self.start {
            IbpStart::One => Allocation::from_columns(n, &[vec![true; n]]),
            IbpStart::Random(k) => Allocation::from_bools(n, *k, (0..n * k).map(|_| rng.random())),
            IbpStart::Given(allocation) => allocation.clone(),
        };
        let counts = allocation.counts();
        let used: Vec<usize> = (0..counts.len()).filter(|k| counts[*k] > 0).collect();
        let allocation = allocation.select(&used);
        let fit = CollapsedRows::in_the_limit(data, allocation.clone())?;
        let (about_means, about_zero) = mean_squares(data);
        let noise = self.noise.unwrap_or((fit.loss() / (n * d) as f64).max(1e-3 * about_means));
        let size = dot(fit.components(), fit.components()) / fit.components().len().max(1) as f64;
        let scale = self.scale.unwrap_or(if size > 1e-3 * about_zero { size } else { about_zero });
        let (shape, rate) = self.mass_prior;
        let mass = self.mass.unwrap_or((shape + used.len() as f64) / (rate + harmonic(n)));
        let law = match (self.noise, self.scale) {
            (None, _) => LinearGaussian { noise: noise.max(LEAST_RIDGE * scale), scale },
            (Some(noise), None) => LinearGaussian { noise, scale: scale.min(noise / LEAST_RIDGE) },
            (Some(noise), Some(scale)) => LinearGaussian { noise, scale },
        };
        let components = if self.collapsed { vec![] } else { law.draw_components(&allocation, data, rng) };
        Ok(IbpState { allocation, components, mass, noise: law.noise, scale: law.scale })
    }
}

/// The mean square of an entry about its column's mean and about 0; 1 where the data say nothing.
fn mean_squares<T: Real>(data: &Data<T>) -> (f64, f64) {
    let (mut about_means, mut about_zero) = (0.0, 0.0);
    for row in data.rows().iter() {
        for (x, mean) in row.iter().zip(data.reference()) {
            let (x, mean): (f64, f64) = ((*x).into(), (*mean).into());
            about_means += (x - mean) * (x - mean);
            about_zero += x * x;
        }
    }
    let size = (data.n_rows() * data.n_columns()) as f64;
    let about_zero = if about_zero > 0.0 { about_zero / size } else { 1.0 };
    (if about_means > 0.0 { about_means / size } else { about_zero }, about_zero)
}
