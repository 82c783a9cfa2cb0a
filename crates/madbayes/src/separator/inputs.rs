//! Rows as the hyperplanes see them: less their mean, all columns divided by one number, and a constant 1 at the end.

use crate::counts::Counts;
use crate::data::{Data, Real};
use crate::linalg::dot;
use serde::{Deserialize, Serialize};

/// The inputs of hyperplanes, N x (D+1): (x - mean) / scale and 1 for the intercept. The scale is the root of the mean variance
/// of the columns, so that a prior scale w means the same in any unit and columns keep their relative spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Inputs {
    rows: Vec<f64>,
    width: usize,
    scaling: Scaling,
}

/// From a row to its input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    mean: Vec<f64>,
    scale: f64,
}

impl Scaling {
    /// Appends the input of a row.
    fn append(&self, row: impl Iterator<Item = f64>, out: &mut Vec<f64>) {
        out.extend(row.zip(&self.mean).map(|(x, mean)| (x - mean) / self.scale));
        out.push(1.0);
    }

    /// The value of a hyperplane at a row.
    pub fn value(&self, hyperplane: &[f64], row: impl Iterator<Item = f64>) -> f64 {
        let terms = row.zip(&self.mean).zip(hyperplane).map(|((x, mean), eta)| (x - mean) * eta);
        terms.sum::<f64>() / self.scale + hyperplane[self.mean.len()]
    }

    /// Numbers of an input, D + 1.
    pub fn width(&self) -> usize {
        self.mean.len() + 1
    }

    /// Whether it is of so many columns, and sound.
    pub fn fits(&self, n_columns: usize) -> bool {
        let usable = self.scale.is_finite() && self.scale > 0.0;
        usable && self.mean.len() == n_columns && self.mean.iter().all(|mean| mean.is_finite())
    }

    /// A hyperplane as coefficients of the columns and intercept, in the units of the rows.
    pub fn in_units(&self, hyperplane: &[f64]) -> (Vec<f64>, f64) {
        let d = self.mean.len();
        let coefficients: Vec<f64> = hyperplane[..d].iter().map(|eta| eta / self.scale).collect();
        let intercept = hyperplane[d] - coefficients.iter().zip(&self.mean).map(|(c, m)| c * m).sum::<f64>();
        (coefficients, intercept)
    }
}

impl Inputs {
    /// From real-valued rows.
    pub fn new<T: Real>(data: &Data<T>) -> Self {
        Inputs::from_rows(data.n_rows(), data.n_columns(), &|n, out| {
            out.extend(data.rows().row(n).iter().map(|&x| -> f64 { x.into() }));
        })
    }

    /// From counts.
    pub fn from_counts(counts: &Counts) -> Self {
        Inputs::from_rows(counts.n_rows(), counts.n_columns(), &|n, out| {
            let start = out.len();
            out.resize(start + counts.n_columns(), 0.0);
            let (columns, values) = counts.row(n);
            columns.iter().zip(values).for_each(|(&j, &x)| out[start + j as usize] = x);
        })
    }

    fn from_rows(n: usize, d: usize, append: &dyn Fn(usize, &mut Vec<f64>)) -> Self {
        let mut row = Vec::with_capacity(d);
        let mut mean = vec![0.0; d];
        let mut each = |visit: &mut dyn FnMut(&[f64])| {
            for i in 0..n {
                row.clear();
                append(i, &mut row);
                visit(&row);
            }
        };
        each(&mut |row| mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / n as f64));
        let mut squares = 0.0;
        each(&mut |row| squares += row.iter().zip(&mean).map(|(x, mean)| (x - mean).powi(2)).sum::<f64>());
        let scale = (squares / (n * d) as f64).sqrt();
        let scaling = Scaling { mean, scale: if scale > 0.0 { scale } else { 1.0 } };
        let mut rows = Vec::with_capacity(n * (d + 1));
        each(&mut |row| scaling.append(row.iter().copied(), &mut rows));
        Inputs { rows, width: d + 1, scaling }
    }

    /// From inputs as they are, whatever their scale: for hyperplanes without intercept, for instance.
    pub fn as_given(rows: Vec<f64>, width: usize) -> Self {
        let scaling = Scaling { mean: vec![0.0; width.saturating_sub(1)], scale: 1.0 };
        Inputs { rows, width, scaling }
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.rows.len() / self.width
    }

    /// Numbers per input, D + 1.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One input.
    pub fn row(&self, n: usize) -> &[f64] {
        &self.rows[n * self.width..(n + 1) * self.width]
    }

    /// All of them, row after row.
    pub(super) fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// eta'x.
    pub fn value(&self, hyperplane: &[f64], n: usize) -> f64 {
        dot(hyperplane, self.row(n))
    }

    /// How rows became inputs.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    #[test]
    fn a_hyperplane_has_the_same_value_in_any_units() {
        let values = [1.0, 20.0, 3.0, -5.0, 2.0, 7.0, 11.0, 4.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        let inputs = Inputs::new(&data);
        let hyperplane = [0.7, -1.3, 0.4];
        let (coefficients, intercept) = inputs.scaling().in_units(&hyperplane);
        for n in 0..4 {
            let expected = inputs.value(&hyperplane, n);
            let row = &values[2 * n..2 * n + 2];
            assert!((dot(&coefficients, row) + intercept - expected).abs() < 1e-12);
            assert!((inputs.scaling().value(&hyperplane, row.iter().copied()) - expected).abs() < 1e-12);
        }
        let mean_square = inputs.rows.iter().map(|x| x * x).sum::<f64>() / 4.0;
        assert!((mean_square - 3.0).abs() < 1e-12, "two columns of variance 1 in the mean, and the intercept");
    }

    #[test]
    fn sparse_counts_and_dense_rows_give_the_same_inputs() {
        let values = [1.0, 0.0, 3.0, 0.0, 2.0, 7.0];
        let rows = Rows::new(&values, 3).unwrap();
        let counts = Counts::from_rows(rows).unwrap();
        assert_eq!(Inputs::from_counts(&counts), Inputs::new(&Data::new(rows).unwrap()));
    }
}
