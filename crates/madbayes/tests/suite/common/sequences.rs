//! The prior of state sequences by enumeration: tables and overrides summed out, then the states' weights by their moments.

use super::likelihoods::Likelihood;
use madbayes::gibbs::{Agreement, HmmDraw, HmmKernel, HmmMethod, HmmSampler, Schedule, Statistic, geweke};
use madbayes::prior::{Hdp, HdpValues, StateWeights};
use madbayes::random::{Rng, Stream, stream};
use madbayes::special::{ln_factorial, ln_gamma, ln_sum_exp};
use madbayes::structure::{CompactPartition, Partition, Sequences};
use madbayes::watch::Unwatched;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;

/// |s(n, m)|: ways to put n customers in m circles.
fn stirling(n: usize, m: usize) -> f64 {
    match (n, m) {
        (0, 0) => 1.0,
        (0, _) | (_, 0) => 0.0,
        _ => (n - 1) as f64 * stirling(n - 1, m) + stirling(n - 1, m - 1),
    }
}

/// log p(z): with n_jk transitions, the product over rows j of Gamma(a_j)/Gamma(a_j + n_j.) times the product over cells of the
/// rising factorial of alpha beta_k + kappa [j = k], as a polynomial in beta, each power replaced by its mean.
pub fn ln_prior(hdp: &Hdp, partition: &Partition, sequences: &Sequences) -> f64 {
    let (k, values) = (partition.n_groups(), hdp.values);
    let mut counts = vec![vec![0usize; k]; k + 1];
    for rows in sequences.ranges() {
        let mut from = 0;
        for row in rows {
            let to = partition.labels()[row] as usize;
            counts[from][to] += 1;
            from = to + 1;
        }
    }
    let mut ln_rows = 0.0;
    let mut polynomial = HashMap::from([(vec![0usize; k], 1.0f64)]);
    for (from, cells) in counts.iter().enumerate() {
        let (a, alpha) = match from {
            0 => (values.start, values.start),
            _ => (values.concentration, values.alpha()),
        };
        ln_rows += ln_gamma(a) - ln_gamma(a + cells.iter().sum::<usize>() as f64);
        for (to, &n) in cells.iter().enumerate().filter(|(_, n)| **n > 0) {
            let kappa = if from == to + 1 { values.kappa() } else { 0.0 };
            let mut product: HashMap<Vec<usize>, f64> = HashMap::new();
            for (powers, factor) in &polynomial {
                for m in 1..=n {
                    for own in 0..=m {
                        let ways = (ln_factorial(m) - ln_factorial(own) - ln_factorial(m - own)).exp();
                        let term = stirling(n, m) * ways * kappa.powi(own as i32) * alpha.powi((m - own) as i32);
                        let mut powers = powers.clone();
                        powers[to] += m - own;
                        *product.entry(powers).or_default() += factor * term;
                    }
                }
            }
            polynomial = product;
        }
    }
    let terms: Vec<f64> = polynomial
        .into_iter()
        .filter(|(_, factor)| *factor > 0.0)
        .map(|(powers, factor)| factor.ln() + ln_moment(hdp, &powers))
        .collect();
    ln_rows + ln_sum_exp(&terms)
}

/// log of the mean of prod_k beta_k^e_k, summed over all choices of K different states.
fn ln_moment(hdp: &Hdp, powers: &[usize]) -> f64 {
    let (gamma, k) = (hdp.values.gamma, powers.len());
    let total: usize = powers.iter().sum();
    let ln_all = ln_gamma(gamma) - ln_gamma(gamma + total as f64);
    match hdp.max_states {
        None => ln_all + powers.iter().map(|&e| gamma.ln() + ln_gamma(e as f64)).sum::<f64>(),
        Some(most) if k > most => f64::NEG_INFINITY,
        Some(most) => {
            let each = gamma / most as f64;
            let choices = ln_factorial(most) - ln_factorial(most - k);
            ln_all + choices + powers.iter().map(|&e| ln_gamma(each + e as f64) - ln_gamma(each)).sum::<f64>()
        }
    }
}

/// The exact posterior over all ways to share states among the rows.
pub fn exact_posterior(likelihood: Likelihood, hdp: &Hdp, sequences: &Sequences) -> HashMap<CompactPartition, f64> {
    let n = sequences.n_rows();
    let values = likelihood.rows(n);
    let all: Vec<Partition> = Partition::all(n).collect();
    let joint: Vec<f64> =
        all.iter().map(|p| ln_prior(hdp, p, sequences) + likelihood.ln_marginal(&values, p)).collect();
    let total = ln_sum_exp(&joint);
    all.iter().zip(joint).map(|(p, j)| (CompactPartition::from(p), (j - total).exp())).collect()
}

/// Total variation between the exact posterior and two chains with so many split-merge proposals after each sweep.
pub fn total_variation(
    likelihood: Likelihood,
    prior: Hdp,
    lengths: &[usize],
    method: HmmMethod,
    split_merge: usize,
    sweeps: usize,
) -> f64 {
    let sequences = Sequences::new(lengths, lengths.iter().sum()).unwrap();
    let mut exact = exact_posterior(likelihood, &prior, &sequences);
    let schedule = Schedule { sweeps, burn_in: 100, thin: 1 };
    let sampler = HmmSampler { prior, method, schedule, split_merge, chains: 2, ..HmmSampler::default() };
    let mut chains = vec![];
    likelihood
        .with_emissions(&likelihood.rows(sequences.n_rows()), &mut |make| {
            chains = sampler.fit(&sequences, make, &Unwatched)?;
            Ok(())
        })
        .unwrap();
    let draws: Vec<HmmDraw> = chains.into_iter().flat_map(|chain| chain.draws).collect();
    for draw in &draws {
        *exact.entry(draw.states.clone()).or_default() -= 1.0 / draws.len() as f64;
    }
    exact.values().map(|difference| difference.abs() / 2.0).sum()
}

/// States, their weights, the prior's numbers, rows.
pub struct Joint {
    states: Vec<u32>,
    weights: StateWeights,
    values: HdpValues,
    rows: Vec<f64>,
}

fn bounded(x: f64) -> f64 {
    x / (1.0 + x.abs())
}

fn n_states(joint: &Joint) -> f64 {
    joint.weights.states.len() as f64
}

fn stays(joint: &Joint) -> f64 {
    joint.states.windows(2).filter(|pair| pair[0] == pair[1]).count() as f64
}

/// Geweke's joint test of the sampler: states, weights, the prior's numbers and rows drawn both ways.
pub fn joint_test(
    likelihood: Likelihood,
    prior: Hdp,
    lengths: &[usize],
    method: HmmMethod,
    n_draws: usize,
) -> Vec<Agreement> {
    let sequences = Sequences::new(lengths, lengths.iter().sum()).unwrap();
    let draw = |rng: &mut Rng| {
        let values = prior.sample_values(rng);
        let (states, weights) = prior.sample(&values, &sequences, rng);
        let rows = likelihood.draw_rows(&Partition::from_labels(&states), rng);
        Joint { states, weights, values, rows }
    };
    let step = |joint: &mut Joint, rng: &mut Rng| {
        let sticks = Rng::seed_from_u64(rng.random());
        let Joint { states, weights, values, rows } = joint;
        likelihood
            .with_emissions(rows, &mut |make| {
                let (prior, weighted) = ((prior, *values), Some(weights.clone()));
                let mut kernel = HmmKernel::new(states, prior, weighted, &sequences, sticks.clone(), method, make)?;
                let _ = kernel.step(rng, &Unwatched);
                *states = kernel.states();
                (*weights, *values) = (kernel.seats().weights(), *kernel.seats().values());
                Ok(())
            })
            .unwrap();
        joint.rows = likelihood.draw_rows(&Partition::from_labels(&joint.states), rng);
    };
    let statistics: &[Statistic<Joint>] = &[
        ("states", n_states),
        ("stays", stays),
        ("first and last alike", |j| f64::from(j.states[0] == j.states[j.states.len() - 1])),
        ("weight of the first", |j| j.weights.states[j.states[0] as usize]),
        ("weight left", |j| j.weights.new),
        ("concentration", |j| j.values.concentration),
        ("concentration times states", |j| j.values.concentration * n_states(j)),
        ("gamma", |j| j.values.gamma),
        ("gamma times states", |j| j.values.gamma * n_states(j)),
        ("start", |j| j.values.start),
        ("share", |j| j.values.share),
        ("share times stays", |j| j.values.share * stays(j)),
        ("mean", |j| j.rows.iter().map(|x| bounded(*x)).sum::<f64>() / j.rows.len() as f64),
        ("square", |j| j.rows.iter().map(|x| bounded(*x).powi(2)).sum::<f64>() / j.rows.len() as f64),
        ("first times last", |j| bounded(j.rows[0]) * bounded(j.rows[j.rows.len() - 1])),
    ];
    geweke(n_draws, &mut stream(5, Stream::Simulation), draw, step, statistics)
}
