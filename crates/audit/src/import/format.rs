//! Types that every importer and the table of importers share: a format, and the outputs that it
//! finds.

use super::fio::{Fio, FioJobLine};
use super::iperf3::Iperf3;
use super::sheet::Sheet;
use super::workload::{OutputFigure, ToolResult};
use crate::json::JsonNode;
use crate::page::{AuditedPage, UnreadRange};
use std::ops::Range;

/// Format of a tool's output that is recognised by a line at which it may begin.
pub struct Format {
    pub name: &'static str,
    /// Small output of one of our runs. Tests check that it is found and read.
    pub example: &'static str,
    /// Returns true if an output may begin at this line (without a listing's number). Called for
    /// every line of every page, so it must be cheap.
    pub begins: fn(&str) -> bool,
    /// Reads the output that begins at a line; `None` if the line does not begin one after all.
    pub read: fn(&AuditedPage, usize) -> Option<ImportedOutputs>,
}

pub struct JsonFormat {
    pub name: &'static str,
    pub example: &'static str,
    /// Returns true if the object has the keys of this format.
    pub knows: fn(&JsonNode) -> bool,
    pub read: fn(&AuditedPage, &JsonNode) -> ToolReport,
}

pub struct ImportedOutputs {
    pub said: ToolReport,
    /// Index of the line after the output.
    pub end: usize,
    pub unread: Vec<UnreadRange>,
}

impl ImportedOutputs {
    pub(crate) fn single_output(said: ToolReport, end: usize) -> ImportedOutputs {
        ImportedOutputs { said, end, unread: Vec::new() }
    }

    pub(crate) fn sheets(sheets: Vec<Sheet>, end: usize) -> Option<ImportedOutputs> {
        (!sheets.is_empty())
            .then(|| ImportedOutputs::single_output(ToolReport::Sheets(sheets), end))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub format: &'static str,
    pub lines: Range<usize>,
    pub said: ToolReport,
}

/// Content of a tool's output, whether it came as text, JSON or CSV.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReport {
    Fio(Box<Fio>),
    /// Settings of jobs, from a command line of fio.
    Asked(Vec<FioJobLine>),
    Iperf3(Box<Iperf3>),
    /// Output of any other tool: sheets of figures after labels.
    Sheets(Vec<Sheet>),
}

impl ToolReport {
    pub fn visit_figures(&self, add: &mut dyn FnMut(OutputFigure)) {
        match self {
            ToolReport::Fio(fio) => fio.visit_output_figures(add),
            ToolReport::Iperf3(iperf3) => iperf3.visit_test_figures(add),
            // Settings are not a result.
            ToolReport::Asked(_) => {}
            ToolReport::Sheets(sheets) => sheets.iter().for_each(|sheet| sheet.figures_to(add)),
        }
    }

    /// Returns the results in the form that all tools share. `import` stores them, and tables are
    /// checked against them.
    pub fn readings(&self) -> Vec<ToolResult> {
        match self {
            ToolReport::Fio(fio) => fio.readings(),
            ToolReport::Iperf3(iperf3) => iperf3.readings(),
            ToolReport::Asked(_) => Vec::new(),
            ToolReport::Sheets(sheets) => sheets.iter().filter_map(Sheet::reading).collect(),
        }
    }
}

#[derive(Debug, Default)]
pub struct PageOutputs {
    pub outputs: Vec<ToolOutput>,
    /// Lines that look like an output but could not be read.
    pub unread: Vec<UnreadRange>,
}
