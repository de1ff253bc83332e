//! The sheet `Published`: what others published beside what was measured, each quantity in its own
//! columns.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::charts::{PlottedColumn, bars, hollow_bars, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::published::{
    Agreement, ClaimFinding, PublishedFinding, PublishedFindings,
};
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet =
    BookSheet { about: "published figures and ratios beside the measured ones", draw };

const QUANTITIES: [(&str, CellForm); 3] =
    [("1/s", CellForm::Rate), ("B/s", CellForm::Bytes), ("ns", CellForm::Time)];
const RATIO: &str = "ratio published";

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Published", "Published beside measured")?;
    let begin = pen.row;
    for run in runs {
        if let Some(found) = &run.findings.published {
            draw_run(&mut pen, found, &part_title(runs, run, "Figures and ratios"))?;
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 3)).map(Some) }
}

fn draw_run(pen: &mut SheetPen, found: &PublishedFindings, title: &str) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    pen.note(&format!("published: {}", found.source))?;
    pen.note(&format!("measured there on: {}", found.hardware))?;
    let others = found.note.iter().map(|note| format!("also published: {note}"));
    for text in others.chain(found.sentences.iter().cloned()) {
        pen.note(&text)?;
    }
    pen.row += 1;
    if !found.claims.is_empty() {
        pen.table(&claims_table(&found.claims))?;
        pen.row += 1;
    }
    if found.figures.is_empty() {
        return Ok(());
    }
    let table = published_table(found);
    let spot = pen.table(&table)?;
    let Some(ratio) = table.column_at(RATIO) else { return Ok(()) };
    let mut chart = new_chart(ChartType::Column, pen, title, "", "% of the baseline");
    let published = PlottedColumn { spot, along: 0, values: ratio, has_interval: false };
    let mut hollow = hollow_bars(pen, published, 0)?;
    let measured = PlottedColumn { values: ratio + 1, has_interval: true, ..published };
    let mut filled = bars(pen, measured, 0)?;
    for series in [&mut hollow, &mut filled] {
        // Two columns of names: the stacks stand below their load and metric.
        let names = (pen.name, spot.first, 0, spot.last, 2);
        chart.push_series(series.set_categories(names));
    }
    chart.y_axis().set_num_format("0%").set_min(0);
    pen.make_room_for(table.rows.len());
    pen.chart(&mut chart)
}

fn published_table(found: &PublishedFindings) -> BookTable {
    let mut table = BookTable::default();
    for name in ["load", "metric", "stack", "printed"] {
        table.column(name, CellForm::Text);
    }
    for (_, form) in QUANTITIES {
        table.column(&format!("published, {}", form.unit()), form);
        table.figure_columns(&format!("measured, {}", form.unit()), form);
    }
    table.column(RATIO, CellForm::Share).figure_columns("ratio measured", CellForm::Share);
    table.column("agreement", CellForm::Text).column(REMARKS, CellForm::Text);
    table.rows = found.figures.iter().map(row).collect();
    table.drop_blank_columns(3);
    table
}

fn claims_table(claims: &[ClaimFinding]) -> BookTable {
    let mut table = BookTable::default();
    for name in ["load", "metric", "stack", "against", "claim", "printed"] {
        table.column(name, CellForm::Text);
    }
    let forms = [("ratio", CellForm::Share), ("1/s", CellForm::Rate), ("ns", CellForm::Time)];
    for (unit, form) in forms {
        table.column(&format!("claimed, {unit}"), form);
        table.figure_columns(&format!("measured, {unit}"), form);
    }
    table.column("verdict", CellForm::Text).column(REMARKS, CellForm::Text);
    let row = |one: &ClaimFinding| {
        let mut cells = RowCells::default();
        let against = one.against.as_deref().unwrap_or_default();
        let [load, stack] = [&one.workload, &one.stack].map(String::as_str);
        let words = [load, &one.metric, stack, against, &one.text, &one.printed];
        words.into_iter().for_each(|word| cells.text(word));
        let MeasuredFigure::Known { unit: claimed, .. } = &one.beside.published else {
            return cells.with_remarks();
        };
        for (unit, form) in forms {
            let is_its = *claimed == if unit == "ratio" { "1" } else { unit };
            let published = is_its.then(|| BookCell::known(&one.beside.published, form));
            cells.cells.push(published.unwrap_or(BookCell::Empty));
            cells.figure("measured", Some(&one.beside.measured).filter(|_| is_its), form);
        }
        cells.text(one.verdict);
        if let Agreement::Unresolved { reason } = &one.beside.agreement {
            cells.remark(reason.clone());
        }
        let more = one.beside.masked.iter().chain(&one.emulated);
        more.for_each(|words| cells.remark(words.clone()));
        cells.with_remarks()
    };
    table.rows = claims.iter().map(row).collect();
    table.drop_blank_columns(5);
    table
}

fn row(one: &PublishedFinding) -> Vec<BookCell> {
    let mut cells = RowCells::default();
    cells.text(one.workload.as_str());
    cells.text(one.metric_said());
    cells.text(one.stack.as_str());
    cells.text(one.printed.as_str());
    let has_unit = |figure: &MeasuredFigure, wanted: &str| matches!(figure, MeasuredFigure::Known { unit, .. } if *unit == wanted);
    for (unit, form) in QUANTITIES {
        let [other, ours] =
            [&one.published, &one.measured].map(|it| Some(it).filter(|it| has_unit(it, unit)));
        cells.cells.push(other.map_or(BookCell::Empty, |figure| BookCell::known(figure, form)));
        cells.figure("measured", ours, form);
    }
    if one.measured.value().is_none() {
        cells.explain("measured", Some(&one.measured));
    }
    let ratio = one.ratio.as_ref();
    let share = ratio.map(|ratio| BookCell::known(&ratio.published, CellForm::Share));
    cells.cells.push(share.unwrap_or(BookCell::Empty));
    cells.figure("ratio", ratio.map(|ratio| &ratio.measured), CellForm::Share);
    match ratio.map(|ratio| &ratio.agreement) {
        Some(Agreement::Agrees) => cells.text("agrees"),
        Some(Agreement::Differs) => cells.text("differs"),
        Some(Agreement::Unresolved { reason }) => {
            cells.text("unresolved");
            cells.remark(reason.clone());
        }
        None => cells.cells.push(BookCell::Empty),
    }
    ratio.iter().filter_map(|one| one.masked.clone()).for_each(|words| cells.remark(words));
    one.emulated.iter().for_each(|words| cells.remark(words.clone()));
    cells.with_remarks()
}
