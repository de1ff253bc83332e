//! The bill as a waterfall: from the baseline down to what is left, a drop for each layer.

use super::{class_of_verdict, classes_of, verdict_legend};
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark};
use crate::frame::ChartAxis;
use crate::request::{ChartQuantity, ChartRequest};
use crate::rows::{ChartRow, RowChart};
use crate::text::{AxisUnit, figure_text, gap_reason, tick_text, typeset};
use iotax_analysis::findings::{Bill, BillLine, MeasuredFigure};
use iotax_stats::Digits;

pub(crate) const KIND: ChartKind = ChartKind {
    name: "bill",
    about: "what each layer costs, in points of the baseline, as a waterfall",
    has_quantities: true,
    draw,
};

/// Bill of one load or of two depths, with the description of its load.
fn chosen_bill<'a>(request: &ChartRequest<'a>) -> Option<(&'a str, &'a Bill)> {
    let has = |bill: &Bill| {
        bill.lines.iter().any(|line| change_of(request.quantity, line).value().is_some())
    };
    let joint = request.findings.joint_bills.iter().find(|joint| joint.sole && has(&joint.bill));
    match joint.filter(|_| request.load.is_none()) {
        Some(joint) => Some((&joint.subject, &joint.bill)),
        None => {
            let of_load = request.first_load(|load| load.bill.as_ref().filter(|bill| has(bill)));
            of_load.map(|(load, bill)| (load.subject.as_str(), bill))
        }
    }
}

/// Returns the change that a line makes, before it is scaled: of the rate as 1 plus a share.
fn change_of(quantity: ChartQuantity, line: &BillLine) -> &MeasuredFigure {
    match quantity {
        ChartQuantity::Rate => &line.of_baseline,
        ChartQuantity::Latency => &line.added_latency,
        ChartQuantity::Cpu => &line.added_cpu,
    }
}

/// Where the steps of a waterfall begin, and how its figures become those of the axis.
struct Waterfall {
    quantity: ChartQuantity,
    begin: f64,
    unit: AxisUnit,
}

impl Waterfall {
    fn for_bill(quantity: ChartQuantity, bill: &Bill) -> Waterfall {
        let lines = bill.lines.iter().chain([&bill.total]);
        let most = super::largest(lines.map(|line| change_of(quantity, line)));
        match quantity {
            ChartQuantity::Rate => {
                Waterfall { quantity, begin: 100.0, unit: AxisUnit { by: 1.0, name: "" } }
            }
            _ => Waterfall { quantity, begin: 0.0, unit: AxisUnit::for_size("ns", most) },
        }
    }

    fn change(&self, value: f64) -> f64 {
        match self.quantity {
            ChartQuantity::Rate => 100.0 * (value - 1.0),
            _ => value / self.unit.by,
        }
    }

    /// Returns the level at which each step begins; `None` if a step without a figure lies between
    /// it and both ends of the bill.
    fn starts(&self, bill: &Bill) -> Vec<Option<f64>> {
        let change = |line| change_of(self.quantity, line).value().map(|value| self.change(value));
        let changes: Vec<Option<f64>> = bill.lines.iter().map(change).collect();
        let sum = |part: &[Option<f64>]| part.iter().copied().sum::<Option<f64>>();
        let start = |at: usize| {
            let from_above = sum(&changes[..at]).map(|sum| self.begin + sum);
            let from_below = || Some(self.begin + change(&bill.total)? - sum(&changes[at..])?);
            from_above.or_else(from_below)
        };
        (0..changes.len()).map(start).collect()
    }

    fn step(&self, line: &BillLine, before: Option<f64>) -> ChartRow {
        let figure = change_of(self.quantity, line);
        let change = figure.value().map(|value| self.change(value));
        let ends = figure.bounds().map(|(low, high)| (self.change(low), self.change(high)));
        let class = match (self.quantity, ends) {
            (ChartQuantity::Rate, _) => class_of_verdict(&line.verdict),
            (_, Some((low, _))) if low > 0.0 => "cost",
            (_, Some((_, high))) if high < 0.0 => "gain",
            _ => "open",
        };
        let text = self.text(figure);
        let emulated = if line.emulated.is_some() { ", emulated" } else { "" };
        let reason = gap_reason(figure).map(|why| format!(" ({why})")).unwrap_or_default();
        ChartRow {
            name: line.layer.clone(),
            class,
            bar: before.zip(change).map(|(from, change)| (from, from + change)),
            whisker: before.zip(ends).map(|(from, (low, high))| (from + low, from + high)),
            words: format!("{} on {}: {text}{reason}{emulated}", line.layer, line.on),
            figure: text,
            ..ChartRow::default()
        }
    }

    /// Returns the row of the total, from the origin.
    fn total(&self, line: &BillLine) -> ChartRow {
        let step = self.step(line, Some(self.begin));
        let name = match self.quantity {
            ChartQuantity::Rate => "what is left",
            _ => "all layers together",
        };
        let bar = step.bar.map(|(_, level)| (0.0, level));
        let share = line.of_baseline.value().filter(|_| self.quantity == ChartQuantity::Rate);
        let bounds = line.of_baseline.bounds();
        let share = share.map(|share| typeset(&Digits::format_share(share, bounds).cell()));
        let figure = share.unwrap_or(step.figure);
        ChartRow { name: name.to_owned(), class: "level", bar, figure, ..step }
    }

    /// Returns the rows from the baseline to what is left.
    fn rows(&self, bill: &Bill, baseline: &str) -> Vec<ChartRow> {
        let starts = self.starts(bill);
        let steps = bill.lines.iter().zip(starts).map(|(line, start)| self.step(line, start));
        let first = (self.quantity == ChartQuantity::Rate).then(|| ChartRow {
            name: baseline.to_owned(),
            class: "level",
            bar: Some((0.0, self.begin)),
            figure: "100 %".to_owned(),
            ..ChartRow::default()
        });
        let total = self.total(&bill.total);
        let mut rows: Vec<ChartRow> = first.into_iter().chain(steps).chain([total]).collect();
        for at in 1..rows.len() {
            rows[at - 1].is_linked = rows[at - 1].bar.is_some() && rows[at].bar.is_some();
        }
        rows
    }

    /// Returns what the bill is of, and the name of its axis.
    fn words(&self, baseline: &str) -> (&'static str, String) {
        let unit = self.unit.name;
        match self.quantity {
            ChartQuantity::Rate => ("of the rate", format!("% of the rate of {baseline}")),
            ChartQuantity::Latency => ("of mean latency", format!("added mean latency, {unit}")),
            ChartQuantity::Cpu => {
                ("of CPU time per I/O", format!("added CPU time per I/O, {unit}"))
            }
        }
    }

    fn text(&self, figure: &MeasuredFigure) -> String {
        match (self.quantity, figure.value()) {
            (ChartQuantity::Rate, Some(value)) => {
                let bounds = figure.bounds().map(|(low, high)| (low - 1.0, high - 1.0));
                let cell = typeset(&Digits::format_change(value - 1.0, bounds).cell());
                cell.replace(" %", " points")
            }
            (_, Some(value)) if value > 0.0 => format!("+{}", figure_text(figure)),
            _ => figure_text(figure),
        }
    }
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let (subject, bill) = chosen_bill(request)?;
    bill_chart(bill, subject, request.quantity)
}

/// Returns the waterfall of a bill; `None` if no line has a figure of this quantity.
pub fn bill_chart(bill: &Bill, subject: &str, quantity: ChartQuantity) -> Option<ChartDrawing> {
    bill.lines.iter().find(|line| change_of(quantity, line).value().is_some())?;
    let waterfall = Waterfall::for_bill(quantity, bill);
    let is_rate = quantity == ChartQuantity::Rate;
    let baseline = bill.lines.first().map_or("the baseline", |line| line.on.as_str());
    let rows = waterfall.rows(bill, baseline);
    let axis = axis(&rows, is_rate);
    let cut = match axis.begin() > 0.0 {
        true => format!("; the axis begins at {} %", tick_text(axis.begin())),
        false => String::new(),
    };
    let (what, axis_name) = waterfall.words(baseline);
    let chart = RowChart {
        rows,
        axis_name,
        tick: tick_text,
        zone: None,
        origin: (!is_rate).then_some(0.0),
        axis,
    };
    let (body, height) = chart.draw();
    let steps = chart.rows.iter().map(|row| format!("{} {}", row.name, row.figure));
    let steps: Vec<String> = steps.collect();
    Some(ChartDrawing {
        title: format!("Bill {what}: {subject}"),
        description: format!("Waterfall of the bill {what}, {subject}: {}.", steps.join("; ")),
        legend: verdict_legend(&classes_of(&chart.rows), LegendMark::Bar).collect(),
        height,
        body,
        notes: vec![format!("Whiskers: 95 % intervals of each step{cut}.")],
    })
}

/// Returns the axis of a waterfall. That of rates begins near its lowest level if all are high, as
/// small drops could not be seen otherwise.
fn axis(rows: &[ChartRow], is_rate: bool) -> ChartAxis {
    let is_step = |row: &&ChartRow| row.class != "level" || !is_rate;
    let levels: Vec<f64> = rows.iter().filter(is_step).flat_map(ChartRow::values).collect();
    let lowest = levels.iter().copied().filter(|level| level.is_finite()).fold(100.0, f64::min);
    match is_rate {
        true if lowest > 60.0 => {
            let low = lowest - 0.35 * (100.0 - lowest).max(2.0);
            ChartAxis::even(levels.into_iter().chain([100.0, low]), 6.0)
        }
        _ => ChartAxis::even(levels.into_iter().chain([0.0]), 6.0),
    }
}
