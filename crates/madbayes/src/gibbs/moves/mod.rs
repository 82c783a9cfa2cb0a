//! Moves beside the sweep: each leaves the posterior unchanged, and takes steps that single rows cannot.

mod anchors;
mod halves;
mod split_merge;
mod state_split_merge;

pub use split_merge::{Mixture, SplitMerge};
pub(super) use state_split_merge::{StateSplitMerge, States};

#[cfg(test)]
mod state_tests;
#[cfg(test)]
mod tests;
