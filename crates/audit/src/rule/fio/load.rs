//! Checks the load against the one that is stated: as many I/Os in flight, no errors, a generator
//! with time to spare.

use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity};
use crate::import::ResultDirection;
use crate::import::fio::{Direction, Fio, FioJobLine, FioReport, MOST_JOBS};
use crate::number::{Interval, PrintedNumber, show_ns};
use crate::page::AuditedPage;

/// Engines that keep one I/O per job in flight, whatever iodepth says.
const SYNCHRONOUS: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];

fn engine<'a>(fio: &'a Fio, job: &FioReport) -> Option<&'a str> {
    fio.asked_of(job)?.ioengine.as_deref()
}

/// Returns how many I/Os a job may have in flight. If several jobs of a job file report as one,
/// each counts with its own depth; `None` if it is unknown how many of each ran.
fn most_in_flight(page: &AuditedPage, fio: &Fio, job: &FioReport) -> Option<f64> {
    let each = |asked: &FioJobLine| -> Option<u64> {
        let synchronous =
            asked.ioengine.as_deref().is_some_and(|engine| SYNCHRONOUS.contains(&engine));
        if synchronous { Some(1) } else { asked.iodepth }
    };
    let group = format!("(g={})", job.group.unwrap_or(0));
    let mine: Vec<&FioJobLine> = fio
        .asked
        .iter()
        .filter(|asked| page.line(asked.line).contains(&group))
        .take(MOST_JOBS)
        .collect();
    let blocks = fio.jobs.iter().filter(|other| other.group == job.group).count();
    let jobs = job.jobs?;
    if blocks >= mine.len() {
        return Some(jobs as f64 * each(fio.asked_of(job)?)? as f64);
    }
    // `...` below a job means more jobs like it.
    let is_many = |asked: &&FioJobLine| page.bare(asked.line + 1).0.trim() == "...";
    let many = mine.iter().filter(|asked| is_many(asked)).count();
    let rest = jobs.checked_sub((mine.len() - many) as u64)?;
    let counts = |asked: &&FioJobLine| if is_many(asked) { rest } else { 1 };
    let depths: Option<Vec<u64>> = mine.iter().map(|asked| each(asked)).collect();
    let total =
        mine.iter().zip(depths?).map(|(asked, depth)| counts(asked) as f64 * depth as f64).sum();
    (many <= 1 && (many == 1 || rest == 0)).then_some(total)
}

/// Checks the I/Os in flight by Little's law. Returns `None` if a direction does not print its rate
/// and latency, or if nothing shows how many may be in flight.
pub(super) fn little(
    page: &AuditedPage,
    fio: &Fio,
    job: &FioReport,
    sink: &mut EvidenceSink,
) -> Option<()> {
    let latency = |one: &Direction| one.lat.or(one.clat.filter(|_| one.slat.is_none()));
    let terms = job.directions.iter().map(|one| Some((one.iops?, latency(one)?.mean)));
    let terms: Vec<LoadTerm> = terms.collect::<Option<_>>()?;
    let asked = most_in_flight(page, fio, job)?;
    // In a run of a few I/Os, the start and the end dominate.
    let few = |one: &Direction| {
        let ios = one.iops.zip(one.runtime_ms).map(|(iops, runtime)| iops.value * runtime.value);
        ios.is_some_and(|ios| ios < 1e3 * 20.0 * asked)
    };
    if job.directions.iter().any(few) {
        return None;
    }
    if at_one_time(job) {
        judge(&terms, asked, sink);
    } else {
        terms.iter().for_each(|term| judge(&[*term], asked, sink));
    }
    Some(())
}

/// IOPS and mean latency of a direction.
type LoadTerm = (PrintedNumber, PrintedNumber);

/// Returns true if all directions of a job ran all the time. Each rate is over the runtime of its
/// direction, and reading back what was written (verify) takes only a part of it.
fn at_one_time(job: &FioReport) -> bool {
    let mut runtimes = job.directions.iter().filter_map(|direction| direction.runtime_ms);
    let Some(first) = runtimes.next() else { return true };
    runtimes.all(|one| (one.value - first.value).abs() <= 0.02 * first.value.max(one.value))
}

/// Checks the total in flight against the most that is possible.
fn judge(terms: &[LoadTerm], asked: f64, sink: &mut EvidenceSink) {
    let product =
        |(iops, latency): &LoadTerm| iops.interval().times(latency.interval()).scaled(1e-9);
    let sum = terms.iter().map(product).fold(Interval::exact(0.0), Interval::plus);
    let Some((_, latency)) = terms.first() else { return };
    let in_flight = sum.middle();
    if sum.low > 1.02 * asked {
        let of_term = |(iops, latency): &LoadTerm| {
            format!("{:.0}/s * {}", iops.value, show_ns(latency.value))
        };
        let by = terms.iter().map(of_term).collect::<Vec<_>>().join(" + ");
        let message = format!(
            "IOPS times mean latency is {in_flight:.1} in flight, but no more than {asked} can be: the figures are not of one run"
        );
        let finding = Finding::new("F7", Severity::WrongFigure, latency.spot, message);
        let finding = finding.by(format!("{by} = {in_flight:.2}"));
        sink.finds(finding.against(terms.iter().map(|(iops, _)| iops.spot)));
    } else if sum.high >= 0.9 * asked {
        terms
            .iter()
            .flat_map(|(iops, latency)| [iops, latency])
            .for_each(|one| sink.holds("F7", one));
    }
}

pub(super) fn generator(
    evidence: &Evidence,
    fio: &Fio,
    job: &FioReport,
    sink: &mut EvidenceSink,
) -> Option<()> {
    let by_design = matches!(engine(fio, job)?, "null" | "cpuio" | "mmap" | "filecreate");
    let cpu = job.cpu.filter(|_| !by_design)?;
    let busy = cpu.user.value + cpu.system.value;
    let concludes = busy >= 90.0 && compares(evidence, fio);
    let severity = if concludes { Severity::WrongConclusion } else { Severity::Ambiguous };
    let message = format!(
        "each thread of the load generator computes {busy:.0} % of the time: its processor limits the rate, not the device"
    );
    let by = format!("usr {} % + sys {} %", cpu.user.value, cpu.system.value);
    let finding =
        Finding::new("F23", severity, cpu.user.spot, message).by(by).against([cpu.system.spot]);
    (busy >= 85.0).then(|| sink.finds(finding))
}

pub(super) fn error(job: &FioReport, sink: &mut EvidenceSink) {
    if let Some(error) = job.error.filter(|error| error.value != 0.0) {
        let message = format!(
            "the job ended with error {}: its figures are of a part of the run",
            error.value
        );
        sink.finds(Finding::new("F25", Severity::Ambiguous, error.spot, message));
    }
}

/// Returns true if the page compares an output with another: one of the same load is next to it,
/// and a figure compares them.
fn compares(evidence: &Evidence, fio: &Fio) -> bool {
    let load = |fio: &Fio| {
        let job = fio.jobs.first()?;
        let asked = fio.asked_of(job).map(|asked| (asked.rw.clone(), asked.bs));
        Some((
            job.jobs,
            job.directions.iter().map(|one| one.way).collect::<Vec<ResultDirection>>(),
            asked,
        ))
    };
    let own = load(fio);
    !evidence.links.is_empty() && evidence.fio().filter(|other| load(other) == own).nth(1).is_some()
}
