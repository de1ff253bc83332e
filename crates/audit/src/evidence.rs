//! What rules look at, and what they say: all that a page holds, and a sink for findings, for
//! figures that hold, and for what later rules must compute with.

use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::import::fio::{Fio, snapshots};
use crate::import::{ToolOutput, ToolReport};
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
    /// Figures side by side, of tables and of lines.
    pub grids: &'a [Grid<'a>],
    pub links: &'a [DerivedLink],
    places: Vec<LineOwner>,
    /// Whether a later output is of the same run.
    superseded: Vec<bool>,
}

/// Whose a line is; what is of a table in an output is the output's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineOwner {
    Text,
    Table,
    Output,
}

impl<'a> Evidence<'a> {
    pub fn new(
        page: &'a AuditedPage,
        outputs: &'a [ToolOutput],
        tables: &'a [PageTable],
        grids: &'a [Grid<'a>],
        links: &'a [DerivedLink],
    ) -> Evidence<'a> {
        let mut places = vec![LineOwner::Text; page.len()];
        let whose = tables.iter().map(|table| (&table.lines, LineOwner::Table));
        for (lines, place) in
            whose.chain(outputs.iter().map(|output| (&output.lines, LineOwner::Output)))
        {
            places[lines.start.min(page.len())..lines.end.min(page.len())].fill(place);
        }
        let superseded = snapshots::superseded(outputs);
        Evidence { page, outputs, tables, grids, links, places, superseded }
    }

    /// Indices of the lines that are of no output and of no table.
    pub fn text_lines(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.places.len()).filter(|line| self.places[*line] == LineOwner::Text)
    }

    /// fio's outputs, without those that it printed before a run was over: what was in flight is
    /// counted in some of their figures and not in others.
    pub fn fio(&self) -> impl Iterator<Item = &'a Fio> {
        self.outputs.iter().zip(&self.superseded).filter_map(|(output, superseded)| {
            match &output.said {
                ToolReport::Fio(fio) if !superseded => Some(&**fio),
                _ => None,
            }
        })
    }
}

/// A figure that a rule settled, how, and the rule.
pub type SettledFigure = (TextSpan, Status, &'static str);

#[derive(Default)]
pub struct EvidenceSink<'a> {
    pub findings: Vec<Finding>,
    /// Takes every figure that a rule settled.
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
    /// Hands on every figure that a rule settles.
    pub fn handing_on(settles: &'a mut dyn FnMut(SettledFigure)) -> EvidenceSink<'a> {
        EvidenceSink { settles: Some(settles), ..EvidenceSink::default() }
    }
    fn settle(&mut self, check: SettledFigure) {
        if let Some(settles) = &mut self.settles {
            settles(check);
        }
    }

    /// Whether a rule found that a figure does not hold.
    pub fn is_wrong(&self, spot: TextSpan) -> bool {
        self.wrong.contains(&spot)
    }

    /// A figure that was recomputed and agrees.
    pub fn holds(&mut self, rule: &'static str, figure: &PrintedNumber) {
        self.settle((figure.spot, Status::Holds, rule));
    }

    /// A figure that lies within its bounds.
    pub fn plausible(&mut self, rule: &'static str, figure: &PrintedNumber) {
        self.settle((figure.spot, Status::Plausible, rule));
    }

    /// Something does not hold. It marks the figure at its spot where that is wrong, or told what
    /// it should be.
    pub fn finds(&mut self, finding: Finding) {
        if finding.severity == Severity::WrongFigure || !finding.recomputed.is_empty() {
            self.settle((finding.spot, Status::DoesNotHold, finding.rule));
            self.wrong.insert(finding.spot);
        }
        self.findings.push(finding);
    }

    /// What a figure that does not hold should be, for the rules after.
    pub fn corrects(&mut self, spot: TextSpan, value: Interval, text: impl Into<String>) {
        self.corrected.insert(spot, Correction { value, text: text.into() });
    }

    /// What a figure that holds is more exactly than it is printed.
    pub fn refines(&mut self, spot: TextSpan, value: Interval) {
        self.refined.insert(spot, value);
    }

    /// What a figure stands for by all that is known: its correction, what it is more exactly, else
    /// its printed digits.
    pub fn meant(&self, figure: &PrintedNumber) -> Interval {
        let corrected = self.corrected.get(&figure.spot).map(|correction| correction.value);
        corrected.or(self.refined.get(&figure.spot).copied()).unwrap_or(figure.interval())
    }

    /// What a figure that holds is more exactly, where something tells.
    pub fn refinement(&self, spot: TextSpan) -> Option<Interval> {
        self.refined.get(&spot).copied()
    }

    /// What an earlier rule made of a figure.
    pub fn correction(&self, spot: TextSpan) -> Option<&Correction> {
        self.corrected.get(&spot)
    }
}
