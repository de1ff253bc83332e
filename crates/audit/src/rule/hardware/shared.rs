//! P4: two systems that run into the same ceiling.

use super::Hardware;
use super::link::{BOUND, on_drive_link, under};
use super::load::Load;
use super::measured::{Measured, Origin};
use crate::finding::{Finding, Severity};
use crate::knowledge::mentions::Word;
use crate::knowledge::rate_text;
use crate::number::{Quantity, Unit, quantities};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// P4.
pub const RULE: Rule = Rule {
    id: "P4",
    name: "two systems at one ceiling are not compared",
    severity: Severity::WrongConclusion,
    holds: "figures of one load on two systems that differ by at most 2 % and are both at 95 % or more of the link that they share, or of \
            the limit that the page states; wrong-conclusion where a sentence has their ratio, else ambiguous",
    silent: "where no link of that path is named in full, or several; where the loads are not told alike",
    check,
};

/// Systems that differ by less are alike.
const ALIKE: f64 = 0.02;
/// Longer lines are no sentences.
const LONGEST: usize = 4000;
/// More pairs than that are no comparison that anybody reads.
const MOST: usize = 400;

/// A ceiling of some figures.
struct Ceiling<'a> {
    words: String,
    rate: f64,
    spot: Spot,
    figures: Vec<&'a Measured>,
}

fn check(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let mut told: Vec<Spot> = Vec::new();
    let percentages = percentages(&hardware, evidence);
    for ceiling in ceilings(&hardware, evidence) {
        for (one, other) in pairs(&ceiling, evidence) {
            if told.contains(&one.spot) {
                continue;
            }
            told.push(one.spot);
            sink.finds(finding(&percentages, &ceiling, one, other));
        }
    }
}

fn ceilings<'a>(hardware: &'a Hardware, evidence: &Evidence) -> Vec<Ceiling<'a>> {
    let mut all: Vec<Ceiling> = hardware
        .mentions
        .limits
        .iter()
        .map(|limit| Ceiling {
            words: format!("the limit that the page states, {}", evidence.page.quote(limit.spot)),
            rate: limit.rate.low,
            spot: limit.spot,
            figures: under(hardware, limit),
        })
        .collect();
    if let Some((link, spot)) = hardware.mentions.only_drive_link() {
        let figures = hardware.measured.iter().filter(|one| on_drive_link(hardware, one)).collect();
        all.push(Ceiling { words: link.name(), rate: link.rate().practical.middle(), spot, figures });
    }
    let mut networks = hardware.mentions.links.iter().filter(|named| named.is_network());
    let first = networks.next().filter(|first| {
        first.count == 1
            && networks.all(|other| other.link == first.link)
            && !hardware.mentions.has(Word::Bonded)
    });
    if let Some((first, link)) = first.and_then(|first| Some((first, first.link?))) {
        let figures = hardware.measured.iter().filter(|one| one.says(Word::Fabric)).collect();
        all.push(Ceiling {
            words: link.name(),
            rate: link.rate().practical.middle(),
            spot: first.spot,
            figures,
        });
    }
    all
}

/// Figures of the same load on what the page compares: in a row of a table, in two outputs, or in two tables of the same form.
fn pairs<'a>(ceiling: &Ceiling<'a>, evidence: &Evidence) -> Vec<(&'a Measured, &'a Measured)> {
    let bound = |one: &Measured| one.one_way().is_some_and(|rate| rate.low >= BOUND * ceiling.rate);
    let high: Vec<&Measured> =
        ceiling.figures.iter().filter(|one| one.bandwidth.is_some() && bound(one)).copied().collect();
    if high.len() > MOST {
        return Vec::new();
    }
    let mut pairs = Vec::new();
    for (at, one) in high.iter().enumerate() {
        let mut others =
            high[at + 1..].iter().filter(|other| alike(one, other) && compared(evidence, one, other));
        if let Some(other) = others.next() {
            pairs.push((*one, *other));
        }
    }
    pairs
}

fn alike(one: &Measured, other: &Measured) -> bool {
    let (Some(left), Some(right)) = (one.bandwidth, other.bandwidth) else { return false };
    let difference = (left.low / right.low - 1.0).abs();
    one.load == other.load && one.load.way.is_some() && difference <= ALIKE
}

fn compared(evidence: &Evidence, one: &Measured, other: &Measured) -> bool {
    match (one.origin, other.origin) {
        (Origin::Output(left), Origin::Output(right)) => left != right,
        (Origin::Cell(left, row, column), Origin::Cell(right, other_row, other_column)) if left == right => {
            row == other_row && column != other_column
        }
        (Origin::Cell(left, row, column), Origin::Cell(right, other_row, other_column)) => {
            let [left, right] = [left, right].map(|at| &evidence.tables[at]);
            let label =
                left.rows[row].label == right.rows[other_row].label && !left.rows[row].label.is_empty();
            label && column == other_column && left.columns.len() == right.columns.len()
        }
        _ => false,
    }
}

fn finding(percentages: &[Quantity], ceiling: &Ceiling, one: &Measured, other: &Measured) -> Finding {
    let rates = [one, other].map(Measured::told_bytes);
    let ratio = 100.0 * rates[0].min(rates[1]) / rates[0].max(rates[1]);
    let concluded = percentages.iter().find(|one| one.interval().has(ratio)).map(|one| one.figure.spot);
    let severity = if concluded.is_some() { Severity::WrongConclusion } else { Severity::Ambiguous };
    let message = format!(
        "{} and {} are both at {}: the ratio of {ratio:.1} % compares the ceiling with itself, not the systems",
        rate_text(rates[0]),
        rate_text(rates[1]),
        ceiling.words
    );
    let ways = [one, other].map(Measured::told_one_way);
    let shares = ways.map(|rate| format!("{:.0} %", 100.0 * rate / ceiling.rate));
    let arithmetic = format!("one way {} and {} of {}", shares[0], shares[1], rate_text(ceiling.rate));
    let spots = [Some(other.spot), Some(ceiling.spot), concluded];
    Finding::new("P4", severity, one.spot, message).by(arithmetic).against(spots.into_iter().flatten())
}

/// A percentage of a sentence about reads or writes.
fn percentages(hardware: &Hardware, evidence: &Evidence) -> Vec<Quantity> {
    let lines = hardware.prose(evidence, LONGEST).filter(|at| evidence.page.line(*at).contains(['%', '％']));
    let of_line = |at: usize| -> Vec<Quantity> {
        let text = evidence.page.line(at);
        match Load::read(text).way {
            Some(_) => quantities(at, text).into_iter().filter(|one| one.unit == Unit::Percent).collect(),
            None => Vec::new(),
        }
    };
    lines.flat_map(of_line).filter(|one| one.figure.value > 80.0).collect()
}
