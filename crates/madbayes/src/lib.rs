//! madbayes

pub mod data;
pub mod error;
pub mod likelihood;
pub mod parallel;
pub mod prior;
pub mod random;
pub mod special;
pub mod structure;
pub mod watch;

pub use error::{Error, Result};
