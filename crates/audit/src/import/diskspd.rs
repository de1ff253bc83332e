//! DiskSpd's text, 2.0 to 2.2. One sheet per time span, and one per line of its tables, whose rates
//! are per time of the span.

use super::cut::{MIB, UnnumberedLine, as_count, parse_binary_size, walk};
use super::format::{Format, ImportedOutputs};
use super::sheet::*;
use super::workload::{ResultDirection, Workload};
use crate::claim::Metric;
use crate::number::PrintedNumber;
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "DiskSpd text",
    example: include_str!("../../fixtures/diskspd/mixed.txt"),
    begins: |line| {
        let line = line.trim();
        line.starts_with("Results for timespan") || line == PROFILE || is_head(line)
    },
    read,
};

const PROFILE: &str = "Input parameters:";

fn is_head(line: &str) -> bool {
    line.starts_with("thread |") && line.contains("bytes") && line.contains("I/Os")
}

/// Titles of tables, the direction of each, and the column of its latencies among the percentiles.
const TABLES: [(&str, ResultDirection, usize); 3] = [
    ("Total IO", ResultDirection::Both, 2),
    ("Read IO", ResultDirection::Read, 0),
    ("Write IO", ResultDirection::Write, 1),
];

const COLUMNS: [SheetField; 4] = [
    (BYTES, Metric::Total, "bytes", 1.0),
    (IOS, Metric::Issued, "", 1.0),
    (BANDWIDTH, Metric::Bandwidth, "MiB/s", MIB),
    (IOPS, Metric::Iops, "/s", 1.0),
];

const LATENCY: SheetField = ms(MEAN);

/// Limit of consecutive unknown lines in the profile (`Input parameters:`), and of blank lines.
const STRANGE: usize = 12;

#[derive(Default)]
struct DiskspdTarget {
    block: Option<u64>,
    writes: Option<f64>,
    random: Option<bool>,
    outstanding: Option<u64>,
}

#[derive(Default)]
struct DiskspdReader {
    targets: Vec<DiskspdTarget>,
    sheets: Vec<Sheet>,
    span: Option<Sheet>,
    /// Tables of the span in the order of [`TABLES`], each with the lines of its threads and their
    /// total.
    tables: [Option<(Vec<Sheet>, Option<Sheet>)>; 3],
    /// Index of the current table; `title` is that of the next.
    table: usize,
    title: Option<usize>,
    /// Rows of the table of percentiles: percent (0 for the minimum, 100 for the maximum), and
    /// nanoseconds of reads, writes and both. `None` before the table's head.
    tiles: Option<Vec<(f64, [Option<PrintedNumber>; 3])>>,
    /// True if the profile has been read; a second profile begins the next output.
    profile: bool,
}

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let mut reader = DiskspdReader::default();
    let end = walk(page, line, STRANGE, |_, at| {
        let here = UnnumberedLine::with_number(page, at, "|");
        let known = reader.read_diskspd_line(&here, at)?;
        // The profile names many options; after tables an unknown line is not part of this output.
        let lost = !known && !here.text.trim().is_empty() && reader.span.is_some();
        (!lost).then_some(known)
    });
    reader.end_of_span();
    ImportedOutputs::sheets(reader.sheets, end)
}

impl DiskspdReader {
    /// Reads a line. Returns true if the line is known, and `None` if it begins the next output.
    fn read_diskspd_line(&mut self, line: &UnnumberedLine, at: usize) -> Option<bool> {
        let text = line.text.trim();
        if text == PROFILE {
            return (!std::mem::replace(&mut self.profile, true) && self.span.is_none())
                .then_some(true);
        }
        if text.starts_with("Results for timespan") {
            let begun = self.span.is_some() && self.tables.iter().all(Option::is_none);
            self.end_of_span();
            self.span = Some(Sheet::new(at, None));
            return (!begun).then_some(true);
        }
        if let Some(title) = TABLES.iter().position(|(title, ..)| *title == text) {
            self.title = Some(title);
        } else if is_head(text) {
            self.span.get_or_insert_with(|| Sheet::new(at, None));
            // A table without its title is that of all I/Os.
            self.table = self.title.take().unwrap_or(0);
            return self.tables[self.table].replace(Default::default()).is_none().then_some(true);
        } else if self.span.is_none() {
            return Some(self.profile(text).is_some());
        } else {
            return Some(self.of_span(line, at, text).is_some() || is_furniture(text));
        }
        Some(true)
    }

    fn profile(&mut self, text: &str) -> Option<()> {
        if text.starts_with("path: ") {
            self.targets.push(DiskspdTarget::default());
        }
        let target = self.targets.last_mut()?;
        let after = |label: &str| text.strip_prefix(label);
        if let Some(block) = after("block size: ") {
            target.block = block.split_whitespace().next().and_then(parse_binary_size);
        } else if let Some(ratio) = after("performing mix test (read/write ratio: ") {
            target.writes = ratio
                .trim_end_matches(')')
                .split_once('/')
                .and_then(|(_, writes)| writes.parse().ok());
        } else if let Some(way) = after("performing ").filter(|rest| rest.ends_with(" test")) {
            target.writes = Some(if way.contains("write") { 100.0 } else { 0.0 });
        } else if text.starts_with("using ") && text.contains("I/O") {
            let random = text.contains("random").then_some(true);
            target.random =
                target.random.or(random).or(text.contains("sequential").then_some(false));
        } else if let Some(number) = after("number of outstanding I/O operations") {
            target.outstanding = number.rsplit(' ').next().and_then(|number| number.parse().ok());
        } else {
            const KNOWN: [&str; 4] = ["path: ", "timespan:", "duration:", "threads per file: "];
            return KNOWN.iter().any(|head| text.starts_with(head)).then_some(());
        }
        Some(())
    }

    fn of_span(&mut self, line: &UnnumberedLine, at: usize, text: &str) -> Option<()> {
        let span = self.span.as_mut()?;
        let table = self.tables[self.table].as_mut().filter(|(_, total)| total.is_none());
        if let Some((time, "s")) = line.labelled("actual test time:", 1e9) {
            span.add_sheet_figure(Metric::Runtime, make_named_figure(TIME, "s", time));
        } else if let Some((threads, "")) = line.labelled("thread count:", 1.0) {
            span.add_sheet_figure(
                Metric::Other,
                make_named_figure("the threads", "", as_count(threads)),
            );
        } else if text.starts_with("%-ile") {
            self.tiles = Some(Vec::new());
        } else if let Some(tile) = self.tiles.is_some().then(|| tile(line)).flatten() {
            self.tiles.as_mut()?.push(tile);
        } else {
            match read_thread_row(line, "total:", at) {
                Some(total) => table?.1 = Some(total),
                None => table?.0.push(read_thread_row(line, "", at)?),
            }
        }
        Some(())
    }

    /// Adds the lines of a span as sheets. The results of each direction are its total, or the
    /// lines of its threads if there is no total.
    fn end_of_span(&mut self) {
        let (tables, tiles) =
            (std::mem::take(&mut self.tables), self.tiles.take().unwrap_or_default());
        let Some(mut span) = self.span.take().filter(|_| tables.iter().any(Option::is_some)) else {
            return;
        };
        span.workload = self.span_workload(&span);
        let moves = |row: &Sheet| row.figure_by_name(IOS).is_some_and(|ios| ios.value > 0.0);
        let busy =
            |(rows, total): &(Vec<Sheet>, Option<Sheet>)| rows.iter().chain(total).any(moves);
        let one_way = tables[1..].iter().flatten().any(busy);
        let mut sheets = Vec::new();
        for ((_, way, column), (rows, total)) in
            TABLES.iter().zip(tables).filter_map(|(known, table)| Some((known, table?)))
        {
            let of_result = one_way == (*way != ResultDirection::Both);
            let threads = rows.len();
            // A page may leave out lines of threads: their sum is then not a total.
            let whole =
                span.figure_by_name("the threads").is_none_or(|all| threads as f64 >= all.value);
            let made = |row: Sheet, is_result: bool| Sheet {
                way: (is_result && of_result && moves(&row)).then_some(*way),
                workload: span.workload.clone(),
                beside: span.get(TIME),
                ..row
            };
            let alone = total.is_none();
            sheets.extend(rows.into_iter().map(|row| made(row, alone)));
            let percentiles =
                tiles.iter().filter_map(|(percent, of)| Some((*percent, of[*column]?)));
            sheets.extend(total.map(|total| Sheet {
                percentiles: percentiles.collect(),
                sums: if whole { threads } else { 0 },
                ..made(total, true)
            }));
        }
        self.sheets.push(span);
        self.sheets.extend(sheets);
        (self.table, self.title) = (0, None);
    }

    fn span_workload(&self, span: &Sheet) -> Workload {
        let target = self.targets.first();
        let block = target.and_then(|target| target.block);
        let writes = target.and_then(|target| target.writes);
        let mixed = writes.is_some_and(|writes| writes > 0.0 && writes < 100.0);
        let rw = |random: bool, writes: f64| {
            let way = match () {
                () if mixed => "rw",
                () if writes > 0.0 => "write",
                () => "read",
            };
            if random { format!("rand{way}") } else { way.to_owned() }
        };
        Workload {
            rw: target.and_then(|target| Some(rw(target.random?, target.writes?))),
            bs: block.filter(|_| self.targets.iter().all(|target| target.block == block)),
            iodepth: target.and_then(|target| target.outstanding),
            numjobs: span.figure_by_name("the threads").map(|threads| threads.value as u64),
            rwmixread: writes.filter(|_| mixed).map(|writes| 100.0 - writes),
            runtime_s: span.figure_by_name(TIME).map(|time| time.value / 1e9),
            ..Workload::default()
        }
    }
}

/// Returns true for lines of the results without useful figures, such as those of processors.
fn is_furniture(text: &str) -> bool {
    let drawn = !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'-' | b'*'));
    let cells = text.split('|').map(str::trim);
    let cpu = cells.clone().count() > 4 && cells.rev().take(4).all(|cell| cell.ends_with('%'));
    const HEADS: [&str; 5] =
        ["CPU |", "Socket |", "proc count:", "request count:", "Latency distribution:"];
    let known = HEADS.iter().any(|head| text.starts_with(head));
    drawn || cpu || known || text == "total:" || text.ends_with("latency distribution:")
}

/// Reads `0 | 146169856 | 35686 | 4.64 | 1189.03 | 0.840 | 129.18 | 1.051 | diskspd.dat (1024MiB)`.
/// Which columns there are follows from their number: the latency precedes its deviation, and the
/// deviation of I/Os per second is between them.
fn read_thread_row(line: &UnnumberedLine, label: &str, at: usize) -> Option<Sheet> {
    let head = line.text.trim_start().strip_prefix(label)?;
    let mut cells: Vec<&str> = head.split('|').take(10).map(str::trim).collect();
    if label.is_empty() {
        // The first cell is the thread, the last one the file.
        line.whole_count(cells.first()?)?;
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
        let figure = if whole { line.whole_count(cell)? } else { line.whole_figure(cell, *scale)? };
        sheet.add_sheet_figure(*metric, make_named_figure(name, unit, figure));
    }
    Some(sheet)
}

/// Reads `95th | 0.588 | 4.200 | 2.752`, with the percent also for `3-nines`, `min`, `max`.
fn tile(line: &UnnumberedLine) -> Option<(f64, [Option<PrintedNumber>; 3])> {
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
        if cell == "N/A" { Some(None) } else { line.whole_figure(cell, 1e6).map(Some) }
    };
    Some((percent, [of()?, of()?, of()?]))
}
