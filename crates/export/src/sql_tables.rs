//! The tables of `schema.sql` as rows of values, for every database.

use crate::exporter::ExportedRun;
use crate::slice_row::{SliceRow, slice_rows};
use iotax_report::csv;

pub const SCHEMA: &str = include_str!("schema.sql");

/// Columns of [`csv::columns`] that are numbers in the database.
const NUMBERS: [&str; 4] = ["value", "low", "high", "n"];

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum SqlValue {
    Text(String),
    Real(f64),
    Count(i64),
    Null,
}

impl SqlValue {
    fn text(text: &str) -> SqlValue {
        // PostgreSQL has no place for this byte in a text.
        SqlValue::Text(text.replace('\0', "\u{fffd}"))
    }

    fn text_or_null(text: Option<&str>) -> SqlValue {
        text.map_or(SqlValue::Null, SqlValue::text)
    }

    fn real_or_null(value: Option<f64>) -> SqlValue {
        value.map_or(SqlValue::Null, SqlValue::Real)
    }
}

/// A table of the schema with its rows, whose values are in the order of its columns.
pub struct SqlTable<'a> {
    pub name: &'static str,
    pub column_count: usize,
    pub rows: Box<dyn Iterator<Item = Vec<SqlValue>> + 'a>,
}

/// Returns the tables in an order in which each refers only to those before it.
pub fn sql_tables(runs: &[ExportedRun]) -> [SqlTable<'_>; 3] {
    let figures =
        runs.iter().flat_map(|run| csv::figure_records(std::slice::from_ref(&run.findings)));
    [
        SqlTable { name: "run", column_count: 9, rows: Box::new(runs.iter().map(run_values)) },
        SqlTable {
            name: "figure",
            column_count: csv::columns().len(),
            rows: Box::new(figures.map(figure_values)),
        },
        SqlTable {
            name: "slice_figure",
            column_count: 15,
            rows: Box::new(runs.iter().flat_map(slice_rows).map(|row| slice_values(&row))),
        },
    ]
}

fn run_values(run: &ExportedRun) -> Vec<SqlValue> {
    let one = &run.findings.run;
    vec![
        SqlValue::text(&one.id),
        SqlValue::text_or_null(one.name.as_deref()),
        SqlValue::text(&one.at),
        SqlValue::text(&one.iotax),
        SqlValue::text(one.state),
        SqlValue::text(&one.command),
        SqlValue::text(&one.seed.to_string()),
        SqlValue::Real(one.zone),
        SqlValue::text_or_null(run.findings.headline.as_deref()),
    ]
}

fn figure_values(record: Vec<String>) -> Vec<SqlValue> {
    let value = |(column, text): (&str, String)| match column {
        "n" => text.parse().map_or(SqlValue::Null, SqlValue::Count),
        _ if NUMBERS.contains(&column) => text.parse().map_or(SqlValue::Null, SqlValue::Real),
        _ => SqlValue::text(&text),
    };
    csv::columns().into_iter().zip(record).map(value).collect()
}

fn slice_values(row: &SliceRow) -> Vec<SqlValue> {
    let [visit, set, round, slice] = row.numbers.map(|number| SqlValue::Count(number.into()));
    vec![
        SqlValue::text(row.run),
        SqlValue::text(row.workload),
        SqlValue::text(row.stack),
        visit,
        set,
        round,
        slice,
        SqlValue::text(&row.purpose),
        SqlValue::Real(row.start_s),
        SqlValue::Real(row.window_s),
        SqlValue::Count(row.short_slices.into()),
        SqlValue::text(row.metric),
        SqlValue::real_or_null(row.value),
        SqlValue::text(row.note),
        SqlValue::text(row.unit),
    ]
}
