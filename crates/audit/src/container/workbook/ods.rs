//! OpenDocument spreadsheets: ODF 1.2, part 1, chapter 9. They hold what each cell shows.

use super::sheet::{Cell, Sheet};
use super::xlsx::{Xml, attribute, reader, said};
use super::{Parts, broken};
use quick_xml::events::{BytesStart, Event};
use std::rc::Rc;

/// A cell or row with something in it that is repeated more often is an attack on the memory.
const REPEATED: u32 = 1000;
const ROWS: u32 = 1 << 20;
const COLUMNS: u32 = 1 << 14;

pub(super) fn sheets(parts: &mut Parts) -> Result<Vec<Sheet>, String> {
    let text = parts.text("content.xml")?.unwrap_or_default();
    let mut reading = Reading { room: super::MOST_CELLS, ..Reading::default() };
    let read = reading.all(&text).map_err(|error| broken("content.xml", error));
    match read {
        Err(why) if reading.sheets.is_empty() => Err(why),
        Err(why) => {
            if let Some(sheet) = reading.sheets.last_mut() {
                sheet.note(reading.row, why);
            }
            Ok(reading.sheets)
        }
        Ok(()) if reading.sheets.is_empty() => Err("an OpenDocument file without a sheet".to_string()),
        Ok(()) => Ok(reading.sheets),
    }
}

#[derive(Default)]
struct Reading {
    sheets: Vec<Sheet>,
    row: u32,
    column: u32,
    /// How often the open row and cell are repeated.
    rows: u32,
    columns: u32,
    cells: Vec<Cell>,
    /// Whether a table is not closed yet.
    open: bool,
    /// What the open cell shows, and what it stores.
    shown: Option<String>,
    stored: String,
    paragraph: bool,
    /// Within notes on cells.
    noted: usize,
    /// Cells that may still be read.
    room: usize,
}

impl Reading {
    fn all(&mut self, text: &str) -> Xml<()> {
        let mut reader = reader(text);
        loop {
            match reader.read_event()? {
                Event::Start(tag) => self.starts(&tag),
                Event::Empty(tag) => {
                    self.starts(&tag);
                    self.ends(tag.local_name().as_ref());
                }
                Event::End(tag) => self.ends(tag.local_name().as_ref()),
                Event::Eof => {
                    let row = self.row;
                    if let Some(sheet) = self.sheets.last_mut().filter(|_| self.open) {
                        sheet.note(row, "a sheet of the workbook ends in the middle");
                    }
                    return Ok(());
                }
                event if self.paragraph && self.noted == 0 => {
                    if let Some(shown) = &mut self.shown {
                        said(&event, shown);
                    }
                }
                _ => {}
            }
        }
    }

    fn starts(&mut self, tag: &BytesStart) {
        let count =
            |name: &[u8]| attribute(tag, name).and_then(|count| count.parse().ok()).unwrap_or(1u32).max(1);
        match tag.local_name().as_ref() {
            b"table" if self.sheets.len() == super::SHEETS => {
                self.room = 0;
                let row = self.row;
                if let Some(last) = self.sheets.last_mut().filter(|last| last.unread.is_empty()) {
                    last.note(row, super::more_sheets());
                }
            }
            b"table" => {
                let name = attribute(tag, b"name").unwrap_or_default();
                self.sheets.push(Sheet { name, ..Sheet::default() });
                (self.row, self.open) = (1, true);
            }
            b"table-row" => {
                self.rows = count(b"number-rows-repeated");
                self.column = 0;
                self.cells.clear();
            }
            b"table-cell" | b"covered-table-cell" => {
                self.columns = count(b"number-columns-repeated");
                self.stored = attribute(tag, b"value").unwrap_or_default();
                self.shown = Some(String::new());
            }
            b"annotation" => self.noted += 1,
            b"p" => {
                self.paragraph = true;
                self.space();
            }
            b"s" | b"tab" | b"line-break" => self.space(),
            _ => {}
        }
    }

    fn space(&mut self) {
        if let Some(shown) = self.shown.as_mut().filter(|shown| !shown.is_empty() && self.noted == 0) {
            shown.push(' ');
        }
    }

    fn ends(&mut self, name: &[u8]) {
        match name {
            b"p" => self.paragraph = false,
            b"annotation" => self.noted = self.noted.saturating_sub(1),
            b"table-cell" | b"covered-table-cell" => {
                let shown = self.shown.take().unwrap_or_default();
                let text: Rc<str> = if shown.is_empty() { self.stored.as_str().into() } else { shown.into() };
                let copies = if text.is_empty() { 0 } else { self.columns.min(REPEATED) };
                let room = COLUMNS.saturating_sub(self.column);
                self.cells.extend((0..copies.min(room)).map(|at| (self.column + at, text.clone())));
                self.column = self.column.saturating_add(self.columns).min(COLUMNS);
            }
            b"table-row" => self.row_ends(),
            b"table" => self.open = false,
            _ => {}
        }
    }

    fn row_ends(&mut self) {
        let row = self.row;
        self.row = self.row.saturating_add(self.rows).min(ROWS);
        let Some(sheet) = self.sheets.last_mut() else { return };
        if self.cells.is_empty() {
            return;
        }
        let rows = self.rows.min(REPEATED);
        let copies = self.cells.len() * rows as usize;
        if copies > self.room {
            if sheet.unread.is_empty() {
                sheet.note(
                    row,
                    format!("a workbook of more than {} cells: the rest is not read", super::MOST_CELLS),
                );
            }
            return;
        }
        self.room -= copies;
        let cells = std::mem::take(&mut self.cells);
        sheet.rows.extend((0..rows).map(|at| (row + at, cells.clone())));
    }
}
