//! Priors over assignments to groups and over feature allocations, each with two faces: `weigh`, its log probability, and `charge`, the limit of
//! -2 s2 log p as the variance s2 -> 0 (Broderick 2013, Sec. 2 and Sup. A).

mod beta_bernoulli;
mod cap;
mod concentration;
mod crp;
mod dirichlet_multinomial;
#[cfg(test)]
mod feature_laws;
mod hdp;
mod ibp;
#[cfg(test)]
mod laws;
mod partitions;
mod polya_urn;
mod rising;

pub use beta_bernoulli::BetaBernoulli;
pub use concentration::{Concentration, resample_concentration};
pub use crp::{Crp, CrpSeats};
pub use dirichlet_multinomial::{DirichletMultinomial, DirichletMultinomialSeats};
pub use hdp::{Hdp, HdpSeats, HdpValues, StateWeights};
pub use ibp::{Ibp, resample_mass};
pub use partitions::PartitionPrior;
pub use polya_urn::{Base, PolyaUrn, UrnDraw};

use crate::random::Rng;

/// The live state of a prior over assignments while rows are taken out and put back one by one.
///
/// Groups are numbered 0..K; closing one moves the last into its place. `weigh` and `charge` add K + 1 numbers,
/// the last for a new group, to what is already in `out`.
pub trait Seats {
    /// Number of groups, K.
    fn n_groups(&self) -> usize;
    /// Adds an empty group with number K.
    fn open(&mut self);
    /// Removes an empty group; the last one takes its number.
    fn close(&mut self, group: usize);
    /// Row `row` sits down in `group`.
    fn joined(&mut self, group: usize, row: usize);
    /// Row `row` leaves `group`.
    fn left(&mut self, group: usize, row: usize);
    /// Adds the log weight of each group for the row that is out (up to one constant for all).
    fn weigh(&self, out: &mut [f64]);
    /// Adds the limit of -2 s2 times the log weight.
    fn charge(&self, out: &mut [f64]);
    /// Log probability of all assignments.
    fn ln_prob(&self) -> f64;
    /// The current log concentration.
    fn ln_concentration(&self) -> f64;
    /// Log density of the current concentration under its own prior, which `ln_prob` leaves out; 0 when it is fixed.
    fn ln_hyperprior(&self) -> f64;
    /// Once per sweep: redraws what the prior itself is unsure of (its concentration, where that is not fixed).
    fn refresh(&mut self, rng: &mut Rng);
}
