//! P7 and P8: what a cache answered in place of the medium.

use super::measured::{Measured, Origin};
use super::{Hardware, worst};
use crate::finding::{Finding, Severity};
use crate::knowledge::media::{Medium, hdd_iops_queued};
use crate::knowledge::mentions::{Word, text_has, text_says};
use crate::knowledge::{iops_text, rate_text};
use crate::number::{Unit, quantities};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;
use std::collections::HashMap;

/// P7.
pub const BASE: Rule = Rule {
    id: "P7",
    name: "a guest is not faster than what is beneath it",
    severity: Severity::WrongConclusion,
    holds: "cells of guests against the cell of the host, same load, same table: above 1.1 times is ambiguous, above twice is a cache",
    silent: "where a table has no or several rows (columns) of a host, or the cells have no load of reads or writes",
    check: base,
};

/// P8.
pub const DISKS: Rule = Rule {
    id: "P8",
    name: "hard disks have few random I/Os",
    severity: Severity::WrongConclusion,
    holds: "random I/Os a second of blocks up to 64k against the spindles times their I/Os with a deep queue (about 200 of 7200 rpm): \
            above 1.5 times ambiguous, above three times wrong-conclusion; without a number of spindles, more than 60 of them",
    silent: "where flash is named before the figure or by an output, or hard disks are not listed",
    check: disks,
};

const ABOVE_BASE: f64 = 1.1;
const TWICE: f64 = 2.0;

const HOST: &[&str] = &[
    "host",
    "bare metal",
    "bare-metal",
    "baremetal",
    "physical",
    "native",
    "物理机",
    "物理主机",
    "宿主机",
    "裸机",
    "физическ",
    "хост",
    "железо",
];

fn base(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    for (index, table) in evidence.tables.iter().enumerate() {
        let mine = hardware.of_table(index);
        let over = above_base(table, mine);
        let Some((first, host)) = over.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other))) else {
            continue;
        };
        let times = ratio(&(first, host));
        let severity = if times > TWICE { Severity::WrongConclusion } else { Severity::Ambiguous };
        let printed = if first.iops.is_some() { Measured::told_ios } else { Measured::told_bytes };
        let told = printed(first) / printed(host);
        let message = format!(
            "{} in the guest is {told:.1} times the {} of the host beneath it: a cache answered, not the medium",
            amount(evidence.page, first),
            amount(evidence.page, host)
        );
        let others = over.iter().map(|(guest, _)| guest.spot).filter(|spot| *spot != first.spot);
        sink.finds(Finding::new("P7", severity, first.spot, message).against([host.spot]).against(others));
    }
}

fn value(one: &Measured) -> f64 {
    one.iops.or(one.bandwidth).map_or(0.0, |interval| interval.low)
}

fn ratio((guest, host): &(&Measured, &Measured)) -> f64 {
    value(guest) / host.iops.or(host.bandwidth).map_or(f64::INFINITY, |interval| interval.high)
}

/// A figure as the page prints it, where it does with its unit: what is rounded again may not give the ratio.
fn amount(page: &Page, one: &Measured) -> String {
    let printed = page.quote(one.spot);
    let own = quantities(0, printed);
    if let [own] = own.as_slice() {
        let long = (own.figure.spot.end - own.figure.spot.start) as usize == printed.len();
        match (one.iops.is_some(), own.unit) {
            (true, Unit::Bare) if long => return format!("{printed} I/Os a second"),
            (false, Unit::BytesPerSecond) if long => return printed.to_owned(),
            _ => {}
        }
    }
    match (one.iops, one.bandwidth) {
        (Some(_), _) => format!("{} I/Os a second", iops_text(one.told_ios())),
        (None, Some(_)) => rate_text(one.told_bytes()),
        _ => String::new(),
    }
}

/// Cells of guests above the cell of the one host, which stand in one row of it or one column.
fn above_base<'a>(table: &Table, mine: &'a [Measured]) -> Vec<(&'a Measured, &'a Measured)> {
    let host = |text: &str| text_has(text, HOST) && !guest(text);
    let rows = table.rows.iter().map(|row| row.label.as_str());
    let heads = table.columns.iter().map(|column| column.head.as_str());
    let base_row = only(rows.map(host));
    let base_column = only(heads.map(host));
    let mut over = Vec::new();
    let cells: HashMap<(usize, usize), &Measured> =
        mine.iter().filter_map(|one| Some((cell(one)?, one))).collect();
    let guests: Vec<bool> = match base_row {
        Some(_) => table.rows.iter().map(|row| guest(&row.label)).collect(),
        None => table.columns.iter().map(|column| guest(&column.head)).collect(),
    };
    let is_guest = |at: usize| guests.get(at).copied().unwrap_or(false);
    for ((row, column), one) in mine.iter().filter_map(|one| Some((cell(one)?, one))) {
        let at = match (base_row, base_column) {
            (Some(base), None) if row != base && is_guest(row) => (base, column),
            (None, Some(base)) if column != base && is_guest(column) => (row, base),
            _ => continue,
        };
        let Some(host) = cells.get(&at).filter(|host| host.iops.is_some() == one.iops.is_some()) else {
            continue;
        };
        if one.load.way.is_some() && ratio(&(one, host)) > ABOVE_BASE {
            over.push((one, *host));
        }
    }
    over
}

/// Row and column.
fn cell(one: &Measured) -> Option<(usize, usize)> {
    match one.origin {
        Origin::Cell(_, row, column) => Some((row, column)),
        Origin::Output(_) => None,
    }
}

fn guest(text: &str) -> bool {
    text_says(text, Word::Guest)
}

/// The index of the one that is.
fn only(mut all: impl Iterator<Item = bool>) -> Option<usize> {
    let first = all.position(|is| is)?;
    (!all.any(|is| is)).then_some(first)
}

/// Fewer than so many times the ceiling may be short strokes and luck.
const SOME: f64 = 1.5;
const FAR: f64 = 3.0;
/// More disks than that are a rack, which a page would name.
const RACK: f64 = 60.0;
/// Blocks up to this take hardly longer than small ones.
const SMALL: u64 = 64 << 10;

fn disks(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let mentions = &hardware.mentions;
    let first = |word: Word| mentions.words.iter().find(|said| said.word == word).map(|said| said.line);
    let listed = |line: usize| is_listed(evidence.page.line(line));
    let named_nvme = evidence.fio().flat_map(|fio| &fio.disks).any(|disk| disk.name.starts_with("nvme"));
    let drive = |is_disk: bool| {
        let kind = |medium: Medium| (medium == Medium::Hdd) == is_disk;
        mentions
            .drives
            .iter()
            .find(|named| kind(hardware.ratings.drives()[named.drive].media))
            .map(|named| named.spot.index())
    };
    let Some(disk) = first(Word::Hdd).into_iter().chain(drive(true)).min() else { return };
    if !listed(disk) || named_nvme {
        return;
    }
    let flash = first(Word::Flash).into_iter().chain(drive(false)).min().unwrap_or(usize::MAX);
    let small =
        |one: &&Measured| one.load.random == Some(true) && one.load.bs.is_none_or(|bytes| bytes <= SMALL);
    let behind = |one: &&Measured| one.spot.index() > disk && one.spot.index() < flash;
    let all: Vec<&Measured> =
        hardware.measured.iter().filter(small).filter(behind).filter(|one| one.iops.is_some()).collect();
    for same in all.chunk_by(|one, other| table_of(one.origin) == table_of(other.origin)) {
        let Some(worst) = worst(same, |one| one.iops.map(|iops| iops.low)) else { continue };
        if let Some(finding) = too_many(&hardware, worst, evidence.page.number(disk)) {
            let floor = value(worst) / FAR;
            let others = same.iter().filter(|other| other.spot != worst.spot && value(other) > floor);
            sink.finds(finding.against([Spot::new(disk, 0..0)]).against(others.map(|other| other.spot)));
        }
    }
}

/// What only a sentence has that compares or measures.
const TALK: &[&str] = &[
    "iops",
    "i/o",
    "latency",
    "faster",
    "slower",
    "than",
    "versus",
    "vs",
    "倍",
    "延迟",
    "时延",
    "相比",
    "比",
    "быстрее",
    "медленнее",
    "чем",
    "задержк",
];

/// Whether a line lists disks (`Disks: HDD, RAID10`, `12 x HDD`), and does not talk of them (`1500 here, an HDD has 120, so 12 times`).
fn is_listed(text: &str) -> bool {
    text.len() < 200
        && text.contains(|letter: char| letter.is_ascii_digit() || matches!(letter, ':' | '：'))
        && !text_has(text, TALK)
}

fn table_of(origin: Origin) -> Origin {
    match origin {
        Origin::Cell(table, ..) => Origin::Cell(table, 0, 0),
        Origin::Output(_) => origin,
    }
}

fn too_many(hardware: &Hardware, one: &Measured, line: u32) -> Option<Finding> {
    let iops = one.iops?.low;
    let named = hardware
        .mentions
        .drives
        .iter()
        .find(|named| hardware.ratings.drives()[named.drive].media == Medium::Hdd);
    let rpm = named.and_then(|named| hardware.ratings.drives()[named.drive].rpm);
    let each = hdd_iops_queued(rpm.unwrap_or(7200));
    let fastest = hdd_iops_queued(rpm.unwrap_or(15_000));
    let needed = iops / each;
    let (severity, against) = match named.and_then(|named| named.count) {
        Some(spindles) => {
            let times = iops / (f64::from(spindles) * fastest);
            let severity = if times > FAR { Severity::WrongConclusion } else { Severity::Ambiguous };
            (times > SOME).then_some(())?;
            (severity, format!("{spindles} disks have {}", iops_text(f64::from(spindles) * each)))
        }
        None => {
            (needed > RACK).then_some(())?;
            let severity =
                if iops / fastest > RACK { Severity::WrongConclusion } else { Severity::Ambiguous };
            (severity, format!("it takes {needed:.0} disks"))
        }
    };
    let message = format!(
        "{} random I/Os a second are not those of hard disks (line {line}): {against}; a cache answered",
        iops_text(iops)
    );
    let arithmetic = format!(
        "a disk has about {each:.0} a second at random places, with a deep queue: {} / {each:.0} = {needed:.0}",
        iops_text(iops)
    );
    Some(Finding::new("P8", severity, one.spot, message).by(arithmetic))
}
