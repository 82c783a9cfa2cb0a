//! A Dirichlet process mixture from data alone: priors from the data's scale, chains started from DP-means, and an answer.

use super::MixtureModel;
use crate::data::{Data, Real};
use crate::error::Result;
use crate::gibbs::{Chain, ChainStart, CrpMixture, Loss, Schedule, certainty, point_estimate, split_r_hat};
use crate::hard::{Clustering, DpMeans};
use crate::likelihood::Spherical;
use crate::prior::{Concentration, Crp};
use crate::select::automatic_penalty;
use crate::structure::{CompactPartition, Partition};
use crate::watch::{Silently, Watch};

/// Where the chains begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixtureStart {
    /// From a DP-means clustering, which is close to the answer already.
    #[default]
    DpMeans,
    /// All rows in one group.
    One,
    /// Rows at random in as many groups as the prior expects.
    Random,
}

/// A mixture of spherical Gaussians whose number of components is not known. What is `None` comes from the data.
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
#[derive(Debug, Clone, PartialEq)]
pub struct DpMixture {
    /// Variance of a row about its group's mean; none: that within the clusters of DP-means.
    pub variance: Option<f64>,
    /// Mean of the groups' means; none: the mean of the rows.
    pub prior_mean: Option<Vec<f64>>,
    /// Variance of the groups' means about it; none: the mean variance of the columns.
    pub prior_variance: Option<f64>,
    /// alpha; none: redrawn with its Gamma(1, 1) prior.
    pub concentration: Option<f64>,
    /// Length, burn-in and thinning of each chain.
    pub schedule: Schedule,
    /// Number of chains.
    pub chains: usize,
    /// Where they begin.
    pub start: MixtureStart,
    /// Seed of all random choices.
    pub seed: u64,
    /// Threads; 0: one per processor.
    pub threads: usize,
}

impl Default for DpMixture {
    fn default() -> Self {
        DpMixture {
            variance: None,
            prior_mean: None,
            prior_variance: None,
            concentration: None,
            schedule: Schedule { sweeps: 1000, burn_in: 500, thin: 5 },
            chains: 2,
            start: MixtureStart::default(),
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
    /// The partition of least expected variation of information.
    pub estimate: Partition,
    /// How sure each row's cluster is.
    pub certainty: Vec<f64>,
    /// R-hat of the number of groups, of the log joint and of the concentration, after the burn-in.
    pub r_hat: [f64; 3],
    /// What they say of new rows.
    pub model: MixtureModel,
    /// Whether the watch stopped it.
    pub stopped: bool,
}

impl DpMixture {
    /// Runs the chains and sums them up.
    pub fn fit<T: Real>(&self, data: &Data<T>, columns: Vec<String>, watch: &dyn Watch) -> Result<MixtureFit> {
        // Parameters are checked before the work they would spoil.
        self.sampler(data, None, ChainStart::One).check(data)?;
        let hard = match (self.start, self.variance) {
            (MixtureStart::DpMeans, _) | (_, None) => Some(self.dp_means(data, &Silently(watch))?),
            _ => None,
        };
        let start = match (&hard, self.start) {
            (Some(fit), MixtureStart::DpMeans) => ChainStart::Given(Partition::from_labels(fit.labels.iter())),
            (_, MixtureStart::Random) => {
                let expected = Crp::new(self.concentration.unwrap_or(1.0))?.expected_groups(data.n_rows());
                ChainStart::Random((expected.round() as usize).clamp(1, data.n_rows()))
            }
            _ => ChainStart::One,
        };
        let sampler = self.sampler(data, hard.as_ref(), start);
        let mut chains = sampler.fit(data, watch)?;
        let stopped = chains.iter().any(|chain| chain.stopped);
        chains.retain(|chain| !chain.n_groups.is_empty());
        // Stopped in the burn-in: the best state there is stands for the draws.
        if chains.iter().all(|chain| chain.draws.is_empty()) {
            let first = match &sampler.start {
                ChainStart::Given(partition) => partition.clone(),
                _ => Partition::from_labels(vec![0; data.n_rows()]),
            };
            let best = chains.iter().filter_map(|chain| chain.best.clone()).max_by(|a, b| a.1.total_cmp(&b.1));
            let estimate = best.map_or(first, |(partition, _)| partition);
            let draws = [(&CompactPartition::from(&estimate), sampler.concentration)];
            let model = MixtureModel::new(data, sampler.likelihood, &draws, &estimate, columns, self.seed);
            let certainty = vec![f64::NAN; data.n_rows()];
            return Ok(MixtureFit { chains, estimate, certainty, r_hat: [f64::NAN; 3], model, stopped });
        }
        let draws: Vec<(&CompactPartition, f64)> = chains.iter().flat_map(|chain| self.drawn(chain)).collect();
        let partitions: Vec<&CompactPartition> = draws.iter().map(|(draw, _)| *draw).collect();
        let estimate = point_estimate(&partitions, Loss::default(), watch);
        let certainty = certainty(&estimate, &partitions);
        let model = MixtureModel::new(data, sampler.likelihood, &draws, &estimate, columns, self.seed);
        let r_hat = self.agreement(&chains);
        Ok(MixtureFit { chains, estimate, certainty, r_hat, model, stopped })
    }

    /// Each draw of a chain with the concentration it came with.
    fn drawn<'a>(&self, chain: &'a Chain) -> impl Iterator<Item = (&'a CompactPartition, f64)> {
        let kept = chain.concentration[self.schedule.burn_in.min(chain.concentration.len())..].iter();
        chain.draws.iter().zip(kept.step_by(self.schedule.thin).copied())
    }

    fn agreement(&self, chains: &[Chain]) -> [f64; 3] {
        let r_hat = |trace: &dyn Fn(&Chain) -> Vec<f64>| {
            let kept: Vec<Vec<f64>> = chains
                .iter()
                .map(|chain| trace(chain).split_off(self.schedule.burn_in.min(chain.n_groups.len())))
                .collect();
            split_r_hat(&kept.iter().map(Vec::as_slice).collect::<Vec<_>>())
        };
        [
            r_hat(&|chain| chain.n_groups.iter().map(|&k| k as f64).collect()),
            r_hat(&|chain| chain.ln_joint.clone()),
            r_hat(&|chain| chain.concentration.clone()),
        ]
    }

    /// DP-means at the penalty the data suggest.
    fn dp_means<T: Real>(&self, data: &Data<T>, watch: &dyn Watch) -> Result<Clustering> {
        let parameters = DpMeans { seed: self.seed, threads: self.threads, ..DpMeans::default() };
        let penalty = automatic_penalty(data, &parameters, watch)?;
        DpMeans { goal: crate::hard::Goal::Penalty { penalty, max_clusters: None }, ..parameters }.fit(data, watch)
    }

    /// The sampler with all that was left open filled in from the data and a hard clustering of it.
    fn sampler<T: Real>(&self, data: &Data<T>, hard: Option<&Clustering>, start: ChainStart) -> CrpMixture {
        let (mean, column_variance) = moments(data);
        // Equal rows have no scale: any will do.
        let spread = if column_variance > 0.0 { column_variance } else { 1.0 };
        let within = hard.map(|fit| {
            let freedom = (data.n_rows() - fit.n_clusters()).max(1) * data.n_columns();
            fit.loss() / freedom as f64
        });
        // Clusters of equal rows would have no variance; a ten-thousandth of the whole is small enough.
        let within = within.filter(|&v| v > 1e-4 * spread).unwrap_or(1e-4 * spread);
        let likelihood = Spherical {
            variance: self.variance.unwrap_or(within),
            prior_mean: self.prior_mean.clone().unwrap_or(mean),
            prior_variance: self.prior_variance.unwrap_or(spread),
        };
        CrpMixture {
            concentration: self.concentration.unwrap_or(1.0),
            hyperprior: match self.concentration {
                Some(_) => Concentration::Fixed,
                None => Concentration::Gamma { shape: 1.0, rate: 1.0 },
            },
            schedule: self.schedule,
            chains: self.chains,
            start,
            seed: self.seed,
            threads: self.threads,
            ..CrpMixture::new(likelihood)
        }
    }
}

/// The mean of the rows, and the mean over columns of their variance.
fn moments<T: Real>(data: &Data<T>) -> (Vec<f64>, f64) {
    let n = data.n_rows() as f64;
    let mut sums = vec![0.0; data.n_columns()];
    data.rows().iter().for_each(|row| crate::linalg::add_offset_row(&mut sums, row, data.reference(), 1.0));
    let mean: Vec<f64> = sums.iter().zip(data.reference()).map(|(sum, &r)| sum / n + r.into()).collect();
    let square = |row: &[T]| row.iter().zip(&mean).map(|(&x, m)| (x.into() - m).powi(2)).sum::<f64>();
    let squares: f64 = data.rows().iter().map(square).sum();
    (mean, squares / (n * data.n_columns() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::metrics::adjusted_rand_index;
    use crate::simulate::GaussianMixture;
    use crate::watch::{Step, Unwatched};
    use rstest::rstest;
    use std::ops::ControlFlow;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn short(start: MixtureStart) -> DpMixture {
        DpMixture { schedule: Schedule { sweeps: 200, burn_in: 100, thin: 2 }, start, ..DpMixture::default() }
    }

    #[rstest]
    #[case(MixtureStart::DpMeans)]
    #[case(MixtureStart::One)]
    #[case(MixtureStart::Random)]
    fn clear_clusters_are_found_from_every_start_with_nothing_given(#[case] start: MixtureStart) {
        let recipe = GaussianMixture { n_rows: 200, n_clusters: 4, separation: 9.0, ..GaussianMixture::default() };
        let sample = recipe.sample(3).unwrap();
        let data = Data::new(Rows::new(&sample.values, 2).unwrap()).unwrap();
        let fit = short(start).fit(&data, vec!["a".into(), "b".into()], &Unwatched).unwrap();
        let truth = Partition::from_labels(sample.labels);
        assert!(adjusted_rand_index(&truth, &fit.estimate).unwrap() > 0.98);
        assert!((0.7..1.4).contains(&fit.model.likelihood.variance), "{}", fit.model.likelihood.variance);
        assert!(fit.certainty.iter().all(|c| (0.3..=1.0).contains(c)));
        assert_eq!(fit.chains.iter().map(|chain| chain.draws.len()).collect::<Vec<_>>(), [50, 50]);
        let (labels, _) = fit.model.assign(data.rows(), &crate::parallel::Workers::serial()).unwrap();
        assert!(adjusted_rand_index(&fit.estimate, &Partition::from_labels(labels)).unwrap() > 0.98);
    }

    #[test]
    fn degenerate_data_have_an_answer() {
        for values in [vec![3.0], vec![3.0; 6], vec![1.0, 2.0], vec![0.0, 0.0, 0.0, 1e12]] {
            let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
            let fit = short(MixtureStart::DpMeans).fit(&data, vec!["x".into()], &Unwatched).unwrap();
            assert_eq!(fit.estimate.n_rows(), values.len());
            assert!(fit.certainty.iter().all(|c| c.is_finite()));
        }
    }

    /// Stops at the given pass.
    struct StopAt(usize, AtomicUsize);

    impl Watch for StopAt {
        fn step(&self, step: &Step) -> ControlFlow<()> {
            let passes = match step {
                Step::Pass { .. } => self.1.fetch_add(1, Ordering::Relaxed) + 1,
                _ => self.1.load(Ordering::Relaxed),
            };
            if passes >= self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        }
    }

    #[rstest]
    #[case::before_anything(0)]
    #[case::in_the_burn_in(50)]
    #[case::after_it(150)]
    fn a_stopped_fit_keeps_what_it_has(#[case] passes: usize) {
        let values: Vec<f64> = (0..40).map(|i| f64::from(i % 2) * 20.0 + f64::from(i) * 0.01).collect();
        let data = Data::new(Rows::new(&values, 1).unwrap()).unwrap();
        let sampler = DpMixture { chains: 1, threads: 1, ..short(MixtureStart::DpMeans) };
        let fit = sampler.fit(&data, vec!["x".into()], &StopAt(passes, AtomicUsize::new(0))).unwrap();
        assert!(fit.stopped);
        assert_eq!(fit.estimate.n_rows(), 40);
        assert!(fit.model.assign(data.rows(), &crate::parallel::Workers::serial()).is_ok());
    }
}
