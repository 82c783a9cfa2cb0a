//! What a user fits and keeps: models that assign new rows and travel as bytes.

mod clusters;
mod saved;
mod stream;

pub use clusters::{Assigned, ClusterModel};
pub use stream::ClusterStream;
