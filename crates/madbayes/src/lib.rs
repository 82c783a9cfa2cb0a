//! How many clusters, overlapping features or hidden states there are, and which rows have which.
//!
//! MAD-Bayes (Broderick, Kulis & Jordan 2013) takes a Bayesian nonparametric model and lets the variance go to zero:
//! what is left is a hard objective with a price for every further group. Here every prior and every likelihood has
//! both faces in one file: `weigh`, its log probability, and `charge`, the limit of -2 s2 log p as s2 -> 0.
//!
//! ```
//! use madbayes::data::{Data, Rows};
//! use madbayes::hard::DpMeans;
//! use madbayes::watch::Unwatched;
//!
//! let values = [0.0, 0.1, 0.2, 9.0, 9.1, 9.2];              // six rows of one column
//! let data = Data::new(Rows::new(&values, 1)?)?;
//! let fit = DpMeans::with_penalty(1.0).fit(&data, &Unwatched)?;
//! assert_eq!(fit.n_clusters(), 2);
//! assert_eq!(fit.labels, [0, 0, 0, 1, 1, 1]);
//! # Ok::<(), madbayes::Error>(())
//! ```
//!
//! # The grid of models
//!
//! | prior \ regime | limit of small variance | posterior |
//! |---|---|---|
//! | CRP | [`hard::DpMeans`]: parallel and serial (B Eq. 3), collapsed (B Eq. 9) | [`gibbs::MixtureSampler`], [`gibbs::CrpMixture`] |
//! | Dirichlet-multinomial, theta scaled | [`hard::DpMeans`] with a cap (B Eq. 12) | [`gibbs::MixtureSampler`] |
//! | Dirichlet-multinomial, theta fixed | [`hard::DpMeans::k_means`] | [`gibbs::MixtureSampler`] |
//! | HDP over transitions, sticky or not | | [`gibbs::HmmSampler`]: direct assignment and beam sampling |
//! | IBP | [`hard::BpMeans`]: alternating (B Eq. 6), collapsed (B Eq. 10), stepwise | [`gibbs::IbpSampler`] |
//! | beta-Bernoulli, gamma scaled | [`hard::BpMeans`] with a cap (B Eq. 15) | |
//! | beta-Bernoulli, gamma fixed | [`hard::BpMeans::k_features`] (B Eq. 14) | |
//!
//! Clusters have the [spherical Gaussian](likelihood::Spherical) likelihood, or the [full-covariance](likelihood::Full) one in
//! [`hard::FullCovarianceMeans`], or are of [counts](likelihood::Multinomial) in [`hard::DivergenceMeans`];
//! [diagonal](likelihood::Diagonal) Gaussians are there for the sweep. Features have the [linear-Gaussian](likelihood::LinearGaussian) one. A blank cell is a model whose parts are here and which no front door
//! offers.
//!
//! # The rooms
//!
//! Each imports only from those before it: [`counts`], [`data`], [`error`], [`special`], [`watch`], [`parallel`], [`random`],
//! [`linalg`], [`prepare`] -> [`structure`] -> [`metrics`] -> [`prior`] | [`likelihood`] | [`separator`] -> [`simulate`] -> [`scan`] |
//! [`sweep`] -> [`hard`] | [`gibbs`] -> [`select`] -> [`model`] -> [`overview`].
//!
//! Two loops do the work. The [`scan`](scan::scan) holds parameters still and sees all rows at once, in chunks, on all
//! threads. The [`sweep`](sweep::sweep) takes one row out, scores it against everything else and puts it back: by the
//! cheapest charge it is collapsed DP-means, by weight it is a Gibbs sampler.
//!
//! # Promises
//!
//! The same seed and input give the same bits, whatever the number of threads, on the same kind of processor. No hard
//! algorithm raises its objective. The objective reported is that of the labels and centres returned. Bad input is an
//! [`Error`] that says what to do.

// A library does not write to the terminal.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod counts;
#[macro_use]
pub mod data;
pub mod error;
pub mod gibbs;
pub mod hard;
pub mod likelihood;
pub mod linalg;
pub mod metrics;
pub mod model;
pub mod overview;
pub mod parallel;
pub mod prepare;
pub mod prior;
pub mod random;
pub mod scan;
pub mod select;
pub mod separator;
pub mod simulate;
pub mod special;
pub mod structure;
pub mod sweep;
pub mod watch;

pub use error::{Error, Result};

/// The README's Rust example is a test.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
