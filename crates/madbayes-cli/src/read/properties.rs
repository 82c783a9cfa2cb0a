//! Properties of all readers together: nothing makes them panic, and what is written is read.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(20_120_626), failure_persistence: None, ..Default::default() }
}

fn selection() -> impl Strategy<Value = Selection> {
    let name = prop::sample::select(vec!["1", "2", "x", "y", "X", "kind", "a", "nothing", ""]).prop_map(str::to_owned);
    let columns = prop::option::of(vec(name.clone(), 0..3));
    (columns, vec(name.clone(), 0..2), prop::option::of(name), any::<bool>()).prop_map(
        |(columns, exclude, label_column, drop_missing)| Selection { columns, exclude, label_column, drop_missing },
    )
}

/// Reads, and checks that a table which comes back is whole.
fn read_whole(bytes: &[u8], name: &str, selection: &Selection) -> Result<Table> {
    let result = read_bytes(bytes, name, selection);
    match &result {
        Ok(table) => {
            assert!(table.n_rows > 0 && !table.names.is_empty());
            assert_eq!(table.values.len(), table.n_rows * table.names.len());
            assert!(table.labels.as_ref().is_none_or(|labels| labels.values.len() == table.n_rows));
            assert!(table.row_numbers.as_ref().is_none_or(|rows| rows.len() == table.n_rows));
            let finite = match &table.values {
                Values::F32(values) => values.iter().all(|x| x.is_finite()),
                Values::F64(values) => values.iter().all(|x| x.is_finite()),
            };
            assert!(finite);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    result
}

fn some_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a.csv", "a.npy", "a.npz", "a.parquet", "standard input"])
}

/// Changes to a valid file: bytes overwritten, a piece cut out, the end cut off.
#[derive(Clone, Debug)]
struct Damage {
    bytes: Vec<(prop::sample::Index, u8)>,
    cut: Option<(prop::sample::Index, usize)>,
    end: Option<prop::sample::Index>,
}

fn damage() -> impl Strategy<Value = Damage> {
    let byte = prop_oneof![any::<u8>(), Just(0xff), Just(0x7f), Just(0), b'0'..=b'9'];
    let cut = prop::option::weighted(0.1, (any::<prop::sample::Index>(), 1..40_usize));
    (vec((any::<prop::sample::Index>(), byte), 0..4), cut, prop::option::weighted(0.1, any::<prop::sample::Index>()))
        .prop_map(|(bytes, cut, end)| Damage { bytes, cut, end })
}

fn damaged(mut file: Vec<u8>, damage: &Damage) -> Vec<u8> {
    for (index, byte) in &damage.bytes {
        let position = index.index(file.len());
        file[position] = *byte;
    }
    if let Some((index, length)) = &damage.cut {
        let start = index.index(file.len());
        file.drain(start..(start + length).min(file.len()));
    }
    if let Some(index) = &damage.end
        && !file.is_empty()
    {
        file.truncate(index.index(file.len()));
    }
    file
}

fn npy_file() -> Vec<u8> {
    let mut bytes = vec![];
    let array = ndarray::Array2::from_shape_fn((7, 3), |(i, j)| (i * 3 + j) as f32 / 2.0);
    ndarray_npy::WriteNpyExt::write_npy(&array, &mut bytes).unwrap();
    bytes
}

fn npz_file(compressed: bool) -> Vec<u8> {
    let target = std::io::Cursor::new(vec![]);
    let mut writer =
        if compressed { ndarray_npy::NpzWriter::new_compressed(target) } else { ndarray_npy::NpzWriter::new(target) };
    writer.add_array("X", &ndarray::Array2::from_shape_fn((40, 3), |(i, j)| (i * 3 + j) as f64 / 7.0)).unwrap();
    writer.add_array("y", &ndarray::Array1::from_shape_fn(40, |i| i as i16 % 3)).unwrap();
    writer.finish().unwrap().into_inner()
}

#[cfg(feature = "parquet")]
fn parquet_file(snappy: bool) -> Vec<u8> {
    use super::parquet::tests::{Cells, file};
    use ::parquet::basic::Compression;
    let schema = "message m { required double x; optional double y; optional binary kind (UTF8); required float f; }";
    let texts = ["a", "b", "c"];
    let columns = vec![
        Cells::Doubles((0..60).map(|i| f64::from(i % 7)).collect()),
        Cells::Optional((0..60).map(|i| (i % 5 > 0).then_some(f64::from(i) / 3.0)).collect()),
        Cells::Texts((0..60).map(|i| (i % 4 > 0).then_some(texts[i % 3])).collect()),
        Cells::Floats((0..60).map(|i| i as f32).collect()),
    ];
    file(schema, &[columns], if snappy { Compression::SNAPPY } else { Compression::UNCOMPRESSED })
}

/// A cell as it may be written, and the number it means.
fn written(number: f64, style: u8, delimiter: char) -> String {
    let plain = match style % 4 {
        0 => format!("{number}"),
        1 => format!("{number:e}"),
        2 => format!(" {number} "),
        _ => format!("\"{number}\""),
    };
    // Spaces around a number are fields of their own where spaces separate.
    let plain = if delimiter == ' ' { plain.trim().to_owned() } else { plain };
    if delimiter == ';' && style >= 4 { plain.replace('.', ",") } else { plain }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..400), name in some_name(), selection in selection()) {
        let _ = read_whole(&bytes, name, &selection);
    }

    #[test]
    fn random_bytes_after_a_magic_never_panic(
        magic in prop::sample::select(vec![&b"\x93NUMPY\x01\x00v\x00{"[..], b"PK\x03\x04", b"PAR1", b"\xef\xbb\xbf"]),
        bytes in vec(any::<u8>(), 0..200),
        selection in selection(),
    ) {
        let _ = read_whole(&[magic, &bytes].concat(), "standard input", &selection);
    }

    #[test]
    fn random_text_never_panics(text in "[ ,;|\t\n\r\"0-9.eE+\\-abNA?]{0,120}", selection in selection()) {
        let _ = read_whole(text.as_bytes(), "a.csv", &selection);
    }

    #[test]
    fn damaged_npy_never_panics(damage in damage(), selection in selection()) {
        let _ = read_whole(&damaged(npy_file(), &damage), "a.npy", &selection);
    }

    #[test]
    fn damaged_npz_never_panics(damage in damage(), compressed in any::<bool>(), selection in selection()) {
        let _ = read_whole(&damaged(npz_file(compressed), &damage), "a.npz", &selection);
    }

    #[test]
    #[cfg(feature = "parquet")]
    fn damaged_parquet_never_panics(damage in damage(), snappy in any::<bool>(), selection in selection()) {
        let _ = read_whole(&damaged(parquet_file(snappy), &damage), "a.parquet", &selection);
    }

    #[test]
    fn tables_written_as_text_are_read_back_exactly(
        numbers in (1..6_usize, 1..20_usize).prop_flat_map(|(columns, rows)| {
            vec(vec(any::<f64>().prop_filter("finite", |x| x.is_finite()), columns), rows)
        }),
        styles in vec(0..8_u8, 7),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|', ' ']),
        line_end in prop::sample::select(vec!["\n", "\r\n"]),
        (with_header, with_mark, with_end, blank_line) in any::<(bool, bool, bool, bool)>(),
    ) {
        let n_columns = numbers[0].len();
        let join = |cells: Vec<String>| cells.join(&delimiter.to_string());
        let mut lines: Vec<String> = vec![];
        if with_header {
            lines.push(join((0..n_columns).map(|i| format!("name{i}")).collect()));
        }
        // One decimal sign per file, and a comma only where the delimiter cannot be taken for one.
        let comma = if delimiter == ';' && styles[0] >= 4 && n_columns > 1 { 4 } else { 0 };
        for (i, row) in numbers.iter().enumerate() {
            if blank_line && i == 1 {
                lines.push(String::new());
            }
            let cells = row.iter().enumerate();
            lines.push(join(cells.map(|(j, &x)| written(x, styles[(i + j) % 7] % 4 + comma, delimiter)).collect()));
        }
        let mark = if with_mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{}{}", lines.join(line_end), if with_end { line_end } else { "" });
        let table = read_whole(text.as_bytes(), "a.csv", &Selection::default()).unwrap();
        prop_assert_eq!(table.values, Values::F64(numbers.concat()));
        prop_assert_eq!(table.names.len(), n_columns);
        prop_assert_eq!(table.names[0] == "name0", with_header);
    }

    #[test]
    fn quoted_labels_are_read_back_exactly(
        labels in vec("[a-z ,;\"\n|]{0,12}[a-z]", 1..12),
        delimiter in prop::sample::select(vec![',', ';', '\t', '|']),
    ) {
        let mut text = format!("x{delimiter}y{delimiter}l\r\n");
        for (row, label) in labels.iter().enumerate() {
            text += &format!("{row}{delimiter}1.5{delimiter}\"{}\"\r\n", label.replace('"', "\"\""));
        }
        let selection = Selection { label_column: Some("l".to_owned()), ..Selection::default() };
        let table = read_whole(text.as_bytes(), "a.csv", &selection).unwrap();
        let trimmed: Vec<String> = labels.iter().map(|label| label.trim_ascii().to_owned()).collect();
        // "na" and its like stand for a missing label.
        prop_assume!(!trimmed.iter().any(|label| ["na", "nan", "null"].contains(&label.as_str())));
        prop_assert_eq!(table.labels.unwrap().values, trimmed);
    }

    #[test]
    fn arrays_written_by_numpy_writers_are_read_back_exactly(
        numbers in (1..5_usize, 1..30_usize).prop_flat_map(|(columns, rows)| {
            vec(vec(any::<f32>().prop_filter("finite", |x| x.is_finite()), columns), rows)
        }),
        fortran in any::<bool>(),
        compressed in any::<bool>(),
    ) {
        let (rows, columns) = (numbers.len(), numbers[0].len());
        let shape = ndarray::ShapeBuilder::set_f((rows, columns), fortran);
        let array = ndarray::Array2::from_shape_fn(shape, |(i, j)| numbers[i][j]);
        let target = std::io::Cursor::new(vec![]);
        let mut writer = if compressed {
            ndarray_npy::NpzWriter::new_compressed(target)
        } else {
            ndarray_npy::NpzWriter::new(target)
        };
        writer.add_array("X", &array).unwrap();
        let bytes = writer.finish().unwrap().into_inner();
        let table = read_whole(&bytes, "a.npz", &Selection::default()).unwrap();
        prop_assert_eq!(table.values, Values::F32(numbers.concat()));
    }
}
