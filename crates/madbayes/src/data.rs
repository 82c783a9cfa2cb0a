//! Validated data: rows of finite numbers seen without a copy, and the point all distances are computed about.

use crate::error::{Error, Result};
use crate::parallel::Workers;
use std::fmt::{Debug, Display};

#[macro_use]
mod either;
mod columns;
use columns::Columns;
pub use either::{Either, EitherData, EitherRows};

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// `f32` or `f64`: what a scan may read. Sums are always `f64`.
pub trait Real:
    sealed::Sealed
    + crate::linalg::Lanes
    + Copy
    + Send
    + Sync
    + PartialOrd
    + Debug
    + Display
    + Default
    + Into<f64>
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::AddAssign
    + 'static
{
    /// Half the gap between 1 and the next number: the largest relative error of one rounding.
    const EPSILON: f64;
    /// The largest deviation from the reference point whose squares can still be summed over many columns.
    const LARGEST: f64;
    /// The smallest largest deviation whose squares do not vanish.
    const SMALLEST: f64;
    /// "float32" or "float64".
    const NAME: &'static str;
    /// Rounded to this type.
    fn from_f64(value: f64) -> Self;
    /// self * a + b in one rounding, where the processor has the instruction.
    fn fused_mul_add(self, a: Self, b: Self) -> Self;
    /// The nearest float32.
    fn as_f32(self) -> f32;
    /// The values themselves where they are float64 already.
    fn as_f64s(values: &[Self]) -> Option<&[f64]>;
    /// Data, told apart by this type.
    fn either_data<'a>(data: &'a Data<'a, Self>) -> EitherData<'a>;
    /// Rows, told apart by this type.
    fn either_rows(rows: Rows<'_, Self>) -> EitherRows<'_>;
}

impl Real for f32 {
    const EPSILON: f64 = 0.5 * f32::EPSILON as f64;
    const LARGEST: f64 = 1e15;
    const SMALLEST: f64 = 1e-15;
    const NAME: &'static str = "float32";
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    #[inline(always)]
    fn fused_mul_add(self, a: f32, b: f32) -> f32 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn as_f32(self) -> f32 {
        self
    }
    fn as_f64s(_: &[f32]) -> Option<&[f64]> {
        None
    }
    fn either_data<'a>(data: &'a Data<'a, f32>) -> EitherData<'a> {
        Either::Single(data)
    }
    fn either_rows(rows: Rows<'_, f32>) -> EitherRows<'_> {
        Either::Single(rows)
    }
}

impl Real for f64 {
    const EPSILON: f64 = 0.5 * f64::EPSILON;
    const LARGEST: f64 = 1e140;
    const SMALLEST: f64 = 1e-140;
    const NAME: &'static str = "float64";
    fn from_f64(value: f64) -> f64 {
        value
    }
    #[inline(always)]
    fn fused_mul_add(self, a: f64, b: f64) -> f64 {
        self.mul_add(a, b)
    }
    #[inline(always)]
    fn as_f32(self) -> f32 {
        self as f32
    }
    fn as_f64s(values: &[f64]) -> Option<&[f64]> {
        Some(values)
    }
    fn either_data<'a>(data: &'a Data<'a, f64>) -> EitherData<'a> {
        Either::Double(data)
    }
    fn either_rows(rows: Rows<'_, f64>) -> EitherRows<'_> {
        Either::Double(rows)
    }
}

/// Rows of a table, row after row in one slice. A view: cheap to copy, never owns.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a, T> {
    values: &'a [T],
    n_columns: usize,
    /// From the beginning of one row to that of the next: more than the columns where only every so manieth row counts.
    apart: usize,
}

impl<'a, T: Real> Rows<'a, T> {
    /// `values` as rows of `n_columns` numbers. Errors when there are no rows or columns, or the last row is short.
    pub fn new(values: &'a [T], n_columns: usize) -> Result<Self> {
        if n_columns == 0 {
            return Err(Error::data("the data has no columns", "give at least one numeric column"));
        }
        if values.is_empty() {
            return Err(Error::data("the data has no rows", "give at least one row"));
        }
        if !values.len().is_multiple_of(n_columns) {
            return Err(Error::data(
                format!("{} values do not fill rows of {n_columns} columns", values.len()),
                "every row must have the same number of columns",
            ));
        }
        if values.len() / n_columns > u32::MAX as usize {
            return Err(Error::data("the data has more than 4294967295 rows", "cluster a sample of it"));
        }
        Ok(Rows { values, n_columns, apart: n_columns })
    }

    /// Every `step`-th of the rows, from `first` on, where they stand.
    pub(crate) fn every(&self, step: usize, first: usize) -> Rows<'a, T> {
        Rows { values: &self.values[first * self.apart..], apart: step * self.apart, ..*self }
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        (self.values.len() + self.apart - self.n_columns) / self.apart
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// One row.
    #[inline]
    pub fn row(&self, n: usize) -> &'a [T] {
        &self.values[n * self.apart..n * self.apart + self.n_columns]
    }

    /// All values, row after row.
    ///
    /// # Panics
    /// Where rows between these are left out.
    pub fn values(&self) -> &'a [T] {
        assert_eq!(self.apart, self.n_columns, "rows stand one behind the other");
        self.values
    }

    /// The memory in which the rows stand, and how far apart they begin there.
    pub(crate) fn memory(&self) -> (&'a [T], usize) {
        (self.values, self.apart)
    }

    /// Rows `start..end`.
    pub fn slice(&self, start: usize, end: usize) -> Rows<'a, T> {
        // The last row has nothing behind it where others are left out.
        let place = |row: usize| (row * self.apart).min(self.values.len());
        Rows { values: &self.values[place(start)..place(end)], ..*self }
    }

    /// Some of the rows, by their numbers, one behind the other in a place of their own.
    pub(crate) fn gathered<'b>(&self, numbers: &[u32], place: &'b mut Vec<T>) -> Rows<'b, T> {
        place.clear();
        numbers.iter().for_each(|n| place.extend_from_slice(self.row(*n as usize)));
        Rows { values: place, n_columns: self.n_columns, apart: self.n_columns }
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let rows = *self;
        (0..rows.n_rows()).map(move |n| rows.row(n))
    }
}

/// Rows that have been looked at once: finite, of a usable size, with optional weights and a reference point.
#[derive(Debug, Clone)]
pub struct Data<'a, T> {
    rows: Rows<'a, T>,
    weights: Option<&'a [f64]>,
    reference: Vec<T>,
    ranges: Vec<(f64, f64)>,
    spreads: Vec<f64>,
    total_weight: f64,
}

/// The most rows per chunk of a scan.
pub const CHUNK: usize = 4096;

/// The most numbers per chunk: of wide rows a chunk has fewer, so that threads end together.
const NUMBERS_OF_CHUNK: usize = 1 << 18;
const FEWEST_OF_CHUNK: usize = 256;

/// Rows per chunk of a scan: a power of two that the number of columns alone decides, so that sums are formed in the same order
/// whatever the number of threads.
pub(crate) fn rows_of_chunk(n_columns: usize) -> usize {
    1 << (NUMBERS_OF_CHUNK / n_columns).clamp(FEWEST_OF_CHUNK, CHUNK).ilog2()
}

impl<'a, T: Real> Data<'a, T> {
    /// Checks every value and finds the reference point (the column means).
    pub fn new(rows: Rows<'a, T>) -> Result<Self> {
        Self::weighted(rows, None)
    }

    /// The same with row weights: a weight of 2 counts a row twice, 0 ignores it.
    pub fn weighted(rows: Rows<'a, T>, weights: Option<&'a [f64]>) -> Result<Self> {
        Self::weighted_on(rows, weights, &Workers::serial())
    }

    /// The same, looked at by several threads.
    pub fn weighted_on(rows: Rows<'a, T>, weights: Option<&'a [f64]>, workers: &Workers) -> Result<Self> {
        let d = rows.n_columns();
        let mut total_weight = rows.n_rows() as f64;
        if let Some(weights) = weights {
            if weights.len() != rows.n_rows() {
                return Err(Error::argument(
                    "weights",
                    format!("one number for each of the {} rows", rows.n_rows()),
                    format!("{} numbers", weights.len()),
                    "pass weights of the same length as the data",
                ));
            }
            if let Some((row, weight)) = weights.iter().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0)) {
                return Err(Error::argument(
                    "weights",
                    "finite numbers of at least 0",
                    format!("{weight} for row {row}"),
                    "a weight of 2 counts a row twice, 0 ignores it",
                ));
            }
            let positive = || weights.iter().copied().filter(|w| *w > 0.0);
            let (least, most) = (positive().fold(f64::INFINITY, f64::min), positive().fold(0.0, f64::max));
            if most > 1e12 * least {
                return Err(Error::argument(
                    "weights",
                    "positive numbers within a factor of 1e12 of each other, or 0",
                    format!("{least:e} beside {most:e}"),
                    "the light rows would vanish beside the heavy ones; set them to 0",
                ));
            }
            total_weight = weights.iter().sum();
            if total_weight <= 0.0 || !total_weight.is_finite() {
                return Err(Error::argument(
                    "weights",
                    "numbers with a positive finite sum",
                    if total_weight == 0.0 {
                        "weights that are all zero".into()
                    } else {
                        format!("a sum of {total_weight}")
                    },
                    "give at least one row a positive weight",
                ));
            }
        }
        let Columns { sums, low, high } = Columns::of(T::either_rows(rows), workers);
        if sums.iter().any(|sum| !sum.is_finite()) {
            check_finite(rows)?;
        }
        let n = rows.n_rows() as f64;
        let reference: Vec<T> = (0..d).map(|j| T::from_f64((sums[j] / n).clamp(low[j], high[j]))).collect();
        let spreads: Vec<f64> = (0..d)
            .map(|j| {
                let at: f64 = reference[j].into();
                (high[j] - at).max(at - low[j])
            })
            .collect();
        if let Some(column) = (0..d).find(|&j| spreads[j].is_nan() || spreads[j] > T::LARGEST) {
            return Err(Error::data(
                format!(
                    "column {column} (counted from 0) spreads {:e} about its mean, and {} squares overflow beyond {:e}",
                    spreads[column],
                    T::NAME,
                    T::LARGEST
                ),
                "divide the column by a constant",
            ));
        }
        let widest = spreads.iter().copied().fold(0.0, f64::max);
        if widest > 0.0 && widest < T::SMALLEST {
            return Err(Error::data(
                format!(
                    "no column spreads more than {widest:e} about its mean, and {} squares vanish below {:e}",
                    T::NAME,
                    T::SMALLEST
                ),
                "multiply the data by a constant",
            ));
        }
        let ranges = low.into_iter().zip(high).collect();
        Ok(Data { rows, weights, reference, ranges, spreads, total_weight })
    }

    /// The rows as they are.
    pub fn rows(&self) -> Rows<'a, T> {
        self.rows
    }

    /// Number of rows, N.
    pub fn n_rows(&self) -> usize {
        self.rows.n_rows()
    }

    /// Number of columns, D.
    pub fn n_columns(&self) -> usize {
        self.rows.n_columns()
    }

    /// Row weights, where there are any.
    pub fn weights(&self) -> Option<&'a [f64]> {
        self.weights
    }

    /// The weight of one row.
    #[inline]
    pub fn weight(&self, n: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[n])
    }

    /// Sum of the weights; N without weights.
    pub fn total_weight(&self) -> f64 {
        self.total_weight
    }

    /// The point all distances are computed about: differences from it lose nothing, however far the data lie from 0.
    pub fn reference(&self) -> &[T] {
        &self.reference
    }

    /// Smallest and largest value of each column.
    pub fn ranges(&self) -> &[(f64, f64)] {
        &self.ranges
    }

    /// Each column's largest deviation from the reference point; 0 for a constant column.
    pub fn spreads(&self) -> &[f64] {
        &self.spreads
    }

    /// Copies of some rows and of their weights.
    pub(crate) fn gather(&self, numbers: &[usize]) -> (Vec<T>, Option<Vec<f64>>) {
        let mut values = Vec::with_capacity(numbers.len() * self.n_columns());
        numbers.iter().for_each(|&n| values.extend_from_slice(self.rows.row(n)));
        (values, self.weights.map(|w| numbers.iter().map(|&n| w[n]).collect()))
    }

    /// Rows gathered from these, about the same reference point. None without weight.
    pub(crate) fn sample<'b>(&self, (values, weights): &'b (Vec<T>, Option<Vec<f64>>)) -> Option<Data<'b, T>> {
        self.some_of(Rows::new(values, self.n_columns()).ok()?, weights.as_deref())
    }

    /// Some of these rows with their weights, about the same reference point. None without weight.
    pub(crate) fn some_of<'b>(&self, rows: Rows<'b, T>, weights: Option<&'b [f64]>) -> Option<Data<'b, T>> {
        let total_weight = weights.map_or(rows.n_rows() as f64, |w| w.iter().sum());
        let (reference, ranges, spreads) = (self.reference.clone(), self.ranges.clone(), self.spreads.clone());
        (total_weight > 0.0).then_some(Data { rows, weights, reference, ranges, spreads, total_weight })
    }

    /// Number of chunks in a scan.
    pub fn n_chunks(&self) -> usize {
        self.n_rows().div_ceil(rows_of_chunk(self.n_columns()))
    }

    /// First row and one past the last row of a chunk.
    pub fn chunk(&self, index: usize) -> (usize, usize) {
        let size = rows_of_chunk(self.n_columns());
        (index * size, ((index + 1) * size).min(self.n_rows()))
    }
}

/// Errors unless all rows are finite and near enough to `reference` for their squared distances to be summed.
pub(crate) fn check_about<T: Real>(rows: Rows<T>, reference: &[T]) -> Result<()> {
    check_finite(rows)?;
    for (n, row) in rows.iter().enumerate() {
        for (column, (&x, &r)) in row.iter().zip(reference).enumerate() {
            if (x.into() - r.into()).abs() > T::LARGEST {
                return Err(Error::Cell {
                    row: n,
                    column,
                    found: format!("{:e}", x.into()),
                    help: format!("{} squares overflow beyond {:e}; check the cell and its units", T::NAME, T::LARGEST),
                });
            }
        }
    }
    Ok(())
}

/// Fails at the first cell that is NaN or infinite. (Sums of finite values can overflow too: then this passes.)
fn check_finite<T: Real>(rows: Rows<T>) -> Result<()> {
    for (n, row) in rows.iter().enumerate() {
        for (column, &x) in row.iter().enumerate() {
            let value: f64 = x.into();
            if !value.is_finite() {
                let found = if value.is_nan() { "NaN" } else { "infinite" };
                return Err(Error::Cell {
                    row: n,
                    column,
                    found: found.into(),
                    help: "only finite numbers can be clustered; drop the row or fill the cell in".into(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn error_of<T: Real>(values: &[T], d: usize) -> String {
        Rows::new(values, d).and_then(Data::new).unwrap_err().to_string()
    }

    #[rstest]
    #[case(&[1.0, 2.0, f64::NAN, 4.0], 2, "row 1, column 0 (counted from 0) is NaN")]
    #[case(&[1.0, f64::INFINITY, 3.0, 4.0], 2, "row 0, column 1 (counted from 0) is infinite")]
    #[case(&[1.0, f64::NEG_INFINITY, f64::INFINITY, 4.0], 1, "row 1, column 0")]
    #[case(&[], 2, "no rows")]
    #[case(&[1.0], 0, "no columns")]
    #[case(&[1.0, 2.0, 3.0], 2, "3 values do not fill rows of 2 columns")]
    #[case(&[1e200, 2.0], 1, "column 0 (counted from 0) spreads")]
    #[case(&[f64::MAX, -f64::MAX], 1, "overflow")]
    #[case(&[1e-200, 2e-200], 1, "multiply the data by a constant")]
    fn unusable_data_is_named(#[case] values: &[f64], #[case] d: usize, #[case] message: &str) {
        let error = error_of(values, d);
        assert!(error.contains(message), "{error}");
    }

    #[test]
    fn float32_has_its_own_limits() {
        assert!(error_of(&[1e18f32, 0.0], 1).contains("float32 squares overflow"));
        assert!(error_of(&[1e-20f32, 0.0], 1).contains("float32 squares vanish"));
    }

    #[test]
    fn several_threads_see_what_one_sees() {
        for d in [1, 3, 6000] {
            let n = 2 * (columns::PART / d).max(columns::BLOCK) + 5;
            let mut values: Vec<f32> = (0..n * d).map(|i| ((i * 7919) % 1009) as f32 - 77.0).collect();
            let rows = Rows::new(&values, d).unwrap();
            let (one, three) = (Data::new(rows).unwrap(), Data::weighted_on(rows, None, &Workers::new(3)).unwrap());
            assert_eq!((one.reference(), one.ranges()), (three.reference(), three.ranges()));
            let mean: f64 = (0..n).map(|i| f64::from(values[i * d])).sum::<f64>() / n as f64;
            assert!((f64::from(one.reference()[0]) - mean).abs() < 1e-3, "{} {mean}", one.reference()[0]);
            values[n * d - 1] = f32::NAN;
            let error =
                Data::weighted_on(Rows::new(&values, d).unwrap(), None, &Workers::new(3)).unwrap_err().to_string();
            assert!(error.contains(&format!("row {}, column {} (counted from 0) is NaN", n - 1, d - 1)), "{error}");
        }
    }

    #[test]
    fn bad_weights_are_named() {
        let rows = Rows::new(&[1.0, 2.0], 1).unwrap();
        for (weights, message) in [
            (vec![1.0], "1 numbers"),
            (vec![1.0, -1.0], "-1 for row 1"),
            (vec![0.0, 0.0], "all zero"),
            (vec![1e-3, 1e18], "1e-3 beside 1e18"),
        ] {
            let error = Data::weighted(rows, Some(&weights)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn the_reference_is_the_mean_and_constant_columns_spread_nothing() {
        let values = [1.0f32, 7.0, 3.0, 7.0];
        let data = Data::new(Rows::new(&values, 2).unwrap()).unwrap();
        assert_eq!(data.reference(), &[2.0, 7.0]);
        assert_eq!(data.spreads(), &[1.0, 0.0]);
    }
}
