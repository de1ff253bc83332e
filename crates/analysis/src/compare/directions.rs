//! Reads and writes of a mix separately, with the slices, pairs and estimator of the whole load.
//! How many I/Os of a slice are reads is chance, so a rate of one direction is a ratio of totals. A
//! problem of the slices withholds the verdicts on both directions, too.

use crate::compare::ratio;
use crate::compare::ratio::{AddedPerIo, EstimatedRatio};
use crate::compare::verdicts;
use crate::findings::{
    BillDirection, DirectionComparison, MeasuredFigure, RateFinding, WorkloadFindings,
};
use crate::gather::pairing::PairedUnits;
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, RoundTotal, StackSide};
use crate::gather::subject;
use crate::gather::subject::Quantity;
use iotax_model::scenario::Metric;
use iotax_model::scenario::metric::PublishedDirection as PublishedWay;
use iotax_stats::family::Family;
use iotax_stats::ratio::Total;
use iotax_stats::{Concludes, Refusal, Verdict};

pub struct DirectionCompared {
    pub direction: DirectionComparison,
    pub estimated: Option<EstimatedRatio>,
}

/// Returns the rate of one direction of the second stack over that of the first.
pub fn direction_ratio(
    reading: &WorkloadView,
    pair: [usize; 2],
    paired: &PairedUnits,
    way: IoDirection,
    which: Quantity,
) -> AddedPerIo {
    if let Some(reason) = absent_direction(reading, pair, way, &reading.sides) {
        return AddedPerIo::from_refusal(&reason);
    }
    amount_ratio(reading, pair, paired, Some(way), which, reading.basis().by_bytes)
}

/// Returns the bytes or I/Os per second of the second stack over those of the first, of one
/// direction or, for `None`, of all.
pub fn amount_ratio(
    reading: &WorkloadView,
    pair: [usize; 2],
    paired: &PairedUnits,
    way: Option<IoDirection>,
    which: Quantity,
    by_bytes: bool,
) -> AddedPerIo {
    let [a, b] = pair.map(|at| &reading.sides[at]);
    AddedPerIo::between_stacks(a, b, paired, |round| {
        let (ios, bytes) = round.amounts(way);
        Some(Total {
            sum: if by_bytes { bytes } else { ios },
            items: ratio::time(round, which).ok()?,
        })
    })
}

/// Returns the refusal if one of two stacks completed no I/O of a direction.
pub fn absent_direction(
    reading: &WorkloadView,
    pair: [usize; 2],
    way: IoDirection,
    sides: &[StackSide],
) -> Option<Refusal> {
    let is_empty =
        |at: &usize| sides[*at].rounds.values().all(|round| round.direction_total(way).ios == 0.0);
    let at = pair.into_iter().find(is_empty)?;
    Some(Refusal::NotMeasured { reason: format!("{}: {}", reading.name(at), way.none_recorded()) })
}

/// Compares each direction of a mix; empty for other loads, and without reads for the durable
/// quantity. `whole` is the verdict on all I/Os together, or the reason why the stacks do not
/// compare.
pub fn of_pair(
    reading: &WorkloadView,
    pair: [usize; 2],
    paired: &PairedUnits,
    which: Quantity,
    whole: Result<&Verdict, &Refusal>,
) -> Vec<DirectionCompared> {
    let ways = reading.mix_directions().iter().copied();
    let ways = ways.filter(|way| which == Quantity::Acknowledged || *way == IoDirection::Write);
    let regime = reading.run.start.scenario.measure.regime;
    let of = |way: IoDirection| {
        let taken = match whole {
            Err(reason) => AddedPerIo::from_refusal(reason),
            Ok(_) => direction_ratio(reading, pair, paired, way, which),
        };
        let verdict = conclude_direction(reading, &taken, whole.ok());
        let quantity = subject::quantity(reading.workload, which, Some(regime), Some(way))
            + &WorkloadView::without_lost_places(&reading.sides, pair);
        let rate = RateFinding::new(
            quantity,
            reading.writes.verdict(verdict, which, pair),
            taken.ratio_figure(),
        );
        let direction = DirectionComparison { direction: way.word(), rate };
        DirectionCompared { direction, estimated: taken.ratio.ok() }
    };
    ways.map(of).collect()
}

pub fn conclude_direction(
    reading: &WorkloadView,
    taken: &AddedPerIo,
    whole: Option<&Verdict>,
) -> Verdict {
    let limited =
        |reason: &Refusal| matches!(reason, Refusal::RateLimited { .. } | Refusal::AtLimit { .. });
    let spoils = |reason: &&Refusal| reason.is_of_slices() || limited(reason);
    match (&taken.ratio, whole.and_then(Verdict::reason).filter(spoils)) {
        (Ok(found), Some(reason)) => Verdict::unresolved(found.ratio_change(), reason.clone()),
        (found, _) => EstimatedRatio::conclude_estimate(found, reading.zone()),
    }
}

pub fn of_line(
    reading: &WorkloadView,
    pair: [usize; 2],
    paired: &PairedUnits,
    deep: bool,
) -> Vec<BillDirection> {
    let of = |way: &IoDirection| BillDirection {
        direction: way.word(),
        ratio: direction_ratio(reading, pair, paired, *way, Quantity::Acknowledged).ratio_figure(),
        added_latency: match deep {
            true => MeasuredFigure::missing(ratio::ONLY_AT_ONE),
            false => {
                let [a, b] = pair.map(|at| &reading.sides[at]);
                AddedPerIo::between_stacks(a, b, paired, wait_total(Some(*way))).added()
            }
        },
    };
    reading.mix_directions().iter().map(of).collect()
}

/// Returns a function for the latencies of a round in one direction or, for `None`, in all: their
/// sum in ns and their number.
pub fn wait_total(way: Option<IoDirection>) -> impl Fn(&RoundTotal) -> Option<Total> {
    move |round| {
        way.map_or_else(|| round.latency_total(), |way| round.direction_total(way).latency_total())
    }
}

/// Returns true if there are two ratios with intervals, and these do not overlap.
pub fn are_apart(ratios: &[&MeasuredFigure]) -> bool {
    let bounds: Option<Vec<(f64, f64)>> = ratios.iter().map(|one| one.bounds()).collect();
    match bounds.as_deref() {
        Some([one, other]) => one.0 > other.1 || other.0 > one.1,
        _ => false,
    }
}

/// Returns true if the load is a mix and the scenario names, in a published figure or a table, a
/// figure of one of its directions: the given rate or, for `None`, a latency.
pub fn are_asked(reading: &WorkloadView, rate: Option<Quantity>) -> bool {
    let scenario = &reading.run.start.scenario;
    let names = |metric: Metric| {
        let of = match metric {
            Metric::Rate { durable: true, .. } => Some(Quantity::Durable),
            Metric::Rate { .. } => Some(Quantity::Acknowledged),
            Metric::Latency { .. } => None,
        };
        metric.direction().is_some() && of == rate
    };
    let mut published = scenario.published.iter().flat_map(|published| &published.figures);
    let tables = scenario.table.iter().filter(|table| table.rows.contains(&reading.workload.name));
    !reading.mix_directions().is_empty()
        && (published.any(|one| one.workload == reading.workload.name && names(one.metric))
            || tables.filter_map(|table| table.metric).any(names))
}

/// Returns the direction that a metric names; `None` if it names none or the load is no mix.
pub fn of_metric(reading: &WorkloadView, metric: Metric) -> Option<IoDirection> {
    let way = match metric.direction()? {
        PublishedWay::Read => IoDirection::Read,
        PublishedWay::Write => IoDirection::Write,
    };
    reading.mix_directions().contains(&way).then_some(way)
}

/// Returns the directions of a mix, each with the metric for its rate. Empty for other loads, and
/// if `metric` already names a direction or is not a rate.
pub fn of_whole(reading: &WorkloadView, metric: Metric) -> Vec<(IoDirection, Metric)> {
    let Metric::Rate { bytes, durable, way: None } = metric else { return Vec::new() };
    // Reads have nothing to flush.
    let ways =
        reading.mix_directions().iter().filter(|way| !durable || **way == IoDirection::Write);
    let of = |way: &IoDirection| {
        let named =
            if *way == IoDirection::Read { PublishedWay::Read } else { PublishedWay::Write };
        (*way, Metric::Rate { bytes, durable, way: Some(named) })
    };
    ways.map(of).collect()
}

/// Returns the direction that a latency metric names; otherwise write if the load writes, else
/// read.
pub fn of_latency(reading: &WorkloadView, metric: Metric) -> IoDirection {
    match metric.direction() {
        Some(PublishedWay::Read) => IoDirection::Read,
        Some(PublishedWay::Write) => IoDirection::Write,
        None if reading.workload.writes() => IoDirection::Write,
        None => IoDirection::Read,
    }
}

/// Returns advice on how to understand rates of single directions of the load; `None` unless the
/// load is a mix.
pub fn directions_advice(reading: &WorkloadView) -> Option<String> {
    let mixes = |job: &iotax_load::Job| job.rw.reads() && job.rw.writes();
    let text = match reading.workload.jobs.iter().all(mixes) {
        true => {
            "the job fixes which share of the I/Os are reads, so that the rates of reads and writes change alike, but for chance; \
             their latencies need not"
        }
        false => {
            "every thread does an equal part of a slice's bytes, so that the rates of reads and writes are those of the slowest thread; \
             their latencies are their own"
        }
    };
    (!reading.mix_directions().is_empty()).then(|| text.to_owned())
}

/// Gives the rates of single directions of a run intervals that hold for all of them at once, and
/// verdicts that agree with these.
pub fn settle_directions(
    workloads: &mut [WorkloadFindings],
    estimates: &[Option<EstimatedRatio>],
    family: Family,
    zone: f64,
) {
    let all = workloads
        .iter_mut()
        .flat_map(|workload| workload.jointly_judged().0)
        .flat_map(|one| &mut one.directions);
    for (one, found) in all.zip(estimates) {
        let Some(found) = found else { continue };
        verdicts::conclude_rate(&mut one.rate, found, family, zone);
    }
}
