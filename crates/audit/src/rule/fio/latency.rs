//! F9: least, mean and most of latencies and of samples are in order, and percentiles rise between the least and the most.

use super::Run;
use crate::number::Figure;
use crate::rule::Sink;
use crate::rule::ledger::{Ledger, Named, named};

/// Buckets of fio's percentiles are up to 1/64 wide; what is read of them may be one off.
const BUCKET: f64 = 0.03;

/// Where fio's histogram ends, in nanoseconds: a percentile there (`16712` ms to 2.x, `17113` ms from 3.0) is that or anything more.
const SATURATED: f64 = 16.7e9;

pub(super) fn order(run: &Run, sink: &mut Sink) -> Option<()> {
    let (direction, mut ledger) = (run.direction, Ledger::new(run.page, "F9"));
    let point = |name: &'static str| move |figure: Figure| named(name, "", figure);
    let (least, most) = (point("the least"), point("the most"));
    let latencies = [direction.slat, direction.clat, direction.lat];
    let samples = [direction.bandwidth_samples, direction.iops_samples];
    let latencies = latencies.into_iter().flatten().map(|one| (one.min, one.mean, one.max));
    for (min, mean, max) in
        latencies.chain(samples.into_iter().flatten().map(|one| (one.min, one.mean, one.max)))
    {
        ledger.rising(&[least(min), point("the mean")(mean), most(max)], 0.0);
    }
    if let Some(percentiles) = &direction.percentiles {
        let mut points: Vec<Named> =
            percentiles.points.iter().map(|(_, one)| point("a percentile")(*one)).collect();
        ledger.rising(&points, 0.0);
        let latency = match percentiles.of {
            "lat" => direction.lat,
            "slat" => direction.slat,
            _ => direction.clat,
        };
        if let Some(latency) = latency.filter(|latency| latency.min.low <= SATURATED) {
            points.retain(|one| one.figure.high < SATURATED);
            points.insert(0, least(latency.min));
            points.push(most(latency.max));
            ledger.rising(&points, BUCKET);
        }
    }
    ledger.settle(sink);
    Some(())
}
