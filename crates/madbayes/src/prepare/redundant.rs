//! Columns that say nothing beside the others: constant ones, and linear combinations of those before them.
//!
//! A group whose covariance is unknown learns such a direction as one without any spread: the more rows it has, the more probable
//! each of them becomes, so that groups merge though nothing in the data asks for it.

use super::Standardise;
use crate::data::{Data, EitherData, Real};

/// A column is a combination of others where they leave less than this share of its variance.
const LEAST_SHARE: f64 = 1e-6;

/// Columns without any information of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redundant {
    /// Columns with the same number in every row.
    pub constant: Vec<usize>,
    /// Columns that a linear combination of columns before them gives, to a thousandth of their standard deviation.
    pub combined: Vec<usize>,
}

impl Redundant {
    /// Which columns of these rows are redundant, each group in order. Weights play no part.
    pub fn of<T: Real>(data: &Data<T>) -> Self {
        fn either(data: EitherData) -> Redundant {
            either!(data, data => Redundant::find(data))
        }
        either(T::either_data(data))
    }

    fn find<T: Real>(data: &Data<T>) -> Self {
        let d = data.n_columns();
        let (constant, varying) = (0..d).partition::<Vec<usize>, _>(|&j| data.spreads()[j] == 0.0);
        // Fewer rows than columns leave no column anything of its own; that is no fault of the columns.
        if data.n_rows() <= varying.len() {
            return Redundant { constant, combined: vec![] };
        }
        let correlations = correlations(data, &varying);
        Redundant {
            constant,
            combined: dependent(correlations, varying.len()).into_iter().map(|i| varying[i]).collect(),
        }
    }
}

/// Correlations of these columns, row by row.
fn correlations<T: Real>(data: &Data<T>, columns: &[usize]) -> Vec<f64> {
    let (d, standardise) = (columns.len(), Standardise::fit(data));
    let (mut sums, mut row) = (vec![0.0; d * d], vec![0.0; d]);
    for values in data.rows().iter() {
        for (x, &j) in row.iter_mut().zip(columns) {
            *x = (values[j].into() - standardise.means[j]) / standardise.scales[j];
        }
        for i in 0..d {
            let x = row[i];
            sums[i * d..=i * d + i].iter_mut().zip(&row).for_each(|(sum, y)| *sum += x * y);
        }
    }
    sums.iter_mut().for_each(|sum| *sum /= data.n_rows() as f64);
    sums
}

/// The columns whose pivot in the Cholesky factor of their correlations (the lower triangle is read) is next to nothing; they are
/// left out of what is later compared with.
fn dependent(mut factor: Vec<f64>, d: usize) -> Vec<usize> {
    let mut found = vec![];
    for j in 0..d {
        for i in 0..=j {
            let below: f64 = (0..i).map(|k| factor[j * d + k] * factor[i * d + k]).sum();
            let left = factor[j * d + i] - below;
            factor[j * d + i] = match i < j {
                true if factor[i * d + i] > 0.0 => left / factor[i * d + i],
                true => 0.0,
                false if left > LEAST_SHARE => left.sqrt(),
                false => 0.0,
            };
        }
        if factor[j * d + j] == 0.0 {
            found.push(j);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    fn redundant(columns: &[&[f64]]) -> Redundant {
        let values: Vec<f64> = (0..columns[0].len()).flat_map(|n| columns.iter().map(move |c| c[n])).collect();
        Redundant::of(&Data::new(Rows::new(&values, columns.len()).unwrap()).unwrap())
    }

    const A: &[f64] = &[0.5, 1.5, 0.25, 1.0, 0.75, 0.1, 2.0];
    const B: &[f64] = &[3.0, 1.0, 2.0, 5.0, 4.0, 9.0, 6.0];

    #[test]
    fn constant_columns_and_sums_of_others_are_found_in_any_units() {
        let sum: Vec<f64> = A.iter().zip(B).map(|(a, b)| 1e6 + 1e-3 * (2.0 * a - b)).collect();
        let found = redundant(&[A, &[7.3; 7], B, &sum]);
        assert_eq!(found, Redundant { constant: vec![1], combined: vec![3] });
        // A copy of a copy is one too.
        assert_eq!(redundant(&[A, A, B, A]).combined, [1, 3]);
    }

    #[test]
    fn columns_that_are_only_similar_stay() {
        let near: Vec<f64> = A.iter().zip(B).map(|(a, b)| a + 0.01 * b * b).collect();
        assert_eq!(redundant(&[A, B, &near]), Redundant::default());
    }

    #[test]
    fn with_fewer_rows_than_columns_no_column_is_blamed() {
        assert_eq!(redundant(&[&[1.0, 2.0], &[5.0, 4.0], &[1.0, 0.0]]), Redundant::default());
    }
}
