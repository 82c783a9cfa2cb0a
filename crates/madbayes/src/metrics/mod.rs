//! Agreement of two partitions of the same rows, by information, by pairs of rows, by majority; and of two feature
//! allocations, by matching their features ([`match_features`]).
//!
//! | function | range | equal partitions | symmetric |
//! |---|---|---|---|
//! | [`normalized_mutual_information`] | 0..1 | 1 | yes |
//! | [`mutual_information`] | 0..min(H(a), H(b)) | H(a) | yes |
//! | [`variation_of_information`] | 0..ln N | 0 | yes, a metric |
//! | [`adjusted_rand_index`] | -1/2..1 | 1 | yes |
//! | [`pairwise_f1`] | 0..1 | 1 | `f1` yes; precision and recall swap |
//! | [`purity`] | 0..1 | 1 | no |
//!
//! Logarithms are natural. Two partitions of no rows, or of different numbers of rows, are an error.
//!
//! ```
//! use madbayes::metrics::{Average, adjusted_rand_index, normalized_mutual_information};
//! use madbayes::structure::Partition;
//!
//! let truth = Partition::from_labels(["a", "a", "b", "b"]);
//! let found = Partition::from_labels([7, 7, 3, 3]);
//! assert_eq!(adjusted_rand_index(&truth, &found)?, 1.0);
//! assert_eq!(normalized_mutual_information(&truth, &found, Average::Arithmetic)?, 1.0);
//! # Ok::<(), madbayes::Error>(())
//! ```

mod assignment;
mod contingency;
mod features;
mod information;
mod pairs;

pub use contingency::{Cell, Contingency, purity};
pub use features::{FeatureMatching, MatchedFeature, match_features};
pub use information::{Average, entropy, mutual_information, normalized_mutual_information, variation_of_information};
pub use pairs::{PairAgreement, adjusted_rand_index, pairwise_f1};
