//! Counts for a picture: the share of a column in every row, x / sum x, for as many columns as fit into memory.

use crate::counts::Counts;

/// Numbers that are filled up.
const MOST_VALUES: usize = 20_000_000;

/// Shares of the counts of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// The columns: all of them, or those with most counts, in order.
    pub columns: Vec<usize>,
    /// Their shares, one row after another.
    pub values: Vec<f64>,
}

impl Shares {
    /// Of rows of counts; a row without counts has a share of 0 everywhere.
    pub fn new(counts: &Counts) -> Self {
        Self::of_most(counts, (MOST_VALUES / counts.n_rows().max(1)).max(1))
    }

    fn of_most(counts: &Counts, most: usize) -> Self {
        let mut totals = vec![0.0; counts.n_columns()];
        for row in 0..counts.n_rows() {
            let (columns, values) = counts.row(row);
            columns.iter().zip(values).for_each(|(&column, x)| totals[column as usize] += x);
        }
        let mut columns: Vec<usize> = (0..totals.len()).collect();
        columns.sort_by(|&a, &b| totals[b].total_cmp(&totals[a]).then(a.cmp(&b)));
        columns.truncate(most);
        columns.sort_unstable();
        let mut place = vec![None; totals.len()];
        columns.iter().enumerate().for_each(|(i, &column)| place[column] = Some(i));
        let mut values = vec![0.0; counts.n_rows() * columns.len()];
        for (row, shares) in values.chunks_exact_mut(columns.len()).enumerate() {
            let (counted, numbers) = counts.row(row);
            let total: f64 = numbers.iter().sum();
            for (&column, x) in counted.iter().zip(numbers) {
                if let Some(place) = place[column as usize].filter(|_| total > 0.0) {
                    shares[place] = x / total;
                }
            }
        }
        Shares { columns, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    #[test]
    fn shares_are_of_the_whole_row_and_columns_with_most_counts_are_kept() {
        let counts = Counts::from_rows(Rows::new(&[1.0, 3.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 2.0], 3).unwrap()).unwrap();
        let all = Shares::new(&counts);
        assert_eq!(all.values, [0.25, 0.75, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.5]);
        let two = Shares::of_most(&counts, 2);
        assert_eq!((two.columns, two.values), (vec![0, 1], vec![0.25, 0.75, 0.0, 0.0, 0.5, 0.0]));
    }
}
