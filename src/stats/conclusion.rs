//! From an interval to a conclusion, whichever way is the good one: rates, of which more is better, word it as a
//! `Verdict`; times, of which less is better, as a `Charge`.

use super::round::{percent, percent_up, rounded_percent};
use super::visits::VisitRatio;
use super::{Phrase, Ratio, Refusal};

/// What the interval of a ratio carries; fractions of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum Conclusion {
    /// The interval lies below one.
    Less {
        /// 1 - R, above zero.
        by: f64,
        /// Distance to the farther bound.
        half_width: f64,
    },
    /// The interval lies above one.
    More {
        /// R - 1, above zero.
        by: f64,
        /// Distance to the farther bound.
        half_width: f64,
    },
    /// One is within the interval and both bounds are within the zone.
    NoDifference {
        /// The larger bound.
        above: f64,
    },
    /// Nothing can be said.
    Unresolved {
        /// Half-width, where there is an interval.
        half_width: Option<f64>,
        /// Why.
        reason: Refusal,
    },
}

/// Words for conclusions about one kind of figure.
pub trait Concludes: From<Conclusion> {
    /// Of paired rounds; `zone` is the fraction within which "no difference" may be said. An estimate whose batches
    /// still depend on each other is refused.
    fn of_rounds(found: &Result<Ratio, Refusal>, zone: f64) -> Self {
        let gate = found.as_ref().map(Ratio::gate);
        match (found, gate) {
            (Ok(_), Ok(gate)) if !gate.holds() => {
                let reason = Refusal::DependentBatches { correlation: gate.correlation, bound: gate.bound };
                Self::withheld(found, reason)
            }
            (Ok(found), _) => Self::of_interval(found.ratio, found.low, found.high, zone),
            (Err(reason), _) => Self::withheld(found, reason.clone()),
        }
    }

    /// Of paired visits.
    fn of_visits(found: &Result<VisitRatio, Refusal>, zone: f64) -> Self {
        match found {
            Ok(found) => Self::of_interval(found.ratio, found.low, found.high, zone),
            Err(reason) => Conclusion::Unresolved { half_width: None, reason: reason.clone() }.into(),
        }
    }

    /// Of an estimate that something spoils.
    fn withheld(found: &Result<Ratio, Refusal>, reason: Refusal) -> Self {
        let width = |found: &Ratio| half_width(found.ratio, found.low, found.high);
        Conclusion::Unresolved { half_width: found.as_ref().ok().map(width), reason }.into()
    }

    /// Of a ratio to the baseline and its bounds.
    fn of_interval(ratio: f64, low: f64, high: f64, zone: f64) -> Self {
        let half_width = half_width(ratio, low, high);
        let farthest = (1.0 - low).abs().max((1.0 - high).abs());
        Self::from(match () {
            () if high < 1.0 => Conclusion::Less { by: 1.0 - ratio, half_width },
            () if low > 1.0 => Conclusion::More { by: ratio - 1.0, half_width },
            () if farthest <= zone => Conclusion::NoDifference { above: farthest },
            () => Conclusion::Unresolved { half_width: Some(half_width), reason: Refusal::TooWide { zone } },
        })
    }
}

/// `6.12 % +- 0.78 %`. The interval excludes zero but is not symmetric, and half-widths are rounded up: where the farther
/// side would reach zero as it is printed, `+-` would say the opposite of the verdict, and the bound is said instead.
pub(super) fn share(value: f64, half_width: f64) -> String {
    if rounded_percent(value, half_width).excludes_zero() {
        return percent(value, half_width);
    }
    format!("some, at most {}", percent_up(value + half_width))
}

/// `no difference above 1.1 % in 4k random reads`.
pub(super) fn no_difference(above: f64, subject: &str) -> Phrase {
    let said = Phrase::of_size(above).words("no difference above ").bound(percent_up(above));
    said.words(format!(" in {subject}"))
}

/// `unresolved in 4k random reads (+- 4.0 %): the reason`.
pub(super) fn unresolved(half_width: Option<f64>, reason: &Refusal, subject: &str) -> Phrase {
    let said = Phrase::of_size(half_width.unwrap_or_default()).words(format!("unresolved in {subject}"));
    let said = match half_width {
        Some(half) => said.words(" (").figure(width(half)).words(")"),
        None => said,
    };
    said.words(format!(": {reason}"))
}

/// `+- 4.0 %`; beyond the whole of the baseline a figure says no more than that.
pub(super) fn width(half_width: f64) -> String {
    match half_width {
        half if half > 1.0 => "wider than +- 100 %".to_owned(),
        half => format!("+- {}", percent_up(half)),
    }
}

fn half_width(ratio: f64, low: f64, high: f64) -> f64 {
    (ratio - low).max(high - ratio)
}
