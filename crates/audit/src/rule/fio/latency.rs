//! Latencies of one way: their parts, their order, their percentiles and their buckets describe one distribution.

use super::{Run, each};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Job, Latency, Percentiles};
use crate::number::{Figure, Interval, show_ns as ms};
use crate::rule::{Evidence, Rule, Sink};

pub const PARTS: Rule = Rule {
    id: "F8",
    name: "submission and completion latency make up the total",
    severity: Severity::Ambiguous,
    holds: "mean slat + mean clat = mean lat, to the larger of 0.5 us and 0.5 %",
    silent: "where one of the three is not printed",
    check: |evidence, sink| each(evidence, sink, parts),
};

pub const ORDER: Rule = Rule {
    id: "F9",
    name: "least, mean and most are in order",
    severity: Severity::WrongFigure,
    holds: "min <= avg <= max and stdev <= max - min, of latencies and of samples",
    silent: "never",
    check: |evidence, sink| each(evidence, sink, order),
};

pub const MONOTONE: Rule = Rule {
    id: "F10",
    name: "percentiles rise, between least and most",
    severity: Severity::WrongFigure,
    holds: "each percentile is no less than the one before and lies in [min, max] but for 3 % of fio's buckets",
    silent: "where percentiles are of another latency than the one that is printed",
    check: |evidence, sink| each(evidence, sink, monotone),
};

pub const MEAN: Rule = Rule {
    id: "F11",
    name: "the mean is one that the percentiles allow",
    severity: Severity::WrongFigure,
    holds: "the mean lies between the sums of shares times their lower and times their upper ends, but for 3 %",
    silent: "with fewer than five percentiles, or of another latency",
    check: |evidence, sink| each(evidence, sink, mean),
};

pub const BUCKETS: Rule = Rule {
    id: "F12",
    name: "latency buckets make up 100 %",
    severity: Severity::WrongFigure,
    holds: "their sum is 100 % but for half a digit each",
    silent: "where buckets are missing (gtod_reduce, some versions above a second), or the job failed",
    check: buckets,
};

pub const SAME_DISTRIBUTION: Rule = Rule {
    id: "F13",
    name: "latency buckets and percentiles are of one distribution",
    severity: Severity::WrongFigure,
    holds: "the share below each bucket's edge lies between the percentiles beside it, but for 1 % (wrong from 5 % on)",
    silent: "where a job goes both ways, or percentiles are of another latency than completion",
    check: |evidence, sink| each(evidence, sink, same_distribution),
};

/// Buckets of fio's percentiles are up to 1/64 wide; what is read of them may be one off.
const BUCKET: f64 = 0.03;

/// Nanoseconds.
const SECOND: f64 = 1e9;

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

fn parts(run: &Run, sink: &mut Sink) -> Option<()> {
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

fn order(run: &Run, sink: &mut Sink) -> Option<()> {
    let direction = run.direction;
    let latencies = [direction.slat, direction.clat, direction.lat].into_iter().flatten();
    let samples = [direction.bandwidth_samples, direction.iops_samples].into_iter().flatten();
    let latencies = latencies.map(|one| (one.min, one.mean, one.max, Some(one.deviation)));
    for (min, mean, max, deviation) in
        latencies.chain(samples.map(|one| (one.min, one.mean, one.max, one.deviation)))
    {
        let wide = deviation.filter(|deviation| deviation.low > max.high - min.low);
        let (figure, other, message) = match wide {
            _ if mean.high < min.low => (mean, min, "the mean is below the least"),
            _ if mean.low > max.high => (mean, max, "the mean is above the most"),
            Some(wide) => (wide, max, "the standard deviation is more than the whole range"),
            None => {
                [min, mean, max].iter().chain(&deviation).for_each(|figure| sink.plausible("F9", figure));
                continue;
            }
        };
        sink.finds(Finding::new("F9", Severity::WrongFigure, figure.spot, message).against([other.spot]));
    }
    Some(())
}

fn monotone(run: &Run, sink: &mut Sink) -> Option<()> {
    let (percentiles, latency) = described(run)?;
    let range = latency.map(|latency| Interval {
        low: latency.min.low * (1.0 - BUCKET),
        high: latency.max.high * (1.0 + BUCKET),
    });
    let mut before: Option<&(f64, Figure)> = None;
    for point @ (percent, figure) in &percentiles.points {
        let falls = before.filter(|(share, least)| share < percent && figure.high < least.low);
        let saturated = figure.high >= SATURATED && range.is_some_and(|range| range.low > figure.high);
        let outside = !saturated && range.is_some_and(|range| !range.meets(figure.interval()));
        let wrong = |message: String| Finding::new("F10", Severity::WrongFigure, figure.spot, message);
        match falls {
            Some((share, least)) => {
                let message = format!("the {percent}th percentile is below the {share}th");
                sink.finds(wrong(message).against([least.spot]));
            }
            None if outside => {
                sink.finds(wrong(format!("the {percent}th percentile is not between least and most")));
            }
            None => sink.plausible("F10", figure),
        }
        before = Some(point);
    }
    Some(())
}

fn mean(run: &Run, sink: &mut Sink) -> Option<()> {
    let (Percentiles { points, .. }, latency) = described(run)?;
    let latency = latency.filter(|_| points.len() >= 5)?;
    let bounds = bounds(latency, points);
    if bounds.meets(latency.mean.interval()) {
        sink.plausible("F11", &latency.mean);
        return None;
    }
    let [mean, low, high] = [latency.mean.value, bounds.low, bounds.high].map(ms);
    let message =
        format!("a mean of {mean} is impossible: by the percentiles it is between {low} and {high}");
    let finding = Finding::new("F11", Severity::WrongFigure, latency.mean.spot, message);
    sink.finds(finding.against(points.first().map(|(_, figure)| figure.spot)));
    Some(())
}

/// What the mean may be: every share at its lower end, at its upper end; a percentile at the end of fio's histogram has no upper end.
fn bounds(latency: &Latency, points: &[(f64, Figure)]) -> Interval {
    let (mut low, mut high) = (0.0, 0.0);
    let mut below = (0.0, latency.min.low);
    for (percent, figure) in points {
        let share = (percent - below.0).max(0.0) / 100.0;
        low += share * below.1.min(figure.low);
        high +=
            share * if figure.high >= SATURATED { figure.high.max(latency.max.high) } else { figure.high };
        below = (*percent, figure.low);
    }
    let rest = (100.0 - below.0).max(0.0) / 100.0;
    let (low, high) = (low + rest * below.1, high + rest * latency.max.high);
    Interval { low: low * (1.0 - BUCKET), high: high * (1.0 + BUCKET) }
}

fn buckets(evidence: &Evidence, sink: &mut Sink) {
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

/// What fio counts in 32 bits in some versions: buckets and depths. A job with more I/Os begins at nothing again.
const COUNTED: f64 = 4_294_967_296.0;

fn issued(job: &Job) -> Option<f64> {
    Some(job.issued.as_ref()?.total.iter().flatten().map(|total| total.value).sum())
}

fn same_distribution(run: &Run, sink: &mut Sink) -> Option<()> {
    let alone = run.job.directions.len() == 1 && run.direction.way != Way::Both;
    let counted = issued(run.job).is_none_or(|issued| issued < COUNTED);
    let percentiles =
        run.direction.percentiles.as_ref().filter(|found| found.of == "clat" && alone && counted)?;
    let mut below = 0.0;
    for (edge, share) in &run.job.buckets {
        below += share.value;
        let Some(Interval { low, high }) = share_below(*edge, &percentiles.points) else { continue };
        if low - 1.0 <= below && below <= high + 1.0 {
            sink.holds("F13", share);
            continue;
        }
        let edge = ms(*edge);
        let message = format!(
            "{below:.2} % took less than {edge} by the buckets, {low} to {high} % by the percentiles"
        );
        // Old versions are off by a point or two for reasons of their own.
        let off = (below - high).max(low - below);
        let severity = if off > 5.0 { Severity::WrongFigure } else { Severity::Ambiguous };
        sink.finds(Finding::new("F13", severity, share.spot, message));
        break;
    }
    Some(())
}

/// Between which percentiles an edge lies.
fn share_below(edge: f64, points: &[(f64, Figure)]) -> Option<Interval> {
    let below = points.iter().rev().find(|(_, figure)| figure.high * (1.0 + BUCKET) < edge);
    let above = points.iter().find(|(_, figure)| figure.low * (1.0 - BUCKET) > edge);
    let low = below.map_or(0.0, |(percent, _)| *percent);
    let high = above.map_or(100.0, |(percent, _)| *percent);
    (edge.is_finite() && points.len() >= 5).then_some(Interval { low, high })
}
