//! Geweke's joint test (2004) of the mixture sampler with any likelihood: partition, concentration and rows drawn both ways.

use super::geweke::{Agreement, JointDraws, Statistic, joint_draws};
use super::kernel::{Kernel, MakeGroups};
use super::mixture::SPLIT_MERGE;
use crate::error::{Error, Result};
use crate::prior::PartitionPrior;
use crate::random::{Rng, Stream, stream};
use crate::structure::Partition;
use crate::watch::Unwatched;

/// A joint test of the sampler's step: a likelihood whose `weigh`, `add` or `sub` do not fit its own way to draw rows fails.
///
/// ```
/// use madbayes::data::{Data, Rows};
/// use madbayes::gibbs::MixtureTest;
/// use madbayes::likelihood::{Spherical, SphericalGroups};
/// use rand::RngExt;
/// use rand_distr::StandardNormal;
///
/// let law = Spherical { variance: 0.5, prior_mean: vec![0.0], prior_variance: 2.0 };
/// let test = MixtureTest { n_draws: 2000, ..MixtureTest::default() };
/// let results = test.run(
///     // Rows given a partition: a mean for every group, rows about it.
///     |partition, rng| {
///         let means: Vec<f64> =
///             (0..partition.n_groups()).map(|_| 2f64.sqrt() * rng.sample::<f64, _>(StandardNormal)).collect();
///         let noise = 0.5f64.sqrt();
///         partition.labels().iter().map(|&k| means[k as usize] + noise * rng.sample::<f64, _>(StandardNormal)).collect()
///     },
///     // The likelihood of such rows.
///     |values: &Vec<f64>, step| {
///         let data = Data::new(Rows::new(values, 1)?)?;
///         step(&|| Ok(Box::new(SphericalGroups::new(&data, law.clone())?)))
///     },
///     // What else is compared, of the rows.
///     &[("square", |values: &Vec<f64>| values.iter().map(|x| x * x).sum())],
/// )?;
/// assert!(results.iter().all(|statistic| statistic.z.abs() < 4.0));
/// # Ok::<(), madbayes::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureTest {
    /// The prior over partitions.
    pub prior: PartitionPrior,
    /// Split-merge proposals after each sweep.
    pub split_merge: usize,
    /// Rows: few, so that the chain moves freely.
    pub n_rows: usize,
    /// Draws of either kind.
    pub n_draws: usize,
    /// Seed of all random choices.
    pub seed: u64,
}

impl Default for MixtureTest {
    fn default() -> Self {
        let prior = PartitionPrior::default();
        MixtureTest { prior, split_merge: SPLIT_MERGE, n_rows: 7, n_draws: 40_000, seed: 0 }
    }
}

/// What the step of the test is given: how to make the likelihood of the present rows.
pub type TestStep<'s> = dyn for<'a, 'g> FnMut(MakeGroups<'a, 'g>) -> Result<()> + 's;

struct Joint<D> {
    partition: Partition,
    concentration: f64,
    rows: D,
}

impl MixtureTest {
    /// Runs it: `draw_rows` draws rows given a partition, `with_groups` makes their likelihood and calls the step with it
    /// (once; a likelihood borrows its rows, hence the detour), `statistics` are compared beside those of the partition.
    pub fn run<D>(
        &self,
        draw_rows: impl Fn(&Partition, &mut Rng) -> D,
        with_groups: impl Fn(&D, &mut TestStep) -> Result<()>,
        statistics: &[Statistic<D>],
    ) -> Result<Vec<Agreement>> {
        Ok(self.draws(draw_rows, with_groups, statistics)?.agreements())
    }

    /// The same, with all that was seen.
    pub fn draws<D>(
        &self,
        draw_rows: impl Fn(&Partition, &mut Rng) -> D,
        with_groups: impl Fn(&D, &mut TestStep) -> Result<()>,
        statistics: &[Statistic<D>],
    ) -> Result<JointDraws> {
        self.prior.check()?;
        if self.n_draws < 2 {
            let help = "tens of thousands find small errors";
            return Err(Error::argument("n_draws", "at least 2", self.n_draws, help));
        }
        if self.n_rows < 2 {
            let help = "one row has only one partition";
            return Err(Error::argument("n_rows", "at least 2", self.n_rows, help));
        }
        let draw = |rng: &mut Rng| {
            let (partition, concentration) = self.prior.sample(self.n_rows, rng);
            Joint { rows: draw_rows(&partition, rng), partition, concentration }
        };
        let mut failed = Ok(());
        let step = |joint: &mut Joint<D>, rng: &mut Rng| {
            let Joint { partition, concentration, rows } = joint;
            let stepped = with_groups(rows, &mut |make_groups| {
                let ln_concentration = concentration.ln();
                let labels = partition.labels();
                let mut kernel = Kernel::new(labels, &self.prior, ln_concentration, self.split_merge, make_groups)?;
                let _ = kernel.step(rng, &Unwatched);
                *partition = Partition::from_labels(kernel.labels.to_vec());
                *concentration = kernel.ln_concentration().exp();
                Ok(())
            });
            if failed.is_ok() {
                failed = stepped;
            }
            *rows = draw_rows(partition, rng);
        };
        let own = ["groups", "first two together", "largest group", "concentration", "concentration times groups"];
        let names: Vec<&'static str> = own.into_iter().chain(statistics.iter().map(|(name, _)| *name)).collect();
        let numbers = |joint: &Joint<D>| {
            let Joint { partition, concentration, rows } = joint;
            let groups = partition.n_groups() as f64;
            let together = f64::from(partition.labels()[1] == 0);
            let largest = partition.sizes().iter().max().map_or(0.0, |&size| size as f64);
            let own = [groups, together, largest, *concentration, concentration * groups];
            own.into_iter().chain(statistics.iter().map(|(_, value)| value(rows))).collect()
        };
        let results =
            joint_draws(self.n_draws, &mut stream(self.seed, Stream::Simulation), draw, step, &names, numbers);
        failed.map(|()| results)
    }
}
