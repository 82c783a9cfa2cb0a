//! From K to the penalty and back: the penalty path, the automatic choice on it, farthest-first, and exactly K clusters.

mod automatic;
mod automatic_features;
mod chosen;
mod climb;
mod divergence;
mod exactly;
mod farthest_first;
mod feature_path;
mod full_covariance;
mod hull;
mod merge_down;
mod path;
mod sample;
mod structureless;
mod urn;
mod validation;

pub use automatic::{
    Automatic, Candidate, Choice, LOSS_EVIDENCE, PERSISTENCE_EVIDENCE, automatic, automatic_penalty, candidates,
};
pub use automatic_features::{
    AutomaticFeatures, ChosenFeatures, FEATURE_EVIDENCE, automatic_features, fit_features_automatically,
};
pub use chosen::{Chosen, ChosenFit, PenaltyRule};
pub use divergence::{DivergenceFit, fit_divergence};
pub use exactly::{ExactFit, PenaltyInterval, fit_exactly};
pub use farthest_first::farthest_first_penalty;
pub use feature_path::FeaturePath;
pub use full_covariance::{CovarianceFit, CovarianceGuesses, fit_full_covariance};
pub use hull::{HullPoint, lower_hull};
use merge_down::merge_down;
pub use path::{ClusterPath, PathSearch, PenaltyPath};
pub use structureless::Evidence;
pub use validation::Validation;
