//! Mixtures on tiny data: their exact posterior by enumeration, and Geweke's joint test.

use madbayes::data::{Data, Rows};
use madbayes::gibbs::{Agreement, MixtureSampler, MixtureTest, Schedule};
use madbayes::likelihood::{Spherical, SphericalGroups};
use madbayes::prior::{Concentration, Crp, DirichletMultinomial, PartitionPrior};
use madbayes::special::{ln_gamma, ln_sum_exp};
use madbayes::structure::{CompactPartition, Partition};
use madbayes::watch::Unwatched;
use rand_distr::{Distribution, Normal};
use std::collections::HashMap;

/// The likelihood of the tests.
pub fn law(d: usize) -> Spherical {
    Spherical { variance: 0.5, prior_mean: vec![0.4; d], prior_variance: 2.0 }
}

/// Log marginal likelihood of a partition from the joint Gaussian density, one row after the other:
/// independent of the library's formula, which works from sums.
pub fn ln_marginal(values: &[f64], d: usize, law: &Spherical, partition: &Partition) -> f64 {
    let mut total = 0.0;
    for members in partition.members() {
        for j in 0..d {
            let (mut mean, mut variance) = (law.prior_mean[j], law.prior_variance);
            for &n in &members {
                let spread = variance + law.variance;
                let error = values[n * d + j] - mean;
                total += -0.5 * (std::f64::consts::TAU * spread).ln() - error * error / (2.0 * spread);
                mean += variance / spread * error;
                variance *= law.variance / spread;
            }
        }
    }
    total
}

/// The CRP of the tests, its concentration fixed or with a Gamma prior.
pub fn crp(hyperprior: Option<(f64, f64)>, max_groups: Option<usize>) -> PartitionPrior {
    PartitionPrior::Crp {
        concentration: 0.8,
        hyperprior: hyperprior.map_or(Concentration::Fixed, |(shape, rate)| Concentration::Gamma { shape, rate }),
        max_groups,
    }
}

/// Log prior of all the partitions: by formula, a concentration integrated over its Gamma(a, b) prior by quadrature, and a
/// largest number of groups as a plain restriction, renormalised for every concentration.
fn ln_priors(all: &[Partition], prior: &PartitionPrior) -> Vec<f64> {
    let PartitionPrior::Crp { concentration, hyperprior, max_groups } = *prior else {
        let PartitionPrior::DirichletMultinomial { components, theta } = *prior else { unreachable!() };
        let prior = DirichletMultinomial::new(components, theta).unwrap();
        return all.iter().map(|p| prior.ln_prob(p)).collect();
    };
    let at = |ln_concentration: f64| -> Vec<f64> {
        let most = max_groups.unwrap_or(usize::MAX);
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

fn exact_posterior(values: &[f64], d: usize, prior: &PartitionPrior) -> HashMap<Partition, f64> {
    let all: Vec<Partition> = Partition::all(values.len() / d).collect();
    let priors = ln_priors(&all, prior);
    let joint: Vec<f64> = all.iter().zip(priors).map(|(p, prior)| prior + ln_marginal(values, d, &law(d), p)).collect();
    let total = ln_sum_exp(&joint);
    let posterior = all.into_iter().zip(joint).map(|(p, j)| (p, (j - total).exp()));
    posterior.filter(|(_, probability)| *probability > 0.0).collect()
}

/// Total variation between the exact posterior over all partitions and two chains with so many split-merge proposals after
/// each sweep, and how many partitions there are.
pub fn total_variation(
    values: &[f64],
    d: usize,
    prior: PartitionPrior,
    split_merge: usize,
    sweeps: usize,
) -> (f64, usize) {
    let exact = exact_posterior(values, d, &prior);
    let schedule = Schedule { sweeps, burn_in: 100, thin: 1 };
    let sampler = MixtureSampler { prior, schedule, split_merge, chains: 2, ..MixtureSampler::default() };
    let rows = super::data(values, d);
    let chains =
        sampler.fit(rows.n_rows(), &|| Ok(Box::new(SphericalGroups::new(&rows, law(d))?)), &Unwatched).unwrap();
    let draws: Vec<&CompactPartition> = chains.iter().flat_map(|c| &c.draws).collect();
    let mut counts: HashMap<&CompactPartition, f64> = HashMap::new();
    draws.iter().for_each(|p| *counts.entry(p).or_default() += 1.0 / draws.len() as f64);
    let mut distance = 0.0;
    for (partition, probability) in &exact {
        distance += (probability - counts.remove(&CompactPartition::from(partition)).unwrap_or(0.0)).abs() / 2.0;
    }
    (distance + counts.values().sum::<f64>() / 2.0, exact.len())
}

/// Geweke's joint test of a sampler of the mixture of the tests.
pub fn joint_test(prior: PartitionPrior, split_merge: usize, n_draws: usize) -> Vec<Agreement> {
    let test = MixtureTest { prior, split_merge, n_rows: 7, n_draws, seed: 3 };
    test.run(
        |partition, rng| {
            let law = law(1);
            let normal = |mean: f64, variance: f64| Normal::new(mean, variance.sqrt()).unwrap();
            let means: Vec<f64> =
                (0..partition.n_groups()).map(|_| normal(law.prior_mean[0], law.prior_variance).sample(rng)).collect();
            partition.labels().iter().map(|l| normal(means[*l as usize], law.variance).sample(rng)).collect()
        },
        |values: &Vec<f64>, step| {
            let rows = Data::new(Rows::new(values, 1)?)?;
            step(&|| Ok(Box::new(SphericalGroups::new(&rows, law(1))?)))
        },
        &[
            ("mean", |values: &Vec<f64>| values.iter().sum::<f64>() / 7.0),
            ("square", |values| values.iter().map(|x| x * x).sum::<f64>() / 7.0),
            ("first times last", |values| values[0] * values[6]),
        ],
    )
    .unwrap()
}
