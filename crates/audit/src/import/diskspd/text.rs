//! DiskSpd's text, 2.0 to 2.2.

use super::{COLUMNS, DiskSpd, LATENCY, Span, Table, Target};
use crate::import::cut::{Line, counted, size, walk};
use crate::import::sheet::{Sheet, named};
use crate::import::{Format, Found, Said};
use crate::number::Figure;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "DiskSpd text",
    help: "DiskSpd's text of any 2.x, whole or from its results on",
    example: include_str!("../../../fixtures/diskspd/mixed.txt"),
    begins: |line| {
        let line = line.trim();
        line.starts_with("Results for timespan") || line == "Input parameters:" || is_head(line)
    },
    read,
};

/// The head of a table of threads.
fn is_head(line: &str) -> bool {
    line.starts_with("thread |") && line.contains("bytes") && line.contains("I/Os")
}

const TITLES: [&str; 3] = ["Total IO", "Read IO", "Write IO"];

/// Lines of the profile between two that are known, and blank lines.
const STRANGE: usize = 12;

#[derive(Default)]
struct Reader {
    said: DiskSpd,
    /// Which table is being read; the title of the next.
    table: usize,
    title: Option<usize>,
    tiles: bool,
    /// Whether the profile has been told; a second one is of the next output.
    profile: bool,
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut reader = Reader::default();
    let end = walk(page, line, STRANGE, |_, at| {
        let here = Line::with_number(page, at, "|");
        let known = reader.step(&here, at)?;
        // In the profile many options are told; behind tables what is strange is somebody else's.
        let lost = !known && !here.text.trim().is_empty() && !reader.said.spans.is_empty();
        (!lost).then_some(known)
    });
    let mut said = reader.said;
    said.spans.retain(|span| !span.is_empty());
    (!said.spans.is_empty()).then(|| Found::whole(Said::DiskSpd(Box::new(said)), end))
}

impl Reader {
    /// Whether the line is one of the output; None where it is the first of the next.
    fn step(&mut self, line: &Line, at: usize) -> Option<bool> {
        let text = line.text.trim();
        if text == "Input parameters:" {
            return (!std::mem::replace(&mut self.profile, true) && self.said.spans.is_empty())
                .then_some(true);
        }
        if text.starts_with("Results for timespan") {
            let begun = self.said.spans.last().is_some_and(Span::is_empty);
            self.span();
            return (!begun).then_some(true);
        }
        if let Some(title) = TITLES.iter().position(|title| *title == text) {
            self.title = Some(title);
        } else if is_head(text) {
            if self.said.spans.is_empty() {
                self.span();
            }
            // Without its title it is that of all I/Os.
            self.table = self.title.take().unwrap_or(0);
            let place = &mut self.said.spans.last_mut()?.tables[self.table];
            return place.replace(Table::default()).is_none().then_some(true);
        } else if self.said.spans.is_empty() {
            return Some(self.profile(text).is_some());
        } else {
            return Some(self.of_span(line, at, text).is_some() || is_furniture(text));
        }
        Some(true)
    }

    fn span(&mut self) {
        self.said.spans.push(Span::default());
        (self.table, self.title, self.tiles) = (0, None, false);
    }

    fn profile(&mut self, text: &str) -> Option<()> {
        if text.starts_with("path: ") {
            self.said.targets.push(Target::default());
        }
        let target = self.said.targets.last_mut()?;
        let behind = |label: &str| text.strip_prefix(label);
        if let Some(block) = behind("block size: ") {
            target.block = block.split_whitespace().next().and_then(size);
        } else if let Some(ratio) = behind("performing mix test (read/write ratio: ") {
            target.writes =
                ratio.trim_end_matches(')').split_once('/').and_then(|(_, writes)| writes.parse().ok());
        } else if let Some(way) = behind("performing ").filter(|rest| rest.ends_with(" test")) {
            target.writes = Some(if way.contains("write") { 100.0 } else { 0.0 });
        } else if text.starts_with("using ") && text.contains("I/O") {
            let random = text.contains("random").then_some(true);
            target.random = target.random.or(random).or(text.contains("sequential").then_some(false));
        } else if let Some(number) = behind("number of outstanding I/O operations") {
            target.outstanding = number.rsplit(' ').next().and_then(|number| number.parse().ok());
        } else {
            const KNOWN: [&str; 4] = ["path: ", "timespan:", "duration:", "threads per file: "];
            return KNOWN.iter().any(|head| text.starts_with(head)).then_some(());
        }
        Some(())
    }

    fn of_span(&mut self, line: &Line, at: usize, text: &str) -> Option<()> {
        let span = self.said.spans.last_mut()?;
        let table = span.tables[self.table].as_mut().filter(|table| table.total.is_none());
        if let Some((time, "s")) = line.labelled("actual test time:", 1e9) {
            span.time = Some(time);
        } else if let Some((threads, "")) = line.labelled("thread count:", 1.0) {
            span.threads = Some(counted(threads));
        } else if text.starts_with("%-ile") {
            self.tiles = true;
        } else if let Some(tile) = self.tiles.then(|| tile(line)).flatten() {
            span.tiles.push(tile);
        } else if let Some(total) = row(line, "total:", at) {
            table?.total = Some(total);
        } else {
            let row = row(line, "", at)?;
            table?.rows.push(row);
        }
        Some(())
    }
}

/// Lines of the results that tell nothing here, those of processors among them.
fn is_furniture(text: &str) -> bool {
    let drawn = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'-' | b'*'));
    let cells = text.split('|').map(str::trim);
    let cpu = cells.clone().count() > 4 && cells.rev().take(4).all(|cell| cell.ends_with('%'));
    const HEADS: [&str; 5] = ["CPU |", "Socket |", "proc count:", "request count:", "Latency distribution:"];
    let known = HEADS.iter().any(|head| text.starts_with(head));
    drawn || cpu || known || text == "total:" || text.ends_with("latency distribution:")
}

/// `0 | 146169856 | 35686 | 4.64 | 1189.03 | 0.840 | 129.18 | 1.051 | diskspd.dat (1024MiB)`: which columns there are is told
/// by how many; the latency stands before its deviation, that of I/Os a second between.
fn row(line: &Line, label: &str, at: usize) -> Option<Sheet> {
    let head = line.text.trim_start().strip_prefix(label)?;
    let mut cells: Vec<&str> = head.split('|').take(10).map(str::trim).collect();
    if label.is_empty() {
        // The first is the thread, the last the file.
        line.count(cells.first()?)?;
        cells = cells.get(1..cells.len().checked_sub(1)?)?.to_vec();
    }
    let latency = match cells.len() {
        4 | 5 => None,
        6 | 7 => Some((&LATENCY, cells[4])).filter(|(_, cell)| *cell != "N/A"),
        _ => return None,
    };
    let mut sheet = Sheet::new(at, None);
    for ((name, metric, unit, scale), cell) in COLUMNS.iter().zip(cells).chain(latency) {
        let whole = *scale == 1.0 && *unit != "/s";
        let figure = if whole { line.count(cell)? } else { line.figure(cell, *scale)? };
        sheet.add(*metric, named(name, unit, figure));
    }
    Some(sheet)
}

/// `95th | 0.588 | 4.200 | 2.752`; the percent also of `3-nines`, `min`, `max`.
fn tile(line: &Line) -> Option<(f64, [Option<Figure>; 3])> {
    let mut cells = line.text.split('|').map(str::trim);
    let percent = match cells.next()? {
        "min" => 0.0,
        "max" => 100.0,
        word => match word.strip_suffix("-nines") {
            Some(nines) => {
                let nines: i32 = nines.parse().ok().filter(|nines| (1..=12).contains(nines))?;
                100.0 - 100.0 * 10f64.powi(-nines)
            }
            None => word.strip_suffix("th")?.parse().ok()?,
        },
    };
    let mut of = || {
        let cell = cells.next()?;
        if cell == "N/A" { Some(None) } else { line.figure(cell, 1e6).map(Some) }
    };
    Some((percent, [of()?, of()?, of()?]))
}
