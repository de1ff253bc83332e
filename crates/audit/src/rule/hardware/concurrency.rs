//! P14: too few I/Os in flight to say what something can do.

use super::Hardware;
use super::measured::Measured;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::iops_text;
use crate::knowledge::ratings::Rated;
use crate::knowledge::words::says;
use crate::page::Spot;
use crate::prose::Manner;
use crate::rule::method::loads::{Load, loads};

pub(super) fn check(hardware: &Hardware, evidence: &Evidence, sink: &mut Sink) {
    let loads = loads(evidence);
    too_few(hardware, evidence, &loads).into_iter().for_each(|finding| sink.finds(finding));
}

/// Fewer in flight cannot fill the drive.
const ENOUGH: f64 = 0.5;
/// A loaded flash takes no longer for a read.
const LOADED_NS: f64 = 150e3;

/// I/Os in flight in all; fio's default is one job with one.
fn in_flight(load: &Load) -> u64 {
    let number = |key: &str| load.number(&[key]).unwrap_or(1);
    number("iodepth").saturating_mul(number("numjobs"))
}

/// A sentence that gives a loss of reads, writes or I/Os in percent.
fn loss(evidence: &Evidence) -> Option<Spot> {
    evidence.clauses.iter().filter(|clause| clause.manner == Manner::Loss).find_map(|clause| {
        let lower = clause.sentence(evidence.page).to_lowercase();
        let of_io = clause.topic.read || clause.topic.write || lower.contains("iops");
        let percent = clause.percents().next().filter(|_| of_io && !says(&lower, "latency"))?;
        Some(percent.figure.spot)
    })
}

fn too_few(hardware: &Hardware, evidence: &Evidence, loads: &[Load]) -> Option<Finding> {
    let conclusion = loss(evidence)?;
    let is_small = |one: &&Measured| one.load.random == Some(true) && one.load.bs == Some(4096);
    let runs = hardware.measured.iter().filter(|one| one.cell.is_none() && is_small(one));
    let flights: Option<Vec<u64>> = runs.clone().map(|one| one.load.in_flight).collect();
    let deepest = flights?.into_iter().chain(loads.iter().map(in_flight)).max()?;
    let first = runs.clone().find(|one| one.load.way == Some(Way::Read))?;
    let drive = hardware.drive_of(first)?;
    let (rated, time) = (drive.least(Rated::RandreadIops)?, first.mean_ns?.min(LOADED_NS));
    let needed = rated * time / 1e9;
    let share = deepest as f64 / needed;
    let (rated, name) = (iops_text(rated), &drive.drive.name);
    let message = format!(
        "a loss with {deepest} I/Os in flight is one of latency: the {name} needs about {needed:.0} in flight for its rated {rated} random \
         reads a second, so this says nothing of how much it can do"
    );
    let arithmetic =
        format!("{rated} x {:.0} us = {needed:.0}; {deepest} / {needed:.0} = {share:.2}", time / 1e3);
    let finding = Finding::new("P14", Severity::Ambiguous, conclusion, message).by(arithmetic);
    (share < ENOUGH).then(|| finding.against(runs.map(|one| one.spot)))
}
