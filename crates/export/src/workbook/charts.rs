//! Native charts of columns of a sheet, with the intervals as whiskers.

use super::pen::{SheetPen, TableSpot};
use rust_xlsxwriter::utility::row_col_to_cell;
use rust_xlsxwriter::{
    Chart, ChartErrorBars, ChartErrorBarsType, ChartFont, ChartFormat, ChartLegendPosition,
    ChartLine, ChartMarker, ChartRange, ChartSeries, ChartSolidFill, ChartType, XlsxError,
};

const COLORS: [&str; 8] =
    ["#1F6FB2", "#D9822B", "#3C9D4E", "#8E5BB5", "#B23A48", "#5F7582", "#C2A21A", "#2AA3A3"];

/// A column of a table as one series of a chart.
#[derive(Clone, Copy)]
pub struct PlottedColumn {
    pub spot: TableSpot,
    /// Column of the names or the numbers along the axis.
    pub along: u16,
    pub values: u16,
    /// True if the next two columns have the ends of the interval.
    pub has_interval: bool,
}

/// Returns a chart whose title is in this row of the sheet, with names for its axes.
pub fn new_chart(kind: ChartType, pen: &SheetPen, title: u32, x: &str, y: &str) -> Chart {
    let mut chart = Chart::new(kind);
    let mut font = ChartFont::new();
    font.set_size(12);
    chart.title().set_name((pen.name, title, 0)).set_font(&font).set_overlay(false);
    chart.x_axis().set_name(x);
    let mut grid = ChartLine::new();
    grid.set_color("#D9D9D9");
    chart.y_axis().set_name(y).set_major_gridlines(true).set_major_gridlines_line(&grid);
    chart.legend().set_position(ChartLegendPosition::Bottom);
    chart
}

fn color(at: usize) -> &'static str {
    COLORS[at % COLORS.len()]
}

/// Returns a range of one column of a sheet.
pub fn column_range(pen: &SheetPen, spot: TableSpot, col: u16) -> ChartRange {
    ChartRange::new_from_range(pen.name, spot.first, col, spot.last, col)
}

/// Returns a series of bars.
pub fn bars(
    pen: &mut SheetPen,
    column: PlottedColumn,
    at: usize,
) -> Result<ChartSeries, XlsxError> {
    let mut series = plain_series(pen, column)?;
    series.set_format(ChartFormat::new().set_solid_fill(&fill(at)));
    Ok(series)
}

/// Returns a series of hollow bars, for figures of others.
pub fn hollow_bars(
    pen: &mut SheetPen,
    column: PlottedColumn,
    at: usize,
) -> Result<ChartSeries, XlsxError> {
    let mut series = plain_series(pen, column)?;
    let mut line = ChartLine::new();
    line.set_color(color(at)).set_width(1.5);
    series.set_format(ChartFormat::new().set_no_fill().set_border(&line));
    Ok(series)
}

/// Returns a series of points with a line through them.
pub fn line(
    pen: &mut SheetPen,
    column: PlottedColumn,
    at: usize,
) -> Result<ChartSeries, XlsxError> {
    let mut series = plain_series(pen, column)?;
    let mut line = ChartLine::new();
    line.set_color(color(at)).set_width(1.75);
    let mut marker = ChartMarker::new();
    marker.set_automatic().set_size(5);
    marker.set_format(ChartFormat::new().set_solid_fill(&fill(at)).set_border(&line));
    series.set_format(ChartFormat::new().set_line(&line)).set_marker(&marker);
    Ok(series)
}

pub fn fill(at: usize) -> ChartSolidFill {
    let mut fill = ChartSolidFill::new();
    fill.set_color(color(at));
    fill
}

fn plain_series(pen: &mut SheetPen, column: PlottedColumn) -> Result<ChartSeries, XlsxError> {
    let PlottedColumn { spot, along, values, has_interval } = column;
    let mut series = ChartSeries::new();
    series
        .set_name((pen.name, spot.head, values))
        .set_categories(&column_range(pen, spot, along))
        .set_values(&column_range(pen, spot, values));
    if has_interval {
        series.set_y_error_bars(&whiskers(pen, spot, [values, values + 1, values + 2])?);
    }
    Ok(series)
}

/// Returns whiskers from the columns of the values and of both ends.
fn whiskers(
    pen: &mut SheetPen,
    spot: TableSpot,
    [value, low, high]: [u16; 3],
) -> Result<ChartErrorBars, XlsxError> {
    let distance = |[from, less]: [u16; 2]| {
        move |pen: &SheetPen, row: u32| {
            let [a, b] = [from, less].map(|col| row_col_to_cell(row, col));
            let numbers = pen.number_at(row, from).zip(pen.number_at(row, less));
            let text = format!("=IF(COUNT({a},{b})<2,0,{a}-{b})");
            (text, numbers.map_or(0.0, |(from, less)| from - less))
        }
    };
    let up = pen.helper_formulas(spot, "up", distance([high, value]))?;
    let down = pen.helper_formulas(spot, "down", distance([value, low]))?;
    Ok(whiskers_between(pen, spot, [up, down]))
}

/// Returns whiskers whose lengths are in two columns: upwards and downwards.
pub fn whiskers_between(pen: &SheetPen, spot: TableSpot, [up, down]: [u16; 2]) -> ChartErrorBars {
    let [up, down] = [up, down].map(|col| column_range(pen, spot, col));
    let mut bars = ChartErrorBars::new();
    bars.set_type(ChartErrorBarsType::Custom(up, down));
    bars.set_format(ChartFormat::new().set_line(ChartLine::new().set_color("#444444")));
    bars
}
