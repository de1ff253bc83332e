//! A sheet of the workbook, and what several sheets ask of a run.

use crate::exporter::ExportedRun;
use iotax_analysis::findings::WorkloadFindings;
use iotax_model::scenario::Workload;
use rust_xlsxwriter::{Worksheet, XlsxError};

/// A sheet of the workbook and what it says on the first page.
pub struct BookSheet {
    pub about: &'static str,
    /// Returns the sheet; `None` if the runs have nothing for it.
    pub draw: fn(&[ExportedRun]) -> std::result::Result<Option<Worksheet>, XlsxError>,
}

/// Returns all loads with their definitions, of which imported results have none.
pub fn loads(run: &ExportedRun) -> impl Iterator<Item = (&WorkloadFindings, Option<&Workload>)> {
    let definitions = &run.data.start.scenario.workloads;
    let defined = |load: &&WorkloadFindings| definitions.iter().find(|one| one.name == load.name);
    run.findings.workloads.iter().map(move |load| (load, defined(&load)))
}

/// Returns the title of a part of a sheet, with the run's id if there are several runs, and with a
/// warning if figures are emulated.
pub fn part_title(runs: &[ExportedRun], run: &ExportedRun, title: &str) -> String {
    let id = if runs.len() > 1 { format!("{}: ", run.findings.run.id) } else { String::new() };
    let is_emulated = !run.findings.emulated.is_empty();
    let emulated = if is_emulated { " (emulated: not representative)" } else { "" };
    format!("{id}{title}{emulated}")
}
