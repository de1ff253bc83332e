//! A waterfall, which is no native chart: stacked columns on an invisible one.

use super::charts::{column_range, fill, new_chart, whiskers_between};
use super::pen::{SheetPen, TableSpot};
use rust_xlsxwriter::utility::row_col_to_cell;
use rust_xlsxwriter::{Chart, ChartFormat, ChartSeries, ChartType, XlsxError};

/// Columns of a table whose first row is the level to begin with, whose last row is the level at
/// the end, and whose rows between change it.
#[derive(Clone, Copy)]
pub struct Waterfall {
    /// Column with the level after each row.
    pub level: u16,
    /// Column with the change of each row; the next two have the ends of its interval.
    pub change: u16,
    /// True if a change adds to the level, false if it takes from it.
    pub rises: bool,
}

/// Hidden columns of a waterfall with their colours; that of the base has none.
const PARTS: [(&str, Option<usize>); 4] =
    [("base", None), ("level", Some(0)), ("costs", Some(4)), ("gains", Some(2))];

impl Waterfall {
    pub fn chart(
        self,
        pen: &mut SheetPen,
        title: u32,
        spot: TableSpot,
        axis: &str,
    ) -> Result<Chart, XlsxError> {
        let mut chart = new_chart(ChartType::ColumnStacked, pen, title, "", axis);
        for (at, (name, color)) in PARTS.into_iter().enumerate() {
            let col = pen.helper_formulas(spot, name, |pen, row| self.part(pen, spot, row, at))?;
            let mut series = ChartSeries::new();
            series
                .set_name((pen.name, spot.head, col))
                .set_categories(&column_range(pen, spot, 0))
                .set_values(&column_range(pen, spot, col))
                .set_gap(60);
            match color {
                Some(color) => {
                    series.set_format(ChartFormat::new().set_solid_fill(&fill(color)));
                }
                None => {
                    series.set_format(ChartFormat::new().set_no_fill().set_no_border());
                    series.delete_from_legend(true);
                }
            }
            // A whisker is at the level after its row: the top of the base after a fall, and the
            // top of the bar after a rise.
            let rising_part = if self.rises { 2 } else { 3 };
            if at == 0 || at == rising_part {
                let up = self.whisker(pen, spot, "up", at != 0)?;
                let down = self.whisker(pen, spot, "down", at != 0)?;
                series.set_y_error_bars(&whiskers_between(pen, spot, [up, down]));
            }
            chart.push_series(&series);
        }
        chart.y_axis().set_min(0);
        Ok(chart)
    }

    /// Returns the height of one part of a row's bar.
    fn part(self, pen: &SheetPen, spot: TableSpot, row: u32, at: usize) -> (String, f64) {
        let now = format!("N({})", row_col_to_cell(row, self.level));
        let number = |row| pen.number_at(row, self.level).unwrap_or(0.0);
        if row == spot.first || row == spot.last {
            return match PARTS[at].0 {
                "level" => (format!("={now}"), number(row)),
                _ => ("=0".to_owned(), 0.0),
            };
        }
        let before = format!("N({})", row_col_to_cell(row - 1, self.level));
        let rise = number(row) - number(row - 1);
        match (PARTS[at].0, self.rises) {
            ("base", _) => (format!("=MIN({before},{now})"), number(row).min(number(row - 1))),
            ("costs", true) | ("gains", false) => {
                (format!("=MAX({now}-{before},0)"), rise.max(0.0))
            }
            ("costs", false) | ("gains", true) => {
                (format!("=MAX({before}-{now},0)"), (-rise).max(0.0))
            }
            _ => ("=0".to_owned(), 0.0),
        }
    }

    /// Writes the lengths of whiskers for rows that rise, or for those that fall.
    fn whisker(
        self,
        pen: &mut SheetPen,
        spot: TableSpot,
        end: &str,
        for_rises: bool,
    ) -> Result<u16, XlsxError> {
        // Of what is taken, the high end is the low end of the level.
        let is_high = (end == "up") == self.rises;
        pen.helper_formulas(spot, end, |pen, row| {
            let [value, other] = [self.change, self.change + if is_high { 2 } else { 1 }];
            let [a, b] = [value, other].map(|col| row_col_to_cell(row, col));
            let numbers = pen.number_at(row, value).zip(pen.number_at(row, other));
            let length = numbers.map_or(0.0, |(value, end)| (end - value).abs());
            let is_rise = |value: f64| (value > 0.0) == self.rises && value != 0.0;
            let shown = numbers.is_some_and(|(value, _)| is_rise(value) == for_rises)
                && row != spot.first
                && row != spot.last;
            let sign = if self.rises == for_rises { ">0" } else { "<=0" };
            let text = match row == spot.first || row == spot.last {
                true => "=0".to_owned(),
                false => format!("=IF(AND(COUNT({a},{b})=2,N({a}){sign}),ABS({b}-{a}),0)"),
            };
            (text, if shown { length } else { 0.0 })
        })
    }
}
