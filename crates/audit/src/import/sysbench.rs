//! sysbench 0.4, 0.5, 1.0 and 1.1: cpu, memory, fileio, oltp, threads, mutex. Figures that the
//! versions name differently are read as one.

use super::cut::{other, parse_binary_size, walk};
use super::format::{Format, ImportedOutputs};
use super::sheet::*;
use super::workload::{OtherToolResult, ResultDirection, Workload};
use crate::page::AuditedPage;

pub(crate) const FORMAT: Format = Format {
    name: "sysbench",
    example: include_str!("../../fixtures/sysbench/fileio-1.0.txt"),
    begins: |line| {
        let line = line.trim();
        (line.ends_with(':') && (HEADS.contains(&line) || line == RUNNING)) || is_version(line)
    },
    read,
};

const RUNNING: &str = "Running the test with following options:";

/// Heads of sections, at which a partly pasted output may begin. Each occurs once per output,
/// except `Throughput:`, which 1.1 may print twice.
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

/// Limit of lines without figures between lines of an output, such as options that tests print.
const STRANGE: usize = 12;

/// Returns true for `sysbench 1.0.20 (using ...)`.
fn is_version(line: &str) -> bool {
    let version = line.trim_start_matches('\u{feff}').strip_prefix("sysbench ");
    let mut parts = version.unwrap_or("").split(['.', ' ', ':', '-']);
    let mut number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
    number() && number()
}

fn read(page: &AuditedPage, line: usize) -> Option<ImportedOutputs> {
    let mut sheet = Sheet::new(line, None);
    let (mut heads, mut said, mut figures) = (Vec::<String>::new(), SysbenchOptions::default(), 0);
    let end = walk(page, line, STRANGE, |here, at| {
        let text = here.text.trim();
        // A section that comes once belongs to the next output if it comes again.
        let most = if text == "Throughput:" { 2 } else { 1 };
        let again = heads.iter().filter(|head| *head == text).count() >= most;
        if at > line && (is_version(text) || again) {
            return None;
        }
        if HEADS.contains(&text) || text == RUNNING {
            heads.push(text.to_owned());
            return (text != RUNNING || heads.len() == 1).then_some(true);
        }
        if said.take_option(text) || is_progress(text) || is_version(text) {
            return Some(true);
        }
        if sheet.take_line(here, patterns(FORMAT.name)) {
            figures += 1;
            return Some(true);
        }
        // A line after the figures that is in no section of this tool is foreign.
        (sheet.get("the execution time of a thread").is_none() || text.is_empty()).then_some(false)
    });
    if figures < 2 { None } else { ImportedOutputs::sheets(results(sheet, said), end) }
}

/// Returns true for lines of a running test, and bars of its histogram.
fn is_progress(text: &str) -> bool {
    (text.starts_with("[ ") && text.contains("s ] "))
        || text.split_once(" |").is_some_and(|(value, bar)| {
            value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
                && bar.starts_with(['*', ' '])
        })
}

#[derive(Default)]
struct SysbenchOptions {
    operation: Option<String>,
    block: Option<u64>,
}

impl SysbenchOptions {
    fn take_option(&mut self, text: &str) -> bool {
        let after = |labels: &[&str]| labels.iter().find_map(|label| text.strip_prefix(label));
        if let Some(block) = after(&["Block size ", "block size: ", "Memory block size: "])
            .and_then(parse_binary_size)
        {
            // Sizes below a KiB are printed as zero.
            self.block = Some(block).filter(|block| *block > 0);
            return true;
        }
        let doing = || after(&["Doing "]).filter(|rest| rest.ends_with(" test"));
        let operation = after(&["operation: ", "Memory operations type: "]).or_else(doing);
        self.operation =
            operation.map(|operation| operation.trim().to_owned()).or(self.operation.take());
        // The latencies include the wait for a requested rate, so they are not summed here.
        operation.is_some() || text.starts_with("Target transaction rate:")
    }
}

/// Returns the sheet of all figures, followed by the results of fileio per direction, the bandwidth
/// of memory, or anything else as scores.
fn results(mut sheet: Sheet, asked: SysbenchOptions) -> Vec<Sheet> {
    sheet.workload = Workload {
        rw: asked.operation.as_deref().and_then(rw),
        bs: asked.block,
        numjobs: sheet.figure_by_name("the number of threads").map(|threads| threads.value as u64),
        runtime_s: sheet.figure_by_name(TIME).map(|time| time.value / 1e9),
        ..Workload::default()
    };
    if let (Some(percent), Some(percentile)) =
        (sheet.figure_by_name("the percent"), sheet.figure_by_name("the percentile"))
    {
        sheet.percentiles = vec![(percent.value, percentile)];
        sheet.figures.retain(|(_, one)| !one.name.starts_with("the percent"));
    }
    let mut made = Vec::new();
    for (way, rate, bytes) in [
        (ResultDirection::Read, "the reads a second", "the MiB read a second"),
        (ResultDirection::Write, "the writes a second", "the MiB written a second"),
    ] {
        // fileio's latencies cover reads, writes and fsyncs together.
        if sheet.figure_by_name(rate).is_some_and(|rate| rate.value > 0.0) {
            made.push(sheet.partial_sheet(way, &[(rate, IOPS), (bytes, BANDWIDTH)]));
        }
    }
    if sheet.get("the MiB moved").is_some() {
        let way = match asked.operation.as_deref() {
            Some("write") => ResultDirection::Write,
            Some("read") => ResultDirection::Read,
            _ => ResultDirection::Both,
        };
        let events = if sheet.get("the operations").is_none() { "the rate of events" } else { "" };
        let figures =
            [("the MiB moved", BYTES), ("the throughput", BANDWIDTH), (events, IOPS), (MEAN, MEAN)];
        made.push(Sheet {
            percentiles: sheet.percentiles.clone(),
            ..sheet.partial_sheet(way, &figures)
        });
    }
    let old = sheet.get("the total").is_some() && sheet.get("the read").is_some();
    let scores = [
        ("events per second", "events/s", if old { "" } else { "the rate of events" }),
        ("transactions", "/s", "the transactions a second"),
        ("queries", "/s", "the queries a second"),
    ];
    let score = |(name, unit, key): &(&str, &str, &str)| {
        Some(other(name, unit, true, sheet.figure_by_name(key)?))
    };
    let others: Vec<OtherToolResult> = scores.iter().filter_map(score).collect();
    if !others.is_empty() || made.is_empty() {
        // A latency of computing or of transactions is not one of I/Os. `0.00` is below what is
        // printed.
        let mean = sheet.figure_by_name(MEAN).filter(|mean| mean.value > 0.0);
        let mean = mean.map(|mean| other("mean latency", "ms", false, mean.scaled(1e-6)));
        made.push(Sheet {
            others: others.into_iter().chain(mean).collect(),
            ..sheet.partial_sheet(ResultDirection::Both, &[])
        });
    }
    made.insert(0, sheet);
    made
}

/// Returns fio's word for a sysbench test.
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
