//! The sheet `Drives`: each drive alone, their sum, and each stack against what the drives, their
//! ratings and their links allow.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::charts::{PlottedColumn, bars, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::efficiency::Efficiency;
use iotax_analysis::findings::{StackRow, WorkloadFindings};
use rust_xlsxwriter::utility::row_col_to_cell;
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet = BookSheet {
    about: "each drive alone, their sum, and stacks against drives, ratings and links",
    draw,
};

const SHARE: &str = "reached of the bound";

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Drives", "Drives, and what they allow")?;
    pen.note(
        "bound: the most that the drives allow under the load, by the arithmetic of the layout; \
         drives alone: their sum whatever the layout.",
    )?;
    let begin = pen.row;
    for run in runs {
        draw_bounds(&mut pen, run, &part_title(runs, run, "Stacks against their drives"))?;
        for load in &run.findings.workloads {
            for row in load.rows.iter().filter(|row| row.targets.len() > 1) {
                let title = format!("{}: {}, each target by itself", row.stack, load.subject);
                draw_targets(&mut pen, load, row, &part_title(runs, run, &title))?;
            }
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 2)).map(Some) }
}

fn draw_bounds(pen: &mut SheetPen, run: &ExportedRun, title: &str) -> Result<(), XlsxError> {
    let mut table = BookTable::default();
    for name in ["stack", "load", "layout", "bound by", "bound"] {
        table.column(name, CellForm::Text);
    }
    table.column("drives", CellForm::Count);
    for form in [CellForm::Rate, CellForm::Bytes] {
        table.figure_columns(&format!("bound, {}", form.unit()), form);
        table.figure_columns(&format!("reached, {}", form.unit()), form);
    }
    for name in [SHARE, "of the drives alone", "published of the bound"] {
        table.figure_columns(name, CellForm::Share);
    }
    table.column("arithmetic", CellForm::Text).column(REMARKS, CellForm::Text);
    for load in &run.findings.workloads {
        table.rows.extend(load.efficiency.iter().map(|one| bound_row(load, one)));
    }
    if table.rows.is_empty() {
        return Ok(());
    }
    table.drop_blank_columns(2);
    let title = pen.title(title)?;
    let spot = pen.table(&table)?;
    let Some(values) = table.column_at(SHARE) else { return Ok(()) };
    let mut chart = new_chart(ChartType::Column, pen, title, "", "% of the bound");
    let column = PlottedColumn { spot, along: 0, values, has_interval: true };
    let mut series = bars(pen, column, 0)?;
    // The loads stand below their stacks.
    chart.push_series(series.set_categories((pen.name, spot.first, 0, spot.last, 1)));
    chart.y_axis().set_num_format("0%").set_min(0);
    chart.legend().set_hidden();
    pen.make_room_for(table.rows.len());
    pen.chart(&mut chart)
}

fn bound_row(load: &WorkloadFindings, one: &Efficiency) -> Vec<BookCell> {
    let mut cells = RowCells::default();
    for text in [&one.stack, &load.name, &one.layout] {
        cells.text(text.as_str());
    }
    cells.text(one.by.word());
    cells.text(one.by.bound_words());
    cells.number(Some(one.drives as f64));
    let row = load.rows.iter().find(|row| row.stack == one.stack);
    for (unit, form) in [("1/s", CellForm::Rate), ("B/s", CellForm::Bytes)] {
        let is_it = load.rate_unit == unit;
        let reached = row.map(|row| if unit == "B/s" { &row.bytes_per_s } else { &row.iops });
        cells.figure("bound", Some(&one.could).filter(|_| is_it), form);
        cells.figure("reached", reached.filter(|_| is_it), form);
    }
    cells.figure(SHARE, Some(&one.share), CellForm::Share);
    cells.figure("of the drives alone", one.of_all.as_ref(), CellForm::Share);
    cells.figure("published", one.published.as_ref(), CellForm::Share);
    cells.text(one.rule.as_str());
    one.emulated.iter().for_each(|words| cells.remark(words.clone()));
    cells.with_remarks()
}

fn draw_targets(
    pen: &mut SheetPen,
    load: &WorkloadFindings,
    row: &StackRow,
    title: &str,
) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    let mut table = BookTable::default();
    table.column("target", CellForm::Text).column("place", CellForm::Text);
    table.figure_columns("IOPS", CellForm::Rate).column("of the sum", CellForm::Share);
    table.column(REMARKS, CellForm::Text);
    let first = pen.row + 1;
    let values: Vec<f64> = row.targets.iter().filter_map(|one| one.iops.value()).collect();
    let sum: f64 = values.iter().sum();
    let last = first + row.targets.len() as u32;
    let sum_cell = row_col_to_cell(last, 2);
    for (at, one) in (first..).zip(&row.targets) {
        let mut cells = RowCells::default();
        cells.text(one.path.as_str());
        cells.text(one.place.to_string());
        cells.figure("IOPS", Some(&one.iops), CellForm::Rate);
        let cell = row_col_to_cell(at, 2);
        let text = format!("=IF(COUNT({cell},{sum_cell})<2,\"\",{cell}/{sum_cell})");
        let share = one.iops.value().map(|value| value / sum).filter(|share| share.is_finite());
        cells.cells.push(BookCell::Formula(text, share));
        table.rows.push(cells.with_remarks());
    }
    let range = format!("{}:{}", row_col_to_cell(first, 2), row_col_to_cell(last - 1, 2));
    let text = format!("=IF(COUNT({range})<{},\"\",SUM({range}))", row.targets.len());
    let is_whole = values.len() == row.targets.len();
    let mut total = vec![BookCell::text("sum"), BookCell::Empty];
    total.push(BookCell::Formula(text, is_whole.then_some(sum)));
    total.resize(table.columns.len(), BookCell::Empty);
    table.rows.push(total);
    let mut spot = pen.table(&table)?;
    spot.last -= 1;
    let subject = load.name.as_str();
    let mut chart = new_chart(ChartType::Column, pen, title, "", &format!("{subject}, IOPS"));
    let column = PlottedColumn { spot, along: 0, values: 2, has_interval: true };
    chart.push_series(&bars(pen, column, 0)?);
    chart.y_axis().set_num_format("#,##0").set_min(0);
    chart.legend().set_hidden();
    pen.chart(&mut chart)
}
