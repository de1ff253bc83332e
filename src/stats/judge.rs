//! The judge: from the rounds of two stacks to a verdict or to the reason why there is none. Real runs and the
//! simulations of `selfcheck stats` come here alike.

use super::carry::{self, CarryOver};
use super::length::{self, LengthCheck};
use super::level::{self, Meaning, Split};
use super::ratio;
use super::rounds::{Round, Value, pairs_by_visit};
use super::{Ratio, Refusal, Verdict};

/// Which two, and what is asked of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// The baseline.
    pub a: usize,
    /// The stack.
    pub b: usize,
    /// What a slice is worth.
    pub value: Value,
    /// Zone within which "no difference" may be said, a fraction.
    pub zone: f64,
    /// Wished half-width, a fraction: what disturbs by less is let pass.
    pub precision: f64,
}

/// The verdict with all that it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Rate of B over rate of A.
    pub ratio: Result<Ratio, Refusal>,
    /// The conclusion, of this comparison by itself.
    pub verdict: Verdict,
    /// A break of the level.
    pub split: Option<Split>,
    /// Carry-over of the baseline and of the stack.
    pub carry_over: [Option<CarryOver>; 2],
    /// Long slices against the others.
    pub length: Option<LengthCheck>,
}

/// Judges.
pub fn judge(rounds: &[Round], question: &Question) -> Judged {
    let Question { a, b, value, zone, .. } = *question;
    let visits = pairs_by_visit(rounds, a, b, value);
    let found = ratio::stratified(&visits);
    let carry_over = [a, b].map(|stack| carry::of(rounds, stack, value));
    let length = found.as_ref().ok().and_then(|plain| length::check(rounds, a, b, value, plain));
    // A break between two set-ups is none: each has its own level.
    let split = if visits.len() == 1 { level::split(&visits[0]) } else { None };
    let withheld = found.as_ref().ok().and_then(|found| {
        let allowed = question.precision.max(found.ratio.ln().abs() / 3.0);
        withhold(split, carry_over, length, allowed)
    });
    let found = found.map(|found| if value == Value::Time { found.inverted() } else { found });
    let verdict = match withheld {
        Some(reason) => Verdict::withheld(&found, reason),
        None => Verdict::of_rounds(&found, zone),
    };
    Judged { ratio: found, verdict, split, carry_over, length }
}

/// What spoils a comparison however narrow its interval.
fn withhold(
    split: Option<Split>,
    carry_over: [Option<CarryOver>; 2],
    length: Option<LengthCheck>,
    allowed: f64,
) -> Option<Refusal> {
    match split {
        Some(split) if split.meaning == Meaning::RateLimited => return Some(Refusal::RateLimited { split }),
        Some(split) if split.meaning == Meaning::RatioToo => return Some(Refusal::Regimes { split }),
        _ => {}
    }
    let carried = carry_over.into_iter().enumerate().find_map(|(at, found)| {
        let found = found.filter(|found| found.exceeds(allowed))?;
        Some(Refusal::CarryOver { of_baseline: at == 0, found })
    });
    let length = length.filter(|found| found.disagrees(allowed));
    carried.or(length.map(|found| Refusal::LengthMatters { found }))
}
