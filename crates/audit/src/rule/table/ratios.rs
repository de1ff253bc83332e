//! Ratios, losses and overheads of tables: T1 with its slips N4, N6 and N7, and N10 where an operand is wrong itself.

use super::like;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity, Slip};
use crate::link::Link;
use crate::number::{Interval, Quantity};
use crate::page::Page;
use likely::Likely;

mod likely;

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    evidence.links.iter().for_each(|link| ratio(evidence, link, sink));
    evidence.links.iter().for_each(|link| propagated(evidence.page, link, sink));
}
/// Decided of one link.
enum Verdict {
    Holds,
    CutOff,
    Off(Interval),
}

fn judged(link: &Link) -> Option<Verdict> {
    let (recomputed, printed) = (link.recomputed()?, link.derived.interval());
    let (value, digit) = (link.derived.figure.value, printed.high - printed.low);
    // How much further from nothing than what is printed.
    let beyond = |of: f64| if value < 0.0 { value - of } else { of - value };
    let cut = beyond(link.central()?);
    if recomputed.meets(printed) {
        // Cut off: its digits are those of the ratio, but the next would have rounded away from nothing.
        return Some(if cut > 0.5001 * digit && cut < digit { Verdict::CutOff } else { Verdict::Holds });
    }
    // `273 K` of `14.0 M`, where both count in 1024.
    if link.holds() {
        return Some(Verdict::Holds);
    }
    // Its digits are those of the ratio, which no operand's rounding makes round down.
    let below = beyond(if value < 0.0 { recomputed.high } else { recomputed.low });
    if below > 0.0 && below < digit && cut < digit {
        return Some(Verdict::CutOff);
    }
    // Operands may have been cut off before they were printed: `76` of 76.7.
    let uncut = |quantity: &Quantity| {
        let Interval { low, high } = quantity.interval();
        Interval { low, high: high + 0.5 * (high - low) }
    };
    let of_cut = link.form.of(uncut(&link.numerator), uncut(&link.denominator), link.derived.unit);
    (!of_cut.is_some_and(|of_cut| of_cut.meets(printed))).then_some(Verdict::Off(recomputed))
}

fn arithmetic(page: &Page, link: &Link, sink: &Sink) -> String {
    let text = |quantity: &Quantity| {
        let corrected = sink.correction(quantity.figure.spot).map(|correction| correction.text.as_str());
        corrected.unwrap_or(page.quote(quantity.figure.spot)).to_owned()
    };
    link.form.words(&text(&link.numerator), &text(&link.denominator))
}

fn finding(link: &Link, rule: &'static str, severity: Severity, message: String) -> Finding {
    let operands = [link.numerator.figure.spot, link.denominator.figure.spot];
    Finding::new(rule, severity, link.derived.figure.spot, message).against(operands)
}

fn ratio(evidence: &Evidence, link: &Link, sink: &mut Sink) {
    match judged(link) {
        None => {}
        Some(Verdict::Holds) => sink.holds("T1", &link.derived.figure),
        Some(Verdict::CutOff) => {
            let printed = evidence.page.quote(link.derived.figure.spot);
            let by = arithmetic(evidence.page, link, &Sink::default());
            let value = like(printed, &link.derived, link.central().unwrap_or_default());
            let message = format!("{printed} ({}) is cut off, not rounded: {by} is {value}", link.of);
            let finding = finding(link, "N4", Severity::Cosmetic, message);
            sink.finds(finding.recomputed(value).by(by).slip(Slip::Truncated));
        }
        Some(Verdict::Off(recomputed)) => off(evidence, link, recomputed, sink),
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
        Likely::Ratio(Slip::WrongBase) => {
            let other = likely::words_of_other_base(evidence.page, link);
            ("T1", Some(Slip::WrongBase), format!(": {other} is {}", Slip::WrongBase.words()))
        }
        Likely::Ratio(slip) => {
            let rule = if slip == Slip::FactorTen { "N6" } else { "N7" };
            (rule, Some(slip), format!(": {}", slip.words()))
        }
    };
    let of = link.of.trim_start_matches(", ");
    let message = format!("{of} is printed as {printed}, but {by} is {value}{why}");
    let mut finding = finding(link, rule, Severity::WrongFigure, message).by(by);
    finding.slip = slip;
    // Where it is open which of them is wrong, nothing is corrected.
    if !matches!(likely, Likely::RatioOrOperand) {
        sink.corrects(spot, recomputed, value.clone());
        finding.recomputed = value;
    }
    sink.finds(finding);
}

/// A ratio computed again where an operand is wrong; one that is wrong by itself is told as that.
fn propagated(page: &Page, link: &Link, sink: &mut Sink) {
    let (spot, operands) = (link.derived.figure.spot, [&link.numerator, &link.denominator]);
    let wrong = operands.iter().any(|operand| sink.correction(operand.figure.spot).is_some());
    if !wrong || sink.correction(spot).is_some() {
        return;
    }
    let [above, below] = operands.map(|operand| sink.meant(&operand.figure));
    let recomputed = link.form.of(above, below, link.derived.unit);
    let Some(recomputed) = recomputed.filter(|one| !one.meets(link.derived.interval())) else { return };
    let printed = page.quote(spot);
    let (value, by) = (like(printed, &link.derived, recomputed.middle()), arithmetic(page, link, sink));
    let message = format!("{printed} is computed from a figure that is wrong itself: {by} is {value}");
    sink.corrects(spot, recomputed, value.clone());
    let finding = finding(link, "N10", Severity::WrongConclusion, message);
    sink.finds(finding.recomputed(value).by(by).slip(Slip::FromWrongFigure));
}
