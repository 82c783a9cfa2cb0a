//! The priors over partitions that a mixture can have, as one choice: CRP (Broderick 2013, Eq. 1), the same with a largest
//! number of groups, or Dirichlet-multinomial (Eq. 11).

use super::concentration::draw_gamma;
use super::{Concentration, Crp, CrpSeats, DirichletMultinomial, DirichletMultinomialSeats, Seats};
use crate::error::{Error, Result};
use crate::random::Rng;
use crate::structure::Partition;

/// How rows fall into groups before anything is known of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartitionPrior {
    /// The Chinese restaurant process: any number of groups, or at most `max_groups`.
    ///
    /// A largest number restricts the process to partitions of at most so many groups and renormalises it; it does not
    /// become the Dirichlet-multinomial, whose groups are less unequal.
    Crp {
        /// alpha, to begin with where it is redrawn.
        concentration: f64,
        /// Whether it stays fixed or is redrawn from its Gamma posterior.
        hyperprior: Concentration,
        /// No more groups than this.
        max_groups: Option<usize>,
    },
    /// Weights of a fixed number of components from a symmetric Dirichlet; components without rows are not groups.
    DirichletMultinomial {
        /// Number of components: no more groups than this.
        components: usize,
        /// alpha: each component has alpha / components, so that many components are close to a CRP of this concentration.
        /// To begin with where it is redrawn.
        concentration: f64,
        /// Whether it stays fixed or is redrawn from its posterior with a Gamma prior.
        hyperprior: Concentration,
    },
}

impl Default for PartitionPrior {
    /// A CRP with a concentration redrawn under its Gamma(1, 1) prior.
    fn default() -> Self {
        PartitionPrior::Crp {
            concentration: 1.0,
            hyperprior: Concentration::Gamma { shape: 1.0, rate: 1.0 },
            max_groups: None,
        }
    }
}

impl PartitionPrior {
    /// Errors unless its numbers make sense.
    pub fn check(&self) -> Result<()> {
        match *self {
            PartitionPrior::Crp { concentration, hyperprior, max_groups } => {
                Crp::new(concentration)?;
                hyperprior.check()?;
                if max_groups == Some(0) {
                    let help = "leave it out for as many as the data want";
                    return Err(Error::argument("max_clusters", "at least 1", 0, help));
                }
                Ok(())
            }
            PartitionPrior::DirichletMultinomial { components, concentration, hyperprior } => {
                Crp::new(concentration)?;
                hyperprior.check()?;
                DirichletMultinomial { components, ln_theta: 0.0 }.check()
            }
        }
    }

    /// The largest number of groups among `n_rows` rows.
    pub fn most_groups(&self, n_rows: usize) -> usize {
        match *self {
            PartitionPrior::Crp { max_groups, .. } => max_groups.unwrap_or(n_rows).min(n_rows),
            PartitionPrior::DirichletMultinomial { components, .. } => components.min(n_rows),
        }
    }

    /// Log of the concentration to begin with.
    pub fn ln_concentration(&self) -> f64 {
        match *self {
            PartitionPrior::Crp { concentration, .. } | PartitionPrior::DirichletMultinomial { concentration, .. } => {
                concentration.ln()
            }
        }
    }

    /// Empty seats for `n_rows` rows, at this concentration; for the posterior, not for the limit.
    pub fn seats(&self, n_rows: usize, ln_concentration: f64) -> Box<dyn Seats> {
        // The limit plays no part here, so neither does a penalty.
        match *self {
            PartitionPrior::Crp { hyperprior, max_groups, .. } => {
                let seats = CrpSeats::new(ln_concentration, f64::INFINITY).redrawn(hyperprior);
                Box::new(match max_groups {
                    Some(most) => seats.capped(most, n_rows),
                    None => seats,
                })
            }
            PartitionPrior::DirichletMultinomial { components, hyperprior, .. } => {
                Box::new(DirichletMultinomialSeats::shared(components, ln_concentration, hyperprior))
            }
        }
    }

    /// A partition of `n_rows` rows and the concentration it was drawn with. Capped: drawn again until it has few enough
    /// groups. Panics when [`check`](Self::check) would fail.
    pub fn sample(&self, n_rows: usize, rng: &mut Rng) -> (Partition, f64) {
        let mut drawn = |concentration: f64, hyperprior: Concentration| match hyperprior {
            Concentration::Fixed => concentration,
            Concentration::Gamma { shape, rate } => draw_gamma(shape, rate, rng),
        };
        match *self {
            PartitionPrior::Crp { concentration, hyperprior, max_groups } => {
                let concentration = drawn(concentration, hyperprior);
                let crp = Crp { ln_concentration: concentration.ln() };
                loop {
                    let partition = crp.sample(n_rows, rng);
                    if max_groups.is_none_or(|most| partition.n_groups() <= most) {
                        return (partition, concentration);
                    }
                }
            }
            PartitionPrior::DirichletMultinomial { components, concentration, hyperprior } => {
                let concentration = drawn(concentration, hyperprior);
                let ln_theta = concentration.ln() - (components as f64).ln();
                (DirichletMultinomial { components, ln_theta }.sample(n_rows, rng), concentration)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Stream, stream};
    use std::collections::HashMap;

    #[test]
    fn samples_have_the_probabilities_of_the_seats() {
        let fixed =
            |max_groups| PartitionPrior::Crp { concentration: 1.7, hyperprior: Concentration::Fixed, max_groups };
        let hyperprior = Concentration::Fixed;
        let finite = PartitionPrior::DirichletMultinomial { components: 3, concentration: 1.8, hyperprior };
        for prior in [fixed(None), fixed(Some(2)), finite] {
            let mut rng = stream(1, Stream::Prior);
            let mut counts: HashMap<Partition, f64> = HashMap::new();
            for _ in 0..100_000 {
                *counts.entry(prior.sample(5, &mut rng).0).or_default() += 1e-5;
            }
            let mut distance = 0.0;
            for partition in Partition::all(5).filter(|p| p.n_groups() <= prior.most_groups(5)) {
                let mut seats = prior.seats(5, prior.ln_concentration());
                (0..partition.n_groups()).for_each(|_| seats.open());
                partition.labels().iter().enumerate().for_each(|(row, &k)| seats.joined(k as usize, row));
                distance += 0.5 * (seats.ln_prob().exp() - counts.remove(&partition).unwrap_or(0.0)).abs();
            }
            assert!(counts.is_empty(), "impossible partitions were drawn: {counts:?}");
            assert!(distance < 0.01, "{prior:?}: {distance}");
        }
    }

    #[test]
    fn bad_priors_are_named() {
        let crp = |concentration, max_groups| PartitionPrior::Crp {
            concentration,
            hyperprior: Concentration::Fixed,
            max_groups,
        };
        let finite = |components, concentration| PartitionPrior::DirichletMultinomial {
            components,
            concentration,
            hyperprior: Concentration::Fixed,
        };
        for (prior, message) in [
            (crp(0.0, None), "concentration must be"),
            (crp(1.0, Some(0)), "max_clusters must be at least 1, got 0"),
            (finite(0, 1.0), "components must be"),
            (finite(3, -1.0), "concentration must be"),
        ] {
            let error = prior.check().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
        assert!(PartitionPrior::default().check().is_ok());
    }
}
