//! A table of numbers from a file or from standard input: delimited text, NPY, NPZ or Parquet.

mod cell;
mod csv;
mod dialect;
mod hints;
pub mod images;
mod matrix;
mod npz;
mod numpy;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(test)]
mod properties;
pub mod scale;
mod select;
mod settle;
mod sparse;
mod zip;

pub use select::{option_value, quoted};

use std::borrow::Cow;
use std::io::Read as _;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use madbayes::counts::Counts;
use madbayes::data::Rows;

/// The numbers of a table, row after row.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Single precision, when the file holds nothing wider.
    F32(Vec<f32>),
    /// Double precision: everything else.
    F64(Vec<f64>),
}

impl Values {
    /// How many numbers there are, rows times columns.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
        }
    }
}

/// The text of the label column, one entry per row that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The name of the column.
    pub name: String,
    /// One label per row; a missing label is the empty string.
    pub values: Vec<String>,
}

/// What a file holds, after the choice of columns and rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The names of the data columns, all different.
    pub names: Vec<String>,
    /// The numbers, row-major, all finite: `n_rows` times `names.len()` of them.
    pub values: Values,
    /// How many rows were kept.
    pub n_rows: usize,
    /// The labels, when a label column was asked for.
    pub labels: Option<Labels>,
    /// The index in the file (from 0, header not counted) of each kept row; `None` when no row was dropped.
    pub row_numbers: Option<Vec<usize>>,
    /// How many rows were dropped for a missing cell.
    pub dropped: usize,
    /// Advice for the user, one line each.
    pub hints: Vec<String>,
}

/// Rows of counts from a file, dense or sparse.
#[derive(Clone, Debug, PartialEq)]
pub struct CountsTable {
    /// The names of the columns, all different.
    pub names: Vec<String>,
    /// The counts above 0.
    pub counts: Counts,
    /// The labels, when a label column was asked for.
    pub labels: Option<Labels>,
    /// The index in the file of each kept row; `None` when no row was dropped.
    pub row_numbers: Option<Vec<usize>>,
    /// How many rows were dropped for a missing cell.
    pub dropped: usize,
    /// Advice for the user, one line each.
    pub hints: Vec<String>,
}

/// Which columns are data, which one is the label, and what becomes of rows with missing cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// The data columns by name, in this order; `None` takes them all.
    pub columns: Option<Vec<String>>,
    /// Columns to leave out.
    pub exclude: Vec<String>,
    /// The column (in an NPZ file: the array) that holds a label per row.
    pub label_column: Option<String>,
    /// Drop rows with a missing cell instead of refusing the file.
    pub drop_missing: bool,
}

/// Where the bytes come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    Path(PathBuf),
    /// Standard input, written `-` on the command line.
    Stdin,
}

impl Input {
    /// The input that a command-line argument means: `-` is standard input.
    pub fn from_argument(argument: &str) -> Input {
        if argument == "-" { Input::Stdin } else { Input::Path(PathBuf::from(argument)) }
    }

    /// The name to use in messages.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "standard input".to_owned(),
        }
    }
}

/// Reads the whole input, finds its format, and returns the selected columns.
pub fn read(input: &Input, selection: &Selection) -> Result<Table> {
    let name = input.name();
    read_cow(Cow::Owned(bytes_of(input)?), &name, selection)
}

/// The same as rows of counts: an NPZ file may hold a sparse matrix, which stays one.
pub fn read_counts(input: &Input, selection: &Selection) -> Result<CountsTable> {
    let (name, bytes) = (input.name(), bytes_of(input)?);
    if !bytes.is_empty()
        && format_of(&bytes, &name)? == Format::Npz
        && let Some(table) = sparse::read(&bytes, &name, selection)?
    {
        return Ok(table);
    }
    let Table { names, values, labels, row_numbers, dropped, hints, .. } =
        read_cow(Cow::Owned(bytes), &name, selection)?;
    let counts = match &values {
        Values::F32(values) => Counts::from_rows(Rows::new(values, names.len())?),
        Values::F64(values) => Counts::from_rows(Rows::new(values, names.len())?),
    };
    let counts = counts.with_context(|| format!("{name} does not hold counts"))?;
    Ok(CountsTable { names, counts, labels, row_numbers, dropped, hints })
}

/// The whole input.
fn bytes_of(input: &Input) -> Result<Vec<u8>> {
    let name = input.name();
    Ok(match input {
        Input::Path(path) if path.is_dir() => bail!("{name} is a directory: name a file in it"),
        Input::Path(path) => std::fs::read(path).with_context(|| format!("{name} cannot be read"))?,
        Input::Stdin => {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
            bytes
        }
    })
}

/// Reads a table from bytes in memory; `name` is the file name, for the messages and for its extension.
#[cfg(test)]
fn read_bytes(bytes: &[u8], name: &str, selection: &Selection) -> Result<Table> {
    read_cow(Cow::Borrowed(bytes), name, selection)
}

fn read_cow(bytes: Cow<'_, [u8]>, name: &str, selection: &Selection) -> Result<Table> {
    if bytes.is_empty() {
        bail!("{name} is empty: it should hold a table of numbers, one row per line");
    }
    match format_of(&bytes, name)? {
        Format::Text => csv::read(&bytes, name, selection),
        Format::Npy => numpy::read(&bytes, name, selection),
        Format::Npz => npz::read(&bytes, name, selection),
        Format::Parquet => read_parquet(bytes.into_owned(), name, selection),
    }
}

#[cfg(feature = "parquet")]
fn read_parquet(bytes: Vec<u8>, name: &str, selection: &Selection) -> Result<Table> {
    parquet::read(bytes, name, selection)
}

#[cfg(not(feature = "parquet"))]
fn read_parquet(_bytes: Vec<u8>, name: &str, _selection: &Selection) -> Result<Table> {
    bail!(
        "{name} is a Parquet file, but this madbayes was built without Parquet: \
         build it with the feature `parquet`, or save the table as CSV"
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Npy,
    Npz,
    Parquet,
}

/// The format by the first bytes, else by the extension, else text; known other formats are refused by name.
fn format_of(bytes: &[u8], name: &str) -> Result<Format> {
    let refuse = |what: &str, remedy: &str| bail!("{name} is {what}: {remedy}");
    if bytes.starts_with(b"\x93NUMPY") {
        return Ok(Format::Npy);
    }
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Ok(Format::Npz);
    }
    if bytes.starts_with(b"PAR1") || bytes.starts_with(b"PARE") {
        return Ok(Format::Parquet);
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return refuse("compressed with gzip", "unpack it first, e.g. `gunzip -c FILE | madbayes ... -`");
    }
    if bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return refuse("an Excel workbook", "save the sheet as CSV");
    }
    if bytes.starts_with(b"\x89HDF") {
        return refuse("an HDF5 file", "save the table as CSV, NPY or Parquet");
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    Ok(match extension.as_deref() {
        Some("npy") => Format::Npy,
        Some("npz") => Format::Npz,
        Some("parquet" | "pq") => Format::Parquet,
        _ => Format::Text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_is_found_by_content_before_extension() {
        assert_eq!(format_of(b"\x93NUMPY\x01", "a.csv").unwrap(), Format::Npy);
        assert_eq!(format_of(b"PK\x03\x04...", "a").unwrap(), Format::Npz);
        assert_eq!(format_of(b"PAR1...", "standard input").unwrap(), Format::Parquet);
        assert_eq!(format_of(b"1,2\n", "a.parquet").unwrap(), Format::Parquet);
        assert_eq!(format_of(b"1,2\n", "a.dat").unwrap(), Format::Text);
    }

    #[test]
    fn other_known_formats_are_refused_by_name() {
        let message = |bytes: &[u8]| read_bytes(bytes, "a.csv", &Selection::default()).unwrap_err().to_string();
        assert!(message(b"\x1f\x8b\x08...").contains("gzip"));
        assert!(message(b"\xd0\xcf\x11\xe0...").contains("Excel"));
        assert!(message(b"\x89HDF\r\n").contains("HDF5"));
    }

    #[test]
    fn empty_input_is_refused() {
        let message = read_bytes(b"", "a.csv", &Selection::default()).unwrap_err().to_string();
        assert!(message.contains("a.csv is empty"), "{message}");
    }

    #[test]
    fn a_wrong_extension_is_a_clear_error() {
        for name in ["a.npy", "a.npz", "a.parquet"] {
            let message = read_bytes(b"1,2\n3,4\n", name, &Selection::default()).unwrap_err().to_string();
            assert!(message.starts_with(name), "{message}");
        }
    }

    #[test]
    #[cfg(not(feature = "parquet"))]
    fn parquet_is_refused_when_it_was_not_built_in() {
        let message = read_bytes(b"PAR1", "a.parquet", &Selection::default()).unwrap_err().to_string();
        assert!(message.contains("this madbayes was built without Parquet"), "{message}");
    }

    #[test]
    fn files_are_read_from_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, "x,y\n1,2\n3,4\n").unwrap();
        let table = read(&Input::Path(path), &Selection::default()).unwrap();
        assert_eq!(table.values, Values::F64(vec![1.0, 2.0, 3.0, 4.0]));
        let missing = read(&Input::Path(folder.path().join("none.csv")), &Selection::default()).unwrap_err();
        assert!(format!("{missing:#}").contains("none.csv cannot be read"), "{missing:#}");
        let directory = read(&Input::Path(folder.path().to_owned()), &Selection::default()).unwrap_err();
        assert!(directory.to_string().contains("is a directory"), "{directory}");
    }

    #[test]
    fn a_dash_is_standard_input() {
        assert_eq!(Input::from_argument("-"), Input::Stdin);
        assert_eq!(Input::from_argument("a.csv"), Input::Path("a.csv".into()));
    }
}
