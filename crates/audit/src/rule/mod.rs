//! The family of rules. A rule looks at what a page holds and says what does not hold, and which figures it found to hold; it
//! says itself when it stays silent. Later rules see what earlier ones corrected.
//!
//! A new rule is a check, called from [`CHECKS`] or by its neighbour there, and a paragraph of `rules.txt`.

mod fio;
mod hardware;
pub mod identity;
mod ledger;
mod method;
mod network;
mod prose;
mod table;
#[cfg(test)]
pub(crate) mod testing;
mod tools;

use crate::claim::Status;
use crate::finding::{Finding, Severity};
pub use crate::finding::{Rule, all};
use crate::import::Output;
use crate::import::fio::{Fio, snapshots};
use crate::knowledge::ratings::Ratings;
use crate::link::Link;
use crate::link::grid::Grid;
use crate::number::{Figure, Interval};
use crate::page::{Page, Spot};
use crate::prose::Clause;
use crate::table::Table;
use rustc_hash::{FxHashMap, FxHashSet};

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
    /// Whose each line is.
    places: Vec<Place>,
    /// Whether a later output is of the same run.
    superseded: Vec<bool>,
}

/// Whose a line is; what is of a table in an output is the output's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Text,
    Table,
    Output,
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
        let mut places = vec![Place::Text; page.len()];
        let whose = tables.iter().map(|table| (&table.lines, Place::Table));
        for (lines, place) in whose.chain(outputs.iter().map(|output| (&output.lines, Place::Output))) {
            places[lines.start.min(page.len())..lines.end.min(page.len())].fill(place);
        }
        let superseded = snapshots::superseded(outputs);
        Evidence { page, outputs, tables, clauses, grids, links, ratings, places, superseded }
    }

    /// Whether a line is of no output and of no table.
    pub fn is_text(&self, line: usize) -> bool {
        self.places.get(line) == Some(&Place::Text)
    }

    /// Indices of the lines that are of no output and of no table.
    pub fn text_lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.lines_outside_outputs().filter(|line| self.is_text(*line))
    }

    /// Indices of the lines that are of no output.
    pub fn lines_outside_outputs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.places.len()).filter(|line| self.places[*line] != Place::Output)
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

/// All rules look in this order: raw outputs, then tables, then what is derived from both.
const CHECKS: &[fn(&Evidence, &mut Sink)] = &[
    fio::check,
    tools::check,
    network::check,
    identity::product::check,
    identity::little::check,
    table::copies::check,
    identity::made::check,
    identity::shown::check,
    table::ratios::check,
    identity::powers::check,
    table::replicas::check,
    hardware::check,
    method::check,
    prose::check,
];

/// Asks every rule, and hands on each figure that one settled; findings come in the order of the page, what is said twice of one figure by
/// one rule once.
pub fn check(evidence: &Evidence, settles: &mut dyn FnMut(Check)) -> Vec<Finding> {
    let mut sink = Sink { settles: Some(settles), ..Sink::default() };
    CHECKS.iter().for_each(|check| check(evidence, &mut sink));
    for finding in &mut sink.findings {
        let known = all().iter().any(|rule| rule.id == finding.rule);
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
    #[test]
    fn every_rule_says_what_it_holds_and_when_it_is_silent() {
        let paragraphs = include_str!("rules.txt").split("\n\n").skip(1);
        let mut ids: Vec<&str> = super::all().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), paragraphs.count(), "a paragraph is not read");
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id comes twice: {ids:?}");
        for rule in super::all() {
            let texts = [rule.name, rule.holds, rule.silent];
            assert!(
                texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')),
                "{}: {texts:?}",
                rule.id
            );
        }
    }
}
