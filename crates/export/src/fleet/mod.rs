//! Fleets in the formats of other tools: a workbook, Parquet and SQLite. A Parquet file is read
//! again, so that a report on many hosts can be made from one file.

pub(crate) mod fleet_exporter;
mod fleet_parquet;
mod fleet_sqlite;
#[cfg(test)]
mod tests;

pub use fleet_exporter::FleetExporter;
pub use fleet_parquet::read_fleet_parquet;

use crate::workbook::fleet_book;

pub const ALL: &[&FleetExporter] =
    &[&fleet_book::EXPORTER, &fleet_parquet::EXPORTER, &fleet_sqlite::EXPORTER];

pub fn by_name(name: &str) -> Option<&'static FleetExporter> {
    ALL.iter().copied().find(|exporter| exporter.name == name)
}
