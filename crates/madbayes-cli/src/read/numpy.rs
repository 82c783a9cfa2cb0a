//! NPY files: one NumPy array, checked against the length of the file before it is read.

use anyhow::{Result, anyhow, bail};
use ndarray_npy::ReadableElement;
use ndarray_npy::npy::header::Header;

use super::matrix::{Matrix, choose, number_label};
use super::{Selection, Table, Values};

/// An array as the file holds it.
pub(super) struct Array {
    /// Its shape.
    pub shape: Vec<usize>,
    fortran: bool,
    cells: Cells,
}

enum Cells {
    F32(Vec<f32>),
    F64(Vec<f64>),
    Text(Vec<String>),
}

/// Reads an NPY file as a table; its columns are called `1`, `2`, ...
pub(super) fn read(bytes: &[u8], source: &str, selection: &Selection) -> Result<Table> {
    let array = decode(bytes).map_err(|error| anyhow!("{source}: {error}"))?;
    let matrix = array.into_matrix().map_err(|error| anyhow!("{source}: {error}"))?;
    choose(source, matrix, selection, None)
}

/// The shape of the array in an NPY file whose first bytes these are.
pub(super) fn shape_of(bytes: &[u8]) -> Result<Vec<usize>> {
    Ok(header_of(bytes)?.0.shape)
}

/// The shape as Python writes it.
pub(super) fn shape_text(shape: &[usize]) -> String {
    match shape {
        [only] => format!("({only},)"),
        _ => format!("({})", shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Reads the array in an NPY file.
pub(super) fn decode(bytes: &[u8]) -> Result<Array> {
    let (header, data) = header_of(bytes)?;
    let shape = header.shape.clone();
    let described = header.type_descriptor.to_string();
    let kind = described.trim_matches('\'');
    let Some(size) = element_size(kind) else { bail!("{}", unreadable(kind)) };
    let count = shape.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
    let needed = count.and_then(|count| count.checked_mul(size));
    // Nothing is set aside for the values before the file is known to hold them.
    let (Some(count), Some(data)) = (count, needed.and_then(|needed| data.get(..needed))) else {
        bail!(
            "the NPY file is cut off or damaged: its shape is {} of '{kind}', but only {} bytes of values follow",
            shape_text(&shape),
            data.len()
        );
    };
    Ok(Array { fortran: header.layout.is_fortran(), cells: cells_of(kind, data, &header, count)?, shape })
}

fn header_of(bytes: &[u8]) -> Result<(Header, &[u8])> {
    const LONGEST_HEADER: usize = 1 << 16;
    const MOST_BRACKETS: usize = 64;
    if !bytes.starts_with(b"\x93NUMPY") {
        bail!("this is not an NPY file");
    }
    let (length, start): (usize, usize) = match bytes.get(6..12) {
        Some(&[1, _, a, b, ..]) => (usize::from(u16::from_le_bytes([a, b])), 10),
        Some(&[2 | 3, _, a, b, c, d]) => (u32::from_le_bytes([a, b, c, d]) as usize, 12),
        Some(&[major, minor, ..]) => bail!("NPY version {major}.{minor} is not known: versions 1 to 3 can be read"),
        _ => bail!("the NPY file is cut off in its header"),
    };
    let Some(text) = bytes.get(start..start.saturating_add(length)) else {
        bail!("the NPY file is cut off in its header");
    };
    // The parser of the header calls itself for every bracket.
    let brackets = text.iter().filter(|byte| matches!(byte, b'(' | b'[' | b'{')).count();
    if length > LONGEST_HEADER || brackets > MOST_BRACKETS {
        bail!("the NPY header is damaged, or describes a structured array: save a plain array of numbers");
    }
    let mut rest = bytes;
    let header = Header::from_reader(&mut rest).map_err(|_| anyhow!("the NPY header is damaged"))?;
    Ok((header, rest))
}

/// How many bytes an element takes; `None` for types that cannot be read.
fn element_size(kind: &str) -> Option<usize> {
    let order = kind.chars().next().filter(|c| "<>|".contains(*c))?;
    let letter = kind.chars().nth(1)?;
    let size: usize = kind.get(2..)?.parse().ok()?;
    match (letter, size) {
        ('b' | 'i' | 'u', 1) => Some(1),
        ('i' | 'u', 2 | 4 | 8) | ('f', 2 | 4 | 8) if order != '|' => Some(size),
        ('S', 1..) => Some(size),
        ('U', 1..) if order != '|' => size.checked_mul(4),
        _ => None,
    }
}

fn unreadable(kind: &str) -> String {
    let what = if kind.starts_with('[') {
        "a structured array".to_owned()
    } else if kind.contains('O') {
        "pickled Python objects".to_owned()
    } else {
        format!("values of type '{}'", super::cell::shorten(kind))
    };
    format!("the array holds {what}, which cannot be read: save it as float32 or float64, e.g. x.astype(\"float64\")")
}

fn cells_of(kind: &str, data: &[u8], header: &Header, count: usize) -> Result<Cells> {
    fn elements<T: ReadableElement>(data: &[u8], header: &Header, count: usize) -> Result<Vec<T>> {
        T::read_to_end_exact_vec(data, &header.type_descriptor, count)
            .map_err(|error| anyhow!("the NPY file is damaged: {error}"))
    }
    macro_rules! wide {
        ($type:ty) => {
            Cells::F64(elements::<$type>(data, header, count)?.into_iter().map(|x| x as f64).collect())
        };
    }
    let big_endian = kind.starts_with('>');
    Ok(match kind.get(1..).unwrap_or_default() {
        "f4" => Cells::F32(elements(data, header, count)?),
        "f8" => Cells::F64(elements(data, header, count)?),
        "f2" => Cells::F32(data.as_chunks().0.iter().map(|&pair| half(pair, big_endian)).collect()),
        "b1" => Cells::F64(data.iter().map(|&byte| f64::from(u8::from(byte != 0))).collect()),
        "i1" => Cells::F64(data.iter().map(|&byte| f64::from(byte.cast_signed())).collect()),
        "u1" => Cells::F64(data.iter().map(|&byte| f64::from(byte)).collect()),
        "i2" => wide!(i16),
        "i4" => wide!(i32),
        "i8" => wide!(i64),
        "u2" => wide!(u16),
        "u4" => wide!(u32),
        "u8" => wide!(u64),
        _ => Cells::Text(texts(kind, data, big_endian)),
    })
}

/// A half-precision number, which fits into single precision.
fn half(bytes: [u8; 2], big_endian: bool) -> f32 {
    let bits = if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff) / 1024.0);
    let magnitude = match exponent {
        0 => fraction * 2_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2_f32.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// Texts of fixed width, filled up with zeros: bytes (`S`) or four-byte characters (`U`).
fn texts(kind: &str, data: &[u8], big_endian: bool) -> Vec<String> {
    let size = element_size(kind).unwrap_or(1);
    data.chunks_exact(size)
        .map(|bytes| {
            if kind.contains('S') {
                let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                return super::cell::text_of(&bytes[..end]);
            }
            let code = |&four: &[u8; 4]| if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) };
            let characters = bytes.as_chunks().0.iter().map(code).take_while(|&code| code != 0);
            characters.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        })
        .collect()
}

impl Array {
    /// The array as a matrix; one of one dimension becomes one column.
    pub fn into_matrix(self) -> Result<Matrix> {
        let (n_rows, n_columns) = match self.shape[..] {
            [n_rows] => (n_rows, 1),
            [n_rows, n_columns] => (n_rows, n_columns),
            [] => bail!("the array is a single number: a table has rows and columns"),
            _ => bail!(
                "the array has the shape {}: a table has 2 dimensions, so reshape it, e.g. x.reshape(len(x), -1)",
                shape_text(&self.shape)
            ),
        };
        if n_rows == 0 || n_columns == 0 {
            bail!("the array has the shape {}: there is nothing in it", shape_text(&self.shape));
        }
        let values = match self.cells {
            Cells::F32(cells) => Values::F32(row_major(cells, n_rows, n_columns, self.fortran)),
            Cells::F64(cells) => Values::F64(row_major(cells, n_rows, n_columns, self.fortran)),
            Cells::Text(_) => bail!("the array holds text, not numbers"),
        };
        Ok(Matrix { values, n_columns })
    }

    /// The array as labels: one per element, when it is one column of `n_rows`.
    pub fn into_labels(self, n_rows: usize) -> Result<Vec<String>> {
        if !matches!(self.shape[..], [length] | [length, 1] if length == n_rows) {
            bail!(
                "its shape is {}, but the data has {n_rows} rows: labels have the shape ({n_rows},)",
                shape_text(&self.shape)
            );
        }
        Ok(match self.cells {
            Cells::F32(cells) => cells.into_iter().map(number_label).collect(),
            Cells::F64(cells) => cells.into_iter().map(number_label).collect(),
            Cells::Text(cells) => cells,
        })
    }
}

impl Array {
    /// The numbers of an array of one dimension.
    pub fn into_numbers(self) -> Result<Vec<f64>> {
        if self.shape.len() != 1 {
            bail!("its shape is {}: it should have 1 dimension", shape_text(&self.shape));
        }
        match self.cells {
            Cells::F32(cells) => Ok(cells.into_iter().map(f64::from).collect()),
            Cells::F64(cells) => Ok(cells),
            Cells::Text(_) => bail!("it holds text, not numbers"),
        }
    }

    /// The text of an array of one element; `None` where it is not text.
    pub fn into_text(self) -> Option<String> {
        match self.cells {
            Cells::Text(mut cells) if cells.len() == 1 => cells.pop(),
            _ => None,
        }
    }
}

fn row_major<T: Copy>(cells: Vec<T>, n_rows: usize, n_columns: usize, fortran: bool) -> Vec<T> {
    if !fortran || n_columns == 1 {
        return cells;
    }
    (0..n_rows).flat_map(|row| cells.iter().skip(row).step_by(n_rows).copied()).collect()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, Array3, ShapeBuilder, array};
    use ndarray_npy::WriteNpyExt;

    use super::*;

    fn npy(array: &impl WriteNpyExt) -> Vec<u8> {
        let mut bytes = vec![];
        array.write_npy(&mut bytes).unwrap();
        bytes
    }

    fn table(bytes: &[u8]) -> Table {
        read(bytes, "a.npy", &Selection::default()).unwrap()
    }

    fn message(bytes: &[u8]) -> String {
        read(bytes, "a.npy", &Selection::default()).unwrap_err().to_string()
    }

    /// An NPY file of any type, written by hand.
    fn raw(kind: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", length.as_slice(), header.as_bytes(), data].concat()
    }

    #[test]
    fn floats_keep_their_precision() {
        let single = table(&npy(&array![[1.5_f32, 2.0], [3.0, 4.0]]));
        assert_eq!(single.values, Values::F32(vec![1.5, 2.0, 3.0, 4.0]));
        assert_eq!(single.names, ["1", "2"]);
        let double = table(&npy(&array![[1.5_f64, 2.0], [3.0, 4.0]]));
        assert_eq!(double.values, Values::F64(vec![1.5, 2.0, 3.0, 4.0]));
    }

    #[test]
    fn fortran_order_is_turned_around() {
        let array = Array2::from_shape_vec((2, 3).f(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap();
        assert_eq!(table(&npy(&array)).values, Values::F64(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    }

    #[test]
    fn integers_and_booleans_become_doubles() {
        let expected = Values::F64(vec![1.0, 0.0]);
        assert_eq!(table(&npy(&array![[1_i8], [0]])).values, expected);
        assert_eq!(table(&npy(&array![[1_u8], [0]])).values, expected);
        assert_eq!(table(&npy(&array![[1_i16], [0]])).values, expected);
        assert_eq!(table(&npy(&array![[1_u32], [0]])).values, expected);
        assert_eq!(table(&npy(&array![[1_i64], [0]])).values, expected);
        assert_eq!(table(&npy(&array![[true], [false]])).values, expected);
        assert_eq!(table(&npy(&array![[-1_i8], [0]])).values, Values::F64(vec![-1.0, 0.0]));
    }

    #[test]
    fn big_endian_and_half_precision_are_read() {
        let big: Vec<u8> = [1.5_f64, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        assert_eq!(table(&raw(">f8", "(2, 1)", &big)).values, Values::F64(vec![1.5, -2.0]));
        let half = [0x00, 0x3e, 0x00, 0xc0, 0x01, 0x00];
        assert_eq!(table(&raw("<f2", "(3,)", &half)).values, Values::F32(vec![1.5, -2.0, 2_f32.powi(-24)]));
    }

    #[test]
    fn one_dimension_is_one_column() {
        let table = table(&npy(&Array1::from(vec![1.0, 2.0, 4.0])));
        assert_eq!((table.names.len(), table.n_rows), (1, 3));
    }

    #[test]
    fn other_shapes_are_refused_with_the_shape() {
        assert!(message(&npy(&Array3::<f64>::zeros((2, 3, 4)))).contains("(2, 3, 4)"));
        assert!(message(&npy(&ndarray::arr0(1.0))).contains("single number"));
        assert!(message(&npy(&Array2::<f64>::zeros((0, 4)))).contains("(0, 4)"));
        assert!(message(&raw("<f8", "(99999999999, 0)", &[])).contains("nothing in it"));
    }

    #[test]
    fn columns_are_chosen_by_number() {
        let bytes = npy(&array![[1.0, 2.0, 7.0], [3.0, 4.0, 8.0]]);
        let selection =
            Selection { exclude: vec!["2".to_owned()], label_column: Some("3".to_owned()), ..Selection::default() };
        let table = read(&bytes, "a.npy", &selection).unwrap();
        assert_eq!((table.names, table.values), (vec!["1".to_owned()], Values::F64(vec![1.0, 3.0])));
        assert_eq!(table.labels.unwrap().values, ["7", "8"]);
    }

    #[test]
    fn nan_is_a_missing_cell() {
        let bytes = npy(&array![[1.0_f32, 2.0], [f32::NAN, 4.0]]);
        let text = message(&bytes);
        assert!(text.starts_with("a.npy, row 2, column \"1\": the cell is missing"), "{text}");
        let selection = Selection { drop_missing: true, ..Selection::default() };
        let table = read(&bytes, "a.npy", &selection).unwrap();
        assert_eq!((table.values, table.dropped), (Values::F32(vec![1.0, 2.0]), 1));
    }

    #[test]
    fn cut_off_and_damaged_files_are_clear_errors() {
        let bytes = npy(&array![[1.0, 2.0], [3.0, 4.0]]);
        for length in 6..bytes.len() {
            let text = message(&bytes[..length]);
            assert!(text.contains("cut off") || text.contains("damaged"), "{length}: {text}");
        }
        assert!(message(&raw("<f8", "(99999999999, 99999999999)", &[0; 16])).contains("cut off or damaged"));
        assert!(message(&raw("<f8", &"(".repeat(60_000), &[])).contains("damaged"));
    }

    #[test]
    fn types_that_are_not_numbers_are_refused_by_name() {
        assert!(message(&raw("|O", "(1,)", &[0; 8])).contains("pickled"));
        assert!(message(&raw("<c16", "(1,)", &[0; 16])).contains("'<c16'"));
        assert!(message(&raw("<U2", "(1,)", &[65, 0, 0, 0, 0, 0, 0, 0])).contains("text, not numbers"));
    }

    #[test]
    fn texts_are_labels() {
        let array = decode(&raw("<U2", "(2,)", &[65, 0, 0, 0, 0, 0, 0, 0, 66, 0, 0, 0, 67, 0, 0, 0])).unwrap();
        assert_eq!(array.into_labels(2).unwrap(), ["A", "BC"]);
        let array = decode(&raw("|S2", "(2,)", b"A\0BC")).unwrap();
        assert_eq!(array.into_labels(2).unwrap(), ["A", "BC"]);
    }
}
