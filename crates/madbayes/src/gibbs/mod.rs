//! Gibbs samplers: the sweep in its posterior regime, its traces and the joint test that shows it is right.

mod beam;
mod chain;
mod convergence;
mod crp_mixture;
mod geweke;
mod geweke_mixture;
mod hmm;
mod hmm_chain;
mod hmm_kernel;
mod ibp;
mod ibp_chain;
mod ibp_collapsed;
mod ibp_uncollapsed;
mod inverse_gamma;
mod kernel;
mod mixture;
mod moves;
mod separated;
mod summary;
mod together;

pub use chain::{Chain, ChainState, Schedule};
pub use convergence::{effective_sample_size, split_r_hat};
pub use crp_mixture::CrpMixture;
pub use geweke::{Agreement, JointDraws, Statistic, geweke};
pub use geweke_mixture::{MixtureTest, TestStep};
pub use hmm::HmmSampler;
pub use hmm_chain::{HmmChain, HmmDraw, HmmState};
pub use hmm_kernel::{HmmKernel, HmmMethod, MakeEmissions, STATE_SPLIT_MERGE};
pub use ibp::{IbpSampler, IbpStart};
pub use ibp_chain::{IbpChain, IbpState};
pub use inverse_gamma::InverseGamma;
pub use kernel::MakeGroups;
pub use mixture::{ChainStart, MixtureSampler, SPLIT_MERGE};
pub use summary::{Loss, point_estimate};
pub use together::{certainty, cluster_coclustering, coclustering, coclustering_matrix};
