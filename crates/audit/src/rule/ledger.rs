//! Relations between one output's figures, each checked within its rounding. If some fail, the
//! figure that the fewest relations confirm is reported: two figures that agree with each other and
//! not with a third are not blamed.

use crate::evidence::EvidenceSink;
use crate::finding::{Finding, Severity, Slip};
pub(super) use crate::import::sheet::{NamedFigure, make_named_figure};
use crate::number::{Interval, PrintedNumber, leading};
use crate::page::{AuditedPage, TextSpan};
use crate::slip;
use std::collections::{HashMap, HashSet};

/// Figures of a relation, the target first, each with the value that the others give.
type RelationFigures = Vec<(NamedFigure, Interval)>;

pub(super) struct Ledger<'a> {
    page: &'a AuditedPage,
    rule: &'static str,
    /// Relations that do not hold, with their arithmetic.
    failed: Vec<(RelationFigures, String)>,
    held: Vec<PrintedNumber>,
    bounded: Vec<PrintedNumber>,
}

/// Relative uncertainty of binary floating point; no printed figure has that many digits.
const ROUNDING: f64 = 1e-12;
/// Value of an operand that cannot be computed from the other figures.
const UNKNOWN: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
/// Largest number of operands that a finding shows.
const MOST_OPERANDS: usize = 8;
const MOST_WORDS: usize = 4;

impl<'a> Ledger<'a> {
    pub fn new(page: &'a AuditedPage, rule: &'static str) -> Ledger<'a> {
        Ledger { page, rule, failed: Vec::new(), held: Vec::new(), bounded: Vec::new() }
    }

    /// Checks that `target = factor * block * product of operands to their powers (1 or -1)`, up to
    /// a relative error of `slack`. Makes no statement if an operand may be a zero divisor or a
    /// figure is negative.
    pub fn product(
        &mut self,
        target: NamedFigure,
        factor: f64,
        block: f64,
        operands: &[(NamedFigure, i32)],
        slack: f64,
    ) {
        let own = target.figure.interval();
        let given = product(factor * block, operands, None);
        let Some(given) = given else { return };
        if own.low < -0.5 || operands.iter().any(|(operand, _)| operand.figure.value < 0.0) {
            return;
        }
        let turned = |at: usize, power: i32| {
            let rest = product(factor * block, operands, Some(at))?.wider(slack + ROUNDING);
            if power == 1 { own.ratio_to(rest) } else { rest.ratio_to(own) }
        };
        let mut said = vec![(target, given.wider(slack + ROUNDING))];
        let others = operands.iter().enumerate();
        said.extend(
            others.filter_map(|(at, (operand, power))| Some((*operand, turned(at, *power)?))),
        );
        self.record_relation(said, true, |page| {
            let sign = |at, power| match (at, power) {
                (0, 1) => "",
                (0, _) => "1 / ",
                (_, 1) => " * ",
                _ => " / ",
            };
            let texts = operands.iter().enumerate();
            let text: String = texts
                .map(|(at, (one, power))| {
                    sign(at, *power).to_owned() + &printed_with_unit(page, *one)
                })
                .collect();
            let block = if block == 1.0 { String::new() } else { format!("{block} B * ") };
            format!("{block}{text} = {}", as_printed(page, target, given))
        });
    }

    /// Checks that `target = sum of operands`, up to a relative error of `slack`.
    pub fn sum(&mut self, target: NamedFigure, operands: &[NamedFigure], slack: f64) {
        if operands.is_empty() {
            return;
        }
        let zero = Interval::exact(0.0);
        let total = operands.iter().fold(zero, |sum, one| sum.sum_with(one.figure.interval()));
        let wanted = target.figure.interval().wider(slack + ROUNDING);
        let mut said = vec![(target, total.wider(slack + ROUNDING))];
        said.extend(operands.iter().map(|operand| {
            let PrintedNumber { low, high, .. } = operand.figure;
            let rest = Interval { low: total.low - low, high: total.high - high };
            (*operand, Interval { low: wanted.low - rest.high, high: wanted.high - rest.low })
        }));
        self.record_relation(said, true, |page| {
            let mut words: Vec<String> =
                operands.iter().take(MOST_WORDS).map(|one| printed_with_unit(page, *one)).collect();
            words.extend((operands.len() > MOST_WORDS).then(|| "...".to_owned()));
            format!("{} = {}", words.join(" + "), as_printed(page, target, total))
        });
    }

    /// Checks that a figure lies within bounds, which makes it plausible at best. `from` are the
    /// figures that give the bounds, `by` returns the arithmetic.
    pub fn check_bounds(
        &mut self,
        target: NamedFigure,
        bounds: Interval,
        from: &[NamedFigure],
        by: impl FnOnce() -> String,
    ) {
        let from = from.iter().map(|operand| (*operand, UNKNOWN));
        let said = std::iter::once((target, bounds.wider(ROUNDING))).chain(from).collect();
        self.record_relation(said, false, |_| by());
    }

    fn record_relation(
        &mut self,
        said: RelationFigures,
        exact: bool,
        arithmetic: impl FnOnce(&AuditedPage) -> String,
    ) {
        let (target, expected) = said[0];
        match expected.overlaps_with(target.figure.interval()) {
            true if exact => self.held.extend(said.iter().map(|(one, _)| one.figure)),
            true => self.bounded.push(target.figure),
            false => self.failed.push((said, arithmetic(self.page))),
        }
    }

    /// Checks that no figure is below the one before it by more than the share `slack` of that.
    pub fn rising(&mut self, figures: &[NamedFigure], slack: f64) {
        for (at, pair) in figures.windows(2).enumerate() {
            let (below, above) = (pair[0], pair[1]);
            if below.figure.low * (1.0 - slack) <= above.figure.high {
                self.bounded.extend([below.figure, above.figure]);
                continue;
            }
            // The figure that is out of line with its other neighbour too is the wrong one.
            let said =
                match figures.get(at + 2).is_none_or(|next| below.figure.low <= next.figure.high) {
                    true => (above, Interval { low: below.figure.low, ..UNKNOWN }),
                    false => (below, Interval { high: above.figure.high, ..UNKNOWN }),
                };
            let [left, right] = [below, above]
                .map(|one| format!("{} = {}", one.name, printed_with_unit(self.page, one)));
            self.failed.push((vec![said], format!("{left} > {right}")));
        }
    }

    /// Reports which figures hold and which do not.
    pub fn report_figures(self, sink: &mut EvidenceSink) {
        // Votes against a figure: the failed relations with it minus those that hold.
        let mut votes: HashMap<TextSpan, i64> = HashMap::new();
        if !self.failed.is_empty() {
            self.held.iter().for_each(|figure| *votes.entry(figure.spot).or_default() -= 1);
        }
        for (named, _) in self.failed.iter().flat_map(|(said, _)| said) {
            *votes.entry(named.figure.spot).or_default() += 1;
        }
        let mut blamed_spots: HashSet<TextSpan> = HashSet::new();
        for (said, arithmetic) in &self.failed {
            let blamed = self.blamed(said, &votes);
            if blamed_spots.insert(said[blamed].0.figure.spot) {
                sink.add_finding(self.finding(said, blamed).with_arithmetic(arithmetic.clone()));
            }
        }
        let fine = |figure: &&PrintedNumber| !blamed_spots.contains(&figure.spot);
        self.held.iter().filter(fine).for_each(|figure| sink.mark_holding(self.rule, figure));
        self.bounded.iter().filter(fine).for_each(|figure| sink.plausible(self.rule, figure));
    }

    /// Returns the index of the figure to blame for a failed relation: the one with the most failed
    /// relations, less those that hold. If several have as many, it is the target.
    fn blamed(&self, said: &RelationFigures, votes: &HashMap<TextSpan, i64>) -> usize {
        let score = |at: usize| votes.get(&said[at].0.figure.spot).copied().unwrap_or_default();
        let mut best = 0;
        for (at, (named, expected)) in said.iter().enumerate().skip(1) {
            // A figure that would be printed the same is not the wrong one.
            if score(at) > score(best)
                && as_printed(self.page, *named, *expected) != printed_with_unit(self.page, *named)
            {
                best = at;
            }
        }
        best
    }

    fn finding(&self, said: &RelationFigures, blamed: usize) -> Finding {
        let (named, expected) = said[blamed];
        let (printed, recomputed) =
            (printed_with_unit(self.page, named), as_printed(self.page, named, expected));
        let others =
            || said.iter().enumerate().filter(|(at, _)| *at != blamed).map(|(_, (named, _))| named);
        let slip = slip(&named.figure, expected);
        let severity =
            if slip == Some(Slip::Truncated) { Severity::Cosmetic } else { Severity::WrongFigure };
        let (name, from) = (named.name, join_names(others()));
        let message = match (recomputed.is_empty(), from.is_empty()) {
            (false, false) => format!("{name} is {recomputed} by {from}, not {printed}"),
            (true, false) => format!("{name} is {printed}, which does not agree with {from}"),
            _ => format!("{name} is {printed}, which cannot be"),
        };
        let finding =
            Finding::new(self.rule, severity, named.figure.spot, message).recomputed(recomputed);
        let finding = finding.against(others().take(MOST_OPERANDS).map(|other| other.figure.spot));
        Finding { printed, slip, ..finding }
    }
}

/// Returns a figure as printed, with its unit.
fn printed_with_unit(page: &AuditedPage, named: NamedFigure) -> String {
    with_unit(page.quote(named.figure.spot), named.unit)
}

/// Returns the correct value of a figure in its printed digits and unit; empty if it is unknown.
fn as_printed(page: &AuditedPage, named: NamedFigure, expected: Interval) -> String {
    let (middle, quote) = (expected.middle(), page.quote(named.figure.spot));
    let dotted = quote.replace(',', ".");
    let Some((value, _, decimals)) = leading(&dotted).filter(|(value, ..)| *value != 0.0) else {
        let digits = with_unit(&format!("{middle:.2}"), named.unit);
        return if middle.is_finite() { digits } else { String::new() };
    };
    let scale = named.figure.value / value;
    if !middle.is_finite() || scale == 0.0 || dotted.contains(['m', 'h']) {
        return String::new();
    }
    let digits = match dotted.contains(['e', 'E']) {
        true => format!("{:.decimals$e}", middle / scale),
        false => format!("{:.decimals$}", middle / scale),
    };
    with_unit(&if quote.contains(',') { digits.replace('.', ",") } else { digits }, named.unit)
}

fn join_names<'a>(others: impl Iterator<Item = &'a NamedFigure>) -> String {
    let mut names: Vec<&str> = Vec::new();
    others.for_each(|other| {
        if !names.contains(&other.name) {
            names.push(other.name);
        }
    });
    match names.as_slice() {
        [head @ .., last] if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        names => names.concat(),
    }
}

fn with_unit(digits: &str, unit: &str) -> String {
    let blank = if unit.is_empty() || unit == "%" { "" } else { " " };
    format!("{digits}{blank}{unit}")
}

/// Returns `factor` times all operands, to their powers, except the one at `but`. `None` if a
/// divisor may be zero.
fn product(factor: f64, operands: &[(NamedFigure, i32)], but: Option<usize>) -> Option<Interval> {
    let mut all = Interval::exact(factor);
    for (_, (operand, power)) in operands.iter().enumerate().filter(|(at, _)| Some(*at) != but) {
        let PrintedNumber { low, high, .. } = operand.figure;
        let one = Interval { low: low.max(0.0), high: high.max(0.0) };
        all = if *power == 1 { all.product_with(one) } else { all.ratio_to(one)? };
    }
    Some(all)
}

/// Returns the most likely slip of a figure that should be in `expected`.
fn slip(figure: &PrintedNumber, expected: Interval) -> Option<Slip> {
    if expected.low <= 0.0 || !expected.high.is_finite() {
        return None;
    }
    let cut = Interval { low: figure.value, high: figure.value + (figure.high - figure.low) };
    match expected.overlaps_with(cut) {
        true => Some(Slip::Truncated),
        false => slip::find_slip(figure.interval(), expected)
            .filter(|_| expected.high / expected.low < 1.5),
    }
}
