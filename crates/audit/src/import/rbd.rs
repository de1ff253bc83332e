//! `rbd bench` and `rbd bench-write`: the line `elapsed: ... ops: ...` in which it ends, with what it was asked before it. The
//! elapsed seconds are cut to a whole number; bytes a second are of 1024 where they have a prefix.

use super::cut::Line;
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "rbd bench",
    help: "rbd bench and rbd bench-write of any version",
    example: include_str!("../../fixtures/ceph/rbd-new.txt"),
    begins: |line| line.starts_with("elapsed: ") || (line.starts_with("bench") && line.contains(" io_size ")),
    read,
};

/// Lines of progress between what was asked and the end.
const MOST: usize = 100_000;

fn read(page: &Page, line: usize) -> Option<Found> {
    let is_progress = |at: &usize| {
        let mut words = page.bare(*at).0.split_whitespace();
        words.next().is_some_and(|word| word == "SEC" || word.parse::<u64>().is_ok())
            && words.next().is_some()
    };
    let asked = Line::of(page, line);
    let begins = asked.text.starts_with("bench");
    let from = line + usize::from(begins);
    let at = from + (from..page.len().min(from + MOST)).take_while(is_progress).count();
    let mut sheet = last(&Line::of(page, at), at)?;
    if begins {
        sheet.way = way(asked.text);
        sheet.workload = workload(asked.text);
    }
    sheet.workload.runtime_s = sheet.figure(TIME).map(|time| time.value / 1e9);
    Found::sheets(vec![sheet], at + 1)
}

/// `bench  type write io_size 4096 io_threads 16 bytes 1073741824 pattern sequential`.
fn workload(text: &str) -> Workload {
    let words: Vec<&str> = text.split_whitespace().collect();
    let number = |key: &str| {
        let at = words.iter().position(|word| *word == key)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    Workload { bs: number("io_size"), iodepth: number("io_threads"), numjobs: Some(1), ..Workload::default() }
}

fn way(text: &str) -> Option<Way> {
    Some(match () {
        () if text.contains("type read ") => Way::Read,
        () if text.contains("type readwrite") => Way::Both,
        () => Way::Write,
    })
}

/// `elapsed: 10   ops: 262144   ops/sec: 26214.4   bytes/sec: 102 MiB/s`, of old without a prefix.
const PATTERN: Pattern = (
    "elapsed: # ops: # ops/sec: # bytes/sec: #@/s|elapsed: # ops: # ops/sec: # bytes/sec: #",
    &[
        (TIME, Metric::Runtime, "s", 1e9),
        (IOS, Metric::Issued, "", 1.0),
        (IOPS, Metric::Iops, "", 1.0),
        (BANDWIDTH, Metric::Bandwidth, "", 1.0),
    ],
);

fn last(line: &Line, at: usize) -> Option<Sheet> {
    let mut sheet = Sheet::new(at, Some(Way::Both));
    sheet.take(line, &[PATTERN])?;
    for (metric, Named { figure, .. }) in &mut sheet.figures {
        match metric {
            Metric::Runtime => (figure.low, figure.high) = (figure.value, figure.value + 1e9),
            // Some versions cut what others round.
            Metric::Bandwidth => figure.high = figure.value + (figure.high - figure.low),
            _ => {}
        }
    }
    Some(sheet)
}
