//! What a user fits and keeps: fits that cross families, models that assign new rows and travel as bytes.

mod clusters;
mod count_clusters;
mod covariance_clusters;
mod dp_mixture;
mod features;
mod hmm_model;
mod hmm_run;
mod indian_buffet;
mod infinite_hmm;
mod mixture;
mod mixture_law;
mod mixture_likelihood;
mod mixture_run;
mod mixture_test;
mod new_rows;
mod resumed;
mod saved;
mod stream;

pub use clusters::{Assigned, ClusterModel};
pub use count_clusters::CountModel;
pub use covariance_clusters::CovarianceModel;
pub use dp_mixture::{DpMixture, MixtureFit, MixturePrior, MixtureStart};
pub use features::{Allocated, FeatureModel};
pub use hmm_model::{AssignedStates, DrawnStates, HmmModel};
pub use hmm_run::HmmRun;
pub use indian_buffet::{BuffetFit, BuffetStart, IndianBuffet};
pub use infinite_hmm::{HmmFit, InfiniteHmm};
pub use mixture::{DrawnGroups, DrawnPartition, MixtureModel};
pub use mixture_law::{MixtureLaw, MixtureRows};
pub use mixture_likelihood::{MixtureLikelihood, NormalPrior};
pub use mixture_run::MixtureRun;
pub use saved::kind_of_model;
pub use stream::ClusterStream;
