//! From a number of clusters to a penalty and back.

mod exactly;
mod farthest_first;
mod merge_down;
mod persistence;

pub use exactly::{ExactFit, PenaltyInterval, fit_exactly};
pub use farthest_first::farthest_first_penalty;
use merge_down::merge_down;
pub use persistence::persistent_penalty;
