//! Input and output of rules: the content of a page, and a sink for findings, for figures that
//! hold, and for values that later rules must use.

use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::import::fio::{Fio, snapshots};
use crate::import::format::{ToolOutput, ToolReport};
use crate::link::DerivedLink;
use crate::link::grid::Grid;
use crate::number::{Interval, PrintedNumber};
use crate::page::{AuditedPage, TextSpan};
use crate::table::PageTable;
use rustc_hash::{FxHashMap, FxHashSet};

pub struct Evidence<'a> {
    pub page: &'a AuditedPage,
    pub outputs: &'a [ToolOutput],
    pub tables: &'a [PageTable],
    /// Grids of figures that are next to each other, in tables or in lines of text.
    pub grids: &'a [Grid<'a>],
    pub links: &'a [DerivedLink],
    /// True for each line that belongs to no output and no table.
    is_text: Vec<bool>,
    /// True for each output that a later output of the same run supersedes.
    superseded: Vec<bool>,
}

impl<'a> Evidence<'a> {
    pub fn new(
        page: &'a AuditedPage,
        outputs: &'a [ToolOutput],
        tables: &'a [PageTable],
        grids: &'a [Grid<'a>],
        links: &'a [DerivedLink],
    ) -> Evidence<'a> {
        let mut is_text = vec![true; page.len()];
        let taken = tables.iter().map(|table| &table.lines);
        for lines in taken.chain(outputs.iter().map(|output| &output.lines)) {
            is_text[lines.start.min(page.len())..lines.end.min(page.len())].fill(false);
        }
        let superseded = snapshots::superseded(outputs);
        Evidence { page, outputs, tables, grids, links, is_text, superseded }
    }

    pub fn text_lines(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.is_text.len()).filter(|line| self.is_text[*line])
    }

    /// Returns fio's outputs, except those that a later output of the same run supersedes: some of
    /// their figures count I/Os in flight, others do not.
    pub fn fio(&self) -> impl Iterator<Item = &'a Fio> {
        self.outputs.iter().zip(&self.superseded).filter_map(|(output, superseded)| {
            match &output.said {
                ToolReport::Fio(fio) if !superseded => Some(&**fio),
                _ => None,
            }
        })
    }
}

/// Spot of a figure, the status that a rule gives it, and the rule's id.
pub type SettledFigure = (TextSpan, Status, &'static str);

#[derive(Default)]
pub struct EvidenceSink<'a> {
    pub findings: Vec<Finding>,
    settles: Option<&'a mut dyn FnMut(SettledFigure)>,
    wrong: FxHashSet<TextSpan>,
    corrected: FxHashMap<TextSpan, Correction>,
    refined: FxHashMap<TextSpan, Interval>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub value: Interval,
    pub text: String,
}

impl<'a> EvidenceSink<'a> {
    pub fn handing_on(settles: &'a mut dyn FnMut(SettledFigure)) -> EvidenceSink<'a> {
        EvidenceSink { settles: Some(settles), ..EvidenceSink::default() }
    }
    fn settle_figure(&mut self, check: SettledFigure) {
        if let Some(settles) = &mut self.settles {
            settles(check);
        }
    }

    pub fn is_wrong(&self, spot: TextSpan) -> bool {
        self.wrong.contains(&spot)
    }

    /// Marks a figure that was recomputed and agrees.
    pub fn mark_holding(&mut self, rule: &'static str, figure: &PrintedNumber) {
        self.settle_figure((figure.spot, Status::Holds, rule));
    }

    /// Marks a figure as plausible: it lies within its bounds, but is not given exactly.
    pub fn plausible(&mut self, rule: &'static str, figure: &PrintedNumber) {
        self.settle_figure((figure.spot, Status::Plausible, rule));
    }

    /// Adds a finding. If its severity is `WrongFigure` or it has a recomputed value, also marks
    /// the figure at its spot as wrong.
    pub fn add_finding(&mut self, finding: Finding) {
        if finding.severity == Severity::WrongFigure || !finding.recomputed.is_empty() {
            self.settle_figure((finding.spot, Status::DoesNotHold, finding.rule));
            self.wrong.insert(finding.spot);
        }
        self.findings.push(finding);
    }

    /// Sets the correct value of a wrong figure, for later rules.
    pub fn corrects(&mut self, spot: TextSpan, value: Interval, text: impl Into<String>) {
        self.corrected.insert(spot, Correction { value, text: text.into() });
    }

    /// Sets a more exact value of a correct figure than the printed one.
    pub fn refines(&mut self, spot: TextSpan, value: Interval) {
        self.refined.insert(spot, value);
    }

    /// Returns the best known value of a figure: its correction, its more exact value, or else its
    /// printed digits.
    pub fn best_value(&self, figure: &PrintedNumber) -> Interval {
        let corrected = self.corrected.get(&figure.spot).map(|correction| correction.value);
        corrected.or(self.refined.get(&figure.spot).copied()).unwrap_or(figure.interval())
    }

    pub fn refinement(&self, spot: TextSpan) -> Option<Interval> {
        self.refined.get(&spot).copied()
    }

    pub fn correction(&self, spot: TextSpan) -> Option<&Correction> {
        self.corrected.get(&spot)
    }
}
