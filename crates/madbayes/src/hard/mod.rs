//! Hard clustering: DP-means, capped DP-means and K-means (Broderick 2013, Eq. 3, 9, 12); and hard feature learning:
//! BP-means, capped BP-means and K-features (Eq. 6, 10, 14, 15). Clusters may have covariances of their own (Sup. E), or be of
//! counts, by Kullback-Leibler divergence.

mod bisect;
mod bounded_passes;
mod cheapest_merge;
mod clustering;
mod collapsed;
mod divergence;
mod dp_means;
mod features;
mod finish;
mod full_covariance;
mod goal;
mod grow;
mod known_splits;
mod ladder;
mod moves;
mod nearby;
mod passes;
mod restarts;
mod serial;
mod start;

pub use clustering::{Clustering, losses, nearest_centres};
pub use divergence::{DivergenceClustering, DivergenceMeans, Tallies, nearest_distributions};
pub(crate) use divergence::{Merging, Problem as DivergenceProblem, Tried};
pub use dp_means::{Algorithm, DpMeans};
pub use features::{
    BpMeans, FeatureAlgorithm, FeatureGoal, FeatureStart, Features, RowSolver, allocate, least_squares_components,
    reconstruct,
};
pub(crate) use features::{FeatureRungs, brief_loss};
pub(crate) use full_covariance::whitened;
pub use full_covariance::{
    CovarianceAlgorithm, CovariancePrior, FullCovarianceClustering, FullCovarianceMeans, nearest_ellipses, own_ellipses,
};
pub use goal::Goal;
pub(crate) use ladder::Ladder;
pub use restarts::Restarts;
pub use start::Start;
pub(crate) use start::{mean_offset, seeds};
