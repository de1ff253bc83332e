//! Sweeps in the reports: a table per stack and curve, a line per point, with the marks of the
//! knee.

use super::number::{Shown, change_in_percent};
use super::table::{PartRow, TextTable};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::sweep::KneePosition;
use iotax_analysis::findings::sweep::{
    Curve, PointCost, PointDirection, StackCurve, SweepFindings, SweptStack,
};
use iotax_units::distinct;

/// A column of figures: head, rank, and the function that picks the figure.
type SweepColumn = (&'static str, u8, for<'a> fn(&SweepLine<'a>) -> Option<&'a MeasuredFigure>);
const IOPS: SweepColumn =
    ("IOPS", 0, |line| Some(line.direction.map_or(&line.whole.iops, |one| &one.iops)));
const BYTES: SweepColumn = ("throughput", 0, |line| {
    Some(line.direction.map_or(&line.whole.bytes_per_s, |one| &one.bytes_per_s))
});
const LATENCY: SweepColumn =
    ("mean", 2, |line| Some(line.direction.map_or(&line.whole.latency, |one| &one.latency)));
/// Power, which is unknown for one direction: the other takes part of the same time.
const POWER: SweepColumn =
    ("power", 4, |line| Some(&line.whole.power).filter(|_| line.direction.is_none()));

/// A line of the table: a point, or a direction of a mix below it.
type SweepLine<'a> = PartRow<'a, SweptStack, PointDirection>;

impl<'a> PartRow<'a, SweptStack, PointDirection> {
    fn name(&self) -> String {
        self.direction
            .map_or_else(|| self.whole.at.shown.clone(), |one| format!("  {}s", one.direction))
    }

    fn cost(&self, quantity: &str) -> Option<&'a PointCost> {
        let costs = self.direction.map_or(&self.whole.costs, |one| &one.costs);
        costs.iter().find(|cost| cost.quantity == quantity)
    }

    /// Returns a cell of the whole point; empty in the lines of its directions.
    fn whole_cell(&self, cell: impl Fn(&SweptStack) -> String) -> String {
        if self.direction.is_none() { cell(self.whole) } else { String::new() }
    }
}

/// Returns `4k random reads over iodepth, 6 points`.
pub(super) fn title(sweep: &SweepFindings) -> String {
    format!("{}, {} points", sweep.subject, sweep.points)
}

pub(super) const LEGEND: &str = "Power is throughput over mean latency; the knee is where it is greatest, and points \
     marked \"or here\" are not told apart from it";

/// Returns `loop at bs 64k`, the baseline with its star.
pub(super) fn curve_stack_name(sweep: &SweepFindings, curve: &Curve, stack: &StackCurve) -> String {
    let baseline = if stack.baseline { " *" } else { "" };
    let emulated = if stack.emulated.is_some() { " ~" } else { "" };
    format!("{}{baseline}{emulated}{}", stack.stack, curve_words(sweep, curve))
}

/// Returns ` at bs 64k`, the value of the second parameter of a sweep; empty if there is only one
/// parameter.
pub(super) fn curve_words(sweep: &SweepFindings, curve: &Curve) -> String {
    let word = sweep.curve_word.as_deref().unwrap_or_default();
    curve.at.as_ref().map(|at| format!(" at {word} {}", at.shown)).unwrap_or_default()
}

pub(super) fn curve_sentences(curve: &Curve) -> impl Iterator<Item = &str> {
    curve.stacks.iter().flat_map(StackCurve::conclusion_sentences)
}

pub(super) fn points(sweep: &SweepFindings, stack: &StackCurve) -> TextTable {
    let lines: Vec<SweepLine> = stack
        .points
        .iter()
        .flat_map(|one| SweepLine::whole_and_directions(one, &one.directions))
        .collect();
    let cells = |cell: &dyn Fn(&SweepLine) -> String| lines.iter().map(cell).collect::<Vec<_>>();
    let mut table = TextTable::default();
    table.push(&sweep.axis, 0, cells(&|line| line.name()));
    let marks = cells(&|line| line.whole_cell(|point| marks(stack, point)));
    if marks.iter().any(|mark| !mark.is_empty()) {
        table.push("", 0, marks);
    }
    for quantity in
        distinct(stack.points.iter().flat_map(|point| &point.costs).map(|cost| cost.quantity))
    {
        let head = match quantity {
            "" => "verdict".to_owned(),
            quantity => format!("verdict ({quantity})"),
        };
        let cell = |line: &SweepLine| {
            line.cost(quantity).map_or_else(|| "-".into(), |cost| cost.verdict.phrase())
        };
        table.push(&head, 0, cells(&cell));
    }
    // Both figures of a write run into the same ceiling.
    let masked = |point: &SweptStack| {
        let ceiling = point.costs.first().and_then(|cost| cost.masked.as_ref());
        ceiling.map_or("", |masked| masked.short()).to_owned()
    };
    let masked = cells(&|line| line.whole_cell(masked));
    if masked.iter().any(|ceiling| !ceiling.is_empty()) {
        table.push("masked by", 2, masked);
    }
    let open_loop = stack.points.iter().any(|point| point.offered.is_some());
    if open_loop && !stack.baseline {
        let cell = |line: &SweepLine| {
            let costs = line.direction.map_or(&line.whole.costs, |one| &one.costs);
            // In a mix each direction has its own below.
            let is_one = line.direction.is_some() || line.whole.directions.is_empty();
            let median =
                costs.first().and_then(|cost| cost.median_latency.as_ref()).filter(|_| is_one);
            median.map_or_else(|| "-".into(), |ratio| change_in_percent(ratio).cell())
        };
        table.push("p50 change", 0, cells(&cell));
    }
    // An achieved rate says little if it is the offered one.
    let iops = if open_loop { 1 } else { 0 };
    let columns = match sweep.throughput {
        "B/s" => [BYTES, (IOPS.0, 3, IOPS.2), LATENCY, POWER],
        _ => [(IOPS.0, iops, IOPS.2), (BYTES.0, 3, BYTES.2), LATENCY, POWER],
    };
    for (head, rank, pick) in columns {
        let cell = |line: &SweepLine| {
            pick(line).map_or_else(|| "-".into(), |figure| Shown::from_figure(figure).cell())
        };
        table.push(head, rank, cells(&cell));
    }
    table
}

/// Returns `knee`, `not kept up`: the marks that set a point apart.
fn marks(stack: &StackCurve, point: &SweptStack) -> String {
    let place = &stack.knee.place;
    let knee = match place {
        KneePosition::Inside { at, .. } if *at == point.at => "knee",
        KneePosition::Edge { at, .. } if *at == point.at => "most power",
        _ if place.not_told_apart().contains(&point.at) => "or here",
        _ => "",
    };
    let late = if point.kept_up == Some(false) { "not kept up" } else { "" };
    [knee, late].into_iter().filter(|mark| !mark.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::findings::sweep::{Knee, SweepValue};
    use iotax_analysis::findings::{Interval, SampleUnit};
    use iotax_stats::{Concludes, Verdict};

    fn figure(value: f64, unit: &'static str) -> MeasuredFigure {
        let interval = Interval::from_bounds(0.9 * value, 1.1 * value);
        MeasuredFigure::known_value(value, unit, (48, SampleUnit::Rounds), interval)
    }

    fn cost(ratio: f64) -> PointCost {
        PointCost {
            quantity: "",
            verdict: Verdict::of_interval(ratio, 0.99 * ratio, 1.01 * ratio, 0.01),
            masked: None,
            ratio: figure(ratio, "1"),
            simultaneous: None,
            median_latency: None,
        }
    }

    #[test]
    fn a_point_of_a_mix_has_a_line_of_its_reads_and_one_of_its_writes() {
        let direction = |direction, iops, us, ratio| PointDirection {
            direction,
            iops: figure(iops, "1/s"),
            bytes_per_s: figure(4096.0 * iops, "B/s"),
            latency: figure(1e3 * us, "ns"),
            costs: vec![cost(ratio)],
        };
        let point = SweptStack {
            at: SweepValue { value: 4, shown: "4".into() },
            workload: "w".into(),
            iops: figure(1000.0, "1/s"),
            bytes_per_s: figure(4096e3, "B/s"),
            latency: figure(200e3, "ns"),
            power: figure(5000.0, "1/s/ms"),
            offered: None,
            kept_up: None,
            costs: vec![cost(0.8)],
            directions: vec![
                direction("read", 700.0, 150.0, 0.9),
                direction("write", 300.0, 300.0, 0.6),
            ],
        };
        let place = KneePosition::None { reason: "one point".into() };
        let stack = StackCurve {
            stack: "loop".into(),
            baseline: false,
            emulated: None,
            points: vec![point],
            knee: Knee { place, sentence: String::new() },
            kept_up: None,
            courses: Vec::new(),
        };
        let sweep = SweepFindings {
            name: "s".into(),
            subject: "4k random 70/30 mixed I/Os over iodepth".into(),
            axis: "iodepth".into(),
            unit: "1",
            curve_word: None,
            throughput: "1/s",
            points: 1,
            note: None,
            curves: Vec::new(),
        };
        let table = points(&sweep, &stack);
        let column = |head: &str| {
            table.columns.iter().find(|column| column.head == head).unwrap().cells.clone()
        };
        assert_eq!(column("iodepth"), ["4", "  reads", "  writes"]);
        let starts = |head: &str, wanted: [&str; 3]| {
            for (cell, wanted) in column(head).iter().zip(wanted) {
                assert!(cell.starts_with(wanted), "{head}: {cell}, not {wanted}");
            }
        };
        starts("IOPS", ["1000", "700", "300"]);
        starts("mean", ["200", "150", "300"]);
        starts("verdict", ["costs 20.00 %", "costs 10.00 %", "costs 40.00 %"]);
        assert_eq!(column("power")[1..], ["-", "-"]);
    }
}
