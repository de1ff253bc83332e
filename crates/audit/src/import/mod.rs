//! Importers: they find the output of other tools in any text and read it into figures with their
//! spots. An importer claims the lines that it knows and no more; lines that look like its own but
//! cannot be read are listed.
//!
//! A new importer is one file with a `FORMAT` and one entry in [`ALL`] (JSON: in
//! [`json_formats::ALL`]).

mod command;
mod context;
mod cut;
pub mod dd;
pub mod diskspd;
pub mod fio;
pub mod iperf3;
pub mod json_formats;
mod labels;
pub(crate) mod prefix;
mod printed;
pub mod sheet;
pub mod sysbench;
pub mod unixbench;
pub mod vdbench;
mod workload;

use crate::claim::Metric;
use crate::number::{NumberUnit, PrintedNumber};
use crate::page::{AuditedPage, UnreadRange};
use std::ops::Range;

pub use workload::{OtherToolResult, ResultDirection, ToolResult, Workload};

/// Format that is recognised by its lines.
pub struct Format {
    pub name: &'static str,
    /// Small output of a run of our own. Tests check that it is found and read.
    pub example: &'static str,
    /// Returns true if an output may begin at this line (without a listing's number). Called for
    /// every line of every page, so it must be cheap.
    pub begins: fn(&str) -> bool,
    /// Reads the output that begins at a line; `None` if the line does not begin one after all.
    pub read: fn(&AuditedPage, usize) -> Option<ImportedOutputs>,
}

pub struct ImportedOutputs {
    pub said: ToolReport,
    /// Index of the line after the output.
    pub end: usize,
    /// Parts that could not be read.
    pub unread: Vec<UnreadRange>,
}

impl ImportedOutputs {
    pub(crate) fn whole(said: ToolReport, end: usize) -> ImportedOutputs {
        ImportedOutputs { said, end, unread: Vec::new() }
    }

    pub(crate) fn sheets(sheets: Vec<sheet::Sheet>, end: usize) -> Option<ImportedOutputs> {
        (!sheets.is_empty()).then(|| ImportedOutputs::whole(ToolReport::Sheets(sheets), end))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub format: &'static str,
    pub lines: Range<usize>,
    pub said: ToolReport,
}

/// Content of a tool's output, one variant per tool: the same whether it came as text, JSON or CSV.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReport {
    Fio(Box<fio::Fio>),
    /// Settings that a command line of fio gives its jobs.
    Asked(Vec<fio::FioJobLine>),
    Iperf3(Box<iperf3::Iperf3>),
    /// Tools that print figures after labels.
    Sheets(Vec<sheet::Sheet>),
}

/// A figure of an output: what it measures, its unit, and its value.
pub type OutputFigure = (Metric, NumberUnit, PrintedNumber);

impl ToolReport {
    pub fn figures(&self, tell: &mut dyn FnMut(OutputFigure)) {
        match self {
            ToolReport::Fio(fio) => fio.figures(tell),
            ToolReport::Iperf3(iperf3) => iperf3.figures(tell),
            // Settings are not a result.
            ToolReport::Asked(_) => {}
            ToolReport::Sheets(sheets) => sheets.iter().for_each(|sheet| sheet.tell(tell)),
        }
    }

    /// Returns its results in the form that all tools share: `import` stores them, and tables are
    /// checked against them.
    pub fn readings(&self) -> Vec<ToolResult> {
        match self {
            ToolReport::Fio(fio) => fio.readings(),
            ToolReport::Iperf3(iperf3) => iperf3.readings(),
            ToolReport::Asked(_) => Vec::new(),
            ToolReport::Sheets(sheets) => sheets.iter().filter_map(sheet::Sheet::reading).collect(),
        }
    }
}

/// All formats that are recognised by their lines. If two may begin at a line, the earlier one is
/// tried first.
pub const ALL: &[&Format] = &[
    &fio::text::FORMAT,
    &fio::terse::FORMAT,
    &iperf3::text::FORMAT,
    &command::FORMAT,
    &json_formats::FORMAT,
    &vdbench::FORMAT,
    &unixbench::FORMAT,
    &sysbench::FORMAT,
    &dd::FORMAT,
    &diskspd::FORMAT,
    &labels::RADOS,
    &labels::RBD,
];

/// Outputs on a page, and the parts that could not be read.
#[derive(Debug, Default)]
pub struct PageOutputs {
    pub outputs: Vec<ToolOutput>,
    /// Lines that look like an output but could not be read.
    pub unread: Vec<UnreadRange>,
}

/// Finds every output of a page.
pub fn scan(page: &AuditedPage) -> PageOutputs {
    let mut imported = scan_lines(page);
    prefix::add(page, &mut imported, scan_lines);
    context::attribute(&mut imported.outputs);
    imported
}

fn scan_lines(page: &AuditedPage) -> PageOutputs {
    let mut imported = PageOutputs::default();
    let mut at = 0;
    while at < page.len() {
        let bare = page.bare(at).0;
        let mut begun = ALL.iter().filter(|format| (format.begins)(bare));
        let found = begun.find_map(|format| Some((format.name, (format.read)(page, at)?)));
        match found {
            Some((format, found)) => {
                let end = found.end.max(at + 1);
                imported.outputs.push(ToolOutput { format, lines: at..end, said: found.said });
                imported.unread.extend(found.unread);
                at = end;
            }
            None => at += 1,
        }
    }
    imported
}
