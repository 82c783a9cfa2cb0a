//! Numbers and tables as people read them.

/// About five digits: 0.01234, 12.346, 1234.6, 1.2346e9.
pub fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs();
    if !(1e-4..1e7).contains(&size) {
        return format!("{x:.4e}");
    }
    let digits = (4 - size.log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{x:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// 12,345 for 12345.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Plural where it belongs: 1 row, 2 rows.
pub fn plural(n: usize, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// Rows of cells, right-aligned under their heads.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for row in std::iter::once(head).chain(rows.iter().map(Vec::as_slice)) {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        out.push_str(&format!("  {}\n", cells.join("  ")));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_five_digits() {
        for (x, text) in [
            (0.0, "0"),
            (0.012345678, "0.012346"),
            (12.3456789, "12.346"),
            (-1234.56789, "-1234.6"),
            (123456.7, "123457"),
            (8.917616e12, "8.9176e12"),
            (1.5, "1.5"),
            (3.0, "3"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(x), text);
        }
        assert_eq!((count(1234567), count(12), plural(1, "row")), ("1,234,567".into(), "12".into(), "1 row".into()));
    }

    #[test]
    fn cells_stand_under_their_heads() {
        let text = table(&["a".into(), "long".into()], &[vec!["100".into(), "1".into()]]);
        assert_eq!(text, "    a  long\n  100     1\n");
    }
}
