//! Ratios, losses and overheads of tables: T1 with its slips N4, N6 and N7, and N10 if an operand
//! is itself wrong.

use super::{like, uncut};
use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity, Slip};
use crate::link::{DerivedLink, LinkForm, LinkReason, near};
use crate::number::{Interval, Quantity};
use crate::page::AuditedPage;

mod likely;

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    evidence.links.iter().for_each(|link| check_ratio(evidence, link, sink));
    evidence.links.iter().for_each(|link| propagated(evidence.page, link, sink));
}
enum RatioVerdict {
    Holds,
    CutOff,
    Off(Interval),
}

fn judge_link(link: &DerivedLink) -> Option<RatioVerdict> {
    let (recomputed, printed) = (link.recomputed()?, link.derived.interval());
    let (value, digit) = (link.derived.figure.value, printed.high - printed.low);
    // Distance by which a value is further from zero than the printed one.
    let beyond = |of: f64| if value < 0.0 { value - of } else { of - value };
    let cut = beyond(link.central()?);
    if recomputed.overlaps_with(printed) {
        // Truncated: its digits are those of the ratio, but the next one would have rounded away
        // from zero.
        return Some(if cut > 0.5001 * digit && cut < digit {
            RatioVerdict::CutOff
        } else {
            RatioVerdict::Holds
        });
    }
    // `273 K` of `14.0 M`, if both are 1024-based.
    if link.gives_printed() {
        return Some(RatioVerdict::Holds);
    }
    // Its digits are those of the ratio, and no rounding of the operands makes it round down.
    let below = beyond(if value < 0.0 { recomputed.high } else { recomputed.low });
    if below > 0.0 && below < digit && cut < digit {
        return Some(RatioVerdict::CutOff);
    }
    let of_cut =
        link.form.quotient(uncut(&link.numerator), uncut(&link.denominator), link.derived.unit);
    (!of_cut.is_some_and(|of_cut| of_cut.overlaps_with(printed)))
        .then_some(RatioVerdict::Off(recomputed))
}

fn arithmetic(page: &AuditedPage, link: &DerivedLink, sink: &EvidenceSink) -> String {
    let text = |quantity: &Quantity| {
        let corrected =
            sink.correction(quantity.figure.spot).map(|correction| correction.text.as_str());
        corrected.unwrap_or(page.quote(quantity.figure.spot)).to_owned()
    };
    link.form.arithmetic_words(&text(&link.numerator), &text(&link.denominator))
}

fn finding(link: &DerivedLink, rule: &'static str, severity: Severity, message: String) -> Finding {
    let operands = [link.numerator.figure.spot, link.denominator.figure.spot];
    Finding::new(rule, severity, link.derived.figure.spot, message).against(operands)
}

fn check_ratio(evidence: &Evidence, link: &DerivedLink, sink: &mut EvidenceSink) {
    match judge_link(link) {
        None => {}
        Some(RatioVerdict::Holds) => sink.mark_holding("T1", &link.derived.figure),
        Some(RatioVerdict::CutOff) => {
            let printed = evidence.page.quote(link.derived.figure.spot);
            let by = arithmetic(evidence.page, link, &EvidenceSink::default());
            let value = like(printed, &link.derived, link.central().unwrap_or_default());
            let message =
                format!("{printed} ({}) is cut off, not rounded: {by} is {value}", link.of);
            let finding = finding(link, "N4", Severity::Cosmetic, message);
            sink.add_finding(finding.recomputed(value).with_arithmetic(by).slip(Slip::Truncated));
        }
        Some(RatioVerdict::Off(recomputed)) => off(evidence, link, recomputed, sink),
    }
}

/// Reports a ratio that differs from the result of its printed operands.
fn off(evidence: &Evidence, link: &DerivedLink, recomputed: Interval, sink: &mut EvidenceSink) {
    let spot = link.derived.figure.spot;
    let printed = evidence.page.quote(spot);
    let by = arithmetic(evidence.page, link, &EvidenceSink::default());
    let value = like(printed, &link.derived, link.central().unwrap_or(recomputed.middle()));
    // Chance seldom makes three ratios of a table hold, but it may make one.
    let proven = match link.why {
        LinkReason::Held(count) => count >= 3 || count == 2 && near::is_slip(link),
        _ => true,
    };
    if !proven || another_form_gives_it(link) || likely::better_is_less(link, evidence.links) {
        return;
    }
    let slip = likely::slip_of(link, recomputed);
    let (rule, why) = match slip {
        None => ("T1", String::new()),
        Some(Slip::WrongBase) => {
            let other = likely::words_of_other_base(evidence.page, link);
            ("T1", format!(": {other} is {}", Slip::WrongBase.slip_words()))
        }
        Some(slip) => {
            (if slip == Slip::FactorTen { "N6" } else { "N7" }, format!(": {}", slip.slip_words()))
        }
    };
    let of = link.of.trim_matches([',', ' ', '(', '≈']);
    let message = format!("{of} is printed as {printed}, but {by} is {value}{why}");
    let mut finding = finding(link, rule, Severity::WrongFigure, message).with_arithmetic(by);
    finding.slip = slip;
    sink.corrects(spot, recomputed, value.clone());
    sink.add_finding(finding.recomputed(value));
}

/// Returns true if another form of the same operands gives the ratio: a / b in a column of a / b -
/// 1.
fn another_form_gives_it(link: &DerivedLink) -> bool {
    let [above, below] = [link.numerator.interval(), link.denominator.interval()];
    let other = match link.form {
        LinkForm::Gain | LinkForm::Change => LinkForm::Share,
        LinkForm::Share | LinkForm::Multiple
            if link.derived.unit == crate::number::NumberUnit::Times =>
        {
            LinkForm::Gain
        }
        _ => return false,
    };
    other
        .quotient(above, below, link.derived.unit)
        .is_some_and(|given| given.overlaps_with(link.derived.interval()))
}

/// Reports a ratio that was computed from a wrong operand, unless the ratio is reported as wrong
/// itself.
fn propagated(page: &AuditedPage, link: &DerivedLink, sink: &mut EvidenceSink) {
    let (spot, operands) = (link.derived.figure.spot, [&link.numerator, &link.denominator]);
    let wrong = operands.iter().any(|operand| sink.correction(operand.figure.spot).is_some());
    if !wrong || sink.correction(spot).is_some() {
        return;
    }
    let [above, below] = operands.map(|operand| sink.best_value(&operand.figure));
    let recomputed = link.form.quotient(above, below, link.derived.unit);
    let Some(recomputed) = recomputed.filter(|one| !one.overlaps_with(link.derived.interval()))
    else {
        return;
    };
    let printed = page.quote(spot);
    let (value, by) =
        (like(printed, &link.derived, recomputed.middle()), arithmetic(page, link, sink));
    let message =
        format!("{printed} is computed from a figure that is wrong itself: {by} is {value}");
    sink.corrects(spot, recomputed, value.clone());
    let finding = finding(link, "N10", Severity::WrongConclusion, message);
    sink.add_finding(finding.recomputed(value).with_arithmetic(by).slip(Slip::FromWrongFigure));
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::{found, wrong};

    fn long_table(slip: &str) -> String {
        let row = |at: usize| {
            format!("| r{at} | {} | {} | {:.2} % |\n", 3 * at + 500, 2 * at + 500, {
                100.0 * (2 * at + 500) as f64 / (3 * at + 500) as f64
            })
        };
        let rows: String = (1..=2000).map(row).collect();
        format!("| row | host IOPS | VM IOPS | VM of host |\n|---|---|---|---|\n{rows}")
            .replace("| r1990 |", slip)
    }

    #[test]
    fn tables_are_read_to_their_end() {
        assert_eq!(wrong(&long_table("| r1990 |")), [""; 0]);
        let told = wrong(&long_table("| r1990 | 9999 | 4480 | 12.34 % |\n| s |"));
        assert_eq!(told, ["T1 12.34 % -> 44.80 %"]);
    }

    #[test]
    fn long_paragraphs_are_read_to_their_end() {
        let before = "Nothing of this is of any interest to anybody at all. ".repeat(100);
        let told =
            found(&format!("{before}Writes fell from 25.99k to 20.39k IOPS (18.4 %).\n"), "T1");
        assert!(told.len() == 1 && told[0].recomputed == "21.5 %", "{told:#?}");
    }
}
