//! Feature learning: BP-means, capped BP-means and K-features (Broderick 2013, Eq. 6, 14, 15).

mod bp_means;
mod collapsed;
mod coordinates;
mod core;
mod features;
mod fit;
mod goal;
mod gray;
mod least_squares;
mod passes;
mod plus_plus;
mod polish;
mod row_problem;
mod run;
mod search;
mod serial;
mod spectral;
mod summary;

pub use bp_means::{BpMeans, FeatureAlgorithm, FeatureStart};
pub use features::{Features, allocate, reconstruct};
pub use goal::FeatureGoal;
pub use row_problem::RowSolver;
