//! The chosen columns of a dense matrix without column names, as NPY and NPZ files hold it.

use anyhow::Result;

use super::select::{Plan, numbered};
use super::settle::{Found, row_place, settle};
use super::{Labels, Selection, Table, Values};

/// A dense matrix, row-major.
pub(super) struct Matrix {
    /// The numbers; NaN where one is missing.
    pub values: Values,
    /// How many columns there are, at least one.
    pub n_columns: usize,
}

/// Makes the table out of the columns asked for; `labels` come from elsewhere, else from a column.
pub(super) fn choose(source: &str, matrix: Matrix, selection: &Selection, labels: Option<Labels>) -> Result<Table> {
    let Matrix { values, n_columns } = matrix;
    let mut selection = selection.clone();
    if labels.is_some() {
        selection.label_column = None;
    }
    let plan = Plan::new(source, &numbered(n_columns), &selection)?;
    let labels = labels.or_else(|| column_labels(&plan, &values, n_columns));
    let values = if plan.data.iter().copied().eq(0..n_columns) {
        values
    } else {
        match values {
            Values::F32(values) => Values::F32(take_columns(&values, n_columns, &plan.data)),
            Values::F64(values) => Values::F64(take_columns(&values, n_columns, &plan.data)),
        }
    };
    let found = Found { names: plan.data_names(), values, labels, hints: vec![] };
    settle(source, found, selection.drop_missing, &row_place)
}

fn take_columns<T: Copy>(values: &[T], n_columns: usize, columns: &[usize]) -> Vec<T> {
    let mut taken = Vec::with_capacity(values.len() / n_columns * columns.len());
    for row in values.chunks_exact(n_columns) {
        taken.extend(columns.iter().map(|&column| row[column]));
    }
    taken
}

fn column_labels(plan: &Plan, values: &Values, n_columns: usize) -> Option<Labels> {
    let column = plan.label?;
    let texts = match values {
        Values::F32(values) => values.iter().skip(column).step_by(n_columns).map(|&x| number_label(x)).collect(),
        Values::F64(values) => values.iter().skip(column).step_by(n_columns).map(|&x| number_label(x)).collect(),
    };
    Some(Labels { name: plan.label_name()?, values: texts })
}

/// A number as a label: `3` for 3.0, and nothing where it is missing.
pub(super) fn number_label<T: Copy + Into<f64> + std::fmt::Display>(number: T) -> String {
    let wide: f64 = number.into();
    if wide.is_nan() { String::new() } else { number.to_string() }
}
