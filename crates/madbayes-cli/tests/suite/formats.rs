//! The same table in every format gives the same answer.

use crate::common::{Folder, folder_of_blobs, labels, says, six_blobs_csv, six_blobs_values, timeless};
use ndarray::{Array1, Array2, ShapeBuilder};
use ndarray_npy::{NpzWriter, write_npy};
use serde_json::Value;
use std::fs::File;

const OPTIONS: &str = "--penalty 300";

fn blobs_array() -> Array2<f64> {
    Array2::from_shape_vec((120, 2), six_blobs_values().concat()).unwrap()
}

/// What the CSV file of the blobs gives.
fn expected() -> Value {
    folder_of_blobs().json(&format!("cluster blobs.csv --columns x,y {OPTIONS}"))
}

#[track_caller]
fn same(found: &Value, relative: f64) {
    let expected = expected();
    assert_eq!(labels(found), labels(&expected));
    crate::common::close(found["objective"].as_f64().unwrap(), expected["objective"].as_f64().unwrap(), relative);
}

#[test]
fn the_blobs_are_found_in_csv_at_all() {
    assert_eq!(labels(&expected()), (0..120).map(|row| row / 20).collect::<Vec<_>>());
}

#[test]
fn text_may_be_written_in_many_ways() {
    let csv = six_blobs_csv();
    let columns = "--label-column kind";
    let quoted: String = csv
        .lines()
        .map(|line| line.split(',').map(|cell| format!("\"{cell}\"")).collect::<Vec<_>>().join(",") + "\n")
        .collect();
    let blank_lines = csv.replace("cat\n", "cat\n\n");
    let no_header = csv.split_once('\n').unwrap().1.to_string();
    let no_last_newline = csv.trim_end().to_string();
    let byte_order_mark = format!("\u{feff}{csv}");
    for (way, text, columns) in [
        ("semicolons", csv.replace(',', ";"), columns),
        ("semicolons and decimal commas", csv.replace(',', ";").replace('.', ","), columns),
        ("tabs", csv.replace(',', "\t"), columns),
        ("line ends of Windows", csv.replace('\n', "\r\n"), columns),
        ("quotes", quoted, columns),
        ("blank lines", blank_lines, columns),
        ("a byte order mark", byte_order_mark, columns),
        ("no newline at the end", no_last_newline, columns),
        ("no header", no_header, "--label-column 3"),
    ] {
        let folder = Folder::new();
        folder.write("table.csv", text);
        let found = folder.json(&format!("cluster table.csv {columns} {OPTIONS}"));
        assert_eq!(found["n_rows"], 120, "{way}");
        assert_eq!(found["agreement"]["adjusted_rand_index"], 1.0, "{way}");
        same(&found, 0.0);
    }
}

#[test]
fn quoted_names_may_hold_the_delimiter() {
    let folder = Folder::new();
    folder.write("table.csv", six_blobs_csv().replacen("x,y,kind", "\"x, wide\",y,kind", 1));
    let found = folder.json(&format!("cluster table.csv --label-column kind {OPTIONS}"));
    assert_eq!(found["columns"], serde_json::json!(["x, wide", "y"]));
    same(&found, 0.0);
}

#[test]
fn numpy_arrays_of_both_precisions_and_orders_give_the_same_labels() {
    let folder = Folder::new();
    let wide = blobs_array();
    let narrow = wide.mapv(|x| x as f32);
    let mut wide_fortran = Array2::zeros((120, 2).f());
    wide_fortran.assign(&wide);
    let mut narrow_fortran = Array2::zeros((120, 2).f());
    narrow_fortran.assign(&narrow);
    write_npy(folder.path("wide.npy"), &wide).unwrap();
    write_npy(folder.path("narrow.npy"), &narrow).unwrap();
    write_npy(folder.path("wide_fortran.npy"), &wide_fortran).unwrap();
    write_npy(folder.path("narrow_fortran.npy"), &narrow_fortran).unwrap();
    for name in ["wide.npy", "wide_fortran.npy", "narrow.npy", "narrow_fortran.npy"] {
        let bytes = std::fs::read(folder.path(name)).unwrap();
        let fortran = bytes.windows(21).any(|text| text == b"'fortran_order': True");
        assert_eq!(fortran, name.contains("fortran"), "{name} is what it claims to be");
        let found = folder.json(&format!("cluster {name} {OPTIONS}"));
        assert_eq!(found["columns"], serde_json::json!(["1", "2"]));
        same(&found, if name.contains("narrow") { 1e-6 } else { 0.0 });
    }
    let json = |name: &str| timeless(&folder.text(&format!("cluster {name} {OPTIONS} --format json")));
    assert_eq!(json("wide.npy"), json("wide_fortran.npy"));
    assert_eq!(json("narrow.npy"), json("narrow_fortran.npy"));
}

#[test]
fn numpy_columns_are_chosen_by_their_position() {
    let folder = Folder::new();
    let mut array = Array2::zeros((120, 3));
    array.slice_mut(ndarray::s![.., ..2]).assign(&blobs_array());
    array.column_mut(2).assign(&Array1::from_iter((0..120).map(|row| f64::from(row / 20) + 0.5)));
    write_npy(folder.path("table.npy"), &array).unwrap();
    same(&folder.json(&format!("cluster table.npy --exclude 3 {OPTIONS}")), 0.0);
    let scored = folder.json(&format!("cluster table.npy --label-column 3 {OPTIONS}"));
    assert_eq!(scored["agreement"]["adjusted_rand_index"], 1.0);
    same(&scored, 0.0);
}

#[test]
fn an_npz_file_holds_data_and_labels() {
    let folder = Folder::new();
    let truth: Array1<i64> = (0..120).map(|row| row / 20).collect();
    for compressed in [false, true] {
        let file = File::create(folder.path("both.npz")).unwrap();
        let mut writer = if compressed { NpzWriter::new_compressed(file) } else { NpzWriter::new(file) };
        writer.add_array("y", &truth).unwrap();
        writer.add_array("X", &blobs_array()).unwrap();
        writer.finish().unwrap();
        let found = folder.json(&format!("cluster both.npz --label-column y {OPTIONS}"));
        assert_eq!(found["agreement"]["column"], "y");
        assert_eq!(found["agreement"]["adjusted_rand_index"], 1.0);
        same(&found, 0.0);
    }
}

#[test]
fn binary_formats_come_through_standard_input_too() {
    let folder = Folder::new();
    write_npy(folder.path("table.npy"), &blobs_array()).unwrap();
    let bytes = std::fs::read(folder.path("table.npy")).unwrap();
    let ran = folder.madbayes(&format!("cluster - {OPTIONS} --format json")).write_stdin(bytes).output().unwrap();
    same(&serde_json::from_slice(&ran.stdout).unwrap(), 0.0);
}

#[test]
fn a_file_is_what_its_first_bytes_say_whatever_its_name() {
    let folder = Folder::new();
    write_npy(folder.path("table.csv"), &blobs_array()).unwrap();
    same(&folder.json(&format!("cluster table.csv {OPTIONS}")), 0.0);
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use super::*;
    use crate::common::six_blobs;
    use parquet::basic::{Compression, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, FloatType};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::sync::Arc;

    /// The six blobs in two row groups.
    pub fn write_blobs(folder: &Folder, name: &str, single: bool, compression: Compression) {
        let kind = if single { "float" } else { "double" };
        let schema = format!("message m {{ required {kind} x; required {kind} y; required binary kind (UTF8); }}");
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let file = File::create(folder.path(name)).unwrap();
        let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
        for rows in six_blobs().chunks(70) {
            let mut group = writer.next_row_group().unwrap();
            for j in 0..2 {
                let values: Vec<f64> = rows.iter().map(|(row, _)| row[j]).collect();
                let mut column = group.next_column().unwrap().unwrap();
                if single {
                    let values: Vec<f32> = values.iter().map(|x| *x as f32).collect();
                    column.typed::<FloatType>().write_batch(&values, None, None).unwrap();
                } else {
                    column.typed::<DoubleType>().write_batch(&values, None, None).unwrap();
                }
                column.close().unwrap();
            }
            let names: Vec<ByteArray> = rows.iter().map(|(_, name)| (*name).into()).collect();
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        writer.close().unwrap();
    }

    #[test]
    fn parquet_gives_the_same_answer_compressed_or_not() {
        let folder = Folder::new();
        let zstd = Compression::ZSTD(ZstdLevel::default());
        for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY, zstd] {
            for single in [false, true] {
                write_blobs(&folder, "blobs.parquet", single, compression);
                let found = folder.json(&format!("cluster blobs.parquet --label-column kind {OPTIONS}"));
                assert_eq!(found["agreement"]["adjusted_rand_index"], 1.0);
                assert_eq!(found["columns"], serde_json::json!(["x", "y"]));
                same(&found, if single { 1e-6 } else { 0.0 });
            }
        }
    }

    #[test]
    fn truncated_parquet_is_a_clear_mistake() {
        let folder = Folder::new();
        write_blobs(&folder, "blobs.parquet", false, Compression::SNAPPY);
        let bytes = std::fs::read(folder.path("blobs.parquet")).unwrap();
        for length in [4, 10, bytes.len() / 2, bytes.len() - 1] {
            folder.write("cut.parquet", &bytes[..length]);
            says(&folder.mistake(&format!("cluster cut.parquet {OPTIONS}")), &["cut.parquet", "cut off"]);
        }
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_parquet_built_in_the_message_says_so() {
    let folder = Folder::new();
    folder.write("blobs.parquet", b"PAR1....PAR1");
    let message = folder.mistake(&format!("cluster blobs.parquet {OPTIONS}"));
    says(&message, &["blobs.parquet", "built without Parquet", "save the table as CSV"]);
}

#[test]
fn truncated_numpy_files_are_clear_mistakes() {
    let folder = Folder::new();
    write_npy(folder.path("whole.npy"), &blobs_array()).unwrap();
    let mut writer = NpzWriter::new_compressed(File::create(folder.path("whole.npz")).unwrap());
    writer.add_array("X", &blobs_array()).unwrap();
    writer.finish().unwrap();
    for kind in ["npy", "npz"] {
        let bytes = std::fs::read(folder.path(&format!("whole.{kind}"))).unwrap();
        for length in [5, 30, bytes.len() / 2, bytes.len() - 1] {
            folder.write(&format!("cut.{kind}"), &bytes[..length]);
            let message = folder.mistake(&format!("cluster cut.{kind} {OPTIONS}"));
            says(&message, &[&format!("cut.{kind}")]);
            if length >= 30 {
                says(&message, &["cut off"]);
            }
        }
    }
}
