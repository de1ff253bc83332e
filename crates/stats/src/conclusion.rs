//! Draws a conclusion from an interval, for figures of either direction: rates, of which more is
//! better, word it as a `Verdict`; times, of which less is better, as a `Charge`.

use super::phrase::Phrase;
use super::ratio::Ratio;
use super::refusal::Refusal;
use super::round::percent_up;
use super::shown::Digits;
use super::visits::VisitRatio;
use serde::Serialize;

/// A change against the baseline with its 95 % interval, in fractions of the baseline. Zero means
/// no change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioChange {
    /// Change of the estimate, R - 1.
    pub value: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

impl RatioChange {
    /// Converts a ratio to the baseline and its bounds to a change: each minus one.
    pub fn of_ratio(ratio: f64, low: f64, high: f64) -> RatioChange {
        RatioChange { value: ratio - 1.0, low: low - 1.0, high: high - 1.0 }
    }

    /// Returns the change with its sign reversed: less becomes more.
    pub fn turned(self) -> RatioChange {
        RatioChange { value: -self.value, low: -self.high, high: -self.low }
    }

    /// Returns the distance from the estimate to the farther bound.
    pub fn half_width(&self) -> f64 {
        (self.value - self.low).max(self.high - self.value)
    }

    /// Formats the change and its interval in percent, with signs.
    pub fn digits(&self) -> Digits {
        Digits::format_change(self.value, Some((self.low, self.high)))
    }
}

/// Conclusion that the interval of a ratio supports, in fractions of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The interval of the ratio lies below one.
    Less(RatioChange),
    /// The interval of the ratio lies above one.
    More(RatioChange),
    /// The interval holds one, and both bounds are within the zone of no difference.
    NoDifference {
        /// Distance from one to the farther bound: a larger difference is excluded.
        above: f64,
    },
    /// No conclusion can be drawn.
    Unresolved {
        /// Estimated change with its interval; `None` without an interval.
        change: Option<RatioChange>,
        /// Reason why nothing is concluded.
        reason: Refusal,
    },
}

/// Conclusion about one kind of figure, such as rates, which it words in its own way.
pub trait Concludes: From<Conclusion> {
    /// Concludes from paired rounds. `zone` is the fraction within which "no difference" may be
    /// said. An estimate whose batches still depend on each other is refused.
    fn of_rounds(found: &Result<Ratio, Refusal>, zone: f64) -> Self {
        let gate = found.as_ref().map(Ratio::gate);
        match (found, gate) {
            (Ok(_), Ok(gate)) if !gate.holds() => {
                let reason =
                    Refusal::DependentBatches { correlation: gate.correlation, bound: gate.bound };
                Self::withheld_for(found, reason)
            }
            (Ok(found), _) => Self::of_interval(found.ratio, found.low, found.high, zone),
            (Err(reason), _) => Self::withheld_for(found, reason.clone()),
        }
    }

    /// Concludes from paired visits; `zone` as in [`Concludes::of_rounds`].
    fn of_visits(found: &Result<VisitRatio, Refusal>, zone: f64) -> Self {
        match found {
            Ok(found) => Self::of_interval(found.ratio, found.low, found.high, zone),
            Err(reason) => Self::from_refusal(reason.clone()),
        }
    }

    /// Returns an unresolved conclusion, for this reason, without an estimate.
    fn from_refusal(reason: Refusal) -> Self {
        Conclusion::Unresolved { change: None, reason }.into()
    }

    /// Returns an unresolved conclusion, for this reason, with the estimated change.
    fn unresolved(change: RatioChange, reason: Refusal) -> Self {
        Conclusion::Unresolved { change: Some(change), reason }.into()
    }

    /// Returns an unresolved conclusion, for this reason, with the estimated change if there is an
    /// estimate.
    fn withheld_for(found: &Result<Ratio, Refusal>, reason: Refusal) -> Self {
        let change = |found: &Ratio| RatioChange::of_ratio(found.ratio, found.low, found.high);
        Conclusion::Unresolved { change: found.as_ref().ok().map(change), reason }.into()
    }

    /// Concludes less or more if the interval of the ratio excludes 1, and no difference if both
    /// bounds are within `zone` of 1. Otherwise the interval is too wide.
    fn of_interval(ratio: f64, low: f64, high: f64, zone: f64) -> Self {
        let change = RatioChange::of_ratio(ratio, low, high);
        let farthest = change.low.abs().max(change.high.abs());
        Self::from(match () {
            () if high < 1.0 => Conclusion::Less(change),
            () if low > 1.0 => Conclusion::More(change),
            () if farthest <= zone => Conclusion::NoDifference { above: farthest },
            () => {
                Conclusion::Unresolved { change: Some(change), reason: Refusal::TooWide { zone } }
            }
        })
    }
}

/// Says by how much the figures differ, unsigned, after a word that gives the direction: `costs
/// 6.12 % +- 0.78 %`, `saves 88 % (75 to 94 %)`. `is_less` is true for a loss, which is not printed
/// above 100 %.
pub(super) fn differs(word: &str, size: RatioChange, is_less: bool) -> Phrase {
    Phrase::of_size(size.value)
        .with_words(format!("{word} "))
        .with_figure(size_words(size, is_less))
}

/// Formats the size of a change for a sentence, with the same digits as in a table's cell: `6.12 %
/// +- 0.78 %`. `is_less` is true for a loss, which is not printed above 100 %.
pub fn size_words(size: RatioChange, is_less: bool) -> String {
    Digits::size(size.value, (size.low, size.high), is_less).to_words()
}

/// Returns the phrase for no difference: `no difference above 1.1 % in 4k random reads`.
pub(super) fn no_difference(above: f64, subject: &str) -> Phrase {
    let said = Phrase::of_size(above).with_words("no difference above ").bound(percent_up(above));
    said.with_words(format!(" in {subject}"))
}

/// Returns the phrase for an unresolved comparison: `unresolved in 4k random reads (+- 4.0 %): the
/// reason`.
pub(super) fn unresolved(change: Option<&RatioChange>, reason: &Refusal, subject: &str) -> Phrase {
    let size = change.map(RatioChange::half_width).unwrap_or_default();
    let said = Phrase::of_size(size).with_words(format!("unresolved in {subject}"));
    let said = match change.and_then(width) {
        Some(width) => said.with_words(" (").widest(width).with_words(")"),
        None => said,
    };
    said.with_words(format!(": {reason}"))
}

/// Formats the interval of a change as `+- 4.0 %`, or as both bounds.
pub fn width(change: &RatioChange) -> Option<String> {
    change.digits().width()
}
