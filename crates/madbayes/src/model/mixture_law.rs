//! The likelihoods a mixture can have, as one choice: live groups to sample with, and what is kept of a draw's groups to
//! score new rows by.

use crate::counts::Counts;
use crate::data::{Data, Either, Real};
use crate::error::{Error, Result};
use crate::likelihood::{
    Diagonal, DiagonalGroups, Emissions, Full, FullGroups, Groups, Multinomial, MultinomialGroups, Spherical,
    SphericalGroups, StudentT,
};
use crate::separator::Inputs;
use crate::structure::Partition;
use serde::{Deserialize, Serialize};

/// The rows of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum MixtureLaw {
    /// Gaussian, mean and covariance unknown.
    Full(Full),
    /// Gaussian, mean and variances unknown, columns independent.
    Diagonal(Diagonal),
    /// Counts.
    Multinomial(Multinomial),
    /// Gaussian, mean unknown, one known variance. (The law of files that name none.)
    #[serde(untagged)]
    Spherical(Spherical),
}

/// The rows of a mixture: numbers, or counts.
#[derive(Debug, Clone, Copy)]
pub enum MixtureRows<'a, T> {
    /// A number in every column.
    Dense(&'a Data<'a, T>),
    /// How often each column was seen.
    Counts(&'a Counts),
}

/// The rows of a mixture, of either kind of numbers.
pub(super) type EitherMixtureRows<'a> = Either<MixtureRows<'a, f32>, MixtureRows<'a, f64>>;

impl<'a, T: Real> MixtureRows<'a, T> {
    /// The same, told apart by their numbers.
    pub(super) fn either(self) -> EitherMixtureRows<'a> {
        match self {
            MixtureRows::Dense(data) => match T::either_data(data) {
                Either::Single(data) => Either::Single(MixtureRows::Dense(data)),
                Either::Double(data) => Either::Double(MixtureRows::Dense(data)),
            },
            MixtureRows::Counts(counts) => Either::Double(MixtureRows::Counts(counts)),
        }
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        match self {
            MixtureRows::Dense(data) => data.n_rows(),
            MixtureRows::Counts(counts) => counts.n_rows(),
        }
    }

    /// The rows as hyperplanes see them.
    pub(super) fn inputs(&self) -> Inputs {
        match self {
            MixtureRows::Dense(data) => Inputs::new(data),
            MixtureRows::Counts(counts) => Inputs::from_counts(counts),
        }
    }

    /// The point that sums are taken about; for counts 0.
    pub(super) fn reference(&self) -> Vec<f64> {
        match self {
            MixtureRows::Dense(data) => data.reference().iter().map(|&r| r.into()).collect(),
            MixtureRows::Counts(counts) => vec![0.0; counts.n_columns()],
        }
    }
}

impl MixtureLaw {
    /// Errors unless the law fits rows of `n_columns` columns.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        match self {
            MixtureLaw::Full(law) => law.check(n_columns),
            MixtureLaw::Diagonal(law) => law.check(n_columns),
            MixtureLaw::Multinomial(law) => law.check(),
            MixtureLaw::Spherical(law) => law.check(n_columns),
        }
    }

    /// Live groups of these rows, none yet.
    pub fn groups<'a, T: Real>(&self, rows: MixtureRows<'a, T>) -> Result<Box<dyn Groups + 'a>> {
        Ok(self.emissions(rows)?)
    }

    /// The same that can draw their parameters too.
    pub fn emissions<'a, T: Real>(&self, rows: MixtureRows<'a, T>) -> Result<Box<dyn Emissions + 'a>> {
        Ok(match (self, rows) {
            (MixtureLaw::Full(law), MixtureRows::Dense(data)) => Box::new(FullGroups::new(data, law.clone())?),
            (MixtureLaw::Diagonal(law), MixtureRows::Dense(data)) => Box::new(DiagonalGroups::new(data, law.clone())?),
            (MixtureLaw::Spherical(law), MixtureRows::Dense(data)) => {
                Box::new(SphericalGroups::new(data, law.clone())?)
            }
            (MixtureLaw::Multinomial(law), MixtureRows::Counts(counts)) => {
                Box::new(MultinomialGroups::new(counts, *law)?)
            }
            _ => return Err(self.other_rows()),
        })
    }

    pub(super) fn other_rows(&self) -> Error {
        match self {
            MixtureLaw::Multinomial(_) => {
                Error::data("the rows are not counts", "give counts, as a sparse matrix or whole numbers")
            }
            _ => Error::data(
                "the rows are sparse counts, the likelihood is Gaussian",
                "use the multinomial likelihood, or give the rows as a dense array",
            ),
        }
    }

    /// How many numbers are kept of a group.
    pub(super) fn width(&self, n_columns: usize) -> usize {
        match self {
            MixtureLaw::Full(_) => n_columns + n_columns * n_columns,
            MixtureLaw::Diagonal(_) => 2 * n_columns,
            MixtureLaw::Multinomial(_) | MixtureLaw::Spherical(_) => n_columns,
        }
    }

    /// What is kept of every group of a partition, K x width: the posterior mean and scale of Gaussians of unknown
    /// covariance, the summed counts, or the sum of the rows about the reference point.
    pub(super) fn statistics<T: Real>(&self, rows: MixtureRows<T>, partition: &Partition) -> Result<Vec<f64>> {
        let seated = |groups: &mut dyn Groups| {
            (0..partition.n_groups()).for_each(|_| groups.open());
            groups.refresh(&|row| partition.labels()[row] as usize);
        };
        let all = 0..partition.n_groups();
        match (self, rows) {
            (MixtureLaw::Full(law), MixtureRows::Dense(data)) => {
                let mut groups = FullGroups::new(data, law.clone())?;
                seated(&mut groups);
                Ok(all.flat_map(|k| [groups.mean(k), groups.scale(k)]).flatten().collect())
            }
            (MixtureLaw::Diagonal(law), MixtureRows::Dense(data)) => {
                let mut groups = DiagonalGroups::new(data, law.clone())?;
                seated(&mut groups);
                Ok(all.flat_map(|k| [groups.mean(k), groups.scale(k).to_vec()]).flatten().collect())
            }
            (MixtureLaw::Multinomial(law), MixtureRows::Counts(counts)) => {
                let mut groups = MultinomialGroups::new(counts, *law)?;
                seated(&mut groups);
                Ok(all.flat_map(|k| groups.tally(k).to_vec()).collect())
            }
            (MixtureLaw::Spherical(_), MixtureRows::Dense(data)) => {
                let d = data.n_columns();
                let mut sums = vec![0.0; partition.n_groups() * d];
                for (row, &label) in data.rows().iter().zip(partition.labels()) {
                    let sum = &mut sums[label as usize * d..(label as usize + 1) * d];
                    crate::linalg::add_offset_row(sum, row, data.reference(), 1.0);
                }
                Ok(sums)
            }
            _ => Err(self.other_rows()),
        }
    }

    /// The predictive densities of a draw's groups and of a new one, from what was kept of them.
    pub(super) fn predictives(&self, reference: &[f64], sizes: &[f64], statistics: &[f64]) -> Result<Predictives> {
        let d = reference.len();
        let groups = sizes.iter().zip(statistics.chunks_exact(self.width(d)));
        Ok(match self {
            MixtureLaw::Full(law) => {
                let posteriors = groups.map(|(n, numbers)| Full {
                    prior_mean: numbers[..d].to_vec(),
                    prior_strength: law.prior_strength + n,
                    prior_dof: law.prior_dof + n,
                    prior_scale: numbers[d..].to_vec(),
                });
                Predictives::Full(posteriors.chain([law.clone()]).map(|law| law.predictive()).collect::<Result<_>>()?)
            }
            MixtureLaw::Diagonal(law) => {
                let posteriors = groups.map(|(n, numbers)| Diagonal {
                    prior_mean: numbers[..d].to_vec(),
                    prior_strength: law.prior_strength + n,
                    prior_dof: law.prior_dof + n,
                    prior_scale: numbers[d..].to_vec(),
                });
                Predictives::Diagonal(posteriors.chain([law.clone()]).collect())
            }
            MixtureLaw::Multinomial(law) => {
                // The summed counts of a group are to a new row what one row of so many counts would be.
                Predictives::Multinomial(*law, Counts::from_rows(crate::data::Rows::new(statistics, d)?)?)
            }
            MixtureLaw::Spherical(law) => Predictives::Spherical {
                law: law.clone(),
                prior_mean: law.prior_mean.iter().zip(reference).map(|(mean, r)| mean - r).collect(),
                reference: reference.to_vec(),
                sizes: sizes.to_vec(),
                sums: statistics.to_vec(),
            },
        })
    }
}

/// The predictive densities of one draw.
pub(super) enum Predictives {
    Full(Vec<StudentT>),
    Diagonal(Vec<Diagonal>),
    Multinomial(Multinomial, Counts),
    Spherical { law: Spherical, prior_mean: Vec<f64>, reference: Vec<f64>, sizes: Vec<f64>, sums: Vec<f64> },
}

impl Predictives {
    /// Calls `take(row number, log predictive of the row under each group and a new one)` for all dense rows.
    pub fn weigh_dense(&self, rows: &[Vec<f64>], mut take: impl FnMut(usize, &[f64])) -> Result<()> {
        for (n, row) in rows.iter().enumerate() {
            let weights: Vec<f64> = match self {
                Predictives::Full(groups) => groups.iter().map(|group| group.ln_density(row)).collect(),
                Predictives::Diagonal(groups) => groups.iter().map(|group| group.ln_predictive(row)).collect(),
                Predictives::Spherical { law, prior_mean, reference, sizes, sums } => {
                    let offset: Vec<f64> = row.iter().zip(reference).map(|(x, r)| x - r).collect();
                    let mut out = vec![0.0; sizes.len() + 1];
                    law.weigh(&offset, prior_mean, sizes, sums, &mut out);
                    out
                }
                Predictives::Multinomial(law, _) => return Err(MixtureLaw::Multinomial(*law).other_rows()),
            };
            take(n, &weights);
        }
        Ok(())
    }

    /// The same for rows of counts, numbered from the first of `range`.
    pub fn weigh_counts(
        &self,
        counts: &Counts,
        range: std::ops::Range<usize>,
        mut take: impl FnMut(usize, &[f64]),
    ) -> Result<()> {
        let Predictives::Multinomial(law, tallies) = self else {
            return Err(Error::data(
                "the rows are sparse counts, the model is Gaussian",
                "give the rows as a dense array",
            ));
        };
        let mut groups = MultinomialGroups::new(tallies, *law)?;
        for k in 0..tallies.n_rows() {
            groups.open();
            groups.add(k, k);
        }
        for (n, row) in range.enumerate() {
            let (columns, values) = counts.row(row);
            let mut out = vec![0.0; tallies.n_rows() + 1];
            groups.weigh_new(columns, values, &mut out);
            take(n, &out);
        }
        Ok(())
    }
}
