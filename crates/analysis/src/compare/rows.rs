//! A stack's own figures, each from whole rounds and with its interval: rate, latency, CPU time.

use crate::compare::probes;
use crate::compare::ratio;
use crate::compare::ratio::{of_latency, of_totals};
use crate::findings::{
    AskedPercentile, DirectionRow, EngineReport, GeneratorReport, LatencyFigures, MeasuredFigure,
    SampleUnit, StackRow, TargetRow,
};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, RoundTotal, StackSide};
use crate::gather::subject::Quantity;
use crate::validity::generator;
use iotax_model::record::{Place, Serving, ThreadGroup, WorkerUp};
use iotax_model::stack::LayerRole;
use iotax_model::stack::Stack;
use iotax_probe::ProbeUnit;
use iotax_stats::Refusal;
use iotax_stats::exceedance::RoundHistograms;
use iotax_stats::quantile::{self, Estimate};
use std::collections::{BTreeMap, BTreeSet};

pub fn stack_row(reading: &WorkloadView, at: usize) -> StackRow {
    let scenario = &reading.run.start.scenario;
    let (stack, side) = (&scenario.stacks[at], &reading.sides[at]);
    let worker = reading.worker(at);
    let writes = reading.workload.writes();
    StackRow {
        stack: stack.name.clone(),
        text: stack.text.clone(),
        baseline: at == scenario.baseline,
        place: worker.map(|worker| worker.place.clone()),
        ends: ends(stack),
        emulated: reading.emulated(at),
        left_out: side.left_out.iter().map(ToString::to_string).collect(),
        engine: worker.map(|worker| format!("{} ({})", worker.engine, worker.why)),
        rounds: side.rounds.len() as u64,
        errors: side.errors,
        iops: match reading.workload.probe_unit() {
            Some(ProbeUnit::Time(_)) => mean_time(reading, at),
            _ => stack_rate(reading, at, "1/s", Quantity::Acknowledged, None),
        },
        bytes_per_s: match stack_rate(reading, at, "B/s", Quantity::Acknowledged, None) {
            MeasuredFigure::Missing { .. }
                if matches!(
                    reading.workload.probe_unit(),
                    Some(ProbeUnit::Count(_) | ProbeUnit::Time(_))
                ) =>
            {
                MeasuredFigure::missing("this probe counts no bytes")
            }
            figure => figure,
        },
        durable_bytes_per_s: writes
            .then(|| stack_rate(reading, at, "B/s", Quantity::Durable, None)),
        directions: directions(reading, at),
        latency: latencies(reading, side),
        flush: some(reading, "flush", &side.flush),
        cpu_generator: figure_of_rounds(reading, at, "ns", |round| {
            Some((round.all_ios, round.cpu_user_ns? + round.cpu_kernel_ns?))
        }),
        generator: of_generator(reading, at),
        cpu_place: figure_of_rounds(reading, at, "ns", |round| {
            Some((round.all_ios, round.cpu_place_ns?))
        }),
        cpu: match reading.cpu_lacking([at, at]).filter(|_| !side.rounds.is_empty()) {
            Some(reason) => MeasuredFigure::missing(reason),
            None => {
                figure_of_rounds(reading, at, "ns", |round| Some((round.all_ios, round.cpu_ns?)))
            }
        },
        targets: of_targets(reading, at),
        runs: probes::runs(reading, at),
        network: probes::network(reading, at),
        serving: of_serving(reading, at),
        debt: writes.then(|| side.debt.clone()),
    }
}

/// Returns the places of both ends of a network. `None` for other media, and if the load runs in a
/// guest above the network, whose place other guests share by name.
fn ends(stack: &Stack) -> Option<[Place; 2]> {
    let to = stack
        .medium
        .far_end()
        .filter(|_| stack.layers.iter().all(|layer| !layer.has_role(LayerRole::Guest)))?;
    Some([stack.medium.place(), to.clone()])
}

/// Returns the mean time in ns of what a probe does, if its window is the sum of these times.
pub fn mean_time(reading: &WorkloadView, at: usize) -> MeasuredFigure {
    figure_of_rounds(reading, at, "ns", |round| Some((round.ios, round.window_s * 1e9)))
}

/// Returns the rates of each direction of a stack; empty unless the load is a mix.
fn directions(reading: &WorkloadView, at: usize) -> Vec<DirectionRow> {
    let of = |way, unit, quantity| stack_rate(reading, at, unit, quantity, Some(way));
    let row = |way: &IoDirection| DirectionRow {
        direction: way.word(),
        iops: of(*way, "1/s", Quantity::Acknowledged),
        bytes_per_s: of(*way, "B/s", Quantity::Acknowledged),
        durable_bytes_per_s: (*way == IoDirection::Write)
            .then(|| of(*way, "B/s", Quantity::Durable)),
    };
    reading.mix_directions().iter().map(row).collect()
}

fn of_generator(reading: &WorkloadView, at: usize) -> GeneratorReport {
    let side = &reading.sides[at];
    let threads = reading.threads(at);
    let [user_share, kernel_share] =
        generator::shares(side, threads).map_or([None; 2], |shares| shares.map(Some));
    GeneratorReport {
        cpu_user: figure_of_rounds(reading, at, "ns", |round| {
            Some((round.all_ios, round.cpu_user_ns?))
        }),
        cpu_kernel: figure_of_rounds(reading, at, "ns", |round| {
            Some((round.all_ios, round.cpu_kernel_ns?))
        }),
        threads,
        user_share,
        kernel_share,
        reap_gap: some(reading, "reap_gap", &side.reap_gap),
        service: service(reading, side),
        in_flight: generator::in_flight(side),
        depth: reading.depth(at),
        littles_law_error: generator::littles_law_error(side),
        littles_law_ends: generator::ends(side),
    }
}

fn of_targets(reading: &WorkloadView, at: usize) -> Vec<TargetRow> {
    let keys: BTreeSet<&(Place, usize)> =
        reading.sides[at].rounds.values().flat_map(|round| round.targets.keys()).collect();
    let workers = || {
        let ours = |worker: &&WorkerUp| {
            worker.stack == reading.name(at) && worker.workload == reading.workload.name
        };
        reading.run.workers.iter().rev().filter(ours)
    };
    let row = |key: &&(Place, usize)| {
        let (place, target) = *key;
        let worker =
            workers().find(|worker| worker.place == *place).or_else(|| workers().next())?;
        let path = match target {
            0 => &worker.target,
            more => worker.others.get(more - 1)?,
        };
        let iops = figure_of_rounds(reading, at, "1/s", |round| {
            let (ios, seconds) = *round.targets.get(*key)?;
            Some((seconds, ios))
        });
        Some(TargetRow { place: worker.place.clone(), path: path.clone(), iops })
    };
    keys.iter().filter_map(row).collect()
}

/// Returns the CPU use of the threads that serve a stack; `None` if none are recorded, or if those
/// of some place are all recorded with a part of their work only.
fn of_serving(reading: &WorkloadView, at: usize) -> Option<EngineReport> {
    let stack = reading.name(at);
    // A serving that was recorded later holds from then on.
    let by_place: BTreeMap<_, &Serving> = reading
        .run
        .serving
        .iter()
        .filter(|one| one.stack == stack)
        .map(|one| (&one.place, one))
        .collect();
    let is_whole = |one: &&Serving| !one.threads.iter().all(|group| group.in_part);
    if by_place.is_empty() || !by_place.values().all(is_whole) {
        return None;
    }
    let group = |group: &ThreadGroup| {
        let polls = if group.polls { ", polling" } else { "" };
        match group.count {
            1 => format!("{}{polls}", group.name),
            many => format!("{} ({many}{polls})", group.name),
        }
    };
    let threads: Vec<String> = by_place.values().flat_map(|one| &one.threads).map(group).collect();
    let cpu = figure_of_rounds(reading, at, "ns", |round| Some((round.all_ios, round.engine_ns?)));
    let iops_per_core = match cpu.value() {
        Some(ns) if ns <= 0.0 => {
            MeasuredFigure::missing("its threads used no CPU time that the kernel counted")
        }
        _ => cpu.clone().map("1/s", |ns| 1e9 / ns),
    };
    Some(EngineReport { threads: threads.join(", "), cpu, iops_per_core })
}

/// Returns the I/Os per second for each busy core of the threads that serve a stack.
pub fn iops_per_core(row: &StackRow) -> MeasuredFigure {
    row.serving.as_ref().map_or_else(
        || MeasuredFigure::missing("the threads that serve the I/O are not known"),
        |serving| serving.iops_per_core.clone(),
    )
}

/// Returns the latencies from issue to completion, which are recorded if latencies begin when an
/// I/O is due; otherwise `None`.
pub fn service(reading: &WorkloadView, side: &StackSide) -> Option<LatencyFigures> {
    some(reading, "service", &side.service)
}

fn some(
    reading: &WorkloadView,
    name: &'static str,
    rounds: &RoundHistograms,
) -> Option<LatencyFigures> {
    (rounds.count() > 0).then(|| latency(reading, name, rounds))
}

/// Returns the rate of stack `at` in I/Os (`1/s`) or bytes (`B/s`) per second, of one direction or,
/// for `None`, of all.
pub fn stack_rate(
    reading: &WorkloadView,
    at: usize,
    unit: &'static str,
    quantity: Quantity,
    way: Option<IoDirection>,
) -> MeasuredFigure {
    let amount = |round: &RoundTotal| {
        let (ios, bytes) = round.amounts(way);
        if unit == "B/s" { bytes } else { ios }
    };
    let rounds = &reading.sides[at].rounds;
    let lacks = |way: &IoDirection| {
        !rounds.is_empty() && rounds.values().all(|round| round.direction_total(*way).ios == 0.0)
    };
    if let Some(way) = way.filter(lacks) {
        return MeasuredFigure::missing(way.none_recorded());
    }
    figure_of_rounds(reading, at, unit, |round| {
        Some((ratio::time(round, quantity).ok()?, amount(round)))
    })
}

/// Returns the sum of dividends over the sum of divisors of the rounds of stack `at`. `of` returns
/// `(divisor, dividend)` of a round, and `None` if they were not recorded.
pub fn figure_of_rounds(
    reading: &WorkloadView,
    at: usize,
    unit: &'static str,
    of: impl Fn(&RoundTotal) -> Option<(f64, f64)>,
) -> MeasuredFigure {
    of_side(&reading.sides[at], unit, of).unwrap_or_else(|| reading.absence(at))
}

/// Returns the figure of [`figure_of_rounds`] for any side; `None` if it has no whole round.
pub fn of_side(
    side: &StackSide,
    unit: &'static str,
    of: impl Fn(&RoundTotal) -> Option<(f64, f64)>,
) -> Option<MeasuredFigure> {
    let rounds = side.rounds.values().map(of).collect::<Option<Vec<_>>>();
    let figure = rounds
        .map_or_else(|| MeasuredFigure::missing("not recorded"), |rounds| of_totals(&rounds, unit));
    (!side.rounds.is_empty()).then_some(figure)
}

pub fn latencies(reading: &WorkloadView, side: &StackSide) -> Vec<LatencyFigures> {
    IoDirection::ALL
        .into_iter()
        .map(|way| (way.word(), side.of_way(way)))
        .filter(|(_, rounds)| rounds.count() > 0)
        .map(|(direction, rounds)| latency(reading, direction, rounds))
        .collect()
}

pub fn latency(
    reading: &WorkloadView,
    direction: &'static str,
    rounds: &RoundHistograms,
) -> LatencyFigures {
    let at = |q: f64| latency_at(rounds, Some(q));
    let asked = &reading.run.start.scenario.measure.percentiles;
    LatencyFigures {
        direction,
        mean: latency_at(rounds, None),
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
        asked: asked
            .iter()
            .map(|percent| AskedPercentile { percent: *percent, figure: at(percent / 100.0) })
            .collect(),
        curve: quantile::curve(rounds),
    }
}

/// Returns the latency at a quantile or, for `None`, the mean.
pub fn latency_at(rounds: &RoundHistograms, quantile: Option<f64>) -> MeasuredFigure {
    let (found, pooled) = match quantile {
        None => (quantile::mean_of_one(rounds), quantile::pooled_mean_of_one(rounds)),
        Some(q) => (quantile::of_one(rounds, q), quantile::pooled_of_one(rounds, q)),
    };
    figure_of(found, pooled, rounds)
}

/// Returns a figure with its interval; in a run too short for one, the pooled value alone.
fn figure_of(
    found: Result<Estimate, Refusal>,
    pooled: Result<f64, Refusal>,
    rounds: &RoundHistograms,
) -> MeasuredFigure {
    match (found, pooled) {
        (Err(few @ Refusal::TooFewRounds { .. }), Ok(value)) => {
            MeasuredFigure::bare(value, "ns", (rounds.count(), SampleUnit::Samples), few)
        }
        (found, _) => of_latency(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};
    use iotax_model::record::{Better, SampleValue, SliceSample};

    /// The crowd with an engine that computes 2 us an I/O.
    fn served(groups: &[(&str, u32, bool, bool)]) -> Option<EngineReport> {
        let mut run = twin::crowd();
        for slice in run.slices.iter_mut().filter(|slice| slice.stack == "vm x4") {
            let ios: f64 = slice.parts.iter().map(|part| part.ios as f64).sum();
            let value = SampleValue::Value(2000.0 * (ios + slice.discarded_ios as f64));
            let metric = "engine.cpu".to_owned();
            slice.samples.push(SliceSample {
                metric,
                unit: "ns".into(),
                better: Better::Lower,
                value,
            });
        }
        let group = |(name, count, polls, in_part): &(&str, u32, bool, bool)| ThreadGroup {
            name: (*name).to_owned(),
            count: *count,
            polls: *polls,
            in_part: *in_part,
        };
        let threads = groups.iter().map(group).collect();
        run.serving.push(Serving { stack: "vm x4".into(), place: "host".into(), threads });
        let mut found = findings(&run);
        assert!(found.workloads[0].rows[0].serving.is_none(), "nothing was recorded of vm");
        found.workloads.remove(0).rows.remove(1).serving
    }

    #[test]
    fn an_engine_serves_so_many_ios_for_each_core_that_it_keeps_busy() {
        let engine =
            served(&[("md127_raid5", 1, false, true), ("vhost", 4, false, false)]).unwrap();
        assert_eq!(engine.threads, "md127_raid5, vhost (4)");
        let rate = engine.iops_per_core.value().unwrap();
        assert!(
            (rate / 500_000.0 - 1.0).abs() < 0.01 && engine.iops_per_core.bounds().is_some(),
            "{rate}"
        );
        assert_eq!(served(&[("reactor", 2, true, false)]).unwrap().threads, "reactor (2, polling)");
    }

    #[test]
    fn a_part_of_an_engine_is_none() {
        // The reader does the rest of the array's work, in threads that are not known.
        assert_eq!(served(&[("md127_raid5", 1, false, true)]), None);
    }
}
