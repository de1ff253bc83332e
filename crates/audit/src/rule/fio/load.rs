//! Whether the load was the one that is told: the depth that was asked for, no errors, a generator with time to spare.

use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Fio, Job};
use crate::rule::{Evidence, Sink};

/// Engines of which one I/O a job is in flight, whatever iodepth says.
const SYNCHRONOUS: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];

fn engine<'a>(fio: &'a Fio, job: &Job) -> Option<&'a str> {
    fio.asked_of(job)?.ioengine.as_deref()
}

fn is_synchronous(fio: &Fio, job: &Job) -> bool {
    engine(fio, job).is_some_and(|engine| SYNCHRONOUS.contains(&engine))
}

/// The bucket of fio's distribution that a depth falls into.
fn bucket(depth: u64) -> u64 {
    [64, 32, 16, 8, 4, 2, 1].into_iter().find(|edge| *edge <= depth).unwrap_or(1)
}

pub(super) fn generator(evidence: &Evidence, fio: &Fio, job: &Job, sink: &mut Sink) -> Option<()> {
    let by_design = matches!(engine(fio, job)?, "null" | "cpuio" | "mmap" | "filecreate");
    let cpu = job.cpu.filter(|_| !by_design)?;
    let busy = cpu.user.value + cpu.system.value;
    let concludes = busy >= 90.0 && compares(evidence, fio);
    let severity = if concludes { Severity::WrongConclusion } else { Severity::Ambiguous };
    let message = format!(
        "each thread of the load generator computes {busy:.0} % of the time: its processor limits the rate, not the device"
    );
    let by = format!("usr {} % + sys {} %", cpu.user.value, cpu.system.value);
    let finding = Finding::new("F23", severity, cpu.user.spot, message).by(by).against([cpu.system.spot]);
    (busy >= 85.0).then(|| sink.finds(finding))
}

/// F24: the most frequent depth is that of iodepth. F25: the job ended well.
pub(super) fn depth(fio: &Fio, job: &Job, sink: &mut Sink) -> Option<()> {
    if let Some(error) = job.error.filter(|error| error.value != 0.0) {
        let message =
            format!("the job ended with error {}: its figures are of a part of the run", error.value);
        sink.finds(Finding::new("F25", Severity::Ambiguous, error.spot, message));
    }
    let depth = fio.asked_of(job)?.iodepth.filter(|depth| *depth > 1)?;
    let (most, share) = job.depths.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    if *most == bucket(depth) {
        job.depths.iter().for_each(|(_, share)| sink.plausible("F24", share));
        return None;
    }
    let engine = engine(fio, job).filter(|_| is_synchronous(fio, job));
    let why =
        engine.map(|engine| format!(": the engine {engine} has one I/O in flight a job")).unwrap_or_default();
    let percent = share.value;
    let message =
        format!("iodepth {depth} was asked for, but {percent} % were submitted at depth {most}{why}");
    sink.finds(Finding::new("F24", Severity::Ambiguous, share.spot, message));
    Some(())
}

/// Whether the page compares an output with another: one of the same load stands beside it, and a figure says how they compare.
fn compares(evidence: &Evidence, fio: &Fio) -> bool {
    let load = |fio: &Fio| {
        let job = fio.jobs.first()?;
        let asked = fio.asked_of(job).map(|asked| (asked.rw.clone(), asked.bs));
        Some((job.jobs, job.directions.iter().map(|one| one.way).collect::<Vec<Way>>(), asked))
    };
    let own = load(fio);
    !evidence.links.is_empty() && evidence.fio().filter(|other| load(other) == own).nth(1).is_some()
}
