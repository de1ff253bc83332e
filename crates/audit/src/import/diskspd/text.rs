//! DiskSpd's text, 2.0 to 2.2.

use super::{DiskSpd, Row, Span, Table, Target, Tile, percent};
use crate::import::cut::{Line, MIB, counted, size};
use crate::import::{Format, Found, Said};
use crate::page::Page;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
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

/// Lines of the profile between two that are known.
const STRANGE: usize = 12;

/// Blank lines within an output.
const BLANKS: usize = 5;

#[derive(Default)]
struct Reader {
    said: DiskSpd,
    /// Which table is being read.
    table: usize,
    named: bool,
    tiles: bool,
    /// Whether the profile has been told; a second one is of the next output.
    profile: bool,
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut reader = Reader::default();
    let (mut at, mut end, mut strange, mut blanks) = (line, line, 0, 0);
    while at < page.len() && strange <= STRANGE && blanks <= BLANKS {
        let here = Line::with_number(page, at, "|");
        match reader.step(&here, at) {
            Some(true) => (end, strange, blanks) = (at + 1, 0, 0),
            Some(false) if here.text.trim().is_empty() => blanks += 1,
            // In the profile many options are told; behind tables what is strange is somebody else's.
            Some(false) if reader.said.spans.is_empty() => (strange, blanks) = (strange + 1, 0),
            Some(false) | None => break,
        }
        at += 1;
    }
    let mut said = reader.said;
    said.spans.retain(|span| span.tables.iter().any(Option::is_some));
    (!said.spans.is_empty()).then(|| Found { said: Said::DiskSpd(Box::new(said)), end, unread: Vec::new() })
}

impl Reader {
    /// Whether the line is one of the output; None where it is the first of the next.
    fn step(&mut self, line: &Line, at: usize) -> Option<bool> {
        let text = line.text.trim();
        if text == "Input parameters:" {
            let first = !self.profile && self.said.spans.is_empty();
            self.profile = true;
            return first.then_some(true);
        }
        if text.starts_with("Results for timespan") {
            if self.said.spans.last().is_some_and(|span| span.tables.iter().all(Option::is_none)) {
                return None;
            }
            self.span(at);
            return Some(true);
        }
        if self.said.spans.is_empty() && !is_head(text) && !is_title(text) {
            return Some(self.profile(line));
        }
        if is_title(text) {
            self.table = ["Total IO", "Read IO", "Write IO"].iter().position(|title| *title == text)?;
            self.named = true;
            return Some(true);
        }
        if is_head(text) {
            return self.head(at);
        }
        Some(self.of_span(line, at, text))
    }

    fn span(&mut self, at: usize) {
        self.said.spans.push(Span { line: at, ..Span::default() });
        (self.table, self.named, self.tiles) = (0, false, false);
    }

    /// The head of a table; without its title it is that of all I/Os.
    fn head(&mut self, at: usize) -> Option<bool> {
        if self.said.spans.is_empty() {
            self.span(at);
        }
        let table = if self.named { self.table } else { 0 };
        let place = &mut self.said.spans.last_mut()?.tables[table];
        if place.is_some() {
            return None;
        }
        *place = Some(Table::default());
        (self.table, self.named) = (table, false);
        Some(true)
    }

    /// A line of the profile.
    fn profile(&mut self, line: &Line) -> bool {
        let text = line.text.trim();
        let mut targets = self.said.targets.last_mut();
        if let Some(path) = text.strip_prefix("path: ") {
            let path = path.trim_matches('\'').to_owned();
            self.said.targets.push(Target { path, ..Target::default() });
        } else if let (Some(block), Some(target)) = (text.strip_prefix("block size: "), &mut targets) {
            let word = block.split_whitespace().next().unwrap_or_default();
            target.block = size(word.trim_end_matches("iB"));
        } else if let (Some(ratio), Some(target)) =
            (text.strip_prefix("performing mix test (read/write ratio: "), &mut targets)
        {
            target.writes =
                ratio.trim_end_matches(')').split_once('/').and_then(|(_, writes)| writes.parse().ok());
        } else if let (true, Some(target)) = (text == "performing write test", &mut targets) {
            target.writes = Some(100.0);
        } else if let (true, Some(target)) = (text == "performing read test", &mut targets) {
            target.writes = Some(0.0);
        } else if let (true, Some(target)) =
            (text.starts_with("using ") && text.contains("I/O"), &mut targets)
        {
            target.random = target.random.or(text.contains("random").then_some(true));
            target.random = target.random.or(text.contains("sequential").then_some(false));
        } else if let (Some(number), Some(target)) =
            (text.strip_prefix("number of outstanding I/O operations"), &mut targets)
        {
            target.outstanding = number.rsplit(' ').next().and_then(|number| number.parse().ok());
        } else if let (Some(number), Some(target)) = (text.strip_prefix("threads per file: "), &mut targets) {
            target.threads = number.parse().ok();
        } else {
            return text.starts_with("timespan:") || text.starts_with("duration:");
        }
        true
    }

    /// A line of the results.
    fn of_span(&mut self, line: &Line, at: usize, text: &str) -> bool {
        let Some(span) = self.said.spans.last_mut() else { return false };
        if let Some((seconds, "s")) = line.labelled("actual test time:", 1.0) {
            span.seconds = Some(seconds);
        } else if let Some((threads, "")) = line.labelled("thread count:", 1.0) {
            span.threads = Some(counted(threads));
        } else if text.starts_with("total:") && text.len() > "total:".len() {
            let row = row(line, "total:", at);
            let table = span.tables[self.table].as_mut().filter(|table| table.total.is_none());
            let (Some(row), Some(table)) = (row, table) else { return false };
            table.total = Some(row);
        } else if text.starts_with("%-ile") {
            self.tiles = true;
        } else if let Some(tile) = self.tiles.then(|| tile(line)).flatten() {
            span.tiles.push(tile);
        } else if let Some(cpu) = cpu(line) {
            span.cpus.push(cpu);
        } else if let Some(row) = row(line, "", at) {
            let table = span.tables[self.table].as_mut().filter(|table| table.total.is_none());
            let Some(table) = table else { return false };
            table.rows.push(row);
        } else {
            return is_furniture(text);
        }
        true
    }
}

fn is_title(text: &str) -> bool {
    matches!(text, "Total IO" | "Read IO" | "Write IO")
}

fn is_furniture(text: &str) -> bool {
    let drawn = |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'-' | b'*'));
    drawn(text)
        || text == "total:"
        || text.starts_with("CPU |")
        || text.starts_with("Socket |")
        || text.starts_with("proc count:")
        || text.starts_with("request count:")
        || text.ends_with("latency distribution:")
        || text.starts_with("Latency distribution:")
}

/// `0 | 146169856 | 35686 | 4.64 | 1189.03 | 0.840 | 129.18 | 1.051 | diskspd.dat (1024MiB)`: which columns there are is told
/// by how many; the latency stands before its deviation, that of I/Os a second between.
fn row(line: &Line, label: &str, at: usize) -> Option<Row> {
    let head = line.text.trim_start().strip_prefix(label)?;
    let cells: Vec<&str> = head.split('|').take(10).map(str::trim).collect();
    let cells = match label {
        "" => {
            line.count(cells.first()?)?;
            // The last is the file.
            cells.get(1..cells.len().checked_sub(1)?)?
        }
        _ => &cells[..],
    };
    let [bytes, ios, bandwidth, iops, rest @ ..] = cells else { return None };
    let (latency, iops_deviation, latency_deviation) = match rest {
        [] => (None, None, None),
        [deviation] => (None, Some(*deviation), None),
        [latency, deviation] => (told(latency), None, told(deviation)),
        [latency, iops, deviation] => (told(latency), Some(*iops), told(deviation)),
        _ => return None,
    };
    Some(Row {
        line: at,
        bytes: line.count(bytes)?,
        ios: line.count(ios)?,
        bandwidth: Some(line.figure(bandwidth, MIB)?),
        iops: Some(line.figure(iops, 1.0)?),
        latency: latency.and_then(|cell| line.figure(cell, 1e6)),
        iops_deviation: iops_deviation.and_then(|cell| line.figure(cell, 1.0)),
        latency_deviation: latency_deviation.and_then(|cell| line.figure(cell, 1e6)),
    })
}

/// A cell that has a figure.
fn told(cell: &str) -> Option<&str> {
    Some(cell).filter(|cell| *cell != "N/A")
}

/// `95th | 0.588 | 4.200 | 2.752`.
fn tile(line: &Line) -> Option<Tile> {
    let mut cells = line.text.split('|').map(str::trim);
    let percent = percent(cells.next()?)?;
    let mut of = || {
        let cell = cells.next()?;
        if cell == "N/A" { Some(None) } else { line.figure(cell, 1e6).map(Some) }
    };
    Some(Tile { percent, latency: [of()?, of()?, of()?] })
}

/// `0|   3.02%|   0.36%|    2.65%|  96.98%`; with more columns before them where there are sockets, nodes, groups and classes.
fn cpu(line: &Line) -> Option<[crate::number::Figure; 4]> {
    let cells: Vec<&str> = line.text.split('|').take(11).map(str::trim).collect();
    let from = cells.len().checked_sub(4).filter(|from| (1..=6).contains(from))?;
    let of = |cell: &str| line.figure(cell.strip_suffix('%')?, 1.0);
    let [usage, user, kernel, idle] = cells[from..] else { return None };
    Some([of(usage)?, of(user)?, of(kernel)?, of(idle)?])
}
