//! A matrix of the columns of the data, from a file that an option names.

use crate::number::plural;
use crate::read::{Input, Selection, Values, read};
use anyhow::{Result, bail};
use std::path::Path;

/// A D x D matrix of numbers.
pub fn read_matrix(option: &str, path: &Path, n_columns: usize) -> Result<Vec<f64>> {
    let what = format!("a variance, or a file with the {n_columns} x {n_columns} covariance expected within a cluster");
    let (n_rows, width, values) = read_numbers(option, path, &what)?;
    if (n_rows, width) != (n_columns, n_columns) {
        bail!(
            "{option} {}: the file holds {n_rows} x {width} numbers, and the data has {}: give a matrix of {n_columns} x \
             {n_columns}",
            path.display(),
            plural(n_columns, "column")
        );
    }
    Ok(values)
}

/// The rows, the columns and the numbers of the file of an option, which takes `what`.
pub fn read_numbers(option: &str, path: &Path, what: &str) -> Result<(usize, usize, Vec<f64>)> {
    let found = match read(&Input::Path(path.to_owned()), &Selection::default()) {
        Ok(found) => found,
        Err(error) => bail!("{option} takes {what}: {error:#}"),
    };
    let values = match found.values {
        Values::F32(values) => values.into_iter().map(f64::from).collect(),
        Values::F64(values) => values,
    };
    Ok((found.n_rows, found.names.len(), values))
}
