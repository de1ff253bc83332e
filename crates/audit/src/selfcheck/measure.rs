//! The measurement: sound documents and documents with one slip, audited; what was found of the slips and what of nothing.

use super::draft::{Draft, Kind, Target, Written};
use super::pages;
use super::random::Random;
use super::slips::{self, Slip};
use crate::audit::{Audited, audit};
use crate::container;
use crate::finding::Severity;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// How many documents, from which seed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Plan {
    /// Sound documents.
    pub sound: u64,
    /// Documents with one slip, shared over all kinds of slips.
    pub slipped: u64,
    /// Seed.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { sound: 1000, slipped: 1000, seed: 1 }
    }
}

/// What became of one kind of slip.
#[derive(Clone, Debug, Serialize)]
pub struct Recall {
    /// Name of the slip.
    pub slip: &'static str,
    /// What is done.
    pub help: &'static str,
    /// Rules that count as having found it.
    pub rules: &'static [&'static str],
    /// Documents with it.
    pub documents: u64,
    /// In how many of them it was found.
    pub found: u64,
    /// The least share that must be.
    pub bound: f64,
    /// How often each rule found it.
    pub by: BTreeMap<&'static str, u64>,
    /// A document in which it was not found: its seed.
    pub missed: Option<u64>,
}

impl Recall {
    /// Share that was found.
    pub fn share(&self) -> f64 {
        if self.documents == 0 { 1.0 } else { self.found as f64 / self.documents as f64 }
    }

    /// Whether it is at least the bound; where it is below, whether so few are found by chance more often than one time in a
    /// thousand if the bound is the truth.
    pub fn holds(&self) -> bool {
        self.share() >= self.bound || at_most(self.found, self.documents, self.bound) > 1e-3
    }
}

/// The probability that at most `found` of `documents` are found where each is with this chance.
fn at_most(found: u64, documents: u64, chance: f64) -> f64 {
    let mut log_ways = 0.0;
    let mut sum = 0.0;
    for hits in 0..=found.min(documents) {
        let left = documents - hits;
        sum += (log_ways + hits as f64 * chance.ln() + left as f64 * (1.0 - chance).ln()).exp();
        log_ways += (left as f64).ln() - (hits as f64 + 1.0).ln();
    }
    sum
}

/// Findings of one rule where nothing is to be found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Alarm {
    /// In sound documents.
    pub sound: u64,
    /// In documents with a slip, neither at it nor of what follows from it.
    pub slipped: u64,
    /// The first few of them: the seed of its document and what was said.
    pub examples: Vec<String>,
}

/// Examples that are kept of a rule.
const EXAMPLES: usize = 6;

impl Alarm {
    fn keep(&mut self, told: impl FnOnce() -> String) {
        if self.examples.len() < EXAMPLES {
            self.examples.push(told());
        }
    }
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// How it was asked for.
    pub plan: Plan,
    /// Every kind of slip.
    pub slips: Vec<Recall>,
    /// Wrong findings of nothing, by rule.
    pub wrong: BTreeMap<&'static str, Alarm>,
    /// Ambiguous ones, by rule: of real outputs most of them are true.
    pub ambiguous: BTreeMap<&'static str, Alarm>,
    /// Sound documents with a wrong finding.
    pub alarmed: u64,
    /// Sound documents by kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Figures in sound documents that were held against others, and how many there are.
    pub checked: [u64; 2],
}

impl Measured {
    /// Whether every bound holds: no wrong finding in a sound document, every slip found as often as stated.
    pub fn holds(&self) -> bool {
        self.alarmed == 0 && self.slips.iter().all(Recall::holds)
    }
}

/// How far the seeds of plans lie apart, so that those of their documents do not meet, and those of each slip in them.
const PLANS: u64 = 1_000_000_000;
const APART: u64 = 10_000_000;

/// Measures.
pub fn measure(plan: Plan) -> Measured {
    measure_until(plan, &|| true).unwrap_or_else(|| empty(plan))
}

fn empty(plan: Plan) -> Measured {
    Measured {
        plan,
        slips: Vec::new(),
        wrong: BTreeMap::new(),
        ambiguous: BTreeMap::new(),
        alarmed: 0,
        kinds: BTreeMap::new(),
        checked: [0; 2],
    }
}

/// The same; `goes_on` is asked behind every document, `None` where it says no.
pub fn measure_until(plan: Plan, goes_on: &dyn Fn() -> bool) -> Option<Measured> {
    let mut measured = empty(plan);
    let from = plan.seed.wrapping_mul(PLANS);
    for at in 0..plan.sound {
        sound(&mut measured, from.wrapping_add(at));
        if !goes_on() {
            return None;
        }
    }
    let slips: Vec<&Slip> = slips::all().collect();
    for (at, slip) in slips.iter().enumerate() {
        let share =
            plan.slipped / slips.len() as u64 + u64::from((at as u64) < plan.slipped % slips.len() as u64);
        let recall = recall(slip, share, from.wrapping_add(APART * (at as u64 + 1)), &mut measured, goes_on)?;
        measured.slips.push(recall);
    }
    Some(measured)
}

fn audited(written: &Written) -> Vec<Audited> {
    container::pages("page.md", written.text.clone().into_bytes()).into_iter().map(audit).collect()
}

/// A finding without its page.
#[derive(Clone, Debug)]
struct Told {
    rule: &'static str,
    severity: Severity,
    line: u32,
    operands: Vec<u32>,
    message: String,
}

fn told(audited: &[Audited]) -> Vec<Told> {
    let of_page = |one: &Audited| {
        let number = |spot: crate::page::Spot| one.page.number(spot.index());
        let told = one.findings.iter().map(|finding| Told {
            rule: finding.rule,
            severity: finding.severity,
            line: number(finding.spot),
            operands: finding.operands.iter().map(|spot| number(*spot)).collect(),
            message: format!("line {} {}: {}", number(finding.spot), finding.rule, finding.message),
        });
        told.collect::<Vec<_>>()
    };
    audited.iter().flat_map(of_page).collect()
}

fn sound(measured: &mut Measured, seed: u64) {
    let draft = pages::sound(seed, &Kind::ALL);
    *measured.kinds.entry(draft.kind.word()).or_default() += 1;
    let audited = audited(&draft.written());
    for claim in audited.iter().flat_map(|one| &one.claims) {
        let held = claim.status != crate::claim::Status::CannotBeChecked;
        measured.checked[0] += u64::from(held);
        measured.checked[1] += 1;
    }
    let mut alarmed = false;
    for told in told(&audited) {
        alarmed |= told.severity <= Severity::WrongFigure;
        if let Some(alarm) = alarm(measured, &told) {
            alarm.sound += 1;
            alarm.keep(|| format!("seed {seed} ({}): {}", draft.kind.word(), told.message));
        }
    }
    measured.alarmed += u64::from(alarmed);
}

fn alarm<'a>(measured: &'a mut Measured, told: &Told) -> Option<&'a mut Alarm> {
    let of = match told.severity {
        Severity::WrongConclusion | Severity::WrongFigure => &mut measured.wrong,
        Severity::Ambiguous => &mut measured.ambiguous,
        Severity::Cosmetic => return None,
    };
    Some(of.entry(told.rule).or_default())
}

/// A document with one slip.
pub struct Slipped {
    /// The document.
    pub written: Written,
    /// Its kind.
    pub kind: Kind,
    /// The lines that count as its place; all of them where the page as a whole is meant.
    pub lines: Option<BTreeSet<u32>>,
    /// What a sound one's audit finds in the same document.
    pub sound: Draft,
}

/// Documents that are tried until one has what a slip needs.
const TRIED: u64 = 400;

/// The first document from a seed on that can have a slip, with it; and its seed.
pub fn slipped(slip: &Slip, from: u64) -> Option<(u64, Slipped)> {
    (0..TRIED).find_map(|more| {
        let seed = from.wrapping_add(more);
        let sound = pages::sound(seed, slip.kinds);
        let mut draft = sound.clone();
        let targets = (slip.inject)(&mut draft, &mut Random::new(!seed))?;
        let written = draft.written();
        let lines = targets.iter().map(|target| written.line(*target)).collect();
        Some((seed, Slipped { written, kind: draft.kind, lines: page_or(&targets, lines), sound }))
    })
}

fn page_or(targets: &[Target], lines: Option<BTreeSet<u32>>) -> Option<BTreeSet<u32>> {
    if targets.contains(&Target::Page) { None } else { lines }
}

fn recall(
    slip: &'static Slip,
    documents: u64,
    from: u64,
    measured: &mut Measured,
    goes_on: &dyn Fn() -> bool,
) -> Option<Recall> {
    let mut recall = Recall {
        slip: slip.name,
        help: slip.help,
        rules: slip.rules,
        documents: 0,
        found: 0,
        bound: slip.bound,
        by: BTreeMap::new(),
        missed: None,
    };
    for at in 0..documents {
        let Some((seed, slipped)) = slipped(slip, from.wrapping_add(at * TRIED)) else { continue };
        recall.documents += 1;
        let found = told(&audited(&slipped.written));
        let at_it = |one: &&Told| slipped.lines.as_ref().is_none_or(|lines| lines.contains(&one.line));
        // What the sound document has too is no find.
        let before = told(&audited(&slipped.sound.written()));
        let told_before = |one: &&Told, old: &Told| old.rule == one.rule && old.line == one.line;
        let new = |one: &&Told| !before.iter().any(|old| told_before(one, old));
        let other =
            |one: &&Told| !before.iter().any(|old| told_before(one, old) && old.message == one.message);
        let hits: BTreeSet<&'static str> = found
            .iter()
            .filter(|one| slip.rules.contains(&one.rule))
            .filter(at_it)
            .filter(other)
            .map(|one| one.rule)
            .collect();
        recall.found += u64::from(!hits.is_empty());
        hits.iter().for_each(|rule| *recall.by.entry(rule).or_default() += 1);
        if hits.is_empty() {
            recall.missed.get_or_insert(seed);
        }
        for stray in strays(&found, slipped.lines.as_ref()).into_iter().filter(new) {
            if let Some(alarm) = alarm(measured, stray) {
                alarm.slipped += 1;
                let kind = slipped.kind.word();
                alarm.keep(|| format!("slip \"{}\", seed {seed} ({kind}): {}", slip.name, stray.message));
            }
        }
        if !goes_on() {
            return None;
        }
    }
    Some(recall)
}

/// Findings that are neither at the slip nor follow from it by their operands.
fn strays<'a>(found: &'a [Told], lines: Option<&BTreeSet<u32>>) -> Vec<&'a Told> {
    let Some(lines) = lines else { return Vec::new() };
    let mut reached = lines.clone();
    let mut left: Vec<&Told> = found.iter().collect();
    loop {
        let (near, far): (Vec<&Told>, Vec<&Told>) = left.into_iter().partition(|one| {
            reached.contains(&one.line) || one.operands.iter().any(|line| reached.contains(line))
        });
        left = far;
        if near.is_empty() {
            return left;
        }
        reached.extend(near.iter().map(|one| one.line));
    }
}

#[cfg(test)]
mod tests {
    use super::at_most;

    #[test]
    fn few_documents_may_fall_short_by_chance() {
        assert!((at_most(0, 1, 0.95) - 0.05).abs() < 1e-12);
        assert!((at_most(1, 2, 0.5) - 0.75).abs() < 1e-12);
        assert!((at_most(8, 8, 0.9) - 1.0).abs() < 1e-12);
        assert!(at_most(4, 8, 0.95) < 1e-3 && at_most(6, 8, 0.95) > 1e-2);
    }
}
