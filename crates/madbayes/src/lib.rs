//! madbayes

pub mod data;
pub mod error;
pub mod hard;
pub mod likelihood;
pub mod linalg;
pub mod parallel;
pub mod prior;
pub mod random;
pub mod scan;
pub mod special;
pub mod structure;
pub mod watch;

pub use error::{Error, Result};
