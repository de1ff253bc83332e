//! Ratios, losses and overheads of tables: T1 with its slips N4 to N7, T2, and N10 where an operand is wrong itself.

use super::like;
use crate::finding::{Finding, Severity, Slip};
use crate::link::Link;
use crate::number::{Hedge, Interval, Unit};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink, slip};
use crate::table::Table;

/// T1: a ratio is what its operands give.
pub const RATIO: Rule = Rule {
    id: "T1",
    name: "a ratio, loss or overhead is what its operands give",
    severity: Severity::WrongFigure,
    holds: "the intervals of the printed ratio and of its operands meet; what is off is told as N4 (cut off), N6 (a factor of \
            ten), N7 (1000 for 1024) where that explains it",
    silent: "where structure does not tie a ratio to its operands: fewer than three cells of one form, and no head that names both",
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

/// T2: both ratios of one cell are the same.
pub const PAIR: Rule = Rule {
    id: "T2",
    name: "ratios by IOPS and by bandwidth are the same",
    severity: Severity::WrongFigure,
    holds: "at one block size both shares agree to 2 points or 1 %",
    silent: "unless the two stand beside each other under one head, one of a rate, one of a bandwidth",
    check: pair,
};

/// Decided of one link.
enum Verdict {
    Holds,
    CutOff,
    Off(Interval),
}

fn judged(link: &Link) -> Option<Verdict> {
    let recomputed = link.recomputed()?;
    let printed = link.derived.interval();
    if recomputed.meets(printed) {
        let central = link.central()?;
        let digit = printed.high - printed.low;
        // Cut off: its digits are those of the ratio, but the next would have rounded up.
        let cut = central - link.derived.figure.value;
        return Some(if cut > 0.5001 * digit && cut < digit { Verdict::CutOff } else { Verdict::Holds });
    }
    let digit = printed.high - printed.low;
    let below = recomputed.low - link.derived.figure.value;
    Some(if below > 0.0 && below < digit && recomputed.high < link.derived.figure.value + digit {
        Verdict::CutOff
    } else {
        Verdict::Off(recomputed)
    })
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
            Some(Verdict::Off(recomputed)) => {
                let central = link.central().unwrap_or(recomputed.middle());
                let value = like(printed, &link.derived, central);
                let slip = slip::of(link.derived.interval(), recomputed);
                let rule = match slip {
                    Some(Slip::FactorTen) => "N6",
                    Some(Slip::ThousandFor1024) => "N7",
                    _ => "T1",
                };
                let why = slip.map(|slip| format!(": {}", slip.words())).unwrap_or_default();
                let message = format!(
                    "{} is printed as {printed}, but {by} is {value}{why}",
                    link.of.trim_start_matches(", ")
                );
                sink.corrects(link.derived.figure.spot, recomputed, value.clone());
                let mut finding =
                    Finding::new(rule, Severity::WrongFigure, link.derived.figure.spot, message)
                        .recomputed(value)
                        .by(by)
                        .against(operands);
                finding.slip = slip;
                sink.finds(finding);
            }
        }
    }
    crate::rule::prose::ranges::check(evidence, sink);
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

fn pair(evidence: &Evidence, sink: &mut Sink) {
    for table in evidence.tables {
        for left in 0..table.columns.len().saturating_sub(1) {
            pairs_of(evidence.page, table, left, sink);
        }
    }
}

fn pairs_of(page: &Page, table: &Table, left: usize, sink: &mut Sink) {
    for row in &table.rows {
        let cell = |at: usize| row.cells.get(at).and_then(Option::as_ref);
        let (Some(rate), Some(bandwidth)) = (cell(left), cell(left + 1)) else { continue };
        let (Some(of_rate), Some(of_bandwidth)) = (rate.share, bandwidth.share) else { continue };
        let units = (rate.figure.map(|figure| figure.unit), bandwidth.figure.map(|figure| figure.unit));
        let rates = matches!(units.0, Some(Unit::PerSecond | Unit::Bare));
        // One that its operands refute is told as that.
        let refuted =
            [of_rate, of_bandwidth].iter().any(|share| sink.correction(share.figure.spot).is_some());
        if !rates || units.1 != Some(Unit::BytesPerSecond) || of_rate.unit != Unit::Percent || refuted {
            continue;
        }
        let apart = (of_rate.figure.value - of_bandwidth.figure.value).abs();
        if apart <= 2f64.max(0.01 * of_rate.figure.value.max(of_bandwidth.figure.value)) {
            sink.plausible("T2", &of_rate.figure);
            sink.plausible("T2", &of_bandwidth.figure);
            continue;
        }
        let message = format!(
            "{} by IOPS and {} by bandwidth are shares of the same runs at one block size: they must be equal",
            page.quote(of_rate.figure.spot),
            page.quote(of_bandwidth.figure.spot)
        );
        sink.finds(
            Finding::new("T2", Severity::WrongFigure, of_bandwidth.figure.spot, message)
                .against([of_rate.figure.spot]),
        );
    }
}

#[cfg(test)]
mod tests;
