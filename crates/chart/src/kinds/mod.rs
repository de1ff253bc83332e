//! The kinds of charts, one file each, and what several of them share.

pub(crate) mod bars;
pub(crate) mod bill;
pub(crate) mod drives;
pub(crate) mod grid;
pub(crate) mod heat;
pub(crate) mod latency;
pub(crate) mod limits;
pub(crate) mod overtime;
pub(crate) mod states;
pub(crate) mod sweep;
pub(crate) mod verdicts;

use crate::drawing::LegendMark;
use crate::rows::ChartRow;
use crate::text::{AxisUnit, figure_text, gap_reason};
use iotax_analysis::findings::MeasuredFigure;
use iotax_stats::Verdict;

/// Returns the class of a verdict, of rates as of times: `cost`, `gain`, `none` or `open`.
fn class_of_verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Costs { .. } => "cost",
        Verdict::Gains { .. } => "gain",
        Verdict::NoDifference { .. } => "none",
        Verdict::Unresolved { .. } => "open",
    }
}

/// Returns a row with a bar from 0 to a figure, in the unit of the axis. A figure without a value
/// has no bar, and says why.
fn bar_row(name: impl Into<String>, figure: &MeasuredFigure, unit: AxisUnit) -> ChartRow {
    let name = name.into();
    let scaled = |value: f64| value / unit.by;
    let text = figure_text(figure);
    let reason = gap_reason(figure).map(|why| format!(" ({why})")).unwrap_or_default();
    ChartRow {
        class: "level",
        bar: figure.value().map(|value| (0.0, scaled(value))),
        whisker: figure.bounds().map(|(low, high)| (scaled(low), scaled(high))),
        words: format!("{name}: {text}{reason}"),
        figure: text,
        name,
        ..ChartRow::default()
    }
}

/// Returns the largest of figures with their upper bounds; 0 if there is none.
fn largest<'a>(figures: impl IntoIterator<Item = &'a MeasuredFigure>) -> f64 {
    let ends = figures
        .into_iter()
        .filter_map(|figure| figure.bounds().map(|(_, high)| high).or_else(|| figure.value()));
    ends.filter(|end| end.is_finite()).fold(0.0, f64::max)
}

/// Classes of verdicts, and what they mean against the baseline.
const VERDICTS: [(&str, &str); 4] =
    [("cost", "costs"), ("gain", "gains"), ("none", "no difference"), ("open", "unresolved")];

/// Returns the legend of the verdicts that are among these classes.
fn verdict_legend(
    classes: &[&'static str],
    mark: fn(&'static str) -> LegendMark,
) -> impl Iterator<Item = (LegendMark, String)> {
    let used = VERDICTS.into_iter().filter(|(class, _)| classes.contains(class));
    used.map(move |(class, words)| (mark(class), words.to_owned()))
}

/// Returns the classes of rows.
fn classes_of(rows: &[ChartRow]) -> Vec<&'static str> {
    rows.iter().map(|row| row.class).collect()
}

/// Returns texts as a part of a sentence, but not more than a few.
fn some_of<'a>(texts: impl IntoIterator<Item = &'a str>, between: &str) -> String {
    const MOST: usize = 8;
    let texts: Vec<&str> = texts.into_iter().collect();
    match texts.get(..MOST) {
        Some(few) if texts.len() > MOST => {
            format!("{} and {} more", few.join(between), texts.len() - MOST)
        }
        _ => texts.join(between),
    }
}

fn some_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    some_of(names, ", ")
}
