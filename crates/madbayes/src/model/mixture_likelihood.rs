//! The likelihood a user asks for, and what is left open of it filled in from the data's scale.

use super::mixture_law::MixtureLaw;
use crate::data::{Data, Real};
use crate::hard::Clustering;
use crate::likelihood::{Diagonal, Full, Multinomial, Spherical, within_covariance};
use serde::{Deserialize, Serialize};

/// The normal-inverse-Wishart prior of a group's mean and covariance, or one normal-inverse-gamma per column. What is `None`
/// comes from the data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NormalPrior {
    /// Mean of the groups' means; none: the mean of the rows.
    pub mean: Option<Vec<f64>>,
    /// How many rows it is worth; none: 0.01.
    pub strength: Option<f64>,
    /// How many rows the scale is worth; none: D + 2 for a given scale, which is then the mean
    /// covariance, 3 D + 2 for a guessed one; D counts as 1 where columns are independent.
    pub dof: Option<f64>,
    /// D x D, or one number per column; none: such that the mean covariance is that within the clusters of DP-means.
    pub scale: Option<Vec<f64>>,
}

impl NormalPrior {
    /// The degrees of freedom: the weakest, `least`, where the scale is given. A guess is held more firmly: with the fewest degrees
    /// of freedom that give the covariance a mean, most of its prior lies far below that mean, and groups of a few rows break away
    /// from others, the more so with many columns.
    fn dof_or(&self, least: f64, n_columns: usize) -> f64 {
        let guessed = least + 2.0 * n_columns as f64;
        self.dof.unwrap_or(if self.scale.is_some() { least } else { guessed })
    }
}

/// The rows of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum MixtureLikelihood {
    /// Gaussian with a covariance of its own.
    Full(NormalPrior),
    /// Gaussian with variances of its own, columns independent.
    Diagonal(NormalPrior),
    /// Gaussian with one variance that is the same for all groups and known.
    Spherical {
        /// Variance of a row about its group's mean; none: that within the clusters of DP-means.
        variance: Option<f64>,
        /// Mean of the groups' means; none: the mean of the rows.
        prior_mean: Option<Vec<f64>>,
        /// Variance of the groups' means about it; none: the mean variance of the columns.
        prior_variance: Option<f64>,
    },
    /// Counts with probabilities of their own.
    Multinomial {
        /// Added to every count of a group; none: 0.01.
        pseudocount: Option<f64>,
    },
}

impl MixtureLikelihood {
    /// Spherical, everything from the data.
    pub const SPHERICAL: Self = MixtureLikelihood::Spherical { variance: None, prior_mean: None, prior_variance: None };

    /// Whether the likelihood wants to know how far rows of a group lie apart.
    pub(super) fn needs_scale(&self) -> bool {
        match self {
            MixtureLikelihood::Full(prior) | MixtureLikelihood::Diagonal(prior) => prior.scale.is_none(),
            MixtureLikelihood::Spherical { variance, .. } => variance.is_none(),
            MixtureLikelihood::Multinomial { .. } => false,
        }
    }

    /// The likelihood with all that was left open filled in from the data and a hard clustering of it.
    pub(super) fn law<T: Real>(&self, data: &Data<T>, labels: &[u32], hard: Option<&Clustering>) -> MixtureLaw {
        let d = data.n_columns();
        match self {
            MixtureLikelihood::Full(prior) => {
                let law = Full::weak(data, vec![]);
                let dof = prior.dof_or(law.prior_dof, d);
                // The mean of the covariance is scale / (dof - D - 1), where there is one.
                let scale = || scaled(within_covariance(data, labels), dof - d as f64 - 1.0);
                MixtureLaw::Full(Full {
                    prior_mean: prior.mean.clone().unwrap_or(law.prior_mean),
                    prior_strength: prior.strength.unwrap_or(law.prior_strength),
                    prior_dof: dof,
                    prior_scale: prior.scale.clone().unwrap_or_else(scale),
                })
            }
            MixtureLikelihood::Diagonal(prior) => {
                let law = Diagonal::weak(data, vec![]);
                let dof = prior.dof_or(law.prior_dof, 1);
                let variances = || within_covariance(data, labels).into_iter().step_by(d + 1).collect();
                MixtureLaw::Diagonal(Diagonal {
                    prior_mean: prior.mean.clone().unwrap_or(law.prior_mean),
                    prior_strength: prior.strength.unwrap_or(law.prior_strength),
                    prior_dof: dof,
                    prior_scale: prior.scale.clone().unwrap_or_else(|| scaled(variances(), dof - 2.0)),
                })
            }
            MixtureLikelihood::Spherical { variance, prior_mean, prior_variance } => {
                let (mean, column_variance) = moments(data);
                // Equal rows have no scale: any will do.
                let spread = if column_variance > 0.0 { column_variance } else { 1.0 };
                let within = hard.map(|fit| {
                    let freedom = (data.n_rows() - fit.n_clusters()).max(1) * d;
                    fit.loss() / freedom as f64
                });
                // Clusters of equal rows would have no variance; a ten-thousandth of the whole is small enough.
                let within = within.filter(|&v| v > 1e-4 * spread).unwrap_or(1e-4 * spread);
                MixtureLaw::Spherical(Spherical {
                    variance: variance.unwrap_or(within),
                    prior_mean: prior_mean.clone().unwrap_or(mean),
                    prior_variance: prior_variance.unwrap_or(spread),
                })
            }
            MixtureLikelihood::Multinomial { pseudocount } => multinomial(*pseudocount),
        }
    }
}

impl Default for MixtureLikelihood {
    fn default() -> Self {
        MixtureLikelihood::Full(NormalPrior::default())
    }
}

/// Counts with this pseudocount, or 0.01.
pub(super) fn multinomial(pseudocount: Option<f64>) -> MixtureLaw {
    let pseudocount = pseudocount.unwrap_or(Multinomial::default().pseudocount);
    MixtureLaw::Multinomial(Multinomial { pseudocount })
}

/// The scale of a prior of which this is the mean, where it has one.
fn scaled(within: Vec<f64>, freedom: f64) -> Vec<f64> {
    if freedom > 0.0 { within.into_iter().map(|v| v * freedom).collect() } else { within }
}

/// The mean of the rows, and the mean over columns of their variance.
fn moments<T: Real>(data: &Data<T>) -> (Vec<f64>, f64) {
    let n = data.n_rows() as f64;
    let mut sums = vec![0.0; data.n_columns()];
    data.rows().iter().for_each(|row| crate::linalg::add_offset_row(&mut sums, row, data.reference(), 1.0));
    let mean: Vec<f64> = sums.iter().zip(data.reference()).map(|(sum, &r)| sum / n + r.into()).collect();
    let square = |row: &[T]| row.iter().zip(&mean).map(|(&x, m)| (x.into() - m).powi(2)).sum::<f64>();
    let squares: f64 = data.rows().iter().map(square).sum();
    (mean, squares / (n * data.n_columns() as f64))
}
