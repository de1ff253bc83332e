//! Forests of the page: the intervals of ratios to a baseline, a row each. They are HTML with small
//! drawings whose positions are percentages, so that a phone shows them without scrolling. All
//! other charts are those of the crate `chart`.

use super::breakable;
use crate::number::{Shown, change_in_percent};
use crate::states;
use crate::typography::typographic;
use crate::verdicts::class_of;
use iotax_analysis::findings::history::{HistoryPoint, HistorySeries};
use iotax_analysis::findings::states::ArrayStates;
use iotax_analysis::findings::{
    ChargeFinding, Charges, Comparison, MeasuredFigure, WorkloadFindings,
};
use iotax_stats::Verdict;
use iotax_units::show_minute;
use maud::{Markup, html};
use std::collections::BTreeSet;

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
                    (interval(row.bar, scale, zone, row.class, &format!("{} {}", row.name, row.words)))
                    span { (row.words) }
                }
            }
            div class="row axis" {
                span { @if all_emulated { span class="tag warn" { "all emulated" } } }
                (axis(scale))
                span {}
            }
        }
    }
}

/// Most rows of a forest of stacks.
const MOST_ROWS: usize = 60;

/// Keeps the rows that lie farthest from 0, in their order, and returns a sentence about the others.
fn farthest(rows: Vec<IntervalRow>) -> (Vec<IntervalRow>, String) {
    let all = rows.len();
    if all <= MOST_ROWS {
        return (rows, String::new());
    }
    let distance = |row: &IntervalRow| row.bar.map_or(-1.0, |bar| bar.middle.abs());
    let mut order: Vec<usize> = (0..all).collect();
    order.sort_by(|a, b| distance(&rows[*b]).total_cmp(&distance(&rows[*a])));
    let kept: BTreeSet<usize> = order.into_iter().take(MOST_ROWS).collect();
    let rows = rows.into_iter().enumerate().filter(|(at, _)| kept.contains(at));
    let note = format!(" {MOST_ROWS} of {all} rows: those farthest from 0; the table has all.");
    (rows.map(|(_, row)| row).collect(), note)
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
    let (rows, left_out) = farthest(comparisons.iter().flat_map(rows_of).collect());
    let against = comparisons.first().map(|one| one.against.as_str());
    html! {
        @if let Some(against) = against.filter(|_| rows.iter().any(|row| row.bar.is_some())) {
            h3 { "Rate against " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Dot: estimate. Line: 95 % interval. Shaded: within \u{b1}" (zone) " %." (left_out) }
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
    let (rows, left_out) = farthest(rows.collect());
    let against = workload.charges.first().map(|one| one.against.as_str()).unwrap_or_default();
    html! {
        @if !rows.is_empty() {
            h3 { (head) " " (against) }
            (intervals(&rows, zone))
            p class="soft" { "Less is better: to the right of 0 the stack takes more." (left_out) }
        }
    }
}

/// Interval of a ratio, drawn as its change in percent of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bar {
    low: f64,
    middle: f64,
    high: f64,
}

impl Bar {
    fn from_ratio(ratio: &MeasuredFigure) -> Option<Bar> {
        let (low, high) = ratio.bounds()?;
        let change = |ratio: f64| 100.0 * (ratio - 1.0);
        Some(Bar { low: change(low), middle: change(ratio.value()?), high: change(high) })
    }
}

/// Axis that several bars share, in percent of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    from: f64,
    to: f64,
    step: f64,
}

/// Limit of bars in percent; longer ones are cut off with the axis.
const FARTHEST: f64 = 1e4;

impl Scale {
    fn holding_bars(bars: &[Bar], zone: f64) -> Scale {
        let low = bars.iter().map(|bar| bar.low).fold(-zone * 1.5, f64::min).max(-100.0);
        let high = bars.iter().map(|bar| bar.high).fold(zone * 1.5, f64::max).min(FARTHEST);
        let step = nice_step((high - low) / 4.0);
        Scale { from: (low / step).floor() * step, to: (high / step).ceil() * step, step }
    }

    fn left_percent(&self, value: f64) -> String {
        let share = 100.0 * (value - self.from) / (self.to - self.from);
        format!("{:.2}%", share.clamp(0.0, 100.0))
    }

    /// Returns the class of a tick: every other one has no room for its label on a phone, but zero
    /// keeps it.
    fn class(&self, tick: f64) -> &'static str {
        if (tick / self.step).round() as i64 % 2 == 0 { "even" } else { "odd" }
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.to - self.from) / self.step).round() as i32;
        (0..=count).map(|tick| self.from + f64::from(tick) * self.step).collect()
    }
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1e-3).log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power)
}

/// Draws one interval on the shared axis, as high as the name next to it.
fn interval(bar: Option<Bar>, scale: Scale, zone: f64, class: &str, words: &str) -> Markup {
    html! {
        div class="lane" {
            svg class=(class) role="img" {
                title { (words) }
                (zone_of(scale, zone))
                @for tick in scale.ticks() {
                    line class="grid" x1=(scale.left_percent(tick)) x2=(scale.left_percent(tick)) y1="0" y2="100%" {}
                }
                line class="zero" x1=(scale.left_percent(0.0)) x2=(scale.left_percent(0.0)) y1="0" y2="100%" {}
                @if let Some(bar) = bar {
                    line class="whisker" x1=(scale.left_percent(bar.low)) x2=(scale.left_percent(bar.high)) y1="50%" y2="50%" {}
                    circle class="dot" cx=(scale.left_percent(bar.middle)) cy="50%" r="5.5" {}
                }
            }
        }
    }
}

fn zone_of(scale: Scale, zone: f64) -> Markup {
    let width = 100.0 * 2.0 * zone / (scale.to - scale.from);
    html! { rect class="zone" x=(scale.left_percent(-zone)) width={ (format!("{width:.2}")) "%" } y="0" height="100%" {} }
}

fn axis(scale: Scale) -> Markup {
    let decimals = usize::from(scale.step < 1.0);
    html! {
        svg height="20" aria-hidden="true" {
            @for tick in scale.ticks() {
                text class=(scale.class(tick)) x=(scale.left_percent(tick)) y="14" text-anchor=(anchor(tick, scale)) {
                    @if tick.abs() < 1e-9 { "0 %" } @else { (format!("{tick:+.decimals$} %").replace('-', "\u{2212}")) }
                }
            }
        }
    }
}

/// Returns the anchor of a tick's label, which keeps the outer labels inside the drawing.
fn anchor(tick: f64, scale: Scale) -> &'static str {
    match () {
        () if tick <= scale.from => "start",
        () if tick >= scale.to - scale.step / 2.0 => "end",
        () => "middle",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_bars_zero_and_zone() {
        let bars = [
            Bar { low: -16.2, middle: -15.7, high: -15.1 },
            Bar { low: -3.0, middle: -1.0, high: 1.0 },
        ];
        let scale = Scale::holding_bars(&bars, 2.0);
        assert_eq!(scale, Scale { from: -20.0, to: 5.0, step: 5.0 });
        assert_eq!(
            (scale.left_percent(-20.0), scale.left_percent(0.0)),
            ("0.00%".into(), "80.00%".into())
        );
        let none = Scale::holding_bars(&[], 2.0);
        assert!(none.from < -2.0 && none.to > 2.0);
        assert!(none.ticks().iter().any(|tick| tick.abs() < 1e-9));
    }
}
