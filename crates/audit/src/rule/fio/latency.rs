//! Latencies of one direction: their parts, their order and their percentiles describe one
//! distribution.

use super::JobDirection;
use crate::evidence::EvidenceSink;
use crate::finding::{Finding, Severity};
use crate::import::fio::{FioLatency, Percentiles};
use crate::number::{Interval, PrintedNumber, show_ns as ms};
use crate::rule::ledger::{Ledger, NamedFigure, make_named_figure};

/// Relative error of percentiles: fio's buckets are up to 1/64 wide, and a value may be one bucket
/// off.
const BUCKET: f64 = 0.03;

/// End of fio's histogram, in nanoseconds. A percentile at the end (`16712` ms to 2.x, `17113` ms
/// from 3.0) may be larger.
const SATURATED: f64 = 16.7e9;

/// Returns the percentiles of a direction and the latency that they describe.
fn described_latency<'a>(
    run: &JobDirection<'a>,
) -> Option<(&'a Percentiles, Option<&'a FioLatency>)> {
    let percentiles = run.direction.percentiles.as_ref()?;
    let latency = match percentiles.of {
        "lat" => &run.direction.lat,
        "slat" => &run.direction.slat,
        _ => &run.direction.clat,
    };
    Some((percentiles, latency.as_ref()))
}

/// Reports a completion latency that is above the whole latency. Returns `None` if there is none.
fn part_above_whole(run: &JobDirection, sink: &mut EvidenceSink) -> Option<()> {
    let (clat, lat) = (run.direction.clat?, run.direction.lat?);
    let pairs = [
        (clat.mean, lat.mean, "mean"),
        (clat.min, lat.min, "least"),
        (clat.max, lat.max, "greatest"),
    ];
    let above = |(part, whole, _): &&(PrintedNumber, PrintedNumber, _)| {
        let Interval { low, .. } = part.interval();
        low > 1.02 * whole.interval().high + 1e3
    };
    let (part, whole, name) = *pairs.iter().find(above)?;
    let (part_text, whole_text) = (ms(part.value), ms(whole.value));
    let message = format!(
        "the {name} completion latency, {part_text}, is above the {name} of the whole latency, {whole_text}: \
         the two are not of one clock"
    );
    sink.add_finding(
        Finding::new("F8", Severity::WrongFigure, part.spot, message).against([whole.spot]),
    );
    Some(())
}

pub(super) fn check_parts(run: &JobDirection, sink: &mut EvidenceSink) -> Option<()> {
    if part_above_whole(run, sink).is_some() {
        return None;
    }
    let [slat, clat, lat] =
        [run.direction.slat?, run.direction.clat?, run.direction.lat?].map(|latency| latency.mean);
    let sum = slat.interval().sum_with(clat.interval());
    let slack = (0.005 * lat.value).max(500.0);
    if (Interval { low: sum.low - slack, high: sum.high + slack }).overlaps_with(lat.interval()) {
        sink.mark_holding("F8", &lat);
        return None;
    }
    let by = format!("{} + {} = {}", ms(slat.value), ms(clat.value), ms(sum.middle()));
    let message = format!(
        "the mean latency is printed as {}, but submission and completion make up {by}",
        ms(lat.value)
    );
    let finding =
        Finding::new("F8", Severity::Ambiguous, lat.spot, message).recomputed(ms(sum.middle()));
    sink.add_finding(finding.with_arithmetic(by).against([slat.spot, clat.spot]));
    Some(())
}

/// Checks that minimum, mean and maximum are in order, that the deviation is within the range, and
/// that percentiles rise from minimum to maximum.
pub(super) fn order(run: &JobDirection, sink: &mut EvidenceSink) -> Option<()> {
    let (direction, mut ledger) = (run.direction, Ledger::new(run.page, "F9"));
    let latencies = [direction.slat, direction.clat, direction.lat].into_iter().flatten();
    for one in latencies {
        let [min, mean, max] =
            [("the least", one.min), ("the mean", one.mean), ("the most", one.max)]
                .map(|(name, one)| make_named_figure(name, "", one));
        ledger.rising(&[min, mean, max], 0.0);
        let range = Interval { low: 0.0, high: max.figure.high - min.figure.low };
        let deviation = make_named_figure("the standard deviation", "", one.deviation);
        ledger.check_bounds(deviation, range, &[min, max], || "most - least".to_owned());
    }
    if let Some((percentiles, latency)) = described_latency(run) {
        let point = |figure: &PrintedNumber| make_named_figure("a percentile", "", *figure);
        let mut points: Vec<NamedFigure> =
            percentiles.points.iter().map(|(_, figure)| point(figure)).collect();
        ledger.rising(&points, 0.0);
        if let Some(latency) = latency.filter(|latency| latency.min.low <= SATURATED) {
            points.insert(0, make_named_figure("the least", "", latency.min));
            points.retain(|one| one.figure.high < SATURATED);
            points.push(make_named_figure("the most", "", latency.max));
            ledger.rising(&points, BUCKET);
        }
    }
    ledger.report_figures(sink);
    Some(())
}
