//! New rows, as a likelihood wants them, and what predictives and hyperplanes say of them.

use super::mixture_law::Predictives;
use crate::counts::Counts;
use crate::data::{Real, Rows};
use crate::error::Result;
use crate::separator::FittedHyperplanes;
use std::ops::Range;

/// New rows: numbers, or counts.
pub(super) enum NewRows<'a, T> {
    Dense(Rows<'a, T>),
    Counts(&'a Counts),
}

impl<T: Real> NewRows<'_, T> {
    /// Log predictives of a range of rows, numbered from its start.
    pub fn weigh(&self, predictives: &Predictives, range: Range<usize>, take: impl FnMut(usize, &[f64])) -> Result<()> {
        match self {
            NewRows::Counts(counts) => predictives.weigh_counts(counts, range, take),
            NewRows::Dense(rows) => {
                let rows = rows.slice(range.start, range.end);
                let rows: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|&x| x.into()).collect()).collect();
                predictives.weigh_dense(&rows, take)
            }
        }
    }

    /// log p(y = 1)/p(y = -1) of a row under the hyperplane of a group.
    pub fn ln_ratio(&self, hyperplanes: &FittedHyperplanes, group: usize, row: usize) -> f64 {
        match self {
            NewRows::Dense(rows) => hyperplanes.ln_ratio(group, rows.row(row).iter().map(|&x| x.into())),
            NewRows::Counts(counts) => {
                let mut dense = vec![0.0; counts.n_columns()];
                let (columns, values) = counts.row(row);
                columns.iter().zip(values).for_each(|(&j, &x)| dense[j as usize] = x);
                hyperplanes.ln_ratio(group, dense.into_iter())
            }
        }
    }
}
