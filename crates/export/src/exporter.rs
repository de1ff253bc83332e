//! The shape of an export: stored runs in, bytes out.

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
