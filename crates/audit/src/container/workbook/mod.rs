//! Workbooks: each sheet a page whose rows stand between pipes, with what a cell shows (`94.65%`), not what it stores. Read by
//! hand and not by a library: those at hand tell values without their formats, and expand what is repeated without a bound.

mod format;
mod ods;
mod sheet;
mod xlsx;

use super::Container;
use crate::page::{Page, Unread};
use sheet::Sheet;
use std::io::{Cursor, Read};

/// The container's entry in the family.
pub const CONTAINER: Container = Container { name: "workbook", knows: |bytes| knows(bytes), read };

/// Bytes that all parts of a workbook may have once they are unpacked.
const MOST_BYTES: u64 = 128 << 20;
/// Sheets: the entry of one is a few bytes, and may name a part that another has named.
const SHEETS: usize = 1000;
/// Cells of all its sheets.
const MOST_CELLS: usize = 2_000_000;

/// Zip archives, and the older container of .xls and of encrypted workbooks.
fn knows(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(&OLD)
}

const OLD: [u8; 8] = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

fn read(name: &str, bytes: Vec<u8>) -> Vec<Page> {
    let sheets = if bytes.starts_with(&OLD) {
        Err("an .xls workbook, or one with a password; hint: save it as .xlsx or .csv".to_string())
    } else {
        Parts::open(bytes).and_then(|mut parts| parts.sheets())
    };
    match sheets {
        Ok(sheets) => sheets.into_iter().map(|sheet| sheet.page(name)).collect(),
        Err(why) => vec![nothing(name, why)],
    }
}

/// A page without lines, and why.
fn nothing(name: &str, why: String) -> Page {
    let mut page = Page::new(name, "");
    page.unread.push(Unread { line: 1, last: 1, why });
    page
}

/// The parts of a workbook.
struct Parts {
    archive: zip::ZipArchive<Cursor<Vec<u8>>>,
    /// Bytes that may still be unpacked.
    left: u64,
}

impl Parts {
    fn open(bytes: Vec<u8>) -> Result<Parts, String> {
        let archive = zip::ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| format!("a broken zip archive: {error}"))?;
        Ok(Parts { archive, left: MOST_BYTES })
    }

    fn sheets(&mut self) -> Result<Vec<Sheet>, String> {
        let has = |name: &str| self.archive.index_for_name(name).is_some();
        if has("xl/workbook.xml") {
            xlsx::sheets(self)
        } else if has("content.xml") {
            ods::sheets(self)
        } else {
            Err("a zip archive that is no workbook; hint: unpack it first".to_string())
        }
    }

    /// The text of a part; `None` where there is no such part.
    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        let Some(index) = self.archive.index_for_name(name) else { return Ok(None) };
        let part =
            self.archive.by_index(index).map_err(|error| format!("{name} of the workbook: {error}"))?;
        // What the archive says of its size may be a lie.
        let mut bytes = Vec::new();
        part.take(self.left + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("{name} of the workbook: {error}"))?;
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            format!("a workbook that unpacks to more than {} MiB is not read: {name}", MOST_BYTES >> 20)
        })?;
        Ok(Some(
            String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        ))
    }
}

/// What is said where there are more.
fn more_sheets() -> String {
    format!("a workbook of more than {SHEETS} sheets: the rest is not read")
}

/// What a broken part of XML says.
fn broken(part: &str, error: impl std::fmt::Display) -> String {
    format!("{part} of the workbook is broken: {error}")
}

#[cfg(test)]
mod tests;
