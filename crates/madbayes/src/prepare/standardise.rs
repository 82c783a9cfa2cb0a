//! Columns brought to mean 0 and variance 1.

use crate::data::{Data, Real, Rows};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// (x - mean) / scale, column by column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardise {
    /// Mean of each column.
    pub means: Vec<f64>,
    /// Standard deviation of each column (divided by N); 1 for a constant column, which stays constant.
    pub scales: Vec<f64>,
}

impl Standardise {
    /// Means and standard deviations of the columns, about the reference point. Weights play no part.
    pub fn fit<T: Real>(data: &Data<T>) -> Self {
        let (n, d) = (data.n_rows() as f64, data.n_columns());
        let reference: Vec<f64> = data.reference().iter().map(|&r| r.into()).collect();
        let mut shifts = vec![0.0; d];
        for row in data.rows().iter() {
            for j in 0..d {
                shifts[j] += row[j].into() - reference[j];
            }
        }
        let means: Vec<f64> = (0..d).map(|j| reference[j] + shifts[j] / n).collect();
        let mut squares = vec![0.0; d];
        for row in data.rows().iter() {
            for j in 0..d {
                // In units of the spread, so that no square vanishes.
                squares[j] += ((row[j].into() - means[j]) / data.spreads()[j].max(f64::MIN_POSITIVE)).powi(2);
            }
        }
        let scale = |j: usize| match data.spreads()[j] {
            spread if spread > 0.0 => spread * (squares[j] / n).sqrt(),
            _ => 1.0,
        };
        Standardise { scales: (0..d).map(scale).collect(), means }
    }

    /// The rows standardised, in the type they came in.
    pub fn apply<T: Real>(&self, rows: Rows<T>) -> Result<Vec<T>> {
        if rows.n_columns() != self.means.len() {
            return Err(Error::data(
                format!("the data has {} columns, the standardisation {}", rows.n_columns(), self.means.len()),
                "give the columns it was fitted on",
            ));
        }
        let columns = || self.means.iter().zip(&self.scales).cycle();
        Ok(rows
            .values()
            .iter()
            .zip(columns())
            .map(|(&x, (mean, scale))| T::from_f64((x.into() - mean) / scale))
            .collect())
    }

    /// A standardised row in the original units.
    pub fn undo(&self, row: &[f64]) -> Vec<f64> {
        row.iter().zip(&self.means).zip(&self.scales).map(|((x, mean), scale)| x * scale + mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_mean_0_and_variance_1_and_constants_stay_finite() {
        let values = [1.0, 7.0, 1e6, 3.0, 7.0, 1e6 + 3.0, 8.0, 7.0, 1e6 + 9.0];
        let rows = Rows::new(&values, 3).unwrap();
        let standardise = Standardise::fit(&Data::new(rows).unwrap());
        let out = standardise.apply(rows).unwrap();
        for j in [0, 2] {
            let column: Vec<f64> = out.iter().skip(j).step_by(3).copied().collect();
            assert!(column.iter().sum::<f64>().abs() < 1e-9);
            assert!((column.iter().map(|x| x * x).sum::<f64>() / 3.0 - 1.0).abs() < 1e-9);
        }
        assert!(out.iter().skip(1).step_by(3).all(|x| *x == 0.0));
        for (x, y) in standardise.undo(&out[..3]).iter().zip(&values) {
            assert!((x - y).abs() < 1e-9);
        }
        assert!(standardise.apply(Rows::new(&values, 9).unwrap()).is_err());
        let tiny = [0.0, 1.0, 0.0, 2.0, 1e-200, 3.0f64];
        let tiny = Rows::new(&tiny, 2).unwrap();
        let out = Standardise::fit(&Data::new(tiny).unwrap()).apply(tiny).unwrap();
        assert!(out.iter().all(|x| x.is_finite() && x.abs() < 3.0), "{out:?}");
    }
}
