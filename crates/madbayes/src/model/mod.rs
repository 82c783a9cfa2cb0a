//! What a user fits and keeps: models that assign new rows and travel as bytes.

mod clusters;
mod saved;

pub use clusters::{Assigned, ClusterModel};
