//! P15: what an I/O costs a processor.

use crate::finding::{Finding, Severity};
use crate::import::fio::{Fio, Job};
use crate::number::Interval;
use crate::rule::{Evidence, Rule, Sink};

/// P15.
pub const RULE: Rule = Rule {
    id: "P15",
    name: "an I/O costs the processor some time",
    severity: Severity::Ambiguous,
    holds: "CPU time of fio's threads an I/O against 0.3 us, less than which no system call of the kernel's block layer takes",
    silent: "of engines without a system call an I/O (io_uring, mmap, null, user space), without `cpu` or the number of jobs, and where it \
             counts no time at all",
    check,
};

/// Microseconds of CPU time that an I/O by a system call takes at the least: entry and exit, block layer, interrupt.
const LEAST_US: f64 = 0.3;
/// Engines with at least a system call for each I/O, or for a batch of up to some dozens that the block layer takes one by one.
const CALLING: [&str; 5] = ["libaio", "posixaio", "psync", "sync", "pvsync"];

fn check(evidence: &Evidence, sink: &mut Sink) {
    for fio in evidence.fio() {
        for job in &fio.jobs {
            if let Some(finding) = too_cheap(fio, job) {
                sink.finds(finding);
            }
        }
    }
}

fn too_cheap(fio: &Fio, job: &Job) -> Option<Finding> {
    let engine = fio.asked_of(job)?.ioengine.as_deref()?;
    let (cpu, jobs) = (job.cpu?, job.jobs?);
    if !CALLING.contains(&engine) {
        return None;
    }
    let share = cpu.user.interval().plus(cpu.system.interval()).scaled(jobs as f64 / 100.0);
    let iops = job
        .directions
        .iter()
        .filter_map(|one| one.iops)
        .map(|figure| figure.interval())
        .reduce(Interval::plus)?;
    let cost = share.scaled(1e6).over(iops)?;
    if share.low <= 0.0 || cost.high >= LEAST_US {
        return None;
    }
    let message = format!(
        "{:.2} us of CPU time an I/O is less than a system call of {engine} takes: the times or the rate are of another run",
        cost.middle()
    );
    let arithmetic = format!(
        "({} % + {} %) x {jobs} threads / {:.0} I/Os a second",
        cpu.user.value,
        cpu.system.value,
        iops.middle()
    );
    Some(
        Finding::new("P15", Severity::Ambiguous, cpu.system.spot, message)
            .by(arithmetic)
            .against([cpu.user.spot]),
    )
}
