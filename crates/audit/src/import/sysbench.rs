//! sysbench 0.4, 0.5, 1.0 and 1.1: cpu, memory, fileio, oltp, threads, mutex. One form: what the versions call differently is one
//! field. Where the figures of two versions are computed differently, the version tells it.

mod results;

use super::cut::{Line, MIB, counted, size};
use super::{Format, Found, Said};
use crate::number::Figure;
use crate::page::Page;

/// One output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sysbench {
    /// Index of the line it begins at.
    pub line: usize,
    /// 1 and 0 of `1.0.20`.
    pub version: Option<(u32, u32)>,
    /// Threads.
    pub threads: Option<Figure>,
    /// Whether a rate was asked for: then latencies have waiting in them.
    pub rate: bool,
    /// Bytes of a block.
    pub block: Option<u64>,
    /// `write` of the memory test, `random r/w test` of fileio.
    pub operation: Option<String>,
    /// Events a second: of the cpu test, or of 1.1's throughput.
    pub events_per_second: Vec<Figure>,
    /// Operations of the memory test, and a second.
    pub operations: Option<Rate>,
    /// Bytes that the memory test or 0.x's fileio moved, and a second.
    pub transferred: Option<Rate>,
    /// Bytes that 0.x's fileio read and wrote.
    pub moved: [Option<Figure>; 2],
    /// Reads, writes, fsyncs of 0.x's fileio, and all together.
    pub requests: [Option<Figure>; 4],
    /// `Requests/sec executed`.
    pub requests_per_second: Option<Figure>,
    /// Reads, writes, fsyncs a second of fileio.
    pub per_second: [Option<Figure>; 3],
    /// Bytes a second of 1024 of reads and writes of fileio.
    pub bytes_per_second: [Option<Figure>; 2],
    /// The same of 1000, of 1.1.
    pub decimal_per_second: [Option<Figure>; 2],
    /// Queries: read, write, other, all.
    pub queries: [Option<Figure>; 4],
    /// Lines with a count and how many a second: transactions, queries, `read/write requests`, other operations, ignored
    /// errors, reconnects.
    pub counted: Vec<Counted>,
    /// Seconds in all.
    pub seconds: Option<Figure>,
    /// Events in all.
    pub events: Option<Figure>,
    /// Nanoseconds that events took, summed.
    pub event_time: Option<Figure>,
    /// Least, mean, most in nanoseconds.
    pub latency: [Option<Figure>; 3],
    /// Percent, nanoseconds.
    pub percentile: Option<(f64, Figure)>,
    /// Events of a thread: mean, deviation.
    pub events_of_thread: Option<[Figure; 2]>,
    /// Seconds of a thread: mean, deviation.
    pub seconds_of_thread: Option<[Figure; 2]>,
}

/// How many, and how many a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// In all.
    pub total: Figure,
    /// A second.
    pub per_second: Figure,
}

/// A line of the SQL statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counted {
    /// `transactions`.
    pub name: &'static str,
    /// The figures.
    pub rate: Rate,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "sysbench",
    help: "sysbench 0.4 to 1.1: cpu, memory, fileio, oltp, threads, mutex",
    example: include_str!("../../fixtures/sysbench/fileio-1.0.txt"),
    begins: |line| {
        let line = line.trim();
        match line.as_bytes().last() {
            Some(b':') => HEADS.contains(&line) || is_running(line) || version(line).is_some(),
            _ => version(line).is_some(),
        }
    },
    read,
};

fn is_running(line: &str) -> bool {
    line == "Running the test with following options:"
}

/// Heads of sections, at which an output may begin that was not pasted whole. Each comes once in an output.
const HEADS: &[&str] = &[
    "CPU speed:",
    "SQL statistics:",
    "OLTP test statistics:",
    "File operations:",
    "Throughput:",
    "General statistics:",
    "Test execution summary:",
    "Latency (ms):",
    "Threads fairness:",
    "response time:",
    "per-request statistics:",
    "queries performed:",
];

/// Lines of no figure between those of an output: options that tests tell.
const STRANGE: usize = 12;

fn version(line: &str) -> Option<(u32, u32)> {
    let mut parts =
        line.trim_start_matches('\u{feff}').strip_prefix("sysbench ")?.split(['.', ' ', ':', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut said = Sysbench { line, ..Sysbench::default() };
    let mut heads: Vec<&str> = Vec::new();
    let (mut at, mut end, mut strange, mut figures, mut running) = (line, line, 0, 0, false);
    while at < page.len() && strange <= STRANGE {
        let here = Line::of(page, at);
        let text = here.text.trim();
        // What comes once is of the next output where it comes again.
        if at > line && (version(text).is_some() || (is_running(text) && (running || !heads.is_empty()))) {
            break;
        }
        running |= is_running(text);
        match HEADS.iter().find(|head| **head == text) {
            Some(head) if heads.contains(head) => break,
            Some(head) => {
                heads.push(head);
                (strange, end) = (0, at + 1);
            }
            None if text.is_empty() => {}
            None if said.option(text, &here) || is_progress(text) => {
                strange = 0;
                end = if figures > 0 || at == line { at + 1 } else { end.max(line + 1) };
            }
            None if said.figure(&here, &heads) => {
                figures += 1;
                (strange, end) = (0, at + 1);
            }
            // What stands behind figures of no section of this tool is somebody else's.
            None if said.seconds_of_thread.is_some() => break,
            None => strange += 1,
        }
        at += 1;
    }
    (figures >= 2).then(|| Found { said: Said::Sysbench(Box::new(said)), end, unread: Vec::new() })
}

/// Lines of a running test, and bars of its histogram.
fn is_progress(text: &str) -> bool {
    (text.starts_with("[ ") && text.contains("s ] "))
        || text.split_once(" |").is_some_and(|(value, bar)| {
            value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && bar.starts_with(['*', ' '])
        })
}

impl Sysbench {
    /// Takes in a line that tells what was asked for.
    fn option(&mut self, text: &str, line: &Line) -> bool {
        if let Some(version) = version(text) {
            self.version = Some(version);
            return true;
        }
        if let Some((threads, "")) = line.labelled("Number of threads:", 1.0) {
            self.threads = Some(counted(threads));
            return true;
        }
        if text.starts_with("Target transaction rate:") {
            self.rate = true;
            return true;
        }
        let block = line.behind("Block size ").or_else(|| line.behind("block size: "));
        let block = block.or_else(|| line.behind("Memory block size: "));
        if let Some(block) = block.and_then(|word| size(word.trim())) {
            // Less than a KiB is printed as none.
            self.block = Some(block).filter(|block| *block > 0);
            return true;
        }
        let operation = line.behind("operation: ").or_else(|| line.behind("Memory operations type: "));
        let doing = || line.behind("Doing ").filter(|rest| rest.ends_with(" test"));
        if let Some(operation) = operation.or_else(doing) {
            self.operation = Some(operation.trim().to_owned());
            return true;
        }
        is_running(text)
    }

    /// Takes in a line that tells a figure.
    fn figure(&mut self, line: &Line, heads: &[&str]) -> bool {
        let under = |head: &str| heads.last() == Some(&head);
        self.totals(line)
            || self.latencies(line)
            || (line.text.contains("sec") && self.rates(line))
            || self.file_rates(line)
            || (under("queries performed:") && self.queries(line))
            || self.statistics(line)
            || self.fairness(line)
    }

    fn totals(&mut self, line: &Line) -> bool {
        let seconds = line.labelled("total time:", 1.0).or_else(|| line.labelled("time elapsed:", 1.0));
        if let Some((seconds, "s")) = seconds {
            self.seconds = Some(seconds);
        } else if let Some((events, "")) = line.labelled("total number of events:", 1.0) {
            self.events = Some(counted(events));
        } else if let Some((time, "" | "s")) = line.labelled("total time taken by event execution:", 1e9) {
            self.event_time = Some(time);
        } else if let Some((rate, "")) = line.labelled("events per second:", 1.0) {
            self.events_per_second.push(rate);
        } else if let Some((rate, "")) = line.labelled("events/s (eps):", 1.0) {
            self.events_per_second.push(rate);
        } else {
            return false;
        }
        true
    }

    /// `min: 0.02`, of 0.x `min: 0.93ms`.
    fn latencies(&mut self, line: &Line) -> bool {
        for (at, label) in ["min:", "avg:", "max:"].iter().enumerate() {
            if let Some((figure, "" | "ms")) = line.labelled(label, 1e6) {
                self.latency[at] = Some(figure);
                return true;
            }
        }
        if let Some((sum, "")) = line.labelled("sum:", 1e6) {
            self.event_time = Some(sum);
            return true;
        }
        let text = line.text.trim_start();
        let tail = text.strip_prefix("approx.").map_or(text, str::trim_start);
        let read = || {
            let (percent, rest) = line.number(tail, 1.0)?;
            let rest = rest.strip_prefix("th").unwrap_or(rest).trim_start();
            let (figure, end) = line.number(rest.strip_prefix("percentile:")?, 1e6)?;
            (end.is_empty() || end == "ms").then_some((percent.value, figure))
        };
        self.percentile = read().or(self.percentile);
        read().is_some()
    }

    /// `Total operations: 11198403 (11187521.64 per second)`, `21871.88 MiB transferred (21850.63 MiB/sec)`.
    fn rates(&mut self, line: &Line) -> bool {
        let operations =
            line.labelled("Total operations:", 1.0).or_else(|| line.labelled("Operations performed:", 1.0));
        let in_brackets = |rest: &str| rest.trim_start().starts_with('(');
        if let Some((total, rest)) = operations.filter(|(_, rest)| in_brackets(rest)) {
            let read = line.number(rest.trim_start().trim_start_matches(['(', ' ']), 1.0);
            self.operations = read.map(|(per_second, _)| Rate { total: counted(total), per_second });
            return self.operations.is_some();
        }
        let rate = line.number(line.text, 1.0).filter(|(_, rest)| rest.trim() == "Requests/sec executed");
        if let Some((rate, _)) = rate {
            self.requests_per_second = Some(rate);
            return true;
        }
        // `Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (15.6Mb/sec)`.
        if let Some((read, rest)) = line.labelled("Read ", 1.0) {
            return self.old_transfer(line, read, rest).is_some();
        }
        let read = || {
            let (total, rest) = line.number(line.text, MIB)?;
            let rest = rest.trim_start();
            let rest = rest.strip_prefix("MiB").or_else(|| rest.strip_prefix("MB"))?;
            let rest = rest.trim_start().strip_prefix("transferred")?.trim_start().strip_prefix('(')?;
            Some(Rate { total, per_second: line.number(rest, MIB)?.0 })
        };
        self.transferred = read().or(self.transferred);
        read().is_some()
    }

    /// 0.x's sizes are of 1024 and printed as `%.5g` with their own prefix.
    fn old_transfer<'a>(&mut self, line: &Line<'a>, read: Figure, rest: &'a str) -> Option<()> {
        let (read_scale, rest) = old_prefix(rest)?;
        let (written, rest) = line.number(rest.trim_start().strip_prefix("Written ")?, 1.0)?;
        let (written_scale, rest) = old_prefix(rest)?;
        let (total, rest) = line.number(rest.trim_start().strip_prefix("Total transferred ")?, 1.0)?;
        let (total_scale, rest) = old_prefix(rest)?;
        let (rate, rest) = line.number(rest.trim_start().strip_prefix('(')?, 1.0)?;
        let (rate_scale, _) = old_prefix(rest)?;
        self.moved = [Some(read.scaled(read_scale)), Some(written.scaled(written_scale))];
        self.transferred =
            Some(Rate { total: total.scaled(total_scale), per_second: rate.scaled(rate_scale) });
        Some(())
    }

    /// `reads/s: 93910.02`, `read, MiB/s: 1467.34`, 1.1's `read: IOPS=93910.02 1467.34 MiB/s (1538.62 MB/s)`.
    fn file_rates(&mut self, line: &Line) -> bool {
        for (at, label) in ["reads/s:", "writes/s:", "fsyncs/s:"].iter().enumerate() {
            if let Some((figure, "")) = line.labelled(label, 1.0) {
                self.per_second[at] = Some(figure);
                return true;
            }
        }
        for (at, label) in ["read, MiB/s:", "written, MiB/s:"].iter().enumerate() {
            if let Some((figure, "")) = line.labelled(label, MIB) {
                self.bytes_per_second[at] = Some(figure);
                return true;
            }
        }
        for (at, label) in ["read:", "write:", "fsync:"].iter().enumerate() {
            let read = || line.number(line.behind(label)?.trim_start().strip_prefix("IOPS=")?, 1.0);
            let Some((iops, rest)) = read() else { continue };
            self.per_second[at] = Some(iops);
            if at < 2 {
                let binary = line.number(rest, MIB);
                self.bytes_per_second[at] = binary.map(|(figure, _)| figure);
                let rest = binary.and_then(|(_, rest)| rest.trim_start().strip_prefix("MiB/s ("));
                self.decimal_per_second[at] =
                    rest.and_then(|rest| line.number(rest, 1e6)).map(|(one, _)| one);
            }
            return true;
        }
        self.old_operations(line).is_some()
    }

    /// 0.x's `Operations performed:  6000 reads, 4000 writes, 12800 Other = 22800 Total`.
    fn old_operations(&mut self, line: &Line) -> Option<()> {
        let (reads, rest) = line.labelled("Operations performed:", 1.0)?;
        let label = |rest: &'_ str, names: [&str; 2]| {
            let rest = rest.trim_start();
            names.iter().find_map(|name| rest.strip_prefix(name)).map(str::len)
        };
        let skip = |rest: &'_ str, names| label(rest, names).map(|left| rest.len() - left);
        let at = skip(rest, ["Read,", "reads,"])?;
        let (writes, rest) = line.number(&line.text[line.text.len() - rest.len() + at..], 1.0)?;
        let at = skip(rest, ["Write,", "writes,"])?;
        let (others, rest) = line.number(&line.text[line.text.len() - rest.len() + at..], 1.0)?;
        let at = skip(rest, ["Other =", "Other ="])?;
        let (all, rest) = line.number(&line.text[line.text.len() - rest.len() + at..], 1.0)?;
        if rest.trim() != "Total" {
            return None;
        }
        self.requests = [reads, writes, others, all].map(|figure| Some(counted(figure)));
        Some(())
    }

    fn queries(&mut self, line: &Line) -> bool {
        for (at, label) in ["read:", "write:", "other:", "total:"].iter().enumerate() {
            if let Some((figure, "")) = line.labelled(label, 1.0) {
                self.queries[at] = Some(counted(figure));
                return true;
            }
        }
        false
    }

    /// `transactions: 257521 (143.01 per sec.)`.
    fn statistics(&mut self, line: &Line) -> bool {
        const NAMES: &[&str] = &[
            "transactions:",
            "queries:",
            "read/write requests:",
            "other operations:",
            "deadlocks:",
            "ignored errors:",
            "reconnects:",
        ];
        let Some(name) = NAMES.iter().find(|name| line.behind(name).is_some()) else { return false };
        let read = || {
            let (total, rest) = line.labelled(name, 1.0)?;
            let (per_second, rest) = line.number(rest.trim_start().strip_prefix('(')?, 1.0)?;
            rest.trim_start().starts_with("per sec").then_some(Rate { total: counted(total), per_second })
        };
        let Some(rate) = read() else { return false };
        self.counted.push(Counted { name: name.trim_end_matches(':'), rate });
        true
    }

    /// `events (avg/stddev): 40767.7500/2581.13`.
    fn fairness(&mut self, line: &Line) -> bool {
        let pair = |label: &str| {
            let (mean, rest) = line.labelled(label, 1.0)?;
            Some([mean, line.number(rest.strip_prefix('/')?, 1.0)?.0])
        };
        if let Some(found) = pair("events (avg/stddev):") {
            self.events_of_thread = Some(found);
        } else if let Some(found) = pair("execution time (avg/stddev):") {
            self.seconds_of_thread = Some(found);
        } else {
            return false;
        }
        true
    }

    /// Whether it is 1.0 or later, by its version or by what it prints.
    pub fn is_new(&self) -> bool {
        self.version.is_some_and(|version| version >= (1, 0))
            || (self.version.is_none() && self.events_of_thread.is_some() && self.moved[0].is_none())
    }
}

/// `Mb`, `Kb/sec`, `Gb`, `b`: how much, and what follows.
fn old_prefix(rest: &str) -> Option<(f64, &str)> {
    let (scale, rest) = match rest.as_bytes().first()? {
        b'K' => (1024.0, &rest[1..]),
        b'M' => (MIB, &rest[1..]),
        b'G' => (1024.0 * MIB, &rest[1..]),
        b'T' => (MIB * MIB, &rest[1..]),
        _ => (1.0, rest),
    };
    rest.strip_prefix(['b', 'B']).map(|rest| (scale, rest))
}
