//! P8: what a cache answered in place of hard disks.

use super::measured::Measured;
use super::{Hardware, worst};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::knowledge::iops_text;
use crate::knowledge::media::{Medium, hdd_iops};
use crate::knowledge::words::says;
use crate::page::Spot;

/// Fewer than so many times the ceiling may be short strokes and luck, more are no disks.
const SOME: f64 = 1.5;
const FAR: f64 = 10.0;
/// More disks than that are a rack, which a page would name.
const RACK: f64 = 60.0;
/// Blocks up to this take hardly longer than small ones.
const SMALL: u64 = 64 << 10;

pub(super) fn check(hardware: &Hardware, evidence: &Evidence, sink: &mut Sink) {
    let disk_of = |drive: usize| hardware.ratings.drives()[drive].media == Medium::Hdd;
    let drive = |disk: bool| hardware.mentions.drives.iter().find(|one| disk_of(one.drive) == disk);
    let first = |word, disk| {
        let says = |line: &usize| says(&evidence.page.line(*line).to_lowercase(), word);
        let line = evidence.lines_outside_outputs().find(says);
        line.into_iter().chain(drive(disk).map(|one| one.spot.index())).min()
    };
    let nvme = || evidence.fio().flat_map(|fio| &fio.disks).any(|disk| disk.name.starts_with("nvme"));
    if hardware.measured.iter().all(|one| one.iops.is_none()) || nvme() {
        return;
    }
    let Some(disk) = first("hdd", true).filter(|line| is_listed(evidence.page.line(*line))) else { return };
    let flash = first("flash", false).unwrap_or(usize::MAX);
    let of_disks = |one: &&Measured| {
        let small = one.load.random == Some(true) && one.load.bs.is_none_or(|bytes| bytes <= SMALL);
        small && one.iops.is_some() && one.spot.index() > disk && one.spot.index() < flash
    };
    let all: Vec<&Measured> = hardware.measured.iter().filter(of_disks).collect();
    let rpm = drive(true).and_then(|one| hardware.ratings.drives()[one.drive].rpm);
    let disks = (drive(true).map_or(1, |one| one.count), hdd_iops(rpm.unwrap_or(7200)));
    let sources = all.chunk_by(|one, other| one.source == other.source);
    sources.filter_map(|same| judged(evidence, same, disks, disk)).for_each(|finding| sink.finds(finding));
}

/// The most of one output or table against what so many disks have each, of which a line says that they are.
fn judged(
    evidence: &Evidence,
    same: &[&Measured],
    (count, each): (u32, f64),
    disk: usize,
) -> Option<Finding> {
    let first = worst(same, |one| one.iops)?;
    let iops = first.iops?.low;
    let (needed, able, printed) = (iops / each, f64::from(count) * each, iops_text(iops));
    let (severity, against) = match count {
        1 if needed > RACK => (Severity::Ambiguous, format!("it takes {needed:.0} disks")),
        2.. if iops > SOME * able => {
            let severity = if iops > FAR * able { Severity::WrongConclusion } else { Severity::Ambiguous };
            (severity, format!("{count} disks have {}", iops_text(able)))
        }
        _ => return None,
    };
    let line = evidence.page.number(disk);
    let message = format!(
        "{printed} random I/Os a second are not those of hard disks (line {line}): {against}; a cache answered"
    );
    let by = format!(
        "a disk has about {each:.0} a second at random places, with a deep queue: {printed} / {each:.0} = {needed:.0}"
    );
    let near = |one: &&Measured| one.iops.is_some_and(|own| own.low > iops / 3.0);
    let others = same.iter().filter(|one| near(one) && one.spot != first.spot).map(|one| one.spot);
    let finding = Finding::new("P8", severity, first.spot, message).by(by);
    Some(finding.against([Spot::new(disk, 0..0)]).against(others))
}

/// Whether a line lists disks (`Disks: HDD, RAID10`, `12 x HDD`), and does not talk of them (`1500 here, an HDD has 120, so 12 times`).
fn is_listed(text: &str) -> bool {
    let lists = |letter: char| letter.is_ascii_digit() || matches!(letter, ':' | '：');
    text.len() < 200 && text.contains(lists) && !says(&text.to_lowercase(), "talk")
}
