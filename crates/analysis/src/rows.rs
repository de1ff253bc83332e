//! A stack's own figures: rate, latency, CPU time. Each from whole rounds, with its interval.

use super::compare::{self, of_estimate, of_totals};
use super::findings::{DirectionRow, Figure, GeneratorReport, Latency, Row, SampleUnit};
use super::gather::{RoundTotal, Side, Way};
use super::generator;
use super::reading::WorkloadView;
use super::subject::Quantity;
use iotax_stats::Refusal;
use iotax_stats::quantile::{self, Batches, Estimate};

/// The row of a stack.
pub fn row(reading: &WorkloadView, at: usize) -> Row {
    let scenario = &reading.run.start.scenario;
    let (stack, side) = (&scenario.stacks[at], &reading.sides[at]);
    let worker = reading.worker(at);
    let writes = reading.workload.writes();
    Row {
        stack: stack.name.clone(),
        text: stack.text.clone(),
        baseline: at == scenario.baseline,
        place: worker.map(|worker| worker.place.clone()),
        emulated: reading.emulated(at),
        left_out: side.left_out.iter().map(ToString::to_string).collect(),
        engine: worker.map(|worker| format!("{} ({})", worker.engine, worker.why)),
        rounds: side.rounds.len() as u64,
        errors: side.errors,
        iops: rate(reading, at, "1/s", Quantity::Acknowledged, None),
        bytes_per_s: rate(reading, at, "B/s", Quantity::Acknowledged, None),
        durable_bytes_per_s: writes.then(|| rate(reading, at, "B/s", Quantity::Durable, None)),
        directions: directions(reading, at),
        latency: latencies(side),
        cpu_generator: figure(reading, at, "ns", |round| {
            Some((round.all_ios, round.cpu_user_ns? + round.cpu_kernel_ns?))
        }),
        generator: of_generator(reading, at),
        cpu_place: figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_place_ns?))),
        cpu: match reading.cpu_lacking([at, at]).filter(|_| !side.rounds.is_empty()) {
            Some(reason) => Figure::missing(reason),
            None => figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_ns?))),
        },
        debt: writes.then(|| side.debt.clone()),
    }
}

/// Rates of each direction of a stack; none where the load is no mix.
fn directions(reading: &WorkloadView, at: usize) -> Vec<DirectionRow> {
    let of = |way, unit, quantity| rate(reading, at, unit, quantity, Some(way));
    let row = |way: &Way| DirectionRow {
        direction: way.word(),
        iops: of(*way, "1/s", Quantity::Acknowledged),
        bytes_per_s: of(*way, "B/s", Quantity::Acknowledged),
        durable_bytes_per_s: (*way == Way::Write).then(|| of(*way, "B/s", Quantity::Durable)),
    };
    reading.directions().iter().map(row).collect()
}

/// What the load generator itself has in the figures of a stack.
fn of_generator(reading: &WorkloadView, at: usize) -> GeneratorReport {
    let side = &reading.sides[at];
    let threads = reading.threads(at);
    let [user_share, kernel_share] =
        generator::shares(side, threads).map_or([None; 2], |shares| shares.map(Some));
    GeneratorReport {
        cpu_user: figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_user_ns?))),
        cpu_kernel: figure(reading, at, "ns", |round| Some((round.all_ios, round.cpu_kernel_ns?))),
        threads,
        user_share,
        kernel_share,
        reap_gap: some("reap_gap", &side.reap_gap),
        service: service(side),
        in_flight: generator::in_flight(side),
        depth: reading.depth(at),
        littles_law_error: generator::littles_law_error(side),
        littles_law_ends: generator::ends(side),
    }
}

/// From issue to end, where latencies begin at a schedule.
pub fn service(side: &Side) -> Option<Latency> {
    some("service", &side.service)
}

fn some(name: &'static str, batches: &Batches) -> Option<Latency> {
    (batches.count() > 0).then(|| latency(name, batches))
}

/// I/Os (`1/s`) or bytes (`B/s`) a second, of one direction or of all.
pub fn rate(
    reading: &WorkloadView,
    at: usize,
    unit: &'static str,
    quantity: Quantity,
    way: Option<Way>,
) -> Figure {
    let amount = |round: &RoundTotal| {
        let (ios, bytes) = round.amounts(way);
        if unit == "B/s" { bytes } else { ios }
    };
    let rounds = &reading.sides[at].rounds;
    let lacks = |way: &Way| !rounds.is_empty() && rounds.values().all(|round| round.of(*way).ios == 0.0);
    if let Some(way) = way.filter(lacks) {
        return Figure::missing(way.none_recorded());
    }
    figure(reading, at, unit, |round| Some((compare::time(round, quantity).ok()?, amount(round))))
}

/// Sum over sum of `(divisor, dividend)` of each round.
pub fn figure(
    reading: &WorkloadView,
    at: usize,
    unit: &'static str,
    of: impl Fn(&RoundTotal) -> Option<(f64, f64)>,
) -> Figure {
    of_side(&reading.sides[at], unit, of).unwrap_or_else(|| reading.absence(at))
}

/// The same of a side; `None` without a whole round.
pub fn of_side(
    side: &Side,
    unit: &'static str,
    of: impl Fn(&RoundTotal) -> Option<(f64, f64)>,
) -> Option<Figure> {
    let rounds = side.rounds.values().map(of).collect::<Option<Vec<_>>>();
    let figure = rounds.map_or_else(|| Figure::missing("not recorded"), |rounds| of_totals(&rounds, unit));
    (!side.rounds.is_empty()).then_some(figure)
}

/// Of each direction that has any.
pub fn latencies(side: &Side) -> Vec<Latency> {
    Way::ALL
        .into_iter()
        .map(|way| (way.word(), side.of_way(way)))
        .filter(|(_, batches)| batches.count() > 0)
        .map(|(direction, batches)| latency(direction, batches))
        .collect()
}

/// Of one kind.
pub fn latency(direction: &'static str, batches: &Batches) -> Latency {
    let at = |q: f64| latency_at(batches, Some(q));
    Latency {
        direction,
        mean: latency_at(batches, None),
        p50: at(0.5),
        p99: at(0.99),
        p999: at(0.999),
        curve: quantile::curve(batches),
    }
}

/// Of a quantile, or the mean.
pub fn latency_at(batches: &Batches, quantile: Option<f64>) -> Figure {
    let (found, pooled) = match quantile {
        None => (quantile::mean_of_one(batches), quantile::pooled_mean_of_one(batches)),
        Some(q) => (quantile::of_one(batches, q), quantile::pooled_of_one(batches, q)),
    };
    figure_of(found, pooled, batches)
}

/// With its interval; in a run too short for one, the pooled value alone.
fn figure_of(found: Result<Estimate, Refusal>, pooled: Result<f64, Refusal>, batches: &Batches) -> Figure {
    match (found, pooled) {
        (Err(few @ Refusal::TooFewRounds { .. }), Ok(value)) => {
            Figure::bare(value, "ns", (batches.count(), SampleUnit::Samples), few)
        }
        (found, _) => of_estimate(found, "ns"),
    }
}
