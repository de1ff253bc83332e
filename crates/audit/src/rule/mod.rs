//! The family of rules. A rule looks at what a page holds and says what does not hold, and which figures it found to hold; it
//! says itself when it stays silent. Later rules see what earlier ones corrected.
//!
//! A new rule is one file with its `RULE` (or `RULES` of a small group) and one entry in [`ALL`].

mod dd;
mod diagnoses;
mod diskspd;
mod elbencho;
mod fio;
pub(crate) mod hardware;
pub mod identity;
mod ledger;
mod method;
mod network;
mod places;
mod prose;
mod rates;
pub(crate) mod slip;
mod sysbench;
mod table;
#[cfg(test)]
pub(crate) mod testing;
mod unixbench;
mod vdbench;

use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::import::fio::{Fio, snapshots};
use crate::import::{Output, Way};
use crate::knowledge::ratings::Ratings;
use crate::link::Link;
use crate::link::grid::Grid;
use crate::number::{Figure, Interval, Quantity, Unit};
use crate::page::{Page, Spot};
use crate::prose::Clause;
use crate::table::Table;
use places::Places;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

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
    /// Figures side by side, of tables and of lines.
    pub grids: &'a [Grid<'a>],
    /// Derived figures with their operands.
    pub links: &'a [Link],
    /// What drives are rated at.
    pub ratings: &'a Ratings,
    places: Places,
    /// Whether a later output is of the same run.
    superseded: Vec<bool>,
    loads: OnceCell<HashMap<Load, usize>>,
}

/// What outputs of one load have in common: jobs and ways, and what was asked for as far as it is told.
#[derive(PartialEq, Eq, Hash)]
struct Load {
    jobs: Option<u64>,
    ways: Vec<Way>,
    rw: Option<String>,
    bs: [Option<(u64, u64)>; 3],
}

impl Load {
    fn of(fio: &Fio) -> Load {
        let job = fio.jobs.first();
        let asked = job.and_then(|job| fio.asked_of(job));
        Load {
            jobs: job.and_then(|job| job.jobs),
            ways: job.map(|job| job.directions.iter().map(|one| one.way).collect()).unwrap_or_default(),
            rw: asked.and_then(|asked| asked.rw.clone()),
            bs: asked.map(|asked| asked.bs).unwrap_or_default(),
        }
    }
}

impl<'a> Evidence<'a> {
    /// All that a page holds.
    pub fn new(
        page: &'a Page,
        outputs: &'a [Output],
        tables: &'a [Table],
        clauses: &'a [Clause],
        grids: &'a [Grid<'a>],
        links: &'a [Link],
        ratings: &'a Ratings,
    ) -> Evidence<'a> {
        let places = Places::new(page.len(), outputs, tables);
        Evidence {
            page,
            outputs,
            tables,
            clauses,
            grids,
            links,
            ratings,
            places,
            superseded: snapshots::superseded(outputs),
            loads: OnceCell::new(),
        }
    }

    /// Whether a line is of no output and of no table.
    pub fn is_text(&self, line: usize) -> bool {
        self.places.is_text(line)
    }

    /// Indices of the lines that are of no output and of no table.
    pub fn text_lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.text()
    }

    /// Indices of the lines that are of no output.
    pub fn lines_outside_outputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.places.outside_outputs()
    }

    /// Whether the page compares an output with another: one of the same load stands beside it, and a figure says how they
    /// compare.
    pub fn compares(&self, fio: &Fio) -> bool {
        let loads = self.loads.get_or_init(|| self.count_loads());
        loads.get(&Load::of(fio)).is_some_and(|count| *count > 1)
    }

    /// How many outputs there are of each load, where the page has figures that compare.
    fn count_loads(&self) -> HashMap<Load, usize> {
        let percent = |cell: &crate::table::Cell| {
            let unit = |quantity: &Quantity| quantity.unit == Unit::Percent;
            cell.figure.as_ref().is_some_and(unit) || cell.share.as_deref().is_some_and(unit)
        };
        let cells =
            || self.tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten());
        let mut loads = HashMap::new();
        if !self.links.is_empty() || cells().any(percent) {
            self.fio().for_each(|fio| *loads.entry(Load::of(fio)).or_insert(0) += 1);
        }
        loads
    }

    /// fio's outputs, without those that it printed before a run was over: what was in flight is counted in some of their
    /// figures and not in others.
    pub fn fio(&self) -> impl Iterator<Item = &'a Fio> {
        self.outputs.iter().zip(&self.superseded).filter_map(|(output, superseded)| match &output.said {
            crate::import::Said::Fio(fio) if !superseded => Some(&**fio),
            _ => None,
        })
    }
}

/// A figure that a rule settled, how, and the rule.
pub type Check = (Spot, Status, &'static str);

/// What rules say.
#[derive(Default)]
pub struct Sink<'a> {
    /// What does not hold.
    pub findings: Vec<Finding>,
    /// Takes every figure that a rule settled.
    settles: Option<&'a mut dyn FnMut(Check)>,
    wrong: FxHashSet<Spot>,
    corrected: FxHashMap<Spot, Correction>,
    refined: FxHashMap<Spot, Interval>,
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

impl Sink<'_> {
    fn settle(&mut self, check: Check) {
        if let Some(settles) = &mut self.settles {
            settles(check);
        }
    }

    /// Whether a rule found that a figure does not hold.
    pub fn is_wrong(&self, spot: Spot) -> bool {
        self.wrong.contains(&spot)
    }

    /// A figure that was recomputed and agrees.
    pub fn holds(&mut self, rule: &'static str, figure: &Figure) {
        self.settle((figure.spot, Status::Holds, rule));
    }

    /// A figure that lies within its bounds.
    pub fn plausible(&mut self, rule: &'static str, figure: &Figure) {
        self.settle((figure.spot, Status::Plausible, rule));
    }

    /// Something does not hold. It marks the figure at its spot where that is wrong, or told what it should be.
    pub fn finds(&mut self, finding: Finding) {
        // A run that no conclusion should rest on is printed as it was.
        let concludes = finding.severity == Severity::WrongConclusion && finding.rule.starts_with('S');
        if finding.severity == Severity::WrongFigure || concludes || !finding.recomputed.is_empty() {
            self.settle((finding.spot, Status::DoesNotHold, finding.rule));
            self.wrong.insert(finding.spot);
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
    &fio::load::LITTLE,
    &fio::load::GENERATOR,
    &fio::load::DEPTH,
    &fio::load::ERRORS,
    &fio::asked::RUNTIME,
    &fio::course::SUMMED,
    &fio::course::STEADY,
    &fio::disks::SERVED,
    &fio::disks::DEVICE_TIME,
    &fio::course::END,
    &fio::course::REGIMES,
    &fio::course::DURATION,
    &vdbench::RULE,
    &unixbench::RULE,
    &sysbench::RULE,
    &dd::RULE,
    &diskspd::RULE,
    &elbencho::RULE,
    &rates::RULE,
    &network::ARITHMETIC,
    &network::STREAMS,
    &identity::product::UNIT,
    &identity::little::LITTLE,
    &table::copies::COPY,
    &identity::made::SUMS,
    &identity::shown::SHOWN,
    &table::ratios::RATIO,
    &table::ratios::PROPAGATED,
    &identity::powers::POWERS,
    &table::replicas::REPLICAS,
    &hardware::P1,
    &hardware::P2,
    &hardware::P4,
    &hardware::P5,
    &hardware::P8,
    &hardware::P14,
    &method::M7,
    &method::M9,
    &method::T7,
    &prose::S1,
    &prose::M1,
    &prose::M3,
    &diagnoses::TOLD[0],
    &diagnoses::TOLD[1],
    &diagnoses::TOLD[2],
    &diagnoses::TOLD[3],
    &diagnoses::TOLD[4],
    &diagnoses::TOLD[5],
];

/// Asks every rule, and hands on each figure that one settled; findings come in the order of the page, what is said twice of one figure by one rule once.
pub fn check(evidence: &Evidence, settles: &mut dyn FnMut(Check)) -> Vec<Finding> {
    let mut sink = Sink { settles: Some(settles), ..Sink::default() };
    for rule in ALL {
        (rule.check)(evidence, &mut sink);
    }
    for finding in &mut sink.findings {
        let known = ALL.iter().any(|rule| rule.id == finding.rule);
        debug_assert!(known, "{} is no rule of the family", finding.rule);
        if finding.printed.is_empty() {
            evidence.page.quote(finding.spot).clone_into(&mut finding.printed);
        }
    }
    sink.findings.sort_by_key(|finding| (finding.spot, finding.severity));
    sink.findings.dedup_by(|later, earlier| {
        later.rule == earlier.rule && later.spot == earlier.spot && later.message == earlier.message
    });
    sink.findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_says_what_it_holds_and_when_it_is_silent() {
        let mut ids: Vec<&str> = ALL.iter().map(|rule| rule.id).collect();
        for rule in ALL {
            for text in [rule.name, rule.holds, rule.silent] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", rule.id);
            }
        }
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "an id comes twice");
    }
}
