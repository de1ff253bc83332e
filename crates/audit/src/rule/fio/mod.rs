//! Rules on fio's own figures: values printed twice must agree, and the figures must describe a
//! possible run.

mod latency;
mod load;
mod rates;

use crate::evidence::{Evidence, EvidenceSink};
use crate::import::fio::num2str::{self, DigitStyle};
use crate::import::fio::{Direction, Fio, FioForm, FioReport, index_of};
use crate::import::workload::ResultDirection;
use crate::number::{Interval, PrintedNumber};
use crate::page::AuditedPage;

/// Runs the rules on rates (F1 to F6, N2, N3), latencies (F8, F9), loads (F23, F25) and the end of
/// runs (F28).
pub(super) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    rates::check(evidence, sink);
    [latency::check_parts, latency::order]
        .into_iter()
        .for_each(|look| check_each(evidence, sink, look));
    for (fio, job) in evidence.fio().flat_map(|fio| fio.jobs.iter().map(move |job| (fio, job))) {
        let _ = load::generator(evidence, fio, job, sink);
        load::error(job, sink);
    }
    check_each(evidence, sink, load::check_last_bandwidth);
}

/// One direction of a job, with its output and job.
#[derive(Clone, Copy)]
struct JobDirection<'a> {
    page: &'a AuditedPage,
    fio: &'a Fio,
    job: &'a FioReport,
    direction: &'a Direction,
}

/// Limit of clients' jobs that are examined.
const MOST_CLIENTS: usize = 1000;

/// Returns every direction of every job of fio's outputs, except outputs that a later one of the
/// same run supersedes.
fn job_directions<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = JobDirection<'a>> {
    let page = evidence.page;
    evidence.fio().flat_map(move |fio| {
        fio.jobs.iter().flat_map(move |job| {
            job.directions.iter().map(move |direction| JobDirection { page, fio, job, direction })
        })
    })
}

/// Runs a check for each direction. A check ends early if a figure that it needs is not printed.
fn check_each(
    evidence: &Evidence,
    sink: &mut EvidenceSink,
    look: impl Fn(&JobDirection, &mut EvidenceSink) -> Option<()>,
) {
    for run in job_directions(evidence) {
        let _ = look(&run, sink);
    }
}

impl<'a> JobDirection<'a> {
    fn is_text(&self) -> bool {
        self.fio.form == FioForm::Text
    }

    /// Returns true unless the output reports short or dropped I/Os, or an error of the job.
    fn is_whole(&self) -> bool {
        let at = index_of(self.direction.way);
        let nothing =
            |figure: Option<PrintedNumber>| figure.is_none_or(|figure| figure.value == 0.0);
        let issued = self.job.issued.unwrap_or_default();
        nothing(issued.short[at]) && nothing(issued.dropped[at]) && nothing(self.job.error)
    }

    /// Returns the printed number of I/Os issued in this direction. `None` if the job had an error,
    /// if an I/O was short or dropped, or if reads and writes are reported as one.
    fn issued(&self) -> Option<PrintedNumber> {
        let issued = self.job.issued?.total[index_of(self.direction.way)];
        issued.filter(|_| self.is_whole() && self.direction.way != ResultDirection::Both)
    }

    /// Returns the size in bytes of an I/O; `None` if sizes vary or are not stated.
    fn block_size(&self) -> Option<f64> {
        self.fio.block_size(self.job, self.direction.way).map(|bytes| bytes as f64)
    }

    /// Returns how many I/Os may be in flight at once; for a sum of jobs (`All clients`), in all of
    /// them.
    fn most_in_flight(&self) -> f64 {
        let of = |job: &FioReport| {
            let own = self.fio.asked_of(job).and_then(|asked| asked.iodepth);
            // Several jobs of a job file may report as one: the deepest counts.
            let deepest = self.fio.asked.iter().filter_map(|asked| asked.iodepth).max();
            let depth = if job.jobs > Some(1) { own.max(deepest) } else { own }.unwrap_or(1);
            // Floating point avoids overflow: the author of the page may have written any numbers.
            depth as f64 * job.jobs.unwrap_or(1) as f64
        };
        match self.job.aggregate {
            true => {
                self.fio.jobs.iter().filter(|job| !job.aggregate).take(MOST_CLIENTS).map(of).sum()
            }
            false => of(self.job),
        }
    }

    fn runtime_ms(&self) -> Option<f64> {
        self.direction.runtime_ms.map(|figure| figure.value).filter(|runtime| *runtime > 0.0)
    }
}

/// Result of comparing a figure of fio's with its operands.
enum Agreement {
    Agrees,
    /// The figure agrees if its carry was lost; holds the intended value.
    Carried(Interval),
    Disagrees,
}

/// Compares a printed figure with its recomputed value. `era` is the way in which this version of
/// fio prints digits.
fn agrees(
    page: &AuditedPage,
    figure: &PrintedNumber,
    recomputed: Interval,
    era: DigitStyle,
) -> Agreement {
    let meant = || {
        num2str::lost_carry_interval(page.quote(figure.spot), figure, era)
            .filter(|meant| meant.overlaps_with(recomputed))
    };
    match figure.interval().overlaps_with(recomputed) {
        true => Agreement::Agrees,
        false => meant()
            .map_or(Agreement::Disagrees, |meant| Agreement::Carried(both(meant, recomputed))),
    }
}

/// Returns the intersection of two intervals that meet.
fn both(one: Interval, other: Interval) -> Interval {
    Interval { low: one.low.max(other.low), high: one.high.min(other.high) }
}

/// Prints a number as a correct fio does, with as many digits and the same prefix and unit as a
/// printed figure.
fn as_printed(printed: &str, value: f64) -> String {
    let (_, bytes, decimals) = crate::number::leading(printed).unwrap_or((0.0, 0, 0));
    let unit = &printed[bytes..];
    // `KB` in old versions is 1024 B; new versions print `kB` and `KiB`.
    let binary = unit.contains('i') || unit.starts_with('K');
    let bits = if unit.contains("bit") { 8.0 } else { 1.0 };
    let number = (bits * value.max(0.0)).round() as u64;
    let letters = unit.trim_start_matches(|letter| "kKMGTPi".contains(letter));
    match decimals {
        0 if bytes > 4 && unit.starts_with('K') => format!("{}{unit}", number / 1024),
        0 if bytes > 4 => format!("{number}{unit}"),
        _ => num2str::print(number, bytes.max(4), binary, letters),
    }
}
