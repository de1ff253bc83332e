//! elbencho's table of phases as two sheets a phase: when the first thread was done, and when the last.

use super::cut::{Line, TIMES, exact, other, walk};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::number::Figure;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "elbencho",
    example: include_str!("../../fixtures/elbencho/write-read.txt"),
    begins: is_head,
    read,
};

fn is_head(line: &str) -> bool {
    line.starts_with("OPERATION") && line.contains("RESULT TYPE") && line.contains("LAST DONE")
}

/// No line of figures is longer: histograms are not read.
const LONGEST: usize = 4000;

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut phases: Vec<[Sheet; 2]> = Vec::new();
    let end = walk(page, line + 1, 2, |here, at| {
        let drawn = !here.text.is_empty() && here.text.bytes().all(|byte| matches!(byte, b'=' | b'-' | b' '));
        (!is_head(here.text)).then(|| drawn || row(*here, at, &mut phases).is_some())
    });
    Found::sheets(phases.into_iter().flat_map(results).collect(), end)
}

/// A line of the table, taken into its phase.
fn row(line: Line, at: usize, phases: &mut Vec<[Sheet; 2]>) -> Option<()> {
    let (name, _) = line.text.split_once(' ').filter(|_| line.text.len() <= LONGEST)?;
    let line = line.without(name.len());
    let (label, values) = line.text.split_once(':')?;
    if !name.is_empty() {
        let sign = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        name.bytes().all(sign).then_some(())?;
        let workload = Workload { name: Some(name.to_owned()), ..Workload::default() };
        phases.push([(); 2].map(|()| Sheet { workload: workload.clone(), ..Sheet::new(at, None) }));
    }
    let [first, last] = phases.last_mut()?;
    match label.trim() {
        "Elapsed time" => {
            for (sheet, word) in [first, last].into_iter().zip(values.split_whitespace()) {
                sheet.add(Metric::Runtime, named(TIME, "", elapsed(&line, word)?));
            }
        }
        // `[ 1%<=9.5 50%<=108 ... ]`
        "IO lat % us" => {
            let points = values.split_whitespace().filter_map(|word| word.split_once("%<="));
            let point = |(percent, value): (&str, _)| Some((percent.parse().ok()?, line.figure(value, 1e3)?));
            last.percentiles = points.map(point).collect::<Option<_>>()?;
        }
        _ => {
            let (pattern, figures) = fitting(patterns(FORMAT.name), &line)?;
            if let [one, two] = figures[..] {
                first.note(pattern, vec![one]);
                last.note(pattern, vec![two]);
            } else {
                last.note(pattern, figures);
            }
        }
    }
    Some(())
}

/// `1h2m3s`, `2m3.241s`, `1.234s`, `456ms`; the rest is cut off.
fn elapsed<'a>(line: &Line<'a>, word: &'a str) -> Option<Figure> {
    let (mut rest, mut sum) = (word, exact(line.spot(word), 0.0));
    while !rest.is_empty() {
        let (figure, unit) = line.number(rest, 1.0)?;
        let letters = unit.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(unit.len());
        let units = [("h", 3600e9), ("m", 60e9)].into_iter().chain(TIMES.iter().copied());
        let (_, scale) = units.into_iter().find(|(name, _)| *name == &unit[..letters])?;
        sum.value += figure.value * scale;
        sum.high = sum.value + (figure.high - figure.low) * scale;
        rest = &unit[letters..];
    }
    Some(Figure { low: sum.value, ..sum }).filter(|_| !word.is_empty())
}

/// A result a phase, of a mix one a way: when the last thread was done.
fn results([first, mut last]: [Sheet; 2]) -> Vec<Sheet> {
    last.workload.runtime_s = last.figure(TIME).map(|time| time.value / 1e9);
    let ways = [
        (
            Way::Write,
            ["the IOPS of writes", "the throughput of writes", "the I/Os of writes", "the MiB written"],
        ),
        (Way::Read, ["the IOPS of reads", "the throughput of reads", "the I/Os of reads", "the MiB read"]),
    ];
    let to = [IOPS, BANDWIDTH, IOS, BYTES];
    let part =
        |(way, from): (Way, [&'static str; 4])| last.part(way, &[0, 1, 2, 3].map(|at| (from[at], to[at])));
    let told = |sheet: &Sheet| sheet.get(IOPS).is_some() || sheet.get(BANDWIDTH).is_some();
    let mix: Vec<Sheet> = ways.into_iter().map(part).filter(told).collect();
    if mix.is_empty() {
        let name = last.workload.name.clone().unwrap_or_default();
        let rate = last.figure("the entries a second");
        let way = match name.as_str() {
            "READ" => Way::Read,
            "WRITE" => Way::Write,
            _ => Way::Both,
        };
        last.way = (told(&last) || rate.is_some()).then_some(way);
        last.others = rate.map(|rate| other(&name, "entries/s", true, rate)).into_iter().collect();
    }
    [vec![first, last], mix].concat()
}
