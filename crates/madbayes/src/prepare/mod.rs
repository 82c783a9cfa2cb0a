//! Preparing data before a fit.

mod centred;
mod pca;
mod redundant;
mod standardise;

pub use pca::{Keep, Pca};
pub use redundant::Redundant;
pub use standardise::Standardise;
