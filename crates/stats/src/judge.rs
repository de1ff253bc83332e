//! Turns the rounds of two stacks into a verdict, or into the reason why there is no verdict. Real
//! runs and the simulations of `selfcheck stats` both use it.

use super::checks::{CarryOver, LengthCheck, LevelSplit, Meaning};
use super::ratio;
use super::rounds::{Round, SliceValue, pairs_by_stratum};
use super::{Concludes, Ratio, Refusal, Verdict, carry, length, level};

/// Question that [`judge`] answers: two stacks, and what is demanded of their comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Index of the baseline.
    pub a: usize,
    /// Index of the stack.
    pub b: usize,
    /// Kind of value that a slice yields.
    pub value: SliceValue,
    /// Zone within which "no difference" may be said, as a fraction.
    pub zone: f64,
    /// Desired half-width of ln R. Smaller disturbances are tolerated, and so are those below a
    /// third of |ln R|.
    pub precision: f64,
}

/// The verdict with everything that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedRatio {
    /// Rate of B over rate of A with its interval, or the reason why there is none.
    pub ratio: Result<Ratio, Refusal>,
    /// Estimate of the ratio without an interval, for which one round of each stratum is enough;
    /// `None` if there are no rounds or a stack completed nothing.
    pub point: Option<f64>,
    /// Conclusion from this comparison alone: its interval does not hold simultaneously with
    /// others.
    pub verdict: Verdict,
    /// Break of the level, if one was found. Rounds of several strata are not searched.
    pub split: Option<LevelSplit>,
    /// Carry-over of the baseline and of the stack; `None` if there are too few rounds to estimate
    /// it.
    pub carry_over: [Option<CarryOver>; 2],
    /// Comparison of long slices with the others; `None` if there are too few long rounds.
    pub length: Option<LengthCheck>,
}

/// Compares a stack with the baseline: estimates the ratio, looks for disturbances, and concludes.
pub fn judge(rounds: &[Round], question: &Question) -> JudgedRatio {
    let Question { a, b, value, zone, .. } = *question;
    let strata = pairs_by_stratum(rounds, a, b, value);
    let found = ratio::stratified(&strata);
    let turned = |point: f64| if value == SliceValue::Time { 1.0 / point } else { point };
    let point = ratio::point(&strata).ok().map(turned);
    let carry_over = [a, b].map(|stack| carry::carry_over(rounds, stack, value));
    let length =
        found.as_ref().ok().and_then(|plain| length::check_length(rounds, a, b, value, plain));
    // A break between two strata does not count: each has its own level.
    let split = if strata.len() == 1 { level::split(&strata[0]) } else { None };
    // From here on all results are about rates, as the verdict is.
    let (split, length) = match value {
        SliceValue::Rate => (split, length),
        SliceValue::Time => (split.map(LevelSplit::inverted), length.map(LengthCheck::inverted)),
    };
    let withheld = found.as_ref().ok().and_then(|found| {
        let allowed = question.precision.max(found.ratio.ln().abs() / 3.0);
        withhold(split, carry_over, length, allowed)
    });
    let found = found.map(|found| if value == SliceValue::Time { found.inverted() } else { found });
    let verdict = match withheld {
        Some(reason) => Verdict::withheld_for(&found, reason),
        None => Verdict::of_rounds(&found, zone),
    };
    JudgedRatio { ratio: found, point, verdict, split, carry_over, length }
}

/// Returns the refusal for a break of the level, carry-over or effect of the slices' length that
/// spoils a comparison, however narrow its interval is. `allowed` is the largest carry-over, or
/// difference of ln R between lengths, that is tolerated.
fn withhold(
    split: Option<LevelSplit>,
    carry_over: [Option<CarryOver>; 2],
    length: Option<LengthCheck>,
    allowed: f64,
) -> Option<Refusal> {
    match split {
        Some(split) if split.meaning == Meaning::RateLimited => {
            return Some(Refusal::RateLimited { split });
        }
        Some(split) if split.meaning == Meaning::RatioToo => {
            return Some(Refusal::Regimes { split });
        }
        _ => {}
    }
    let carried = carry_over.into_iter().enumerate().find_map(|(at, found)| {
        let found = found.filter(|found| found.exceeds(allowed))?;
        Some(Refusal::CarryOver { of_baseline: at == 0, found })
    });
    let length = length.filter(|found| found.disagrees(allowed));
    carried.or(length.map(|found| Refusal::LengthMatters { found }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::rounds::{RoundKind, RoundPart};

    /// Rounds on equal bytes: the level falls to a half in the middle, and the stack's cost changes
    /// with it.
    fn writes(costs: [f64; 2], long_cost: f64) -> Vec<Round> {
        let mut noise = Noise::new(3);
        let mut round = |number: u32| {
            let kind = if number % 10 == 9 { RoundKind::Long } else { RoundKind::Plain };
            let late = number >= 100;
            let cost = if kind == RoundKind::Long { long_cost } else { costs[usize::from(late)] };
            let pace = if late && costs[0] != costs[1] { 50.0 } else { 100.0 };
            let mut part = |stack: usize, rate: f64| {
                let seconds = 1.0 / (rate * (1.0 + 0.01 * noise.normal()));
                RoundPart { stack, amount: 1.0, seconds }
            };
            let parts = [0, 1, 1, 0]
                .map(|stack| part(stack, if stack == 1 { pace * (1.0 - cost) } else { pace }));
            Round { kind, parts: parts.to_vec(), ..Round::default() }
        };
        (0..200).map(&mut round).collect()
    }

    fn judged(rounds: &[Round]) -> JudgedRatio {
        judge(
            rounds,
            &Question { a: 0, b: 1, value: SliceValue::Time, zone: 0.02, precision: 0.01 },
        )
    }

    #[test]
    fn regimes_of_writes_are_told_in_rates() {
        let found = judged(&writes([0.1, 0.3], 0.2));
        let Some(Refusal::Regimes { split }) = found.verdict.reason() else {
            panic!("{:?}", found.verdict)
        };
        let near = |found: f64, truth: f64| (found / truth - 1.0).abs() < 0.02;
        assert!(near(split.before.ratio, 0.9) && near(split.after.ratio, 0.7), "{split:?}");
        assert!(near(split.before.level, 100.0), "bytes a second, not seconds: {split:?}");
        assert_eq!(found.split.map(|split| split.before), Some(split.before));
    }

    #[test]
    fn a_length_that_matters_to_writes_is_told_in_rates() {
        let found = judged(&writes([0.1, 0.1], 0.3));
        let Some(Refusal::LengthMatters { found }) = found.verdict.reason() else {
            panic!("{:?}", found.verdict)
        };
        assert!((found.ratio - 0.7).abs() < 0.02 && found.difference < -0.2, "{found:?}");
    }
}
