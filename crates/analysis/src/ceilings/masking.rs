//! Ceilings that show in the record. Two stacks that both reach one have no rates to rank by: the
//! one that costs more may only wait less. Latency at a matched rate and CPU time show the
//! difference.

use crate::findings::ceiling::{Ceiling, MaskingCeiling};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{RoundTotal, StackSide};
use iotax_stats::{Refusal, Verdict};
pub use iotax_units::grouped;

/// Share of its threads' time spent computing at which a generator has reached its limit.
const GENERATOR_BUSY: f64 = 0.95;
/// Idle share of the CPU time below which CPUs count as busy.
const LEAST_IDLE: f64 = 0.03;
/// Largest difference of two rates, as a fraction, at which they may be at one limit.
const ALIKE: f64 = 0.005;
/// Standard deviation of the slices' rates over their mean, below which a steady limit may hold
/// both stacks.
const STEADY: f64 = 0.005;

/// Returns the ceiling that stack `pair[1]` and stack `pair[0]` both reach; `None` if there is
/// none.
pub fn of_pair(
    reading: &WorkloadView,
    pair: [usize; 2],
    verdict: &Verdict,
) -> Option<MaskingCeiling> {
    let sides = pair.map(|at| &reading.sides[at]);
    // A probe takes all of a processor by its nature.
    if reading.workload.probe.is_some() || sides.iter().any(|side| side.rounds.is_empty()) {
        return None;
    }
    let found = offered(reading, pair, sides)
        .or_else(|| rate_limited(verdict))
        .or_else(|| generator(reading, pair, sides))
        .or_else(|| cpus(sides))
        .or_else(|| shared(reading, sides))?;
    Some(MaskingCeiling { words: ceiling_words(found, pair.map(|at| reading.name(at))), by: found })
}

fn offered(reading: &WorkloadView, pair: [usize; 2], sides: [&StackSide; 2]) -> Option<Ceiling> {
    let offered = reading.offered(pair[0])?;
    // Two offered rates that differ are no common ceiling.
    if reading.offered(pair[1]) != Some(offered) {
        return None;
    }
    let achieved = sides.map(|side| rate_of_amount(side, |round| round.ios) / offered);
    let keeps_up =
        |at: usize| sides[at].kept_up(offered, reading.schedules(pair[at])) == Some(true);
    [0, 1].into_iter().all(keeps_up).then_some(Ceiling::OfferedRate { offered, achieved })
}

fn rate_limited(verdict: &Verdict) -> Option<Ceiling> {
    let limited =
        matches!(verdict, Verdict::Unresolved { reason: Refusal::RateLimited { .. }, .. });
    limited.then_some(Ceiling::RateLimited)
}

/// Returns a ceiling if the generator's threads compute nearly all the time on both stacks. `None`
/// on a schedule, where threads that wait for an I/O to be due compute as well.
fn generator(reading: &WorkloadView, pair: [usize; 2], sides: [&StackSide; 2]) -> Option<Ceiling> {
    if reading.is_scheduled() {
        return None;
    }
    let busy = [0, 1].map(|at| {
        let usage = &sides[at].usage;
        usage.generator_ns / (usage.thread_ns * reading.threads(pair[at]))
    });
    busy.iter().all(|share| *share >= GENERATOR_BUSY).then_some(Ceiling::Generator { busy })
}

/// Returns a ceiling if nearly no CPU time was idle under both stacks: that of the guest or of its
/// host, whichever was less idle.
fn cpus(sides: [&StackSide; 2]) -> Option<Ceiling> {
    let share = |(idle, all): (f64, f64)| if all > 0.0 { idle / all } else { 1.0 };
    let idle = sides.map(|side| share(side.usage.place).min(side.usage.host.map_or(1.0, share)));
    idle.iter().all(|share| *share < LEAST_IDLE).then_some(Ceiling::Cpus { idle })
}

fn shared(reading: &WorkloadView, sides: [&StackSide; 2]) -> Option<Ceiling> {
    let amount =
        |round: &RoundTotal| if reading.workload.writes() { round.bytes } else { round.ios };
    let [a, b] = sides.map(|side| rate_of_amount(side, amount));
    let difference = b / a - 1.0;
    let variation = [sides[0].usage.variation()?, sides[1].usage.variation()?];
    let steady = variation.iter().all(|one| *one < STEADY) && difference.abs() <= ALIKE;
    steady.then_some(Ceiling::SharedLimit { difference, variation })
}

fn rate_of_amount(side: &StackSide, amount: impl Fn(&RoundTotal) -> f64) -> f64 {
    let sum = |of: &dyn Fn(&RoundTotal) -> f64| side.rounds.values().map(of).sum::<f64>();
    sum(&amount) / sum(&|round| round.window_s)
}

fn ceiling_words(ceiling: Ceiling, [base, stack]: [&str; 2]) -> String {
    let percents = |[one, other]: [f64; 2]| {
        format!("{:.1} % ({base}) and {:.1} % ({stack})", 100.0 * one, 100.0 * other)
    };
    match ceiling {
        Ceiling::OfferedRate { offered, achieved } => format!(
            "masked by the offered rate: both stacks reach {} of {} I/Os per second",
            percents(achieved),
            grouped(offered)
        ),
        Ceiling::Generator { busy } => {
            format!(
                "masked by the load generator: its threads compute {} of the time",
                percents(busy)
            )
        }
        Ceiling::Cpus { idle } => {
            format!("masked by busy CPUs: only {} of the CPU time was idle", percents(idle))
        }
        Ceiling::RateLimited => "masked by a rate limit that both met".to_owned(),
        Ceiling::SharedLimit { difference, variation } => format!(
            "masked by a steady limit that both share: rates differ by {:.2} %, slices vary by {:.2} % ({base}) and {:.2} % ({stack})",
            100.0 * difference.abs(),
            100.0 * variation[0],
            100.0 * variation[1]
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ceiling_names_itself() {
        let all = [
            Ceiling::OfferedRate { offered: 10_000.0, achieved: [0.999, 0.991] },
            Ceiling::Generator { busy: [0.97, 0.98] },
            Ceiling::Cpus { idle: [0.012, 0.008] },
            Ceiling::RateLimited,
            Ceiling::SharedLimit { difference: -0.0012, variation: [0.0008, 0.0011] },
        ];
        let said = all.map(|one| ceiling_words(one, ["file", "loop"]));
        assert_eq!(
            said[0],
            "masked by the offered rate: both stacks reach 99.9 % (file) and 99.1 % (loop) of 10,000 I/Os per second"
        );
        assert!(said.iter().all(|words| words.starts_with("masked by ")));
        assert!(
            said[4].contains("differ by 0.12 %, slices vary by 0.08 % (file) and 0.11 % (loop)"),
            "{}",
            said[4]
        );
    }
}
