//! Likelihoods of the rows of a group, parameters integrated out, each with two faces: `weigh`, its log probability,
//! and `charge`, the limit of -2 s2 log p as the variance s2 -> 0.

mod diagonal;
mod emissions;
mod full;
#[cfg(test)]
mod laws;
mod linear_gaussian;
mod members;
mod multinomial;
mod normal_groups;
mod normal_prior;
mod spherical;

pub use diagonal::{Diagonal, DiagonalGroups};
pub use emissions::{Emissions, Frozen};
pub(crate) use full::check_covariance;
pub use full::{Full, FullGroups, StudentT};
pub use linear_gaussian::{CollapsedRows, LinearGaussian, collapsed_loss, sum_of_squares};
pub(crate) use linear_gaussian::{LEAST_RIDGE, check_variance, subtract_features};
pub use multinomial::{Multinomial, MultinomialGroups};
pub use normal_groups::NormalGroups;
pub(crate) use normal_prior::check_covariance_penalty;
pub use normal_prior::within_covariance;
pub use spherical::{Spherical, SphericalGroups};

/// The live state of all K groups while rows are taken out and put back one by one.
///
/// Groups are numbered 0..K; closing one moves the last into its place. `weigh` and `charge` add K + 1 numbers,
/// the last for a new group, to what is already in `out`.
pub trait Groups {
    /// Number of groups, K.
    fn n_groups(&self) -> usize;
    /// Adds an empty group with number K.
    fn open(&mut self);
    /// Removes a group, and whatever rows are in it go out with it; the last one takes its number.
    fn close(&mut self, group: usize);
    /// Puts `row` into `group`.
    fn add(&mut self, group: usize, row: usize);
    /// Takes `row` out of `group`.
    fn sub(&mut self, group: usize, row: usize);
    /// Adds the log predictive density of `row` (which is out) under each group.
    fn weigh(&mut self, row: usize, out: &mut [f64]);
    /// Adds what putting `row` into each group adds to the objective in the limit.
    fn charge(&mut self, row: usize, out: &mut [f64]);
    /// Log marginal likelihood of all groups.
    fn ln_marginal(&self) -> f64;
    /// The limit of -2 s2 log marginal, constants left out: the loss of all groups.
    fn loss(&self) -> f64;
    /// Once per sweep: sums formed anew from the rows of each group, so that rounding does not pile up.
    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize);
}
