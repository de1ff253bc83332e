//! Carries out a whole comparison on a simulated machine: pilot, rounds, stop and verdict, by the
//! functions that decide real runs.

use super::machine::SimulatedMachine;
use crate::checks;
use crate::judge::{JudgedRatio, Question, judge};
use crate::pilot::{self, Design, DesignBounds, PilotSlice};
use crate::ratio::Difference;
use crate::rounds::{Round, RoundKind, SliceValue};
use crate::stop::{Decision, StopSpec};
use crate::trial::{RoundTrial, TrialSpec};

/// Conclusions of a comparison, with the time they took.
#[derive(Clone, Debug)]
pub struct Conducted {
    /// Judgement of each stack but the first against the first.
    pub judged: Vec<JudgedRatio>,
    /// Machine time in all, in seconds.
    pub took_s: f64,
    /// Part of that time before the first round (warm-up and pilot), in seconds.
    pub pilot_s: f64,
    /// Share of the rounds' windows, by time, that ran at a limit.
    pub limited: f64,
    /// Design that the pilot chose.
    pub design: Design,
    /// Time added to each I/O of every stack but the first, in seconds; empty unless one I/O is in
    /// flight at a time.
    pub added: Vec<Option<Difference>>,
    /// True mean time of an I/O of the first stack, in seconds, if one is in flight at a time;
    /// otherwise not used.
    pub lone_s: f64,
}

/// Carries out a comparison. The machine's first stack is the baseline; `seed` is that of the
/// orders.
pub fn conduct(machine: &mut SimulatedMachine, stop: &StopSpec, zone: f64, seed: u64) -> Conducted {
    let stacks: Vec<usize> = (0..machine.costs.len()).collect();
    let design = piloted(machine, stop);
    let spec = TrialSpec {
        stacks: stacks.clone(),
        baseline: 0,
        value: SliceValue::Rate,
        pattern: design.pattern,
        long_rounds: true,
        seed,
        stream: 0,
        steady: None,
        preconditioned: Vec::new(),
    };
    let mut trial = RoundTrial::new(spec, &[]);
    let (began, limited_before) = (machine.at_s, machine.limited_s);
    let mut rounds: Vec<Round> = Vec::new();
    loop {
        rounds.push(round(machine, &mut trial, design.slice_s));
        trial.push(&rounds[rounds.len() - 1]);
        if let Decision::Stop(_) = trial.decide(machine.at_s - began, stop) {
            break;
        }
    }
    let question =
        |b: usize| Question { a: 0, b, value: SliceValue::Rate, zone, precision: stop.precision };
    let windows: f64 = rounds.iter().flat_map(|round| &round.parts).map(|part| part.seconds).sum();
    Conducted {
        judged: stacks[1..].iter().map(|b| judge(&rounds, &question(*b))).collect(),
        took_s: machine.at_s,
        pilot_s: began,
        limited: (machine.limited_s - limited_before) / windows,
        design,
        added: Vec::new(),
        lone_s: 0.0,
    }
}

fn round(machine: &mut SimulatedMachine, trial: &mut RoundTrial, slice_s: f64) -> Round {
    let planned = trial.plan_round();
    let times = if planned.kind == RoundKind::Long { checks::TIMES as f64 } else { 1.0 };
    let parts = planned.order.iter().map(|stack| machine.slice(*stack, slice_s * times)).collect();
    Round { kind: planned.kind, parts, ..Round::default() }
}

/// Chooses the design. Warm-up slices of every stack show the rate of the slowest; then the pilot
/// runs on the baseline.
fn piloted(machine: &mut SimulatedMachine, stop: &StopSpec) -> Design {
    let stacks = machine.costs.len();
    let warm_up = |stack| machine.slice(stack, pilot::SLICE_S);
    let warm: Vec<_> = (0..stacks).map(warm_up).collect();
    let slowest = warm.iter().map(|part| part.amount / part.seconds).fold(f64::INFINITY, f64::min);
    let mut slices: Vec<PilotSlice> = Vec::new();
    while pilot::goes_on(&slices) {
        let began = machine.at_s;
        let part = machine.slice(0, pilot::SLICE_S);
        slices.push(PilotSlice { rate: part.amount / part.seconds, took_s: machine.at_s - began });
    }
    pilot::design(&slices, &DesignBounds { stacks, slowest, budget_s: stop.budget_s })
}

/// Measures as people usually do: the baseline for `each_s` seconds, then stack 1 for as long.
/// Returns the rate of stack 1 over that of the baseline.
pub fn one_after_the_other(machine: &mut SimulatedMachine, each_s: f64) -> f64 {
    let [a, b] = [0, 1].map(|stack| machine.slice(stack, each_s));
    (b.amount / b.seconds) / (a.amount / a.seconds)
}
