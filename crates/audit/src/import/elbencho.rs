//! elbencho: its table of phases and its CSV, as two sheets a phase: when the first thread was done, and when the last. It cuts off
//! what it prints: a printed 33395 stands for up to 33396.

use super::cut::{Line, MIB, Record, TIMES, by_commas, exact, other, records, walk};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::number::Figure;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "elbencho",
    help: "elbencho's table of phases and its CSV",
    example: include_str!("../../fixtures/elbencho/write-read.txt"),
    begins: |line| is_head(line) || is_csv(line),
    read,
};

fn is_head(line: &str) -> bool {
    line.starts_with("OPERATION") && line.contains("RESULT TYPE") && line.contains("LAST DONE")
}

fn is_csv(line: &str) -> bool {
    (line.starts_with("ISO date,") || line.starts_with("label,path type,")) && line.contains(",operation,")
}

pub(crate) const ENTRIES: &str = "the entries";
pub(crate) const ENTRY_RATE: &str = "the entries a second";
/// Bytes of a block of files that are whole blocks.
pub(crate) const BLOCK: &str = "the block size";
/// The writes and the reads of a mix: I/Os a second, bytes a second, entries a second, and as many in all.
pub(crate) const MIX_RATES: [[&str; 2]; 3] = [
    ["the IOPS of writes", "the IOPS of reads"],
    ["the throughput of writes", "the throughput of reads"],
    ["the entries written a second", "the entries read a second"],
];
pub(crate) const MIX_COUNTS: [[&str; 2]; 2] =
    [["the I/Os of writes", "the I/Os of reads"], ["the MiB written", "the MiB read"]];

const fn rate(name: &'static str) -> Place {
    (name, Metric::Iops, "", 1.0)
}

const fn moved(name: &'static str) -> Place {
    (name, Metric::Total, "MiB", MIB)
}

/// What the table calls a figure by version, what the CSV does.
const COLUMNS: &[(&str, &str, Place)] = &[
    ("IOPS|IOPS total", "IOPS", rate(IOPS)),
    ("IOPS write", "", rate(MIX_RATES[0][0])),
    ("IOPS read", "rwmix read IOPS", rate(MIX_RATES[0][1])),
    ("IOs total", "", count(IOS)),
    ("IOs write", "", count(MIX_COUNTS[0][0])),
    ("IOs read", "", count(MIX_COUNTS[0][1])),
    ("Throughput MiB/s|MiB/s total", "MiB/s", mib_a_second(BANDWIDTH)),
    ("Throughput MB/s", "", (BANDWIDTH, Metric::Bandwidth, "MB/s", 1e6)),
    ("MiB/s write", "", mib_a_second(MIX_RATES[1][0])),
    ("MiB/s read", "rwmix read MiB/s", mib_a_second(MIX_RATES[1][1])),
    ("Total MiB", "MiB", moved(BYTES)),
    ("MiB write", "", moved(MIX_COUNTS[1][0])),
    ("MiB read", "rwmix read MiB", moved(MIX_COUNTS[1][1])),
    ("Files/s|Files/s total|Objects/s", "entries/s", a_second(ENTRY_RATE)),
    ("Files/s write", "", a_second(MIX_RATES[2][0])),
    ("Files/s read", "", a_second(MIX_RATES[2][1])),
    ("Files total|Objects total", "entries", count(ENTRIES)),
    ("Elapsed ms", "time ms", (TIME, Metric::Runtime, "", 1e6)),
];

/// Latencies of I/Os, of the table and of the CSV.
const LATENCIES: [(&str, &str, &str); 3] =
    [("min", "IO lat us [min]", LEAST), ("avg", "IO lat us [avg]", MEAN), ("max", "IO lat us [max]", MOST)];

/// Lines in the table that no reader knows.
const STRANGE: usize = 2;

/// No line of figures is longer: histograms are not read.
const LONGEST: usize = 4000;

/// When the first thread was done, and when the last.
type Phase = [Sheet; 2];

fn read(page: &Page, line: usize) -> Option<Found> {
    if is_csv(Line::of(page, line).text) {
        let goes_on = |text: &str| text.len() <= LONGEST && !is_csv(text);
        return Found::listed(records(page, line, by_commas, goes_on, |record| {
            record_of(record).map(results)
        }));
    }
    let mut phases: Vec<Phase> = Vec::new();
    let end = walk(page, line + 1, STRANGE, |here, at| {
        let drawn = !here.text.is_empty() && here.text.bytes().all(|byte| matches!(byte, b'=' | b'-' | b' '));
        (!is_head(here.text)).then(|| drawn || row(here, at, &mut phases).is_some())
    });
    Found::sheets(phases.into_iter().flat_map(results).collect(), end)
}

/// A line of the table, taken into its phase.
fn row(line: &Line, at: usize, phases: &mut Vec<Phase>) -> Option<()> {
    let (head, values) = line.text.split_once(':').filter(|_| line.text.len() <= LONGEST)?;
    let (name, label) = if head.starts_with(' ') { ("", head.trim()) } else { head.split_once(' ')? };
    if !name.is_empty() {
        let sign = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        name.bytes().all(sign).then_some(())?;
        let workload = Workload { name: Some(name.to_owned()), ..Workload::default() };
        phases.push([(); 2].map(|()| Sheet { workload: workload.clone(), ..Sheet::new(at, None) }));
    }
    let [first, last] = phases.last_mut()?;
    let label = label.trim();
    if let Some(values) = values.trim().strip_prefix('[') {
        return latencies(line, label.starts_with("IO lat"), values, last);
    }
    let words: Vec<&str> = values.split_whitespace().take(3).collect();
    let [one, two] = words.as_slice() else { return None };
    let place = COLUMNS.iter().find(|(names, ..)| names.split('|').any(|name| name == label));
    for (sheet, word) in [(first, one), (last, two)] {
        match place {
            Some((.., place)) => add(sheet, line.count(word)?, place),
            None if label == "Elapsed time" => {
                sheet.add(Metric::Runtime, named(TIME, "", human(line, word)?))
            }
            // CPU and other lines of two figures are of the table and tell nothing here.
            None => line.figure(word, 1.0).map(|_| ())?,
        }
    }
    Some(())
}

/// Notes a count, or what was cut off.
fn add(sheet: &mut Sheet, figure: Figure, (name, metric, unit, scale): &Place) {
    let high = if *metric == Metric::Issued { figure.value } else { figure.value + 1.0 };
    sheet.add(*metric, named(name, unit, Figure { high, ..figure }.scaled(*scale)));
}

/// `[ min=73us avg=1.20ms max=9.87ms ]`, `[ 1%<=9.5 50%<=108 ... ]`: those of I/Os.
fn latencies<'a>(line: &Line<'a>, of_all: bool, values: &'a str, sheet: &mut Sheet) -> Option<()> {
    for word in values.split_whitespace().filter(|_| of_all) {
        if let Some((percent, value)) = word.split_once("%<=") {
            let percent = percent.parse().ok().filter(|percent: &f64| percent.is_finite())?;
            sheet.percentiles.push((percent, line.figure(value, 1e3)?));
        } else if let Some((name, value)) = word.split_once('=') {
            let (.., name) = LATENCIES.iter().find(|(one, ..)| *one == name)?;
            // Of old versions microseconds without their unit.
            let figure = line.measured(value, TIMES).map(|(figure, _)| figure).or(line.figure(value, 1e3))?;
            sheet.add(Metric::Latency, named(name, "", figure));
        }
    }
    Some(())
}

/// `1h2m3s`, `2m3.241s`, `1.234s`, `456ms`.
fn human<'a>(line: &Line<'a>, word: &'a str) -> Option<Figure> {
    let (mut rest, mut total, mut unit) = (word, 0.0, 1.0);
    (!rest.is_empty() && rest.len() <= 20).then_some(())?;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let value: f64 = rest.get(..digits)?.parse().ok()?;
        let units = [("ms", 1e6), ("h", 3600e9), ("m", 60e9), ("s", 1e9)];
        let (name, scale) = units.into_iter().find(|(name, _)| rest[digits..].starts_with(name))?;
        let decimals = rest[..digits].split_once('.').map_or(0, |(_, decimals)| decimals.len());
        unit = scale * 10f64.powi(-i32::try_from(decimals).ok()?);
        total += value * scale;
        rest = &rest[digits + name.len()..];
    }
    Some(Figure { high: total + unit, ..exact(line.spot(word), total) })
}

fn record_of(record: &Record) -> Option<Phase> {
    let count = |name: &str| record.line.count(record.of(name)?);
    let mix = record.of("rwmix read IOPS [last]").is_some_and(|cell| !cell.is_empty());
    let (file, block) = (record.whole("file size"), record.whole("block size"));
    let [first, mut last] = ["first", "last"].map(|side| {
        let mut sheet = Sheet::new(record.at, None);
        for (_, head, (name, metric, unit, scale)) in COLUMNS.iter().filter(|(_, head, _)| !head.is_empty()) {
            // Beside the reads of a mix its writes have the plain columns.
            let alone = [(IOPS, MIX_RATES[0][0]), (BANDWIDTH, MIX_RATES[1][0]), (BYTES, MIX_COUNTS[1][0])];
            let name = alone.iter().find(|(one, _)| mix && one == name).map_or(*name, |(_, own)| own);
            let figure = count(&format!("{head} [{side}]"));
            figure.into_iter().for_each(|figure| add(&mut sheet, figure, &(name, *metric, unit, *scale)));
        }
        let (threads, hosts) = (record.whole("threads"), record.whole("hosts").unwrap_or(1).max(1));
        sheet.workload = Workload {
            bs: block,
            iodepth: record.whole("IO depth"),
            numjobs: threads.map(|threads| threads.saturating_mul(hosts)),
            name: record.of("operation").map(str::to_owned),
            rw: record.whole("random").map(|random| if random == 1 { "rand" } else { "" }.to_owned()),
            ..Workload::default()
        };
        sheet
    });
    for (_, head, name) in LATENCIES.iter().filter(|_| !mix) {
        let figure = count(head);
        figure.into_iter().for_each(|figure| add(&mut last, figure, &(name, Metric::Latency, "us", 1e3)));
    }
    let whole_blocks =
        file.zip(block).is_some_and(|(file, block)| file > 0 && block > 0 && file % block == 0);
    let block = count("block size").filter(|_| whole_blocks);
    block.into_iter().for_each(|block| last.add(Metric::Total, named(BLOCK, "bytes", block)));
    (first.get(TIME).is_some() && last.get(TIME).is_some()).then_some([first, last])
}

/// A result a phase, of a mix one a way: when the last thread was done.
fn results([first, mut last]: Phase) -> Vec<Sheet> {
    let random = last.workload.rw.take();
    let rw = |word: &str| random.as_ref().map(|random| format!("{random}{word}"));
    last.workload.runtime_s = last.figure(TIME).map(|time| time.value / 1e9);
    let [rates, moved, _] = MIX_RATES;
    let ways = [(0, Way::Write, "write"), (1, Way::Read, "read")];
    let mix: Vec<Sheet> = ways
        .into_iter()
        .map(|(at, way, word)| {
            let names = [
                (rates[at], IOPS),
                (moved[at], BANDWIDTH),
                (MIX_COUNTS[0][at], IOS),
                (MIX_COUNTS[1][at], BYTES),
            ];
            let part = last.part(way, &names);
            Sheet { workload: Workload { rw: rw(word), ..part.workload }, ..part }
        })
        .filter(|sheet| sheet.get(IOPS).is_some() || sheet.get(BANDWIDTH).is_some())
        .collect();
    if mix.is_empty() {
        let name = last.workload.name.clone().unwrap_or_default();
        let (way, rw) = match name.as_str() {
            "READ" => (Way::Read, rw("read")),
            "WRITE" => (Way::Write, rw("write")),
            _ => (Way::Both, None),
        };
        last.workload.rw = rw;
        let told = [IOPS, BANDWIDTH, ENTRY_RATE].iter().any(|name| last.get(name).is_some());
        last.way = told.then_some(way);
        let rate = last.figure(ENTRY_RATE);
        last.others = rate.map(|rate| other(&name, "entries/s", true, rate)).into_iter().collect();
    }
    [vec![first, last], mix].concat()
}
