//! `about 10 %`, `half`: S2, of the cells that the sentence speaks of.

use super::{names_one, scope, spot};
use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::link::{Form, Link};
use crate::number::{Hedge, Interval, Unit};
use crate::prose::{Clause, Manner, topic};
use crate::rule::{Evidence, Rule, Sink};

/// S2.
pub const ABOUT: Rule = Rule {
    id: "S2",
    name: "\"about x %\" and \"half\" describe the cells that they speak of",
    severity: Severity::WrongConclusion,
    holds: "a loss of about x % is between none and twice x, half is 40 to 60 %, in at least half of the cells",
    silent: "unless cells are linked to a base that the sentence names, the sentence says which of them it means, and they are at \
             least four",
    check: about,
};

fn about(evidence: &Evidence, sink: &mut Sink) {
    for clause in evidence.clauses {
        let Some((range, said)) = claimed(clause) else { continue };
        let cells = cells(evidence, clause);
        if cells.len() < 4 {
            continue;
        }
        judge(clause, range, said, &cells, sink);
    }
}

/// Which shares of the base a clause claims, in percent.
fn claimed(clause: &Clause) -> Option<(Interval, &'static str)> {
    let mut percents = clause.percents();
    match (clause.manner, percents.next(), percents.next()) {
        (Manner::Half, None, _) => Some((Interval { low: 40.0, high: 60.0 }, "half of the base")),
        (Manner::Loss, Some(loss), None) if loss.hedge == Hedge::About => Some((
            Interval { low: 100.0 - 2.0 * loss.figure.value, high: 100.0 },
            "about so much less than the base",
        )),
        _ => None,
    }
}

/// The shares that a clause speaks of: of a base that its sentence names, of its topics, in the nearest table before it or behind.
fn cells<'a>(evidence: &Evidence<'a>, clause: &Clause) -> Vec<&'a Link> {
    let topics = scope(evidence.page, clause);
    if topics.is_empty() {
        return Vec::new();
    }
    let sentence = clause.sentence(evidence.page);
    let of_table = |link: &Link| {
        let line = link.derived.figure.spot.index();
        evidence.tables.iter().position(|table| table.lines.contains(&line))
    };
    let about = |link: &&Link| {
        let about = topic(&link.of);
        let named = names_one(sentence, &[link.names[1].clone(), link.names[0].clone()]);
        link.form == Form::Share
            && link.derived.unit == Unit::Percent
            && named
            && topics.iter().any(|topic| topic.covers(&about))
    };
    // Conclusions stand behind their table.
    let table = evidence
        .links
        .iter()
        .filter(about)
        .filter_map(of_table)
        .filter(|at| evidence.tables[*at].lines.start < clause.line)
        .max();
    evidence.links.iter().filter(about).filter(|link| of_table(link) == table && table.is_some()).collect()
}

fn judge(clause: &Clause, range: Interval, said: &str, cells: &[&Link], sink: &mut Sink) {
    let meant = |link: &&&Link| link.derived.interval().meets(range);
    let inside = cells.iter().filter(meant).count();
    if 2 * inside >= cells.len() {
        if let Some(figure) = clause.figures.first() {
            sink.checks.push((figure.figure.spot, Status::Plausible, "S2"));
        }
        return;
    }
    let values = || cells.iter().map(|link| link.derived.figure.value);
    let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let message = format!(
        "{inside} of the {} cells that this speaks of are {said}: they are {low} % to {high} % of it",
        cells.len()
    );
    let spots: Vec<_> = cells.iter().map(|link| link.derived.figure.spot).collect();
    sink.finds(Finding::new("S2", Severity::WrongConclusion, spot(clause), message).against(spots));
}

#[cfg(test)]
mod tests;
