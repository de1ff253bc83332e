//! P14: too few I/Os in flight to say what something can do.

use super::Hardware;
use super::measured::{Measured, Origin};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::iops_text;
use crate::knowledge::mentions::{Command, Word, text_has, text_says};
use crate::knowledge::ratings::{Match, Rated};
use crate::number::{Unit, quantities};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// P14.
pub const RULE: Rule = Rule {
    id: "P14",
    name: "capacity is measured with enough in flight",
    severity: Severity::WrongConclusion,
    holds: "I/Os in flight against the rated random reads a second of the drive times the time of one (measured, or of its medium): below a \
            half is a test of latency; and sentences that a network or drive is not full where large blocks went one or two at a time",
    silent: "where no sentence draws a loss of performance or a bottleneck from it, it speaks of latency or depth, another run of the page \
             has enough in flight, or the drive is not known",
    check,
};

/// Fewer in flight cannot fill the drive.
const ENOUGH: f64 = 0.5;
/// Far fewer: what is concluded does not follow.
const FAR: f64 = 0.25;

fn check(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    if let Some(finding) = too_few(&hardware, evidence) {
        sink.finds(finding);
    }
    for finding in not_full(&hardware, evidence) {
        sink.finds(finding);
    }
}

const LATENCY: &[&str] = &[
    "latency",
    "queue depth",
    "iodepth",
    "qd1",
    "qd=1",
    "single-threaded",
    "延迟",
    "时延",
    "队列深度",
    "单线程",
    "задержк",
    "глубин",
];

/// Longer lines are no sentences.
const LONGEST: usize = 2000;

/// A sentence that gives a loss of reads, writes or I/O in percent.
fn loss(hardware: &Hardware, evidence: &Evidence) -> Option<Spot> {
    hardware.prose(evidence, LONGEST).find_map(|at| {
        let text = evidence.page.line(at);
        let about = text_says(text, Word::Loss);
        if !about
            || text_has(text, LATENCY)
            || super::load::Load::read(text).way.is_none() && !text_has(text, &["iops"])
        {
            return None;
        }
        let percent = quantities(at, text).into_iter().find(|one| one.unit == Unit::Percent);
        percent.map(|one| one.figure.spot)
    })
}

fn too_few(hardware: &Hardware, evidence: &Evidence) -> Option<Finding> {
    let conclusion = loss(hardware, evidence)?;
    let runs: Vec<&Measured> = hardware
        .measured
        .iter()
        .filter(|one| {
            matches!(one.origin, Origin::Output(_))
                && one.load.random == Some(true)
                && one.load.bs == Some(4096)
        })
        .collect();
    let flights: Option<Vec<u64>> =
        runs.iter().map(|one| Some(one.load.depth?.saturating_mul(one.load.jobs?))).collect();
    let deepest =
        flights?.into_iter().chain(hardware.mentions.commands.iter().map(Command::in_flight)).max()?;
    let first = runs.iter().find(|one| one.load.way == Some(Way::Read))?;
    let drive = hardware.drive_of(first)?;
    let (needed, time) = needed(&drive, first)?;
    let share = deepest as f64 / needed;
    if share >= ENOUGH || first.says(Word::Fabric) {
        return None;
    }
    let severity = if share < FAR { Severity::WrongConclusion } else { Severity::Ambiguous };
    let rated = iops_text(drive.least(Rated::RandreadIops)?);
    let message = format!(
        "a loss with {deepest} I/Os in flight is one of latency: the {} needs about {needed:.0} in flight for its rated {rated} random reads a \
         second, so this says nothing of how much it can do",
        drive.drive.name
    );
    let arithmetic =
        format!("{rated} x {:.0} us = {needed:.0}; {deepest} / {needed:.0} = {share:.2}", time / 1e3);
    let others = runs.iter().map(|one| one.spot);
    Some(Finding::new("P14", severity, conclusion, message).by(arithmetic).against(others))
}

/// I/Os in flight for the rated reads (of the smallest capacity, where none is told), and the nanoseconds of one: as measured with few in
/// flight, at most what a loaded flash takes.
fn needed(drive: &Match, one: &Measured) -> Option<(f64, f64)> {
    const LOADED: f64 = 150e3;
    let floor = drive.drive.media.read_floor_ns();
    let time = one.mean_ns.map_or(floor, |mean| mean.low.clamp(floor, LOADED.max(floor)));
    Some((drive.least(Rated::RandreadIops)? * time / 1e9, time))
}

/// Blocks of this size go one by one in a test of throughput.
const LARGE: u64 = 128 << 10;
const FEW: u64 = 2;
const FEW_SMALL: u64 = 16;

/// `the network is not saturated, so the bottleneck is in software`, after tests that had next to nothing in flight.
fn not_full(hardware: &Hardware, evidence: &Evidence) -> Vec<Finding> {
    const NOT: &[&str] = &[
        "not saturate",
        "not saturated",
        "does not saturate",
        "did not saturate",
        "cannot saturate",
        "not fill",
        "far from saturat",
        "并未",
        "没有",
        "未把",
        "未能",
        "не насыща",
        "не загру",
        "не упира",
    ];
    const FULL: &[&str] = &["saturat", "fill", "打满", "跑满", "用满", "饱和", "насыщ", "загру"];
    const WHAT: &[&str] = &[
        "network",
        "ssd",
        "ssds",
        "nvme",
        "drive",
        "drives",
        "disk",
        "网络",
        "网卡",
        "磁盘",
        "硬盘",
        "сеть",
        "диск",
        "накопител",
    ];
    let has = |text: &str, list: &[&str]| list.iter().any(|one| text.to_lowercase().contains(one));
    let commands = &hardware.mentions.commands;
    let large: Vec<&Command> =
        commands.iter().filter(|one| one.bs.is_some_and(|bytes| bytes >= LARGE)).collect();
    let few = !large.is_empty()
        && large.iter().all(|one| one.in_flight() <= FEW)
        && commands.iter().all(|one| one.in_flight() <= FEW_SMALL);
    if !few {
        return Vec::new();
    }
    let deepest = commands.iter().map(Command::in_flight).max().unwrap_or(1);
    let sentences = hardware.prose(evidence, LONGEST).filter(|at| {
        let text = evidence.page.line(*at);
        has(text, NOT) && has(text, FULL) && has(text, WHAT) && !text_has(text, LATENCY)
    });
    sentences
        .map(|at| {
            let text = evidence.page.line(at);
            let concludes = text_has(text, &["bottleneck", "瓶颈", "узкое место", "бутылочн"]);
            let severity = if concludes { Severity::WrongConclusion } else { Severity::Ambiguous };
            let message = format!(
                "large blocks went {} at a time and small ones {deepest}: one client that waits cannot fill anything, so this is latency and \
                 tells no bottleneck",
                large.iter().map(|one| one.in_flight()).max().unwrap_or(1)
            );
            let start = text.len() - text.trim_start().len();
            let spot = Spot::new(at, start..text.trim_end().len().max(start));
            Finding::new("P14", severity, spot, message).against(large.iter().map(|one| Spot::new(one.line, 0..0)))
        })
        .collect()
}
