//! An SQLite database with the tables of `schema.sql`.

use crate::exporter::{ExportedRun, Exporter};
use crate::sql_tables::{SCHEMA, SqlTable, SqlValue, sql_tables};
use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, MAIN_DB, ToSql, params_from_iter};
use std::io::{Error, Result, Write};

pub const EXPORTER: Exporter =
    Exporter { name: "sqlite", endings: &["sqlite", "sqlite3", "db"], write };

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    out.write_all(&database_bytes(runs).map_err(Error::other)?)
}

fn database_bytes(runs: &[ExportedRun]) -> rusqlite::Result<Vec<u8>> {
    let mut database = Connection::open_in_memory()?;
    database.execute_batch(SCHEMA)?;
    let inserting = database.transaction()?;
    for table in sql_tables(runs) {
        insert_rows(&inserting, table)?;
    }
    inserting.commit()?;
    database.serialize(MAIN_DB).map(|bytes| bytes.to_vec())
}

fn insert_rows(database: &Connection, table: SqlTable) -> rusqlite::Result<()> {
    let marks = vec!["?"; table.column_count].join(",");
    let mut insert = database.prepare(&format!("INSERT INTO {} VALUES ({marks})", table.name))?;
    for row in table.rows {
        insert.execute(params_from_iter(row))?;
    }
    Ok(())
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            SqlValue::Text(text) => text.as_str().into(),
            SqlValue::Real(value) => (*value).into(),
            SqlValue::Count(count) => (*count).into(),
            SqlValue::Null => ToSqlOutput::Owned(Value::Null),
        })
    }
}
