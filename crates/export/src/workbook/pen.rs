//! A sheet as it is written from top to bottom: titles, notes, tables and charts, none of which
//! covers another.

use super::cells::{BookCell, BookTable, CellForm, REMARKS};
use iotax_units::harmless::escape_line;
use rust_xlsxwriter::{
    Chart, Color, Format, FormatAlign, FormatBorder, Formula, Worksheet, XlsxError,
};
use std::collections::HashMap;

const HEAD_COLOR: Color = Color::RGB(0xDDE6EE);
pub const INPUT_COLOR: Color = Color::RGB(0xD8F0D0);
/// First of the hidden columns that have what charts and formulas need beside the tables.
const HELPERS: u16 = 300;
/// Height of a chart, in rows of 20 pixels.
const CHART_ROWS: u32 = 20;
const CHART_WIDTH: u32 = 960;
const WIDEST_CHART: u32 = 1_900;
/// Width of a name along the axis of a chart.
const NAME_WIDTH: u32 = 48;
/// Width in pixels of what is readable on a page in landscape.
const PAGE_WIDTH: usize = 2_000;
/// Longest text of a cell in characters. Excel accepts 32,767 units, two for some characters.
const LONGEST_TEXT: usize = 16_383;
/// Widths of columns, in characters.
const WIDTHS: std::ops::RangeInclusive<usize> = 9..=42;

/// Rows of a table that was written.
#[derive(Clone, Copy, Debug)]
pub struct TableSpot {
    pub head: u32,
    pub first: u32,
    pub last: u32,
}

impl TableSpot {
    /// Returns the place of a table whose head is in this row.
    pub fn below_head(head: u32, rows: usize) -> TableSpot {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        TableSpot { head, first: head + 1, last: head + rows.max(1) }
    }
}

pub struct SheetPen {
    pub sheet: Worksheet,
    pub name: &'static str,
    pub row: u32,
    widths: Vec<usize>,
    helper: u16,
    chart_width: u32,
    /// Numbers of all cells, also of results of formulas.
    numbers: HashMap<(u32, u16), f64>,
}

impl SheetPen {
    pub fn new(name: &'static str, title: &str) -> Result<SheetPen, XlsxError> {
        let mut sheet = Worksheet::new();
        sheet.set_name(name)?.set_landscape().set_paper_size(9).set_print_fit_to_pages(1, 0);
        sheet.set_screen_gridlines(false).set_footer("&L&A&RPage &P of &N");
        let (widths, numbers) = (Vec::new(), HashMap::new());
        let (row, helper, chart_width) = (0, HELPERS, CHART_WIDTH);
        let mut pen = SheetPen { sheet, name, row, widths, helper, chart_width, numbers };
        pen.write_text(0, 0, title, &Format::new().set_bold().set_font_size(14))?;
        pen.row = 1;
        Ok(pen)
    }

    /// Writes a title and returns its row.
    pub fn title(&mut self, text: &str) -> Result<u32, XlsxError> {
        let row = self.row + 1;
        self.write_text(row, 0, text, &Format::new().set_bold().set_font_size(12))?;
        self.row = row + 1;
        Ok(row)
    }

    /// Writes a line of text that may run over the cells to its right.
    pub fn note(&mut self, text: &str) -> Result<(), XlsxError> {
        self.write_text(self.row, 0, text, &Format::new().set_font_color(Color::RGB(0x555555)))?;
        self.row += 1;
        Ok(())
    }

    /// Writes foreign text as text, also if it begins like a formula.
    pub fn write_text(
        &mut self,
        row: u32,
        col: u16,
        text: &str,
        format: &Format,
    ) -> Result<(), XlsxError> {
        let text: String = escape_line(text).chars().take(LONGEST_TEXT).collect();
        let is_like_formula = text.starts_with(['=', '+', '-', '@']);
        let format =
            if is_like_formula { format.clone().set_quote_prefix() } else { format.clone() };
        self.sheet.write_string_with_format(row, col, text, &format)?;
        Ok(())
    }

    /// Writes a table at the left, and leaves a row free below it.
    pub fn table(&mut self, table: &BookTable) -> Result<TableSpot, XlsxError> {
        let head = self.row;
        // Remarks run on to the right where tables above have a narrow column.
        let above = self.widths.len();
        let format = Format::new()
            .set_bold()
            .set_text_wrap()
            .set_align(FormatAlign::VerticalCenter)
            .set_background_color(HEAD_COLOR)
            .set_border_bottom(FormatBorder::Thin);
        for (col, column) in (0..).zip(&table.columns) {
            let format = match column.form {
                CellForm::Text => format.clone().set_indent(indent(col)),
                _ => format.clone().set_align(FormatAlign::Right),
            };
            self.write_text(head, col, &column.head, &format)?;
            self.widen(col, head_width(&column.head));
        }
        self.sheet.set_row_height(head, 15.0 * f64::from(self.head_lines(table)))?;
        for (row, cells) in (head + 1..).zip(&table.rows) {
            for ((col, cell), column) in (0..).zip(cells).zip(&table.columns) {
                self.write_cell(row, col, cell, column.form)?;
                if column.head != REMARKS || usize::from(col) >= above {
                    self.widen(col, cell_width(cell, column.form));
                }
            }
        }
        let spot = TableSpot::below_head(head, table.rows.len());
        self.row = spot.last + 2;
        Ok(spot)
    }

    /// Returns the number of lines of the longest head, at the widths known so far.
    fn head_lines(&self, table: &BookTable) -> u32 {
        let lines = |(at, head): (usize, usize)| head.div_ceil(self.widths[at].max(1)) as u32;
        let heads = table.columns.iter().map(|column| column.head.chars().count() + 2);
        heads.enumerate().map(lines).max().unwrap_or(1).clamp(1, 4)
    }

    fn write_cell(
        &mut self,
        row: u32,
        col: u16,
        cell: &BookCell,
        form: CellForm,
    ) -> Result<(), XlsxError> {
        let format = Format::new().set_num_format(form.number_format());
        self.numbers.extend(cell.value().map(|value| ((row, col), value)));
        match cell {
            BookCell::Empty => {}
            BookCell::Text(text) => {
                self.write_text(row, col, text, &Format::new().set_indent(indent(col)))?;
            }
            BookCell::Number(value) => {
                self.sheet.write_number_with_format(row, col, *value, &format)?;
            }
            BookCell::Input(value) => {
                let format = format.set_background_color(INPUT_COLOR);
                self.sheet.write_number_with_format(row, col, *value, &format)?;
            }
            BookCell::Formed(value, form) => {
                let format = Format::new().set_num_format(form);
                self.sheet.write_number_with_format(row, col, *value, &format)?;
            }
            BookCell::Formula(text, result) => {
                let result = result.map(|value| value.to_string()).unwrap_or_default();
                let formula = Formula::new(text).set_result(result);
                self.sheet.write_formula_with_format(row, col, formula, &format)?;
            }
        }
        Ok(())
    }

    fn widen(&mut self, col: u16, width: usize) {
        let at = usize::from(col);
        self.widths.resize(self.widths.len().max(at + 1), *WIDTHS.start());
        self.widths[at] = self.widths[at].max(width.min(*WIDTHS.end()));
    }

    /// Returns the number in a cell, or the result of its formula.
    pub fn number_at(&self, row: u32, col: u16) -> Option<f64> {
        self.numbers.get(&(row, col)).copied()
    }

    /// Returns the next column that is hidden.
    pub fn helper_column(&mut self) -> Result<u16, XlsxError> {
        let col = self.helper;
        self.helper += 1;
        self.sheet.set_column_hidden(col)?;
        Ok(col)
    }

    /// Writes formulas with their results to a hidden column beside these rows, and returns it.
    pub fn helper_formulas(
        &mut self,
        spot: TableSpot,
        head: &str,
        formula: impl Fn(&SheetPen, u32) -> (String, f64),
    ) -> Result<u16, XlsxError> {
        let col = self.helper_column()?;
        self.sheet.write_string(spot.head, col, head)?;
        for row in spot.first..=spot.last {
            let (text, result) = formula(self, row);
            let formula = Formula::new(text).set_result(result.to_string());
            self.sheet.write_formula(row, col, formula)?;
            self.numbers.insert((row, col), result);
        }
        Ok(col)
    }

    /// Leaves room for a chart, and returns its row.
    pub fn chart_room(&mut self) -> u32 {
        self.row += CHART_ROWS;
        self.row - CHART_ROWS
    }

    /// Places a chart in the room that begins with this row.
    pub fn chart_at(&mut self, row: u32, chart: &mut Chart) -> Result<(), XlsxError> {
        chart.set_width(self.chart_width).set_height(CHART_ROWS * 20 - 20).show_hidden_data();
        self.sheet.insert_chart(row, 0, chart)?;
        Ok(())
    }

    /// Makes the charts that follow wide enough for so many names along the axis.
    pub fn make_room_for(&mut self, names: usize) {
        let wanted = u32::try_from(names).unwrap_or(u32::MAX).saturating_mul(NAME_WIDTH);
        self.chart_width = self.chart_width.max(wanted.min(WIDEST_CHART));
    }

    /// Sets what is printed: all columns and charts, on one page or more beside each other.
    fn set_print_area(&mut self) -> Result<(), XlsxError> {
        let (mut pixels, mut last) = (0, 0);
        while pixels < self.chart_width as usize || usize::from(last) < self.widths.len() {
            pixels += 7 * self.widths.get(usize::from(last)).unwrap_or(&8) + 12;
            last += 1;
        }
        self.sheet.set_print_area(0, 0, self.row, last - 1)?;
        let pages = pixels.div_ceil(PAGE_WIDTH).clamp(1, 4);
        self.sheet.set_print_fit_to_pages(pages as u16, 0);
        Ok(())
    }

    /// Places a chart below all that was written.
    pub fn chart(&mut self, chart: &mut Chart) -> Result<(), XlsxError> {
        let row = self.chart_room();
        self.chart_at(row, chart)
    }

    /// Sets the widths of the columns and returns the sheet, in which these rows and columns stay
    /// in view.
    pub fn finish(mut self, frozen: (u32, u16)) -> Result<Worksheet, XlsxError> {
        for (col, width) in (0..).zip(&self.widths) {
            self.sheet.set_column_width(col, *width as f64 + 1.0)?;
        }
        if !self.widths.is_empty() {
            self.set_print_area()?;
        }
        self.sheet.set_freeze_panes(frozen.0, frozen.1)?;
        Ok(self.sheet)
    }
}

/// Returns the space before a text, which keeps it off a number at its left.
fn indent(col: u16) -> u8 {
    u8::from(col > 0)
}

/// Returns the width for a head, which may take several lines.
fn head_width(head: &str) -> usize {
    let longest = head.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    longest.max(head.chars().count().div_ceil(3)) + 2
}

fn cell_width(cell: &BookCell, form: CellForm) -> usize {
    match cell {
        BookCell::Empty | BookCell::Formula(_, None) => 0,
        BookCell::Text(text) => text.chars().count() + 2,
        BookCell::Formed(value, form) => format!("{value:.0}").len() + form.chars().count(),
        BookCell::Number(value) | BookCell::Input(value) | BookCell::Formula(_, Some(value)) => {
            let whole = format!("{:.0}", value.abs());
            whole.len() + whole.len() / 3 + number_tail(form)
        }
    }
}

/// Returns the width of a sign, the digits after the point, and space.
fn number_tail(form: CellForm) -> usize {
    match form {
        CellForm::Factor | CellForm::Seconds | CellForm::Share => 7,
        CellForm::Plain => 10,
        _ => 4,
    }
}
