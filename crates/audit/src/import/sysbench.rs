//! sysbench 0.4, 0.5, 1.0 and 1.1: cpu, memory, fileio, oltp, threads, mutex. What the versions call differently is one figure.

use super::cut::{MIB, other, size, walk};
use super::sheet::*;
use super::{Format, Found, Other, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "sysbench",
    help: "sysbench 0.4 to 1.1: cpu, memory, fileio, oltp, threads, mutex",
    example: include_str!("../../fixtures/sysbench/fileio-1.0.txt"),
    begins: |line| {
        let line = line.trim();
        (line.ends_with(':') && (HEADS.contains(&line) || line == RUNNING)) || is_version(line)
    },
    read,
};

const RUNNING: &str = "Running the test with following options:";

/// Heads of sections, at which an output may begin that was not pasted whole. Each comes once in an output, but for the rates of 1.1.
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

pub(crate) const THREADS: &str = "the number of threads";
pub(crate) const EVENTS: &str = "the number of events";
pub(crate) const EVENT_RATE: &str = "the rate of events";
pub(crate) const SUM: &str = "the sum of latencies";
pub(crate) const OPERATIONS: &str = "the operations";
pub(crate) const OPERATION_RATE: &str = "the rate of operations";
pub(crate) const MOVED: &str = "the MiB moved";
pub(crate) const THROUGHPUT: &str = "the throughput";
pub(crate) const FILE_RATES: [&str; 3] = ["the reads a second", "the writes a second", "the fsyncs a second"];
pub(crate) const FILE_BYTES: [&str; 2] = ["the MiB read a second", "the MiB written a second"];
/// The same of 1000.
pub(crate) const DECIMAL_BYTES: [&str; 2] = ["the MB read a second", "the MB written a second"];
pub(crate) const PARTS: [&str; 4] = ["the reads", "the writes", "the others", "the total"];
pub(crate) const OLD_BYTES: [&str; 2] = ["the read", "the written"];
/// Counts of SQL and how many a second.
pub(crate) const COUNTS: [(&str, &str); 4] = [
    ("the transactions", "the transactions a second"),
    ("the queries", "the queries a second"),
    ("the read/write requests", "the read/write requests a second"),
    ("the other operations", "the other operations a second"),
];
pub(crate) const OF_THREAD: [&str; 2] = ["the events of a thread", "the execution time of a thread"];
pub(crate) const PERCENTILE: &str = "the percentile";
const PERCENT: &str = "the percent";

const S: f64 = 1e9;

const fn rate(name: &'static str) -> Place {
    (name, Metric::Iops, "/s", 1.0)
}

const fn decimal(name: &'static str) -> Place {
    (name, Metric::Bandwidth, "MB/s", 1e6)
}

/// Of a figure whose prefix is read with it.
const fn prefixed(name: &'static str) -> Place {
    (name, Metric::Total, "MiB", 1.0)
}

const PATTERNS: &[Pattern] = &[
    ("Number of threads: #", &[count(THREADS)]),
    ("total time: #s|time elapsed: #s", &[(TIME, Metric::Runtime, "s", S)]),
    ("total number of events: #", &[count(EVENTS)]),
    (
        "total time taken by event execution: #|total time taken by event execution: #s",
        &[(SUM, Metric::Latency, "s", S)],
    ),
    ("sum: #", &[ms(SUM)]),
    ("events per second: #|events/s (eps): #", &[a_second(EVENT_RATE)]),
    ("min: #|min: #ms", &[ms(LEAST)]),
    ("avg: #|avg: #ms", &[ms(MEAN)]),
    ("max: #|max: #ms", &[ms(MOST)]),
    (
        "#th percentile: #|approx. # percentile: #ms|approx. #th percentile: #ms",
        &[(PERCENT, Metric::Ratio, "", 1.0), (PERCENTILE, Metric::Percentile, "ms", 1e6)],
    ),
    (
        "Total operations: # (# per second)|Operations performed: # (# ops/sec)",
        &[count(OPERATIONS), a_second(OPERATION_RATE)],
    ),
    (
        "# MiB transferred (# MiB/sec)|# MB transferred (# MB/sec)",
        &[(MOVED, Metric::Total, "MiB", MIB), mib_a_second(THROUGHPUT)],
    ),
    ("# Requests/sec executed", &[rate(EVENT_RATE)]),
    ("reads/s: #", &[rate(FILE_RATES[0])]),
    ("writes/s: #", &[rate(FILE_RATES[1])]),
    ("fsyncs/s: #|fsync: IOPS=#", &[rate(FILE_RATES[2])]),
    ("read, MiB/s: #", &[mib_a_second(FILE_BYTES[0])]),
    ("written, MiB/s: #", &[mib_a_second(FILE_BYTES[1])]),
    (
        "read: IOPS=# # MiB/s (# MB/s)",
        &[rate(FILE_RATES[0]), mib_a_second(FILE_BYTES[0]), decimal(DECIMAL_BYTES[0])],
    ),
    (
        "write: IOPS=# # MiB/s (# MB/s)",
        &[rate(FILE_RATES[1]), mib_a_second(FILE_BYTES[1]), decimal(DECIMAL_BYTES[1])],
    ),
    (
        "Read #@ Written #@ Total transferred #@ (#@/sec)",
        &[
            prefixed(OLD_BYTES[0]),
            prefixed(OLD_BYTES[1]),
            prefixed(MOVED),
            (THROUGHPUT, Metric::Bandwidth, "MiB/s", 1.0),
        ],
    ),
    (
        "Operations performed: # Read, # Write, # Other = # Total|Operations performed: # reads, # writes, # Other = # Total",
        &[count(PARTS[0]), count(PARTS[1]), count(PARTS[2]), count(PARTS[3])],
    ),
    ("read: #", &[count(PARTS[0])]),
    ("write: #", &[count(PARTS[1])]),
    ("other: #", &[count(PARTS[2])]),
    ("total: #", &[count(PARTS[3])]),
    ("transactions: # (# per sec.)", &[count(COUNTS[0].0), rate(COUNTS[0].1)]),
    ("queries: # (# per sec.)", &[count(COUNTS[1].0), rate(COUNTS[1].1)]),
    ("read/write requests: # (# per sec.)", &[count(COUNTS[2].0), rate(COUNTS[2].1)]),
    ("other operations: # (# per sec.)", &[count(COUNTS[3].0), rate(COUNTS[3].1)]),
    ("deadlocks: # (# per sec.)|ignored errors: # (# per sec.)|reconnects: # (# per sec.)", &[]),
    ("events (avg/stddev): #/#", &[(OF_THREAD[0], Metric::Other, "", 1.0)]),
    ("execution time (avg/stddev): #/#", &[(OF_THREAD[1], Metric::Runtime, "s", S)]),
];

/// Lines of no figure between those of an output: options that tests tell.
const STRANGE: usize = 12;

/// `sysbench 1.0.20 (using ...)`.
fn is_version(line: &str) -> bool {
    let version = line.trim_start_matches('\u{feff}').strip_prefix("sysbench ");
    let mut parts = version.unwrap_or("").split(['.', ' ', ':', '-']);
    let mut number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    number() && number()
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut sheet = Sheet::new(line, None);
    let (mut heads, mut said, mut figures) = (Vec::<String>::new(), Asked::default(), 0);
    let end = walk(page, line, STRANGE, |here, at| {
        let text = here.text.trim();
        // What comes once is of the next output where it comes again.
        let most = if text == "Throughput:" { 2 } else { 1 };
        let again = heads.iter().filter(|head| *head == text).count() >= most;
        if at > line && (is_version(text) || again) {
            return None;
        }
        if HEADS.contains(&text) || text == RUNNING {
            heads.push(text.to_owned());
            return (text != RUNNING || heads.len() == 1).then_some(true);
        }
        if said.take(text) || is_progress(text) || is_version(text) {
            return Some(true);
        }
        if sheet.take(here, PATTERNS).is_some() {
            figures += 1;
            return Some(true);
        }
        // What stands behind figures of no section of this tool is somebody else's.
        (sheet.get(OF_THREAD[1]).is_none() || text.is_empty()).then_some(false)
    });
    if figures < 2 { None } else { Found::sheets(results(sheet, said), end) }
}

/// Lines of a running test, and bars of its histogram.
fn is_progress(text: &str) -> bool {
    (text.starts_with("[ ") && text.contains("s ] "))
        || text.split_once(" |").is_some_and(|(value, bar)| {
            value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') && bar.starts_with(['*', ' '])
        })
}

#[derive(Default)]
struct Asked {
    operation: Option<String>,
    block: Option<u64>,
}

impl Asked {
    fn take(&mut self, text: &str) -> bool {
        let behind = |labels: &[&str]| labels.iter().find_map(|label| text.strip_prefix(label));
        if let Some(block) = behind(&["Block size ", "block size: ", "Memory block size: "]).and_then(size) {
            // Less than a KiB is printed as none.
            self.block = Some(block).filter(|block| *block > 0);
            return true;
        }
        let doing = || behind(&["Doing "]).filter(|rest| rest.ends_with(" test"));
        let operation = behind(&["operation: ", "Memory operations type: "]).or_else(doing);
        self.operation = operation.map(|operation| operation.trim().to_owned()).or(self.operation.take());
        // Waiting for a rate that was asked for is in the latencies: then they are not summed here.
        operation.is_some() || text.starts_with("Target transaction rate:")
    }
}

/// fileio's results by way, memory's bandwidth, anything else as scores; the sheet of all figures first.
fn results(mut sheet: Sheet, asked: Asked) -> Vec<Sheet> {
    sheet.workload = Workload {
        rw: asked.operation.as_deref().and_then(rw),
        bs: asked.block,
        numjobs: sheet.figure(THREADS).map(|threads| threads.value as u64),
        runtime_s: sheet.figure(TIME).map(|time| time.value / S),
        ..Workload::default()
    };
    if let (Some(percent), Some(percentile)) = (sheet.figure(PERCENT), sheet.figure(PERCENTILE)) {
        sheet.percentiles = vec![(percent.value, percentile)];
        sheet.figures.retain(|(_, one)| one.name != PERCENTILE && one.name != PERCENT);
    }
    let mut made = Vec::new();
    for (at, way) in [Way::Read, Way::Write].into_iter().enumerate() {
        // Latencies of fileio are of reads, writes and fsyncs together.
        if sheet.figure(FILE_RATES[at]).is_some_and(|rate| rate.value > 0.0) {
            made.push(sheet.part(way, &[(FILE_RATES[at], IOPS), (FILE_BYTES[at], BANDWIDTH)]));
        }
    }
    let percentiles = sheet.percentiles.clone();
    if sheet.get(MOVED).is_some() {
        let way = match asked.operation.as_deref() {
            Some("write") => Way::Write,
            Some("read") => Way::Read,
            _ => Way::Both,
        };
        let events = if sheet.get(OPERATIONS).is_none() { EVENT_RATE } else { "" };
        let figures = [(MOVED, BYTES), (THROUGHPUT, BANDWIDTH), (events, IOPS), (MEAN, MEAN)];
        made.push(Sheet { percentiles: percentiles.clone(), ..sheet.part(way, &figures) });
    }
    let others = others(&sheet);
    if !others.is_empty() || made.is_empty() {
        made.push(Sheet { others, percentiles, ..sheet.part(Way::Both, &[(MEAN, MEAN)]) });
    }
    made.insert(0, sheet);
    made
}

fn others(sheet: &Sheet) -> Vec<Other> {
    let of = |(name, unit, key): &(&str, &str, &str)| Some(other(name, unit, true, sheet.figure(key)?));
    let old = sheet.get(PARTS[3]).is_some() && sheet.get(OLD_BYTES[0]).is_some();
    let scores = [
        ("events per second", "events/s", if old { "" } else { EVENT_RATE }),
        ("transactions", "/s", COUNTS[0].1),
        ("queries", "/s", COUNTS[1].1),
    ];
    scores.iter().filter_map(of).collect()
}

/// fio's word for what sysbench calls a test.
fn rw(operation: &str) -> Option<String> {
    let word = match operation {
        "sequential write (creation) test" | "sequential rewrite test" | "write" => "write",
        "sequential read test" | "read" => "read",
        "random read test" => "randread",
        "random write test" => "randwrite",
        "random r/w test" => "randrw",
        _ => return None,
    };
    Some(word.to_owned())
}
