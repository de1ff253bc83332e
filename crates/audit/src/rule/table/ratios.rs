//! Ratios, losses and overheads of tables: T1 with its slips N4 to N7, and N10 where an operand is wrong itself.

use super::like;
use crate::finding::{Finding, Severity, Slip};
use crate::link::Link;
use crate::number::{Hedge, Interval};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink};
use likely::Likely;

mod likely;

/// T1: a ratio is what its operands give.
pub const RATIO: Rule = Rule {
    id: "T1",
    name: "a ratio, loss or overhead is what its operands give",
    severity: Severity::WrongFigure,
    holds: "the intervals of the printed ratio and of its operands meet; what is off is told as N4 (cut off), N6 (a factor of \
            ten), N7 (1000 for 1024, of bytes) where that explains it; ratios of tables, of sentences on two systems of a table, and of \
            sentences that state both ends beside their change; ratios against the one row that is their base (1.00x, 100 %, \
            baseline, or named by the head), and ratios in brackets of the first figure of their row",
    silent: "where structure does not tie a ratio to its operands: fewer than three cells of one form, and no head that names both; of plain numbers (0.660), where the head neither names both nor says \
             ratio, speedup or factor, or more than one cell differs; where operands may have been cut off, of a time whose ratio is turned round \
             among others, since less of it is better; \
             of a sentence, where more than names and words of change stand between the ends and the change, it speaks of settings or of a third, or any reading gives it; of ratios against a base row, where no one row is the base, fewer than three cells tell the form and not every \
             column of figures gives the same, nothing says that percentages are ratios, another column or the ratio turned round gives it, what is \
             hedged, of means, set in steps or part of a total; and of a row of means or totals that has the mean of the ratios above it",
    check: ratio,
};

/// N10: a ratio of a wrong figure.
pub const PROPAGATED: Rule = Rule {
    id: "N10",
    name: "a ratio of a wrong figure is wrong",
    severity: Severity::WrongConclusion,
    holds: "a ratio whose operand an earlier rule corrected is computed again from what was meant",
    silent: "where the corrected ratio still rounds to what is printed",
    check: propagated,
};

/// Decided of one link.
enum Verdict {
    Holds,
    CutOff,
    Off(Interval),
}

/// How much further from nothing one is than what is printed.
fn beyond(value: f64, printed: f64) -> f64 {
    if printed < 0.0 { printed - value } else { value - printed }
}

fn judged(link: &Link) -> Option<Verdict> {
    let recomputed = link.recomputed()?;
    let printed = link.derived.interval();
    if recomputed.meets(printed) {
        let digit = printed.high - printed.low;
        // Cut off: its digits are those of the ratio, but the next would have rounded away from nothing.
        let cut = beyond(link.central()?, link.derived.figure.value);
        return Some(if cut > 0.5001 * digit && cut < digit { Verdict::CutOff } else { Verdict::Holds });
    }
    // Its digits are those of the ratio, which no operand's rounding makes round down.
    let digit = printed.high - printed.low;
    let nearest = if link.derived.figure.value < 0.0 { recomputed.high } else { recomputed.low };
    let [below, cut] = [nearest, link.central()?].map(|of| beyond(of, link.derived.figure.value));
    if below > 0.0 && below < digit && cut < digit {
        return Some(Verdict::CutOff);
    }
    // Operands may have been cut off before they were printed: `76` of 76.7.
    let uncut = |quantity: &crate::number::Quantity| {
        let Interval { low, high } = quantity.interval();
        Interval { low, high: high + 0.5 * (high - low) }
    };
    let of_cut = link.form.of(uncut(&link.numerator), uncut(&link.denominator), link.derived.unit);
    if of_cut.is_some_and(|of_cut| of_cut.meets(printed)) {
        return None;
    }
    Some(Verdict::Off(recomputed))
}

fn arithmetic(page: &Page, link: &Link, sink: &Sink) -> String {
    let text = |quantity: &crate::number::Quantity| {
        let corrected = sink.correction(quantity.figure.spot).map(|correction| correction.text.as_str());
        corrected.unwrap_or(page.quote(quantity.figure.spot)).to_owned()
    };
    link.form.words(&text(&link.numerator), &text(&link.denominator))
}

fn ratio(evidence: &Evidence, sink: &mut Sink) {
    for link in evidence.links {
        let printed = evidence.page.quote(link.derived.figure.spot);
        let operands = [link.numerator.figure.spot, link.denominator.figure.spot];
        let by = arithmetic(evidence.page, link, &Sink::default());
        match judged(link) {
            None => {}
            Some(Verdict::Holds) => held(evidence.page, link, sink),
            Some(Verdict::CutOff) => {
                let value = like(printed, &link.derived, link.central().unwrap_or_default());
                let message = format!("{printed} ({}) is cut off, not rounded: {by} is {value}", link.of);
                sink.finds(
                    Finding::new("N4", Severity::Cosmetic, link.derived.figure.spot, message)
                        .recomputed(value)
                        .by(by)
                        .slip(Slip::Truncated)
                        .against(operands),
                );
            }
            Some(Verdict::Off(recomputed)) => off(evidence, link, recomputed, sink),
        }
    }
}

/// A ratio that its printed operands do not give.
fn off(evidence: &Evidence, link: &Link, recomputed: Interval, sink: &mut Sink) {
    let spot = link.derived.figure.spot;
    let printed = evidence.page.quote(spot);
    let by = arithmetic(evidence.page, link, &Sink::default());
    let value = like(printed, &link.derived, link.central().unwrap_or(recomputed.middle()));
    let likely = likely::of(link, recomputed, evidence.links);
    let (rule, slip, why) = match likely {
        Likely::BetterIsLess => return,
        Likely::Open => ("T1", None, String::new()),
        Likely::RatioOrOperand => {
            let why = ": the ratio is off, or an operand is by a factor of ten";
            ("N6", Some(Slip::FactorTen), why.to_owned())
        }
        Likely::Ratio(slip) => {
            let rule = match slip {
                Slip::FactorTen => "N6",
                Slip::ThousandFor1024 => "N7",
                _ => "T1",
            };
            let other = match slip {
                Slip::WrongBase => format!("{} is ", likely::words_of_other_base(evidence.page, link)),
                _ => String::new(),
            };
            (rule, Some(slip), format!(": {other}{}", slip.words()))
        }
    };
    let of = link.of.trim_start_matches(", ");
    let message = format!("{of} is printed as {printed}, but {by} is {value}{why}");
    let mut finding = Finding::new(rule, Severity::WrongFigure, spot, message)
        .by(by)
        .against([link.numerator.figure.spot, link.denominator.figure.spot]);
    finding.slip = slip;
    // Where it is open which of them is wrong, nothing is corrected.
    if !matches!(likely, Likely::RatioOrOperand) {
        sink.corrects(spot, recomputed, value.clone());
        finding.recomputed = value;
    }
    sink.finds(finding);
}

/// A ratio that its printed operands give; N5 where what they are more exactly does not.
fn held(page: &Page, link: &Link, sink: &mut Sink) {
    sink.holds("T1", &link.derived.figure);
    let exact = [&link.numerator, &link.denominator].map(|operand| sink.refinement(operand.figure.spot));
    let [Some(numerator), Some(denominator)] = exact else { return };
    let Some(recomputed) = link.form.of(numerator, denominator, link.derived.unit) else { return };
    if recomputed.meets(link.derived.interval()) || link.derived.hedge == Hedge::About {
        return;
    }
    let printed = page.quote(link.derived.figure.spot);
    let value = like(printed, &link.derived, recomputed.middle());
    let message = format!("{printed} is rounded from figures that were rounded before: it is {value}");
    sink.finds(
        Finding::new("N5", Severity::Cosmetic, link.derived.figure.spot, message)
            .recomputed(value)
            .slip(Slip::RoundedTwice)
            .against([link.numerator.figure.spot, link.denominator.figure.spot]),
    );
}

fn propagated(evidence: &Evidence, sink: &mut Sink) {
    for link in evidence.links {
        propagated_of(evidence.page, link, sink);
    }
}

/// A ratio computed again where an operand is wrong.
pub fn propagated_of(page: &Page, link: &Link, sink: &mut Sink) {
    let wrong =
        [&link.numerator, &link.denominator].map(|operand| sink.correction(operand.figure.spot).is_some());
    // A ratio that is wrong by itself is told as that.
    if !wrong.contains(&true) || sink.correction(link.derived.figure.spot).is_some() {
        return;
    }
    let operands = (sink.meant(&link.numerator.figure), sink.meant(&link.denominator.figure));
    let Some(recomputed) = link.form.of(operands.0, operands.1, link.derived.unit) else { return };
    if recomputed.meets(link.derived.interval()) {
        return;
    }
    let printed = page.quote(link.derived.figure.spot);
    let value = like(printed, &link.derived, recomputed.middle());
    let by = arithmetic(page, link, sink);
    let message = format!("{printed} is computed from a figure that is wrong itself: {by} is {value}");
    sink.corrects(link.derived.figure.spot, recomputed, value.clone());
    let spots = [link.numerator.figure.spot, link.denominator.figure.spot];
    sink.finds(
        Finding::new("N10", Severity::WrongConclusion, link.derived.figure.spot, message)
            .recomputed(value)
            .by(by)
            .slip(Slip::FromWrongFigure)
            .against(spots),
    );
}

#[cfg(test)]
mod tests;
