//! mbw: `0 Method: MEMCPY Elapsed: 0.00097 MiB: 16.00000 Copy: 16511.868 MiB/s`, and `AVG` of a method's runs.

use super::cut::{Line, MIB, other};
use super::sheet::{Sheet, TIME, named};
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "mbw",
    example: include_str!("../../fixtures/mbw/three.txt"),
    begins: |line| match line.as_bytes().first() {
        Some(b'0'..=b'9' | b'A' | b'\t' | b' ') => line.contains("Method:") && line.contains("Elapsed:"),
        _ => false,
    },
    read,
};

/// A result is the average of a method, or each of its runs where none is printed.
fn read(page: &Page, line: usize) -> Option<Found> {
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut of_method = 0;
    let mut at = line;
    while let Some((sheet, average)) = run(&Line::with_number(page, at, "Method:"), at) {
        if sheets.last().is_some_and(|last| last.workload.name != sheet.workload.name) {
            of_method = sheets.len();
        }
        if average {
            sheets[of_method..].iter_mut().for_each(|run| run.way = None);
        }
        sheets.push(sheet);
        of_method = if average { sheets.len() } else { of_method };
        at += 1;
    }
    Found::sheets(sheets, at)
}

/// One line, and whether it is the average.
fn run(line: &Line, at: usize) -> Option<(Sheet, bool)> {
    let (number, rest) = line.text.split_once("Method:")?;
    let average = number.trim() == "AVG";
    (average || line.count(number.trim()).is_some()).then_some(())?;
    let (name, rest) = rest.split_once("Elapsed:")?;
    let (seconds, rest) = line.number(rest, 1e9)?;
    let (bytes, rest) = line.number(rest.trim_start().strip_prefix("MiB:")?, MIB)?;
    let (rate, rest) = line.number(rest.trim_start().strip_prefix("Copy:")?, MIB)?;
    (rest.trim() == "MiB/s").then_some(())?;
    let mut sheet = Sheet::new(at, Some(Way::Both));
    sheet.add(Metric::Runtime, named(TIME, "s", seconds));
    sheet.add(Metric::Total, named("the size", "MiB", bytes));
    // What a copy moves is no I/O: it is told beside.
    sheet.add(Metric::Bandwidth, named("the rate", "MiB/s", rate));
    sheet.others = vec![other(name.trim(), "MiB/s", true, rate.scaled(1.0 / MIB))];
    sheet.workload = Workload { name: Some(name.trim().to_owned()), ..Workload::default() };
    Some((sheet, average))
}
