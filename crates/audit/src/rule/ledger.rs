//! How one output's figures hang together: each relation is held in its rounding intervals, and where one fails, the figure
//! that no relation bears out is the one that is told. What is printed in two places and disagrees with a third is not blamed.

use super::{Evidence, Sink};
use crate::finding::{Finding, Severity, Slip};
use crate::import::sheet::Sheet;
pub(super) use crate::import::sheet::{Named, named};
use crate::number::{Figure, Interval, leading};
use crate::page::{Page, Spot};
use std::collections::{HashMap, HashSet};

/// A relation that does not hold: what the other figures give for each of its figures, the target first.
struct Relation {
    said: Vec<(Named, Interval)>,
    arithmetic: String,
}

/// The relations of one output.
pub(super) struct Ledger<'a> {
    page: &'a Page,
    rule: &'static str,
    relations: Vec<Relation>,
    /// Figures of relations that hold, which need nothing told of them: kept apart since they are most.
    held: Vec<Figure>,
    /// Figures that lie within bounds.
    bounded: Vec<Figure>,
}

/// What rounding to binary leaves open: nothing that is printed has as many digits.
const ROUNDING: f64 = 1e-12;

/// What an arithmetic that cannot be turned round gives for its operands.
const UNKNOWN: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

impl<'a> Ledger<'a> {
    /// A ledger of no relation yet.
    pub(super) fn new(page: &'a Page, rule: &'static str) -> Ledger<'a> {
        Ledger { page, rule, relations: Vec::new(), held: Vec::new(), bounded: Vec::new() }
    }

    /// Holds that `target = factor * product of operands to their powers (1 or -1)`, give or take the share `slack`. Operands
    /// that may be zero where they divide, and figures below zero, make it say nothing.
    pub(super) fn product(&mut self, target: Named, factor: f64, operands: &[(Named, i32)], slack: f64) {
        let Some(given) = product(factor, operands, None) else { return };
        let expected = given.wider(slack + ROUNDING);
        let own = target.figure.interval();
        if own.low < -0.5 || operands.iter().any(|(operand, _)| operand.figure.value < 0.0) {
            return;
        }
        if expected.meets(own) {
            return self.bears_out(target, operands.iter().map(|(operand, _)| *operand));
        }
        let turned = operands.iter().enumerate().filter_map(|(at, (operand, power))| {
            let rest = product(factor, operands, Some(at))?.wider(slack + ROUNDING);
            Some((*operand, if *power == 1 { own.over(rest)? } else { rest.over(own)? }))
        });
        let said = std::iter::once((target, expected)).chain(turned).collect();
        let sign = |at, power| match (at, power) {
            (0, 1) => "",
            (0, _) => "1 / ",
            (_, 1) => " * ",
            _ => " / ",
        };
        let texts = operands.iter().enumerate();
        let text: String =
            texts.map(|(at, (one, power))| sign(at, *power).to_owned() + &self.text(*one)).collect();
        let arithmetic = format!("{text} = {}", self.as_printed(target, expected));
        self.relations.push(Relation { said, arithmetic });
    }

    /// Holds that `target = sum of operands`, give or take the share `slack` of the sum.
    pub(super) fn sum(&mut self, target: Named, operands: &[Named], slack: f64) {
        if operands.is_empty() {
            return;
        }
        let zero = Interval::exact(0.0);
        let total = operands.iter().fold(zero, |sum, one| sum.plus(one.figure.interval()));
        let expected = total.wider(slack + ROUNDING);
        if expected.meets(target.figure.interval()) {
            return self.bears_out(target, operands.iter().copied());
        }
        let wanted = target.figure.interval().wider(slack + ROUNDING);
        let turned = operands.iter().map(|operand| {
            let own = operand.figure.interval();
            let (low, high) = (wanted.low - (total.high - own.high), wanted.high - (total.low - own.low));
            (*operand, Interval { low, high })
        });
        let said = std::iter::once((target, expected)).chain(turned).collect();
        const SHOWN: usize = 4;
        let mut text: Vec<String> = operands.iter().take(SHOWN).map(|one| self.text(*one)).collect();
        text.extend((operands.len() > SHOWN).then(|| "...".to_owned()));
        let arithmetic = format!("{} = {}", text.join(" + "), self.as_printed(target, expected));
        self.relations.push(Relation { said, arithmetic });
    }

    /// Holds a figure against what its operands give by an arithmetic that cannot be turned round.
    pub(super) fn given(
        &mut self,
        target: Named,
        expected: Interval,
        operands: &[Named],
        arithmetic: impl FnOnce() -> String,
    ) {
        if self.meets(target, expected, operands, arithmetic) {
            self.bears_out(target, operands.iter().copied());
        }
    }

    /// Holds that a figure lies within bounds: that it does makes it plausible, no more.
    pub(super) fn within(
        &mut self,
        target: Named,
        bounds: Interval,
        operands: &[Named],
        arithmetic: impl FnOnce() -> String,
    ) {
        if self.meets(target, bounds, operands, arithmetic) {
            self.bounded.push(target.figure);
        }
    }

    fn meets(
        &mut self,
        target: Named,
        expected: Interval,
        operands: &[Named],
        arithmetic: impl FnOnce() -> String,
    ) -> bool {
        let meets = expected.wider(ROUNDING).meets(target.figure.interval());
        if !meets {
            let others = operands.iter().map(|operand| (*operand, UNKNOWN));
            let said = std::iter::once((target, expected)).chain(others).collect();
            self.relations.push(Relation { said, arithmetic: arithmetic() });
        }
        meets
    }

    /// Holds that figures do not fall, give or take the share `slack`.
    pub(super) fn rising(&mut self, figures: &[Named], slack: f64) {
        for (at, pair) in figures.windows(2).enumerate() {
            let (below, above) = (pair[0], pair[1]);
            if below.figure.low * (1.0 - slack) <= above.figure.high {
                self.bounded.extend([below.figure, above.figure]);
                continue;
            }
            // The one that is out of line with its other neighbour as well is the wrong one.
            let fits = |one: &Named, next: Option<&Named>| {
                next.is_none_or(|next| one.figure.low <= next.figure.high)
            };
            let below_fits = fits(&below, figures.get(at + 2));
            let (wrong, other) = if below_fits { (above, below) } else { (below, above) };
            let bound = other.figure.interval();
            let expected = if below_fits {
                Interval { low: bound.low, ..UNKNOWN }
            } else {
                Interval { high: bound.high, ..UNKNOWN }
            };
            let arithmetic =
                format!("{} = {} > {} = {}", below.name, self.text(below), above.name, self.text(above));
            self.relations.push(Relation { said: vec![(wrong, expected)], arithmetic });
        }
    }

    fn bears_out(&mut self, target: Named, operands: impl Iterator<Item = Named>) {
        self.held.push(target.figure);
        self.held.extend(operands.map(|operand| operand.figure));
    }

    /// Tells what holds and what does not.
    pub(super) fn settle(self, sink: &mut Sink) {
        if self.relations.is_empty() {
            self.held.iter().for_each(|figure| sink.holds(self.rule, figure));
            self.bounded.iter().for_each(|figure| sink.plausible(self.rule, figure));
            return;
        }
        let mut votes: HashMap<Spot, (usize, usize)> = HashMap::new();
        for figure in &self.held {
            votes.entry(figure.spot).or_default().0 += 1;
        }
        for (named, _) in self.relations.iter().flat_map(|one| &one.said) {
            votes.entry(named.figure.spot).or_default().1 += 1;
        }
        let mut told: HashSet<Spot> = HashSet::new();
        for relation in &self.relations {
            let blamed = self.blamed(relation, &votes);
            if told.insert(relation.said[blamed].0.figure.spot) {
                sink.finds(self.finding(relation, blamed));
            }
        }
        for figure in self.held.iter().filter(|figure| !told.contains(&figure.spot)) {
            sink.holds(self.rule, figure);
        }
        for figure in self.bounded.iter().filter(|figure| !told.contains(&figure.spot)) {
            sink.plausible(self.rule, figure);
        }
    }

    /// The figure of a failed relation that is the wrong one: what fails more often than it holds; the target of equals.
    fn blamed(&self, relation: &Relation, votes: &HashMap<Spot, (usize, usize)>) -> usize {
        let score = |at: usize| {
            let (held, failed) = votes.get(&relation.said[at].0.figure.spot).copied().unwrap_or_default();
            failed as i64 - held as i64
        };
        let mut best = 0;
        for (at, (named, expected)) in relation.said.iter().enumerate().skip(1) {
            // What would be printed the same is not what is wrong.
            if score(at) > score(best) && self.as_printed(*named, *expected) != self.text(*named) {
                best = at;
            }
        }
        best
    }

    fn finding(&self, relation: &Relation, blamed: usize) -> Finding {
        let (named, expected) = relation.said[blamed];
        let (printed, recomputed) = (self.text(named), self.as_printed(named, expected));
        let others = relation.said.iter().enumerate().filter(|(at, _)| *at != blamed);
        let others: Vec<Named> = others.map(|(_, (named, _))| *named).collect();
        let slip = slip(&named.figure, expected);
        let severity = if slip == Some(Slip::Truncated) { Severity::Cosmetic } else { Severity::WrongFigure };
        let (name, from) = (named.name, names(&others));
        let message = match (recomputed.is_empty(), from.is_empty()) {
            (false, false) => format!("{name} is {recomputed} by {from}, not {printed}"),
            (true, false) => format!("{name} is {printed}, which does not agree with {from}"),
            _ => format!("{name} is {printed}, which cannot be"),
        };
        let mut finding = Finding::new(self.rule, severity, named.figure.spot, message)
            .recomputed(recomputed)
            .by(relation.arithmetic.clone())
            .against(others.iter().take(MOST_OPERANDS).map(|other| other.figure.spot));
        (finding.printed, finding.slip) = (printed, slip);
        finding
    }

    /// A figure as it is printed, with its unit.
    fn text(&self, named: Named) -> String {
        with_unit(self.page.quote(named.figure.spot), named.unit)
    }

    /// What it should be, in the digits and the unit that it is printed in; empty where that is open.
    fn as_printed(&self, named: Named, expected: Interval) -> String {
        let middle = expected.middle();
        let quote = self.page.quote(named.figure.spot);
        let comma = quote.contains(',');
        let dotted = quote.replace(',', ".");
        let Some((value, _, decimals)) = leading(&dotted).filter(|(value, _, _)| *value != 0.0) else {
            return if middle.is_finite() {
                with_unit(&format!("{middle:.2}"), named.unit)
            } else {
                String::new()
            };
        };
        let scale = named.figure.value / value;
        if !middle.is_finite() || scale == 0.0 || dotted.contains('m') || dotted.contains('h') {
            return String::new();
        }
        let digits = if dotted.contains(['e', 'E']) {
            format!("{:.decimals$e}", middle / scale)
        } else {
            format!("{:.decimals$}", middle / scale)
        };
        with_unit(&if comma { digits.replace('.', ",") } else { digits }, named.unit)
    }
}

/// More lines than these need not be shown.
const MOST_OPERANDS: usize = 8;

fn names(others: &[Named]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for other in others {
        if !names.contains(&other.name) {
            names.push(other.name);
        }
    }
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [head @ .., last] => format!("{} and {last}", head.join(", ")),
    }
}

fn with_unit(digits: &str, unit: &str) -> String {
    match unit {
        "" => digits.to_owned(),
        "%" => format!("{digits}%"),
        unit => format!("{digits} {unit}"),
    }
}

/// The product of all operands but one.
fn product(factor: f64, operands: &[(Named, i32)], but: Option<usize>) -> Option<Interval> {
    let mut all = Interval::exact(factor);
    for (_, (operand, power)) in operands.iter().enumerate().filter(|(at, _)| Some(*at) != but) {
        let one = operand.figure.interval();
        let one = Interval { low: one.low.max(0.0), high: one.high.max(0.0) };
        all = if *power == 1 { all.times(one) } else { all.over(one)? };
    }
    Some(all)
}

/// Settles the relations of the sheets of a tool's outputs, one output at a time.
pub(super) fn sheets(
    evidence: &Evidence,
    sink: &mut Sink,
    rule: &'static str,
    tool: &str,
    relations: impl Fn(&[Sheet], &mut Ledger),
) {
    for output in evidence.outputs.iter().filter(|output| output.format == tool) {
        let crate::import::Said::Sheets(sheets) = &output.said else { continue };
        let mut ledger = Ledger::new(evidence.page, rule);
        relations(sheets, &mut ledger);
        ledger.settle(sink);
    }
}

/// What most likely happened to a figure that should be in `expected`.
pub(super) fn slip(figure: &Figure, expected: Interval) -> Option<Slip> {
    if !expected.low.is_finite() || !expected.high.is_finite() || expected.low <= 0.0 {
        return None;
    }
    let unit = figure.high - figure.low;
    if expected.meets(Interval { low: figure.value, high: figure.value + unit }) {
        return Some(Slip::Truncated);
    }
    let is = |factor: f64| expected.scaled(factor).wider(1e-9).meets(figure.interval());
    // A figure of few digits meets too much to tell a slip by.
    let told = figure.value > 0.0 && unit / figure.value < 0.02 && (expected.high / expected.low) < 1.02;
    let both = |factors: &[f64]| factors.iter().any(|factor| is(*factor) || is(1.0 / factor));
    match () {
        () if !told => both(&[10.0, 100.0, 1000.0])
            .then_some(Slip::FactorTen)
            .filter(|_| unit / figure.value < 0.2 && expected.high / expected.low < 1.5),
        () if both(&[10.0, 100.0, 1000.0]) => Some(Slip::FactorTen),
        () if both(&[1.024, 1.048_576, 1.073_741_824]) => Some(Slip::ThousandFor1024),
        () if is(0.5) => Some(Slip::Half),
        () => None,
    }
}
