//! Mixtures on tiny data: their exact posterior by enumeration, and Geweke's joint test.

use super::likelihoods::Likelihood;
use madbayes::gibbs::{Agreement, MixtureSampler, MixtureTest, Schedule};
use madbayes::prior::{Concentration, Crp, DirichletMultinomial, PartitionPrior};
use madbayes::special::{ln_gamma, ln_sum_exp};
use madbayes::structure::{CompactPartition, Partition};
use madbayes::watch::Unwatched;
use std::collections::HashMap;

/// The CRP of the tests, its concentration fixed or with a Gamma prior.
pub fn crp(hyperprior: Option<(f64, f64)>, max_groups: Option<usize>) -> PartitionPrior {
    PartitionPrior::Crp {
        concentration: 0.8,
        hyperprior: hyperprior.map_or(Concentration::Fixed, |(shape, rate)| Concentration::Gamma { shape, rate }),
        max_groups,
    }
}

/// The finite alternative with this concentration, fixed or with a Gamma prior.
pub fn finite(components: usize, concentration: f64, hyperprior: Option<(f64, f64)>) -> PartitionPrior {
    let hyperprior = hyperprior.map_or(Concentration::Fixed, |(shape, rate)| Concentration::Gamma { shape, rate });
    PartitionPrior::DirichletMultinomial { components, concentration, hyperprior }
}

/// Log prior of all the partitions: by formula, a concentration integrated over its Gamma(a, b) prior by quadrature, and a
/// largest number of groups as a plain restriction, renormalised for every concentration.
fn ln_priors(all: &[Partition], prior: &PartitionPrior) -> Vec<f64> {
    let (PartitionPrior::Crp { concentration, hyperprior, .. }
    | PartitionPrior::DirichletMultinomial { concentration, hyperprior, .. }) = *prior;
    let at = |ln_concentration: f64| -> Vec<f64> {
        let most = match *prior {
            PartitionPrior::Crp { max_groups, .. } => max_groups.unwrap_or(usize::MAX),
            PartitionPrior::DirichletMultinomial { components, .. } => {
                let ln_theta = ln_concentration - (components as f64).ln();
                let prior = DirichletMultinomial { components, ln_theta };
                return all.iter().map(|p| prior.ln_prob(p)).collect();
            }
        };
        let plain = |p: &Partition| {
            if p.n_groups() <= most { Crp { ln_concentration }.ln_prob(p) } else { f64::NEG_INFINITY }
        };
        let plain: Vec<f64> = all.iter().map(plain).collect();
        let total = ln_sum_exp(&plain);
        plain.iter().map(|p| p - total).collect()
    };
    let Concentration::Gamma { shape: a, rate: b } = hyperprior else { return at(concentration.ln()) };
    let mut sums = vec![0.0; all.len()];
    for i in 0..4000 {
        // Substitution alpha = exp(t), t in [-20, 10].
        let t = -20.0 + 30.0 * (f64::from(i) + 0.5) / 4000.0;
        let density = (a * b.ln() - ln_gamma(a) + (a - 1.0) * t - b * t.exp() + t).exp() * 30.0 / 4000.0;
        sums.iter_mut().zip(at(t)).for_each(|(sum, ln_prob)| *sum += density * ln_prob.exp());
    }
    sums.iter().map(|sum| sum.ln()).collect()
}

/// The probability of every partition that has one.
pub fn exact_posterior(likelihood: Likelihood, n: usize, prior: &PartitionPrior) -> HashMap<Partition, f64> {
    let (all, values): (Vec<Partition>, _) = (Partition::all(n).collect(), likelihood.rows(n));
    let priors = ln_priors(&all, prior);
    let joint: Vec<f64> = all.iter().zip(priors).map(|(p, prior)| prior + likelihood.ln_marginal(&values, p)).collect();
    let total = ln_sum_exp(&joint);
    let posterior = all.into_iter().zip(joint).map(|(p, j)| (p, (j - total).exp()));
    posterior.filter(|(_, probability)| *probability > 0.0).collect()
}

/// Total variation between the exact posterior over all partitions of `n` rows and two chains with so many split-merge
/// proposals after each sweep, and how many partitions there are.
pub fn total_variation(
    likelihood: Likelihood,
    n: usize,
    prior: PartitionPrior,
    split_merge: usize,
    sweeps: usize,
) -> (f64, usize) {
    let exact = exact_posterior(likelihood, n, &prior);
    let schedule = Schedule { sweeps, burn_in: 100, thin: 1 };
    let sampler = MixtureSampler { prior, schedule, split_merge, chains: 2, ..MixtureSampler::default() };
    let mut chains = vec![];
    let fitted = likelihood.with_groups(&likelihood.rows(n), &mut |make_groups| {
        chains = sampler.fit(n, make_groups, &Unwatched)?;
        Ok(())
    });
    fitted.unwrap();
    let draws: Vec<&CompactPartition> = chains.iter().flat_map(|c| &c.draws).collect();
    (distance(&exact, &draws), exact.len())
}

/// Total variation between an exact posterior and draws.
pub fn distance(exact: &HashMap<Partition, f64>, draws: &[&CompactPartition]) -> f64 {
    let mut counts: HashMap<&CompactPartition, f64> = HashMap::new();
    draws.iter().for_each(|p| *counts.entry(p).or_default() += 1.0 / draws.len() as f64);
    let mut distance = 0.0;
    for (partition, probability) in exact {
        distance += (probability - counts.remove(&CompactPartition::from(partition)).unwrap_or(0.0)).abs() / 2.0;
    }
    distance + counts.values().sum::<f64>() / 2.0
}

/// Rows of the joint test, and their columns.
type Table = (Vec<f64>, usize);

/// Numbers of long tails have a mean, and squares, after this.
fn bounded(x: f64) -> f64 {
    x / (1.0 + x.abs())
}

/// Geweke's joint test of a sampler of the mixture of the tests.
pub fn joint_test(likelihood: Likelihood, prior: PartitionPrior, split_merge: usize, n_draws: usize) -> Vec<Agreement> {
    let test = MixtureTest { prior, split_merge, n_rows: 7, n_draws, seed: 3 };
    test.run(
        |partition, rng| (likelihood.draw_rows(partition, rng), likelihood.n_columns()),
        |(values, _): &Table, step| likelihood.with_groups(values, step),
        &[
            ("mean", |(values, _): &Table| values.iter().map(|x| bounded(*x)).sum::<f64>() / values.len() as f64),
            ("square", |(values, _)| values.iter().map(|x| bounded(*x).powi(2)).sum::<f64>() / values.len() as f64),
            ("first times last", |(values, d)| bounded(values[0]) * bounded(values[6 * d])),
            ("first times last column", |(values, d)| {
                values.chunks_exact(*d).map(|row| bounded(row[0]) * bounded(row[d - 1])).sum::<f64>() / 7.0
            }),
        ],
    )
    .unwrap()
}
