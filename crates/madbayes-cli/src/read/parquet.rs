//! Parquet files with a flat schema: each column read on its own, then put together row by row.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ::parquet::basic::{ConvertedType, Encoding, LogicalType, Repetition, Type as Physical};
use ::parquet::column::page::Page;
use ::parquet::column::reader::ColumnReaderImpl;
use ::parquet::data_type::{BoolType, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use ::parquet::schema::types::ColumnDescPtr;
use anyhow::{Context, Result, anyhow, bail};

use super::cell::text_of;
use super::matrix::number_label;
use super::pages::CheckedPages;
use super::select::{Plan, option_value, quoted, text_columns_message};
use super::settle::{Found, row_place, settle};
use super::{Labels, Selection, Table, Values};

/// Reads the selected columns of a Parquet file.
pub(super) fn read(bytes: Vec<u8>, source: &str, selection: &Selection) -> Result<Table> {
    // The reader takes some damaged files for mistakes of the programmer.
    let result = quietly(|| read_columns(bytes, source, selection));
    let found = result.unwrap_or_else(|| Err(anyhow!("{source}: the Parquet file is damaged")))?;
    settle(source, found, selection.drop_missing, &row_place)
}

fn read_columns(bytes: Vec<u8>, source: &str, selection: &Selection) -> Result<Found> {
    let damaged = || format!("{source}: the Parquet file is cut off, damaged, or packed in a way that cannot be read");
    let file = SerializedFileReader::new(in_memory(bytes)).with_context(damaged)?;
    let schema = file.metadata().file_metadata().schema_descr();
    let fields = schema.root_schema().get_fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    let plan = Plan::new(source, &names, selection)?;
    // The leaves come in the order of the fields they belong to.
    let leaf_of = |field: usize| (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == field);
    let is_nested = |&field: &usize| {
        let info = fields[field].get_basic_info();
        fields[field].is_group() || (info.has_repetition() && info.repetition() == Repetition::REPEATED)
    };
    if let Some(field) = plan.data.iter().copied().chain(plan.label).find(is_nested) {
        let name = plan.names[field].as_str();
        bail!(
            "{source}: column {} is nested (a list, a map or a struct): leave it out with --exclude {}",
            quoted(name),
            option_value(&[name])
        );
    }
    let kind_of = |&field: &usize| fields[field].get_physical_type();
    let is_number = |field: &usize| {
        matches!(
            kind_of(field),
            Physical::BOOLEAN | Physical::INT32 | Physical::INT64 | Physical::FLOAT | Physical::DOUBLE
        )
    };
    let texts: Vec<&str> =
        plan.data.iter().filter(|field| !is_number(field)).map(|&field| plan.names[field].as_str()).collect();
    if !texts.is_empty() {
        bail!("{}", text_columns_message(source, &texts, texts.len() < plan.data.len()));
    }
    let column = |field: usize| {
        let leaf = leaf_of(field).with_context(damaged)?;
        anyhow::Ok(Column { file: &file, leaf, descriptor: schema.column(leaf) })
    };
    let values = if plan.data.iter().all(|field| kind_of(field) == Physical::FLOAT) {
        let columns = plan.data.iter().map(|&field| column(field)?.read::<FloatType, _>(f32::NAN, |x| *x));
        Values::F32(interleave(columns.collect::<Result<Vec<_>>>().with_context(damaged)?))
    } else {
        let columns = plan.data.iter().map(|&field| column(field)?.numbers());
        Values::F64(interleave(columns.collect::<Result<Vec<_>>>().with_context(damaged)?))
    };
    let labels = match plan.label.zip(plan.label_name()) {
        Some((field, name)) => {
            let values = column(field)?
                .labels()
                .with_context(|| format!("{source}: column {} cannot be read as --label-column", quoted(&name)))?;
            Some(Labels { name, values })
        }
        None => None,
    };
    Ok(Found { names: plan.data_names(), values, labels, hints: vec![] })
}

/// The bytes as something the reader takes; a page is the one place where it says how to make it.
fn in_memory(bytes: Vec<u8>) -> impl ChunkReader + 'static {
    let page = Page::DictionaryPage { buf: bytes.into(), num_values: 0, encoding: Encoding::PLAIN, is_sorted: false };
    page.buffer().clone()
}

struct Column<'a> {
    file: &'a dyn FileReader,
    leaf: usize,
    descriptor: ColumnDescPtr,
}

impl Column<'_> {
    /// All values as doubles, missing ones as NaN.
    fn numbers(&self) -> Result<Vec<f64>> {
        let scale = 10_f64.powi(self.scale());
        let unsigned = self.is_unsigned();
        match self.descriptor.physical_type() {
            Physical::BOOLEAN => self.read::<BoolType, _>(f64::NAN, |&x| f64::from(u8::from(x))),
            Physical::INT32 if unsigned => self.read::<Int32Type, _>(f64::NAN, |&x| f64::from(x.cast_unsigned())),
            Physical::INT32 => self.read::<Int32Type, _>(f64::NAN, |&x| f64::from(x) / scale),
            Physical::INT64 if unsigned => self.read::<Int64Type, _>(f64::NAN, |&x| x.cast_unsigned() as f64),
            Physical::INT64 => self.read::<Int64Type, _>(f64::NAN, |&x| x as f64 / scale),
            Physical::FLOAT => self.read::<FloatType, _>(f64::NAN, |&x| f64::from(x)),
            Physical::DOUBLE => self.read::<DoubleType, _>(f64::NAN, |&x| x),
            other => bail!("its type {other} is not a number"),
        }
    }

    /// All values as text, missing ones empty.
    fn labels(&self) -> Result<Vec<String>> {
        let empty = String::new;
        match self.descriptor.physical_type() {
            Physical::BYTE_ARRAY => self.read::<ByteArrayType, _>(empty(), |bytes| text_of(bytes.data())),
            Physical::BOOLEAN => self.read::<BoolType, _>(empty(), bool::to_string),
            Physical::INT64 if self.scale() == 0 && !self.is_unsigned() => {
                self.read::<Int64Type, _>(empty(), i64::to_string)
            }
            Physical::FLOAT => self.read::<FloatType, _>(empty(), |&x| number_label(x)),
            _ => Ok(self.numbers()?.into_iter().map(number_label).collect()),
        }
    }

    /// The digits after the point of a decimal number that is stored as an integer.
    fn scale(&self) -> i32 {
        let decimal = matches!(self.descriptor.logical_type_ref(), Some(LogicalType::Decimal { .. }))
            || self.descriptor.converted_type() == ConvertedType::DECIMAL;
        if decimal { self.descriptor.type_scale().clamp(0, 38) } else { 0 }
    }

    fn is_unsigned(&self) -> bool {
        use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
        matches!(self.descriptor.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64)
            || matches!(self.descriptor.logical_type_ref(), Some(LogicalType::Integer(kind)) if !kind.is_signed)
    }

    /// All values, row group after row group, with `missing` where there is none.
    fn read<T: DataType, V: Clone>(&self, missing: V, convert: impl Fn(&T::T) -> V) -> Result<Vec<V>> {
        const MOST_AT_ONCE: usize = 1 << 16;
        let optional = self.descriptor.max_def_level() > 0;
        let mut column = Vec::new();
        for group in 0..self.file.num_row_groups() {
            let group = self.file.get_row_group(group)?;
            let n_rows = usize::try_from(group.metadata().num_rows())?;
            let pages = CheckedPages {
                inner: group.get_column_page_reader(self.leaf)?,
                kind: self.descriptor.physical_type(),
                most_values: n_rows,
                optional,
            };
            let mut reader = ColumnReaderImpl::<T>::new(self.descriptor.clone(), Box::new(pages));
            let mut left = n_rows;
            while left > 0 {
                let (mut levels, mut values) = (Vec::new(), Vec::new());
                let (n_read, _, _) =
                    reader.read_records(left.min(MOST_AT_ONCE), Some(&mut levels), None, &mut values)?;
                if n_read == 0 {
                    bail!("a column has {left} rows too few");
                }
                left -= n_read;
                if optional {
                    let mut values = values.iter();
                    let present = levels.iter().map(|&level| (level > 0).then(|| values.next()).flatten());
                    column.extend(present.map(|value| value.map_or_else(|| missing.clone(), &convert)));
                } else {
                    column.extend(values.iter().map(&convert));
                }
            }
        }
        Ok(column)
    }
}

fn interleave<V: Copy>(columns: Vec<Vec<V>>) -> Vec<V> {
    let n_rows = columns.iter().map(Vec::len).min().unwrap_or(0);
    let mut values = Vec::with_capacity(n_rows * columns.len());
    for row in 0..n_rows {
        values.extend(columns.iter().map(|column| column[row]));
    }
    values
}

/// Runs `work`; a panic in it becomes `None`, and is not reported on the terminal.
fn quietly<R>(work: impl FnOnce() -> R) -> Option<R> {
    use std::cell::Cell;
    use std::sync::Once;
    thread_local! {
        static QUIET: Cell<bool> = const { Cell::new(false) };
    }
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |report| {
            if !QUIET.get() {
                usual(report);
            }
        }));
    });
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(work)).ok();
    QUIET.set(false);
    result
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use ::parquet::basic::{Compression, ZstdLevel};
    use ::parquet::data_type::ByteArray;
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    /// A column of a test file.
    pub enum Cells {
        Bools(Vec<bool>),
        Ints(Vec<i32>),
        Longs(Vec<i64>),
        Floats(Vec<f32>),
        Doubles(Vec<f64>),
        /// `None` is a null.
        Optional(Vec<Option<f64>>),
        Texts(Vec<Option<&'static str>>),
    }

    /// A Parquet file of one row group per element.
    pub fn file(schema: &str, groups: &[Vec<Cells>], compression: Compression) -> Vec<u8> {
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut bytes = vec![];
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        for columns in groups {
            let mut group = writer.next_row_group().unwrap();
            for cells in columns {
                let mut column = group.next_column().unwrap().unwrap();
                let levels = |present: Vec<bool>| present.into_iter().map(i16::from).collect::<Vec<_>>();
                match cells {
                    Cells::Bools(cells) => column.typed::<BoolType>().write_batch(cells, None, None),
                    Cells::Ints(cells) => column.typed::<Int32Type>().write_batch(cells, None, None),
                    Cells::Longs(cells) => column.typed::<Int64Type>().write_batch(cells, None, None),
                    Cells::Floats(cells) => column.typed::<FloatType>().write_batch(cells, None, None),
                    Cells::Doubles(cells) => column.typed::<DoubleType>().write_batch(cells, None, None),
                    Cells::Optional(cells) => {
                        let levels = levels(cells.iter().map(Option::is_some).collect());
                        let values: Vec<f64> = cells.iter().flatten().copied().collect();
                        column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)
                    }
                    Cells::Texts(cells) => {
                        let levels = levels(cells.iter().map(Option::is_some).collect());
                        let values: Vec<ByteArray> = cells.iter().flatten().map(|&text| text.into()).collect();
                        column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)
                    }
                }
                .unwrap();
                column.close().unwrap();
            }
            group.close().unwrap();
        }
        writer.close().unwrap();
        bytes
    }

    const MIXED: &str = "message m {
        required double x; optional double y; required int32 n; required int64 m; required boolean b;
        optional binary kind (UTF8);
    }";

    fn mixed() -> Vec<u8> {
        let group = |shift: f64, missing: Option<f64>| {
            vec![
                Cells::Doubles(vec![1.0 + shift, 2.0 + shift]),
                Cells::Optional(vec![Some(3.0), missing]),
                Cells::Ints(vec![5, 6]),
                Cells::Longs(vec![7, 8]),
                Cells::Bools(vec![true, false]),
                Cells::Texts(vec![Some("a"), None]),
            ]
        };
        file(MIXED, &[group(0.0, Some(4.0)), group(10.0, None)], Compression::SNAPPY)
    }

    fn with_label(name: &str) -> Selection {
        Selection { label_column: Some(name.to_owned()), ..Selection::default() }
    }

    fn message(bytes: Vec<u8>, selection: &Selection) -> String {
        format!("{:#}", read(bytes, "a.parquet", selection).unwrap_err())
    }

    #[test]
    fn numeric_columns_of_all_row_groups_are_read() {
        let selection = Selection { drop_missing: true, ..with_label("kind") };
        let table = read(mixed(), "a.parquet", &selection).unwrap();
        assert_eq!(table.names, ["x", "y", "n", "m", "b"]);
        let expected = vec![1.0, 3.0, 5.0, 7.0, 1.0, 2.0, 4.0, 6.0, 8.0, 0.0, 11.0, 3.0, 5.0, 7.0, 1.0];
        assert_eq!(table.values, Values::F64(expected));
        assert_eq!((table.dropped, table.row_numbers), (1, Some(vec![0, 1, 2])));
        assert_eq!(table.labels.unwrap().values, ["a", "", "a"]);
    }

    #[test]
    fn a_null_is_a_missing_cell() {
        let text = message(mixed(), &with_label("kind"));
        assert!(text.starts_with("a.parquet, row 4, column \"y\": the cell is missing"), "{text}");
    }

    #[test]
    fn text_columns_are_refused_as_in_csv() {
        let text = message(mixed(), &Selection::default());
        assert!(text.contains("column \"kind\" is text") && text.contains("--exclude kind"), "{text}");
    }

    #[test]
    fn floats_alone_stay_single_precision() {
        let schema = "message m { required float x; required float y; required int32 n; }";
        for compression in [Compression::UNCOMPRESSED, Compression::ZSTD(ZstdLevel::default())] {
            let columns = vec![Cells::Floats(vec![1.5, 2.5]), Cells::Floats(vec![3.5, 4.5]), Cells::Ints(vec![1, 2])];
            let bytes = file(schema, &[columns], compression);
            let selection = Selection { exclude: vec!["n".to_owned()], ..Selection::default() };
            let table = read(bytes.clone(), "a.parquet", &selection).unwrap();
            assert_eq!(table.values, Values::F32(vec![1.5, 3.5, 2.5, 4.5]));
            let table = read(bytes, "a.parquet", &Selection::default()).unwrap();
            assert_eq!(table.values, Values::F64(vec![1.5, 3.5, 1.0, 2.5, 4.5, 2.0]));
        }
    }

    #[test]
    fn decimals_and_unsigned_integers_have_their_value() {
        let schema = "message m { required int64 d (DECIMAL(9, 2)); required int32 u (UINT_32); }";
        let columns = vec![Cells::Longs(vec![150, -25]), Cells::Ints(vec![-1, 1])];
        let table = read(file(schema, &[columns], Compression::SNAPPY), "a.parquet", &Selection::default()).unwrap();
        assert_eq!(table.values, Values::F64(vec![1.5, 4294967295.0, -0.25, 1.0]));
    }

    #[test]
    fn numbers_may_be_labels() {
        let table =
            read(mixed(), "a.parquet", &Selection { columns: Some(vec!["x".to_owned()]), ..with_label("m") }).unwrap();
        assert_eq!(table.labels.unwrap().values, ["7", "8", "7", "8"]);
    }

    #[test]
    fn nested_columns_are_refused_by_name_unless_left_out() {
        let schema = "message m { repeated double tags; required double x; }";
        let parsed = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = vec![];
        let mut writer = SerializedFileWriter::new(&mut bytes, parsed, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.0, 2.0], Some(&[1, 1, 0]), Some(&[0, 1, 0])).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[3.0, 4.0], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        let text = message(bytes.clone(), &Selection::default());
        assert!(text.contains("column \"tags\" is nested"), "{text}");
        let selection = Selection { exclude: vec!["tags".to_owned()], ..Selection::default() };
        assert_eq!(read(bytes, "a.parquet", &selection).unwrap().values, Values::F64(vec![3.0, 4.0]));
    }

    #[test]
    fn file_without_rows_is_refused() {
        let bytes = file("message m { required double x; }", &[], Compression::SNAPPY);
        assert!(message(bytes, &Selection::default()).contains("no rows"));
    }

    #[test]
    fn cut_off_files_are_clear_errors() {
        let bytes = mixed();
        for length in [4, 8, 100, bytes.len() / 2, bytes.len() - 1] {
            let text = message(bytes[..length].to_vec(), &Selection::default());
            assert!(text.contains("cut off"), "{length}: {text}");
        }
    }

    #[test]
    fn a_panic_becomes_nothing() {
        assert_eq!(quietly(|| -> u8 { panic!("not to be seen") }), None);
        assert_eq!(quietly(|| 1), Some(1));
    }
}
