//! Preparing data before a fit.

mod centred;
mod pca;
mod standardise;

pub use pca::{Keep, Pca};
pub use standardise::Standardise;
