//! From a number of clusters or features to a penalty and back.

mod exactly;
mod farthest_first;
mod features;
mod merge_down;
mod persistence;

pub use exactly::{ExactFit, PenaltyInterval, fit_exactly};
pub use farthest_first::farthest_first_penalty;
pub use features::persistent_feature_penalty;
use merge_down::merge_down;
pub use persistence::persistent_penalty;
