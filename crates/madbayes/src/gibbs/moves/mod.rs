//! Moves beside the sweep: each leaves the posterior unchanged, and takes steps that single rows cannot.

mod split_merge;

pub use split_merge::{Mixture, SplitMerge};

#[cfg(test)]
mod tests;
