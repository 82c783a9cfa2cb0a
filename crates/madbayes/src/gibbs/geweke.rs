//! Geweke's joint test (2004): two ways to draw from the joint distribution must agree, or the sampler is wrong.
//!
//! One way draws the structure from its prior and data from the likelihood, independently each time. The other draws
//! once and then alternates the sampler under test (structure given data) with fresh data (data given structure).

use crate::random::Rng;

/// One statistic seen both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// Its name.
    pub name: &'static str,
    /// Mean over independent draws.
    pub independent: f64,
    /// Mean along the chain.
    pub chain: f64,
    /// Difference in standard errors (the chain's by batch means). Beyond 4 or so, the sampler is wrong.
    pub z: f64,
}

/// A number computed from a state, and its name.
pub type Statistic<S> = (&'static str, fn(&S) -> f64);

/// Batches of the chain whose means are taken as independent.
const BATCHES: usize = 50;

/// Runs the test: `draw` makes a state (structure and data) from the prior, `step` changes it by the sampler under test
/// and then draws new data, `statistics` are what is compared.
pub fn geweke<S>(
    n_draws: usize,
    rng: &mut Rng,
    draw: impl FnMut(&mut Rng) -> S,
    step: impl FnMut(&mut S, &mut Rng),
    statistics: &[Statistic<S>],
) -> Vec<Agreement> {
    let names: Vec<&'static str> = statistics.iter().map(|(name, _)| *name).collect();
    let numbers = |state: &S| statistics.iter().map(|(_, value)| value(state)).collect();
    joint_draws(n_draws, rng, draw, step, &names, numbers).agreements()
}

/// What was seen of every statistic, both ways.
#[derive(Debug, Clone, PartialEq)]
pub struct JointDraws {
    /// Names of the statistics.
    pub names: Vec<&'static str>,
    /// Values of each in independent draws.
    pub independent: Vec<Vec<f64>>,
    /// Values of each along the chain, in order.
    pub chain: Vec<Vec<f64>>,
}

impl JointDraws {
    /// Whether the two ways agree, statistic by statistic.
    pub fn agreements(&self) -> Vec<Agreement> {
        let both = self.independent.iter().zip(&self.chain);
        self.names
            .iter()
            .zip(both)
            .map(|(name, (independent, chain))| Agreement::new(name, independent, chain))
            .collect()
    }
}

impl Agreement {
    /// From what was seen in independent draws and, in order, along the chain.
    pub fn new(name: &'static str, independent: &[f64], chain: &[f64]) -> Self {
        let batches: Vec<f64> = chain.chunks(chain.len().div_ceil(BATCHES).max(1)).map(mean).collect();
        let (a, b) = (mean(independent), mean(chain));
        let error = (squared_error(independent) + squared_error(&batches)).sqrt();
        let z = if a == b { 0.0 } else { (a - b) / error };
        Agreement { name, independent: a, chain: b, z }
    }
}

/// The same with one function for all the numbers, in the order of their names.
pub(super) fn joint_draws<S>(
    n_draws: usize,
    rng: &mut Rng,
    mut draw: impl FnMut(&mut Rng) -> S,
    mut step: impl FnMut(&mut S, &mut Rng),
    names: &[&'static str],
    statistics: impl Fn(&S) -> Vec<f64>,
) -> JointDraws {
    let mut independent = vec![Vec::with_capacity(n_draws); names.len()];
    let mut chain = independent.clone();
    let mut state = draw(rng);
    for _ in 0..n_draws {
        let fresh = draw(rng);
        step(&mut state, rng);
        independent.iter_mut().zip(statistics(&fresh)).for_each(|(values, value)| values.push(value));
        chain.iter_mut().zip(statistics(&state)).for_each(|(values, value)| values.push(value));
    }
    JointDraws { names: names.to_vec(), independent, chain }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The squared standard error of the mean of independent values.
fn squared_error(values: &[f64]) -> f64 {
    let (centre, n) = (mean(values), values.len() as f64);
    values.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / (n - 1.0).max(1.0) / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use rand_distr::{Distribution, Normal};

    /// mu ~ N(0, 1), x ~ N(mu, 1); the right step is mu ~ N(x/2, 1/2). `wrong` moves its mean.
    fn z_scores(wrong: f64) -> Vec<Agreement> {
        let normal = |mean: f64, variance: f64| Normal::new(mean, variance.sqrt()).unwrap();
        geweke(
            20_000,
            &mut stream(1, Stream::Simulation),
            |rng| {
                let mu = normal(0.0, 1.0).sample(rng);
                (mu, normal(mu, 1.0).sample(rng))
            },
            |(mu, x), rng| {
                *mu = normal(*x * (0.5 + wrong), 0.5).sample(rng);
                *x = normal(*mu, 1.0).sample(rng);
            },
            &[("mu", |s: &(f64, f64)| s.0), ("mu squared", |s| s.0 * s.0), ("mu x", |s| s.0 * s.1)],
        )
    }

    #[test]
    fn a_right_sampler_passes_and_a_wrong_one_fails() {
        assert!(z_scores(0.0).iter().all(|a| a.z.abs() < 3.5), "{:?}", z_scores(0.0));
        assert!(z_scores(0.05).iter().any(|a| a.z.abs() > 4.0), "{:?}", z_scores(0.05));
    }
}
