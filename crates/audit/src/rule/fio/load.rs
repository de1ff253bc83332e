//! Checks that a job had no errors, that its generator had time to spare, and that its end was like
//! its mean.

use super::JobDirection;
use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity};
use crate::import::fio::{Fio, FioReport, index_of};
use crate::import::workload::ResultDirection;

pub(super) fn generator(
    evidence: &Evidence,
    fio: &Fio,
    job: &FioReport,
    sink: &mut EvidenceSink,
) -> Option<()> {
    let engine = fio.asked_of(job)?.ioengine.as_deref()?;
    let by_design = matches!(engine, "null" | "cpuio" | "mmap" | "filecreate");
    let cpu = job.cpu.filter(|_| !by_design)?;
    let busy = cpu.user.value + cpu.system.value;
    let concludes = busy >= 90.0 && compares(evidence, fio);
    let severity = if concludes { Severity::WrongConclusion } else { Severity::Ambiguous };
    let message = format!(
        "each thread of the load generator computes {busy:.0} % of the time: its processor limits the rate, not the device"
    );
    let by = format!("usr {} % + sys {} %", cpu.user.value, cpu.system.value);
    let finding = Finding::new("F23", severity, cpu.user.spot, message)
        .with_arithmetic(by)
        .against([cpu.system.spot]);
    (busy >= 85.0).then(|| sink.add_finding(finding))
}

pub(super) fn error(job: &FioReport, sink: &mut EvidenceSink) {
    if let Some(error) = job.error.filter(|error| error.value != 0.0) {
        let message = format!(
            "the job ended with error {}: its figures are of a part of the run",
            error.value
        );
        sink.add_finding(Finding::new("F25", Severity::Ambiguous, error.spot, message));
    }
}

/// Returns true if the page compares an output with another: one of the same load is next to it,
/// and a figure compares them.
fn compares(evidence: &Evidence, fio: &Fio) -> bool {
    let load = |fio: &Fio| {
        let job = fio.jobs.first()?;
        let asked = fio.asked_of(job).map(|asked| (asked.rw.clone(), asked.bs));
        let ways: Vec<ResultDirection> = job.directions.iter().map(|one| one.way).collect();
        Some((job.jobs, ways, asked))
    };
    let own = load(fio);
    !evidence.links.is_empty() && evidence.fio().filter(|other| load(other) == own).nth(1).is_some()
}

/// Compares the bandwidth of the last progress line with the mean, if that line is from the end of
/// a sufficiently long run.
pub(super) fn check_last_bandwidth(run: &JobDirection, sink: &mut EvidenceSink) -> Option<()> {
    let (eta, mean) = (run.fio.eta.as_ref()?, run.direction.bandwidth?);
    let long = run.runtime_ms()? >= 30e3 && eta.done.is_some_and(|done| done >= 95.0);
    // Progress lines cover all jobs together.
    let only = run.fio.jobs.len() == 1 && run.direction.way != ResultDirection::Both;
    let last = eta.bytes_per_second[index_of(run.direction.way)]
        .filter(|figure| long && only && figure.value > 0.0)?;
    let off = last.value / mean.value - 1.0;
    if off.abs() <= 0.1 {
        sink.plausible("F28", &last);
        return None;
    }
    let message = format!(
        "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
        run.page.quote(last.spot),
        100.0 * off,
        run.page.quote(mean.spot)
    );
    sink.add_finding(
        Finding::new("F28", Severity::Ambiguous, mean.spot, message).against([last.spot]),
    );
    Some(())
}
