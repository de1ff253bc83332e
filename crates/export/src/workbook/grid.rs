//! The sheet `Grid`: back ends by protocols if the run has such tables, otherwise stacks by loads,
//! as clustered columns with the published figures beside.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookTable, CellForm, REMARKS, RowCells};
use super::charts::{PlottedColumn, bars, hollow_bars, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::ratios::{RatioRow, RatioTable};
use iotax_analysis::findings::{Findings, MeasuredFigure, StackRow, WorkloadFindings};
use iotax_units::distinct;
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet =
    BookSheet { about: "back ends by protocols or stacks by loads, with what was published", draw };

/// A figure of a category in a cluster, and the published one.
type GridCell<'a> = (Option<&'a MeasuredFigure>, Option<&'a MeasuredFigure>);

/// One chart and its table, all in one unit.
struct GridBlock<'a> {
    title: String,
    form: CellForm,
    /// What the categories are.
    noun: &'static str,
    categories: Vec<&'a str>,
    clusters: Vec<(String, Vec<GridCell<'a>>)>,
}

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Grid", "Figures side by side")?;
    pen.note("low, high: ends of the 95 % interval. Hollow columns are published figures.")?;
    let begin = pen.row;
    for run in runs {
        for block in blocks(&run.findings) {
            draw_block(&mut pen, &block, &part_title(runs, run, &block.title))?;
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 1)).map(Some) }
}

fn blocks(findings: &Findings) -> Vec<GridBlock<'_>> {
    if findings.tables.is_empty() {
        let units = [("1/s", "iops"), ("B/s", "throughput")];
        return units.iter().filter_map(|(unit, it)| loads_block(findings, unit, it)).collect();
    }
    let rows = findings.tables.iter().flat_map(|table| &table.rows);
    let keys = distinct(rows.map(RowKey::for_row));
    keys.iter().filter_map(|key| table_block(findings, key)).collect()
}

/// What a row of a table is about; several tables may have it.
#[derive(PartialEq)]
struct RowKey<'a> {
    load: &'a str,
    metric: &'a str,
    direction: Option<&'a str>,
}

impl<'a> RowKey<'a> {
    fn for_row(row: &'a RatioRow) -> RowKey<'a> {
        RowKey { load: &row.workload, metric: &row.metric, direction: row.direction }
    }
}

/// Returns a block for a row that tables share; each table is a cluster in it.
fn table_block<'a>(findings: &'a Findings, key: &RowKey) -> Option<GridBlock<'a>> {
    let mut clusters = Vec::new();
    let (mut categories, mut unit) = (Vec::new(), None);
    for (at, table) in findings.tables.iter().enumerate() {
        let Some(row) = table.rows.iter().find(|row| RowKey::for_row(row) == *key) else {
            continue;
        };
        if categories.is_empty() {
            categories = table.columns.iter().map(|column| column.head.as_str()).collect();
        }
        unit = unit.or_else(|| row.cells.iter().find_map(|cell| unit_of(&cell.value)));
        let name = table.name.clone().unwrap_or_else(|| format!("table {}", at + 1));
        let cells = categories.iter().map(|head| cell_below(findings, table, row, head));
        clusters.push((name, cells.collect()));
    }
    let direction = key.direction.map(|way| format!(", {way}s")).unwrap_or_default();
    Some(GridBlock {
        title: format!("{}: {}{direction}", key.load, key.metric),
        form: CellForm::from_unit(unit?),
        noun: "column",
        categories,
        clusters,
    })
}

/// Returns the cell of a row below this head, and what was published of the stack there.
fn cell_below<'a>(
    findings: &'a Findings,
    table: &'a RatioTable,
    row: &'a RatioRow,
    head: &str,
) -> GridCell<'a> {
    let found = table.columns.iter().zip(&row.cells).find(|(column, _)| column.head == head);
    let Some((column, cell)) = found else { return (None, None) };
    let stack = column.stack.as_deref().filter(|_| row.direction.is_none());
    let other =
        stack.and_then(|stack| findings.published_figure(&row.workload, stack, &row.metric));
    (Some(&cell.value), other)
}

fn unit_of(figure: &MeasuredFigure) -> Option<&'static str> {
    match figure {
        MeasuredFigure::Known { unit, .. } => Some(unit),
        _ => None,
    }
}

/// Returns the rates of all stacks under the loads of this unit; `None` for one figure alone.
fn loads_block<'a>(findings: &'a Findings, unit: &str, metric: &str) -> Option<GridBlock<'a>> {
    let is_shown = |load: &&WorkloadFindings| {
        load.sweep.is_none() && load.probe.is_none() && load.rate_unit == unit
    };
    let loads: Vec<&WorkloadFindings> = findings.workloads.iter().filter(is_shown).collect();
    let (first, form) = (loads.first()?, CellForm::from_unit(unit));
    if first.rows.len() * loads.len() < 2 {
        return None;
    }
    let cluster = |load: &&'a WorkloadFindings| {
        let cell = |row: &'a StackRow| {
            let figure = if unit == "B/s" { &row.bytes_per_s } else { &row.iops };
            (Some(figure), findings.published_figure(&load.name, &row.stack, metric))
        };
        (load.name.clone(), load.rows.iter().map(cell).collect())
    };
    Some(GridBlock {
        title: format!("{} of each stack", form.unit()),
        form,
        noun: "stack",
        categories: first.rows.iter().map(|row| row.stack.as_str()).collect(),
        clusters: loads.iter().map(cluster).collect(),
    })
}

fn draw_block(pen: &mut SheetPen, block: &GridBlock, title: &str) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    let mut table = BookTable::default();
    table.column(block.noun, CellForm::Text);
    let has_published = |cells: &[GridCell]| {
        cells.iter().any(|(_, other)| other.and_then(|one| one.value()).is_some())
    };
    for (name, cells) in &block.clusters {
        table.figure_columns(name, block.form);
        if has_published(cells) {
            table.column(&format!("{name}, published"), block.form);
        }
    }
    table.column(REMARKS, CellForm::Text);
    for (at, category) in block.categories.iter().enumerate() {
        let mut line = RowCells::default();
        line.text(*category);
        for (name, cells) in &block.clusters {
            let (figure, other) = cells[at];
            line.figure(name, figure, block.form);
            if has_published(cells) {
                line.number(other.and_then(|one| one.value()).map(|it| it * block.form.scale()));
            }
        }
        table.rows.push(line.with_remarks());
    }
    let spot = pen.table(&table)?;
    let mut chart = new_chart(ChartType::Column, pen, title, "", block.form.unit());
    let mut values = 1;
    for (at, (_, cells)) in block.clusters.iter().enumerate() {
        let column = PlottedColumn { spot, along: 0, values, has_interval: true };
        chart.push_series(&bars(pen, column, at)?);
        values += 3;
        if has_published(cells) {
            let column = PlottedColumn { values, has_interval: false, ..column };
            chart.push_series(&hollow_bars(pen, column, at)?);
            values += 1;
        }
    }
    chart.y_axis().set_min(0).set_num_format("#,##0");
    pen.chart(&mut chart)
}
