//! Finds carry-over: the rate of a stack's slices depends on the stack that ran before. Switching
//! then changes the measurement itself (one stack fills a cache for the other, or leaves work
//! behind), and the cost is not the stack's own.

use super::checks::CarryOver;
use super::rounds::{Round, RoundKind, RoundPart, SliceValue};
use super::spread::{MeanSpread, mean};
use super::student::Uncertain;

/// Confidence that a carry-over must reach. It withholds verdicts, so chance must hardly ever
/// trigger it.
const CONFIDENCE: f64 = 0.999;

/// Estimates the carry-over of one stack over its plain rounds. `None` below 16 rounds in which it
/// ran both after itself and after another stack; those of [`super::pilot::Pattern::Double`] do not
/// count.
pub fn carry_over(rounds: &[Round], stack: usize, value: SliceValue) -> Option<CarryOver> {
    let contrasts = contrasts(rounds, stack, value);
    let centre = mean(&contrasts);
    let spread =
        MeanSpread::from_residuals(&contrasts.iter().map(|one| one - centre).collect::<Vec<_>>())
            .ok()?;
    let found =
        Uncertain { value: centre, error: spread.standard_error(), freedom: spread.freedom };
    Some(CarryOver { effect: centre, half_width: found.half_width(CONFIDENCE), rounds: spread.n })
}

/// Returns for each round that counts the stack's mean rate after another stack minus that after
/// itself, divided by its mean rate in all plain rounds. In random order either comes first about
/// equally often, and drift over one round is far below the effects of interest.
fn contrasts(rounds: &[Round], stack: usize, value: SliceValue) -> Vec<f64> {
    let mut before: Option<(u32, usize)> = None;
    let (mut contrasts, mut all) = (Vec::new(), Vec::new());
    for round in rounds {
        let (mut same, mut other) = (Vec::new(), Vec::new());
        for part in &round.parts {
            let follows = before.filter(|(visit, _)| *visit == round.visit);
            if part.stack == stack && round.kind == RoundKind::Plain {
                let rate = part_rate(part, value);
                all.push(rate);
                match follows {
                    Some((_, earlier)) if earlier == stack => same.push(rate),
                    Some(_) => other.push(rate),
                    None => {}
                }
            }
            before = Some((round.visit, part.stack));
        }
        // A doubled pattern was chosen because of a periodic disturbance, which always meets the
        // same places in it.
        let doubled = same.len() + other.len() > 2 && !round.in_series;
        if !same.is_empty() && !other.is_empty() && !doubled {
            contrasts.push(mean(&other) - mean(&same));
        }
    }
    let level = mean(&all);
    contrasts.into_iter().map(|one| one / level).collect()
}

/// Returns the rate of a slice for either kind of value, so that a positive effect always means a
/// higher rate.
fn part_rate(part: &RoundPart, value: SliceValue) -> f64 {
    match value {
        SliceValue::Rate => part.amount / part.seconds,
        SliceValue::Time => {
            1.0 / SliceValue::Time.of_totals(part.amount, part.seconds).max(f64::MIN_POSITIVE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use crate::schedule::Schedule;

    /// Stack 1 loses a share of its rate when it follows another.
    fn measured(seed: u64, loss: f64, stacks: usize) -> Vec<Round> {
        let (mut schedule, mut noise) = (Schedule::new(seed, 0), Noise::new(seed));
        let mut before = usize::MAX;
        let mut round = || {
            let part = |stack: usize| {
                let lost = if stack == 1 && before != 1 { loss } else { 0.0 };
                before = stack;
                RoundPart {
                    stack,
                    amount: 100.0 * (1.0 - lost) * (1.0 + 0.03 * noise.normal()),
                    seconds: 1.0,
                }
            };
            Round {
                kind: RoundKind::Plain,
                parts: schedule.round(stacks).into_iter().map(part).collect(),
                ..Round::default()
            }
        };
        (0..200).map(|_| round()).collect()
    }

    #[test]
    fn a_series_of_many_slices_shows_it_in_each_round() {
        let series = |loss| -> Vec<Round> {
            let of_many = |rounds: &[Round]| Round {
                in_series: true,
                parts: rounds.iter().flat_map(|round| round.parts.clone()).collect(),
                ..Round::default()
            };
            measured(3, loss, 2).chunks(10).map(of_many).collect()
        };
        let found = carry_over(&series(0.06), 1, SliceValue::Rate).unwrap();
        assert!(
            found.exceeds(0.02) && (found.effect + 0.06).abs() < 0.03 && found.rounds == 20,
            "{found:?}"
        );
        assert!(!carry_over(&series(0.0), 1, SliceValue::Rate).unwrap().exceeds(0.0));
        let apart: Vec<Round> =
            series(0.06).into_iter().map(|round| Round { in_series: false, ..round }).collect();
        assert_eq!(carry_over(&apart, 1, SliceValue::Rate), None, "a doubled pattern says nothing");
    }

    #[test]
    fn what_follows_another_is_told_from_what_follows_itself() {
        for stacks in [2, 3] {
            let rounds = measured(1, 0.06, stacks);
            let found = carry_over(&rounds, 1, SliceValue::Rate).unwrap();
            assert!(
                found.exceeds(0.02) && (found.effect + 0.06).abs() < 0.03,
                "{stacks}: {found:?}"
            );
            let baseline = carry_over(&rounds, 0, SliceValue::Rate).unwrap();
            assert!(!baseline.exceeds(0.0), "{baseline:?}");
        }
    }

    #[test]
    fn noise_carries_nothing_over() {
        let wrong = (0..200)
            .filter(|seed| {
                carry_over(&measured(*seed, 0.0, 2), 1, SliceValue::Rate).unwrap().exceeds(0.0)
            })
            .count();
        assert!(wrong <= 3, "{wrong} of 200");
        assert_eq!(
            carry_over(&measured(1, 0.0, 2)[..10], 1, SliceValue::Rate),
            None,
            "too few to tell"
        );
    }
}
