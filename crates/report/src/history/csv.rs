//! A history for a spreadsheet: one line for each run and load. A missing figure is empty, with its
//! reason.

use super::super::csv::{figure_fields, safe_cell};
use super::{HistoryRenderer, PageContext};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::history::{HistoryChange, HistoryPoint, HistorySeries, StackHistory};

pub const RENDERER: HistoryRenderer = HistoryRenderer { name: "csv", endings: &["csv"], render };

const COLUMNS: [&str; 24] = [
    "run",
    "name",
    "at",
    "state",
    "host",
    "iotax",
    "workload",
    "stack",
    "against",
    "rate",
    "rate_low",
    "rate_high",
    "rate_unit",
    "rate_note",
    "ratio",
    "ratio_low",
    "ratio_high",
    "ratio_note",
    "change",
    "change_low",
    "change_high",
    "drifted",
    "change_note",
    "differs",
];

fn render(history: &StackHistory, _page: &PageContext) -> String {
    let mut rows = ::csv::Writer::from_writer(Vec::new());
    let lines = history
        .series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| line(series, point)));
    let head = COLUMNS.map(str::to_owned).to_vec();
    for line in std::iter::once(head).chain(lines) {
        // Writing to memory cannot fail.
        let _ = rows.write_record(line.iter().map(|cell| safe_cell(cell)));
    }
    rows.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn line(series: &HistorySeries, point: &HistoryPoint) -> Vec<String> {
    let run = &point.run;
    let [rate, rate_low, rate_high, rate_note] = cells(Some(&point.rate));
    let [ratio, ratio_low, ratio_high, ratio_note] = cells(Some(&point.ratio));
    let change = point.change.as_ref();
    let [change_ratio, change_low, change_high, _] = cells(change.map(|change| &change.ratio));
    let drifted = change.map(|change| change.has_drifted().to_string()).unwrap_or_default();
    let differs: Vec<String> = point.differs.iter().map(|one| one.to_sentence()).collect();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let note = change.map(|change: &HistoryChange| change.sentence.clone()).unwrap_or_default();
    vec![
        run.id.clone(),
        text(&run.name),
        run.at.clone(),
        run.state.to_owned(),
        text(&point.host),
        run.iotax.clone(),
        series.subject.clone(),
        series.stack.clone(),
        text(&point.against),
        rate,
        rate_low,
        rate_high,
        series.rate_unit.to_owned(),
        rate_note,
        ratio,
        ratio_low,
        ratio_high,
        ratio_note,
        change_ratio,
        change_low,
        change_high,
        drifted,
        note,
        differs.join("; "),
    ]
}

/// Returns value, bounds and note of a figure; empty without one.
fn cells(figure: Option<&MeasuredFigure>) -> [String; 4] {
    let Some(figure) = figure else { return Default::default() };
    let [_, value, _, low, high, _, _, note] = figure_fields(figure);
    [value, low, high, note]
}
