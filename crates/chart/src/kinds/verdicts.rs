//! The verdicts as a forest: the interval of each stack against the baseline, and the zone of
//! negligible differences.

use super::{class_of_verdict, classes_of, some_of, verdict_legend};
use crate::chart_kind::ChartKind;
use crate::drawing::{ChartDrawing, LegendMark};
use crate::frame::ChartAxis;
use crate::request::{ChartQuantity, ChartRequest};
use crate::rows::{ChartRow, RowChart};
use crate::text::{change_text, gap_reason, tick_text};
use iotax_analysis::findings::{Charges, Comparison, MeasuredFigure, WorkloadFindings};

pub(crate) const KIND: ChartKind = ChartKind {
    name: "verdicts",
    about: "rates of the stacks against the baseline, with the zone of negligible differences",
    has_quantities: true,
    draw,
};

/// Ratio beyond which the axis is logarithmic.
const FAR: f64 = 2.0;

/// A ratio to the baseline that is ready to be drawn.
struct ForestRow<'a> {
    name: String,
    against: &'a str,
    class: &'static str,
    ratio: MeasuredFigure,
    note: String,
}

fn draw(request: &ChartRequest) -> Option<ChartDrawing> {
    let (load, forest) = request.first_load(|load| {
        let rows = match request.quantity {
            ChartQuantity::Rate => load.comparisons.iter().flat_map(rows_of_rate).collect(),
            quantity => rows_of_charges(load, quantity),
        };
        let is_drawn = rows.iter().any(|row: &ForestRow| row.ratio.value().is_some());
        is_drawn.then_some(rows)
    })?;
    let against = forest.first().map_or("", |row| row.against);
    let chart = forest_chart(&forest, against, request.zone());
    let (body, height) = chart.draw();
    let (what, better) = match request.quantity {
        ChartQuantity::Rate => ("Rate", "left of the line a stack is slower"),
        ChartQuantity::Latency => ("Mean latency", "right of the line a stack takes longer"),
        ChartQuantity::Cpu => ("CPU time per I/O", "right of the line a stack takes more"),
    };
    let zone = format!("within \u{b1}{} %", tick_text(request.zone()));
    let classes = classes_of(&chart.rows);
    let legend = verdict_legend(&classes, LegendMark::Dot);
    let found = some_of(chart.rows.iter().map(|row| row.words.as_str()), "; ");
    let subject = &load.subject;
    Some(ChartDrawing {
        title: format!("{what} against {against}: {subject}"),
        description: format!("{what} of each stack against {against}, {subject}: {found}."),
        legend: legend.chain([(LegendMark::Area("zone"), zone)]).collect(),
        height,
        body,
        notes: vec![format!("Lines: 95 % intervals that hold at once; {better}.")],
    })
}

/// Returns the forest on an axis of percent, or if a ratio is beyond two, of ratios.
fn forest_chart(forest: &[ForestRow], against: &str, zone: f64) -> RowChart {
    let ratios = forest.iter().flat_map(|row| {
        let (low, high) = row.ratio.bounds().unzip();
        [low, row.ratio.value(), high].into_iter().flatten()
    });
    let is_log = ratios.into_iter().any(|ratio| !(1.0 / FAR..=FAR).contains(&ratio));
    let place = |ratio: f64| if is_log { ratio } else { 100.0 * (ratio - 1.0) };
    let rows: Vec<ChartRow> = forest.iter().map(|row| drawn_row(row, &place)).collect();
    RowChart {
        axis: axis(&rows, zone, is_log),
        rows,
        axis_name: match is_log {
            true => format!("times {against}, logarithmic"),
            false => format!("% of change against {against}"),
        },
        tick: if is_log { |value| format!("\u{d7}{}", tick_text(value)) } else { tick_text },
        zone: Some((place(1.0 - zone / 100.0), place(1.0 + zone / 100.0))),
        origin: Some(place(1.0)),
    }
}

fn drawn_row(row: &ForestRow, place: &dyn Fn(f64) -> f64) -> ChartRow {
    let figure = change_text(&row.ratio);
    let reason = gap_reason(&row.ratio).map(|why| format!(" ({why})")).unwrap_or_default();
    ChartRow {
        name: row.name.clone(),
        class: row.class,
        dot: row.ratio.value().map(place),
        whisker: row.ratio.bounds().map(|(low, high)| (place(low), place(high))),
        words: format!("{} {figure}{}{reason}", row.name, row.note),
        figure,
        ..ChartRow::default()
    }
}

fn rows_of_rate(one: &Comparison) -> Vec<ForestRow<'_>> {
    let note = match (&one.masked, &one.emulated) {
        (Some(masked), _) => format!(", masked: {}", masked.short()),
        (None, Some(_)) => ", emulated".to_owned(),
        (None, None) => String::new(),
    };
    let masked = if one.masked.is_some() { " (masked)" } else { "" };
    let named = |words: String| match words.trim() {
        "" => format!("{}{masked}", one.stack),
        words => format!("{}{masked}, {words}", one.stack),
    };
    let whole = ForestRow {
        name: named(one.write_word().to_owned()),
        against: &one.against,
        class: class_of_verdict(&one.rate.verdict),
        ratio: one.rate.at_once(),
        note: note.clone(),
    };
    let directions = one.directions.iter().map(|direction| ForestRow {
        name: named(format!("{}s {}", direction.direction, one.write_word())),
        against: &one.against,
        class: class_of_verdict(&direction.rate.verdict),
        ratio: direction.rate.at_once(),
        note: note.clone(),
    });
    std::iter::once(whole).chain(directions).collect()
}

fn rows_of_charges(load: &WorkloadFindings, quantity: ChartQuantity) -> Vec<ForestRow<'_>> {
    let row = |one: &'_ Charges| {
        let charge = if quantity == ChartQuantity::Cpu { &one.cpu } else { &one.latency };
        (one.stack.clone(), class_of_verdict(&charge.verdict), charge.ratio.clone())
    };
    let rows = load.charges.iter().map(|one| {
        let (name, class, ratio) = row(one);
        let note = if one.emulated.is_some() { ", emulated" } else { "" };
        ForestRow { name, against: &one.against, class, ratio, note: note.to_owned() }
    });
    rows.collect()
}

/// Returns the axis of a forest; nothing can lose more than all.
fn axis(rows: &[ChartRow], zone: f64, is_log: bool) -> ChartAxis {
    let values = rows.iter().flat_map(ChartRow::values);
    match is_log {
        // What is as good as nothing must not stretch the axis without end.
        true => ChartAxis::log(values.map(|ratio| ratio.clamp(1e-4, 1e4)).chain([1.0])),
        false => {
            let zone = [-1.5 * zone, 1.5 * zone];
            ChartAxis::even(values.chain(zone), 6.0).ending_at(-100.0)
        }
    }
}
