//! What one run printed before it ended: `--status-interval` and SIGUSR1 have fio print all that it
//! counted so far, each time like the output of a run. Only the last of them is a result; the
//! others are no runs of their own.

use super::{Direction, Fio, FioForm, FioReport};
use crate::import::{ToolOutput, ToolReport};
use crate::number::PrintedNumber;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// How far the clock and the runtimes may be apart where both are told in milliseconds.
const FINE_MS: f64 = 20.0;
/// And where the time is told in seconds, of which fio cuts the rest off.
const COARSE_MS: f64 = 1000.0;
/// Runs of one length differ by less than this.
const RISE_MS: f64 = 500.0;

/// Of each output of a page, in their order, whether a later one of the same run has all that it
/// has and more. Nothing is said where an output does not tell when it was printed.
pub fn superseded(outputs: &[ToolOutput]) -> Vec<bool> {
    followers(outputs).iter().map(Option::is_some).collect()
}

pub(crate) fn followers(outputs: &[ToolOutput]) -> Vec<Option<usize>> {
    let mut followers = vec![None; outputs.len()];
    // Of `--output-format=normal,json` each form goes on by itself.
    let mut last: [Option<(usize, &Fio)>; 2] = [None, None];
    for (at, output) in outputs.iter().enumerate() {
        let ToolReport::Fio(fio) = &output.said else { continue };
        let form = match fio.form {
            FioForm::Text => 0,
            FioForm::Json => 1,
            FioForm::Terse | FioForm::Excerpt => continue,
        };
        if let Some((before, _)) =
            last[form].replace((at, fio)).filter(|(_, before)| goes_on(before, fio))
        {
            followers[before] = Some(at);
        }
    }
    followers
}

fn goes_on(before: &Fio, later: &Fio) -> bool {
    // A text has its head once, above the first that it prints; what was asked and the version are
    // given on from there.
    let anew = later.form == FioForm::Text && later.started;
    !anew
        && !unlike(before.version, later.version)
        && before.jobs.len() == later.jobs.len()
        && !later.jobs.is_empty()
        && before.jobs.iter().zip(&later.jobs).all(|(before, later)| job_goes_on(before, later))
        && began_once(before, later)
}

fn unlike<T: PartialEq>(before: Option<T>, later: Option<T>) -> bool {
    before.zip(later).is_some_and(|(before, later)| before != later)
}

/// Whether two jobs are one as far as is told of them, and nothing that it counts became less.
fn job_goes_on(before: &FioReport, later: &FioReport) -> bool {
    let switches = |job: &FioReport| [job.cpu.and_then(|cpu| cpu.switches)];
    let issued = |job: &FioReport| job.issued.unwrap_or_default().total;
    let goes_up = |before: &Direction| {
        let mut ways = later.directions.iter();
        ways.find(|later| later.way == before.way).is_some_and(|later| goes_up(before, later))
    };
    (&before.name, before.group, &before.host, &before.options)
        == (&later.name, later.group, &later.host, &later.options)
        && !unlike(before.pid, later.pid)
        && !unlike(before.began_ms, later.began_ms)
        && rise(&issued(before), &issued(later))
        && rise(&switches(before), &switches(later))
        && before.directions.iter().all(goes_up)
}

fn goes_up(before: &Direction, later: &Direction) -> bool {
    let counts = |way: &Direction| [way.ios, way.io, way.runtime_ms];
    let latencies = [(before.slat, later.slat), (before.clat, later.clat), (before.lat, later.lat)];
    let mut both = latencies.into_iter().filter_map(|(before, later)| before.zip(later));
    rise(&counts(before), &counts(later))
        && both.all(|(before, later)| {
            before.min.high >= later.min.low && before.max.low <= later.max.high
        })
}

/// Whether figures may be no less than those before them, by the digits that are printed.
fn rise(before: &[Option<PrintedNumber>], later: &[Option<PrintedNumber>]) -> bool {
    let pairs = before.iter().zip(later).filter_map(|(before, later)| before.zip(*later));
    pairs.into_iter().all(|(before, later)| before.low <= later.high)
}

/// Whether the later output's run began before the earlier output was printed: by `job_start`, else
/// by the time that passed between the two, in which another run would not have had the room.
fn began_once(before: &Fio, later: &Fio) -> bool {
    let told = |fio: &Fio| fio.jobs.iter().map(|job| job.began_ms).collect::<Option<Vec<_>>>();
    if told(before).is_some() && told(before) == told(later) {
        return true;
    }
    let Some((passed, open)) = passed_ms(before, later) else { return false };
    let runtime = longest_ms(later);
    let rise = runtime - longest_ms(before);
    let no_room = passed + open < runtime;
    // The first two of a short interval: seconds alone leave it open, the runtime went on with the
    // clock.
    let together = rise >= RISE_MS && (passed - rise).abs() <= open;
    passed >= 0.0 && (no_room || together)
}

/// Milliseconds from one output to the other, and how far off they may be.
fn passed_ms(before: &Fio, later: &Fio) -> Option<(f64, f64)> {
    let fine = |fio: &Fio| fio.jobs.iter().filter_map(|job| job.printed_ms).max();
    if let (Some(before), Some(later)) = (fine(before), fine(later)) {
        return Some((later as f64 - before as f64, FINE_MS));
    }
    let coarse = |fio: &Fio| fio.jobs.iter().filter_map(|job| seconds(job.ended.as_deref()?)).max();
    Some(((coarse(later)? - coarse(before)?) as f64 * 1e3, COARSE_MS))
}

fn longest_ms(fio: &Fio) -> f64 {
    let ways = fio.jobs.iter().flat_map(|job| &job.directions);
    ways.filter_map(|way| way.runtime_ms).map(|figure| figure.value).fold(0.0, f64::max)
}

/// Seconds since 1970 of `Mon Nov 23 21:26:25 2026`, by the clock of the machine.
fn seconds(text: &str) -> Option<i64> {
    let told = DateTime::strptime("%a %b %e %H:%M:%S %Y", text.trim()).ok()?;
    Some(told.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}
