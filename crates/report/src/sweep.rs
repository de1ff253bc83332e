//! What the reports show of a sweep: a table a stack and curve, a line a point, with the marks of the knee.

use super::number::{Shown, change};
use super::table::Table;
use iotax_analysis::findings::Figure;
use iotax_analysis::findings::sweep::Place;
use iotax_analysis::findings::sweep::{Curve, Point, StackCurve, SweepFindings};

/// A column of figures: head, rank, what it picks.
type Column = (&'static str, u8, fn(&Point) -> &Figure);
const IOPS: Column = ("IOPS", 0, |point| &point.iops);
const BYTES: Column = ("throughput", 0, |point| &point.bytes_per_s);
const LATENCY: Column = ("mean", 2, |point| &point.latency);
const POWER: Column = ("power", 4, |point| &point.power);

/// `4k random reads over iodepth, 6 points`.
pub(super) fn title(sweep: &SweepFindings) -> String {
    format!("{}, {} points", sweep.subject, sweep.points)
}

/// What the marks of the tables mean.
pub(super) const LEGEND: &str = "Power is throughput over mean latency; the knee is where it is greatest, and points \
     marked \"or here\" are not told apart from it";

/// `loop at bs 64k`, the baseline with its star.
pub(super) fn name(sweep: &SweepFindings, curve: &Curve, stack: &StackCurve) -> String {
    let baseline = if stack.baseline { " *" } else { "" };
    let emulated = if stack.emulated.is_some() { " ~" } else { "" };
    format!("{}{baseline}{emulated}{}", stack.stack, at(sweep, curve))
}

/// ` at bs 64k` of a grid.
pub(super) fn at(sweep: &SweepFindings, curve: &Curve) -> String {
    let word = sweep.curve_word.as_deref().unwrap_or_default();
    curve.at.as_ref().map(|at| format!(" at {word} {}", at.shown)).unwrap_or_default()
}

/// All that is concluded of a curve, stack by stack.
pub(super) fn sentences(curve: &Curve) -> impl Iterator<Item = &str> {
    curve.stacks.iter().flat_map(StackCurve::sentences)
}

/// The points of a stack along a curve.
pub(super) fn points(sweep: &SweepFindings, stack: &StackCurve) -> Table {
    let mut table = Table::default();
    table.push(&sweep.axis, 0, stack.points.iter().map(|point| point.at.shown.clone()).collect());
    let marks: Vec<String> = stack.points.iter().map(|point| marks(stack, point)).collect();
    if marks.iter().any(|mark| !mark.is_empty()) {
        table.push("", 0, marks);
    }
    for which in 0..stack.points.iter().map(|point| point.costs.len()).max().unwrap_or(0) {
        let quantity = stack.points.iter().find_map(|point| Some(point.costs.get(which)?.quantity));
        let head = match quantity.unwrap_or_default() {
            "" => "verdict".to_owned(),
            quantity => format!("verdict ({quantity})"),
        };
        let cell =
            |point: &Point| point.costs.get(which).map_or_else(|| "-".into(), |cost| cost.verdict.phrase());
        table.push(&head, 0, stack.points.iter().map(cell).collect());
    }
    // Both figures of a write run into the same ceiling.
    let masked = |point: &Point| {
        let ceiling = point.costs.first().and_then(|cost| cost.masked.as_ref());
        ceiling.map_or("", |masked| masked.short()).to_owned()
    };
    let masked: Vec<String> = stack.points.iter().map(masked).collect();
    if masked.iter().any(|ceiling| !ceiling.is_empty()) {
        table.push("masked by", 2, masked);
    }
    let open_loop = stack.points.iter().any(|point| point.offered.is_some());
    if open_loop && !stack.baseline {
        let cell = |point: &Point| {
            let median = point.costs.first().and_then(|cost| cost.median_latency.as_ref());
            median.map_or_else(|| "-".into(), |ratio| change(ratio).cell())
        };
        table.push("p50 change", 0, stack.points.iter().map(cell).collect());
    }
    // An achieved rate says little where it is the offered one.
    let iops = if open_loop { 1 } else { 0 };
    let columns = match sweep.throughput {
        "B/s" => [BYTES, (IOPS.0, 3, IOPS.2), LATENCY, POWER],
        _ => [(IOPS.0, iops, IOPS.2), (BYTES.0, 3, BYTES.2), LATENCY, POWER],
    };
    for (head, rank, pick) in columns {
        table.push(head, rank, stack.points.iter().map(|point| Shown::of(pick(point)).cell()).collect());
    }
    table
}

/// `knee`, `not kept up`: what sets a point apart.
fn marks(stack: &StackCurve, point: &Point) -> String {
    let place = &stack.knee.place;
    let knee = match place {
        Place::Inside { at, .. } if *at == point.at => "knee",
        Place::Edge { at, .. } if *at == point.at => "most power",
        _ if place.not_told_apart().contains(&point.at) => "or here",
        _ => "",
    };
    let late = if point.kept_up == Some(false) { "not kept up" } else { "" };
    [knee, late].into_iter().filter(|mark| !mark.is_empty()).collect::<Vec<_>>().join(", ")
}
