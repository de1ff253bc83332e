//! Metrics of published figures and of tables, by the words that scenarios have for them.

use super::Workload;
use super::error::Fault;
use iotax_units::Counted;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Metric of a published figure: `iops`, `write iops`, `durable throughput`, `read p99`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// I/Os or bytes per second.
    Rate {
        bytes: bool,
        /// True if the time of the flush at the end counts; for writes only.
        durable: bool,
        /// Direction; `None`: all directions together.
        way: Option<PublishedDirection>,
    },
    Latency {
        /// Direction; `None`: the only one that the workload has.
        way: Option<PublishedDirection>,
        percentile: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishedDirection {
    Read,
    Write,
}

const RATES: [(&str, bool, bool); 4] = [
    ("iops", false, false),
    ("throughput", true, false),
    ("durable iops", false, true),
    ("durable throughput", true, true),
];

const WAYS: [(&str, Option<PublishedDirection>); 3] = [
    ("", None),
    ("read ", Some(PublishedDirection::Read)),
    ("write ", Some(PublishedDirection::Write)),
];

impl Metric {
    /// Metrics to suggest in errors; `p99` represents any percentile, and latencies may have a
    /// direction, too.
    pub const KNOWN: [&str; 10] = [
        "iops",
        "throughput",
        "durable iops",
        "durable throughput",
        "read iops",
        "write iops",
        "read throughput",
        "write throughput",
        "mean",
        "p99",
    ];

    /// Returns the unit: `1/s`, `B/s` or `ns`.
    pub fn unit(self) -> &'static str {
        match self {
            Metric::Rate { bytes: false, .. } => "1/s",
            Metric::Rate { bytes: true, .. } => "B/s",
            Metric::Latency { .. } => "ns",
        }
    }

    /// Returns the quantile of a percentile, 0.99 for `p99`; `None` for a mean or a rate.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Metric::Latency { percentile, .. } => percentile.map(|percentile| percentile / 100.0),
            Metric::Rate { .. } => None,
        }
    }

    /// Returns true for a rate that includes the flush at the end.
    pub fn is_durable(self) -> bool {
        matches!(self, Metric::Rate { durable: true, .. })
    }

    pub(super) fn counted_kind(self) -> Counted {
        match self {
            Metric::Rate { bytes: false, .. } => Counted::PerSecond,
            Metric::Rate { bytes: true, .. } => Counted::BytesPerSecond,
            Metric::Latency { .. } => Counted::Time,
        }
    }

    /// Returns the direction; `None`: all directions, or not stated.
    pub fn direction(self) -> Option<PublishedDirection> {
        match self {
            Metric::Rate { way, .. } | Metric::Latency { way, .. } => way,
        }
    }

    /// Returns the metric as it applies to a workload. If the workload has one direction, a latency
    /// is of that direction, and a rate of that direction is the rate of all I/O.
    ///
    /// # Errors
    /// The workload lacks the direction, or a latency of a mix names none.
    pub fn on_workload(self, workload: &Workload) -> Result<Metric, Fault> {
        let (reads, writes) =
            (workload.jobs.iter().any(|job| job.rw.reads()), workload.writes_data());
        let lacks =
            |what: &str| Fault::new(format!("workload \"{}\" has no {what}", workload.name));
        match self.direction() {
            Some(PublishedDirection::Read) if !reads => return Err(lacks("reads")),
            Some(PublishedDirection::Write) if !writes => return Err(lacks("writes")),
            _ => {}
        }
        match self {
            Metric::Rate { durable: true, .. } if !writes => Err(lacks("writes to flush")),
            Metric::Rate { bytes, durable, way } => {
                Ok(Metric::Rate { bytes, durable, way: way.filter(|_| reads && writes) })
            }
            Metric::Latency { way: None, .. } if reads && writes => {
                let why = format!("workload \"{}\" reads and writes", workload.name);
                Err(Fault::hint(why, format!("write \"read {self}\" or \"write {self}\"")))
            }
            Metric::Latency { way, percentile } => {
                let only =
                    if writes { PublishedDirection::Write } else { PublishedDirection::Read };
                Ok(Metric::Latency { way: way.or(Some(only)), percentile })
            }
        }
    }

    pub(super) fn parse(word: &str) -> Result<Metric, Fault> {
        // The last one first, since every word begins with an empty prefix.
        let way = WAYS.iter().rev().find_map(|(name, way)| Some((*way, word.strip_prefix(name)?)));
        let metric = way.and_then(|(way, rest)| {
            if let Some((_, bytes, durable)) = RATES.into_iter().find(|(name, ..)| *name == rest) {
                // A read has nothing to flush.
                let is_known = !(durable && way == Some(PublishedDirection::Read));
                return is_known.then_some(Metric::Rate { bytes, durable, way });
            }
            let percentile = match rest {
                "mean" => None,
                rest => {
                    Some(rest.strip_prefix('p')?.parse().ok().filter(|p| *p > 0.0 && *p < 100.0)?)
                }
            };
            Some(Metric::Latency { way, percentile })
        });
        metric.ok_or_else(|| Fault::unknown("metric", word, &Metric::KNOWN))
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way =
            WAYS.iter().find(|(_, known)| *known == self.direction()).map_or("", |known| known.0);
        match self {
            Metric::Rate { bytes, durable, .. } => {
                let name = RATES
                    .iter()
                    .find(|(_, b, d)| (b, d) == (bytes, durable))
                    .map_or("", |rate| rate.0);
                write!(out, "{way}{name}")
            }
            Metric::Latency { percentile: None, .. } => write!(out, "{way}mean"),
            Metric::Latency { percentile: Some(percentile), .. } => {
                write!(out, "{way}p{percentile}")
            }
        }
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> String {
        metric.to_string()
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(word: String) -> Result<Metric, String> {
        Metric::parse(&word).map_err(|fault| fault.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_read_as_they_are_written() {
        for word in [
            "iops",
            "durable iops",
            "throughput",
            "durable throughput",
            "read iops",
            "write throughput",
            "write durable iops",
            "mean",
            "read mean",
            "p50",
            "write p99.95",
        ] {
            assert_eq!(Metric::parse(word).unwrap().to_string(), word);
        }
        assert_eq!(Metric::parse("p99.90").unwrap().to_string(), "p99.9");
        for word in [
            "",
            "IOPS",
            "p0",
            "p100",
            "pp",
            "p",
            "read durable iops",
            "durable p99",
            "read  mean",
            "median",
            "pNaN",
        ] {
            assert!(Metric::parse(word).is_err(), "{word}");
        }
        assert!(serde_json::from_str::<Metric>("\"speed\"").is_err());
    }
}
