//! The family of rules. A rule looks at what a page holds and says what does not hold, and which figures it found to hold; it
//! says itself when it stays silent. Later rules see what earlier ones corrected.
//!
//! A new rule is one file with its `RULE` (or `RULES` of a small group) and one entry in [`ALL`].

pub mod fio;
pub mod prose;
pub mod slip;
pub mod table;

use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::import::Output;
use crate::import::fio::Fio;
use crate::link::Link;
use crate::number::{Figure, Interval};
use crate::page::{Page, Spot};
use crate::prose::Clause;
use crate::table::Table;
use std::collections::HashMap;

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
    /// What sentences claim.
    pub clauses: &'a [Clause],
    /// Derived figures with their operands.
    pub links: &'a [Link],
}

impl<'a> Evidence<'a> {
    /// Whether the page compares an output with another: one of the same load stands beside it, and a figure says how they
    /// compare.
    pub fn compares(&self, fio: &Fio) -> bool {
        let load = |fio: &Fio| {
            fio.jobs
                .first()
                .map(|job| (job.jobs, job.directions.iter().map(|one| one.way).collect::<Vec<_>>()))
        };
        let alike = self.fio().filter(|other| load(other) == load(fio)).count() > 1;
        let percent = |cell: &crate::table::Cell| {
            let unit = |quantity: &crate::number::Quantity| quantity.unit == crate::number::Unit::Percent;
            cell.figure.as_ref().is_some_and(unit) || cell.share.as_ref().is_some_and(unit)
        };
        let cells =
            || self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten());
        alike && cells().any(percent)
    }

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
    refined: HashMap<Spot, Interval>,
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

    /// Something does not hold. It marks the figure at its spot where that is wrong, or told what it should be.
    pub fn finds(&mut self, finding: Finding) {
        if finding.severity <= Severity::WrongFigure || !finding.recomputed.is_empty() {
            self.checks.push((finding.spot, Status::DoesNotHold, finding.rule));
        }
        self.findings.push(finding);
    }

    /// What a figure that does not hold should be, for the rules behind.
    pub fn corrects(&mut self, spot: Spot, value: Interval, text: impl Into<String>) {
        self.corrected.insert(spot, Correction { value, text: text.into() });
    }

    /// What a figure that holds is more exactly than it is printed.
    pub fn refines(&mut self, spot: Spot, value: Interval) {
        self.refined.insert(spot, value);
    }

    /// What a figure stands for by all that is known: its correction, what it is more exactly, else its printed digits.
    pub fn meant(&self, figure: &Figure) -> Interval {
        let corrected = self.corrected.get(&figure.spot).map(|correction| correction.value);
        corrected.or(self.refined.get(&figure.spot).copied()).unwrap_or(figure.interval())
    }

    /// What a figure that holds is more exactly, where something tells.
    pub fn refinement(&self, spot: Spot) -> Option<Interval> {
        self.refined.get(&spot).copied()
    }

    /// What an earlier rule made of a figure.
    pub fn correction(&self, spot: Spot) -> Option<&Correction> {
        self.corrected.get(&spot)
    }
}

/// All rules, in the order in which they look: raw outputs, then tables, then what is derived from both.
pub const ALL: &[&Rule] = &[
    &fio::rates::ISSUED_RATE,
    &fio::rates::LOST_CARRY,
    &fio::rates::ISSUED_BANDWIDTH,
    &fio::rates::ISSUED_TOTAL,
    &fio::rates::RATE_TIMES_SIZE,
    &fio::rates::INFERRED_CARRY,
    &fio::rates::TOTAL_OVER_TIME,
    &fio::rates::BOTH_BASES,
    &fio::latency::PARTS,
    &fio::latency::ORDER,
    &fio::latency::MONOTONE,
    &fio::latency::MEAN,
    &fio::latency::BUCKETS,
    &fio::latency::SAME_DISTRIBUTION,
    &fio::latency::TAIL,
    &fio::latency::FLOOR,
    &fio::load::LITTLE,
    &fio::load::GENERATOR,
    &fio::load::DEPTH,
    &fio::load::ERRORS,
    &fio::samples::MEAN,
    &fio::samples::PER,
    &fio::samples::COUNT,
    &fio::samples::BOTH_KINDS,
    &fio::samples::SUMMED,
    &fio::samples::STEADY,
    &fio::disks::SERVED,
    &fio::disks::DEVICE_TIME,
    &fio::disks::QUEUE_TIME,
    &fio::disks::BUSY,
    &fio::course::END,
    &fio::course::REGIMES,
    &fio::course::DURATION,
    &fio::course::PROGRESS,
    &table::sizes::RATE_TIMES_SIZE,
    &table::copies::COPY,
    &table::ratios::RATIO,
    &table::ratios::PROPAGATED,
    &table::ratios::PAIR,
    &table::replicas::REPLICAS,
    &prose::within::WITHIN,
    &prose::within::BANDS,
    &prose::about::ABOUT,
    &prose::better::BETTER,
    &prose::method::SPREAD,
    &prose::method::SELECTION,
    &prose::method::PRECONDITIONING,
];

/// Asks every rule; findings come in the order of the page, what is said twice of one figure by one rule once.
pub fn check(evidence: &Evidence) -> Sink {
    let mut sink = Sink::default();
    for rule in ALL {
        (rule.check)(evidence, &mut sink);
    }
    for finding in &mut sink.findings {
        debug_assert!(
            ALL.iter().any(|rule| rule.id == finding.rule),
            "{} is no rule of the family",
            finding.rule
        );
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
