//! Where a run begins: the global mean, D^2 seeding, or given centres.

mod plus_plus;

pub(super) use plus_plus::first_seeds;
use plus_plus::plus_plus;

use super::Goal;
use crate::data::{Data, Real};
use crate::error::{Error, Result};
use crate::linalg::add_offset_row;
use crate::random::Rng;
use crate::watch::Watch;

/// Where a run begins.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Start {
    /// One cluster at the global mean, as in Kulis & Jordan (2012).
    Mean,
    /// D^2 seeding that goes on while a new centre pays for its penalty, or up to the K asked for.
    #[default]
    PlusPlus,
    /// These centres, K x D.
    Given(Vec<f64>),
}

impl Start {
    /// Errors unless given centres fit the data and the goal.
    pub(super) fn check<T: Real>(&self, data: &Data<T>, goal: &Goal) -> Result<()> {
        let Start::Given(centres) = self else { return Ok(()) };
        let d = data.n_columns();
        if centres.is_empty() || !centres.len().is_multiple_of(d) {
            return Err(Error::argument(
                "start",
                format!("centres with {d} columns each, like the data"),
                format!("{} values", centres.len()),
                "give K x D values, row after row",
            ));
        }
        if let Some(i) = centres.iter().position(|c| !c.is_finite()) {
            return Err(Error::argument(
                "start",
                "finite centres",
                format!("{} for centre {}, column {}", centres[i], i / d, i % d),
                "leave the centre out",
            ));
        }
        let reference = data.reference().iter().map(|&r| r.into()).cycle();
        if let Some(i) = centres.iter().zip(reference).position(|(c, r): (&f64, f64)| (c - r).abs() > T::LARGEST) {
            return Err(Error::argument(
                "start",
                format!("centres within {:e} of the data", T::LARGEST),
                format!("{:e} for centre {}, column {}", centres[i], i / d, i % d),
                "start from centres among the rows",
            ));
        }
        if centres.len() / d > goal.cap() {
            return Err(Error::argument(
                "start",
                format!("at most {} centres", goal.cap()),
                centres.len() / d,
                "give fewer centres or allow more clusters",
            ));
        }
        Ok(())
    }

    /// Centres relative to the reference point, K x D.
    pub(super) fn offsets<T: Real>(&self, data: &Data<T>, goal: &Goal, rng: &mut Rng, watch: &dyn Watch) -> Vec<f64> {
        let reference = || data.reference().iter().map(|&r| r.into()).cycle();
        match self {
            Start::Mean => mean_offset(data),
            Start::PlusPlus => plus_plus(data, goal, rng, watch),
            Start::Given(centres) => centres.iter().zip(reference()).map(|(c, r): (&f64, f64)| c - r).collect(),
        }
    }

    /// Whether another restart would start elsewhere.
    pub(super) fn is_random(&self) -> bool {
        matches!(self, Start::PlusPlus)
    }
}

/// Up to `k` seeds relative to the reference point, K x D: the first of them are a start for any smaller K.
pub(crate) fn seeds<T: Real>(data: &Data<T>, k: usize, rng: &mut Rng, watch: &dyn Watch) -> Vec<f64> {
    plus_plus(data, &Goal::Exactly(k), rng, watch)
}

/// The weighted mean of all rows, relative to the reference point.
pub(crate) fn mean_offset<T: Real>(data: &Data<T>) -> Vec<f64> {
    let mut sum = vec![0.0; data.n_columns()];
    for index in 0..data.n_chunks() {
        let (start, end) = data.chunk(index);
        let mut part = vec![0.0; data.n_columns()];
        for n in start..end {
            add_offset_row(&mut part, data.rows().row(n), data.reference(), data.weight(n));
        }
        sum.iter_mut().zip(&part).for_each(|(s, p)| *s += p);
    }
    sum.iter().map(|s| s / data.total_weight()).collect()
}
