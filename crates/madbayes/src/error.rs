//! One error type: what was wrong, where, what is allowed, what to do.

use thiserror::Error;

/// Everything a caller can do wrong. A fault of this library is a panic, never an `Error`.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum Error {
    /// An argument outside its range.
    #[error("{argument} must be {allowed}, got {found}: {help}")]
    Argument {
        /// The argument's name as the caller wrote it.
        argument: &'static str,
        /// What would have been accepted.
        allowed: String,
        /// What was given.
        found: String,
        /// What to do about it.
        help: String,
    },
    /// One cell of the data that cannot be used.
    #[error("row {row}, column {column} (counted from 0) is {found}: {help}")]
    Cell {
        /// Row, counted from 0.
        row: usize,
        /// Column, counted from 0.
        column: usize,
        /// What stands there.
        found: String,
        /// What to do about it.
        help: String,
    },
    /// The data as a whole cannot be used.
    #[error("{found}: {help}")]
    Data {
        /// What was found.
        found: String,
        /// What to do about it.
        help: String,
    },
    /// More clusters asked for than there are distinct rows.
    #[error(
        "n_clusters must be at most the number of distinct rows, {distinct}, got {wanted}: equal rows cannot be told \
         apart; ask for fewer clusters"
    )]
    Distinct {
        /// Distinct rows with weight.
        distinct: usize,
        /// Clusters asked for.
        wanted: usize,
    },
    /// A saved model that cannot be read.
    #[error("cannot read what was saved: {found}; {help}")]
    Model {
        /// What was found.
        found: String,
        /// What to do about it.
        help: String,
    },
}

impl Error {
    /// An argument outside its range.
    pub fn argument(
        argument: &'static str,
        allowed: impl Into<String>,
        found: impl ToString,
        help: impl Into<String>,
    ) -> Self {
        Error::Argument { argument, allowed: allowed.into(), found: found.to_string(), help: help.into() }
    }

    /// Data that cannot be used as a whole.
    pub fn data(found: impl Into<String>, help: impl Into<String>) -> Self {
        Error::Data { found: found.into(), help: help.into() }
    }

    /// A saved model that cannot be read.
    pub fn model(found: impl Into<String>, help: impl Into<String>) -> Self {
        Error::Model { found: found.into(), help: help.into() }
    }
}

/// The library's result.
pub type Result<T> = std::result::Result<T, Error>;
