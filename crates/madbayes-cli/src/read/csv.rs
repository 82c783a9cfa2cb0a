//! Delimited text: the numbers and labels in it, or the line and column where it goes wrong.

use ::csv::{ByteRecord, Reader};
use anyhow::{Result, bail};

use super::cell::{Cell, decoration_remark, label_text, read_cell, shorten, text_of};
use super::dialect::{Delimiter, find_delimiter, find_header, is_blank};
use super::select::{Plan, numbered, option_value, quoted, text_columns_message};
use super::settle::{Found, settle};
use super::{Labels, Selection, Table, Values};

/// Reads delimited text; the delimiter and the header are found from the text itself.
pub(super) fn read(bytes: &[u8], source: &str, selection: &Selection) -> Result<Table> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    refuse_what_is_not_text(bytes, source)?;
    let delimiter = find_delimiter(bytes);
    let sample = delimiter.sample(bytes);
    let Some(first) = sample.first() else {
        bail!("{source} holds only blank lines: it should hold a table of numbers, one row per line");
    };
    let header = find_header(&sample, delimiter.decimal_comma(), selection);
    let names = if header.present { first.iter().map(text_of).collect() } else { numbered(first.len()) };
    let plan = Plan::new(source, &names, selection)?;
    let prepared = delimiter.prepare(bytes);
    let text = Text { bytes: &prepared, source, delimiter, header: header.present, plan: &plan };
    let (values, labels) = text.read_rows(expected_rows(&sample, bytes.len()))?;
    if values.is_empty() {
        bail!("{source} has a header but no rows of data: {}", shorten(&names.join(", ")));
    }
    let labels = plan.label_name().map(|name| Labels { name, values: labels });
    let hints = header.hint.into_iter().collect();
    let found = Found { names: plan.data_names(), values: Values::F64(values), labels, hints };
    settle(source, found, selection.drop_missing, &|row| text.place(row))
}

fn refuse_what_is_not_text(bytes: &[u8], source: &str) -> Result<()> {
    let head = &bytes[..bytes.len().min(4096)];
    let zeros = |from: usize| head.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let half = head.len() / 2;
    let marked = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    // Every other byte of plain letters and digits is zero in UTF-16.
    if marked || (half > 0 && zeros(0).max(zeros(1)) * 10 > half * 9) {
        bail!("{source} is written in UTF-16: save it as UTF-8, e.g. `iconv -f UTF-16 -t UTF-8 FILE > NEW`");
    }
    if head.contains(&0) {
        bail!("{source} is not text (it holds zero bytes), nor NPY, NPZ or Parquet: save the table as CSV");
    }
    Ok(())
}

fn expected_rows(sample: &[ByteRecord], length: usize) -> usize {
    let sampled: usize = sample.iter().map(|record| record.as_slice().len() + record.len()).sum();
    // A little more than the guess is cheaper than growing once.
    length / (sampled / sample.len().max(1)).max(2) * 21 / 20 + 16
}

struct Text<'a> {
    bytes: &'a [u8],
    source: &'a str,
    delimiter: Delimiter,
    header: bool,
    plan: &'a Plan,
}

impl Text<'_> {
    /// The data cells with NaN where one is missing, and the labels.
    fn read_rows(&self, expected_rows: usize) -> Result<(Vec<f64>, Vec<String>)> {
        let decimal_comma = self.delimiter.decimal_comma();
        // No file has more cells than bytes.
        let mut values = Vec::with_capacity((expected_rows * self.plan.data.len()).min(self.bytes.len() + 1));
        let mut labels = Vec::new();
        let mut rows = self.rows();
        let (mut points, mut commas) = (false, false);
        while rows.advance() {
            let record = &rows.record;
            if record.len() != self.plan.names.len() {
                return self.ragged(&rows);
            }
            for &column in &self.plan.data {
                let raw = &record[column];
                match read_cell(raw, decimal_comma) {
                    Cell::Number(number) => values.push(number),
                    Cell::Missing => values.push(f64::NAN),
                    Cell::Text => return self.not_a_number(&rows, column),
                }
                if decimal_comma {
                    points |= raw.contains(&b'.');
                    commas |= raw.contains(&b',');
                    if points && commas {
                        return self.mixed_decimals(&rows, column);
                    }
                }
            }
            if let Some(column) = self.plan.label {
                labels.push(label_text(&record[column]));
            }
        }
        Ok((values, labels))
    }

    fn rows(&self) -> Rows<'_> {
        let mut rows =
            Rows { bytes: self.bytes, reader: self.delimiter.reader(self.bytes), record: ByteRecord::new(), number: 0 };
        if self.header {
            rows.advance();
            rows.number = 0;
        }
        rows
    }

    /// "line 7 (data row 6)" for a row counted from 0; found by reading again, for it is needed only once.
    fn place(&self, row: usize) -> String {
        let mut rows = self.rows();
        while rows.advance() && rows.number <= row {}
        rows.place()
    }

    fn ragged<T>(&self, rows: &Rows<'_>) -> Result<T> {
        let (found, expected) = (rows.record.len(), self.plan.names.len());
        let fields = |count: usize| if count == 1 { "1 field".to_owned() } else { format!("{count} fields") };
        let whose = if self.header { "the header" } else { "the first row" };
        let remedy = if self.header && rows.number == 1 && found == expected + 1 {
            "if the first column holds row names, give it a name in the header"
        } else {
            "every row needs the same number; quote fields that contain the delimiter"
        };
        bail!("{}, {}: {}, but {whose} has {expected}: {remedy}", self.source, rows.place(), fields(found));
    }

    fn mixed_decimals<T>(&self, rows: &Rows<'_>, column: usize) -> Result<T> {
        bail!(
            "{}, {}, column {}: some numbers have a decimal point and some a comma, so \"{}\" is not clear: \
             write them all one way, without separators between thousands",
            self.source,
            rows.place(),
            quoted(&self.plan.names[column]),
            shorten(&text_of(&rows.record[column]))
        );
    }

    fn not_a_number<T>(&self, rows: &Rows<'_>, column: usize) -> Result<T> {
        let texts = self.text_columns();
        if texts.contains(&column) {
            let names: Vec<&str> = texts.iter().map(|&column| self.plan.names[column].as_str()).collect();
            bail!("{}", text_columns_message(self.source, &names, texts.len() < self.plan.data.len()));
        }
        let text = text_of(&rows.record[column]);
        let name = self.plan.names[column].as_str();
        let remark = decoration_remark(&text).map(|remark| format!("{remark}, ")).unwrap_or_default();
        bail!(
            "{}, {}, column {}: \"{}\" is not a number: {remark}leave the column out with --exclude {}, or use it as \
             --label-column {}",
            self.source,
            rows.place(),
            quoted(name),
            shorten(&text),
            option_value(&[name]),
            option_value(&[name])
        );
    }

    /// The data columns that hold text and not one number.
    fn text_columns(&self) -> Vec<usize> {
        let width = self.plan.names.len();
        let (mut has_text, mut has_number) = (vec![false; width], vec![false; width]);
        let mut rows = self.rows();
        while rows.advance() {
            for &column in &self.plan.data {
                match rows.record.get(column).map(|cell| read_cell(cell, self.delimiter.decimal_comma())) {
                    Some(Cell::Number(_)) => has_number[column] = true,
                    Some(Cell::Text) => has_text[column] = true,
                    _ => {}
                }
            }
        }
        self.plan.data.iter().copied().filter(|&column| has_text[column] && !has_number[column]).collect()
    }
}

/// The records of a file one after the other, blank lines left out.
struct Rows<'a> {
    bytes: &'a [u8],
    reader: Reader<&'a [u8]>,
    record: ByteRecord,
    /// The number of the current row, from 1.
    number: usize,
}

impl Rows<'_> {
    fn advance(&mut self) -> bool {
        loop {
            // Reading bytes from memory with uneven records allowed has no way to fail.
            if !matches!(self.reader.read_byte_record(&mut self.record), Ok(true)) {
                return false;
            }
            if !is_blank(&self.record) {
                self.number += 1;
                return true;
            }
        }
    }

    fn place(&self) -> String {
        let Some(position) = self.record.position() else { return format!("data row {}", self.number) };
        // The reader takes blank lines before a record for a part of it.
        let start = usize::try_from(position.byte()).unwrap_or(usize::MAX).min(self.bytes.len());
        let blank = self.bytes[start..].iter().take_while(|&&byte| byte == b'\n' || byte == b'\r');
        let line = position.line() + blank.filter(|&&byte| byte == b'\n').count() as u64;
        if self.number == 0 { format!("line {line}") } else { format!("line {line} (data row {})", self.number) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        read(text.as_bytes(), "a.csv", &Selection::default()).unwrap()
    }

    fn values(text: &str) -> Vec<f64> {
        match table(text).values {
            Values::F64(values) => values,
            Values::F32(_) => unreachable!("text is read in double precision"),
        }
    }

    fn message(text: &str) -> String {
        read(text.as_bytes(), "a.csv", &Selection::default()).unwrap_err().to_string()
    }

    fn with_label(name: &str) -> Selection {
        Selection { label_column: Some(name.to_owned()), ..Selection::default() }
    }

    #[test]
    fn every_delimiter_gives_the_same_table() {
        for text in ["a,b\n1,2.5\n-3,4e1\n", "a;b\n1;2,5\n-3;4e1\n", "a\tb\n1\t2.5\n-3\t4e1\n", "a|b\n1|2.5\n-3|4e1\n"]
        {
            assert_eq!(values(text), [1.0, 2.5, -3.0, 40.0], "{text}");
            assert_eq!(table(text).names, ["a", "b"], "{text}");
        }
        assert_eq!(values("  a    b\n  1  2.5\n -3   4e1  \n"), [1.0, 2.5, -3.0, 40.0]);
    }

    #[test]
    fn line_ends_marks_and_blank_lines_do_not_matter() {
        let expected = [1.0, 2.0, 3.0, 4.0];
        for text in ["\u{feff}a,b\r\n1,2\r\n3,4\r\n", "a,b\n\n1,2\n\n\n3,4", "\n\na,b\n   \n 1 , 2 \n+3,4\n\n"] {
            assert_eq!(values(text), expected, "{text:?}");
            assert_eq!(table(text).names, ["a", "b"], "{text:?}");
        }
    }

    #[test]
    fn quoted_fields_may_hold_delimiters_and_newlines() {
        let text = "\"a, b\",c,l\n\"1\",2,\"x\ny\"\n3,4,\"p \"\"q\"\"\"\n";
        let table = read(text.as_bytes(), "a.csv", &with_label("l")).unwrap();
        assert_eq!(table.names, ["a, b", "c"]);
        assert_eq!(table.values, Values::F64(vec![1.0, 2.0, 3.0, 4.0]));
        assert_eq!(table.labels.unwrap().values, ["x\ny", "p \"q\""]);
    }

    #[test]
    fn file_without_header_has_numbered_columns() {
        let selection = Selection { columns: Some(vec!["3".to_owned(), "1".to_owned()]), ..Selection::default() };
        let table = read(b"1,2,3\n4,5,6\n", "a.csv", &selection).unwrap();
        assert_eq!(table.names, ["3", "1"]);
        assert_eq!(table.values, Values::F64(vec![3.0, 1.0, 6.0, 4.0]));
    }

    #[test]
    fn ragged_row_is_reported_with_line_and_counts() {
        let text = message("a,b\n1,2\n\n3,4,5\n");
        assert!(text.starts_with("a.csv, line 4 (data row 2): 3 fields, but the header has 2"), "{text}");
        assert!(message("1,2\n3\n4,5\n").contains("1 field, but the first row has 2"));
        assert!(message("a,b\nr1,1,2\nr2,3,4\n").contains("row names"));
    }

    #[test]
    fn missing_cell_is_reported_with_its_row_and_column() {
        for cell in ["", "NA", "N/A", "NaN", "null", "None", "?", "-"] {
            let text = message(&format!("age,size\n1,2\n\n3,4\n{cell},6\n"));
            assert!(text.starts_with("a.csv, line 5 (data row 3), column \"age\": the cell is missing"), "{text}");
            assert!(text.contains("--drop-missing") && text.contains("--exclude age"), "{text}");
        }
    }

    #[test]
    fn rows_with_missing_cells_are_dropped_on_request() {
        let selection = Selection { drop_missing: true, ..with_label("l") };
        let table = read(b"a,l,b\n1,x,2\nNA,y,3\n4,z,5\n6,w,\n", "a.csv", &selection).unwrap();
        assert_eq!(table.values, Values::F64(vec![1.0, 2.0, 4.0, 5.0]));
        assert_eq!(table.row_numbers, Some(vec![0, 2]));
        assert_eq!(table.dropped, 2);
        assert_eq!(table.labels.unwrap().values, ["x", "z"]);
    }

    #[test]
    fn infinite_cell_is_reported_with_its_place() {
        for cell in ["inf", "-Infinity", "1e999"] {
            let text = message(&format!("a,b\n1,2\n3,{cell}\n"));
            assert!(text.starts_with("a.csv, line 3 (data row 2), column \"b\": the value is infinite"), "{text}");
        }
    }

    #[test]
    fn text_among_numbers_is_reported_with_its_place() {
        let text = message("age,b\n1,2\n3,4\nabc,5\n");
        assert_eq!(
            text,
            "a.csv, line 4 (data row 3), column \"age\": \"abc\" is not a number: leave the column out with \
             --exclude age, or use it as --label-column age"
        );
        assert!(message("a,b\n1,2\n3,\"1,234\"\n").contains("plain number such as 1234"));
    }

    #[test]
    fn text_columns_are_named_all_at_once() {
        let text = message("kind,x,Serving Size\nfoo,1,big\nbar,2,small\n");
        assert!(text.contains("columns \"kind\", \"Serving Size\" are text"), "{text}");
        assert!(text.contains("--exclude 'kind,Serving Size'"), "{text}");
        let text = message("species,x\nfoo,1\nbar,2\n");
        assert!(text.contains("column \"species\" is text"), "{text}");
        assert!(text.contains("--exclude species, or use it as --label-column species"), "{text}");
    }

    #[test]
    fn file_of_text_alone_has_no_numbers() {
        assert!(message("a,b\nfoo,bar\n").contains("no column of numbers is left"));
    }

    #[test]
    fn label_column_is_text_and_not_data() {
        let table = read(b"a,l\n1,3\n2,\n3,NA\n4,-\n", "a.csv", &with_label("l")).unwrap();
        assert_eq!(table.names, ["a"]);
        let labels = table.labels.unwrap();
        assert_eq!((labels.name.as_str(), labels.values), ("l", ["3", "", "", "-"].map(String::from).to_vec()));
    }

    #[test]
    fn header_without_rows_and_blank_files_are_refused() {
        assert!(message("a,b\n").contains("no rows of data"));
        assert!(message("\n \n\n").contains("blank lines"));
    }

    #[test]
    fn utf_16_and_binary_are_refused() {
        let utf_16: Vec<u8> = "a,b\n1,2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [b"\xff\xfe".as_slice(), &utf_16].concat();
        for bytes in [utf_16, marked] {
            let text = read(&bytes, "a.csv", &Selection::default()).unwrap_err().to_string();
            assert!(text.contains("UTF-16") && text.contains("iconv"), "{text}");
        }
        assert!(message("1,2\n\0\n").contains("not text"));
    }

    #[test]
    fn decimal_point_and_comma_do_not_mix() {
        let text = message("a;b\n1,5;2\n1.5;3\n");
        assert!(text.starts_with("a.csv, line 3 (data row 2), column \"a\": some numbers"), "{text}");
    }

    #[test]
    fn constant_and_single_columns_are_fine() {
        assert_eq!(values("x\n9172\n9350\n"), [9172.0, 9350.0]);
        assert_eq!(values("a,b\n1,2\n1,3\n"), [1.0, 2.0, 1.0, 3.0]);
    }

    #[test]
    fn hints_reach_the_table() {
        let rows: String = (1..=9).map(|i| format!("{i},{}\n", i * i % 7)).collect();
        assert!(table(&format!("n,x\n{rows}")).hints[0].contains("--exclude n"));
    }
}
