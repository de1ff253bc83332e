//! Service levels: `read p99 < 500us` says that 99 % of the reads must end within 500 us.

use super::Workload;
use super::error::Fault;
use iotax_load::Job;
use iotax_units as units;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Key of `[measure]`, and an option of `run` and `report`.
pub const KEY: &str = "slo";

const EXAMPLES: &str =
    "write it as \"p99 < 500us\", \"read p99.9 < 2ms\" or \"fdatasync p99 < 10ms\"";

/// A latency that a percentile must stay below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceLevel {
    /// Metric that must keep the level; `None`: reads, writes and trims, each separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<LatencyMetric>,
    pub percent: f64,
    pub below_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyMetric {
    Read,
    Write,
    Trim,
    Fsync,
    Fdatasync,
}

impl LatencyMetric {
    pub const ALL: [LatencyMetric; 5] = [
        LatencyMetric::Read,
        LatencyMetric::Write,
        LatencyMetric::Trim,
        LatencyMetric::Fsync,
        LatencyMetric::Fdatasync,
    ];

    pub fn metric_word(self) -> &'static str {
        match self {
            LatencyMetric::Read => "read",
            LatencyMetric::Write => "write",
            LatencyMetric::Trim => "trim",
            LatencyMetric::Fsync => "fsync",
            LatencyMetric::Fdatasync => "fdatasync",
        }
    }

    pub fn is_flush(self) -> bool {
        matches!(self, LatencyMetric::Fsync | LatencyMetric::Fdatasync)
    }

    fn is_of(self, job: &Job) -> bool {
        match self {
            LatencyMetric::Read => job.rw.reads(),
            LatencyMetric::Write => job.rw.writes_data(),
            LatencyMetric::Trim => job.rw.trims(),
            LatencyMetric::Fsync => job.rw.writes_data() && job.fsync > 0,
            LatencyMetric::Fdatasync => job.rw.writes_data() && job.fdatasync > 0,
        }
    }
}

impl ServiceLevel {
    /// Returns those latencies that the workload has and that must keep the level.
    pub fn metrics(&self, workload: &Workload) -> Vec<LatencyMetric> {
        let asked = |metric: &LatencyMetric| match self.metric {
            Some(only) => only == *metric,
            None => !metric.is_flush(),
        };
        let has = |metric: &LatencyMetric| workload.jobs.iter().any(|job| metric.is_of(job));
        LatencyMetric::ALL.into_iter().filter(asked).filter(has).collect()
    }

    pub fn allowed(&self) -> f64 {
        1.0 - self.percent / 100.0
    }

    pub fn level_words(&self) -> String {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "s"), (1_000_000, "ms"), (1000, "us"), (1, "ns")];
        let (ns, unit) =
            UNITS.into_iter().find(|(ns, _)| self.below_ns >= *ns).unwrap_or((1, "ns"));
        format!("p{} < {}{unit}", self.percent, self.below_ns as f64 / ns as f64)
    }

    fn parse(text: &str) -> Result<ServiceLevel, Fault> {
        let wrong = || Fault::hint(format!("\"{text}\" is not a service level"), EXAMPLES);
        let (left, time) = text.split_once('<').ok_or_else(wrong)?;
        let words: Vec<&str> = left.split_whitespace().collect();
        let (metric, percentile) = match words.as_slice() {
            [percentile] => (None, *percentile),
            [metric, percentile] => (Some(*metric), *percentile),
            _ => return Err(wrong()),
        };
        let metric = match metric {
            None => None,
            Some(word) => Some(
                LatencyMetric::ALL
                    .into_iter()
                    .find(|known| known.metric_word() == word)
                    .ok_or_else(|| {
                        Fault::unknown(
                            "latency",
                            word,
                            &LatencyMetric::ALL.map(LatencyMetric::metric_word),
                        )
                    })?,
            ),
        };
        let percent: Option<f64> =
            percentile.strip_prefix('p').and_then(|number| number.parse().ok());
        let percent =
            percent.filter(|percent| *percent > 0.0 && *percent < 100.0).ok_or_else(|| {
                Fault::hint(
                    format!("\"{percentile}\" is not a percentile: it is above p0 and below p100"),
                    EXAMPLES,
                )
            })?;
        let time =
            units::parse_duration(time.trim()).map_err(|clause| Fault::from_clause(&clause))?;
        let below_ns =
            u64::try_from(time.as_nanos()).ok().filter(|ns| *ns > 0).ok_or_else(wrong)?;
        Ok(ServiceLevel { metric, percent, below_ns })
    }
}

impl fmt::Display for ServiceLevel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric =
            self.metric.map(|metric| format!("{} ", metric.metric_word())).unwrap_or_default();
        write!(out, "{metric}{}", self.level_words())
    }
}

/// Parses a list: `p99 < 500us, fdatasync p99 < 10ms`.
///
/// # Errors
/// Names the text that is not a service level, and shows how to write one.
pub fn parse_list(list: &str) -> Result<Vec<ServiceLevel>, Fault> {
    let mut all: Vec<ServiceLevel> = Vec::new();
    for text in list.split(',') {
        let level = ServiceLevel::parse(text.trim())?;
        if !all.contains(&level) {
            all.push(level);
        }
    }
    Ok(all)
}

/// Checks that each level applies to some workload.
///
/// # Errors
/// Returns the first level that applies to no workload.
pub fn check_levels(levels: &[ServiceLevel], workloads: &[Workload]) -> Result<(), Fault> {
    let idle =
        |level: &&ServiceLevel| workloads.iter().all(|workload| level.metrics(workload).is_empty());
    let Some(level) = levels.iter().find(idle) else { return Ok(()) };
    let (why, hint) = match level.metric {
        None => ("no workload issues I/O".to_owned(), "name a load with rw".to_owned()),
        Some(metric) if metric.is_flush() => (
            format!("no workload calls {}", metric.metric_word()),
            format!("let one that writes call it after each write: {} = 1", metric.metric_word()),
        ),
        Some(metric) => (
            format!("no workload has {}s", metric.metric_word()),
            format!("leave \"{} \" out, or change rw", metric.metric_word()),
        ),
    };
    Err(Fault::hint(format!("service level \"{level}\": {why}"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Rw;

    fn workload(job: Job) -> Workload {
        Workload { name: "w".into(), jobs: vec![job], probe: None, engine: None, sweep: None }
    }

    #[test]
    fn levels_are_read_and_shown() {
        let all =
            parse_list("p99 < 500us,read p99.9<2ms , fdatasync p50 < 1500ms,p99 < 500us").unwrap();
        let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["p99 < 500us", "read p99.9 < 2ms", "fdatasync p50 < 1.5s"]);
        assert!((all[1].allowed() - 0.001).abs() < 1e-9);
        let stored = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<ServiceLevel>>(&stored).unwrap(), all);
    }

    #[test]
    fn what_is_no_level_is_refused_with_the_way_to_write_one() {
        let why = |text: &str| {
            let fault = parse_list(text).unwrap_err();
            format!("{}; {}", fault.why, fault.hint.unwrap_or_default())
        };
        for text in ["p99", "", "p99 < 1ms,", "a read p99 < 1ms", "p99 < 0s"] {
            assert!(
                why(text).contains("is not a service level; write it as"),
                "{text}: {}",
                why(text)
            );
        }
        assert!(why("p100 < 1ms").starts_with("\"p100\" is not a percentile"));
        assert!(why("99 < 1ms").starts_with("\"99\" is not a percentile"));
        assert!(why("reed p99 < 1ms").contains("reed") && why("reed p99 < 1ms").contains("read"));
        assert!(why("p99 < 500").contains("500"), "{}", why("p99 < 500"));
    }

    #[test]
    fn a_level_is_of_what_the_load_does() {
        let mix = workload(Job { rw: Rw::RandRw, fdatasync: 1, ..Job::default() });
        let reads = workload(Job { fdatasync: 1, ..Job::default() });
        let of = |text: &str, on: &Workload| {
            parse_list(text).unwrap()[0]
                .metrics(on)
                .into_iter()
                .map(LatencyMetric::metric_word)
                .collect::<Vec<_>>()
        };
        assert_eq!(of("p99 < 1ms", &mix), ["read", "write"]);
        assert_eq!(of("fdatasync p99 < 1ms", &mix), ["fdatasync"]);
        assert!(
            of("fsync p99 < 1ms", &mix).is_empty() && of("fdatasync p99 < 1ms", &reads).is_empty()
        );
        let refused =
            |text: &str| check_levels(&parse_list(text).unwrap(), std::slice::from_ref(&reads));
        assert_eq!(refused("p99 < 1ms"), Ok(()));
        let fault = refused("p99 < 1ms,fsync p99 < 1ms").unwrap_err();
        assert_eq!(fault.why, "service level \"fsync p99 < 1ms\": no workload calls fsync");
        assert!(fault.hint.unwrap().ends_with("fsync = 1"));
        assert!(refused("write p9 < 1ms").unwrap_err().why.ends_with("no workload has writes"));
    }
}
