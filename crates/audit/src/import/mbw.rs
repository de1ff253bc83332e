//! mbw: `0 Method: MEMCPY Elapsed: 0.00097 MiB: 16.00000 Copy: 16511.868 MiB/s`, and `AVG` of a method's runs.

use super::cut::{Line, MIB, other};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::Page;

/// Lines of one method that stand together.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// `MEMCPY`.
    pub name: String,
    /// Its runs, in their order.
    pub runs: Vec<Run>,
    /// The line `AVG`.
    pub average: Option<Run>,
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Index of its line.
    pub line: usize,
    /// Which run, from 0; of `AVG` none.
    pub number: Option<Figure>,
    /// Seconds.
    pub seconds: Figure,
    /// Bytes that were copied.
    pub bytes: Figure,
    /// Bytes a second.
    pub rate: Figure,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "mbw",
    help: "runs and averages of mbw",
    example: include_str!("../../fixtures/mbw/three.txt"),
    begins: |line| match line.as_bytes().first() {
        Some(b'0'..=b'9' | b'A' | b'\t' | b' ') => line.contains("Method:") && line.contains("Elapsed:"),
        _ => false,
    },
    read,
};

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut methods: Vec<Method> = Vec::new();
    let mut at = line;
    while let Some((name, run)) = run(&Line::with_number(page, at, "Method:"), at) {
        match methods.last_mut().filter(|method| method.name == name && method.average.is_none()) {
            Some(method) if run.number.is_none() => method.average = Some(run),
            Some(method) => method.runs.push(run),
            None => {
                let (runs, average) =
                    if run.number.is_some() { (vec![run], None) } else { (Vec::new(), Some(run)) };
                methods.push(Method { name: name.to_owned(), runs, average });
            }
        }
        at += 1;
    }
    (!methods.is_empty()).then(|| Found { said: Said::Mbw(methods), end: at, unread: Vec::new() })
}

fn run<'a>(line: &Line<'a>, at: usize) -> Option<(&'a str, Run)> {
    let (head, rest) = line.text.split_once("Method:")?;
    let number = match head.trim() {
        "AVG" => None,
        number => Some(line.count(number)?),
    };
    let (name, rest) = rest.split_once("Elapsed:")?;
    let (seconds, rest) = line.number(rest, 1.0)?;
    let (bytes, rest) = line.number(rest.trim_start().strip_prefix("MiB:")?, MIB)?;
    let (rate, rest) = line.number(rest.trim_start().strip_prefix("Copy:")?, MIB)?;
    (rest.trim() == "MiB/s").then_some((name.trim(), Run { line: at, number, seconds, bytes, rate }))
}

/// Every figure of its methods.
pub(super) fn figures(methods: &[Method], tell: &mut dyn FnMut(Told)) {
    for run in methods.iter().flat_map(|method| method.runs.iter().chain(&method.average)) {
        tell((Metric::Runtime, Unit::Nanoseconds, run.seconds.scaled(1e9)));
        tell((Metric::Total, Unit::Bytes, run.bytes));
        tell((Metric::Bandwidth, Unit::BytesPerSecond, run.rate));
    }
}

/// A reading a method: its average, or its runs where none is printed.
pub(super) fn readings(methods: &[Method]) -> Vec<Reading> {
    let of_method = |method: &Method| -> Vec<Reading> {
        let told: Vec<Run> = method.average.map_or_else(|| method.runs.clone(), |average| vec![average]);
        let reading = |run: &Run| {
            let workload = Workload { name: Some(method.name.clone()), ..Workload::default() };
            let in_mib = run.rate.scaled(1.0 / MIB);
            Reading {
                others: vec![other(&method.name, "MiB/s", true, in_mib)],
                ..Reading::new(run.line, workload, Way::Both)
            }
        };
        told.iter().map(reading).collect()
    };
    methods.iter().flat_map(of_method).collect()
}
