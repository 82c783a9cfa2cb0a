//! Geweke's joint test (2004) of the mixture sampler with one of the library's own likelihoods, whatever its prior.

use super::mixture_law::{MixtureLaw, MixtureRows};
use crate::counts::Counts;
use crate::data::{Data, Rows};
use crate::error::{Error, Result};
use crate::gibbs::{JointDraws, MixtureTest};
use crate::random::{Rng, Stream, stream};
use crate::simulate::{diagonal_rows, full_rows, multinomial_rows, spherical_rows};
use crate::structure::Partition;

impl MixtureLaw {
    /// Runs the test with rows of `n_columns` columns drawn from this law; rows of counts have 2, 3 and 4 counts in turn.
    ///
    /// Values x of the rows enter as x / (1 + |x|): long tails have no mean otherwise.
    ///
    /// ```
    /// use madbayes::gibbs::MixtureTest;
    /// use madbayes::likelihood::Diagonal;
    /// use madbayes::model::MixtureLaw;
    ///
    /// let law = Diagonal { prior_mean: vec![0.0], prior_strength: 0.5, prior_dof: 6.0, prior_scale: vec![1.0] };
    /// let test = MixtureTest { n_draws: 2000, ..MixtureTest::default() };
    /// let draws = MixtureLaw::Diagonal(law).joint_test(&test, 1)?;
    /// assert!(draws.agreements().iter().all(|statistic| statistic.z.abs() < 4.0));
    /// # Ok::<(), madbayes::Error>(())
    /// ```
    pub fn joint_test(&self, test: &MixtureTest, n_columns: usize) -> Result<JointDraws> {
        if n_columns == 0 {
            return Err(Error::argument("n_columns", "at least 1", 0, "rows have at least one column"));
        }
        self.check(n_columns)?;
        // A law that cannot be drawn from says so before the test, which has no place for errors in its draws.
        self.draw_rows(&Partition::from_labels([0]), n_columns, &mut stream(0, Stream::Simulation))?;
        test.draws(
            |partition, rng| Table { values: self.draw_rows(partition, n_columns, rng).unwrap_or_default(), n_columns },
            |table: &Table, step| {
                let rows = Rows::new(&table.values, n_columns)?;
                if let MixtureLaw::Multinomial(_) = self {
                    let counts = Counts::from_rows(rows)?;
                    return step(&|| self.groups::<f64>(MixtureRows::Counts(&counts)));
                }
                let data = Data::new(rows)?;
                step(&|| self.groups(MixtureRows::Dense(&data)))
            },
            &[
                ("mean", |table: &Table| {
                    table.mean(|row| row.iter().map(|x| bounded(*x)).sum::<f64>() / row.len() as f64)
                }),
                ("square", |table: &Table| table.mean(|row| row.iter().map(|x| bounded(*x).powi(2)).sum::<f64>())),
                ("first row times last", |table: &Table| {
                    let last = table.values.len() - table.n_columns;
                    bounded(table.values[0]) * bounded(table.values[last])
                }),
                ("first column times last", |table: &Table| {
                    table.mean(|row| bounded(row[0]) * bounded(row[row.len() - 1]))
                }),
            ],
        )
    }

    /// Rows given a partition: parameters of every group from their prior, rows from these.
    fn draw_rows(&self, partition: &Partition, n_columns: usize, rng: &mut Rng) -> Result<Vec<f64>> {
        let mut values = vec![0.0; partition.n_rows() * n_columns];
        for members in partition.members() {
            let drawn = match self {
                MixtureLaw::Full(law) => full_rows(law, members.len(), rng)?,
                MixtureLaw::Diagonal(law) => diagonal_rows(law, members.len(), rng)?,
                MixtureLaw::Spherical(law) => spherical_rows(law, members.len(), rng),
                MixtureLaw::Multinomial(law) => {
                    // Totals are given: they differ from row to row.
                    let totals: Vec<usize> = members.iter().map(|row| 2 + row % 3).collect();
                    multinomial_rows(law, n_columns, &totals, rng)?
                }
            };
            for (row, drawn) in members.into_iter().zip(drawn.chunks_exact(n_columns)) {
                values[row * n_columns..(row + 1) * n_columns].copy_from_slice(drawn);
            }
        }
        Ok(values)
    }
}

/// The rows of the test.
struct Table {
    values: Vec<f64>,
    n_columns: usize,
}

impl Table {
    /// The mean over rows of a number.
    fn mean(&self, number: impl Fn(&[f64]) -> f64) -> f64 {
        let rows = self.values.chunks_exact(self.n_columns);
        let n = rows.len() as f64;
        rows.map(number).sum::<f64>() / n
    }
}

/// A number of long tails made one that has a mean.
fn bounded(x: f64) -> f64 {
    x / (1.0 + x.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::likelihood::{Diagonal, Full, Multinomial, Spherical};
    use rstest::rstest;

    fn laws() -> [MixtureLaw; 4] {
        let (prior_mean, prior_strength, prior_dof) = (vec![0.4, -0.2, 1.0], 0.3, 7.5);
        let prior_scale = vec![1.2, 0.7, 0.1, 0.7, 1.8, -0.3, 0.1, -0.3, 0.9];
        [
            MixtureLaw::Full(Full { prior_mean: prior_mean.clone(), prior_strength, prior_dof, prior_scale }),
            MixtureLaw::Diagonal(Diagonal {
                prior_mean: prior_mean.clone(),
                prior_strength,
                prior_dof,
                prior_scale: vec![1.2, 1.8, 0.5],
            }),
            MixtureLaw::Spherical(Spherical { variance: 0.5, prior_mean, prior_variance: 2.0 }),
            MixtureLaw::Multinomial(Multinomial { pseudocount: 0.4 }),
        ]
    }

    #[rstest]
    fn every_law_passes(#[values(0, 1, 2, 3)] law: usize) {
        let test = MixtureTest { n_draws: 20_000, seed: 1, ..MixtureTest::default() };
        let agreements = laws()[law].joint_test(&test, 3).unwrap().agreements();
        assert_eq!(agreements.len(), 9);
        assert!(agreements.iter().all(|a| a.z.abs() < 4.0), "{agreements:?}");
    }

    #[test]
    fn bad_laws_and_sizes_are_named() {
        let test = MixtureTest { n_draws: 10, ..MixtureTest::default() };
        let error = |law: &MixtureLaw, test: &MixtureTest, d| law.joint_test(test, d).unwrap_err().to_string();
        assert!(error(&laws()[0], &test, 2).starts_with("prior_mean must be 2 finite numbers"));
        assert!(error(&laws()[3], &test, 0).starts_with("n_columns must be at least 1, got 0"));
        assert!(
            error(&laws()[3], &MixtureTest { n_rows: 1, ..test.clone() }, 3).starts_with("n_rows must be at least 2")
        );
        assert!(error(&laws()[3], &MixtureTest { n_draws: 1, ..test }, 3).starts_with("n_draws must be at least 2"));
    }
}
