//! Advice on columns that would mislead the clustering: row numbers, labels, and very different spreads.

use super::select::{option_value, quoted};

/// A sequence of fewer rows than this may well be data.
const FEWEST_ROWS_OF_AN_ID: usize = 5;

/// From this ratio of standard deviations on, the larger column decides alone.
const LARGEST_RATIO: f64 = 100.0;

/// With more columns than this, a few that hardly vary (the rim of an image) are no reason to rescale.
const FEW_COLUMNS: usize = 50;

/// Adds a line for each thing that the user may want to change.
pub(super) fn look<T: Copy + Into<f64>>(
    values: &[T],
    names: &[String],
    row_numbers: Option<&[usize]>,
    hints: &mut Vec<String>,
) {
    let ids: Vec<usize> = (0..names.len()).filter(|&column| is_id(values, names, column, row_numbers)).collect();
    for &column in &ids {
        hints.push(format!(
            "column {} looks like a row number or an id, not a measurement: leave it out with --exclude {}",
            quoted(&names[column]),
            option_value(&[&names[column]])
        ));
    }
    let answers: Vec<usize> = (0..names.len()).filter(|&column| has_label_name(&names[column])).collect();
    for &column in &answers {
        hints.push(format!(
            "column {} has the name of an answer, not of a measurement: compare with it by --label-column {name}, or \
             leave it out with --exclude {name}",
            quoted(&names[column]),
            name = option_value(&[&names[column]])
        ));
    }
    // A column that is better left out anyway says nothing about the others.
    hints.extend(spread_hint(values, names, &[ids, answers].concat()));
}

fn is_id<T: Copy + Into<f64>>(values: &[T], names: &[String], column: usize, row_numbers: Option<&[usize]>) -> bool {
    let n_rows = values.len() / names.len();
    if n_rows < FEWEST_ROWS_OF_AN_ID {
        return false;
    }
    let cells = || values.iter().skip(column).step_by(names.len()).map(|&cell| cell.into());
    let file_row = |row: usize| row_numbers.map_or(row, |numbers| numbers[row]) as f64;
    let counts_from = |start: f64| cells().enumerate().all(|(row, cell): (usize, f64)| cell == file_row(row) + start);
    if counts_from(0.0) || counts_from(1.0) {
        return true;
    }
    has_id_name(&names[column]) && {
        let mut sorted: Vec<f64> = cells().take_while(|cell: &f64| cell.fract() == 0.0).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted.len() == n_rows && sorted.windows(2).all(|pair| pair[0] != pair[1])
    }
}

fn has_id_name(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    let whole = ["id", "ids", "index", "idx", "row", "rowid", "rownumber", "nr", "no", "#", "key", "unnamed: 0"];
    let ending = ["_id", "-id", " id", ".id", "_index", " index", "_idx", " number", "_number"];
    whole.contains(&name.as_str()) || ending.iter().any(|end| name.ends_with(end)) || name.starts_with("id_")
}

fn has_label_name(name: &str) -> bool {
    ["label", "labels", "class", "target", "cluster"].iter().any(|word| word.eq_ignore_ascii_case(name.trim()))
}

fn spread_hint<T: Copy + Into<f64>>(values: &[T], names: &[String], others: &[usize]) -> Option<String> {
    let deviations = standard_deviations(values, names.len());
    let mut spread: Vec<(f64, usize)> = deviations
        .into_iter()
        .enumerate()
        .filter(|(column, deviation)| *deviation > 0.0 && deviation.is_finite() && !others.contains(column))
        .map(|(column, deviation)| (deviation, column))
        .collect();
    spread.sort_by(|a, b| a.0.total_cmp(&b.0));
    let small = *spread.get(if spread.len() <= FEW_COLUMNS { 0 } else { spread.len() / 2 })?;
    let large = *spread.last()?;
    (large.0 > LARGEST_RATIO * small.0).then(|| {
        format!(
            "column {} varies {:.0} times as much as column {} (standard deviations {} and {}) and will outweigh it: \
             give every column the same weight with --standardize",
            quoted(&names[large.1]),
            large.0 / small.0,
            quoted(&names[small.1]),
            three_digits(large.0),
            three_digits(small.0)
        )
    })
}

fn standard_deviations<T: Copy + Into<f64>>(values: &[T], n_columns: usize) -> Vec<f64> {
    let n_rows = (values.len() / n_columns) as f64;
    // Measured from the first row, a constant column has no spread at all, whatever the rounding.
    let origin: Vec<f64> = values.iter().take(n_columns).map(|&cell| cell.into()).collect();
    let mut means = vec![0.0; n_columns];
    for row in values.chunks_exact(n_columns) {
        for ((mean, origin), &cell) in means.iter_mut().zip(&origin).zip(row) {
            *mean += (cell.into() - origin) / n_rows;
        }
    }
    let mut squares = vec![0.0; n_columns];
    for row in values.chunks_exact(n_columns) {
        for (((square, mean), origin), &cell) in squares.iter_mut().zip(&means).zip(&origin).zip(row) {
            let distance = cell.into() - origin - mean;
            *square += distance * distance / n_rows;
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

fn three_digits(number: f64) -> String {
    if (0.01..100_000.0).contains(&number) {
        let digits = (2 - number.log10().floor() as i32).clamp(0, 4) as usize;
        format!("{number:.digits$}")
    } else {
        format!("{number:.2e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints_for(names: &[&str], columns: &[&[f64]], row_numbers: Option<&[usize]>) -> Vec<String> {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let values: Vec<f64> =
            (0..columns[0].len()).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
        let mut hints = vec![];
        look(&values, &names, row_numbers, &mut hints);
        hints
    }

    const DATA: &[f64] = &[0.5, 1.5, 0.25, 1.0, 0.75, 0.1];

    #[test]
    fn row_numbers_from_zero_or_one_are_noticed() {
        for start in [0.0, 1.0] {
            let count: Vec<f64> = (0..6).map(|row| f64::from(row) + start).collect();
            let hints = hints_for(&["n", "x"], &[&count, DATA], None);
            assert!(hints.len() == 1 && hints[0].contains("--exclude n"), "{hints:?}");
        }
    }

    #[test]
    fn row_numbers_are_noticed_after_rows_were_dropped() {
        let hints = hints_for(&["n", "x"], &[&[1.0, 2.0, 4.0, 5.0, 7.0, 8.0], DATA], Some(&[0, 1, 3, 4, 6, 7]));
        assert!(hints.len() == 1 && hints[0].contains("--exclude n"), "{hints:?}");
    }

    #[test]
    fn distinct_integers_called_id_are_noticed() {
        let codes = [907.0, 13.0, 55.0, 21.0, 8.0, 99.0];
        assert!(hints_for(&["patient_id", "x"], &[&codes, DATA], None)[0].contains("--exclude patient_id"));
        assert_eq!(hints_for(&["weight", "x"], &[&[907.0, 913.0, 955.0, 921.0, 908.0, 999.0], DATA], None).len(), 0);
        assert_eq!(hints_for(&["id", "x"], &[&[1.0, 1.0, 2.0, 2.0, 3.0, 3.0], DATA], None).len(), 0);
    }

    #[test]
    fn a_column_called_label_is_noticed() {
        let hints = hints_for(&["Label", "x"], &[&[0.0, 0.0, 1.0, 1.0, 0.0, 1.0], DATA], None);
        assert!(hints.len() == 1 && hints[0].contains("--label-column Label"), "{hints:?}");
    }

    #[test]
    fn very_different_spreads_suggest_standardizing() {
        let wide: Vec<f64> = DATA.iter().map(|x| x * 1000.0).collect();
        let hints = hints_for(&["salt", "fat"], &[&wide, DATA], None);
        assert!(hints.len() == 1 && hints[0].contains("--standardize") && hints[0].contains("salt"), "{hints:?}");
        let less: Vec<f64> = DATA.iter().map(|x| x * 50.0).collect();
        assert_eq!(hints_for(&["salt", "fat"], &[&less, DATA], None).len(), 0);
    }

    #[test]
    fn constant_columns_and_huge_values_give_no_advice() {
        assert_eq!(hints_for(&["a", "x"], &[&[0.1; 6], DATA], None).len(), 0);
        assert_eq!(hints_for(&["a", "x"], &[&[9.3; 1000], &[0.5; 1000]], None).len(), 0);
        assert_eq!(hints_for(&["a", "x"], &[&[1e300, -1e300, 1e300, 0.0, 1.0, 2.0], DATA], None).len(), 0);
    }

    #[test]
    fn deviations_are_shown_with_three_digits() {
        assert_eq!(three_digits(577.03), "577");
        assert_eq!(three_digits(0.4291), "0.429");
        assert_eq!(three_digits(1.5e9), "1.50e9");
    }
}
