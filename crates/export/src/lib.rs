//! The family of exports: stored runs in the formats of other tools. A new one is a file and its
//! entry in [`ALL`]. Unlike the reports, an export may need the slices of the run, and may be
//! binary.
//!
//! Three modules hold what several forms share: `slice_row` the figures of the slices, `sql_tables`
//! the tables of databases, `tracked_figure` what is followed from run to run.
//! [`fleet`] has the exports of many hosts.
#![forbid(unsafe_code)]

mod benchmark_json;
mod benchstat;
mod ci_summary;
mod exporter;
pub mod fleet;
mod junit;
mod openmetrics;
mod parquet;
mod postgres;
mod slice_row;
mod slices;
mod sql_tables;
mod sqlite;
#[cfg(test)]
mod tests;
mod tracked_figure;
mod workbook;

pub use exporter::{ExportedRun, Exporter};
pub use workbook::write_tables;

use iotax_report::against::ComparisonRenderer;

pub const ALL: &[&Exporter] = &[
    &slices::EXPORTER,
    &workbook::EXPORTER,
    &parquet::EXPORTER,
    &sqlite::EXPORTER,
    &postgres::EXPORTER,
    &junit::EXPORTER,
    &ci_summary::EXPORTER,
    &benchmark_json::BIGGER,
    &benchmark_json::SMALLER,
    &benchmark_json::BENCHER,
    &benchstat::EXPORTER,
    &openmetrics::EXPORTER,
];

/// Forms of a comparison of two runs.
pub const COMPARISONS: &[&ComparisonRenderer] = &[&junit::COMPARISON];

pub fn by_name(name: &str) -> Option<&'static Exporter> {
    ALL.iter().copied().find(|exporter| exporter.name == name)
}
