//! The page of a history: an interval for each run, and its figures in a table.

use super::plot::Bar;
use super::{
    IntervalRow, breakable, class_of, intervals, table_markup, typographic_signs, whole_page,
    words_of,
};
use crate::history::{HistoryRenderer, drift_sentences, history_title, sheet};
use crate::{PageContext, table::TextTable};
use iotax_analysis::findings::history::{HistoryPoint, HistorySeries, StackHistory};
use iotax_units::show_minute;
use maud::{Markup, html};

pub const RENDERER: HistoryRenderer =
    HistoryRenderer { name: "html", endings: &["html", "htm"], render };

fn render(history: &StackHistory, _page: &PageContext) -> String {
    let title = history_title(history);
    whole_page(
        &format!("{title} \u{b7} iotax history"),
        "",
        &html! {
            header { h1 { (breakable(&title)) } }
            @for series in &history.series { (section(series)) }
            @if let Some(reserve) = sheet::reserve(history) { p class="soft" { (reserve) } }
        },
    )
}

fn section(series: &HistorySeries) -> Markup {
    let zone = series.points.iter().map(|point| 100.0 * point.run.zone).fold(0.0, f64::max);
    let rows: Vec<IntervalRow> = series.points.iter().map(row).collect();
    html! {
        section {
            h2 { (breakable(&series.subject)) }
            p class="soft" { (breakable(&series.stack)) ": rate against " (sheet::against(series)) " of the same run" }
            @if rows.iter().any(|row| row.bar.is_some()) { (intervals(&rows, zone)) }
            (sentences("Changed", &drift_sentences(series)))
            (table_markup(&table(series), usize::MAX))
            (sentences("Differences between runs", &sheet::other_sentences(series)))
        }
    }
}

fn row(point: &HistoryPoint) -> IntervalRow {
    let verdict = point.change.as_ref().and_then(|change| change.verdict.as_ref());
    let drifted = point.change.as_ref().filter(|change| change.has_drifted());
    let drift = drifted.map(|change| format!("changed {}", words_of(&change.ratio)));
    let differs = (!point.differs.is_empty()).then(|| "something else differs".to_owned());
    IntervalRow {
        name: show_minute(&point.run.at),
        note: point.run.name.clone().unwrap_or_else(|| point.run.id.clone()),
        mark: drift.or(differs),
        class: verdict.map_or("none", class_of),
        total: false,
        emulated: false,
        bar: Bar::from_ratio(&point.ratio),
        words: words_of(&point.ratio),
    }
}

fn table(series: &HistorySeries) -> TextTable {
    let cells = |cell: fn(&HistoryPoint) -> String| series.points.iter().map(cell).collect();
    let mut table = TextTable::default();
    table.push("run", 0, cells(|point| point.run.id.clone()));
    table.push("name", 0, cells(|point| point.run.name.clone().unwrap_or_default()));
    table.push("host", 0, cells(|point| point.host.clone().unwrap_or_default()));
    table.push("iotax", 0, cells(|point| point.run.iotax.clone()));
    table.push("rate", 0, cells(sheet::rate_cell));
    let ratio = format!("against {}", sheet::against(series));
    table.push(&ratio, 0, cells(|point| sheet::change_cell(&point.ratio)));
    let change = |point: &HistoryPoint| match &point.change {
        Some(change) => sheet::change_cell(&change.ratio),
        None => "-".to_owned(),
    };
    table.push("since the run before", 0, cells(change));
    table
}

fn sentences(title: &str, all: &[String]) -> Markup {
    html! {
        @if !all.is_empty() {
            h3 { (title) }
            ul { @for line in all { li { (typographic_signs(line)) } } }
        }
    }
}
