//! Tests of trials on drives with a cache of writes.

use super::*;
use crate::noise::Noise;
use crate::rounds::RoundPart;
use crate::stop::StopReason;
use crate::{Refusal, ratio};

const MIB: f64 = 1024.0 * 1024.0;
/// Number of bytes in a slice. A round of two stacks, ABBA, writes four slices.
const SLICE: f64 = 10.0 * MIB;
const ROUND: f64 = 4.0 * SLICE;

/// A drive that both stacks write, with its pace as it fills.
struct Drive {
    noise: Noise,
    /// Number of bytes written so far.
    written: f64,
    /// Number of seconds so far.
    at_s: f64,
    /// Bytes per second through the baseline after so many bytes.
    pace: fn(f64) -> f64,
    /// Ratio of the seconds per byte through the stack to those through the baseline, after so many
    /// bytes.
    cost: fn(f64) -> f64,
}

impl Drive {
    fn new(seed: u64, pace: fn(f64) -> f64, cost: fn(f64) -> f64) -> Drive {
        Drive { noise: Noise::new(seed), written: 0.0, at_s: 0.0, pace, cost }
    }

    fn slice(&mut self, stack: usize) -> RoundPart {
        let times = if stack == 1 { (self.cost)(self.written) } else { 1.0 };
        let noise = 1.0 + 0.02 * self.noise.normal();
        let seconds = times * noise * SLICE / (self.pace)(self.written);
        self.written += SLICE;
        self.at_s += seconds;
        RoundPart { stack, amount: SLICE, seconds }
    }
}

fn trial(known_cache: Option<f64>) -> RoundTrial {
    let spec = TrialSpec {
        stacks: vec![0, 1],
        baseline: 0,
        value: SliceValue::Time,
        pattern: Pattern::Mirror,
        long_rounds: false,
        seed: 1,
        stream: 0,
        steady: Some(SteadySpec { known_cache, reaches: vec![vec![1.0; 2]; 2] }),
        preconditioned: Vec::new(),
    };
    RoundTrial::new(spec, &[])
}

#[test]
fn what_was_preconditioned_until_it_was_level_is_steady_from_the_first_round() {
    let round = |visit| Round {
        visit,
        parts: [0, 1, 1, 0].map(|stack| RoundPart { stack, amount: 1.0, seconds: 1.0 }).to_vec(),
        ..Round::default()
    };
    let mut trial = trial(None);
    let before = WrittenRound { preconditions: true, ..WrittenRound::from_round(&round(1)) };
    trial.spec.preconditioned = vec![before; 5];
    trial.push(&round(0));
    assert!(trial.judge_comparisons().is_err(), "the first visit was not preconditioned");
    (0..3).for_each(|_| trial.push(&round(1)));
    assert_eq!(trial.judge_comparisons().unwrap()[0].1.len(), 3);
}

/// Measures until the trial says stop. Returns the trial and the reason.
fn measured(
    drive: &mut Drive,
    known_cache: Option<f64>,
    budget_s: f64,
) -> (RoundTrial, StopReason) {
    let mut trial = trial(known_cache);
    let spec = StopSpec { precision: 0.01, min_time_s: 1.0, budget_s };
    loop {
        let order = trial.plan_round().order;
        let parts = order.into_iter().map(|stack| drive.slice(stack)).collect();
        trial.push(&Round { kind: RoundKind::Plain, visit: 0, parts, ..Round::default() });
        if let Decision::Stop(reason) = trial.decide(drive.at_s, &spec) {
            return (trial, reason);
        }
    }
}

fn cost_of(trial: &RoundTrial) -> f64 {
    let judged = trial.judge_comparisons().unwrap();
    ratio::ratio_of_totals(&judged[0].1).unwrap()
}

/// A cliff at 8 GiB, after which the layer costs 20 % more time in place of 5 %.
fn cliff(seed: u64) -> Drive {
    const AT: f64 = 8192.0 * MIB;
    Drive::new(
        seed,
        |written| MIB * if written < AT { 1000.0 } else { 350.0 },
        |written| if written < AT { 1.05 } else { 1.2 },
    )
}

#[test]
fn an_unknown_cache_is_found_by_its_cliff_and_only_what_lies_behind_counts() {
    for seed in 1..=5 {
        let mut drive = cliff(seed);
        let (trial, reason) = measured(&mut drive, None, 300.0);
        assert_eq!(reason, StopReason::Precision, "seed {seed}");
        assert!(drive.written >= 2.0 * 8192.0 * MIB, "as much again: {}", drive.written / MIB);
        let rounds = trial.judge_comparisons().unwrap()[0].1.len() as f64;
        assert!(
            (drive.written - 8192.0 * MIB - rounds * ROUND).abs() < 3.0 * ROUND,
            "{rounds} rounds"
        );
        assert!((cost_of(&trial) - 1.2).abs() < 0.02, "{}", cost_of(&trial));
    }
}

#[test]
fn a_named_cache_is_filled_before_precision_counts() {
    let flat = |seed| Drive::new(seed, |_| 1000.0 * MIB, |_| 1.05);
    let mut drive = flat(6);
    let (trial, reason) = measured(&mut drive, Some(4096.0 * MIB), 300.0);
    assert_eq!(reason, StopReason::Precision);
    assert!((4096.0 * MIB..6000.0 * MIB).contains(&drive.written), "{}", drive.written / MIB);
    let behind = (drive.written - 4096.0 * MIB) / ROUND;
    assert!((trial.judge_comparisons().unwrap()[0].1.len() as f64 - behind).abs() <= 1.0);
    // Measured as a burst, the same drive needs a part of that.
    let mut burst = flat(6);
    let mut short = trial.clone();
    short.spec.steady = None;
    short = RoundTrial::new(short.spec, &[]);
    let spec = StopSpec { precision: 0.01, min_time_s: 1.0, budget_s: 300.0 };
    while short.decide(burst.at_s, &spec) != Decision::Stop(StopReason::Precision) {
        let order = short.plan_round().order;
        let parts = order.into_iter().map(|stack| burst.slice(stack)).collect();
        short.push(&Round { kind: RoundKind::Plain, visit: 0, parts, ..Round::default() });
    }
    assert!(burst.written < 0.5 * drive.written);
}

#[test]
fn without_cliff_or_known_cache_only_the_budget_ends_it() {
    let mut flat = Drive::new(7, |_| 1000.0 * MIB, |_| 1.05);
    let (trial, reason) = measured(&mut flat, None, 40.0);
    assert_eq!(reason, StopReason::Budget);
    let refused = trial.judge_comparisons().unwrap_err();
    assert_eq!(
        refused,
        Refusal::SteadyNotShown { written: flat.written as u64, known_cache: None }
    );
}

#[test]
fn a_slow_slope_is_no_cliff() {
    let mut slope =
        Drive::new(8, |written| MIB * (1000.0 - 300.0 * written / (30_000.0 * MIB)), |_| 1.05);
    let (trial, reason) = measured(&mut slope, None, 35.0);
    assert_eq!(reason, StopReason::Budget);
    assert!(trial.judge_comparisons().is_err());
}

#[test]
fn a_named_cache_that_was_too_small_gives_way_to_the_cliff_behind_it() {
    let mut drive = cliff(9);
    let mut trial = trial(Some(4096.0 * MIB));
    while drive.written < 12_000.0 * MIB {
        let order = trial.plan_round().order;
        let parts = order.into_iter().map(|stack| drive.slice(stack)).collect();
        trial.push(&Round { kind: RoundKind::Plain, visit: 0, parts, ..Round::default() });
    }
    assert!((cost_of(&trial) - 1.2).abs() < 0.02, "{}", cost_of(&trial));
}

#[test]
fn a_new_visit_begins_anew() {
    let mut drive = Drive::new(10, |_| 1000.0 * MIB, |_| 1.05);
    let (first, _) = measured(&mut drive, Some(4096.0 * MIB), 300.0);
    let before = first.judge_comparisons().unwrap()[0].1.len();
    let mut trial = first;
    let mut round = |trial: &mut RoundTrial| {
        let order = trial.plan_round().order;
        let parts = order.into_iter().map(|stack| drive.slice(stack)).collect();
        trial.push(&Round { kind: RoundKind::Plain, visit: 1, parts, ..Round::default() });
    };
    let spec = StopSpec { precision: 0.01, min_time_s: 1.0, budget_s: 300.0 };
    for _ in 0..50 {
        round(&mut trial);
        assert!(
            matches!(trial.decide(20.0, &spec), Decision::Continue { .. }),
            "the cache was emptied"
        );
    }
    assert_eq!(trial.judge_comparisons().unwrap()[0].1.len(), before);
}

#[test]
fn a_cliff_that_a_cache_hides_shows_in_the_flush() {
    let mut drive = cliff(11);
    let mut trial = trial(None);
    while drive.written < 20_000.0 * MIB {
        let parts: Vec<RoundPart> =
            trial.plan_round().order.into_iter().map(|stack| drive.slice(stack)).collect();
        let taken = |stack| {
            parts.iter().filter(|part| part.stack == stack).map(|part| part.seconds).sum::<f64>()
        };
        let flushes = [taken(0), taken(1)];
        // Memory takes everything at once, and the flush waits for it.
        let quick = parts.iter().map(|part| RoundPart { seconds: 0.001, ..*part }).collect();
        trial.push(&Round { kind: RoundKind::Plain, visit: 0, parts: quick, ..Round::default() });
        if flushes[0] > 0.0 {
            trial.flushed(0, flushes[0]);
            trial.flushed(1, flushes[1]);
        }
    }
    assert!(trial.is_steady());
    trial
        .writes
        .iter_mut()
        .flat_map(|writes| &mut writes.stacks)
        .for_each(|wrote| wrote.durable_s = None);
    assert!(!trial.is_steady(), "without the flushes nothing shows");
}
