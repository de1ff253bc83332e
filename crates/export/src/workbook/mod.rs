//! The workbook: all runs in one xlsx file, with live formulas and native charts. A sheet appears
//! only if a run has something for it.

mod articles;
mod bill;
mod book_sheet;
mod cells;
mod charts;
mod course;
mod drives;
pub(crate) mod fleet_book;
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
use iotax_analysis::findings::article::ArticleFindings;
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
    let taken = contents.iter().map(|(name, _)| name.clone()).chain(["Read me".to_owned()]);
    let tables = runs.iter().flat_map(|run| &run.findings.articles).collect::<Vec<_>>();
    for sheet in articles::sheets(&tables, taken.collect())? {
        contents.push((sheet.name(), articles::ABOUT));
        sheets.push(sheet);
    }
    book.push_worksheet(readme::draw(runs, &contents)?);
    sheets.into_iter().for_each(|sheet| book.push_worksheet(sheet));
    // The same runs make the same file.
    let at = runs.first().and_then(|run| run.findings.run.at.get(..19)).unwrap_or_default();
    let at = ExcelDateTime::parse_from_str(at).or_else(|_| ExcelDateTime::from_timestamp(0))?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&at));
    book.save_to_buffer()
}

/// Writes a workbook with a sheet for each of these tables and nothing else.
///
/// # Errors
/// The workbook cannot be made or written.
pub fn write_tables(tables: &[ArticleFindings], out: &mut dyn Write) -> Result<()> {
    let mut book = Workbook::new();
    let all: Vec<&ArticleFindings> = tables.iter().collect();
    let sheets = articles::sheets(&all, Vec::new()).map_err(Error::other)?;
    for sheet in sheets {
        book.push_worksheet(sheet);
    }
    // The same tables make the same file.
    let at = ExcelDateTime::from_timestamp(0).map_err(Error::other)?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&at));
    out.write_all(&book.save_to_buffer().map_err(Error::other)?)
}
