//! The family of rules. A rule looks at what a page holds and says what does not hold, and which figures it found to hold; it
//! says itself when it stays silent. Later rules see what earlier ones corrected.
//!
//! A new rule is one file with its `RULE` (or `RULES` of a small group) and one entry in [`ALL`].

use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::import::Output;
use crate::import::fio::Fio;
use crate::number::{Figure, Interval};
use crate::page::{Page, Spot};
use crate::table::Table;
use std::collections::HashMap;
use std::rc::Rc;

mod hardware;

/// A rule.
pub struct Rule {
    /// `F4`, as the catalogue has it.
    pub id: &'static str,
    /// A few words: `IOPS times block size is the bandwidth`.
    pub name: &'static str,
    /// The worst that it finds.
    pub severity: Severity,
    /// What it holds against what, with its tolerance.
    pub holds: &'static str,
    /// When it says nothing.
    pub silent: &'static str,
    /// Looks.
    pub check: fn(&Evidence, &mut Sink),
}

/// What a page holds.
pub struct Evidence<'a> {
    /// The page.
    pub page: &'a Page,
    /// Outputs of tools.
    pub outputs: &'a [Output],
    /// Tables.
    pub tables: &'a [Table],
}

impl<'a> Evidence<'a> {
    /// fio's outputs.
    pub fn fio(&self) -> impl Iterator<Item = &'a Fio> {
        self.outputs.iter().map(|output| &output.said).filter_map(|said| match said {
            crate::import::Said::Fio(fio) => Some(&**fio),
            #[allow(unreachable_patterns, reason = "fio is one of many tools")]
            _ => None,
        })
    }
}

/// What rules say.
#[derive(Default)]
pub struct Sink {
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// Figures that a rule settled.
    pub checks: Vec<(Spot, Status, &'static str)>,
    corrected: HashMap<Spot, Correction>,
    hardware: Option<Rc<hardware::Hardware>>,
}

/// What a wrong figure should be.
#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    /// In the base of its unit.
    pub value: Interval,
    /// As it would be printed.
    pub text: String,
}

impl Sink {
    /// A figure that was recomputed and agrees.
    pub fn holds(&mut self, rule: &'static str, figure: &Figure) {
        self.checks.push((figure.spot, Status::Holds, rule));
    }

    /// A figure that lies within its bounds.
    pub fn plausible(&mut self, rule: &'static str, figure: &Figure) {
        self.checks.push((figure.spot, Status::Plausible, rule));
    }

    /// Something does not hold. A `wrong-figure` marks the figure at its spot.
    pub fn finds(&mut self, finding: Finding) {
        if finding.severity <= Severity::WrongFigure {
            self.checks.push((finding.spot, Status::DoesNotHold, finding.rule));
        }
        self.findings.push(finding);
    }

    /// What a figure that does not hold should be, for the rules behind.
    pub fn corrects(&mut self, spot: Spot, value: Interval, text: impl Into<String>) {
        self.corrected.insert(spot, Correction { value, text: text.into() });
    }

    /// What an earlier rule made of a figure.
    pub fn correction(&self, spot: Spot) -> Option<&Correction> {
        self.corrected.get(&spot)
    }
}

/// All rules, in the order in which they look: raw outputs, then tables, then what is derived from both.
pub const ALL: &[&Rule] = &[
    &hardware::P1,
    &hardware::P2,
    &hardware::P3,
    &hardware::P4,
    &hardware::P5,
    &hardware::P6,
    &hardware::P7,
    &hardware::P8,
    &hardware::P10,
    &hardware::P11,
    &hardware::P12,
    &hardware::P13,
    &hardware::P14,
    &hardware::P15,
];

/// Asks every rule; findings come in the order of the page, what is said twice of one figure by one rule once.
pub fn check(evidence: &Evidence) -> Sink {
    let mut sink = Sink::default();
    for rule in ALL {
        (rule.check)(evidence, &mut sink);
    }
    for finding in &mut sink.findings {
        if finding.printed.is_empty() {
            evidence.page.quote(finding.spot).clone_into(&mut finding.printed);
        }
    }
    sink.findings.sort_by_key(|finding| (finding.spot, finding.severity));
    sink.findings.dedup_by(|later, earlier| {
        later.rule == earlier.rule && later.spot == earlier.spot && later.message == earlier.message
    });
    sink
}
