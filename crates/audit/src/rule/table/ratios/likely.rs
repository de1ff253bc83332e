//! What most likely happened where a ratio is not what its operands give.

use crate::finding::Slip;
use crate::link::words::{TIMES, says};
use crate::link::{Form, Link, Why};
use crate::number::{Interval, Unit};
use crate::page::Page;
use crate::slip;

pub(super) enum Likely {
    Open,
    Ratio(Slip),
    /// No slip: of times, in a column of others, the ratio says how much better they are and is turned round.
    BetterIsLess,
    /// A factor of ten, and the ratio is in line with its siblings as it is printed: an operand may be off as well.
    RatioOrOperand,
}

/// The likely slip of a ratio that its operands, which give `recomputed`, do not give.
pub(super) fn of(link: &Link, recomputed: Interval, links: &[Link]) -> Likely {
    if operand_may_be_off(link, links) {
        return Likely::RatioOrOperand;
    }
    let printed = link.derived.interval();
    let turned = |form| from_other_base(link, form).is_some_and(|other| other.meets(printed));
    let from_other = turned(other(link.form));
    if (from_other || turned(link.form))
        && of_time(link)
        && links.iter().any(|other| alike(link, other) && other.holds() && !of_time(other))
    {
        return Likely::BetterIsLess;
    }
    match slip::of(printed, recomputed).filter(|slip| slip::is_of(*slip, link.numerator.unit)) {
        Some(slip) => Likely::Ratio(slip),
        None if from_other => Likely::Ratio(Slip::WrongBase),
        None => Likely::Open,
    }
}

/// What it would be with the other operand as the base: a loss told as the gain that makes up for it, a share turned round.
fn other(form: Form) -> Form {
    match form {
        Form::Share | Form::Multiple => Form::Share,
        Form::Loss => Form::Gain,
        Form::Gain => Form::Loss,
        Form::Change => Form::Change,
    }
}

fn from_other_base(link: &Link, form: Form) -> Option<Interval> {
    form.of(link.denominator.interval(), link.numerator.interval(), link.derived.unit)
}

/// The arithmetic from the other base in words.
pub(super) fn words_of_other_base(page: &Page, link: &Link) -> String {
    let [above, below] = [&link.denominator, &link.numerator].map(|one| page.quote(one.figure.spot));
    other(link.form).words(above, below)
}

/// How much an operand may be off, and how far from its siblings a share is still in line with them.
const TENS: [f64; 4] = [10.0, 100.0, 0.1, 0.01];
const IN_LINE: f64 = 2.0;

/// Whether the ratio is right for an operand that is a factor of ten larger or smaller, and in line as it is printed, while what
/// the operands give is not.
fn operand_may_be_off(link: &Link, links: &[Link]) -> bool {
    let Some(given) = link.numerator.interval().over(link.denominator.interval()) else { return false };
    let printed = as_share(link);
    if printed.low <= 0.0 || !TENS.iter().any(|factor| printed.meets(given.scaled(*factor))) {
        return false;
    }
    let line = links
        .iter()
        .filter(|other| alike(link, other) && other.holds())
        .map(as_share)
        .reduce(|all, one| Interval { low: all.low.min(one.low), high: all.high.max(one.high) });
    match line {
        Some(Interval { low, high }) => {
            let line = Interval { low: low / IN_LINE, high: high * IN_LINE };
            line.meets(printed) && !line.meets(given)
        }
        // By itself only a loss of more than all, or a share of many times the whole, is out of line.
        None => {
            let most = if link.form == Form::Loss { 1.0 } else { IN_LINE };
            link.form != Form::Gain
                && link.derived.unit == Unit::Percent
                && printed.high <= 1.0
                && given.low > most
        }
    }
}

/// Whether another ratio stands in the same column.
fn alike(link: &Link, other: &Link) -> bool {
    (other.form, &other.names) == (link.form, &link.names)
        && !matches!(other.why, Why::Told)
        && other.derived.figure.spot != link.derived.figure.spot
}

/// Whether it is a ratio of times, where less is better.
fn of_time(link: &Link) -> bool {
    link.numerator.unit == Unit::Nanoseconds || says(&link.of, TIMES)
}

/// What a printed ratio says of numerator / denominator.
fn as_share(link: &Link) -> Interval {
    let whole = if link.derived.unit == Unit::Percent { 0.01 } else { 1.0 };
    let Interval { low, high } = link.derived.interval().scaled(whole);
    match link.form {
        Form::Share | Form::Multiple => Interval { low, high },
        Form::Loss => Interval { low: 1.0 - high, high: 1.0 - low },
        Form::Gain | Form::Change => Interval { low: 1.0 + low, high: 1.0 + high },
    }
}
