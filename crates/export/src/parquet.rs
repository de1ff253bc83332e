//! Parquet of the slices: the columns of the tidy CSV with their types, for DuckDB, pandas or Spark.

use crate::exporter::{ExportedRun, Exporter};
use crate::slice_row::{SliceRow, slice_rows};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::io::{Error, Result, Write};
use std::sync::Arc;

pub const EXPORTER: Exporter = Exporter { name: "parquet", endings: &["parquet"], write };

const SCHEMA: &str = "message slices {
    required binary run (string);
    required binary workload (string);
    required binary stack (string);
    required int32 visit;
    required int32 set;
    required int32 round;
    required int32 slice;
    required binary purpose (string);
    required double start_s;
    required double window_s;
    required int32 short_slices;
    required binary metric (string);
    optional double value;
    required binary note (string);
    required binary unit (string);
}";

/// Rows of a row group: a reader holds one at a time.
const GROUP_ROWS: usize = 100_000;

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    out.write_all(&parquet_bytes(runs, GROUP_ROWS).map_err(Error::other)?)
}

/// Returns the file with at most so many rows in a group.
pub fn parquet_bytes(
    runs: &[ExportedRun],
    group_rows: usize,
) -> std::result::Result<Vec<u8>, ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut rows = runs.iter().flat_map(slice_rows).peekable();
    while rows.peek().is_some() {
        let group: Vec<SliceRow> = rows.by_ref().take(group_rows).collect();
        write_group(&mut file, &group)?;
    }
    file.into_inner()
}

fn write_group(
    file: &mut SerializedFileWriter<Vec<u8>>,
    rows: &[SliceRow],
) -> std::result::Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    let mut next = ColumnPen { group: &mut group, rows };
    next.texts(|row| row.run)?;
    next.texts(|row| row.workload)?;
    next.texts(|row| row.stack)?;
    for at in 0..4 {
        next.numbers(|row| row.numbers[at])?;
    }
    next.texts(|row| &row.purpose)?;
    next.values::<DoubleType>(None, rows.iter().map(|row| row.start_s).collect())?;
    next.values::<DoubleType>(None, rows.iter().map(|row| row.window_s).collect())?;
    next.numbers(|row| row.short_slices)?;
    next.texts(|row| row.metric)?;
    let known: Vec<i16> = rows.iter().map(|row| i16::from(row.value.is_some())).collect();
    let values = rows.iter().filter_map(|row| row.value).collect();
    next.values::<DoubleType>(Some(&known), values)?;
    next.texts(|row| row.note)?;
    next.texts(|row| row.unit)?;
    group.close().map(|_| ())
}

/// Writes one column after the other.
struct ColumnPen<'a, 'group> {
    group: &'a mut SerializedRowGroupWriter<'group, Vec<u8>>,
    rows: &'a [SliceRow<'a>],
}

impl<'a> ColumnPen<'a, '_> {
    fn texts(
        &mut self,
        pick: impl Fn(&'a SliceRow<'a>) -> &'a str,
    ) -> std::result::Result<(), ParquetError> {
        let texts = self.rows.iter().map(|row| ByteArray::from(pick(row))).collect();
        self.values::<ByteArrayType>(None, texts)
    }

    fn numbers(
        &mut self,
        pick: impl Fn(&SliceRow) -> u32,
    ) -> std::result::Result<(), ParquetError> {
        let number = |row| i32::try_from(pick(row)).unwrap_or(i32::MAX);
        self.values::<Int32Type>(None, self.rows.iter().map(number).collect())
    }

    /// Writes the next column. `known` has 1 for each row with a value, 0 for each without; `None`
    /// if all have one.
    fn values<T: DataType>(
        &mut self,
        known: Option<&[i16]>,
        values: Vec<T::T>,
    ) -> std::result::Result<(), ParquetError> {
        let missing = || ParquetError::General("the schema has fewer columns".into());
        let mut column = self.group.next_column()?.ok_or_else(missing)?;
        column.typed::<T>().write_batch(&values, known, None)?;
        column.close()
    }
}
