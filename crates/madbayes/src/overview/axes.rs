//! What rows can be seen along: their principal components, (x - mean) v, single columns, and where they stand in the table.

use super::thinned;
use crate::data::{Data, Real, Rows};
use crate::error::Result;
use crate::parallel::Workers;
use crate::prepare::{Keep, Pca, Standardise};

/// Principal components and columns among the axes.
const MOST_COMPONENTS: usize = 6;
const MOST_COLUMNS: usize = 6;
/// Values that components are fitted on, and more than so many columns are too many for all rows.
const MOST_VALUES: usize = 1 << 24;
const MANY_COLUMNS: usize = 256;
const FEW_ROWS: usize = 2000;
/// Rows that are looked at together.
const BLOCK: usize = 512;

/// One axis of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The column; none for a principal component or the row number.
    pub column: Option<usize>,
    /// Which principal component it is, from 0, and its share of the variance.
    pub component: Option<(usize, f64)>,
    /// Where each row shown is on it.
    pub values: Vec<f64>,
}

/// The axes that rows can be seen along; the first two are the most telling.
#[derive(Debug, Clone, PartialEq)]
pub struct Axes {
    /// The axes: principal components, then columns in the user's units, then the row number where there is but one column.
    pub axes: Vec<Axis>,
    pca: Option<Pca>,
}

impl Axes {
    /// The axes of the rows `shown`; `columns` are those worth looking at, the best first.
    pub fn new<T: Real>(
        data: &Data<T>,
        shown: &[usize],
        columns: &[usize],
        units: Option<&Standardise>,
        workers: &Workers,
    ) -> Self {
        let mut axes = Vec::new();
        // Where rounding leaves no components, columns are all there is to see.
        let found = if data.n_columns() > 1 { components(data, shown, workers).ok() } else { None };
        let pca = found.map(|(pca, scores)| {
            let k = pca.n_components();
            for i in 0..k {
                let values = scores.iter().skip(i).step_by(k).copied().collect();
                axes.push(Axis { column: None, component: Some((i, pca.variances[i] / pca.total_variance)), values });
            }
            pca
        });
        for &column in columns.iter().take(MOST_COLUMNS) {
            let value = |&row: &usize| in_units(data.rows().row(row)[column].into(), column, units);
            axes.push(Axis { column: Some(column), component: None, values: shown.iter().map(value).collect() });
        }
        if axes.len() < 2 {
            let values = shown.iter().map(|&row| row as f64 + 1.0).collect();
            axes.push(Axis { column: None, component: None, values });
        }
        Axes { axes, pca }
    }

    /// Where a point, in the units of the data, is on every axis; not a number on the axis of row numbers.
    pub fn place(&self, point: &[f64], units: Option<&Standardise>) -> Vec<f64> {
        let on = |axis: &Axis| match (axis.component, axis.column, &self.pca) {
            (Some((i, _)), _, Some(pca)) => {
                let from_mean = point.iter().zip(&pca.mean).map(|(x, mean)| x - mean);
                from_mean.zip(pca.component(i)).map(|(x, v)| x * v).sum()
            }
            (_, Some(column), _) => in_units(point[column], column, units),
            _ => f64::NAN,
        };
        self.axes.iter().map(on).collect()
    }
}

/// One number of a column in the user's units.
pub(super) fn in_units(x: f64, column: usize, units: Option<&Standardise>) -> f64 {
    units.map_or(x, |units| x * units.scales[column] + units.means[column])
}

/// The first principal components of the rows shown, and where those are on them.
fn components<T: Real>(data: &Data<T>, shown: &[usize], workers: &Workers) -> Result<(Pca, Vec<f64>)> {
    let d = data.n_columns();
    let most = if d > MANY_COLUMNS { FEW_ROWS } else { shown.len() };
    let fitted = thinned(shown.len(), most.min(MOST_VALUES / d).max(2), 0);
    let gather = |rows: &mut dyn Iterator<Item = usize>| -> Vec<T> {
        rows.flat_map(|row| data.rows().row(row)).copied().collect()
    };
    let values = gather(&mut fitted.iter().map(|&i| shown[i]));
    let pca = Pca::fit(Rows::new(&values, d)?, Keep::Number(MOST_COMPONENTS), workers)?;
    let mut scores = Vec::with_capacity(shown.len() * pca.n_components());
    for block in shown.chunks(BLOCK) {
        let values = gather(&mut block.iter().copied());
        scores.extend(pca.apply(Rows::new(&values, d)?, workers)?);
    }
    Ok((pca, scores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_centres_are_placed_alike_on_every_axis() {
        let values: Vec<f64> = (0..60).map(|i| ((i * i * 7) % 23) as f64 + 100.0).collect();
        let rows = Rows::new(&values, 3).unwrap();
        let data = Data::new(rows).unwrap();
        let shown: Vec<usize> = (0..20).step_by(3).collect();
        let units = Standardise { means: vec![1.0, 2.0, 3.0], scales: vec![2.0, 2.0, 0.5] };
        for units in [None, Some(&units)] {
            let axes = Axes::new(&data, &shown, &[2, 0], units, &Workers::serial());
            assert_eq!(axes.axes.len(), 5, "three components and two columns");
            for (i, &row) in shown.iter().enumerate() {
                let place = axes.place(rows.row(row), units);
                for (axis, x) in axes.axes.iter().zip(place) {
                    assert!((axis.values[i] - x).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn one_column_is_seen_against_the_row_number_and_equal_rows_by_their_columns() {
        let data = Data::new(Rows::new(&[5.0, 7.0, 6.0], 1).unwrap()).unwrap();
        let axes = Axes::new(&data, &[0, 2], &[0], None, &Workers::serial());
        assert_eq!(
            axes.axes.iter().map(|axis| axis.values.clone()).collect::<Vec<_>>(),
            [vec![5.0, 6.0], vec![1.0, 3.0]]
        );
        let equal = Data::new(Rows::new(&[2.0; 6], 2).unwrap()).unwrap();
        let axes = Axes::new(&equal, &[0, 1, 2], &[0, 1], None, &Workers::serial());
        assert!(axes.axes.iter().all(|axis| axis.column.is_some()));
    }
}
