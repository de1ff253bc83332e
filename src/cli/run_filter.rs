//! Options that choose stored runs by what they measured, where and when.

use iotax_model::record::RunStart;
use iotax_model::record::state::RunState;
use iotax_report::VERDICTS;
use iotax_store::{RunLock, RunSummary};
use iotax_units::parse_duration;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};
use std::time::Duration;

/// Runs of which time are meant.
#[derive(clap::Args, Debug, Default)]
pub struct PeriodFilter {
    /// Only runs that began then or later: 2026-11-22, "2026-11-22 18:33" (UTC), or 7d, 12h ago
    #[arg(long, value_name = "WHEN", value_parser = parse_since)]
    since: Option<Timestamp>,
    /// Only runs that began before that; the whole day of a date counts
    #[arg(long, value_name = "WHEN", value_parser = parse_until)]
    until: Option<Timestamp>,
}

/// Which stored runs are meant.
#[derive(clap::Args, Debug, Default)]
pub struct RunFilter {
    /// Only runs with a stack whose name or text has this in it
    #[arg(long, value_name = "WORD")]
    stack: Option<String>,
    /// Only runs with a load whose name or description has this in it
    #[arg(long, value_name = "WORD")]
    workload: Option<String>,
    /// Only runs on a machine whose name has this in it
    #[arg(long, value_name = "WORD")]
    host: Option<String>,
    /// Only runs with this answer
    #[arg(long, value_name = "VERDICT", value_parser = VERDICTS)]
    verdict: Option<String>,
    /// Only runs in this state: complete, interrupted, failed, running, killed or waits
    #[arg(long, value_name = "STATE", value_parser = ["complete", "interrupted", "failed", "running", "killed", "waits"])]
    state: Option<String>,
    #[command(flatten)]
    period: PeriodFilter,
}

impl PeriodFilter {
    /// Returns true if a run that began at `at` is meant. A run whose start cannot be read is meant
    /// if every time is.
    pub fn holds(&self, at: Option<&str>) -> bool {
        match at.and_then(|at| at.parse::<Timestamp>().ok()) {
            Some(at) => {
                self.since.is_none_or(|since| at >= since) && self.until.is_none_or(|end| at < end)
            }
            None => self.since.is_none() && self.until.is_none(),
        }
    }

    fn is_open(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }
}

impl RunFilter {
    /// Returns true if the ends of the run's record fit. The machine and the verdict are asked for
    /// by [`RunFilter::fits_host`] and [`RunFilter::fits_verdict`].
    pub fn fits_summary(&self, run: &RunSummary) -> bool {
        let start = run.start.as_ref().ok();
        let has = |word: &Option<String>, words: fn(&RunStart) -> Vec<String>| {
            word.as_ref().is_none_or(|word| {
                start.is_some_and(|start| words(start).iter().any(|text| contains(text, word)))
            })
        };
        let state = state_of(run).state_word();
        has(&self.stack, stack_words)
            && has(&self.workload, workload_words)
            && self.period.holds(start.map(|start| start.at.as_str()))
            && self.state.as_ref().is_none_or(|word| start.is_some() && state.starts_with(word))
    }

    pub fn fits_host(&self, host: Option<&str>) -> bool {
        self.host.as_ref().is_none_or(|word| host.is_some_and(|host| contains(host, word)))
    }

    pub fn fits_verdict(&self, verdict: Option<&str>) -> bool {
        self.verdict.is_none() || self.verdict.as_deref() == verdict
    }

    /// Returns true if only the whole record shows whether a run fits.
    pub fn asks_findings(&self) -> bool {
        self.host.is_some() || self.verdict.is_some()
    }

    /// Returns true if every run is meant.
    pub fn is_open(&self) -> bool {
        let words = [&self.stack, &self.workload, &self.host, &self.verdict, &self.state];
        words.iter().all(|word| word.is_none()) && self.period.is_open()
    }
}

pub fn state_of(run: &RunSummary) -> RunState {
    let is_running = run.outcome.is_none() && RunLock::is_held(&run.folder);
    RunState::from_outcome(run.outcome.as_deref(), is_running)
}

/// Returns the names of a run's stacks, or of its systems if it was imported.
pub fn stack_names(start: &RunStart) -> Vec<String> {
    match &start.imported {
        Some(imported) => imported.systems.clone(),
        None => start.scenario.stacks.iter().map(|stack| stack.name.clone()).collect(),
    }
}

fn stack_words(start: &RunStart) -> Vec<String> {
    let texts = start.scenario.stacks.iter().map(|stack| stack.text.clone());
    stack_names(start).into_iter().chain(texts).collect()
}

fn workload_words(start: &RunStart) -> Vec<String> {
    let loads = start.scenario.workloads.iter();
    loads.flat_map(|workload| [workload.name.clone(), workload.subject()]).collect()
}

/// Returns true if the text has the word in it, in upper or lower case.
pub fn contains(text: &str, word: &str) -> bool {
    text.to_lowercase().contains(&word.to_lowercase())
}

fn parse_since(text: &str) -> Result<Timestamp, String> {
    parse_when(text, Timestamp::now(), Some)
}

fn parse_until(text: &str) -> Result<Timestamp, String> {
    parse_when(text, Timestamp::now(), |date| date.tomorrow().ok())
}

/// Parses a date, a time in UTC, or a time before `now`. `edge` returns the date with whose
/// beginning a whole day begins or ends.
fn parse_when(
    text: &str,
    now: Timestamp,
    edge: fn(civil::Date) -> Option<civil::Date>,
) -> Result<Timestamp, String> {
    let utc =
        |time: civil::DateTime| time.to_zoned(TimeZone::UTC).ok().map(|time| time.timestamp());
    let date = || civil::Date::strptime("%Y-%m-%d", text).ok().and_then(edge);
    let date = || utc(date()?.into());
    let minute = || civil::DateTime::strptime("%Y-%m-%d %H:%M", text).ok().and_then(utc);
    let second = || text.parse::<civil::DateTime>().ok().and_then(utc);
    let whole = || text.parse::<Timestamp>().ok();
    let ago = || now.checked_sub(SignedDuration::try_from(time_ago(text)?).ok()?).ok();
    date().or_else(minute).or_else(whole).or_else(second).or_else(ago).ok_or_else(|| {
        format!("\"{text}\" is no time; write 2026-11-22, \"2026-11-22 18:33\", 7d or 12h")
    })
}

/// Parses `7d`, `2w`, and what [`parse_duration`] reads.
fn time_ago(text: &str) -> Option<Duration> {
    let days = |unit, days: u64| {
        let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(Duration::from_secs(number.checked_mul(days * 86_400)?))
    };
    days("d", 1).or_else(|| days("w", 7)).or_else(|| parse_duration(text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn when(text: &str, edge: fn(civil::Date) -> Option<civil::Date>) -> String {
        let now = "2026-11-29T12:00:00Z".parse().unwrap();
        parse_when(text, now, edge).map_or_else(|error| error, |time| time.to_string())
    }

    #[test]
    fn times_are_dates_minutes_and_ago() {
        let since = |text| when(text, Some);
        assert_eq!(since("2026-11-22"), "2026-11-22T00:00:00Z");
        assert_eq!(since("2026-11-22 18:33"), "2026-11-22T18:33:00Z");
        assert_eq!(since("2026-11-22T18:33:05Z"), "2026-11-22T18:33:05Z");
        assert_eq!(since("7d"), "2026-11-22T12:00:00Z");
        assert_eq!(since("2w"), "2026-11-15T12:00:00Z");
        assert_eq!(since("90min"), "2026-11-29T10:30:00Z");
        assert_eq!(when("2026-11-22", |date| date.tomorrow().ok()), "2026-11-23T00:00:00Z");
        for bad in ["", "x", "7", "99999999999999999999d", "2026-13-01", "300000000000w"] {
            assert!(since(bad).contains("is no time"), "{bad}: {}", since(bad));
        }
    }

    #[test]
    fn a_period_has_its_beginning_and_not_its_end() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        let period =
            PeriodFilter { since: at("2026-01-01T00:00:00Z"), until: at("2026-01-02T00:00:00Z") };
        assert!(period.holds(Some("2026-01-01T00:00:00Z")));
        assert!(!period.holds(Some("2026-01-02T00:00:00Z")) && !period.holds(Some("torn")));
        assert!(PeriodFilter::default().holds(None));
    }
}
