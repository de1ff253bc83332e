//! The sheet `% of baseline`: stacks by loads as shares of a baseline and in a figure that the
//! reader chooses, by look-ups into `Summary`.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm};
use super::charts::{PlottedColumn, bars, new_chart};
use super::pen::{INPUT_COLOR, SheetPen, TableSpot};
use super::summary::{self, SummaryTable, row_key};
use crate::exporter::ExportedRun;
use iotax_analysis::findings::{Comparison, MeasuredFigure, Quantity, WorkloadFindings};
use rust_xlsxwriter::utility::{cell_range_absolute, row_col_to_cell_absolute};
use rust_xlsxwriter::{
    ChartType, Color, ConditionalFormat3ColorScale, ConditionalFormatType, DataValidation, Format,
    Formula, Worksheet, XlsxError,
};

pub const NAME: &str = "% of baseline";

pub(super) const SHEET: BookSheet = BookSheet {
    about: "shares of a baseline that you choose in a green cell, live from Summary",
    draw,
};

/// Figures that can be chosen: heads of columns of `Summary`, the default first.
const FIGURES: [&str; 16] = [
    "IOPS",
    "MB/s",
    "durable MB/s",
    "read IOPS",
    "write IOPS",
    "read mean, µs",
    "read p50, µs",
    "read p95, µs",
    "read p99, µs",
    "read p99.9, µs",
    "write mean, µs",
    "write p50, µs",
    "write p95, µs",
    "write p99, µs",
    "write p99.9, µs",
    "CPU per I/O, µs",
];

/// The cells of a run's part that its formulas use.
struct ChosenCells {
    /// Hidden cell with the number of the chosen baseline, from 1.
    chosen: (u32, u16),
    /// Number of the run's own baseline.
    own: usize,
    figure: String,
    /// Hidden cell with the number of the column of the chosen figure in `Summary`.
    column: (u32, u16),
}

impl ChosenCells {
    fn chosen(&self) -> String {
        row_col_to_cell_absolute(self.chosen.0, self.chosen.1)
    }

    fn column(&self) -> String {
        row_col_to_cell_absolute(self.column.0, self.column.1)
    }

    /// Returns the condition that the run's own results are asked for.
    fn is_own(&self, default: &str) -> String {
        format!("AND({}={},{}=\"{default}\")", self.chosen(), self.own, self.figure)
    }
}

/// Ranges of `Summary` that are looked up.
struct LookedUp {
    data: String,
    keys: String,
    /// Column of the run's own share of its baseline, from 1; those of its interval follow.
    share: Option<u16>,
}

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    if runs.iter().all(|run| compared(run).is_empty()) {
        return Ok(None);
    }
    let summary = summary::placed_table(runs)?;
    let mut pen = SheetPen::new(NAME, "Shares of a baseline")?;
    pen.note("Choose in the green cells. Shares are of the figures in Summary.")?;
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| !compared(run).is_empty()) {
        draw_run(&mut pen, &summary, (at, run), &part_title(runs, run, "Stacks by loads"))?;
    }
    pen.finish((1, 1)).map(Some)
}

/// Returns the loads with their numbers that have several stacks. Points of sweeps have a sheet.
fn compared(run: &ExportedRun) -> Vec<(usize, &WorkloadFindings)> {
    let is_compared = |load: &WorkloadFindings| {
        load.sweep.is_none() && load.probe.is_none() && load.rows.len() > 1
    };
    run.findings.workloads.iter().enumerate().filter(|(_, load)| is_compared(load)).collect()
}

fn draw_run(
    pen: &mut SheetPen,
    summary: &SummaryTable,
    (at, run): (usize, &ExportedRun),
    title: &str,
) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    let loads = compared(run);
    let rows = &loads[0].1.rows;
    let own = rows.iter().position(|row| row.baseline).unwrap_or(0);
    let cells = ChosenCells {
        chosen: (pen.row, pen.helper_column()?),
        own: own + 1,
        figure: row_col_to_cell_absolute(pen.row + 1, 1),
        column: (pen.row + 1, pen.helper_column()?),
    };
    let top = pen.row;
    pen.row += 3;
    let looked = LookedUp::in_summary(summary);
    let figures = FIGURES.iter().filter(|head| summary.table.column_at(head).is_some());
    let figures: Vec<&str> = figures.copied().collect();
    let default = figures.first().copied().unwrap_or_default();
    let table = share_table(&cells, &looked, at, &loads, default);
    let spot = pen.table(&table)?;
    choices(pen, &cells, top, spot, (&rows[own].stack, &figures, summary))?;
    shade(pen, spot, loads.len())?;
    let mut chart = new_chart(ChartType::Column, pen, title, "", "% of the chosen baseline");
    for load in 0..loads.len() {
        let column =
            PlottedColumn { spot, along: 0, values: 1 + 3 * load as u16, has_interval: true };
        chart.push_series(&bars(pen, column, load)?);
    }
    chart.y_axis().set_num_format("0%").set_min(0);
    pen.make_room_for(table.rows.len());
    pen.chart(&mut chart)
}

impl LookedUp {
    fn in_summary(summary: &SummaryTable) -> LookedUp {
        let SummaryTable { table, spot } = summary;
        let last = (table.columns.len() - 1) as u16;
        let range = |first, last| {
            format!("{}!{}", summary::NAME, cell_range_absolute(spot.first, first, spot.last, last))
        };
        LookedUp {
            data: range(0, last),
            keys: range(last, last),
            share: table.column_at(summary::SHARE).map(|at| at + 1),
        }
    }

    /// Returns the formula for a cell of the row with this key, which is itself a formula.
    fn cell(&self, key: &str, column: &str) -> String {
        format!("INDEX({},MATCH({key},{},0),{column})", self.data, self.keys)
    }
}

/// Returns the table of shares: three columns for each load.
fn share_table(
    cells: &ChosenCells,
    looked: &LookedUp,
    run: usize,
    loads: &[(usize, &WorkloadFindings)],
    default: &str,
) -> BookTable {
    let mut table = BookTable::default();
    table.column("stack", CellForm::Text);
    for (_, load) in loads {
        table.figure_columns(&load.name, CellForm::Share);
    }
    for (stack, row) in loads[0].1.rows.iter().enumerate() {
        let mut line = vec![BookCell::text(row.stack.as_str())];
        for (at, load) in loads {
            let key = format!("\"{}\"", row_key(run, stack, *at));
            let base = format!("\"{}-\"&{}&\"-{}\"", run + 1, cells.chosen(), at + 1);
            let ratio = compared_ratio(load, &row.stack);
            line.extend(share_cells(cells, looked, [&key, &base], default, stack, ratio));
        }
        table.rows.push(line);
    }
    table
}

/// Returns the run's own ratio of rates, whose interval holds for all comparisons at once.
fn compared_ratio(load: &WorkloadFindings, stack: &str) -> Option<MeasuredFigure> {
    let is_it = |one: &&Comparison| one.stack == stack && one.of_write != Some(Quantity::Durable);
    load.comparisons.iter().find(is_it).map(|one| one.rate.at_once())
}

/// Returns the cells of a share and its interval. With the run's baseline and the default figure
/// they are the run's own results; otherwise the share is a ratio of two figures without interval.
fn share_cells(
    cells: &ChosenCells,
    looked: &LookedUp,
    [key, base]: [&str; 2],
    default: &str,
    stack: usize,
    ratio: Option<MeasuredFigure>,
) -> [BookCell; 3] {
    let [top, bottom] = [key, base].map(|key| looked.cell(key, &cells.column()));
    let free = format!("IF(COUNT({top},{bottom})<2,\"\",{top}/{bottom})");
    if stack + 1 == cells.own {
        return [
            BookCell::Formula(format!("={free}"), Some(1.0)),
            BookCell::Empty,
            BookCell::Empty,
        ];
    }
    let is_own = cells.is_own(default);
    let known = |offset: u16| match looked.share {
        Some(share) => {
            let cell = looked.cell(key, &(share + offset).to_string());
            format!("IF(COUNT({cell})=0,\"\",{cell})")
        }
        None => "\"\"".to_owned(),
    };
    let (low, high) = ratio.as_ref().and_then(MeasuredFigure::bounds).unzip();
    let value = ratio.as_ref().and_then(MeasuredFigure::value);
    let formula = |offset: u16, other: &str, result| {
        BookCell::Formula(format!("=IF({is_own},{},{other})", known(offset)), result)
    };
    [formula(0, &free, value), formula(1, "\"\"", low), formula(2, "\"\"", high)]
}

/// Writes the two green cells, the numbers of what they choose, and what follows for intervals.
fn choices(
    pen: &mut SheetPen,
    cells: &ChosenCells,
    top: u32,
    spot: TableSpot,
    (own, figures, summary): (&str, &[&str], &SummaryTable),
) -> Result<(), XlsxError> {
    let (plain, input) = (Format::new(), Format::new().set_background_color(INPUT_COLOR));
    let stacks = cell_range_absolute(spot.first, 0, spot.last, 0);
    let default = figures.first().copied().unwrap_or_default();
    pen.write_text(top, 0, "baseline", &plain)?;
    pen.write_text(top, 1, own, &input)?;
    pen.write_text(top + 1, 0, "figure", &plain)?;
    pen.write_text(top + 1, 1, default, &input)?;
    let list = DataValidation::new().allow_list_formula(Formula::new(format!("={stacks}")));
    pen.sheet.add_data_validation(top, 1, top, 1, &list)?;
    // Names of figures have commas, which a list in the cell itself would be cut at.
    let names = pen.helper_column()?;
    for (row, head) in (top..).zip(figures) {
        pen.write_text(row, names, head, &plain)?;
    }
    let last = top + figures.len().saturating_sub(1) as u32;
    let names = cell_range_absolute(top, names, last, names);
    let list = DataValidation::new().allow_list_formula(Formula::new(format!("={names}")));
    pen.sheet.add_data_validation(top + 1, 1, top + 1, 1, &list)?;
    let (name, first) = (row_col_to_cell_absolute(top, 1), spot.first);
    let number = format!("=SUMPRODUCT(EXACT({stacks},{name})*(ROW({stacks})-{first}))");
    let number = Formula::new(number).set_result(cells.own.to_string());
    pen.sheet.write_formula(cells.chosen.0, cells.chosen.1, number)?;
    let heads = (summary.table.columns.len() - 1) as u16;
    let heads = cell_range_absolute(summary.spot.head, 0, summary.spot.head, heads);
    let column = format!("=MATCH({},{}!{heads},0)", cells.figure, summary::NAME);
    let at = summary.table.column_at(default).map_or(0, |at| at + 1);
    let column = Formula::new(column).set_result(at.to_string());
    pen.sheet.write_formula(cells.column.0, cells.column.1, column)?;
    let own_words = "of paired rounds, with the 95 % interval of the run (low, high)";
    let free_words = "ratio of two figures of Summary: it has no interval";
    let note = format!("=IF({},\"{own_words}\",\"{free_words}\")", cells.is_own(default));
    pen.sheet.write_formula(top, 2, Formula::new(note).set_result(own_words))?;
    Ok(())
}

/// Shades the shares: orange below 100 %, blue above.
fn shade(pen: &mut SheetPen, spot: TableSpot, loads: usize) -> Result<(), XlsxError> {
    for load in 0..loads {
        let col = 1 + 3 * load as u16;
        let scale = ConditionalFormat3ColorScale::new()
            .set_minimum(ConditionalFormatType::Number, 0.5)
            .set_midpoint(ConditionalFormatType::Number, 1)
            .set_maximum(ConditionalFormatType::Number, 1.5)
            .set_minimum_color(Color::RGB(0xF4B183))
            .set_midpoint_color(Color::White)
            .set_maximum_color(Color::RGB(0x9DC3E6));
        pen.sheet.add_conditional_format(spot.first, col, spot.last, col, &scale)?;
    }
    Ok(())
}
