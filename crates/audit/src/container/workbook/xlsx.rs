//! Office Open XML: ECMA-376, part 1, chapter 18.

use super::format::Format;
use super::sheet::Sheet;
use super::{Parts, broken};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;
use std::rc::Rc;

/// Merged areas of a sheet that are looked at.
const MERGED: usize = 10_000;
/// Rows and columns that a sheet can have.
const ROWS: u32 = 1 << 20;
const COLUMNS: u32 = 1 << 14;

pub(super) fn sheets(parts: &mut Parts) -> Result<Vec<Sheet>, String> {
    let shared = match parts.text("xl/sharedStrings.xml")? {
        Some(text) => strings(&text).map_err(|error| broken("xl/sharedStrings.xml", error))?,
        None => Vec::new(),
    };
    let formats = match parts.text("xl/styles.xml")? {
        Some(text) => formats(&text).map_err(|error| broken("xl/styles.xml", error))?,
        None => Vec::new(),
    };
    let targets = match parts.text("xl/_rels/workbook.xml.rels")? {
        Some(text) => targets(&text).map_err(|error| broken("xl/_rels/workbook.xml.rels", error))?,
        None => HashMap::new(),
    };
    let workbook = parts.text("xl/workbook.xml")?.unwrap_or_default();
    let names = names(&workbook).map_err(|error| broken("xl/workbook.xml", error))?;
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut room = super::MOST_CELLS;
    for (name, id) in names {
        if sheets.len() == super::SHEETS {
            sheets[super::SHEETS - 1].note(1, super::more_sheets());
            break;
        }
        let Some(part) = targets.get(&id) else { continue };
        // Sheets of charts have no cells.
        let Some(text) = parts.text(part)?.filter(|_| part.contains("worksheet")) else { continue };
        let mut sheet = Sheet { name, ..Sheet::default() };
        if let Err(error) = cells(&text, &shared, &formats, room, &mut sheet) {
            let row = sheet.rows.last().map_or(1, |(row, _)| *row);
            sheet.note(row, broken(part, error));
        }
        room = room.saturating_sub(sheet.rows.iter().map(|(_, cells)| cells.len()).sum());
        sheets.push(sheet);
    }
    Ok(sheets)
}

/// What a broken part says: `quick_xml`'s word, or ours.
pub(super) type Xml<T> = Result<T, quick_xml::Error>;

/// A reader that takes things as they come.
pub(super) fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    reader
}

/// An attribute, whatever its prefix.
pub(super) fn attribute(tag: &BytesStart, name: &[u8]) -> Option<String> {
    let found =
        tag.attributes().with_checks(false).flatten().find(|one| one.key.local_name().as_ref() == name)?;
    let raw = String::from_utf8_lossy(&found.value).into_owned();
    Some(quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), std::borrow::Cow::into_owned))
}

/// What text or a reference between tags says.
pub(super) fn said(event: &Event, into: &mut String) {
    match event {
        Event::Text(text) => into.push_str(&String::from_utf8_lossy(text)),
        Event::CData(text) => into.push_str(&String::from_utf8_lossy(text)),
        Event::GeneralRef(reference) => match (reference.resolve_char_ref(), &**reference) {
            (Ok(Some(letter)), _) => into.push(letter),
            (_, b"amp") => into.push('&'),
            (_, b"lt") => into.push('<'),
            (_, b"gt") => into.push('>'),
            (_, b"quot") => into.push('"'),
            (_, b"apos") => into.push('\''),
            _ => into.push('\u{fffd}'),
        },
        _ => {}
    }
}

fn strings(text: &str) -> Xml<Vec<Rc<str>>> {
    let mut reader = reader(text);
    let mut strings = Vec::new();
    let (mut current, mut shown, mut spoken) = (String::new(), false, false);
    loop {
        match reader.read_event()? {
            Event::Start(tag) => match tag.local_name().as_ref() {
                b"t" => shown = !spoken,
                b"rPh" => spoken = true,
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                b"t" => shown = false,
                b"rPh" => spoken = false,
                b"si" => strings.push(std::mem::take(&mut current).into()),
                _ => {}
            },
            Event::Empty(tag) if tag.local_name().as_ref() == b"si" => strings.push("".into()),
            Event::Eof => return Ok(strings),
            event if shown => said(&event, &mut current),
            _ => {}
        }
    }
}

fn formats(text: &str) -> Xml<Vec<Format>> {
    let mut reader = reader(text);
    let mut own: HashMap<u32, Format> = HashMap::new();
    let mut formats = Vec::new();
    let mut cells = false;
    loop {
        match reader.read_event()? {
            Event::Start(tag) | Event::Empty(tag) => match tag.local_name().as_ref() {
                b"numFmt" => {
                    let id = attribute(&tag, b"numFmtId").and_then(|id| id.parse().ok());
                    if let (Some(id), Some(code)) = (id, attribute(&tag, b"formatCode")) {
                        own.insert(id, Format::of(&code));
                    }
                }
                b"cellXfs" => cells = true,
                b"xf" if cells => {
                    let id = attribute(&tag, b"numFmtId").and_then(|id| id.parse().ok()).unwrap_or(0);
                    formats.push(own.get(&id).cloned().unwrap_or_else(|| Format::built_in(id)));
                }
                _ => {}
            },
            Event::End(tag) if tag.local_name().as_ref() == b"cellXfs" => cells = false,
            Event::Eof => return Ok(formats),
            _ => {}
        }
    }
}

/// Ids and the parts that they name.
fn targets(text: &str) -> Xml<HashMap<String, String>> {
    let mut reader = reader(text);
    let mut targets = HashMap::new();
    loop {
        match reader.read_event()? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == b"Relationship" => {
                if let (Some(id), Some(target)) = (attribute(&tag, b"Id"), attribute(&tag, b"Target")) {
                    let part =
                        target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_string);
                    targets.insert(id, part);
                }
            }
            Event::Eof => return Ok(targets),
            _ => {}
        }
    }
}

/// Names of sheets and the ids of their parts.
fn names(text: &str) -> Xml<Vec<(String, String)>> {
    let mut reader = reader(text);
    let mut names = Vec::new();
    loop {
        match reader.read_event()? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == b"sheet" => {
                // `sheetId` is another thing than `r:id`.
                let id = tag
                    .attributes()
                    .with_checks(false)
                    .flatten()
                    .find(|one| one.key.as_ref().ends_with(b":id"));
                let id = id.map(|id| String::from_utf8_lossy(&id.value).into_owned());
                names.extend(attribute(&tag, b"name").zip(id));
            }
            Event::Eof => return Ok(names),
            _ => {}
        }
    }
}

/// A cell that is being read.
#[derive(Default)]
struct Cell {
    column: u32,
    kind: String,
    style: usize,
    value: String,
    text: String,
    formula: bool,
}

/// Formulas whose results a program left out that wrote the file without computing them: how many, in which rows.
#[derive(Default)]
struct Uncomputed {
    count: usize,
    first: u32,
}

impl Uncomputed {
    fn add(&mut self, row: u32) {
        if self.count == 0 {
            self.first = row;
        }
        self.count += 1;
    }

    fn tell(&self, sheet: &mut Sheet) {
        let what = match self.count {
            0 => return,
            1 => "a formula without its result".to_owned(),
            count => format!("{count} formulas without their results, this row has the first"),
        };
        sheet.note(self.first, format!("{what}; hint: open it in a spreadsheet and save it"));
    }
}

fn cells(text: &str, shared: &[Rc<str>], formats: &[Format], mut room: usize, sheet: &mut Sheet) -> Xml<()> {
    let mut reader = reader(text);
    let mut cell = Cell::default();
    let (mut row, mut column) = (0u32, 0u32);
    let (mut value, mut inline) = (false, false);
    let mut merged = Vec::new();
    let mut uncomputed = Uncomputed::default();
    let mut whole = false;
    loop {
        match reader.read_event()? {
            Event::Start(tag) | Event::Empty(tag) if tag.local_name().as_ref() == b"row" => {
                let number = attribute(&tag, b"r").and_then(|number| number.parse().ok());
                row = number.unwrap_or(row.saturating_add(1)).clamp(1, ROWS);
                column = 0;
            }
            Event::Start(tag) => match tag.local_name().as_ref() {
                b"c" => {
                    column =
                        attribute(&tag, b"r").and_then(|at| column_of(&at)).unwrap_or(column).min(COLUMNS);
                    let style = attribute(&tag, b"s").and_then(|style| style.parse().ok()).unwrap_or(0);
                    cell = Cell {
                        column,
                        kind: attribute(&tag, b"t").unwrap_or_default(),
                        style,
                        ..Cell::default()
                    };
                    column += 1;
                }
                b"v" => value = true,
                b"t" => inline = true,
                b"f" => cell.formula = true,
                _ => {}
            },
            Event::Empty(tag) => match tag.local_name().as_ref() {
                b"c" => column = attribute(&tag, b"r").and_then(|at| column_of(&at)).unwrap_or(column) + 1,
                b"f" => cell.formula = true,
                b"sheetData" => whole = true,
                b"mergeCell" => merged.extend(attribute(&tag, b"ref")),
                _ => {}
            },
            Event::End(tag) => match tag.local_name().as_ref() {
                b"sheetData" => whole = true,
                b"v" => value = false,
                b"t" => inline = false,
                b"c" => {
                    let shown = cell.shown(shared, formats);
                    if shown.is_empty() {
                        if cell.formula && cell.kind != "str" {
                            uncomputed.add(row);
                        }
                        continue;
                    }
                    if room == 0 {
                        sheet.note(
                            row,
                            format!(
                                "a workbook of more than {} cells: the rest is not read",
                                super::MOST_CELLS
                            ),
                        );
                        break;
                    }
                    room -= 1;
                    match sheet.rows.last_mut().filter(|(number, _)| *number == row) {
                        Some((_, cells)) => cells.push((cell.column, shown)),
                        None => sheet.rows.push((row, vec![(cell.column, shown)])),
                    }
                }
                _ => {}
            },
            Event::Eof => {
                if !whole {
                    sheet.note(row, "a sheet of the workbook ends in the middle");
                }
                break;
            }
            event if value => said(&event, &mut cell.value),
            event if inline => said(&event, &mut cell.text),
            _ => {}
        }
    }
    uncomputed.tell(sheet);
    go_down(sheet, &merged);
    Ok(())
}

impl Cell {
    fn shown(&self, shared: &[Rc<str>], formats: &[Format]) -> Rc<str> {
        match self.kind.as_str() {
            "s" => self
                .value
                .trim()
                .parse()
                .ok()
                .and_then(|at: usize| shared.get(at).cloned())
                .unwrap_or_default(),
            "inlineStr" => self.text.as_str().into(),
            "str" | "e" | "d" => self.value.as_str().into(),
            "b" => if self.value.trim() == "1" { "TRUE" } else { "FALSE" }.into(),
            _ => match self.value.trim().parse::<f64>() {
                Ok(value) if value.is_finite() => {
                    formats.get(self.style).unwrap_or(&Format::General).show(value).into()
                }
                _ => self.value.as_str().into(),
            },
        }
    }
}

/// The column, from 0, of `BC12`.
fn column_of(at: &str) -> Option<u32> {
    let letters = at.bytes().take_while(u8::is_ascii_alphabetic).take(4);
    letters
        .fold(0u32, |column, letter| column * 26 + u32::from(letter.to_ascii_uppercase() - b'A') + 1)
        .checked_sub(1)
}

/// A label that is merged over several rows is that of each; over columns heads go on by themselves.
fn go_down(sheet: &mut Sheet, merged: &[String]) {
    const MOST: u32 = 1000;
    let number =
        |at: &str| at.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse::<u32>().ok();
    let mut added: HashMap<u32, Vec<super::sheet::Cell>> = HashMap::new();
    let mut left = 100_000u32;
    for area in merged.iter().take(MERGED) {
        let Some((from, to)) = area.split_once(':') else { continue };
        let (Some(column), Some(first), Some(last)) = (column_of(from), number(from), number(to)) else {
            continue;
        };
        let Ok(at) = sheet.rows.binary_search_by_key(&first, |(row, _)| *row) else { continue };
        let text = sheet.rows[at].1.iter().find(|(at, _)| *at == column).map(|(_, text)| text.clone());
        let rows = last.saturating_sub(first).min(MOST).min(left);
        if let Some(text) = text {
            left -= rows;
            (first + 1..=first + rows)
                .for_each(|row| added.entry(row).or_default().push((column, text.clone())));
        }
    }
    for (row, cells) in &mut sheet.rows {
        cells.extend(added.remove(row).into_iter().flatten());
    }
}
