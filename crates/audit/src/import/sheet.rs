//! What most tools print: figures behind labels, as sheets of one result each.

use super::cut::{Line, MIB, exact};
use super::{Other, Reading, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};

/// A figure as messages call it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Named {
    /// `the rate`.
    pub(crate) name: &'static str,
    /// What stands behind it where it is printed: `MB/s`.
    pub(crate) unit: &'static str,
    /// The figure, in I/Os or bytes a second, bytes, nanoseconds, a count, percent.
    pub(crate) figure: Figure,
}

pub(crate) fn named(name: &'static str, unit: &'static str, figure: Figure) -> Named {
    Named { name, unit, figure }
}

/// Names of figures that every tool's results have.
pub(crate) const IOPS: &str = "the IOPS";
pub(crate) const BANDWIDTH: &str = "the bandwidth";
pub(crate) const IOS: &str = "the I/Os";
pub(crate) const BYTES: &str = "the bytes";
pub(crate) const TIME: &str = "the time";
pub(crate) const LEAST: &str = "the least latency";
pub(crate) const MEAN: &str = "the mean latency";
pub(crate) const MOST: &str = "the greatest latency";

/// A figure of a line: its name, what it measures, its unit, how much a printed 1 is.
pub(crate) type Place = (&'static str, Metric, &'static str, f64);

pub(super) const fn count(name: &'static str) -> Place {
    (name, Metric::Issued, "", 1.0)
}

pub(super) const fn a_second(name: &'static str) -> Place {
    (name, Metric::Score, "/s", 1.0)
}

pub(super) const fn ms(name: &'static str) -> Place {
    (name, Metric::Latency, "ms", 1e6)
}

pub(super) const fn mib_a_second(name: &'static str) -> Place {
    (name, Metric::Bandwidth, "MiB/s", MIB)
}

/// A line as a tool prints it ([`Line::fits`]), its versions parted by `|`, and its figures in their order.
pub(crate) type Pattern = (&'static str, &'static [Place]);

/// Of which part of a run a sheet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Span {
    /// All of it.
    #[default]
    Whole,
    Interval(u32),
    /// The average of intervals, the first and the last.
    Average(u32, u32),
}

/// One result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    pub(crate) line: usize,
    pub(crate) workload: Workload,
    /// Which way; `None` where it is no I/O but a part of something else.
    pub(crate) way: Option<Way>,
    pub(crate) figures: Vec<(Metric, Named)>,
    pub(crate) percentiles: Vec<(f64, Figure)>,
    pub(crate) others: Vec<Other>,
    pub(crate) span: Span,
    /// Whether its figures are those of a sheet before it.
    pub(crate) repeats: bool,
}

impl Sheet {
    pub(crate) fn new(line: usize, way: Option<Way>) -> Sheet {
        Sheet { line, way, ..Sheet::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<Named> {
        self.figures.iter().map(|(_, named)| *named).find(|named| named.name == name)
    }

    pub(crate) fn figure(&self, name: &str) -> Option<Figure> {
        self.get(name).map(|named| named.figure)
    }

    /// Notes a figure, once a name. What counts things is exact.
    pub(crate) fn add(&mut self, metric: Metric, mut named: Named) {
        if metric == Metric::Issued {
            named.figure = exact(named.figure.spot, named.figure.value);
        }
        if self.get(named.name).is_none() {
            self.figures.push((metric, named));
        }
    }

    /// Takes in the figures of a line that reads as one of the patterns; which one it was.
    pub(super) fn take(&mut self, line: &Line, patterns: &[Pattern]) -> Option<&'static str> {
        let read = |pattern: &str| pattern.split('|').find_map(|one| line.fits(one));
        let mut known =
            patterns.iter().filter_map(|(pattern, places)| Some((*pattern, places, read(pattern)?)));
        let (pattern, places, figures) = known.next()?;
        for ((name, metric, unit, scale), figure) in places.iter().zip(figures) {
            self.add(*metric, named(name, unit, figure.scaled(*scale)));
        }
        Some(pattern)
    }

    /// Some of its figures under other names, as a result of one way that repeats them.
    pub(crate) fn part(&self, way: Way, names: &[(&str, &'static str)]) -> Sheet {
        let renamed =
            |(from, to): &(&str, &'static str)| Some((Metric::Other, Named { name: to, ..self.get(from)? }));
        let figures = names.iter().filter_map(renamed).collect();
        Sheet { figures, workload: self.workload.clone(), repeats: true, ..Sheet::new(self.line, Some(way)) }
    }

    pub(crate) fn tell(&self, tell: &mut dyn FnMut(Told)) {
        if self.repeats {
            return;
        }
        for (metric, named) in &self.figures {
            tell((*metric, unit(*metric, named.unit), named.figure));
        }
        self.percentiles.iter().for_each(|(_, one)| tell((Metric::Percentile, Unit::Nanoseconds, *one)));
    }

    pub(crate) fn reading(&self) -> Option<Reading> {
        Some(Reading {
            iops: self.figure(IOPS),
            bytes_per_second: self.figure(BANDWIDTH),
            ios: self.figure(IOS),
            bytes: self.figure(BYTES),
            mean_ns: self.figure(MEAN),
            percentiles_ns: self.percentiles.clone(),
            others: self.others.clone(),
            ..Reading::new(self.line, self.workload.clone(), self.way?)
        })
    }
}

fn unit(metric: Metric, printed: &str) -> Unit {
    match (metric, printed) {
        (_, "%") => Unit::Percent,
        (_, "MWIPS") => Unit::Mwips,
        (_, "/s") | (Metric::Iops, _) => Unit::PerSecond,
        (Metric::Bandwidth, _) => Unit::BytesPerSecond,
        (Metric::Total, _) => Unit::Bytes,
        (Metric::Latency | Metric::Percentile | Metric::Runtime, _) => Unit::Nanoseconds,
        (Metric::Score, _) => Unit::Bare,
        _ => Unit::Things,
    }
}
