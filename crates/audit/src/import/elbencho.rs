//! elbencho: its table of phases and its CSV, as two sheets a phase: when the first thread was done, and when the last. It cuts off
//! what it prints: a printed 33395 stands for up to 33396.

use super::cut::{Line, MIB, TIMES, exact, other, walk};
use super::sheet::*;
use super::{Format, Found, Said, Way, Workload};
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

/// Lines in the table that no reader knows.
const STRANGE: usize = 2;

/// No line of figures is longer: histograms are not read.
const LONGEST: usize = 4000;

/// When the first thread was done, and when the last.
type Phase = [Sheet; 2];

fn read(page: &Page, line: usize) -> Option<Found> {
    if is_csv(Line::of(page, line).text) {
        return csv(page, line);
    }
    let mut phases: Vec<Phase> = Vec::new();
    let end = walk(page, line + 1, STRANGE, |here, at| {
        let drawn = !here.text.is_empty() && here.text.bytes().all(|byte| matches!(byte, b'=' | b'-' | b' '));
        (!is_head(here.text)).then(|| drawn || row(here, at, &mut phases).is_some())
    });
    found(phases, end, Vec::new())
}

fn found(phases: Vec<Phase>, end: usize, unread: Vec<crate::page::Unread>) -> Option<Found> {
    let sheets: Vec<Sheet> = phases.into_iter().flat_map(results).collect();
    let told = !sheets.is_empty() || !unread.is_empty();
    told.then_some(Found { said: Said::Sheets(sheets), end, unread })
}

/// A line of the table, taken into its phase.
fn row(line: &Line, at: usize, phases: &mut Vec<Phase>) -> Option<()> {
    let (head, values) = line.text.split_once(':').filter(|_| line.text.len() <= LONGEST)?;
    let (name, label) = match head.starts_with(' ') {
        true => ("", head.trim()),
        false => head.split_once(' ')?,
    };
    if !name.is_empty() {
        name.bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
            .then_some(())?;
        let workload = Workload { name: Some(name.to_owned()), ..Workload::default() };
        phases.push([(); 2].map(|()| Sheet { workload: workload.clone(), ..Sheet::new(at, None) }));
    }
    let [first, last] = phases.last_mut()?;
    let label = label.trim();
    if let Some(values) = values.trim().strip_prefix('[') {
        return latencies(line, label, values, last);
    }
    let words: Vec<&str> = values.split_whitespace().take(3).collect();
    let [one, two] = words.as_slice() else { return None };
    let place = COLUMNS.iter().find(|(names, ..)| names.split('|').any(|name| name == label));
    let place = place.map(|(.., place)| place);
    for (sheet, word) in [(first, one), (last, two)] {
        match place {
            Some(place) => add(sheet, line.count(word)?, place),
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
fn latencies<'a>(line: &Line<'a>, label: &str, values: &'a str, sheet: &mut Sheet) -> Option<()> {
    let of_all = label.starts_with("IO lat");
    for word in values.split_whitespace() {
        if let Some((percent, value)) = word.split_once("%<=") {
            let percent = percent.parse().ok().filter(|percent: &f64| percent.is_finite())?;
            let figure = line.figure(value, 1e3)?;
            sheet.percentiles.extend(of_all.then_some((percent, figure)));
        } else if let Some((name, value)) = word.split_once('=').filter(|_| of_all) {
            let at = ["min", "avg", "max"].iter().position(|one| *one == name)?;
            // Of old versions microseconds without their unit.
            let figure = line.measured(value, TIMES).map(|(figure, _)| figure).or(line.figure(value, 1e3))?;
            sheet.add(Metric::Latency, named([LEAST, MEAN, MOST][at], "", figure));
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

/// The CSV: a head and a line a phase.
fn csv(page: &Page, line: usize) -> Option<Found> {
    let heads: Vec<&str> = Line::of(page, line).text.split(',').take(160).map(str::trim).collect();
    let (mut phases, mut unread, mut at) = (Vec::new(), Vec::new(), line + 1);
    while at < page.len() {
        let here = Line::of(page, at);
        let cells: Vec<&str> = here.text.split(',').take(heads.len() + 1).map(str::trim).collect();
        if cells.len() + 2 < heads.len() || here.text.len() > LONGEST || is_csv(here.text) {
            break;
        }
        match csv_row(&here, at, &heads, &cells).filter(|_| cells.len() == heads.len()) {
            Some(phase) => phases.push(phase),
            None => {
                let why = "elbencho CSV: a line with other columns than its head";
                unread.push(page.unread(at..at + 1, why));
            }
        }
        at += 1;
    }
    found(phases, at, unread)
}

fn csv_row<'a>(line: &Line<'a>, at: usize, heads: &[&str], cells: &[&'a str]) -> Option<Phase> {
    let of = |head: &str| heads.iter().position(|one| *one == head).and_then(|at| cells.get(at)).copied();
    let whole = |head: &str| of(head).and_then(|cell| cell.parse::<u64>().ok());
    let mix = of("rwmix read IOPS [last]").is_some_and(|cell| !cell.is_empty());
    let side = |side: &str| {
        let mut sheet = Sheet::new(at, None);
        for (_, head, place) in COLUMNS.iter().filter(|(_, head, _)| !head.is_empty()) {
            // Beside the reads of a mix its writes have the plain columns.
            let alone = [(IOPS, MIX_RATES[0][0]), (BANDWIDTH, MIX_RATES[1][0]), (BYTES, MIX_COUNTS[1][0])];
            let name = alone.iter().find(|(name, _)| mix && *name == place.0).map_or(place.0, |(_, own)| own);
            let figure = of(&format!("{head} [{side}]")).and_then(|cell| line.count(cell));
            figure.into_iter().for_each(|figure| add(&mut sheet, figure, &(name, place.1, place.2, place.3)));
        }
        sheet.workload = Workload {
            bs: whole("block size"),
            iodepth: whole("IO depth"),
            numjobs: whole("threads").map(|all| all.saturating_mul(whole("hosts").unwrap_or(1).max(1))),
            name: of("operation").map(str::to_owned),
            rw: whole("random").map(|random| if random == 1 { "rand".to_owned() } else { String::new() }),
            ..Workload::default()
        };
        sheet
    };
    let [first, mut last] = ["first", "last"].map(side);
    for (name, key) in [("min", LEAST), ("avg", MEAN), ("max", MOST)] {
        let figure = of(&format!("IO lat us [{name}]")).and_then(|cell| line.count(cell));
        let place = (key, Metric::Latency, "us", 1e3);
        figure.into_iter().filter(|_| !mix).for_each(|figure| add(&mut last, figure, &place));
    }
    let blocks = whole("file size")
        .zip(whole("block size"))
        .is_some_and(|(file, block)| file > 0 && block > 0 && file % block == 0);
    let block = of("block size").and_then(|cell| line.count(cell)).filter(|_| blocks);
    block.into_iter().for_each(|block| last.add(Metric::Total, named(BLOCK, "bytes", block)));
    (first.get(TIME).is_some() && last.get(TIME).is_some()).then_some([first, last])
}

/// A result a phase, of a mix one a way: when the last thread was done.
fn results([first, mut last]: Phase) -> Vec<Sheet> {
    let random = last.workload.rw.take();
    let rw = |way| {
        random.as_ref().map(|random| format!("{random}{}", if way == Way::Read { "read" } else { "write" }))
    };
    last.workload.runtime_s = last.figure(TIME).map(|time| time.value / 1e9);
    let of_way = |at: usize, way| {
        let part =
            |(from, to): (&str, &'static str)| Some((Metric::Other, Named { name: to, ..last.get(from)? }));
        let [rates, moved, _] = MIX_RATES;
        let pairs =
            [(rates[at], IOPS), (moved[at], BANDWIDTH), (MIX_COUNTS[0][at], IOS), (MIX_COUNTS[1][at], BYTES)];
        let figures: Vec<_> = pairs.into_iter().filter_map(part).collect();
        let workload = Workload { rw: rw(way), ..last.workload.clone() };
        let sheet = Sheet { figures, workload, repeats: true, ..Sheet::new(last.line, Some(way)) };
        (sheet.get(IOPS).is_some() || sheet.get(BANDWIDTH).is_some()).then_some(sheet)
    };
    let mix: Vec<Sheet> =
        [(0, Way::Write), (1, Way::Read)].into_iter().filter_map(|(at, way)| of_way(at, way)).collect();
    if mix.is_empty() {
        let way = match last.workload.name.as_deref() {
            Some("READ") => Way::Read,
            Some("WRITE") => Way::Write,
            _ => Way::Both,
        };
        last.workload.rw = rw(way).filter(|_| way != Way::Both);
        let told = [IOPS, BANDWIDTH, ENTRY_RATE].iter().any(|name| last.get(name).is_some());
        last.way = told.then_some(way);
        let name = last.workload.name.clone().unwrap_or_default();
        last.others =
            last.figure(ENTRY_RATE).map(|rate| other(&name, "entries/s", true, rate)).into_iter().collect();
    }
    [vec![first, last], mix].concat()
}
