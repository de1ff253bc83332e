//! What a comparison concludes of a figure of which less is better: latency, CPU time an I/O. A kind of its own,
//! since `costs` and `gains` would not say which way a latency went.

use super::conclusion::{Concludes, Conclusion, no_difference, share, unresolved};
use super::ratio::Difference;
use super::round::{rounded, rounded_up};
use super::{Phrase, Refusal};
use serde::Serialize;

/// The conclusion; fractions of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Charge {
    /// The stack takes more: the interval excludes zero.
    Adds {
        /// R - 1, above zero.
        added: f64,
        /// Distance to the farther bound.
        half_width: f64,
    },
    /// The stack takes less.
    Saves {
        /// 1 - R, above zero.
        saved: f64,
        /// Distance to the farther bound.
        half_width: f64,
    },
    /// Zero is within the interval and both bounds are within the zone.
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

impl Concludes for Charge {}

impl From<Conclusion> for Charge {
    /// Of a time: less of it is saved.
    fn from(found: Conclusion) -> Charge {
        match found {
            Conclusion::Less { by, half_width } => Charge::Saves { saved: by, half_width },
            Conclusion::More { by, half_width } => Charge::Adds { added: by, half_width },
            Conclusion::NoDifference { above } => Charge::NoDifference { above },
            Conclusion::Unresolved { half_width, reason } => Charge::Unresolved { half_width, reason },
        }
    }
}

impl Charge {
    /// Whether something was concluded.
    pub fn is_resolved(&self) -> bool {
        !matches!(self, Charge::Unresolved { .. })
    }

    /// Why nothing was.
    pub fn reason(&self) -> Option<&Refusal> {
        match self {
            Charge::Unresolved { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Size of a resolved difference, as a logarithm so that more and less compare.
    pub fn effect(&self) -> Option<f64> {
        match self {
            Charge::Adds { added, .. } => Some((1.0 + added).ln()),
            Charge::Saves { saved, .. } => Some(-(1.0 - saved).max(f64::MIN_POSITIVE).ln()),
            _ => None,
        }
    }

    /// `adds 12.3 % +- 2.1 % to the mean latency of 4k random reads`; `subject` is a figure with its article.
    pub fn about(&self, subject: &str) -> Phrase {
        let (word, value, half_width, of) = match self {
            Charge::Adds { added, half_width } => ("adds ", *added, *half_width, "to"),
            Charge::Saves { saved, half_width } => ("saves ", *saved, *half_width, "of"),
            _ => return self.undecided(subject),
        };
        let said = Phrase::of_size(value).words(word).figure(share(value, half_width));
        said.words(format!(" {of} {subject}"))
    }

    /// `takes 2.31 us +- 0.20 us more CPU an I/O (x 1.80) for 4k random reads`: of CPU time, with the difference in
    /// nanoseconds and the ratio behind the verdict.
    pub fn about_cpu(&self, found: Option<&Difference>, ratio: Option<f64>, subject: &str) -> Phrase {
        let (more, found, ratio) = match (self, found, ratio) {
            (Charge::Adds { .. }, Some(found), Some(ratio)) => ("more", found, ratio),
            (Charge::Saves { .. }, Some(found), Some(ratio)) => ("less", found, ratio),
            _ => return self.undecided(&format!("CPU an I/O of {subject}")),
        };
        let decimals = if (ratio - 1.0).abs() < 0.1 { 3 } else { 2 };
        let said = Phrase::of_size(found.value.abs()).words("takes ").figure(microseconds(found));
        let said = said.words(format!(" {more} CPU an I/O (")).figure(format!("x {ratio:.decimals$}"));
        said.words(format!(") for {subject}"))
    }

    fn undecided(&self, subject: &str) -> Phrase {
        match self {
            Charge::NoDifference { above } => no_difference(*above, subject),
            Charge::Unresolved { half_width, reason } => unresolved(*half_width, reason, subject),
            Charge::Adds { .. } | Charge::Saves { .. } => {
                Phrase::default().words(format!("some difference in {subject}"))
            }
        }
    }
}

/// `2.31 us +- 0.20 us`, the sign left out: the words around it say which way.
fn microseconds(found: &Difference) -> String {
    let (value, half_width) = (found.value.abs() / 1e3, found.half_width / 1e3);
    let shown = rounded(value, half_width, 3);
    if shown.excludes_zero() {
        return format!("{} us +- {} us", shown.value, shown.half_width);
    }
    format!("some, at most {} us,", rounded_up(value + half_width, 3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::ratio::estimate;

    #[test]
    fn each_word_says_which_way() {
        let said =
            |ratio, low, high| Charge::of_interval(ratio, low, high, 0.02).about("the mean").to_string();
        assert_eq!(said(1.123, 1.102, 1.144), "adds 12.3 % +- 2.1 % to the mean");
        assert_eq!(said(0.9, 0.88, 0.92), "saves 10.0 % +- 2.0 % of the mean");
        assert_eq!(said(1.0, 0.99, 1.012), "no difference above 1.2 % in the mean");
        assert_eq!(
            said(1.0, 0.9, 1.1),
            "unresolved in the mean (+- 10 %): the interval includes zero and reaches beyond 2 %"
        );
        // A skewed interval: the longer side must not be printed across zero.
        assert_eq!(said(1.01, 1.001, 1.03), "adds some, at most 3.0 % to the mean");
    }

    #[test]
    fn cpu_time_is_said_in_microseconds_and_times() {
        let found = Difference { value: 2_310.0, half_width: 196.0, rounds: 40 };
        let more = Charge::of_interval(1.8, 1.7, 1.9, 0.02);
        let said = |charge: &Charge, found| charge.about_cpu(Some(found), Some(1.8), "4k reads").to_string();
        assert_eq!(said(&more, &found), "takes 2.31 us +- 0.20 us more CPU an I/O (x 1.80) for 4k reads");
        let less = Charge::of_interval(0.8, 0.7, 0.9, 0.02);
        let saved = Difference { value: -300.0, ..found };
        assert!(
            said(&less, &saved).starts_with("takes 0.30 us +- 0.20 us less CPU"),
            "{}",
            said(&less, &saved)
        );
        let vague = Difference { value: 100.0, ..found };
        assert!(
            said(&more, &vague).starts_with("takes some, at most 0.30 us, more CPU"),
            "{}",
            said(&more, &vague)
        );
        // The interval ends at 0.09 us; rounded up it would be printed as 11 +- 12.
        let close = Difference { value: 11_410.0, half_width: 11_320.0, ..found };
        assert!(
            said(&more, &close).starts_with("takes some, at most 23 us, more CPU"),
            "{}",
            said(&more, &close)
        );
        let none = Charge::of_interval(1.0, 0.995, 1.005, 0.02);
        assert_eq!(said(&none, &found), "no difference above 0.50 % in CPU an I/O of 4k reads");
    }

    #[test]
    fn effects_of_more_and_less_compare() {
        let effect = |ratio: f64| Charge::of_interval(ratio, 0.99 * ratio, 1.01 * ratio, 0.02).effect();
        assert!((effect(2.0).unwrap() - effect(0.5).unwrap()).abs() < 1e-12);
        assert_eq!(effect(1.0), None);
    }

    #[test]
    fn dependent_batches_are_refused() {
        let trend: Vec<_> = (0..32).map(|i| (100.0, 120.0 - 0.5 * f64::from(i))).collect();
        let charge = Charge::of_rounds(&estimate(&trend), 0.02);
        assert!(matches!(charge.reason(), Some(Refusal::DependentBatches { .. })), "{charge:?}");
        assert!(!charge.is_resolved());
    }
}
