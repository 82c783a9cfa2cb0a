//! Gibbs samplers: the sweep in its posterior regime, its traces and the joint test that shows it is right.

mod chain;
mod convergence;
mod geweke;
mod ibp;
mod ibp_chain;
mod ibp_collapsed;
mod ibp_uncollapsed;
mod inverse_gamma;
mod mixture;
mod summary;

pub use chain::{Chain, Schedule};
pub use convergence::split_r_hat;
pub use geweke::{Agreement, Statistic, geweke};
pub use ibp::{IbpSampler, IbpStart};
pub use ibp_chain::{IbpChain, IbpState};
pub use inverse_gamma::InverseGamma;
pub use mixture::{ChainStart, CrpMixture};
pub use summary::{certainty, coclustering, coclustering_matrix, point_estimate};
