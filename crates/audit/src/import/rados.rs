//! `rados bench`: what it prints of a write, seq or rand when it is over. Its MB are MiB; it cuts its IOPS to whole numbers.

use super::cut::{Line, MIB};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "rados bench",
    help: "the totals of rados bench: write, seq, rand",
    example: include_str!("../../fixtures/ceph/rados-write.txt"),
    begins: |line| line.starts_with("Total time run"),
    read,
};

const SECOND: f64 = 1e9;

/// Older versions tell fewer, without `(s)`.
const PATTERNS: &[Pattern] = &[
    ("Total time run: #", &[(TIME, Metric::Runtime, "s", SECOND)]),
    ("Total writes made: #", &[(IOS, Metric::Issued, "", 1.0)]),
    ("Total reads made: #", &[(IOS, Metric::Issued, "", 1.0)]),
    ("Write size: #|Read size: #", &[(SIZE, Metric::Total, "bytes", 1.0)]),
    ("Object size: #", &[("the object size", Metric::Total, "bytes", 1.0)]),
    ("Bandwidth (MB/sec): #", &[(BANDWIDTH, Metric::Bandwidth, "MB/sec", MIB)]),
    ("Stddev Bandwidth: #", &[("the deviation of the bandwidth", Metric::Interval, "MB/sec", MIB)]),
    ("Max bandwidth (MB/sec): #", &[("the greatest bandwidth", Metric::Interval, "MB/sec", MIB)]),
    ("Min bandwidth (MB/sec): #", &[("the least bandwidth", Metric::Interval, "MB/sec", MIB)]),
    ("Average IOPS: #", &[(IOPS, Metric::Iops, "", 1.0)]),
    ("Stddev IOPS: #", &[("the deviation of the IOPS", Metric::Interval, "", 1.0)]),
    ("Max IOPS: #", &[("the greatest IOPS", Metric::Interval, "", 1.0)]),
    ("Min IOPS: #", &[("the least IOPS", Metric::Interval, "", 1.0)]),
    ("Average Latency(s): #|Average Latency: #", &[(MEAN, Metric::Latency, "s", SECOND)]),
    (
        "Stddev Latency(s): #|Stddev Latency: #",
        &[("the deviation of the latency", Metric::Latency, "s", SECOND)],
    ),
    ("Max latency(s): #|Max latency: #", &[(MOST, Metric::Latency, "s", SECOND)]),
    ("Min latency(s): #|Min latency: #", &[(LEAST, Metric::Latency, "s", SECOND)]),
];
const SIZE: &str = "the size of an I/O";

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut sheet = Sheet::new(line, None);
    let mut at = line;
    while let Some(pattern) = sheet.take(&Line::of(page, at), PATTERNS) {
        match pattern {
            "Total time run: #" if at > line => break,
            "Total writes made: #" => sheet.way = Some(Way::Write),
            "Total reads made: #" => sheet.way = Some(Way::Read),
            _ => {}
        }
        at += 1;
    }
    for (metric, named) in &mut sheet.figures {
        let value = named.figure.value;
        match *metric {
            Metric::Iops => (named.figure.low, named.figure.high) = (value, value + 1.0),
            Metric::Total => named.figure = super::cut::counted(named.figure),
            _ => {}
        }
    }
    sheet.workload = Workload {
        bs: sheet.figure(SIZE).map(|size| size.value as u64),
        runtime_s: sheet.figure(TIME).map(|time| time.value / SECOND),
        ..Workload::default()
    };
    let told = sheet.way.is_some() && sheet.get(BANDWIDTH).is_some();
    Found::sheets(vec![sheet], at).filter(|_| told)
}
