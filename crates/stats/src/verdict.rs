//! Words the conclusion of a comparison of rates, of which more is better. If the interval supports
//! no conclusion the verdict is `unresolved`, with the reason; every sentence names its subject.

use super::conclusion::{
    Concludes, Conclusion, RatioChange, differs, no_difference, size_words, unresolved, width,
};
use super::phrase::Phrase;
use super::refusal::Refusal;
use super::round::percent_up;
use serde::Serialize;

/// Conclusion of a comparison with the baseline. All figures are fractions of the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The stack is slower: the interval excludes zero.
    Costs {
        /// Estimated cost 1 - R, above zero.
        cost: f64,
        /// Distance from `cost` to the farther bound.
        half_width: f64,
        /// Lower bound of the interval of `cost`.
        low: f64,
        /// Upper bound of the interval of `cost`.
        high: f64,
    },
    /// The stack is faster: the interval excludes zero.
    Gains {
        /// Estimated gain R - 1, above zero.
        gain: f64,
        /// Distance from `gain` to the farther bound.
        half_width: f64,
        /// Lower bound of the interval of `gain`.
        low: f64,
        /// Upper bound of the interval of `gain`.
        high: f64,
    },
    /// The interval holds zero, and both bounds are within the zone of no difference.
    NoDifference {
        /// Distance from zero to the farther bound: a larger difference is excluded.
        above: f64,
    },
    /// No conclusion can be drawn.
    Unresolved {
        /// Distance from the estimate to the farther bound; `None` without an interval.
        half_width: Option<f64>,
        /// Estimated change with its interval; `None` without an interval.
        #[serde(skip_serializing_if = "Option::is_none")]
        change: Option<RatioChange>,
        /// Reason why nothing is concluded.
        reason: Refusal,
    },
}

impl Concludes for Verdict {}

impl From<Conclusion> for Verdict {
    fn from(found: Conclusion) -> Verdict {
        match found {
            Conclusion::Less(change) => {
                let RatioChange { value: cost, low, high } = change.turned();
                Verdict::Costs { cost, half_width: change.half_width(), low, high }
            }
            Conclusion::More(change) => {
                let RatioChange { value: gain, low, high } = change;
                Verdict::Gains { gain, half_width: change.half_width(), low, high }
            }
            Conclusion::NoDifference { above } => Verdict::NoDifference { above },
            Conclusion::Unresolved { change, reason } => Verdict::Unresolved {
                half_width: change.as_ref().map(RatioChange::half_width),
                change,
                reason,
            },
        }
    }
}

impl Verdict {
    /// Returns the change that the verdict rests on; `None` without an interval, and for a verdict
    /// of no difference.
    pub fn change(&self) -> Option<RatioChange> {
        match self {
            Verdict::Costs { cost, low, high, .. } => {
                Some(RatioChange { value: *cost, low: *low, high: *high }.turned())
            }
            Verdict::Gains { gain, low, high, .. } => {
                Some(RatioChange { value: *gain, low: *low, high: *high })
            }
            Verdict::Unresolved { change, .. } => *change,
            Verdict::NoDifference { .. } => None,
        }
    }

    /// Returns the reason why nothing was concluded; `None` if something was.
    pub fn reason(&self) -> Option<&Refusal> {
        match self {
            Verdict::Unresolved { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns true if something was concluded, if only that there is no difference.
    pub fn is_resolved(&self) -> bool {
        !matches!(self, Verdict::Unresolved { .. })
    }

    /// Returns the verdict without a subject, for a table's cell: `costs 6.12 % +- 0.78 %`.
    pub fn phrase(&self) -> String {
        match self {
            Verdict::Costs { cost: value, low, high, .. } => {
                format!(
                    "costs {}",
                    size_words(RatioChange { value: *value, low: *low, high: *high }, true)
                )
            }
            Verdict::Gains { gain: value, low, high, .. } => {
                format!(
                    "gains {}",
                    size_words(RatioChange { value: *value, low: *low, high: *high }, false)
                )
            }
            Verdict::NoDifference { above } => {
                format!("no difference above {}", percent_up(*above))
            }
            Verdict::Unresolved { change, .. } => match change.as_ref().and_then(width) {
                Some(width) => format!("unresolved ({width})"),
                None => "unresolved".to_owned(),
            },
        }
    }

    /// Returns the verdict with its subject: `costs 6.12 % +- 0.78 % of 4k random-read IOPS at
    /// iodepth 32 x 4`.
    pub fn sentence(&self, subject: &str) -> String {
        self.phrase_about(subject).to_string()
    }

    /// Returns [`Self::sentence`] as a [`Phrase`], whose figures stay separate so that it can be
    /// joined with others.
    pub fn phrase_about(&self, subject: &str) -> Phrase {
        let size = |value: f64, low: f64, high: f64| RatioChange { value, low, high };
        match self {
            Verdict::Costs { cost, low, high, .. } => {
                differs("costs", size(*cost, *low, *high), true)
                    .with_words(format!(" of {subject}"))
            }
            Verdict::Gains { gain, low, high, .. } => {
                differs("gains", size(*gain, *low, *high), false)
                    .with_words(format!(" in {subject}"))
            }
            Verdict::NoDifference { above } => no_difference(*above, subject),
            Verdict::Unresolved { change, reason, .. } => {
                unresolved(change.as_ref(), reason, subject)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::estimate;
    use proptest::prelude::*;

    const SUBJECT: &str = "4k random-read IOPS at iodepth 32 x 4";

    fn said(ratio: f64, low: f64, high: f64) -> String {
        Verdict::of_interval(ratio, low, high, 0.02).sentence(SUBJECT)
    }

    #[test]
    fn sentences_name_their_subject() {
        let few = Verdict::of_rounds(&Err(Refusal::TooFewRounds { have: 3 }), 0.02);
        let visits = Verdict::of_visits(&Err(Refusal::TooFewVisits { have: 2 }), 0.02);
        let visit = Verdict::of_visits(&Err(Refusal::TooFewVisits { have: 1 }), 0.02);
        let wide = ": the interval includes zero and reaches beyond 2 %";
        let lines = [
            (said(0.939, 0.931, 0.947), format!("costs 6.10 % +- 0.80 % of {SUBJECT}")),
            (said(1.25, 1.20, 1.31), format!("gains 25.0 % +- 6.0 % in {SUBJECT}")),
            (said(1.001, 0.992, 1.0101), format!("no difference above 1.1 % in {SUBJECT}")),
            (said(0.99, 0.95, 1.03), format!("unresolved in {SUBJECT} (+- 4.0 %){wide}")),
            (
                few.sentence(SUBJECT),
                format!("unresolved in {SUBJECT}: 3 whole rounds, an interval needs 16"),
            ),
            (
                visits.sentence(SUBJECT),
                format!(
                    "unresolved in {SUBJECT}: 2 paired visits, an interval needs 4 (or 3 attaches)"
                ),
            ),
            (
                visit.sentence(SUBJECT),
                format!(
                    "unresolved in {SUBJECT}: 1 paired visit, an interval needs 4 (or 3 attaches)"
                ),
            ),
        ];
        lines.iter().for_each(|(said, expected)| assert_eq!(said, expected));
    }

    #[test]
    fn a_small_sure_difference_is_a_cost_not_nothing() {
        assert!(matches!(Verdict::of_interval(0.995, 0.991, 0.999, 0.02), Verdict::Costs { .. }));
        assert!(matches!(Verdict::of_interval(1.0, 0.97, 1.03, 0.02), Verdict::Unresolved { .. }));
        assert!(matches!(
            Verdict::of_interval(1.0, 0.97, 1.03, 0.05),
            Verdict::NoDifference { .. }
        ));
    }

    #[test]
    fn dependent_batches_are_refused() {
        let trend: Vec<_> = (0..32).map(|i| (100.0, 90.0 - 0.5 * f64::from(i))).collect();
        let verdict = Verdict::of_rounds(&estimate(&trend), 0.02);
        assert!(matches!(
            &verdict,
            Verdict::Unresolved {
                half_width: Some(_),
                reason: Refusal::DependentBatches { .. },
                ..
            }
        ));
        assert!(verdict.sentence(SUBJECT).contains("the noise outlasts a batch"));
        let Verdict::Unresolved { reason, .. } = verdict else { unreachable!() };
        assert!(reason.remedy().is_some_and(|remedy| remedy.contains("measure longer")));
    }

    proptest! {
        #[test]
        fn a_against_a_is_symmetric(low in 0.8..1.0f64, high in 1.0..1.2f64) {
            let ratio = (low * high).sqrt();
            let one = Verdict::of_interval(ratio, low, high, 0.02);
            let other = Verdict::of_interval(1.0 / ratio, 1.0 / high, 1.0 / low, 0.02);
            // The zone is in fractions of the baseline, so at its very edge the two may differ.
            let edge = |x: f64| (x - 0.02).abs() < 1e-3;
            prop_assume!(!edge(1.0 - low) && !edge(high - 1.0));
            prop_assert_eq!(one.is_resolved(), other.is_resolved());
        }
    }
}
