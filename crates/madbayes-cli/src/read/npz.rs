//! NPZ files: several NumPy arrays, of which one is the data and another may be the labels.

use anyhow::{Result, anyhow, bail};

use super::cell::shorten;
use super::matrix::choose;
use super::numpy::{decode, shape_of, shape_text};
use super::select::quoted;
use super::sparse::is_sparse;
use super::zip::{Archive, Entry};
use super::{Labels, Selection, Table};

/// Names that mean the data, the most certain first.
const DATA_NAMES: [&str; 4] = ["X", "x", "data", "arr_0"];

/// The longest part of an array that is needed to see its shape.
const HEADER_BYTES: usize = (1 << 16) + 16;

/// Reads the data array of an NPZ file, and the labels from the array of that name.
pub(super) fn read(bytes: &[u8], source: &str, selection: &Selection) -> Result<Table> {
    let broken = |error: anyhow::Error| anyhow!("{source}: {error:#}");
    let archive = Archive::open(bytes).map_err(broken)?;
    let entries = archive.entries().map_err(broken)?;
    refuse_workbooks(&entries, source)?;
    let arrays: Vec<(&str, &Entry<'_>)> = entries.iter().map(|entry| (array_name(&entry.name), entry)).collect();
    let find = |name: &str| arrays.iter().find(|(array, _)| *array == name).copied();
    if is_sparse(&arrays) {
        bail!(
            "{source} holds a sparse matrix ({}), and this needs rows with all their zeros: counts can be clustered as they are with \
             `madbayes cluster --divergence kullback-leibler`; else save it dense, e.g. \
             numpy.savez_compressed(\"dense.npz\", X=matrix.toarray())",
            arrays.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        );
    }
    let label = selection.label_column.as_deref().and_then(find);
    let (name, entry) = data_array(source, &arrays, label.map(|(name, _)| name))?;
    let broken = |name: &str, error: anyhow::Error| quoted_array(source, name, &error);
    let matrix = entry
        .unpack()
        .and_then(|bytes| decode(&bytes))
        .and_then(|array| array.into_matrix())
        .map_err(|error| broken(name, error))?;
    let n_rows = matrix.values.len() / matrix.n_columns;
    let labels = label.map(|(name, entry)| {
        let array = entry.unpack().and_then(|bytes| decode(&bytes));
        let values = array.and_then(|array| array.into_labels(n_rows)).map_err(|error| broken(name, error))?;
        anyhow::Ok(Labels { name: name.to_owned(), values })
    });
    if label.is_none()
        && let Some(wanted) = &selection.label_column
        && wanted.parse::<usize>().is_err()
    {
        bail!(
            "{source}: --label-column names {}, which is not an array in the file; there are: {}",
            quoted(wanted),
            listing(&arrays)
        );
    }
    choose(source, matrix, selection, labels.transpose()?)
}

fn refuse_workbooks(entries: &[Entry<'_>], source: &str) -> Result<()> {
    if entries.iter().any(|entry| entry.name == "[Content_Types].xml" || entry.name.starts_with("xl/")) {
        bail!("{source} is an Excel workbook: save the sheet as CSV");
    }
    if !entries.iter().any(|entry| entry.name.ends_with(".npy")) {
        bail!("{source} is a zip archive without NumPy arrays: unpack it, or save arrays with numpy.savez");
    }
    Ok(())
}

/// What is wrong with one of the arrays.
pub(super) fn quoted_array(source: &str, name: &str, error: &anyhow::Error) -> anyhow::Error {
    anyhow!("{source}, array {}: {error:#}", quoted(name))
}

pub(super) fn array_name(name: &str) -> &str {
    name.strip_suffix(".npy").unwrap_or(name)
}

/// The array with a name for data, else the only one of two dimensions.
fn data_array<'a>(
    source: &str,
    arrays: &[(&'a str, &'a Entry<'a>)],
    label: Option<&str>,
) -> Result<(&'a str, &'a Entry<'a>)> {
    let candidates: Vec<_> = arrays.iter().copied().filter(|(name, _)| Some(*name) != label).collect();
    for wanted in DATA_NAMES {
        if let Some(found) = candidates.iter().find(|(name, _)| *name == wanted) {
            return Ok(*found);
        }
    }
    let is_table = |entry: &Entry<'_>| matches!(shape(entry).as_deref(), Some([_, _]));
    let tables: Vec<_> = candidates.iter().copied().filter(|(_, entry)| is_table(entry)).collect();
    match tables[..] {
        [only] => Ok(only),
        _ => bail!(
            "{source}: which array is the data is not clear: call it X (else x, data or arr_0), or save only one \
             array of 2 dimensions; there are: {}",
            listing(arrays)
        ),
    }
}

fn shape(entry: &Entry<'_>) -> Option<Vec<usize>> {
    shape_of(&entry.unpack_head(HEADER_BYTES).ok()?).ok()
}

pub(super) fn listing(arrays: &[(&str, &Entry<'_>)]) -> String {
    const MOST_LISTED: usize = 12;
    let mut listed: Vec<String> = arrays
        .iter()
        .take(MOST_LISTED)
        .map(|(name, entry)| match shape(entry) {
            Some(shape) => format!("{} {}", shorten(name), shape_text(&shape)),
            None => format!("{} (not readable)", shorten(name)),
        })
        .collect();
    if arrays.len() > MOST_LISTED {
        listed.push("...".to_owned());
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use ndarray::{Array1, Array2, array};
    use ndarray_npy::{NpzWriter, WritableElement};

    use super::super::Values;
    use super::*;

    struct Builder(NpzWriter<Cursor<Vec<u8>>>);

    impl Builder {
        fn new(compressed: bool) -> Builder {
            let target = Cursor::new(vec![]);
            Builder(if compressed { NpzWriter::new_compressed(target) } else { NpzWriter::new(target) })
        }

        fn add<T: WritableElement>(mut self, name: &str, array: &Array2<T>) -> Builder {
            self.0.add_array(name, array).unwrap();
            self
        }

        fn add_1d<T: WritableElement + Clone>(mut self, name: &str, array: &[T]) -> Builder {
            self.0.add_array(name, &Array1::from(array.to_vec())).unwrap();
            self
        }

        fn bytes(self) -> Vec<u8> {
            self.0.finish().unwrap().into_inner()
        }
    }

    fn with_label(name: &str) -> Selection {
        Selection { label_column: Some(name.to_owned()), ..Selection::default() }
    }

    fn message(bytes: &[u8], selection: &Selection) -> String {
        read(bytes, "a.npz", selection).unwrap_err().to_string()
    }

    #[test]
    fn array_x_is_the_data_and_y_the_labels() {
        for compressed in [false, true] {
            let bytes = Builder::new(compressed)
                .add("other", &array![[9.0]])
                .add("X", &array![[1.0_f32, 2.0], [3.0, 4.0]])
                .add_1d("y", &[7_i64, 8])
                .bytes();
            let table = read(&bytes, "a.npz", &with_label("y")).unwrap();
            assert_eq!(table.values, Values::F32(vec![1.0, 2.0, 3.0, 4.0]));
            assert_eq!(table.labels.unwrap().values, ["7", "8"]);
        }
    }

    #[test]
    fn large_compressed_arrays_come_back_whole() {
        let values: Vec<f64> = (0..60_000_u32).map(|i| f64::from(i.wrapping_mul(2_654_435_761) >> 12) / 7.0).collect();
        let array = Array2::from_shape_vec((20_000, 3), values.clone()).unwrap();
        let table = read(&Builder::new(true).add("X", &array).bytes(), "a.npz", &Selection::default()).unwrap();
        assert_eq!(table.values, Values::F64(values));
    }

    #[test]
    fn the_only_matrix_is_the_data() {
        let bytes = Builder::new(true).add_1d("t", &[0.0, 1.0]).add("rssi", &array![[1_i8, 2], [3, 4]]).bytes();
        let table = read(&bytes, "a.npz", &Selection::default()).unwrap();
        assert_eq!(table.values, Values::F64(vec![1.0, 2.0, 3.0, 4.0]));
    }

    #[test]
    fn doubtful_data_lists_names_and_shapes() {
        let bytes = Builder::new(true).add("a", &array![[1.0]]).add("b", &array![[1.0, 2.0]]).bytes();
        let text = message(&bytes, &Selection::default());
        assert!(text.contains("a (1, 1), b (1, 2)"), "{text}");
        let bytes = Builder::new(false).add_1d("a", &[1.0]).bytes();
        assert!(message(&bytes, &Selection::default()).contains("a (1,)"));
    }

    #[test]
    fn sparse_matrices_are_refused() {
        let bytes = Builder::new(true)
            .add_1d("indices", &[0, 1])
            .add_1d("indptr", &[0, 1, 2])
            .add_1d("shape", &[2, 2])
            .add_1d("data", &[1.0, 2.0])
            .bytes();
        assert!(message(&bytes, &Selection::default()).contains("--divergence kullback-leibler"));
    }

    #[test]
    fn labels_must_exist_and_have_one_entry_per_row() {
        let bytes = Builder::new(true).add("X", &array![[1.0], [2.0]]).add_1d("y", &[1, 2, 3]).bytes();
        let text = message(&bytes, &with_label("y"));
        assert!(text.contains("array \"y\"") && text.contains("2 rows"), "{text}");
        let text = message(&bytes, &with_label("target"));
        assert!(text.contains("\"target\"") && text.contains("X (2, 1), y (3,)"), "{text}");
    }

    #[test]
    fn a_column_of_the_data_may_be_the_labels() {
        let bytes = Builder::new(true).add("X", &array![[1.0, 5.0], [2.0, 6.0]]).bytes();
        assert_eq!(read(&bytes, "a.npz", &with_label("2")).unwrap().labels.unwrap().values, ["5", "6"]);
    }

    #[test]
    fn damaged_content_is_noticed_by_its_checksum() {
        let mut bytes = Builder::new(false).add("X", &array![[1.0, 2.0], [3.0, 4.0]]).bytes();
        let place = bytes.windows(8).position(|window| window == 4.0_f64.to_le_bytes()).unwrap();
        bytes[place] ^= 1;
        assert!(message(&bytes, &Selection::default()).contains("checksum"));
    }

    #[test]
    fn cut_off_archives_are_clear_errors() {
        let bytes = Builder::new(true).add("X", &array![[1.0, 2.0], [3.0, 4.0]]).bytes();
        for length in 4..bytes.len() {
            let text = message(&bytes[..length], &Selection::default());
            assert!(text.contains("damaged"), "{length}: {text}");
        }
    }
}
