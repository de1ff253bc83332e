//! Comparisons in short slices: series of about 125 ms in which stacks take turns, each of them a
//! round of the statistics. Orders, stopping and verdicts are those of real runs; the make-up of a
//! series follows `crates/measure/src/series.rs`.

pub mod fine;
pub mod kinds;
mod lines;
pub mod machine;

use super::conduct::Conducted;
use crate::judge::{JudgedRatio, Question, judge};
use crate::length::is_chosen;
use crate::pilot::{Design, Pattern};
use crate::ratio::{self, Difference, Total};
use crate::rounds::{Round, RoundKind, SliceValue};
use crate::stop::{Decision, StopSpec};
use crate::trial::{RoundTrial, TrialSpec};
use machine::ShortMachine;

/// Plan by which stacks take turns.
#[derive(Clone, Copy, Debug)]
pub struct SeriesPlan {
    /// Length of a series, in seconds.
    pub series_s: f64,
    /// Number of turns of the queue that a slice discards; in a turn, each I/O in flight completes
    /// once.
    pub discarded_turns: f64,
    /// Seconds of load after which the machine rests, and the seconds of rest; `None` if it never
    /// rests.
    pub rests: Option<(f64, f64)>,
}

/// Plan that real runs use.
pub const PLAN: SeriesPlan = SeriesPlan { series_s: 0.125, discarded_turns: 3.0, rests: None };

const LEAST_DISCARD_S: f64 = 1e-4;
const LEAST_WINDOW_S: f64 = 1e-3;
/// Longest window, in seconds; real runs measure slower stacks slice by slice.
const LONGEST_WINDOW_S: f64 = 20e-3;
const WINDOW_OF_DISCARD: f64 = 4.0;
/// Factor by which the slices of a long series are longer; one in [`LONG_ONE_OF`] series is long.
const LONG_TIMES: u32 = 8;
const LONG_ONE_OF: u32 = 8;
/// Seconds that each stack runs by itself before the first series.
const ALONE_S: f64 = 0.1;
/// Seconds from the end of a series to the next: the answer, its record and the next request.
const BETWEEN_S: f64 = 2e-3;

/// Measurements of a run that consists of series.
#[derive(Clone, Debug)]
pub struct SeriesRun {
    /// Rounds in order of time; those before and after a rest belong to different visits.
    pub rounds: Vec<Round>,
    /// Machine time in all without rests, in seconds.
    pub took_s: f64,
    /// Length of a window, in seconds.
    pub window_s: f64,
}

/// Returns the true time that a stack of that cost adds to a lone I/O, in seconds, without noise of
/// its own.
fn added_s(cost: f64) -> f64 {
    machine::BASE_S * (1.0 / (1.0 - cost) - 1.0)
}

/// Measures series until `stop` is satisfied. The first stack is the baseline; `seed` is that of
/// the orders.
pub fn run_series(
    machine: &mut ShortMachine,
    plan: &SeriesPlan,
    stop: &StopSpec,
    seed: u64,
) -> SeriesRun {
    let stacks = machine.costs.len();
    let warm_up = |stack| machine.slice(stack, 0.0, ALONE_S);
    let warm: Vec<_> = (0..stacks).map(warm_up).collect();
    let slowest = warm.iter().map(|part| part.amount / part.seconds).fold(f64::INFINITY, f64::min);
    let turn_s = f64::from(machine.depth) / slowest.max(1.0);
    let discard_s = (plan.discarded_turns * turn_s).max(LEAST_DISCARD_S);
    let window_s = (WINDOW_OF_DISCARD * discard_s).clamp(LEAST_WINDOW_S, LONGEST_WINDOW_S);
    let orders =
        (plan.series_s / (2.0 * stacks as f64 * (window_s + discard_s))).ceil().max(1.0) as u32;
    let mut trial = RoundTrial::new(trial_spec(stacks, seed), &[]);
    let mut run = SeriesRun { rounds: Vec::new(), took_s: machine.at_s, window_s };
    let (mut measured_s, mut block_s, mut visit) = (0.0, 0.0, 0);
    for number in 0.. {
        let long = is_chosen(seed, number, LONG_ONE_OF);
        let (kind, times) =
            if long { (RoundKind::Long, LONG_TIMES) } else { (RoundKind::Plain, 1) };
        let order: Vec<usize> =
            (0..(orders / times).max(1)).flat_map(|_| trial.plan_round().order).collect();
        let began_s = machine.at_s;
        let slice = |stack| machine.slice(stack, discard_s, window_s * f64::from(times));
        let parts = order.into_iter().map(slice).collect();
        let round = Round { kind, visit, in_series: true, parts, ..Round::default() };
        machine.at_s += BETWEEN_S;
        block_s += machine.at_s - began_s;
        measured_s += machine.at_s - began_s;
        if let Some((_, pause_s)) = plan.rests.filter(|(load_s, _)| block_s >= *load_s) {
            machine.at_s += pause_s;
            block_s = 0.0;
            visit += 1;
        }
        trial.push(&round);
        run.rounds.push(round);
        if let Decision::Stop(_) = trial.decide(measured_s, stop) {
            break;
        }
    }
    run.took_s += measured_s;
    run
}

/// Carries out a whole comparison in short slices.
pub(super) fn conduct(
    machine: &mut ShortMachine,
    stop: &StopSpec,
    zone: f64,
    seed: u64,
) -> Conducted {
    let pilot_s = ALONE_S * machine.costs.len() as f64;
    let run = run_series(machine, &PLAN, stop, seed);
    let others = 1..machine.costs.len();
    Conducted {
        judged: others.clone().map(|stack| run.judge_stack(stack, stop, zone)).collect(),
        took_s: run.took_s,
        pilot_s,
        limited: 0.0,
        design: Design { slice_s: run.window_s, pattern: Pattern::Mirror, period_s: None },
        added: if machine.depth == 1 {
            others.map(|stack| run.added(stack)).collect()
        } else {
            Vec::new()
        },
        lone_s: machine.lone_s(),
    }
}

fn trial_spec(stacks: usize, seed: u64) -> TrialSpec {
    TrialSpec {
        stacks: (0..stacks).collect(),
        baseline: 0,
        value: SliceValue::Rate,
        pattern: Pattern::Mirror,
        long_rounds: false,
        seed,
        stream: 0,
        steady: None,
        preconditioned: Vec::new(),
    }
}

impl SeriesRun {
    /// Compares a stack with the first.
    pub fn judge_stack(&self, stack: usize, stop: &StopSpec, zone: f64) -> JudgedRatio {
        let question =
            Question { a: 0, b: stack, value: SliceValue::Rate, zone, precision: stop.precision };
        judge(&self.rounds, &question)
    }

    /// Returns the time that one I/O of a stack takes more than one of the first, in seconds;
    /// `None` if it cannot be estimated. It holds for one I/O in flight: the latencies in a window
    /// then add up to the window.
    pub fn added(&self, stack: usize) -> Option<Difference> {
        let total = |round: &Round, of: usize| {
            let ours = round.parts.iter().filter(|part| part.stack == of);
            ours.fold(Total::default(), |sum, part| {
                sum.plus(Total { sum: part.seconds, items: part.amount })
            })
        };
        let plain = self.rounds.iter().filter(|round| round.kind == RoundKind::Plain);
        let pairs = plain.map(|round| (total(round, 0), total(round, stack))).collect();
        ratio::difference(&[pairs]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::super::kinds::Class;
    use super::kinds::{ALL, ShortSource};
    use super::*;
    use crate::noise::Noise;

    const STOP: StopSpec = StopSpec { precision: 0.01, min_time_s: 2.0, budget_s: 10.0 };

    fn run(kind: &'static kinds::ShortKind, cost: f64, seed: u64) -> SeriesRun {
        let mut machine = ShortSource::MadeUp(kind).machine(&[0.0, cost], Noise::new(seed));
        run_series(&mut machine, &PLAN, &STOP, seed)
    }

    #[test]
    fn a_large_cost_is_found_under_every_kind() {
        for kind in ALL {
            let found = run(kind, 0.3, 1);
            let ratio = found.judge_stack(1, &STOP, 0.02).ratio.unwrap();
            let truth = ShortSource::MadeUp(kind).truth(0.3);
            assert!((ratio.ratio / truth - 1.0).abs() < 0.05, "{}: {ratio:?}", kind.name);
            assert!(found.took_s >= 2.0 && found.took_s < 11.0, "{}: {}", kind.name, found.took_s);
        }
    }

    #[test]
    fn series_are_as_real_ones() {
        let found = run(&ALL[0], 0.02, 3);
        let plain = found.rounds.iter().find(|round| round.kind == RoundKind::Plain).unwrap();
        let seconds: f64 = plain.parts.iter().map(|part| part.seconds).sum();
        assert!((1.2e-3..1.35e-3).contains(&(seconds / plain.parts.len() as f64)), "{seconds}");
        assert!((0.09..0.13).contains(&seconds) && plain.parts.len() % 4 == 0, "{seconds}");
        let long = found.rounds.iter().find(|round| round.kind == RoundKind::Long).unwrap();
        assert!(long.parts.iter().all(|part| part.seconds >= 8e-3), "{long:?}");
        assert!(ALL.iter().any(|kind| kind.class == Class::Hard));
    }

    #[test]
    fn added_time_is_that_of_one_io() {
        let found = run(&ALL[0], 0.2, 5).added(1).unwrap();
        let truth = machine::BASE_S / 0.8 - machine::BASE_S;
        assert!(
            (found.value - truth).abs() < 2.0 * found.half_width && found.half_width < 1.5e-6,
            "{found:?}"
        );
    }

    #[test]
    fn rests_part_visits_and_take_no_machine_time() {
        let mut machine = ShortSource::MadeUp(&ALL[0]).machine(&[0.0, 0.0], Noise::new(7));
        let plan = SeriesPlan { rests: Some((0.5, 10.0)), ..PLAN };
        let found = run_series(&mut machine, &plan, &STOP, 7);
        let visits = found.rounds.last().map_or(0, |last| last.visit);
        assert!((3..6).contains(&visits) && found.took_s < 11.0 && machine.at_s > 30.0, "{visits}");
    }
}
