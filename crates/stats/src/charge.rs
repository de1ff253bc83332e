//! Words the conclusion of a comparison for a figure of which less is better: latency, CPU time per
//! I/O. It is a separate kind, since `costs` and `gains` would not say whether a latency rose or
//! fell.

use super::conclusion::{Concludes, Conclusion, RatioChange, differs, size_words};
use super::phrase::Phrase;
use super::ratio::Difference;
use super::shown::Digits;
use super::verdict::Verdict;
use serde::{Serialize, Serializer};

/// Conclusion of a comparison of a figure of which less is better, in fractions of the baseline: an
/// increase is a cost, a decrease a gain.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge(Verdict);

impl Concludes for Charge {}

impl From<Conclusion> for Charge {
    fn from(found: Conclusion) -> Charge {
        Charge(Verdict::from(match found {
            Conclusion::Less(change) => Conclusion::More(change.turned()),
            Conclusion::More(change) => Conclusion::Less(change.turned()),
            other => other,
        }))
    }
}

impl std::ops::Deref for Charge {
    type Target = Verdict;

    fn deref(&self) -> &Verdict {
        &self.0
    }
}

impl Serialize for Charge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "verdict", rename_all = "snake_case")]
        enum Resolved {
            Adds { added: f64, half_width: f64, low: f64, high: f64 },
            Saves { saved: f64, half_width: f64, low: f64, high: f64 },
        }
        let resolved = match self.0 {
            Verdict::Costs { cost: added, half_width, low, high } => {
                Resolved::Adds { added, half_width, low, high }
            }
            Verdict::Gains { gain: saved, half_width, low, high } => {
                Resolved::Saves { saved, half_width, low, high }
            }
            ref other => return other.serialize(serializer),
        };
        resolved.serialize(serializer)
    }
}

impl Charge {
    /// Returns the change that the conclusion rests on; `None` without an interval, and for a
    /// conclusion of no difference.
    pub fn change(&self) -> Option<RatioChange> {
        let change = self.0.change()?;
        Some(if self.is_resolved() { change.turned() } else { change })
    }

    /// Returns the conclusion as a phrase: `adds 12.3 % +- 2.1 % to the mean latency of 4k random
    /// reads`. `subject` is the figure, with its article.
    pub fn phrase_about(&self, subject: &str) -> Phrase {
        match self.0 {
            Verdict::Costs { cost: value, low, high, .. } => {
                differs("adds", RatioChange { value, low, high }, false)
                    .with_words(format!(" to {subject}"))
            }
            Verdict::Gains { gain: value, low, high, .. } => {
                differs("saves", RatioChange { value, low, high }, true)
                    .with_words(format!(" of {subject}"))
            }
            _ => self.0.phrase_about(subject),
        }
    }

    /// Returns the conclusion about CPU time as a phrase: `takes 2.31 us +- 0.20 us more CPU per
    /// I/O (x 1.80) for 4k random reads`. `found` is the difference in nanoseconds, `ratio` the
    /// stack's time over the baseline's. If the conclusion is significant but the difference by
    /// itself is not, only the change is given: `takes 840 % +- 190 % more CPU per I/O`.
    pub fn about_cpu(
        &self,
        found: Option<&Difference>,
        ratio: Option<f64>,
        subject: &str,
    ) -> Phrase {
        let (more, size) = match self.0 {
            Verdict::Costs { cost: value, low, high, .. } => {
                ("more", RatioChange { value, low, high })
            }
            Verdict::Gains { gain: value, low, high, .. } => {
                ("less", RatioChange { value, low, high })
            }
            _ => return self.0.phrase_about(&format!("CPU per I/O of {subject}")),
        };
        let with_unit =
            |said: Phrase, words: &str| said.with_words(format!(" {more} CPU per I/O{words}"));
        let end = format!(" for {subject}");
        match (found.zip(ratio), more == "less") {
            (Some((found, ratio)), less) if found.is_sure(less) => {
                let decimals = if (ratio - 1.0).abs() < 0.1 { 3 } else { 2 };
                let value = found.value.abs();
                let bounds = (value - found.half_width, value + found.half_width);
                let time = Digits::for_value(value, Some(bounds), "ns").to_words();
                let said =
                    with_unit(Phrase::of_size(value).with_words("takes ").with_figure(time), " (");
                said.figure_of(format!("x {ratio:.decimals$}"), ratio)
                    .with_words(")")
                    .with_words(end)
            }
            (_, less) => with_unit(
                Phrase::of_size(size.value)
                    .with_words("takes ")
                    .with_figure(size_words(size, less)),
                "",
            )
            .with_words(end),
        }
    }
}

impl Difference {
    /// Returns true if the whole interval has the expected sign: negative if `less`, otherwise
    /// positive.
    fn is_sure(&self, less: bool) -> bool {
        self.half_width < self.value.abs() && (self.value < 0.0) == less
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Refusal;
    use crate::ratio::estimate;

    #[test]
    fn each_word_says_which_way() {
        let said = |ratio, low, high| {
            Charge::of_interval(ratio, low, high, 0.02).phrase_about("the mean").to_string()
        };
        assert_eq!(said(1.123, 1.102, 1.144), "adds 12.3 % +- 2.1 % to the mean");
        assert_eq!(said(0.9, 0.88, 0.92), "saves 10.0 % +- 2.0 % of the mean");
        assert_eq!(said(1.0, 0.99, 1.012), "no difference above 1.2 % in the mean");
        assert_eq!(
            said(1.0, 0.9, 1.1),
            "unresolved in the mean (+- 10 %): the interval includes zero and reaches beyond 2 %"
        );
        // A skewed interval: the longer side must not be printed across zero.
        assert_eq!(said(1.01, 1.001, 1.03), "adds 1.0 % (0.1 to 3.0 %) to the mean");
        assert_eq!(said(19.0, 7.0, 50.0), "adds 1800 % (600 to 4900 %) to the mean");
        assert_eq!(said(0.124, 0.061, 0.251), "saves 87.6 % (74.9 to 93.9 %) of the mean");
    }

    #[test]
    fn cpu_time_is_said_in_microseconds_and_times() {
        let found = Difference { value: 2_310.0, half_width: 196.0, rounds: 40 };
        let more = Charge::of_interval(1.8, 1.7, 1.9, 0.02);
        let said = |charge: &Charge, found| {
            charge.about_cpu(Some(found), Some(1.8), "4k reads").to_string()
        };
        assert_eq!(
            said(&more, &found),
            "takes 2.31 us +- 0.20 us more CPU per I/O (x 1.80) for 4k reads"
        );
        let less = Charge::of_interval(0.8, 0.7, 0.9, 0.02);
        let saved = Difference { value: -300.0, ..found };
        assert!(
            said(&less, &saved).starts_with("takes 300 ns +- 200 ns less CPU"),
            "{}",
            said(&less, &saved)
        );
        // The significant part is said alone: an interval with zero in it beside it would
        // contradict it.
        let vague = Difference { value: 430_000.0, half_width: 610_000.0, ..found };
        assert_eq!(
            said(&Charge::of_interval(9.4, 7.5, 11.3, 0.02), &vague),
            "takes 840 % +- 190 % more CPU per I/O for 4k reads"
        );
        // The interval ends at 0.09 us; rounded up it would be printed as 11 +- 12.
        let close = Difference { value: 11_410.0, half_width: 11_320.0, ..found };
        assert!(
            said(&more, &close).starts_with("takes 11 us (0.09 to 23 us) more CPU"),
            "{}",
            said(&more, &close)
        );
        let none = Charge::of_interval(1.0, 0.995, 1.005, 0.02);
        assert_eq!(said(&none, &found), "no difference above 0.50 % in CPU per I/O of 4k reads");
    }

    #[test]
    fn dependent_batches_are_refused() {
        let trend: Vec<_> = (0..32).map(|i| (100.0, 120.0 - 0.5 * f64::from(i))).collect();
        let charge = Charge::of_rounds(&estimate(&trend), 0.02);
        assert!(matches!(charge.reason(), Some(Refusal::DependentBatches { .. })), "{charge:?}");
        assert!(!charge.is_resolved());
    }
}
