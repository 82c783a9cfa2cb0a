//! madbayes

pub mod data;
pub mod error;
pub mod gibbs;
pub mod hard;
pub mod likelihood;
pub mod linalg;
pub mod metrics;
pub mod model;
pub mod parallel;
pub mod prepare;
pub mod prior;
pub mod random;
pub mod scan;
pub mod select;
pub mod simulate;
pub mod special;
pub mod structure;
pub mod sweep;
pub mod watch;

pub use error::{Error, Result};
