//! The sheet `Sweeps`: rate, latency and share of the baseline along each axis that is swept.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::charts::{PlottedColumn, line, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::sweep::{Curve, StackCurve, SweepFindings, SweptStack};
use iotax_units::distinct;
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet =
    BookSheet { about: "rate, latency and share of the baseline along each sweep", draw };

/// A figure along the axis.
struct SweptFigure {
    name: &'static str,
    form: CellForm,
    figure: fn(&SweptStack) -> Option<MeasuredFigure>,
}

const RATE: SweptFigure =
    SweptFigure { name: "IOPS", form: CellForm::Rate, figure: |at| Some(at.iops.clone()) };
const BYTES: SweptFigure =
    SweptFigure { name: "MB/s", form: CellForm::Bytes, figure: |at| Some(at.bytes_per_s.clone()) };
const LATENCY: SweptFigure = SweptFigure {
    name: "mean latency",
    form: CellForm::Time,
    figure: |at| Some(at.latency.clone()),
};
/// The ratio to the baseline, with the interval that holds for all points at once.
const SHARE: SweptFigure = SweptFigure {
    name: "% of baseline",
    form: CellForm::Share,
    figure: |at| at.costs.first().map(|cost| cost.ratio.with_interval(cost.simultaneous.as_ref())),
};

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Sweeps", "Sweeps")?;
    pen.note("low, high: ends of the 95 % interval; of shares, all points of a sweep at once.")?;
    let begin = pen.row;
    for run in runs {
        for sweep in &run.findings.sweeps {
            for curve in &sweep.curves {
                let word = sweep.curve_word.as_deref().unwrap_or_default();
                let at = curve.at.iter().map(|at| format!(", {word} {}", at.shown));
                let subject = format!("{}{}", sweep.subject, at.collect::<String>());
                draw_curve(&mut pen, sweep, curve, &part_title(runs, run, &subject))?;
            }
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 1)).map(Some) }
}

fn draw_curve(
    pen: &mut SheetPen,
    sweep: &SweepFindings,
    curve: &Curve,
    subject: &str,
) -> Result<(), XlsxError> {
    let rate = if sweep.throughput == "B/s" { BYTES } else { RATE };
    for shown in [rate, LATENCY, SHARE] {
        let stacks: Vec<&StackCurve> = curve
            .stacks
            .iter()
            .filter(|stack| stack.points.iter().any(|at| (shown.figure)(at).is_some()))
            .collect();
        if !stacks.is_empty() {
            draw_figure(pen, sweep, &stacks, &shown, &format!("{}: {subject}", shown.name))?;
        }
    }
    for stack in &curve.stacks {
        for sentence in stack.conclusion_sentences() {
            pen.note(&format!("{}: {sentence}", stack.stack))?;
        }
    }
    Ok(())
}

fn draw_figure(
    pen: &mut SheetPen,
    sweep: &SweepFindings,
    stacks: &[&StackCurve],
    shown: &SweptFigure,
    title: &str,
) -> Result<(), XlsxError> {
    let title = pen.title(title)?;
    let mut table = BookTable::default();
    let axis =
        if sweep.unit == "B" { format!("{}, bytes", sweep.axis) } else { sweep.axis.clone() };
    table.column(&axis, CellForm::Count);
    for stack in stacks {
        table.figure_columns(&stack.stack, shown.form);
    }
    table.column(REMARKS, CellForm::Text);
    let mut values = distinct(stacks.iter().flat_map(|stack| &stack.points).map(|at| at.at.value));
    values.sort_unstable();
    for value in &values {
        let mut cells = RowCells::default();
        cells.cells.push(BookCell::Number(*value as f64));
        for stack in stacks {
            let point = stack.points.iter().find(|at| at.at.value == *value);
            let figure = point.and_then(|point| (shown.figure)(point));
            cells.figure(&stack.stack, figure.as_ref(), shown.form);
        }
        table.rows.push(cells.with_remarks());
    }
    let spot = pen.table(&table)?;
    let unit = if shown.form == CellForm::Share { shown.name } else { shown.form.unit() };
    let mut chart = new_chart(ChartType::ScatterStraightWithMarkers, pen, title, &axis, unit);
    for at in 0..stacks.len() {
        let column =
            PlottedColumn { spot, along: 0, values: 1 + 3 * at as u16, has_interval: true };
        chart.push_series(&line(pen, column, at)?);
    }
    let [first, last] = [values.first(), values.last()].map(|it| it.copied().unwrap_or(1) as f64);
    // A point on the edge of the axis may not count for the scale of the other one.
    chart.x_axis().set_log_base(2).set_min(first).set_max(1.25 * last).set_num_format("#,##0");
    let format = if shown.form == CellForm::Share { "0%" } else { "#,##0" };
    chart.y_axis().set_num_format(format).set_min(0);
    pen.chart(&mut chart)
}
