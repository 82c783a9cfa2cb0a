//! Feature learning: BP-means, capped BP-means and K-features (Broderick 2013, Eq. 6, 14, 15).

mod along;
mod base;
mod bp_means;
mod collapsed;
mod coordinates;
mod core;
mod drift;
mod fit;
mod glance;
mod goal;
mod gray;
mod learned;
mod least_squares;
mod moved;
mod passes;
mod plus_plus;
mod polish;
mod row_problem;
mod run;
mod rungs;
mod screen;
mod search;
mod serial;
mod spectral;
mod starts;
mod summary;

pub use bp_means::{BpMeans, FeatureAlgorithm, FeatureStart};
pub use goal::FeatureGoal;
pub use learned::{Features, allocate, least_squares_components, reconstruct};
pub use row_problem::RowSolver;
pub(crate) use rungs::{FeatureRungs, brief_loss};
