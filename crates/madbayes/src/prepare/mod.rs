//! Preparing data before a fit.

mod standardise;

pub use standardise::Standardise;
