//! The family of exports: stored runs in the formats of other tools. A new one is a file and its
//! entry in [`ALL`]. Unlike the reports, an export may need the slices of the run, and may be
//! binary.
#![forbid(unsafe_code)]

mod exporter;
mod slices;
mod workbook;

pub use exporter::{ExportedRun, Exporter};
pub use workbook::write_tables;

pub const ALL: &[&Exporter] = &[&slices::EXPORTER, &workbook::EXPORTER];

pub fn by_name(name: &str) -> Option<&'static Exporter> {
    ALL.iter().copied().find(|exporter| exporter.name == name)
}
