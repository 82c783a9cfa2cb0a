//! The last step of every reader: missing and infinite cells are found, rows dropped, advice given.

use anyhow::{Result, bail};

use super::select::{option_value, quoted};
use super::{Labels, Table, Values, hints};

/// What a reader found before its cells were looked at; a missing cell is NaN.
pub(super) struct Found {
    /// The names of the data columns.
    pub names: Vec<String>,
    /// The numbers, row-major.
    pub values: Values,
    /// The labels, one per row.
    pub labels: Option<Labels>,
    /// Advice that the reader itself has to give.
    pub hints: Vec<String>,
}

/// Makes the table, or says which cell stands in the way; `place` tells where a row is in the file.
pub(super) fn settle(source: &str, found: Found, drop_missing: bool, place: &dyn Fn(usize) -> String) -> Result<Table> {
    let Found { names, mut values, mut labels, mut hints } = found;
    let n_rows = values.len().checked_div(names.len()).unwrap_or(0);
    if n_rows == 0 {
        bail!("{source} has no rows of data");
    }
    let census = match &values {
        Values::F32(values) => take_census(values, names.len()),
        Values::F64(values) => take_census(values, names.len()),
    };
    if let Some((row, column)) = census.infinite {
        bail!(
            "{source}, {}, column {}: the value is infinite or too large for a double; only finite numbers can be \
             clustered: correct the cell, or leave the column out with --exclude {}",
            place(row),
            quoted(&names[column]),
            option_value(&[&names[column]])
        );
    }
    let dropped = census.missing_rows.len();
    if let Some((row, column)) = census.first_missing {
        let worst = (0..names.len()).max_by_key(|&c| (census.missing[c], std::cmp::Reverse(c))).unwrap_or(column);
        if drop_missing && dropped == n_rows {
            bail!(
                "{source}: every row has a missing cell, so --drop-missing leaves none; column {} is missing in {} of \
                 {n_rows} rows: leave it out with --exclude {}",
                quoted(&names[worst]),
                census.missing[worst],
                option_value(&[&names[worst]])
            );
        }
        if !drop_missing {
            bail!(
                "{source}, {}, column {}: the cell is missing ({dropped} of {n_rows} rows have a missing cell): \
                 drop such rows with --drop-missing, or leave the column out with --exclude {}",
                place(row),
                quoted(&names[column]),
                option_value(&[&names[column]])
            );
        }
    }
    let row_numbers = (dropped > 0).then(|| {
        let kept = kept_rows(n_rows, &census.missing_rows);
        match &mut values {
            Values::F32(values) => keep_rows(values, names.len(), &kept),
            Values::F64(values) => keep_rows(values, names.len(), &kept),
        }
        if let Some(labels) = &mut labels {
            labels.values = kept.iter().map(|&row| std::mem::take(&mut labels.values[row])).collect();
        }
        kept
    });
    match &values {
        Values::F32(values) => hints::look(values, &names, row_numbers.as_deref(), &mut hints),
        Values::F64(values) => hints::look(values, &names, row_numbers.as_deref(), &mut hints),
    }
    Ok(Table { n_rows: n_rows - dropped, names, values, labels, row_numbers, dropped, hints })
}

struct Census {
    infinite: Option<(usize, usize)>,
    first_missing: Option<(usize, usize)>,
    missing_rows: Vec<usize>,
    missing: Vec<usize>,
}

fn take_census<T: Copy + Into<f64>>(values: &[T], n_columns: usize) -> Census {
    let mut census = Census { infinite: None, first_missing: None, missing_rows: vec![], missing: vec![0; n_columns] };
    for (row, cells) in values.chunks_exact(n_columns).enumerate() {
        for (column, &cell) in cells.iter().enumerate() {
            let number: f64 = cell.into();
            if number.is_finite() {
                continue;
            }
            if number.is_nan() {
                census.first_missing.get_or_insert((row, column));
                census.missing[column] += 1;
                if census.missing_rows.last() != Some(&row) {
                    census.missing_rows.push(row);
                }
            } else {
                census.infinite.get_or_insert((row, column));
            }
        }
    }
    census
}

fn kept_rows(n_rows: usize, dropped: &[usize]) -> Vec<usize> {
    let mut dropped = dropped.iter().copied().peekable();
    (0..n_rows).filter(|row| dropped.next_if_eq(row).is_none()).collect()
}

fn keep_rows<T: Copy>(values: &mut Vec<T>, n_columns: usize, kept: &[usize]) {
    for (target, &row) in kept.iter().enumerate() {
        values.copy_within(row * n_columns..(row + 1) * n_columns, target * n_columns);
    }
    values.truncate(kept.len() * n_columns);
}

/// Where a row is in a file that has no lines.
pub(super) fn row_place(row: usize) -> String {
    format!("row {}", row + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(values: Vec<f64>, drop_missing: bool) -> Result<Table> {
        let labels = Labels { name: "l".to_owned(), values: (0..values.len() / 2).map(|i| i.to_string()).collect() };
        let found = Found {
            names: vec!["a".to_owned(), "b".to_owned()],
            values: Values::F64(values),
            labels: Some(labels),
            hints: vec![],
        };
        settle("a.npy", found, drop_missing, &row_place)
    }

    #[test]
    fn dropped_rows_leave_values_labels_and_row_numbers_in_step() {
        let table = settled(vec![f64::NAN, 1.0, 2.0, 3.0, 4.0, f64::NAN, 6.0, 7.0], true).unwrap();
        assert_eq!(table.values, Values::F64(vec![2.0, 3.0, 6.0, 7.0]));
        assert_eq!(table.row_numbers, Some(vec![1, 3]));
        assert_eq!((table.n_rows, table.dropped), (2, 2));
        assert_eq!(table.labels.unwrap().values, ["1", "3"]);
    }

    #[test]
    fn a_missing_cell_is_counted_and_named() {
        let message = settled(vec![1.0, 2.0, 3.0, f64::NAN], false).unwrap_err().to_string();
        assert!(message.starts_with("a.npy, row 2, column \"b\": the cell is missing (1 of 2 rows"), "{message}");
        assert!(message.contains("--drop-missing") && message.contains("--exclude b"), "{message}");
    }

    #[test]
    fn an_infinite_cell_is_named_even_when_missing_ones_are_dropped() {
        let message = settled(vec![1.0, f64::NAN, f64::INFINITY, 2.0], true).unwrap_err().to_string();
        assert!(message.starts_with("a.npy, row 2, column \"a\": the value is infinite"), "{message}");
    }

    #[test]
    fn dropping_every_row_names_the_worst_column() {
        let message = settled(vec![1.0, f64::NAN, 2.0, f64::NAN], true).unwrap_err().to_string();
        assert!(message.contains("every row") && message.contains("--exclude b"), "{message}");
    }

    #[test]
    fn without_dropped_rows_there_are_no_row_numbers() {
        let table = settled(vec![1.0, 2.0, 3.0, 4.0], true).unwrap();
        assert_eq!((table.row_numbers, table.dropped, table.n_rows), (None, 0, 2));
    }
}
