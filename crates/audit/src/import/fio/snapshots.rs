//! Outputs that a run printed before it ended: with `--status-interval` and on SIGUSR1 fio prints
//! its counts so far, each time like the output of a run. Only the last one is a result; the others
//! are not runs of their own.

use super::{Direction, Fio, FioForm, FioReport};
use crate::import::format::{ToolOutput, ToolReport};
use crate::number::PrintedNumber;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Uncertainty of the time between two outputs if both print it in milliseconds.
const FINE_MS: f64 = 20.0;
/// Uncertainty of the time between two outputs if they print it in seconds, which fio truncates.
const COARSE_MS: f64 = 1000.0;
/// Least rise of the runtime that shows two outputs to be of one run: separate runs of one length
/// differ by less.
const RISE_MS: f64 = 500.0;

/// Returns, for each output of a page in order, true if a later output of the same run has
/// everything it has and more. An output that does not say when it was printed is never superseded.
pub fn superseded(outputs: &[ToolOutput]) -> Vec<bool> {
    followers(outputs).iter().map(Option::is_some).collect()
}

pub(crate) fn followers(outputs: &[ToolOutput]) -> Vec<Option<usize>> {
    let mut followers = vec![None; outputs.len()];
    // With `--output-format=normal,json` each form continues by itself.
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
    // A text has its head once, above its first output; the settings and the version are passed on
    // from there.
    let starts_again = later.form == FioForm::Text && later.started;
    !starts_again
        && !unlike(before.version, later.version)
        && before.jobs.len() == later.jobs.len()
        && !later.jobs.is_empty()
        && before.jobs.iter().zip(&later.jobs).all(|(before, later)| job_goes_on(before, later))
        && began_once(before, later)
}

fn unlike<T: PartialEq>(before: Option<T>, later: Option<T>) -> bool {
    before.zip(later).is_some_and(|(before, later)| before != later)
}

/// Returns true if two jobs are the same job as far as they show, and no count became smaller.
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

/// Returns true if no figure falls below the one before it, by the digits that are printed.
fn rise(before: &[Option<PrintedNumber>], later: &[Option<PrintedNumber>]) -> bool {
    let pairs = before.iter().zip(later).filter_map(|(before, later)| before.zip(*later));
    pairs.into_iter().all(|(before, later)| before.low <= later.high)
}

/// Returns true if the later output's run began before the earlier output was printed. This follows
/// from `job_start`, or else from the time that passed between the two, if another run would not
/// fit in it.
fn began_once(before: &Fio, later: &Fio) -> bool {
    let begin_times =
        |fio: &Fio| fio.jobs.iter().map(|job| job.began_ms).collect::<Option<Vec<_>>>();
    if begin_times(before).is_some() && begin_times(before) == begin_times(later) {
        return true;
    }
    let Some((passed, open)) = passed_ms(before, later) else { return false };
    let runtime = longest_ms(later);
    let rise = runtime - longest_ms(before);
    let no_room = passed + open < runtime;
    // The first two outputs of a short interval: whole seconds alone do not decide it, but the
    // runtime advanced with the clock.
    let together = rise >= RISE_MS && (passed - rise).abs() <= open;
    passed >= 0.0 && (no_room || together)
}

/// Returns the milliseconds from one output to the other and their uncertainty; `None` if an output
/// does not print its time.
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

/// Returns the seconds since 1970 of a printed time, as if the machine's local time were UTC.
fn seconds(text: &str) -> Option<i64> {
    Some(printed_time(text)?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

/// Reads `Mon Nov 23 21:26:25 2026`, as fio prints it.
pub fn printed_time(text: &str) -> Option<DateTime> {
    DateTime::strptime("%a %b %e %H:%M:%S %Y", text.trim()).ok()
}
