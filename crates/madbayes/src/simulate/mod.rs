//! Data drawn from known models, with the truth beside it.

mod crp_mixture;
mod gaussian_mixture;
mod group_rows;
mod hidden_markov;
mod linear_gaussian;
mod tabletop;

pub use crp_mixture::CrpMixture;
pub use gaussian_mixture::{GaussianMixture, Weights};
pub use group_rows::{diagonal_rows, full_rows, multinomial_rows, spherical_rows};
pub use hidden_markov::HiddenMarkov;
pub use linear_gaussian::{FeatureMixture, FeatureSample, IbpMixture};
pub use tabletop::{Pictures, Tabletop};

use crate::error::{Error, Result};
use crate::random::Rng;
use rand::RngExt;
use rand_distr::StandardNormal;

/// Simulated rows and where they came from.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The rows, one after the other.
    pub values: Vec<f64>,
    /// Number of columns, D.
    pub n_columns: usize,
    /// The cluster each row was drawn from.
    pub labels: Vec<u32>,
    /// The mean of each cluster, one after the other.
    pub centres: Vec<f64>,
}

/// Rows about the centres their labels name: x_n ~ N(mu_{z_n}, standard_deviation^2 I).
fn rows_about(centres: Vec<f64>, n_columns: usize, standard_deviation: f64, labels: Vec<u32>, rng: &mut Rng) -> Sample {
    let mut values = Vec::with_capacity(labels.len() * n_columns);
    for &label in &labels {
        let centre = &centres[label as usize * n_columns..][..n_columns];
        values.extend(centre.iter().map(|mean| mean + standard_deviation * rng.sample::<f64, _>(StandardNormal)));
    }
    Sample { values, n_columns, labels, centres }
}

/// The error of a table that cannot be: no rows, no columns, or more values than a computer can address.
fn check_shape(n_rows: usize, n_columns: usize) -> Result<()> {
    if n_rows == 0 || u32::try_from(n_rows).is_err() {
        return Err(Error::argument(
            "n_rows",
            "between 1 and 4294967295",
            n_rows,
            "it is the number of rows to simulate",
        ));
    }
    let most = isize::MAX as usize / size_of::<f64>() / n_rows;
    if n_columns == 0 || n_columns > most {
        return Err(Error::argument(
            "n_columns",
            format!("between 1 and {most}"),
            n_columns,
            "it is the number of columns to simulate",
        ));
    }
    Ok(())
}

/// The error of an argument that must be positive and finite.
fn check_positive(argument: &'static str, value: f64, help: &str) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::argument(argument, "a positive finite number", value, help))
    }
}
