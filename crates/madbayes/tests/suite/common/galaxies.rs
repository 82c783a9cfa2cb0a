//! The 82 galaxy velocities of Roeder (1990), and how many clusters a mixture finds in them under a given prior.

use madbayes::gibbs::{ChainStart, MixtureSampler, Schedule, split_r_hat};
use madbayes::likelihood::{Diagonal, DiagonalGroups, Full, FullGroups, Groups};
use madbayes::prior::{Concentration, PartitionPrior};
use madbayes::watch::Unwatched;
use std::path::PathBuf;

/// Velocities in 1000 km/s; says visibly when the shared data are not there.
pub fn velocities() -> Option<Vec<f64>> {
    // The tests and the studies lie at different depths below the project.
    let project = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut folders = project.ancestors().map(|folder| folder.join("shared/data/clustering/galaxies.csv"));
    let Some(text) = folders.find_map(|path| std::fs::read_to_string(path).ok()) else {
        eprintln!("SKIPPED: ../shared/data/clustering/galaxies.csv is not here");
        return None;
    };
    Some(text.lines().skip(1).map(|line| line.trim().parse::<f64>().unwrap() / 1000.0).collect())
}

/// A prior of the study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Whether the columns' variances are separate: with one column the law is the same, its code is not.
    pub diagonal: bool,
    /// Root of the prior mean of a cluster's variance, in 1000 km/s.
    pub spread: f64,
    /// k0.
    pub strength: f64,
    /// v0, above 2.
    pub dof: f64,
    /// alpha; none: Gamma(1, 1).
    pub concentration: Option<f64>,
}

impl Default for Prior {
    /// Weak, as the library has it, and clusters of 1000 km/s.
    fn default() -> Self {
        Prior { diagonal: false, spread: 1.0, strength: 0.01, dof: 3.0, concentration: None }
    }
}

/// What chains say of the number of clusters.
pub struct Clusters {
    /// Probability of 1, 2, ... clusters.
    pub probabilities: Vec<f64>,
    /// Mean.
    pub mean: f64,
    /// R-hat of the number of clusters over the chains.
    pub r_hat: f64,
}

/// The number of clusters by two chains from one cluster and two from 20 random ones.
pub fn number_of_clusters(velocities: &[f64], prior: Prior, sweeps: usize) -> Clusters {
    let data = super::data(velocities, 1);
    let mean = velocities.iter().sum::<f64>() / velocities.len() as f64;
    // The mean of the variance is P0 / (v0 - 2).
    let (prior_mean, prior_scale) = (vec![mean], vec![prior.spread.powi(2) * (prior.dof - 2.0)]);
    let (prior_strength, prior_dof) = (prior.strength, prior.dof);
    let make_groups = || -> madbayes::Result<Box<dyn Groups + '_>> {
        let (prior_mean, prior_scale) = (prior_mean.clone(), prior_scale.clone());
        Ok(if prior.diagonal {
            Box::new(DiagonalGroups::new(&data, Diagonal { prior_mean, prior_strength, prior_dof, prior_scale })?)
        } else {
            Box::new(FullGroups::new(&data, Full { prior_mean, prior_strength, prior_dof, prior_scale })?)
        })
    };
    let hyperprior = match prior.concentration {
        None => Concentration::Gamma { shape: 1.0, rate: 1.0 },
        Some(_) => Concentration::Fixed,
    };
    let concentration = prior.concentration.unwrap_or(1.0);
    let mut traces: Vec<Vec<f64>> = vec![];
    for (seed, start) in (0..).zip([ChainStart::One, ChainStart::Random(20)]) {
        let sampler = MixtureSampler {
            prior: PartitionPrior::Crp { concentration, hyperprior, max_groups: None },
            schedule: Schedule { sweeps, burn_in: sweeps / 10, thin: 1 },
            chains: 2,
            start,
            seed,
            ..MixtureSampler::default()
        };
        let chains = sampler.fit(velocities.len(), &make_groups, &Unwatched).unwrap();
        let kept = |trace: &[usize]| trace[sweeps / 10..].iter().map(|&k| k as f64).collect();
        traces.extend(chains.iter().map(|chain| kept(&chain.n_groups)));
    }
    let all: Vec<f64> = traces.concat();
    let most = all.iter().copied().fold(0.0, f64::max) as usize;
    let mut probabilities = vec![0.0; most];
    all.iter().for_each(|&k| probabilities[k as usize - 1] += 1.0 / all.len() as f64);
    Clusters {
        probabilities,
        mean: all.iter().sum::<f64>() / all.len() as f64,
        r_hat: split_r_hat(&traces.iter().map(Vec::as_slice).collect::<Vec<_>>()),
    }
}
