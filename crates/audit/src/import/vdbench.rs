//! vdbench's console, summary.html and totals.html (`17:06:15.097 avg_2-6 1121791.33 4382.00 4096
//! ...`): one sheet per line. Its MB are MiB unless the head says `1000**2`.

use super::cut::{MIB, UnnumberedLine, exact, parse_binary_size, walk};
use super::format::{Format, ImportedOutputs};
use super::sheet::*;
use super::workload::{ResultDirection, Workload};
use crate::claim::Metric;
use crate::number::PrintedNumber;
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "vdbench",
    example: include_str!("../../fixtures/vdbench/console.txt"),
    begins: |line| match line.as_bytes().first() {
        _ if line.len() > LONGEST => false,
        Some(b'0'..=b'9') => begins_with_time(line) && is_ours(&line[12..]),
        Some(b'<') => line.contains(STARTING),
        Some(b'A'..=b'Z') => is_head(line),
        _ => false,
    },
    read,
};

const LONGEST: usize = 2000;

const BLANKS: usize = 4;

const STARTING: &str = "Starting RD=";

fn is_ours(rest: &str) -> bool {
    let decimals = || rest.split_whitespace().take(8).filter(|word| word.contains('.')).count();
    rest.contains(STARTING) || rest.trim_start().starts_with("avg_") || decimals() >= 4
}

fn begins_with_time(line: &str) -> bool {
    let sign = |(sign, byte): (&u8, u8)| match sign {
        b'0' => byte.is_ascii_digit(),
        b'.' => matches!(byte, b'.' | b','),
        _ => byte == *sign,
    };
    line.len() >= 12 && b"00:00:00.000".iter().zip(line.bytes()).all(sign)
}

/// Returns true for `Nov 23, 2026  interval        i/o   MB/sec   bytes ...`.
fn is_head(line: &str) -> bool {
    line.contains(" interval ") && line.contains(" i/o ") && line.contains(" MB/sec")
}

pub(crate) const EACH: &str = "the bytes of an I/O";
pub(crate) const SHARE: &str = "the share of reads";
pub(crate) const WAYS: [&str; 2] = ["the response of reads", "the response of writes"];
/// Maximum response times of reads and of writes.
pub(crate) const WAYS_MOST: [&str; 2] =
    ["the greatest response of reads", "the greatest response of writes"];
pub(crate) const QUEUE: &str = "the queue depth";

/// Heads of columns, and the figures below them.
const COLUMNS: &[(&str, SheetField)] = &[
    ("i/o rate", (IOPS, Metric::Iops, "/s", 1.0)),
    ("MB/sec", (BANDWIDTH, Metric::Bandwidth, "MiB/s", MIB)),
    ("bytes i/o", (EACH, Metric::Total, "bytes", 1.0)),
    ("read pct", (SHARE, Metric::Ratio, "%", 1.0)),
    ("resp time", ms(MEAN)),
    ("read resp", ms(WAYS[0])),
    ("write resp", ms(WAYS[1])),
    ("resp max", ms(MOST)),
    ("read max", ms(WAYS_MOST[0])),
    ("write max", ms(WAYS_MOST[1])),
    ("resp stddev", ms("the deviation of the response time")),
    ("queue depth", (QUEUE, Metric::Depth, "", 1.0)),
];

type Columns = Vec<Option<&'static SheetField>>;

fn columns(first: &str, second: &str) -> Columns {
    let upper = first.split_once("interval").map_or("", |(_, rest)| rest).split_whitespace();
    let both = upper.zip(second.split_whitespace()).take(13);
    let of = |(upper, lower): (&str, &str)| {
        let is = |head: &str| head == upper || head.split_once(' ') == Some((upper, lower));
        COLUMNS.iter().find(|(head, _)| is(head)).map(|(_, place)| place)
    };
    both.map(of).collect()
}

/// Returns the columns of a line without a head, by their number: 10 in version 5.04.06 and 11 in
/// 5.04.07, and 2 more with CPU.
fn columns_of(count: usize) -> Option<Columns> {
    let left_out = match count {
        10 | 12 => &WAYS_MOST[..],
        11 | 13 => &[MOST][..],
        _ => return None,
    };
    let known = COLUMNS.iter().map(|(_, place)| place).filter(|place| !left_out.contains(&place.0));
    Some(known.map(Some).collect())
}

/// Least number of columns after the interval: those of 5.00 without CPU.
const LEAST_COLUMNS: usize = 7;

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let (mut sheets, mut head, mut run) =
        (Vec::<Sheet>::new(), Columns::new(), Workload::default());
    let (mut megabyte, mut starts, mut date) = (MIB, 0, String::new());
    walk(page, line, BLANKS, |here, at| {
        let text = here.text;
        if text.trim().is_empty() {
            return Some(false);
        }
        let second =
            text.starts_with(' ') && (text.contains("1024**2") || text.contains("1000**2"));
        if text.len() > LONGEST {
            return None;
        } else if let Some((_, rest)) = text.split_once(STARTING) {
            // A run definition that printed nothing ends here: the rest is read on its own.
            starts += 1;
            run = started(rest.split('<').next().unwrap_or_default());
            head.clear();
            return (starts == 1).then_some(true);
        } else if is_head(text) {
            let below = UnnumberedLine::from_page(page, at + 1).text;
            let new = columns(text, below);
            if head == new && sheets.is_empty() {
                return None;
            }
            date = text.split(" interval ").next().unwrap_or_default().trim().to_owned();
            (head, megabyte) = (new, if below.contains("1000**2") { 1e6 } else { MIB });
        } else if begins_with_time(text) {
            let mut sheet = read_interval(here, at, &head, megabyte, &run);
            let stamp = text.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            sheet.iter_mut().for_each(|sheet| sheet.run = Some(format!("vdbench {date} {stamp}")));
            starts = if sheet.is_some() { 0 } else { starts };
            sheets.extend(sheet);
            // Other lines of the console carry no figures.
            return (!sheets.is_empty() || starts > 0).then_some(true);
        } else if !(second || text.starts_with(['<', '*']) && starts + sheets.len() > 0) {
            return None;
        }
        Some(true)
    });
    results(&mut sheets);
    let last = sheets.last()?.line + 1;
    ImportedOutputs::sheets(sheets, last)
}

/// Reads `17:06:15.097 avg_2-6 1121791.33 ...`.
fn read_interval(
    line: &UnnumberedLine,
    at: usize,
    head: &Columns,
    megabyte: f64,
    run: &Workload,
) -> Option<Sheet> {
    let mut words = line.text[12..].split_whitespace();
    let span = span(words.next()?)?;
    let values: Vec<&str> = words.take(14).collect();
    let guessed = if head.is_empty() { columns_of(values.len())? } else { head.clone() };
    // Figures beyond the heads belong to other reports next to it.
    (values.len() >= guessed.len().min(LEAST_COLUMNS)).then_some(())?;
    let cells = guessed.into_iter().zip(values).filter_map(|(place, word)| Some((place?, word)));
    let mut sheet = Sheet { span, workload: run.clone(), ..Sheet::new(at, None) };
    for ((name, metric, unit, scale), word) in
        cells.filter(|(_, word)| !matches!(*word, "NaN" | "n/a" | "-"))
    {
        let decimal = *name == BANDWIDTH && megabyte == 1e6;
        let (unit, scale) = if decimal { ("MB/s", 1e6) } else { (*unit, *scale) };
        let mut figure = line.whole_figure(word, scale)?;
        if *name == EACH {
            // A mean: 5.04.06 truncates it, others may round it.
            let fixed = run.bs.is_some_and(|bs| bs as f64 == figure.value);
            let mean = PrintedNumber { high: figure.value + 1.0, ..figure };
            figure = if fixed { exact(figure.spot, figure.value) } else { mean };
        }
        sheet.add_sheet_figure(*metric, make_named_figure(name, unit, figure));
    }
    sheet.get(IOPS).is_some().then_some(sheet)
}

fn span(word: &str) -> Option<SheetSpan> {
    match word.strip_prefix("avg_") {
        Some(range) => {
            let (from, to) = range.split_once('-')?;
            Some(SheetSpan::Average(from.parse().ok()?, to.parse().ok()?))
        }
        None => word.parse().ok().filter(|number| *number > 0).map(SheetSpan::Interval),
    }
}

/// Reads `rd1; I/O rate: Uncontrolled MAX; elapsed=6; For loops: threads=2 xfersize=8k`.
fn started(rest: &str) -> Workload {
    let (name, rest) = rest.split_once(';').unwrap_or((rest, ""));
    let value = |key: &str| {
        let words = rest.rsplit("For loops:").next().unwrap_or_default().split_whitespace();
        words
            .filter_map(|word| word.split_once('='))
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    };
    Workload {
        name: Some(name.trim().to_owned()).filter(|name| !name.is_empty()),
        numjobs: value("threads").and_then(|threads| threads.parse().ok()),
        bs: value("xfersize").and_then(parse_binary_size),
        ..Workload::default()
    }
}

/// Splits sheets into runs: after an average, before a first interval, and where the run's name
/// changes.
pub(crate) fn split_runs(sheets: &[Sheet]) -> impl Iterator<Item = &[Sheet]> {
    sheets.chunk_by(|one, next| {
        !matches!(one.span, SheetSpan::Average(..))
            && next.span != SheetSpan::Interval(1)
            && one.workload.name == next.workload.name
    })
}

/// Marks the result of each run: its average, or its only line.
fn results(sheets: &mut [Sheet]) {
    let last: Vec<usize> = split_runs(sheets)
        .filter(|run| {
            run.len() == 1 || run.iter().any(|row| matches!(row.span, SheetSpan::Average(..)))
        })
        .filter_map(|run| Some(run.last()?.line))
        .collect();
    for sheet in sheets.iter_mut().filter(|sheet| last.contains(&sheet.line)) {
        let share = sheet.figure_by_name(SHARE).map(|share| share.value);
        sheet.way = Some(match share {
            Some(100.0) => ResultDirection::Read,
            Some(0.0) => ResultDirection::Write,
            _ => ResultDirection::Both,
        });
        sheet.workload.rwmixread = share.filter(|_| sheet.way == Some(ResultDirection::Both));
        let bytes =
            sheet.figure_by_name(EACH).map(|bytes| bytes.value as u64).filter(|bytes| *bytes > 0);
        sheet.workload.bs = sheet.workload.bs.or(bytes);
    }
}
