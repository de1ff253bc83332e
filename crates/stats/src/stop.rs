//! Decides when to stop: on precision, never on significance, and only at numbers of rounds (looks)
//! that were fixed beforehand. Stopping as soon as an interval excludes zero would find a false
//! cost in half of all runs.

use super::checks::Meaning;
use super::level;
use super::ratio::{Ratio, estimate};
use super::spread::BATCHES;

/// Precision that the user asked for, and the time it may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopSpec {
    /// Desired half-width of ln R, as a fraction (0.01: one percentage point).
    pub precision: f64,
    /// Seconds before which measuring stops only if the budget is used up.
    pub min_time_s: f64,
    /// Seconds after which measuring stops at the latest.
    pub budget_s: f64,
}

/// Reason why measuring ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every comparison is as precise as desired and its batches are independent.
    Precision,
    /// A rate limit set in. It hides the cost, and further rounds show nothing more.
    RateLimited,
    /// The time is used up.
    Budget,
}

/// Decision after a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Go on measuring. Until `next_look` only the budget can end the run.
    Continue {
        /// Number of rounds at the next look.
        next_look: usize,
    },
    /// Stop measuring, for this reason.
    Stop(StopReason),
}

/// Decides after a round. `comparisons` holds for each stack the values `(baseline, stack)` of all
/// its rounds so far; all must be precise, or rate-limited, at once. This is looked at only at the
/// numbers of rounds that [`look_after`] gives, however often the function is called.
pub fn decide(comparisons: &[&[(f64, f64)]], elapsed_s: f64, spec: &StopSpec) -> Decision {
    if elapsed_s >= spec.budget_s {
        return Decision::Stop(StopReason::Budget);
    }
    let n = comparisons.iter().map(|rounds| rounds.len()).min().unwrap_or(0);
    let may_stop = !comparisons.is_empty() && is_look(n) && elapsed_s >= spec.min_time_s;
    if may_stop && comparisons.iter().all(|rounds| is_precise(rounds, spec) || is_limited(rounds)) {
        let limited = comparisons.iter().any(|rounds| is_limited(rounds));
        return Decision::Stop(if limited {
            StopReason::RateLimited
        } else {
            StopReason::Precision
        });
    }
    Decision::Continue { next_look: look_after(n) }
}

/// Returns the half-width of ln R that is precise enough: the desired one, or a tenth of |ln R| if
/// that is larger.
pub fn target(found: &Ratio, spec: &StopSpec) -> f64 {
    spec.precision.max(0.1 * found.ratio.ln().abs())
}

/// Estimates how many rounds a comparison will need in all if its noise stays as it is; for the
/// display of the time left.
pub fn rounds_needed(found: &Ratio, spec: &StopSpec) -> usize {
    let shortfall = found.half_width() / target(found, spec);
    let rounds = (found.spread.n as f64 * shortfall * shortfall).ceil();
    (rounds.min(1e9) as usize).max(BATCHES)
}

fn is_precise(rounds: &[(f64, f64)], spec: &StopSpec) -> bool {
    estimate(rounds)
        .is_ok_and(|found| found.half_width() <= target(&found, spec) && found.gate().holds())
}

fn is_limited(rounds: &[(f64, f64)]) -> bool {
    level::split(rounds).is_some_and(|split| split.meaning == Meaning::RateLimited)
}

/// Returns the next number of rounds after `n` at which measuring may stop: one by one from 16 to
/// 100, then in steps of 2 %.
pub fn look_after(n: usize) -> usize {
    let mut look = BATCHES;
    while look <= n {
        look += (look / 50).max(1);
    }
    look
}

fn is_look(n: usize) -> bool {
    n >= BATCHES && look_after(n - 1) == n
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: StopSpec = StopSpec { precision: 0.01, min_time_s: 10.0, budget_s: 300.0 };

    fn quiet(n: usize) -> Vec<(f64, f64)> {
        (0..n).map(|i| (100.0, [98.1, 97.9, 97.9, 98.1][i % 4])).collect()
    }

    fn loud(n: usize) -> Vec<(f64, f64)> {
        (0..n).map(|i| (100.0, [150.0, 50.0, 50.0, 150.0][i % 4])).collect()
    }

    #[test]
    fn looks_are_a_geometric_grid() {
        assert_eq!(look_after(0), 16);
        assert_eq!(look_after(16), 17);
        let mut look = look_after(400);
        for _ in 0..50 {
            let next = look_after(look);
            assert!(is_look(next) && (1.015..=1.025).contains(&(next as f64 / look as f64)));
            look = next;
        }
        assert!((0..1000).filter(|n| is_look(*n)).count() < 250);
    }

    #[test]
    fn all_conditions_are_needed() {
        let at = |rounds: &[(f64, f64)], elapsed| decide(&[rounds], elapsed, &SPEC);
        assert_eq!(at(&quiet(20), 12.0), Decision::Stop(StopReason::Precision));
        assert!(matches!(at(&quiet(20), 9.0), Decision::Continue { next_look: 21 }), "too early");
        assert!(
            matches!(at(&quiet(12), 12.0), Decision::Continue { next_look: 16 }),
            "too few rounds"
        );
        assert!(matches!(at(&loud(20), 12.0), Decision::Continue { .. }), "too wide");
        assert_eq!(at(&loud(20), 300.0), Decision::Stop(StopReason::Budget));
        assert_eq!(at(&[], 300.0), Decision::Stop(StopReason::Budget));
        assert!(
            matches!(decide(&[], 20.0, &SPEC), Decision::Continue { .. }),
            "nothing to compare is not precise"
        );
    }

    #[test]
    fn dependent_batches_go_on() {
        let trend: Vec<_> = (0..20).map(|i| (100.0, 98.0 + 0.002 * f64::from(i))).collect();
        assert!(estimate(&trend).unwrap().half_width() < 0.01);
        assert!(matches!(decide(&[&trend], 20.0, &SPEC), Decision::Continue { .. }));
    }

    #[test]
    fn every_comparison_must_be_done() {
        assert!(matches!(decide(&[&quiet(20), &loud(20)], 20.0, &SPEC), Decision::Continue { .. }));
        assert_eq!(
            decide(&[&quiet(20), &quiet(20)], 20.0, &SPEC),
            Decision::Stop(StopReason::Precision)
        );
    }

    #[test]
    fn a_large_effect_needs_a_tenth_of_itself() {
        let halved: Vec<_> = (0..20).map(|i| (100.0, [54.0, 46.0, 46.0, 54.0][i % 4])).collect();
        let found = estimate(&halved).unwrap();
        assert!(found.half_width() > 0.01 && found.half_width() < 0.0693, "{}", found.half_width());
        assert_eq!(decide(&[&halved], 20.0, &SPEC), Decision::Stop(StopReason::Precision));
        assert!(rounds_needed(&estimate(&loud(20)).unwrap(), &SPEC) > 1000);
    }
}
