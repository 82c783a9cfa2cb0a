//! How a text file is written: what separates its fields, and whether its first line is a header.

use std::borrow::Cow;

use ::csv::{ByteRecord, Reader, ReaderBuilder};

use super::Selection;
use super::cell::{Cell, read_cell, text_of};

/// The way the fields of a text file are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// One character between two fields.
    Character(u8),
    /// Any number of spaces and tabs between two fields.
    Whitespace,
}

impl Delimiter {
    /// Whether `1,5` may be a number: only where a semicolon separates the fields.
    pub fn decimal_comma(self) -> bool {
        self == Delimiter::Character(b';')
    }

    /// A reader of the fields in `bytes`, which [`Delimiter::prepare`] has made ready.
    pub fn reader(self, bytes: &[u8]) -> Reader<&[u8]> {
        let byte = match self {
            Delimiter::Character(byte) => byte,
            Delimiter::Whitespace => b'\t',
        };
        ReaderBuilder::new().delimiter(byte).has_headers(false).flexible(true).from_reader(bytes)
    }

    /// The same lines with single separators.
    pub fn prepare(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Delimiter::Character(_) => Cow::Borrowed(bytes),
            Delimiter::Whitespace => Cow::Owned(collapse(bytes)),
        }
    }

    /// The first records of the text, blank lines left out.
    pub fn sample(self, bytes: &[u8]) -> Vec<ByteRecord> {
        let start = head(bytes);
        let prepared = self.prepare(start);
        let mut records: Vec<ByteRecord> =
            self.reader(&prepared).into_byte_records().map_while(Result::ok).filter(|r| !is_blank(r)).collect();
        // A quoted field may have been cut in two.
        if start.len() < bytes.len() && records.len() > 2 {
            records.pop();
        }
        records
    }
}

/// Finds the delimiter that cuts the first lines into the most even records with the most numbers.
pub(super) fn find_delimiter(bytes: &[u8]) -> Delimiter {
    const CANDIDATES: [Delimiter; 5] = [
        Delimiter::Character(b','),
        Delimiter::Character(b';'),
        Delimiter::Character(b'\t'),
        Delimiter::Character(b'|'),
        Delimiter::Whitespace,
    ];
    let mut best = (0.0, CANDIDATES[0]);
    for candidate in CANDIDATES {
        let score = score(&candidate.sample(bytes), candidate.decimal_comma());
        if score > best.0 {
            best = (score, candidate);
        }
    }
    best.1
}

fn score(records: &[ByteRecord], decimal_comma: bool) -> f64 {
    let mut lengths: Vec<usize> = records.iter().map(ByteRecord::len).collect();
    lengths.sort_unstable();
    let Some(common) = lengths.chunk_by(|a, b| a == b).max_by_key(|run| run.len()) else { return 0.0 };
    if common[0] < 2 {
        return 0.0;
    }
    let evenness = common.len() as f64 / lengths.len() as f64;
    let (mut numbers, mut cells) = (0, 0);
    for cell in records.iter().flatten() {
        cells += 1;
        numbers += usize::from(matches!(read_cell(cell, decimal_comma), Cell::Number(_)));
    }
    // Even text without a number is still better than nothing.
    evenness * (0.01 + f64::from(numbers as u32) / f64::from(cells as u32))
}

/// What the first record turned out to be.
pub(super) struct Header {
    /// Whether it holds the names of the columns.
    pub present: bool,
    /// Advice where the case was not clear.
    pub hint: Option<String>,
}

/// Decides whether the first record is a header, from the records after it and the names asked for.
pub(super) fn find_header(records: &[ByteRecord], decimal_comma: bool, selection: &Selection) -> Header {
    let Some((first, later)) = records.split_first() else { return Header { present: false, hint: None } };
    let kinds: Vec<Cell> = first.iter().map(|cell| read_cell(cell, decimal_comma)).collect();
    let is_text = |column: usize| kinds[column] == Cell::Text;
    let is_name = |column: usize| is_text(column) && mostly_numbers(later, column, decimal_comma);
    let number = kinds.iter().position(|kind| matches!(kind, Cell::Number(_)));
    let shown = |column: usize| text_of(first.get(column).unwrap_or_default());
    if names_asked_for(first, selection) || (0..kinds.len()).any(is_name) {
        let hint = number.map(|column| {
            format!(
                "the first line was taken as the header, although \"{}\" in it is a number: \
                 put a line of names above it if it is data",
                super::cell::shorten(&shown(column))
            )
        });
        return Header { present: true, hint };
    }
    if number.is_none() && kinds.contains(&Cell::Text) {
        return Header { present: true, hint: None };
    }
    // A word that never comes again may be the name of its column after all.
    let alone = |column: usize| is_text(column) && later.iter().all(|record| record.get(column) != first.get(column));
    let hint = (later.len() > 1).then(|| (0..kinds.len()).find(|&column| alone(column))).flatten().map(|column| {
        format!(
            "the first line was taken as data, not as a header, although it holds the text \"{}\": \
             give every column a name that is not a number if it is a header",
            super::cell::shorten(&shown(column))
        )
    });
    Header { present: false, hint }
}

fn mostly_numbers(records: &[ByteRecord], column: usize, decimal_comma: bool) -> bool {
    let (mut numbers, mut texts) = (0, 0);
    for cell in records.iter().filter_map(|record| record.get(column)) {
        match read_cell(cell, decimal_comma) {
            Cell::Number(_) => numbers += 1,
            Cell::Text => texts += 1,
            Cell::Missing => {}
        }
    }
    numbers > texts
}

/// Whether the user called columns by names that are in the first record and are not mere positions.
fn names_asked_for(first: &ByteRecord, selection: &Selection) -> bool {
    let asked = selection.columns.iter().flatten().chain(&selection.exclude).chain(&selection.label_column);
    let mut decisive = false;
    for name in asked {
        if !first.iter().any(|cell| text_of(cell) == name.trim()) {
            return false;
        }
        decisive |= !name.trim().parse::<usize>().is_ok_and(|number| (1..=first.len()).contains(&number));
    }
    decisive
}

/// Whether a record is a line of nothing but spaces.
pub(super) fn is_blank(record: &ByteRecord) -> bool {
    record.len() == 1 && record.get(0).is_some_and(|cell| !cell.is_empty() && cell.trim_ascii().is_empty())
}

/// Whole lines from the start: enough to judge by, however wide they are.
fn head(bytes: &[u8]) -> &[u8] {
    const MOST_LINES: usize = 200;
    const FEWEST_LINES: usize = 8;
    const ENOUGH_BYTES: usize = 1 << 16;
    let mut lines = 0;
    for (position, &byte) in bytes.iter().enumerate() {
        lines += usize::from(byte == b'\n');
        if byte == b'\n' && (lines >= MOST_LINES || (lines >= FEWEST_LINES && position >= ENOUGH_BYTES)) {
            return &bytes[..=position];
        }
    }
    bytes
}

/// Replaces runs of spaces and tabs by one tab and takes them away at the ends of lines; quoted fields stay.
fn collapse(bytes: &[u8]) -> Vec<u8> {
    let mut collapsed = Vec::with_capacity(bytes.len());
    let mut position = 0;
    let (mut at_start_of_line, mut gap) = (true, false);
    while let Some(&byte) = bytes.get(position) {
        position += 1;
        match byte {
            b' ' | b'\t' => {
                gap = true;
                continue;
            }
            b'\n' | b'\r' => {
                collapsed.push(byte);
                (at_start_of_line, gap) = (true, false);
                continue;
            }
            _ => {}
        }
        let opens_field = gap || at_start_of_line;
        if gap && !at_start_of_line {
            collapsed.push(b'\t');
        }
        (at_start_of_line, gap) = (false, false);
        collapsed.push(byte);
        if byte == b'"' && opens_field {
            // A doubled quote closes the field and opens it again, which comes to the same here.
            let length = bytes[position..].iter().position(|&b| b == b'"').map_or(bytes.len() - position, |p| p + 1);
            collapsed.extend_from_slice(&bytes[position..position + length]);
            position += length;
            while bytes.get(position) == Some(&b'"') {
                let rest = &bytes[position + 1..];
                let length = 1 + rest.iter().position(|&b| b == b'"').map_or(rest.len(), |p| p + 1);
                collapsed.extend_from_slice(&bytes[position..position + length]);
                position += length;
            }
        }
    }
    collapsed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(text: &str) -> bool {
        let delimiter = find_delimiter(text.as_bytes());
        find_header(&delimiter.sample(text.as_bytes()), delimiter.decimal_comma(), &Selection::default()).present
    }

    #[test]
    fn delimiters_are_found() {
        for (text, delimiter) in [
            ("a,b\n1,2\n", Delimiter::Character(b',')),
            ("a;b\n1,5;2,5\n", Delimiter::Character(b';')),
            ("1,5;2,5\n3,5;4,5\n", Delimiter::Character(b';')),
            ("a b\tc\n1\t2\n", Delimiter::Character(b'\t')),
            ("a|b\n1|2\n", Delimiter::Character(b'|')),
            ("  1.0   2.0\n 3.0  4.0 \n", Delimiter::Whitespace),
            ("1, 2, 3\n4, 5, 6\n", Delimiter::Character(b',')),
            ("when,x\n2020-01-01 10:00:00,1.5\n2020-01-02 10:00:00,2.5\n", Delimiter::Character(b',')),
            ("name;x\n\"Smith, John\";3\n\"Doe, Jane\";4\n", Delimiter::Character(b';')),
            ("velocity km s\n9172\n9350\n", Delimiter::Character(b',')),
        ] {
            assert_eq!(find_delimiter(text.as_bytes()), delimiter, "{text}");
        }
    }

    #[test]
    fn header_is_found_by_words_above_numbers() {
        assert!(header("a,b\n1,2\n"));
        assert!(header("species,x\nsetosa,1\nsetosa,2\n"));
        assert!(header("a,b\nfoo,bar\n"));
        assert!(header("a,b\n"));
        assert!(!header("1,2\n3,4\n"));
        assert!(!header("setosa,1\nsetosa,2\n"));
        assert!(!header("NA,1\n3,2\n"));
        assert!(header("x\n1\nabc\n3\n"));
    }

    #[test]
    fn names_asked_for_make_numbers_a_header() {
        let text = "2019,2020\n1,2\n3,4\n";
        let records = Delimiter::Character(b',').sample(text.as_bytes());
        let asked = |name: &str| Selection { exclude: vec![name.to_owned()], ..Selection::default() };
        assert!(find_header(&records, false, &asked("2019")).present);
        assert!(!find_header(&records, false, &asked("1")).present);
    }

    #[test]
    fn doubtful_first_lines_give_a_hint() {
        let hint = |text: &str| {
            find_header(&Delimiter::Character(b',').sample(text.as_bytes()), false, &Selection::default()).hint
        };
        assert!(hint("name,2019\na,1\nb,2\n").unwrap().contains("taken as data"));
        assert!(hint("abc,2.0\n1.0,3.0\n").unwrap().contains("taken as the header"));
        assert_eq!(hint("a,b\n1,2\n"), None);
        assert_eq!(hint("setosa,1\nsetosa,2\nother,3\n"), None);
    }

    #[test]
    fn whitespace_is_collapsed_outside_quotes() {
        assert_eq!(collapse(b"  a \t b  \n\"c  \"\"  d\"   2\n"), b"a\tb\n\"c  \"\"  d\"\t2\n");
        assert_eq!(collapse(b"a \"open"), b"a\t\"open");
    }
}
