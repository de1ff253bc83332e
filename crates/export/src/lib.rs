//! The family of exports: stored runs in the formats of other tools. A new one is a file and its
//! entry in [`ALL`]. Unlike the reports, an export may need the slices of the run, and may be
//! binary.
#![forbid(unsafe_code)]

mod slices;
mod workbook;

use iotax_analysis::{Findings, RunData};
use std::io::{Result, Write};

/// A stored run and the findings from it.
pub struct ExportedRun {
    pub data: RunData,
    pub findings: Findings,
}

pub struct Exporter {
    /// Word for `--format`.
    pub name: &'static str,
    /// Extensions of files for which the export is chosen, without a dot and in lower case; the
    /// usual one first.
    pub endings: &'static [&'static str],
    /// Writes one run or several, in the order given.
    pub write: fn(&[ExportedRun], &mut dyn Write) -> Result<()>,
}

pub const ALL: &[&Exporter] = &[&slices::EXPORTER, &workbook::EXPORTER];

pub fn by_name(name: &str) -> Option<&'static Exporter> {
    ALL.iter().copied().find(|exporter| exporter.name == name)
}
