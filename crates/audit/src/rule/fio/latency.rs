//! Latencies of one way: their parts, their order, their percentiles and their buckets describe one distribution.

use super::Run;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::fio::{Job, Latency, Percentiles};
use crate::number::{Figure, Interval, show_ns as ms};
use crate::rule::ledger::{Ledger, Named, named};

/// Buckets of fio's percentiles are up to 1/64 wide; what is read of them may be one off.
const BUCKET: f64 = 0.03;

/// Where fio's histogram ends, in nanoseconds: a percentile there (`16712` ms to 2.x, `17113` ms from 3.0) is that or anything more.
const SATURATED: f64 = 16.7e9;

/// The percentiles of a way and the latency that they are of.
fn described<'a>(run: &Run<'a>) -> Option<(&'a Percentiles, Option<&'a Latency>)> {
    let percentiles = run.direction.percentiles.as_ref()?;
    let latency = match percentiles.of {
        "lat" => &run.direction.lat,
        "slat" => &run.direction.slat,
        _ => &run.direction.clat,
    };
    Some((percentiles, latency.as_ref()))
}

/// No part of a latency is longer than the whole.
fn part_above_whole(run: &Run, sink: &mut Sink) -> Option<()> {
    let (clat, lat) = (run.direction.clat?, run.direction.lat?);
    let pairs =
        [(clat.mean, lat.mean, "mean"), (clat.min, lat.min, "least"), (clat.max, lat.max, "greatest")];
    let above = |(part, whole, _): &&(Figure, Figure, _)| {
        let Interval { low, .. } = part.interval();
        low > 1.02 * whole.interval().high + 1e3
    };
    let (part, whole, name) = *pairs.iter().find(above)?;
    let (part_text, whole_text) = (ms(part.value), ms(whole.value));
    let message = format!(
        "the {name} completion latency, {part_text}, is above the {name} of the whole latency, {whole_text}: \
         the two are not of one clock"
    );
    sink.finds(Finding::new("F8", Severity::WrongFigure, part.spot, message).against([whole.spot]));
    Some(())
}

pub(super) fn parts(run: &Run, sink: &mut Sink) -> Option<()> {
    if part_above_whole(run, sink).is_some() {
        return None;
    }
    let [slat, clat, lat] =
        [run.direction.slat?, run.direction.clat?, run.direction.lat?].map(|latency| latency.mean);
    let sum = slat.interval().plus(clat.interval());
    let slack = (0.005 * lat.value).max(500.0);
    if (Interval { low: sum.low - slack, high: sum.high + slack }).meets(lat.interval()) {
        sink.holds("F8", &lat);
        return None;
    }
    let by = format!("{} + {} = {}", ms(slat.value), ms(clat.value), ms(sum.middle()));
    let message = format!(
        "the mean latency is printed as {}, but submission and completion make up {by}",
        ms(lat.value)
    );
    let finding = Finding::new("F8", Severity::Ambiguous, lat.spot, message).recomputed(ms(sum.middle()));
    sink.finds(finding.by(by).against([slat.spot, clat.spot]));
    Some(())
}

/// Least, mean and most are in order, the deviation is no more than the range, and percentiles rise between least and most.
pub(super) fn order(run: &Run, sink: &mut Sink) -> Option<()> {
    let (direction, mut ledger) = (run.direction, Ledger::new(run.page, "F9"));
    let latencies = [direction.slat, direction.clat, direction.lat].into_iter().flatten();
    let latencies = latencies.map(|one| (one.min, one.mean, one.max, Some(one.deviation)));
    let samples = [direction.bandwidth_samples, direction.iops_samples].into_iter().flatten();
    let samples = samples.map(|one| (one.min, one.mean, one.max, one.deviation));
    for (min, mean, max, deviation) in latencies.chain(samples) {
        let [min, mean, max] = [("the least", min), ("the mean", mean), ("the most", max)]
            .map(|(name, one)| named(name, "", one));
        ledger.rising(&[min, mean, max], 0.0);
        let range = Interval { low: 0.0, high: max.figure.high - min.figure.low };
        let deviation = deviation.map(|one| named("the standard deviation", "", one));
        deviation
            .into_iter()
            .for_each(|one| ledger.within(one, range, &[min, max], || "most - least".to_owned()));
    }
    if let Some((percentiles, latency)) = described(run) {
        let point = |figure: &Figure| named("a percentile", "", *figure);
        let mut points: Vec<Named> = percentiles.points.iter().map(|(_, figure)| point(figure)).collect();
        ledger.rising(&points, 0.0);
        if let Some(latency) = latency.filter(|latency| latency.min.low <= SATURATED) {
            points.insert(0, named("the least", "", latency.min));
            points.retain(|one| one.figure.high < SATURATED);
            points.push(named("the most", "", latency.max));
            ledger.rising(&points, BUCKET);
        }
    }
    ledger.settle(sink);
    Some(())
}

/// What fio counts in 32 bits in some versions: buckets and depths. A job with more I/Os begins at nothing again.
const COUNTED: f64 = 4_294_967_296.0;

/// Nanoseconds.
const SECOND: f64 = 1e9;

pub(super) fn buckets(evidence: &Evidence, sink: &mut Sink) {
    for job in evidence.fio().flat_map(|fio| &fio.jobs) {
        let count = job.buckets.len() as f64;
        let sum: f64 = job.buckets.iter().map(|(_, share)| share.value).sum();
        let failed = job.error.is_some_and(|error| error.value != 0.0);
        // All in one place: gone in a ramp, or not counted at all.
        let Some(issued) = issued(job).filter(|_| sum > 0.0 && !failed) else { continue };
        // 0.01 % is printed for anything above nothing.
        let range = Interval { low: 99.98 - 0.005 * count, high: 100.01 + 0.011 * count };
        // What was in flight when a ramp ended is in the buckets and not in the count.
        let depth = job.target_depth.map_or(0.0, |depth| depth.value * job.jobs.unwrap_or(1) as f64);
        let in_ramp = 100.0 * (depth / issued.max(1.0)).min(0.05);
        if range.has(sum) || sum > range.high && sum <= range.high + in_ramp {
            job.buckets.iter().for_each(|(_, share)| sink.holds("F12", share));
            continue;
        }
        // Some versions (3.7) leave out the buckets above a second.
        let last = job.buckets.iter().map(|(edge, _)| *edge).fold(0.0, f64::max);
        let mut latencies = job.directions.iter().flat_map(|one| [one.clat, one.lat]).flatten();
        let slow = latencies.any(|one| one.max.low > SECOND);
        let largest = job.buckets.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value));
        let missing = issued >= COUNTED || sum < range.low && last <= SECOND && slow;
        let Some((_, largest)) = largest.filter(|_| !missing) else { continue };
        let message = format!("the latency buckets make up {sum:.2} %, not 100 %");
        let spots = job.buckets.iter().map(|(_, share)| share.spot);
        sink.finds(Finding::new("F12", Severity::WrongFigure, largest.spot, message).against(spots));
    }
}

fn issued(job: &Job) -> Option<f64> {
    Some(job.issued.as_ref()?.total.iter().flatten().map(|total| total.value).sum())
}
