//! Finds the most likely slip if a ratio differs from what its operands give.

use crate::finding::Slip;
use crate::link::words::{TIMES, says};
use crate::link::{DerivedLink, LinkForm, LinkReason};
use crate::number::{Interval, NumberUnit};
use crate::page::AuditedPage;
use crate::slip;

/// Returns the likely slip of a ratio that differs from `recomputed`, the result of its operands.
pub(super) fn slip_of(link: &DerivedLink, recomputed: Interval) -> Option<Slip> {
    let printed = link.derived.interval();
    let slip =
        slip::find_slip(printed, recomputed).filter(|slip| slip::is_of(*slip, link.numerator.unit));
    slip.or(is_turned(link, other(link.form)).then_some(Slip::WrongBase))
}

/// Returns true if a ratio of times is inverted because its column states improvements: other
/// ratios in the column hold and are not of times.
pub(super) fn better_is_less(link: &DerivedLink, links: &[DerivedLink]) -> bool {
    (is_turned(link, other(link.form)) || is_turned(link, link.form))
        && of_time(link)
        && links.iter().any(|other| alike(link, other) && other.gives_printed() && !of_time(other))
}

fn is_turned(link: &DerivedLink, form: LinkForm) -> bool {
    let given =
        form.quotient(link.denominator.interval(), link.numerator.interval(), link.derived.unit);
    given.is_some_and(|given| given.overlaps_with(link.derived.interval()))
}

/// Returns the form with the other operand as the base: a loss given as the gain that would
/// compensate it, an inverted share.
fn other(form: LinkForm) -> LinkForm {
    match form {
        LinkForm::Share | LinkForm::Multiple => LinkForm::Share,
        LinkForm::Loss => LinkForm::Gain,
        LinkForm::Gain => LinkForm::Loss,
        LinkForm::Change => LinkForm::Change,
    }
}

/// Returns the arithmetic with the other base, in words.
pub(super) fn words_of_other_base(page: &AuditedPage, link: &DerivedLink) -> String {
    let [above, below] =
        [&link.denominator, &link.numerator].map(|one| page.quote(one.figure.spot));
    other(link.form).arithmetic_words(above, below)
}

/// Returns true if the other ratio is in the same column.
fn alike(link: &DerivedLink, other: &DerivedLink) -> bool {
    (other.form, &other.names) == (link.form, &link.names)
        && !matches!(other.why, LinkReason::Told)
        && other.derived.figure.spot != link.derived.figure.spot
}

/// Returns true for a ratio of times, where less is better.
fn of_time(link: &DerivedLink) -> bool {
    link.numerator.unit == NumberUnit::Nanoseconds || says(&link.of, TIMES)
}
