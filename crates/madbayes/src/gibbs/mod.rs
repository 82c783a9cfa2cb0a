//! Gibbs samplers: the sweep in its posterior regime, its traces and the joint test that shows it is right.

mod chain;
mod geweke;
mod mixture;

pub use chain::{Chain, Schedule};
pub use geweke::{Agreement, Statistic, geweke};
pub use mixture::{ChainStart, CrpMixture};
