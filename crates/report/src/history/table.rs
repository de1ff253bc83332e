//! The tables of a history.

use super::sheet;
use crate::table::TextTable;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::history::{HistoryPoint, HistorySeries};
use iotax_units::show_minute;

/// Returns a line for each run, with a bar of its interval.
pub(crate) fn history_table(series: &HistorySeries) -> TextTable {
    let cells = |cell: fn(&HistoryPoint) -> String| series.points.iter().map(cell).collect();
    let mut table = TextTable::default();
    table.push("run", 0, cells(|point| point.run.id.clone()));
    table.push_known("", 0, cells(sheet::marks));
    table.push_known("name", 4, cells(|point| point.run.name.clone().unwrap_or_default()));
    table.push("began (UTC)", 3, cells(|point| show_minute(&point.run.at)));
    table.push_known("host", 5, cells(|point| point.host.clone().unwrap_or_default()));
    table.push("rate", 0, cells(sheet::rate_cell));
    let ratio = format!("against {}", sheet::against(series));
    table.push_known(&ratio, 0, cells(|point| sheet::change_cell(&point.ratio)));
    let (head, bars) = interval_bars(series);
    table.push(&head, 1, bars);
    table
}

/// Number of columns of a bar.
const BAR: usize = 18;

/// Returns the bars of the ratios, or of the rates if there are no ratios, and a head with the ends
/// of their axis.
fn interval_bars(series: &HistorySeries) -> (String, Vec<String>) {
    let ratios = series.points.iter().any(|point| point.ratio.bounds().is_some());
    let figure = |point: &HistoryPoint| match ratios {
        true => point.ratio.clone(),
        false => point.rate.clone(),
    };
    let figures: Vec<MeasuredFigure> = series.points.iter().map(figure).collect();
    let ends = figures.iter().filter_map(MeasuredFigure::bounds);
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| {
        (low.min(one.0), high.max(one.1))
    });
    if low > high {
        return (String::new(), vec![String::new(); figures.len()]);
    }
    let end = |value: f64| match ratios {
        true => format!("{:+.0}%", 100.0 * (value - 1.0)),
        false => iotax_stats::round::three_digits(value / high),
    };
    let (left, right) = (end(low), end(high));
    let gap = BAR.saturating_sub(left.len() + right.len());
    let head = format!("{left}{:gap$}{right}", "");
    (head, figures.iter().map(|one| interval_bar(one, low, high)).collect())
}

/// Draws an interval on the axis from `low` to `high`: `----o---`.
fn interval_bar(figure: &MeasuredFigure, low: f64, high: f64) -> String {
    let (Some(value), Some(bounds)) = (figure.value(), figure.bounds()) else {
        return " ".repeat(BAR);
    };
    let last = BAR as f64 - 1.0;
    let column = |value: f64| {
        let share = (value - low) / (high - low).max(f64::MIN_POSITIVE);
        (share.clamp(0.0, 1.0) * last).round() as usize
    };
    let (from, middle, to) = (column(bounds.0), column(value), column(bounds.1));
    let sign = |at| match at {
        at if at == middle => 'o',
        at if (from..=to).contains(&at) => '-',
        _ => ' ',
    };
    (0..BAR).map(sign).collect()
}

/// Returns the figures of each run, which a chart shows above it.
pub(crate) fn figure_table(series: &HistorySeries) -> TextTable {
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
