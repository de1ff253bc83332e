//! SQL for PostgreSQL: the tables of `schema.sql` and their rows, for `psql -f`. All or nothing is
//! stored; a run that the database already has is refused by its key.

use crate::exporter::{ExportedRun, Exporter};
use crate::sql_tables::{SCHEMA, SqlValue, sql_tables};
use std::io::{Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "postgres", endings: &["sql"], write };

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\\set ON_ERROR_STOP on\nBEGIN;")?;
    out.write_all(SCHEMA.as_bytes())?;
    for table in sql_tables(runs) {
        writeln!(out, "COPY {} FROM stdin;", table.name)?;
        for row in table.rows {
            let fields: Vec<String> = row.iter().map(copied_field).collect();
            writeln!(out, "{}", fields.join("\t"))?;
        }
        writeln!(out, "\\.")?;
    }
    writeln!(out, "COMMIT;")
}

/// Returns a value as COPY reads it: <https://www.postgresql.org/docs/17/sql-copy.html>.
fn copied_field(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "\\N".to_owned(),
        SqlValue::Count(count) => count.to_string(),
        SqlValue::Real(value) if value.is_infinite() => {
            if *value > 0.0 {
                "Infinity".into()
            } else {
                "-Infinity".into()
            }
        }
        SqlValue::Real(value) => value.to_string(),
        SqlValue::Text(text) => text
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r"),
    }
}
