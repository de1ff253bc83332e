//! Drawings of the page, with what each shows in words.

use super::plot::{self, Bar, Curve, Scale};
use super::sweep;
use super::{STYLES, breakable};
use crate::number::{Shown, change_in_percent};
use crate::states;
use crate::typography::typographic;
use crate::verdicts::class_of;
use iotax_analysis::Findings;
use iotax_analysis::findings::history::{HistoryPoint, HistorySeries};
use iotax_analysis::findings::limits::CourseFinding;
use iotax_analysis::findings::states::ArrayStates;
use iotax_analysis::findings::sweep::SweepFindings;
use iotax_analysis::findings::{
    Bill, ChargeFinding, Charges, Comparison, LatencyFigures, MeasuredFigure, StackRow,
    WorkloadFindings,
};
use iotax_chart::{ChartQuantity, bill_chart, overtime_chart};
use iotax_stats::Verdict;
use iotax_units::show_minute;
use maud::{Markup, html};

/// Draws the rates of all stacks against the baseline; `zone` is in percent.
pub(crate) fn rates(workload: &WorkloadFindings, zone: f64) -> Markup {
    forest(&workload.comparisons.iter().collect::<Vec<_>>(), zone, |one| one.stack.clone())
}

pub(crate) fn states(array: &ArrayStates, zone: f64) -> Markup {
    forest(&states::comparisons(array), zone, |one| states::state_name(array, one))
}

/// Draws latencies and CPU times of all stacks against the baseline.
pub(crate) fn charges(workload: &WorkloadFindings, zone: f64) -> Markup {
    html! { @for pick in [LATENCY, CPU] { (charge_forest(workload, pick, zone)) } }
}

/// Draws the interval of each run of a history.
pub(crate) fn history(series: &HistorySeries) -> Markup {
    let zone = series.points.iter().map(|point| 100.0 * point.run.zone).fold(0.0, f64::max);
    let rows: Vec<IntervalRow> = series.points.iter().map(history_row).collect();
    let drawn = rows.iter().any(|row| row.bar.is_some());
    html! { @if drawn { (intervals(&rows, zone)) } }
}

fn history_row(point: &HistoryPoint) -> IntervalRow {
    let verdict = point.change.as_ref().and_then(|change| change.verdict.as_ref());
    let drifted = point.change.as_ref().filter(|change| change.has_drifted());
    let drift = drifted.map(|change| format!("changed {}", words_of(&change.ratio)));
    let differs = (!point.differs.is_empty()).then(|| "something else differs".to_owned());
    IntervalRow {
        name: show_minute(&point.run.at),
        note: point.run.name.clone().unwrap_or_else(|| point.run.id.clone()),
        mark: drift.or(differs),
        class: verdict.map_or("none", class_of),
        emulated: false,
        bar: Bar::from_ratio(&point.ratio),
        words: words_of(&point.ratio),
    }
}

pub(crate) fn sweep_drawings(one: &SweepFindings, zone: f64) -> Markup {
    sweep::drawings(one, zone)
}

pub(crate) fn course(one: &CourseFinding) -> Markup {
    html! { h3 { (crate::table::capital(&one.load)) } (plot::course(one)) }
}

struct IntervalRow {
    name: String,
    note: String,
    mark: Option<String>,
    class: &'static str,
    emulated: bool,
    bar: Option<Bar>,
    words: String,
}

fn intervals(rows: &[IntervalRow], zone: f64) -> Markup {
    let bars: Vec<Bar> = rows.iter().filter_map(|row| row.bar).collect();
    let scale = Scale::holding_bars(&bars, zone);
    // One word for all rows is enough.
    let all_emulated = rows.len() > 1 && rows.iter().all(|row| row.emulated);
    html! {
        div class="plot" {
            @for row in rows {
                div class="row" {
                    span {
                        (breakable(&row.name))
                        @if !row.note.is_empty() { " " span class="soft" { (row.note) } }
                        @if row.emulated && !all_emulated { " " span class="tag warn" { "emulated" } }
                        @if let Some(mark) = &row.mark { " " span class="tag" { (mark) } }
                    }
                    (plot::interval(row.bar, scale, zone, row.class, &format!("{} {}", row.name, row.words)))
                    span { (row.words) }
                }
            }
            div class="row axis" {
                span { @if all_emulated { span class="tag warn" { "all emulated" } } }
                (plot::axis(scale))
                span {}
            }
        }
    }
}

fn words_of(ratio: &MeasuredFigure) -> String {
    match change_in_percent(ratio) {
        Shown::Missing => "no figure".to_owned(),
        shown => typographic(&shown.cell()),
    }
}

/// Draws the intervals of rates compared with one stack. `zone`, in percent, is shaded; `named`
/// returns a row's name.
fn forest(comparisons: &[&Comparison], zone: f64, named: impl Fn(&Comparison) -> String) -> Markup {
    let row =
        |one: &Comparison, note: String, verdict: &Verdict, ratio: &MeasuredFigure| IntervalRow {
            name: named(one),
            note,
            mark: one.masked.as_ref().map(|masked| format!("masked: {}", masked.short())),
            class: class_of(verdict),
            emulated: one.emulated.is_some(),
            bar: Bar::from_ratio(ratio),
            words: words_of(ratio),
        };
    let rows_of = |one: &&Comparison| {
        let whole = row(one, one.write_word().to_owned(), &one.rate.verdict, &one.rate.at_once());
        let directions = one.directions.iter().map(|direction| {
            let note = format!("{}s {}", direction.direction, one.write_word());
            row(one, note, &direction.rate.verdict, &direction.rate.at_once())
        });
        std::iter::once(whole).chain(directions).collect::<Vec<_>>()
    };
    let rows: Vec<IntervalRow> = comparisons.iter().flat_map(rows_of).collect();
    let against = comparisons.first().map(|one| one.against.as_str());
    html! {
        @if let Some(against) = against.filter(|_| rows.iter().any(|row| row.bar.is_some())) {
            h3 { "Rate against " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Dot: estimate. Line: 95 % interval. Shaded: within \u{b1}" (zone) " %." }
        }
    }
}

/// Head of a drawing, and the function that picks its figure.
type PickCharge = (&'static str, fn(&Charges) -> &ChargeFinding);
const LATENCY: PickCharge =
    ("Mean latency under the same load, against", |charges| &charges.latency);
const CPU: PickCharge = ("CPU time per I/O, against", |charges| &charges.cpu);

/// Draws the intervals of latencies or CPU times. Stacks without an interval are left out: the
/// sentences say why, and the table has the value.
fn charge_forest(workload: &WorkloadFindings, (head, pick): PickCharge, zone: f64) -> Markup {
    let row = |one: &Charges, note: String, charge: &ChargeFinding| IntervalRow {
        name: one.stack.clone(),
        note,
        mark: None,
        class: class_of(&charge.verdict),
        emulated: one.emulated.is_some(),
        bar: Bar::from_ratio(&charge.ratio),
        words: words_of(&charge.ratio),
    };
    let rows_of = |one: &Charges| {
        let directions = one.directions.iter().filter(|_| head == LATENCY.0);
        let directions = directions.map(|it| row(one, format!("{}s", it.direction), &it.latency));
        std::iter::once(row(one, String::new(), pick(one))).chain(directions).collect::<Vec<_>>()
    };
    let rows = workload.charges.iter().flat_map(rows_of).filter(|row| row.bar.is_some());
    let rows: Vec<IntervalRow> = rows.collect();
    let against = workload.charges.first().map(|one| one.against.as_str()).unwrap_or_default();
    html! {
        @if !rows.is_empty() {
            h3 { (head) " " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Less is better: to the right of 0 the stack takes more." }
        }
    }
}

/// Draws a bill as a waterfall; `subject` is its load.
pub(crate) fn bill(bill: &Bill, subject: &str) -> Markup {
    let drawing = bill_chart(bill, subject, ChartQuantity::Rate);
    html! { @if let Some(drawing) = drawing { (drawing.to_page()) } }
}

/// Most points of all charts over time, which bounds the size of the page.
const MOST_POINTS: usize = 3000;

/// Draws the rates of a load over time. A sweep has too many loads for a chart of each.
pub(crate) fn over_time(findings: &Findings, workload: &WorkloadFindings) -> Markup {
    let most_points = MOST_POINTS / findings.workloads.len().max(1);
    let drawing = match workload.sweep {
        Some(_) => None,
        None => overtime_chart(workload, 100.0 * findings.run.zone, most_points),
    };
    html! { @if let Some(drawing) = drawing { h3 { "Over time" } (drawing.to_page()) } }
}

/// Draws latency by percentile, for each direction.
pub(crate) fn latencies(workload: &WorkloadFindings) -> Markup {
    let directions: Vec<&'static str> = ["read", "write"]
        .into_iter()
        .filter(|way| !curves(&workload.rows, way).is_empty())
        .collect();
    html! { @for direction in directions { (latency_chart(workload, direction)) } }
}

/// Returns the stacks with a curve of a direction, each with the line style of its row.
fn curves<'a>(rows: &'a [StackRow], direction: &str) -> Vec<(&'a StackRow, Curve<'a>)> {
    let of =
        |latency: &&'a LatencyFigures| latency.direction == direction && latency.curve.len() > 1;
    let curve = |(at, row): (usize, &'a StackRow)| {
        let latency = row.latency.iter().find(of)?;
        Some((row, Curve { points: &latency.curve, class: format!("c{}", at % STYLES) }))
    };
    rows.iter().enumerate().filter_map(curve).collect()
}

fn latency_chart(workload: &WorkloadFindings, direction: &str) -> Markup {
    let (rows, curves): (Vec<&StackRow>, Vec<Curve>) =
        curves(&workload.rows, direction).into_iter().unzip();
    let names: Vec<&str> = rows.iter().map(|row| row.stack.as_str()).collect();
    let words = format!(
        "{direction} latency by percentile of {}; the tables have the figures",
        names.join(", ")
    );
    html! {
        h3 {
            @match workload.probe {
                Some(_) => "Latency by percentile",
                None => { "Latency of " (direction) "s by percentile, at the stated depth" }
            }
        }
        ul class="legend" {
            @for (name, curve) in names.iter().zip(&curves) {
                li { svg height="8" aria-hidden="true" { line class={ "curve " (curve.class) } x1="0" x2="28" y1="4" y2="4" {} } (name) }
            }
        }
        (plot::latencies(&curves, &words))
    }
}
