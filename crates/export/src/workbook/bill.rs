//! The sheet `Bill`: what each layer takes, as points of the baseline that add up and as factors
//! that multiply, with a waterfall. A reader may change the green cells.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::pen::SheetPen;
use super::waterfall::Waterfall;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::{
    Bill, BillLine, Findings, LatencyFigures, MeasuredFigure, WorkloadFindings,
};
use rust_xlsxwriter::utility::row_col_to_cell;
use rust_xlsxwriter::{Worksheet, XlsxError};

pub const NAME: &str = "Bill";

pub(super) const SHEET: BookSheet =
    BookSheet { about: "what each layer takes, live from its points, with a waterfall", draw };

/// A bill with its load and the loads of its rates and of its latencies.
struct DrawnBill<'a> {
    subject: &'a str,
    bill: &'a Bill,
    rates: Option<&'a WorkloadFindings>,
    latencies: Option<&'a WorkloadFindings>,
}

/// Columns of the table of a bill.
const POINTS: u16 = 2;
const LEFT: u16 = 5;
const RATE: u16 = 6;
const FACTOR: u16 = 7;
const ADDED: u16 = 10;
const TOTAL_TIME: u16 = 13;

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new(NAME, "The bill: what each layer takes")?;
    pen.note(
        "Points are percent of the baseline's rate and add up; factors are of the stack below and \
         multiply. Change a green cell to see the rest follow.",
    )?;
    let begin = pen.row;
    for run in runs {
        for one in bills(&run.findings) {
            draw_bill(&mut pen, &one, &part_title(runs, run, one.subject))?;
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 1)).map(Some) }
}

/// Returns the joint bills, then those of single loads that none replaces.
fn bills(findings: &Findings) -> Vec<DrawnBill<'_>> {
    let load = |name: &str| findings.workloads.iter().find(|load| load.name == name);
    let joint = findings.joint_bills.iter().map(|joint| DrawnBill {
        subject: &joint.subject,
        bill: &joint.bill,
        rates: load(&joint.deep),
        latencies: load(&joint.shallow),
    });
    let replaced = |name: &str| {
        findings
            .joint_bills
            .iter()
            .any(|one| one.sole && [&one.shallow, &one.deep].iter().any(|it| *it == name))
    };
    let single = findings.workloads.iter().filter(|load| !replaced(&load.name));
    let single = single.filter_map(|load| {
        let bill = load.bill.as_ref()?;
        Some(DrawnBill { subject: &load.subject, bill, rates: Some(load), latencies: Some(load) })
    });
    joint.chain(single).collect()
}

fn draw_bill(pen: &mut SheetPen, one: &DrawnBill, title: &str) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    let table = bill_table(one, pen.row + 1);
    let mut spot = pen.table(&table)?;
    spot.last -= 1;
    let rate = Waterfall { level: LEFT, change: POINTS, rises: false };
    let mut chart = rate.chart(pen, title, spot, "% of the baseline's rate")?;
    chart.y_axis().set_num_format("0%");
    pen.chart(&mut chart)?;
    if pen.number_at(spot.last, TOTAL_TIME).is_some() {
        let time = Waterfall { level: TOTAL_TIME, change: ADDED, rises: true };
        let mut chart = time.chart(pen, title, spot, "mean latency, µs")?;
        pen.chart(&mut chart)?;
    }
    Ok(())
}

/// Returns the table: the baseline, a row for each layer, and two of all together. `first` is the row of the
/// baseline.
fn bill_table(one: &DrawnBill, first: u32) -> BookTable {
    let mut table = BookTable::default();
    table.column("layer", CellForm::Text).column("on", CellForm::Text);
    table.figure_columns("points taken", CellForm::Share);
    let is_bytes = one.rates.is_some_and(|load| load.rate_unit == "B/s");
    let rate = if is_bytes { CellForm::Bytes } else { CellForm::Rate };
    table.column("left", CellForm::Share).column(&format!("{} left", rate.unit()), rate);
    table.figure_columns("factor", CellForm::Factor);
    table.figure_columns("added latency", CellForm::Time);
    table.column("mean latency", CellForm::Time);
    table.figure_columns("added CPU per I/O", CellForm::Time);
    table.column("verdict", CellForm::Text).column(REMARKS, CellForm::Text);
    table.rows.push(baseline_row(one, rate, table.columns.len()));
    for line in &one.bill.lines {
        let row = first + table.rows.len() as u32;
        let cells = line_row(&table.rows, line, row, first);
        table.rows.push(cells);
    }
    let sum = sum_row(&table.rows, first);
    table.rows.extend([sum, measured_row(&one.bill.total)]);
    table
}

fn baseline_row(one: &DrawnBill, form: CellForm, columns: usize) -> Vec<BookCell> {
    let mut cells = vec![BookCell::Empty; columns];
    cells[0] = BookCell::text(one.bill.lines.first().map_or("baseline", |line| line.on.as_str()));
    cells[usize::from(LEFT)] = BookCell::Number(1.0);
    if let Some(row) = one.rates.and_then(|load| load.rows.iter().find(|row| row.baseline)) {
        let rate = if form == CellForm::Bytes { &row.bytes_per_s } else { &row.iops };
        cells[usize::from(RATE)] = input(BookCell::known(rate, form));
    }
    if let Some([latency]) = one.latencies.and_then(single_latency) {
        cells[usize::from(TOTAL_TIME)] = input(BookCell::known(&latency.mean, CellForm::Time));
    }
    cells
}

/// Returns the baseline's latencies with one I/O at a time, as which a bill has them.
fn single_latency(load: &WorkloadFindings) -> Option<&[LatencyFigures]> {
    let row = load.rows.iter().find(|row| row.baseline)?;
    let matched = load.matched.as_ref().filter(|matched| matched.rate_iops.is_none());
    match matched.and_then(|matched| matched.rows.iter().find(|row| row.baseline)) {
        Some(row) => Some(&row.latency),
        None => (row.generator.depth == Some(1.0)).then_some(&row.latency),
    }
}

fn input(cell: BookCell) -> BookCell {
    match cell {
        BookCell::Number(value) => BookCell::Input(value),
        other => other,
    }
}

/// Returns the row of a layer. Its points are measured, or follow from its factor where the stacks
/// were not up together.
fn line_row(above: &[Vec<BookCell>], line: &BillLine, row: u32, first: u32) -> Vec<BookCell> {
    let before = |col: u16| above.last().and_then(|cells| cells[usize::from(col)].value());
    let at = |row: u32, col: u16| row_col_to_cell(row, col);
    let mut cells = RowCells::default();
    cells.text(line.layer.as_str());
    cells.text(line.on.as_str());
    let lost = points_taken(line);
    cells.input("points taken", &lost, CellForm::Share);
    let mut points = lost.value();
    if points.is_none() {
        points = before(LEFT).zip(line.ratio.value()).map(|(left, factor)| left * (1.0 - factor));
        let pair = [at(row - 1, LEFT), at(row, FACTOR)];
        cells.cells[usize::from(POINTS)] = joined(pair, "{0}*(1-{1})", points);
    }
    let left = before(LEFT).zip(points).map(|(left, points)| left - points);
    cells.cells.push(joined([at(row - 1, LEFT), at(row, POINTS)], "{0}-{1}", left));
    let rate = above[0][usize::from(RATE)].value().zip(left).map(|(base, left)| base * left);
    cells.cells.push(joined([at(first, RATE), at(row, LEFT)], "{0}*{1}", rate));
    cells.input("factor", &line.ratio, CellForm::Factor);
    cells.input("added latency", &line.added_latency, CellForm::Time);
    let added = cells.cells[usize::from(ADDED)].value();
    let mean = before(TOTAL_TIME).zip(added).map(|(mean, added)| mean + added);
    cells.cells.push(joined([at(row - 1, TOTAL_TIME), at(row, ADDED)], "{0}+{1}", mean));
    finish_row(cells, line)
}

/// Returns a formula of two cells, `{0}` and `{1}`, that is empty unless both have a number.
fn joined([one, other]: [String; 2], formula: &str, result: Option<f64>) -> BookCell {
    let formula = formula.replace("{0}", &one).replace("{1}", &other);
    BookCell::Formula(format!("=IF(COUNT({one},{other})<2,\"\",{formula})"), result)
}

fn finish_row(mut cells: RowCells, line: &BillLine) -> Vec<BookCell> {
    cells.figure("added CPU", Some(&line.added_cpu), CellForm::Time);
    cells.text(line.verdict.phrase());
    line.masked.iter().for_each(|masked| cells.remark(masked.words.clone()));
    line.emulated.iter().for_each(|words| cells.remark(words.clone()));
    cells.with_remarks()
}

/// Returns the row of all layers together, which follows from the rows above it.
fn sum_row(above: &[Vec<BookCell>], first: u32) -> Vec<BookCell> {
    let (count, last) = (above.len() - 1, first + above.len() as u32 - 1);
    let whole = |name: &str, col: u16| {
        let range = [first + 1, last].map(|row| row_col_to_cell(row, col)).join(":");
        let cells = above[1..].iter().map(|cells| cells[usize::from(col)].value());
        let known: Option<Vec<f64>> = cells.collect();
        let result = known.map(|known| match name {
            "SUM" => known.iter().sum(),
            _ => known.iter().product(),
        });
        let text = format!("=IF(COUNT({range})<{count},\"\",{name}({range}))");
        BookCell::Formula(text, result)
    };
    let same = |col: u16| {
        let result = above.last().and_then(|cells| cells[usize::from(col)].value());
        BookCell::Formula(format!("={}", row_col_to_cell(last, col)), result)
    };
    let mut cells = vec![BookCell::Empty; above[0].len()];
    cells[0] = BookCell::text("together");
    for (col, cell) in [
        (POINTS, whole("SUM", POINTS)),
        (LEFT, same(LEFT)),
        (RATE, same(RATE)),
        (FACTOR, whole("PRODUCT", FACTOR)),
        (ADDED, whole("SUM", ADDED)),
        (TOTAL_TIME, same(TOTAL_TIME)),
    ] {
        cells[usize::from(col)] = cell;
    }
    cells
}

/// Returns the row of the whole stack against the baseline as it was measured.
fn measured_row(total: &BillLine) -> Vec<BookCell> {
    let mut cells = RowCells::default();
    cells.text("together, as measured");
    cells.text(total.on.as_str());
    cells.figure("points taken", Some(&points_taken(total)), CellForm::Share);
    cells.cells.extend([BookCell::Empty, BookCell::Empty]);
    cells.figure("factor", Some(&total.ratio), CellForm::Factor);
    cells.figure("added latency", Some(&total.added_latency), CellForm::Time);
    cells.cells.push(BookCell::Empty);
    finish_row(cells, total)
}

/// Returns what a layer takes of the baseline's rate.
fn points_taken(line: &BillLine) -> MeasuredFigure {
    line.of_baseline.clone().map("1", |share| 1.0 - share)
}
