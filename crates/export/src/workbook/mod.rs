//! The workbook: all runs in one xlsx file, with live formulas and native charts. A sheet appears
//! only if a run has something for it.

mod bill;
mod book_sheet;
mod cells;
mod charts;
mod course;
mod drives;
mod grid;
#[cfg(test)]
mod office_tests;
mod pen;
mod percent;
mod percentiles;
mod published;
mod raw;
mod readme;
mod summary;
mod sweeps;
#[cfg(test)]
mod tests;
mod waterfall;

use crate::exporter::{ExportedRun, Exporter};
use book_sheet::BookSheet;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, XlsxError};
use std::io::{Error, Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "xlsx", endings: &["xlsx"], write };

/// All sheets but the first, in their order.
const SHEETS: &[BookSheet] = &[
    summary::SHEET,
    percent::SHEET,
    bill::SHEET,
    drives::SHEET,
    grid::SHEET,
    published::SHEET,
    sweeps::SHEET,
    percentiles::SHEET,
    course::SHEET,
    raw::SHEET,
];

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    out.write_all(&workbook(runs).map_err(Error::other)?)
}

fn workbook(runs: &[ExportedRun]) -> std::result::Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    let mut contents = Vec::new();
    let mut sheets = Vec::new();
    for one in SHEETS {
        if let Some(sheet) = (one.draw)(runs)? {
            contents.push((sheet.name(), one.about));
            sheets.push(sheet);
        }
    }
    book.push_worksheet(readme::draw(runs, &contents)?);
    sheets.into_iter().for_each(|sheet| book.push_worksheet(sheet));
    // The same runs make the same file.
    let at = runs.first().and_then(|run| run.findings.run.at.get(..19)).unwrap_or_default();
    let at = ExcelDateTime::parse_from_str(at).or_else(|_| ExcelDateTime::from_timestamp(0))?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&at));
    book.save_to_buffer()
}
