//! Rows of counts, of which only those above 0 are kept (compressed sparse rows).

use crate::data::{Real, Rows};
use crate::error::{Error, Result};

/// The largest count: sums over rows and columns stay far from overflow, and whole numbers stay exact.
const LARGEST: f64 = 1e15;

/// Rows of counts in V columns: how often each word, pixel or event occurs in each row.
///
/// Counts need not be whole: what uses them says what it makes of others.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    n_columns: usize,
    /// Where each row starts, and the end of the last.
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    totals: Vec<f64>,
}

impl Counts {
    /// From compressed sparse rows: row n has `values[i]` in column `columns[i]` for i from `starts[n]` to before
    /// `starts[n + 1]`. Within a row the columns must rise; counts of 0 are left out.
    pub fn new(starts: &[usize], columns: &[u32], values: &[f64], n_columns: usize) -> Result<Self> {
        let ends_match = starts.first() == Some(&0) && starts.last() == Some(&values.len());
        if !(ends_match && starts.is_sorted() && columns.len() == values.len()) {
            return Err(Error::data(
                format!(
                    "the row starts do not fit {} columns and {} values of a sparse table",
                    columns.len(),
                    values.len()
                ),
                "they must rise from 0 to the number of values, and every value needs a column",
            ));
        }
        check_shape(starts.len() - 1, n_columns)?;
        let mut counts = Counts::empty(n_columns);
        for (row, ends) in starts.windows(2).enumerate() {
            let columns = &columns[ends[0]..ends[1]];
            if let Some(&column) = columns.iter().find(|c| **c as usize >= n_columns) {
                return Err(Error::data(
                    format!("row {row} (counted from 0) has a count in column {column} of {n_columns}"),
                    "columns are counted from 0",
                ));
            }
            if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
                return Err(Error::data(
                    format!("in row {row} (counted from 0) column {} comes after column {}", pair[1], pair[0]),
                    "sort the columns of each row, and add up counts of the same cell",
                ));
            }
            counts.push(columns.iter().copied().zip(values[ends[0]..ends[1]].iter().copied()))?;
        }
        Ok(counts)
    }

    /// From rows with all their zeros.
    pub fn from_rows<T: Real>(rows: Rows<T>) -> Result<Self> {
        check_shape(rows.n_rows(), rows.n_columns())?;
        let mut counts = Counts::empty(rows.n_columns());
        for row in rows.iter() {
            counts.push(row.iter().enumerate().map(|(column, &x)| (column as u32, x.into())))?;
        }
        Ok(counts)
    }

    fn empty(n_columns: usize) -> Self {
        Counts { n_columns, starts: vec![0], columns: vec![], values: vec![], totals: vec![] }
    }

    /// One more row, its columns rising.
    fn push(&mut self, row: impl Iterator<Item = (u32, f64)>) -> Result<()> {
        let mut total = 0.0;
        for (column, value) in row {
            if !(0.0..=LARGEST).contains(&value) {
                let help = format!("counts are numbers between 0 and {LARGEST:e}");
                let (row, column, found) = (self.n_rows(), column as usize, value.to_string());
                return Err(Error::Cell { row, column, found, help });
            }
            if value > 0.0 {
                self.columns.push(column);
                self.values.push(value);
                total += value;
            }
        }
        self.starts.push(self.values.len());
        self.totals.push(total);
        Ok(())
    }

    /// Some of the rows, in this order.
    pub fn select(&self, rows: &[usize]) -> Self {
        let mut counts = Counts::empty(self.n_columns);
        for &row in rows {
            let (columns, values) = self.row(row);
            counts.columns.extend_from_slice(columns);
            counts.values.extend_from_slice(values);
            counts.starts.push(counts.values.len());
            counts.totals.push(self.totals[row]);
        }
        counts
    }

    /// Every row times its weight: a weight of 2 counts all of it twice, 0 makes it empty.
    pub fn weighted(&self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.n_rows() {
            let allowed = format!("{} numbers, one per row", self.n_rows());
            return Err(Error::argument("weights", allowed, weights.len(), "leave them out to weigh all rows alike"));
        }
        if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::argument("weights", "finite numbers of at least 0", weight, "0 ignores a row"));
        }
        if weights.iter().all(|w| *w == 0.0) {
            return Err(Error::argument("weights", "above 0 for at least one row", "zero for all", "0 ignores a row"));
        }
        let mut counts = Counts::empty(self.n_columns);
        for (row, weight) in weights.iter().enumerate() {
            let (columns, values) = self.row(row);
            counts.push(columns.iter().copied().zip(values.iter().map(|x| x * weight)))?;
        }
        Ok(counts)
    }

    /// How many counts are above 0.
    pub fn n_nonzero(&self) -> usize {
        self.values.len()
    }

    /// The sum of all rows.
    pub fn grand_total(&self) -> f64 {
        self.totals.iter().sum()
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.totals.len()
    }

    /// Number of columns, V.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The columns of a row that have counts, and the counts.
    #[inline]
    pub fn row(&self, n: usize) -> (&[u32], &[f64]) {
        let range = self.starts[n]..self.starts[n + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The sum of a row.
    pub fn total(&self, n: usize) -> f64 {
        self.totals[n]
    }
}

fn check_shape(n_rows: usize, n_columns: usize) -> Result<()> {
    let missing = if n_rows == 0 { "rows" } else { "columns" };
    match n_rows > 0 && n_columns > 0 {
        true if n_rows <= u32::MAX as usize && n_columns <= u32::MAX as usize => Ok(()),
        true => Err(Error::data("the counts have more than 4294967295 rows or columns", "take a sample of them")),
        false => Err(Error::data(format!("the counts have no {missing}"), "give at least one row and one column")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_and_sparse_rows_are_the_same_counts() {
        let dense =
            Counts::from_rows(Rows::new(&[0.0f32, 2.0, 1.0, 0.0, 0.0, 0.0, 3.5, 0.0, 0.0], 3).unwrap()).unwrap();
        let sparse = Counts::new(&[0, 2, 2, 4], &[1, 2, 0, 2], &[2.0, 1.0, 3.5, 0.0], 3).unwrap();
        assert_eq!(dense, sparse);
        assert_eq!((sparse.n_rows(), sparse.n_columns()), (3, 3));
        assert_eq!(sparse.row(0), (&[1, 2][..], &[2.0, 1.0][..]));
        assert_eq!(sparse.row(1), (&[][..], &[][..]));
        assert_eq!([sparse.total(0), sparse.total(1), sparse.total(2)], [3.0, 0.0, 3.5]);
    }

    #[test]
    fn rows_can_be_taken_and_weighed() {
        let counts = Counts::new(&[0, 2, 2, 3], &[1, 2, 0], &[2.0, 1.0, 3.5], 3).unwrap();
        assert_eq!(counts.select(&[2, 0]), Counts::new(&[0, 1, 3], &[0, 1, 2], &[3.5, 2.0, 1.0], 3).unwrap());
        let weighted = counts.weighted(&[2.0, 1.0, 0.0]).unwrap();
        assert_eq!(weighted, Counts::new(&[0, 2, 2, 2], &[1, 2], &[4.0, 2.0], 3).unwrap());
        assert_eq!((weighted.grand_total(), weighted.n_nonzero()), (6.0, 2));
        for weights in [&[1.0, 2.0][..], &[1.0, -1.0, 1.0], &[1.0, f64::NAN, 1.0], &[0.0; 3]] {
            assert!(counts.weighted(weights).unwrap_err().to_string().starts_with("weights must be"));
        }
    }

    #[test]
    fn unusable_counts_are_named() {
        let error = |starts: &[usize], columns: &[u32], values: &[f64], n_columns: usize| {
            Counts::new(starts, columns, values, n_columns).unwrap_err().to_string()
        };
        for (found, message) in [
            (error(&[0, 1], &[0], &[-1.0], 2), "row 0, column 0 (counted from 0) is -1"),
            (error(&[0, 0, 1], &[1], &[f64::NAN], 2), "row 1, column 1 (counted from 0) is NaN"),
            (error(&[0, 1], &[0], &[f64::INFINITY], 2), "row 0, column 0 (counted from 0) is inf"),
            (error(&[0, 1], &[2], &[1.0], 2), "row 0 (counted from 0) has a count in column 2 of 2"),
            (error(&[0, 2], &[1, 0], &[1.0, 1.0], 2), "column 0 comes after column 1"),
            (error(&[0, 2], &[1, 1], &[1.0, 1.0], 2), "column 1 comes after column 1"),
            (error(&[0, 3], &[0, 1], &[1.0, 1.0], 2), "the row starts do not fit"),
            (error(&[], &[], &[], 2), "the row starts do not fit"),
            (error(&[0], &[], &[], 2), "no rows"),
            (error(&[0, 0], &[], &[], 0), "no columns"),
        ] {
            assert!(found.contains(message), "{found}");
        }
    }
}
