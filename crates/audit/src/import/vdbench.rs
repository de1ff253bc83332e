//! vdbench's console, summary.html and totals.html (`17:06:15.097 avg_2-6 1121791.33 4382.00 4096 ...`) and its flatfile.html, whose
//! columns have four digits. Its MB are MiB unless the head says `1000**2`. File system workloads (FWD) are listed as unread.

use super::cut::{Line, MIB, begins_with_time, exact, size};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::{Page, Unread};

/// One output: its run definitions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vdbench {
    /// In their order.
    pub runs: Vec<Run>,
}

/// What one `Starting RD=` and its loops printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// `rd1`.
    pub name: Option<String>,
    /// Index of the line it begins at.
    pub line: usize,
    /// Threads that were asked for, of the flatfile or the loop.
    pub threads: Option<f64>,
    /// Bytes of an I/O that were asked for.
    pub xfersize: Option<u64>,
    /// Whether a rate was asked for.
    pub limited: bool,
    /// Bytes of its MB: 1,048,576 or 1,000,000.
    pub megabyte: f64,
    /// Intervals and averages.
    pub rows: Vec<Row>,
}

/// Which interval, or which ones it is the average of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// An interval, from 1.
    One(u32),
    /// `avg_2-6`.
    Average(u32, u32),
}

/// A line of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index of its line.
    pub line: usize,
    /// Which interval.
    pub span: Span,
    /// I/Os a second.
    pub rate: Option<Figure>,
    /// Bytes a second.
    pub bandwidth: Option<Figure>,
    /// Bytes of an I/O, cut off or rounded.
    pub bytes: Option<Figure>,
    /// Percent of reads.
    pub reads: Option<Figure>,
    /// Nanoseconds: all, reads, writes.
    pub response: [Option<Figure>; 3],
    /// The most: all, reads, writes.
    pub most: [Option<Figure>; 3],
    /// Standard deviation.
    pub deviation: Option<Figure>,
    /// I/Os in flight.
    pub queue: Option<Figure>,
    /// Percent of CPU time.
    pub cpu: [Option<Figure>; 2],
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "vdbench",
    help: "vdbench's console, summary.html, totals.html, flatfile.html of raw workloads",
    example: include_str!("../../fixtures/vdbench/console.txt"),
    begins: |line| match line.as_bytes().first() {
        Some(b'0'..=b'9') => begins_with_time(line) && (line.len() < LONGEST && is_ours(&line[12..])),
        Some(b'<') => line.len() < LONGEST && starting(line).is_some(),
        Some(b' ') => is_flat_head(line),
        Some(b'A'..=b'Z') => is_head(line),
        _ => false,
    },
    read,
};

/// No line of it is longer.
const LONGEST: usize = 2000;

/// Blank lines within an output.
const BLANKS: usize = 4;

fn is_ours(rest: &str) -> bool {
    rest.contains("Starting RD=")
        || rest.trim_start().starts_with("avg_")
        || rest.split_whitespace().take(LEAST + 1).filter(|word| word.contains('.')).count() >= LEAST - 3
}

/// Fewest columns behind the interval: of 5.00 without CPU.
const LEAST: usize = 7;

/// `Nov 23, 2026  interval        i/o   MB/sec   bytes ...`.
fn is_head(line: &str) -> bool {
    line.len() < LONGEST && line.contains(" interval ") && line.contains(" i/o ") && line.contains(" MB/sec")
}

fn is_flat_head(line: &str) -> bool {
    let mut words = line.split_whitespace();
    words.next() == Some("tod") && words.next() == Some("timestamp") && words.next() == Some("Run")
}

/// What follows `Starting RD=`.
fn starting(line: &str) -> Option<&str> {
    Some(line.split_once("Starting RD=")?.1.split('<').next().unwrap_or_default())
}

fn read(page: &Page, line: usize) -> Option<Found> {
    if is_flat_head(Line::of(page, line).text) {
        return flat(page, line);
    }
    let mut reader = Reader::default();
    let (mut at, mut end, mut blanks) = (line, line, 0);
    while at < page.len() && blanks <= BLANKS {
        let here = Line::of(page, at);
        match reader.step(page, &here, at) {
            Step::Taken => (end, blanks) = (at + 1, 0),
            Step::Blank => blanks += 1,
            Step::Passed => blanks = 0,
            Step::Foreign => break,
        }
        at += 1;
    }
    let runs: Vec<Run> = reader.runs.into_iter().filter(|run| !run.rows.is_empty()).collect();
    (!runs.is_empty()).then(|| Found {
        said: Said::Vdbench(Box::new(Vdbench { runs })),
        end,
        unread: reader.unread,
    })
}

enum Step {
    /// A line of the output.
    Taken,
    /// An empty one.
    Blank,
    /// A line of the console that tells nothing.
    Passed,
    /// Somebody else's.
    Foreign,
}

#[derive(Default)]
struct Reader {
    runs: Vec<Run>,
    columns: Vec<Column>,
    megabyte: Option<f64>,
    unread: Vec<Unread>,
}

/// A column of the console, by its head.
#[derive(Clone, Copy, PartialEq)]
enum Column {
    Rate,
    Bandwidth,
    Bytes,
    Reads,
    Response(usize),
    Most(usize),
    Deviation,
    Queue,
    Cpu(usize),
    Unknown,
}

impl Reader {
    fn step(&mut self, page: &Page, line: &Line, at: usize) -> Step {
        let text = line.text;
        if text.trim().is_empty() {
            return Step::Blank;
        }
        if text.len() > LONGEST {
            return Step::Foreign;
        }
        if let Some(rest) = starting(text) {
            // A run definition that printed nothing ends here: what follows is read on its own.
            if self.runs.last().is_some_and(|run| run.rows.is_empty()) {
                return Step::Foreign;
            }
            self.runs.push(started(rest, at));
            self.columns.clear();
            return Step::Taken;
        }
        if is_head(text) {
            let head = columns(text, Line::of(page, at + 1).text);
            if self.columns == head && self.runs.is_empty() {
                return Step::Foreign;
            }
            self.columns = head;
            let decimal = Line::of(page, at + 1).text.contains("1000**2");
            self.megabyte = Some(if decimal { 1e6 } else { MIB });
            return Step::Taken;
        }
        let second = !self.columns.is_empty() && (text.contains("1024**2") || text.contains("1000**2"));
        if second && text.starts_with(' ') {
            return Step::Taken;
        }
        if begins_with_time(text) {
            return self.timed(line, at);
        }
        let furniture = text.starts_with("<a ") || text.starts_with("<A ") || text.starts_with('*');
        if furniture && !self.runs.is_empty() { Step::Passed } else { Step::Foreign }
    }

    /// A line that begins with a time of day.
    fn timed(&mut self, line: &Line, at: usize) -> Step {
        match self.row(line, at) {
            Some(row) => {
                if self.runs.is_empty() {
                    self.runs.push(Run { line: at, ..Run::default() });
                }
                let megabyte = self.megabyte.unwrap_or(MIB);
                if let Some(run) = self.runs.last_mut() {
                    run.megabyte = megabyte;
                    run.rows.push(row);
                }
                Step::Taken
            }
            None if self.runs.is_empty() => Step::Foreign,
            None => Step::Passed,
        }
    }

    fn row(&self, line: &Line, at: usize) -> Option<Row> {
        let mut words = line.text[12..].split_whitespace();
        let span = span(words.next()?)?;
        let values: Vec<&str> = words.take(MOST + 1).collect();
        let guessed;
        let columns = if self.columns.is_empty() {
            guessed = columns_of(values.len())?;
            &guessed
        } else {
            &self.columns
        };
        // More figures than heads are those of other reports beside it.
        if values.len() < columns.len().min(LEAST) {
            return None;
        }
        let mut row = empty(at, span);
        let megabyte = self.megabyte.unwrap_or(MIB);
        for (column, value) in columns.iter().zip(values) {
            row.set(line, *column, value, megabyte)?;
        }
        row.rate?;
        Some(row)
    }
}

/// Most columns behind the interval that are read.
const MOST: usize = 13;

fn empty(line: usize, span: Span) -> Row {
    Row {
        line,
        span,
        rate: None,
        bandwidth: None,
        bytes: None,
        reads: None,
        response: [None; 3],
        most: [None; 3],
        deviation: None,
        queue: None,
        cpu: [None; 2],
    }
}

impl Row {
    /// Sets a column; None where the word is no figure.
    fn set<'a>(&mut self, line: &Line<'a>, column: Column, word: &'a str, megabyte: f64) -> Option<()> {
        if matches!(word, "NaN" | "n/a" | "-") {
            return Some(());
        }
        let scale = match column {
            Column::Bandwidth => megabyte,
            Column::Response(_) | Column::Most(_) | Column::Deviation => 1e6,
            _ => 1.0,
        };
        let figure = line.figure(word, scale)?;
        let place = match column {
            Column::Rate => &mut self.rate,
            Column::Bandwidth => &mut self.bandwidth,
            Column::Bytes => {
                // A mean: 5.04.06 cuts it off, others may round it.
                self.bytes = Some(Figure { high: figure.value + 1.0, ..figure });
                return Some(());
            }
            Column::Reads => &mut self.reads,
            Column::Response(at) => &mut self.response[at],
            Column::Most(at) => &mut self.most[at],
            Column::Deviation => &mut self.deviation,
            Column::Queue => &mut self.queue,
            Column::Cpu(at) => &mut self.cpu[at],
            Column::Unknown => return Some(()),
        };
        *place = Some(figure);
        Some(())
    }
}

fn span(word: &str) -> Option<Span> {
    match word.strip_prefix("avg_") {
        Some(range) => {
            let (from, to) = range.split_once('-')?;
            Some(Span::Average(from.parse().ok()?, to.parse().ok()?))
        }
        None => word.parse().ok().filter(|number| *number > 0).map(Span::One),
    }
}

/// `rd1; I/O rate: Uncontrolled MAX; elapsed=6; For loops: threads=2 xfersize=8k`.
fn started(rest: &str, line: usize) -> Run {
    let mut run = Run { line, megabyte: MIB, ..Run::default() };
    let (name, rest) = rest.split_once(';').unwrap_or((rest, ""));
    run.name = Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    run.limited = rest.split(';').any(|part| part.contains("rate:") && !part.contains("Uncontrolled"));
    for word in rest.rsplit("For loops:").next().unwrap_or_default().split_whitespace() {
        match word.split_once('=') {
            Some(("threads", threads)) => run.threads = threads.parse().ok(),
            Some(("xfersize", bytes)) => run.xfersize = size(bytes),
            _ => {}
        }
    }
    run
}

/// Columns by the two lines of the head.
fn columns(first: &str, second: &str) -> Vec<Column> {
    let behind = first.split_once("interval").map_or("", |(_, rest)| rest);
    let below: Vec<&str> = second.split_whitespace().collect();
    let column = |(upper, lower): (&str, &&str)| match (upper, *lower) {
        ("i/o", "rate") => Column::Rate,
        ("MB/sec", _) => Column::Bandwidth,
        ("bytes", "i/o") => Column::Bytes,
        ("read", "pct") => Column::Reads,
        ("resp", "time") => Column::Response(0),
        ("read", "resp") => Column::Response(1),
        ("write", "resp") => Column::Response(2),
        ("resp", "max") => Column::Most(0),
        ("read", "max") => Column::Most(1),
        ("write", "max") => Column::Most(2),
        ("resp", "stddev") => Column::Deviation,
        ("queue", "depth") => Column::Queue,
        ("cpu%", "sys+u" | "sys+usr") => Column::Cpu(0),
        ("cpu%", "sys") => Column::Cpu(1),
        _ => Column::Unknown,
    };
    behind.split_whitespace().zip(&below).map(column).take(MOST).collect()
}

/// Columns by how many there are, where a line was pasted without its head: of 5.04.06 and of 5.04.07, with CPU and without.
fn columns_of(count: usize) -> Option<Vec<Column>> {
    use Column::{Bandwidth, Bytes, Cpu, Deviation, Most, Queue, Rate, Reads, Response};
    let head = [Rate, Bandwidth, Bytes, Reads, Response(0), Response(1), Response(2)];
    let middle: &[Column] = match count {
        10 | 12 => &[Most(0)],
        11 | 13 => &[Most(1), Most(2)],
        _ => return None,
    };
    let tail = [Deviation, Queue, Cpu(0), Cpu(1)];
    Some(head.iter().chain(middle).chain(&tail).copied().take(count).collect())
}

/// The flatfile: one head, one line an interval.
fn flat(page: &Page, line: usize) -> Option<Found> {
    let heads: Vec<&str> = Line::of(page, line).text.split_whitespace().take(80).collect();
    let mut at = line + 1;
    if !heads.contains(&"bytes/io") {
        while begins_with_time(Line::of(page, at).text) {
            at += 1;
        }
        let why = "vdbench's flatfile of a file system workload, which is not read";
        let unread = vec![page.unread(line..at, why)];
        let said = Said::Vdbench(Box::default());
        return (at > line + 1).then_some(Found { said, end: at, unread });
    }
    let mut runs: Vec<Run> = Vec::new();
    let mut unread = Vec::new();
    while begins_with_time(Line::of(page, at).text) {
        let here = Line::of(page, at);
        match flat_row(&here, at, &heads) {
            Some((made, row)) => match runs.last_mut() {
                Some(run) if goes_on(run, &made, row.span) => run.rows.push(row),
                _ => runs.push(Run { rows: vec![row], ..made }),
            },
            None => {
                unread.push(page.unread(at..at + 1, "vdbench: a line of the flatfile with other columns"))
            }
        }
        at += 1;
    }
    let said = Said::Vdbench(Box::new(Vdbench { runs }));
    (at > line + 1).then_some(Found { said, end: at, unread })
}

/// Whether a line is of the same run: not after its average, nor of another name.
fn goes_on(run: &Run, made: &Run, span: Span) -> bool {
    let ended = matches!(run.rows.last().map(|row| row.span), Some(Span::Average(..)));
    run.name == made.name && !ended && span != Span::One(1)
}

fn flat_row(line: &Line, at: usize, heads: &[&str]) -> Option<(Run, Row)> {
    let words: Vec<&str> = line.text.split_whitespace().take(heads.len() + 1).collect();
    if words.len() != heads.len() {
        return None;
    }
    let of = |head: &str| heads.iter().position(|one| *one == head).map(|at| words[at]);
    let mut row = empty(at, span(of("Interval")?)?);
    for (head, column) in [
        ("rate", Column::Rate),
        ("MB/sec", Column::Bandwidth),
        ("bytes/io", Column::Bytes),
        ("read%", Column::Reads),
        ("resp", Column::Response(0)),
        ("read_resp", Column::Response(1)),
        ("write_resp", Column::Response(2)),
        ("resp_max", Column::Most(0)),
        ("read_max", Column::Most(1)),
        ("write_max", Column::Most(2)),
        ("resp_std", Column::Deviation),
        ("queue_depth", Column::Queue),
        ("cpu_used", Column::Cpu(0)),
        ("cpu_kernel", Column::Cpu(1)),
    ] {
        if let Some(word) = of(head) {
            row.set(line, column, word, MIB)?;
        }
    }
    row.rate?;
    let run = Run {
        name: of("Run").map(str::to_owned),
        line: at,
        threads: of("threads").and_then(|word| word.parse().ok()),
        xfersize: of("xfersize").and_then(size),
        limited: of("reqrate").and_then(|word| word.parse::<f64>().ok()).is_some_and(|rate| rate < 999_990.0),
        megabyte: MIB,
        rows: Vec::new(),
    };
    Some((run, row))
}

impl Run {
    /// The average that it ended with.
    pub fn average(&self) -> Option<&Row> {
        self.rows.iter().rev().find(|row| matches!(row.span, Span::Average(..)))
    }

    /// Seconds of an interval cannot be told; how many there were.
    fn reading(&self) -> Option<Reading> {
        let row = self.average().or_else(|| (self.rows.len() == 1).then(|| &self.rows[0]))?;
        let bytes = row.bytes.map(|bytes| bytes.value as u64).filter(|bytes| *bytes > 0);
        let mix = row.reads.map(|reads| reads.value);
        let way = match mix {
            Some(100.0) => Way::Read,
            Some(0.0) => Way::Write,
            _ => Way::Both,
        };
        let workload = Workload {
            bs: self.xfersize.or(bytes),
            rwmixread: mix.filter(|_| way == Way::Both),
            numjobs: self.threads.map(|threads| threads as u64),
            name: self.name.clone(),
            ..Workload::default()
        };
        Some(Reading {
            iops: row.rate,
            bytes_per_second: row.bandwidth,
            mean_ns: row.response[0],
            ..Reading::new(row.line, workload, way)
        })
    }
}

impl Vdbench {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for row in self.runs.iter().flat_map(|run| &run.rows) {
            let metric = |metric| if matches!(row.span, Span::One(_)) { Metric::Interval } else { metric };
            let mut say = |kind, unit, figure: &Option<Figure>| {
                figure.iter().for_each(|figure| tell((metric(kind), unit, *figure)));
            };
            say(Metric::Iops, Unit::PerSecond, &row.rate);
            say(Metric::Bandwidth, Unit::BytesPerSecond, &row.bandwidth);
            say(Metric::Other, Unit::Bytes, &row.bytes);
            say(Metric::Other, Unit::Percent, &row.reads);
            for figure in row.response.iter().chain(&row.most).chain([&row.deviation]) {
                say(Metric::Latency, Unit::Nanoseconds, figure);
            }
            say(Metric::Depth, Unit::Things, &row.queue);
            row.cpu.iter().for_each(|figure| say(Metric::Cpu, Unit::Percent, figure));
        }
    }

    /// A reading a run: its average.
    pub fn readings(&self) -> Vec<Reading> {
        self.runs.iter().filter_map(Run::reading).collect()
    }
}

/// Bytes of an I/O that are fixed: exact, where the run says so.
pub(crate) fn fixed_bytes(run: &Run, row: &Row) -> Option<Figure> {
    let bytes = row.bytes?;
    match run.xfersize {
        Some(fixed) if fixed as f64 == bytes.value => Some(exact(bytes.spot, bytes.value)),
        _ => Some(bytes),
    }
}
