//! The sheet `Percentiles`: latency over the share of slower I/Os, both on logarithmic axes.

use super::book_sheet::{BookSheet, part_title};
use super::cells::{BookCell, BookTable, CellForm};
use super::charts::{PlottedColumn, line, new_chart};
use super::pen::SheetPen;
use crate::exporter::ExportedRun;
use iotax_analysis::findings::{LatencyFigures, WorkloadFindings, percentile_name};
use iotax_units::distinct;
use rust_xlsxwriter::{ChartType, Worksheet, XlsxError};

pub(super) const SHEET: BookSheet =
    BookSheet { about: "curves of the latency percentiles of each load", draw };

fn draw(runs: &[ExportedRun]) -> Result<Option<Worksheet>, XlsxError> {
    let mut pen = SheetPen::new("Percentiles", "Latency percentiles")?;
    pen.note(
        "1 I/O in: 100 means that one I/O in 100 takes longer, which is p99. Curves are of all \
         rounds together and have no interval; those of single percentiles are in Summary.",
    )?;
    let begin = pen.row;
    for run in runs {
        let loads = run.findings.workloads.iter().filter(|load| load.sweep.is_none());
        for load in loads {
            let ways = load.rows.iter().flat_map(|row| &row.latency).map(|one| one.direction);
            for direction in distinct(ways) {
                draw_curves(&mut pen, load, direction, &|title| part_title(runs, run, title))?;
            }
        }
    }
    if pen.row == begin { Ok(None) } else { pen.finish((1, 2)).map(Some) }
}

fn draw_curves(
    pen: &mut SheetPen,
    load: &WorkloadFindings,
    direction: &str,
    titled: &dyn Fn(&str) -> String,
) -> Result<(), XlsxError> {
    let latency = |row: &'_ iotax_analysis::findings::StackRow| -> Option<LatencyFigures> {
        let found = row.latency.iter().find(|one| one.direction == direction);
        found.filter(|one| !one.curve.is_empty()).cloned()
    };
    let curves: Vec<(&str, LatencyFigures)> =
        load.rows.iter().filter_map(|row| Some((row.stack.as_str(), latency(row)?))).collect();
    let points = curves.iter().flat_map(|(_, found)| found.curve.iter().map(|(at, _)| *at));
    let mut quantiles = distinct(points.filter(|quantile| *quantile < 1.0));
    quantiles.sort_by(f64::total_cmp);
    if quantiles.is_empty() {
        return Ok(());
    }
    let title = pen.title(&titled(&format!("{}: {direction} latency", load.subject)))?;
    let mut table = BookTable::default();
    table.column("percentile", CellForm::Text).column("1 I/O in", CellForm::Plain);
    for (stack, _) in &curves {
        table.column(stack, CellForm::Time);
    }
    for quantile in &quantiles {
        let beyond = (1e6 / (1.0 - quantile)).round() / 1e6;
        let mut cells = vec![BookCell::Text(percentile_name(*quantile)), BookCell::Number(beyond)];
        for (_, found) in &curves {
            let point = found.curve.iter().find(|(at, _)| at == quantile);
            cells.push(BookCell::number(point.map(|(_, ns)| *ns as f64 * CellForm::Time.scale())));
        }
        table.rows.push(cells);
    }
    let room = pen.chart_room();
    let spot = pen.table(&table)?;
    let mut chart = new_chart(
        ChartType::ScatterStraightWithMarkers,
        pen,
        title,
        "1 I/O in ... is slower",
        "µs",
    );
    for at in 0..curves.len() {
        let column = PlottedColumn { spot, along: 1, values: 2 + at as u16, has_interval: false };
        chart.push_series(&line(pen, column, at)?);
    }
    chart.x_axis().set_log_base(10).set_min(1).set_num_format("#,##0");
    chart.y_axis().set_log_base(10).set_num_format("#,##0");
    pen.chart_at(room, &mut chart)
}
