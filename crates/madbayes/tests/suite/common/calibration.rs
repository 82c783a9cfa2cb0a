//! Simulation-based calibration (Talts et al. 2018) of the mixture sampler: the rank of the truth among its draws is even.

use super::likelihoods::Likelihood;
use madbayes::gibbs::{MixtureSampler, Schedule};
use madbayes::parallel::Workers;
use madbayes::prior::{Concentration, Crp, PartitionPrior};
use madbayes::random::{Stream, stream};
use madbayes::watch::Unwatched;
use rand::RngExt;

/// Draws of each chain; with the truth among them there are as many ranks and one more.
const DRAWS: usize = 19;
/// The chi-square statistic of 20 equal bins that an even rank exceeds once in a thousand.
pub const LIMIT: f64 = 43.82;

/// How often the truth had each rank, and how far that is from even.
pub struct Calibration {
    /// What was ranked.
    pub name: &'static str,
    /// Data sets by rank.
    pub counts: [usize; DRAWS + 1],
    /// Chi-square statistic of these counts.
    pub statistic: f64,
}

/// The default sampler on data sets drawn from its own model: the number of groups, the log joint and the concentration of
/// the truth among `DRAWS` draws `thin` sweeps apart.
pub fn calibration(likelihood: Likelihood, n_rows: usize, data_sets: usize, thin: usize) -> [Calibration; 3] {
    let ranks = Workers::new(0).map(data_sets, |seed| ranks(likelihood, n_rows, thin, seed as u64));
    let mut results = ["clusters", "log joint", "concentration"].map(|name| Calibration {
        name,
        counts: [0; DRAWS + 1],
        statistic: 0.0,
    });
    let expected = data_sets as f64 / (DRAWS + 1) as f64;
    for (which, result) in results.iter_mut().enumerate() {
        ranks.iter().for_each(|ranks| result.counts[ranks[which]] += 1);
        result.statistic = result.counts.iter().map(|&count| (count as f64 - expected).powi(2) / expected).sum();
    }
    results
}

/// The ranks of one data set. Ties (the number of groups) are broken by lot.
fn ranks(likelihood: Likelihood, n_rows: usize, thin: usize, seed: u64) -> [usize; 3] {
    let schedule = Schedule { sweeps: thin * (DRAWS + 5), burn_in: thin * 5, thin };
    let sampler = MixtureSampler { schedule, seed, ..MixtureSampler::default() };
    let PartitionPrior::Crp { hyperprior: Concentration::Gamma { shape: 1.0, rate: 1.0 }, .. } = sampler.prior else {
        unreachable!("the default has a Gamma(1, 1) concentration")
    };
    let mut rng = stream(seed, Stream::Simulation);
    let (partition, concentration) = sampler.prior.sample(n_rows, &mut rng);
    let values = likelihood.draw_rows(&partition, &mut rng);
    let ln_joint = Crp::new(concentration).unwrap().ln_prob(&partition) - concentration
        + likelihood.ln_marginal(&values, &partition);
    let mut chains = vec![];
    let fitted = likelihood.with_groups(&values, &mut |make_groups| {
        chains = sampler.fit(n_rows, make_groups, &Unwatched)?;
        Ok(())
    });
    fitted.unwrap();
    let chain = chains.remove(0);
    let clusters: Vec<f64> = chain.n_groups.iter().map(|&k| k as f64).collect();
    let traces =
        [(partition.n_groups() as f64, &clusters), (ln_joint, &chain.ln_joint), (concentration, &chain.concentration)];
    traces.map(|(truth, trace)| {
        let drawn: Vec<f64> = trace.iter().copied().skip(schedule.burn_in).step_by(thin).collect();
        assert_eq!(drawn.len(), DRAWS);
        let below = drawn.iter().filter(|&&value| value < truth).count();
        let equal = drawn.iter().filter(|&&value| value == truth).count();
        below + rng.random_range(0..=equal)
    })
}
