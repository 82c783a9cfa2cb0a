//! The discriminative term (Nguyen et al. 2017, Sec. 2): every group has a hyperplane with its rows on one side and all
//! others on the other.

mod hyperplane;
mod hyperplanes;
mod inputs;
mod inverse_gaussian;
mod polya_gamma;

pub use hyperplane::{Hyperplane, Side};
pub use hyperplanes::{FittedHyperplanes, HyperplaneState, Hyperplanes, NewCluster, Pool, Separation};
pub use inputs::{Inputs, Scaling};
pub use inverse_gaussian::hinge_mixing;
pub use polya_gamma::{polya_gamma, polya_gamma_below, polya_gamma_moments};

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// A discriminative term: how strongly groups are kept apart beside being alike inside.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Discriminative {
    /// How a row on the wrong side of a hyperplane is punished.
    pub factor: Factor,
    /// w, the prior variance of a hyperplane's coefficients; 0 turns the term off.
    pub scale: f64,
    /// Where the hyperplane of a new group comes from.
    pub new_cluster: NewCluster,
}

/// Inputs have variance 1: coefficients beyond a thousand mean nothing, and rounding would lose I/w.
const LARGEST_SCALE: f64 = 1e6;

impl Discriminative {
    /// With prior variance 1 and the exact rule for new clusters.
    pub fn new(factor: Factor) -> Self {
        Discriminative { factor, scale: 1.0, new_cluster: NewCluster::default() }
    }

    /// Errors unless w makes sense.
    pub fn check(&self) -> Result<()> {
        if (0.0..=LARGEST_SCALE).contains(&self.scale) {
            return Ok(());
        }
        Err(Error::argument(
            "discriminative_scale",
            "a finite number of at least 0 and at most 1e6",
            self.scale,
            "it is the prior variance of a hyperplane's coefficients: 0 turns the term off, 1 is usual",
        ))
    }
}

/// How a row on the wrong side of a hyperplane is punished. With f = eta'x and y = 1 for the rows of the group, -1 for others:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Factor {
    /// exp(-2 max(1 - y f, 0)). It is not normalised over y, and must not be, or its augmentation breaks.
    Svm,
    /// 1/(1 + exp(-y f)).
    Logistic,
}

impl Factor {
    /// log p(y = 1; f) - log p(y = -1; f): 2 max(1+f, 0) - 2 max(1-f, 0) or f.
    pub fn ln_ratio(self, f: f64) -> f64 {
        match self {
            Factor::Svm => 2.0 * ((1.0 + f).max(0.0) - (1.0 - f).max(0.0)),
            Factor::Logistic => f,
        }
    }

    /// log p(y; f).
    pub fn ln_factor(self, y: f64, f: f64) -> f64 {
        match self {
            Factor::Svm => -2.0 * (1.0 - y * f).max(0.0),
            // -log(1 + exp(-y f)) without overflow.
            Factor::Logistic => (y * f).min(0.0) - (-(y * f).abs()).exp().ln_1p(),
        }
    }
}

/// The live state of the hyperplanes of all K groups, as the sweep needs it. `weigh` adds K + 1 numbers to what is in `out`,
/// the last for a new group, whose hyperplane is the candidate.
pub trait Separator {
    /// Number of groups, K.
    fn n_groups(&self) -> usize;
    /// The candidate becomes the hyperplane of a group with number K.
    fn open(&mut self);
    /// Removes a group; the last one takes its number. Its hyperplane is the next candidate (Neal 2000, Alg. 8), where the
    /// rule for new clusters is exact.
    fn close(&mut self, group: usize);
    /// Adds log p(y = 1)/p(y = -1) of `row` under each hyperplane, after drawing a candidate unless a group was closed.
    fn weigh(&mut self, row: usize, out: &mut [f64]);
    /// Draws a candidate as `weigh` would.
    fn draw_candidate(&mut self);
    /// log p(y = 1)/p(y = -1) of a row under the hyperplane of a group, or under the candidate if it is K.
    fn ln_ratio(&self, group: usize, row: usize) -> f64;
    /// Draws all hyperplanes given which row is in which group.
    fn refresh(&mut self, group_of_row: &dyn Fn(usize) -> usize);
}
