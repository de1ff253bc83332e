//! DiskSpd: its text and its XML in one form. Its tables are of bytes over the time of the test; XML has the counts only.

pub mod text;
pub mod xml;

use super::{Reading, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};

/// One output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskSpd {
    /// What was asked of each target, by the profile.
    pub targets: Vec<Target>,
    /// Its timespans.
    pub spans: Vec<Span>,
}

/// A target and how it was loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its path.
    pub path: String,
    /// Bytes of an I/O.
    pub block: Option<u64>,
    /// Percent of writes.
    pub writes: Option<f64>,
    /// Whether offsets are random.
    pub random: Option<bool>,
    /// I/Os in flight a thread.
    pub outstanding: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
}

/// A timespan's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span {
    /// Index of the line it begins at.
    pub line: usize,
    /// Seconds.
    pub seconds: Option<Figure>,
    /// Threads.
    pub threads: Option<Figure>,
    /// Lines of CPUs: usage, user, kernel, idle, in percent; the average last.
    pub cpus: Vec<[Figure; 4]>,
    /// All I/Os, reads, writes.
    pub tables: [Option<Table>; 3],
    /// Percentiles in the order of the page.
    pub tiles: Vec<Tile>,
}

/// A table of threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// One a thread and target.
    pub rows: Vec<Row>,
    /// The line `total`.
    pub total: Option<Row>,
}

/// A line of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index of its line.
    pub line: usize,
    /// Bytes.
    pub bytes: Figure,
    /// I/Os.
    pub ios: Figure,
    /// Bytes a second.
    pub bandwidth: Option<Figure>,
    /// I/Os a second.
    pub iops: Option<Figure>,
    /// Mean latency in nanoseconds.
    pub latency: Option<Figure>,
    /// Standard deviation of I/Os a second.
    pub iops_deviation: Option<Figure>,
    /// Standard deviation of the latency.
    pub latency_deviation: Option<Figure>,
}

/// A line of percentiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tile {
    /// Percent: 0 of the least, 100 of the most.
    pub percent: f64,
    /// Nanoseconds: reads, writes, all.
    pub latency: [Option<Figure>; 3],
}

impl DiskSpd {
    /// The size of all I/Os, where it is one.
    pub fn block(&self) -> Option<u64> {
        let first = self.targets.first()?.block?;
        self.targets.iter().all(|target| target.block == Some(first)).then_some(first)
    }

    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for span in &self.spans {
            let mut say = |metric, unit, figure: &Option<Figure>| {
                figure.iter().for_each(|figure| tell((metric, unit, *figure)));
            };
            say(Metric::Runtime, Unit::Nanoseconds, &span.seconds.map(|figure| figure.scaled(1e9)));
            say(Metric::Other, Unit::Things, &span.threads);
            span.cpus.iter().flatten().for_each(|figure| say(Metric::Cpu, Unit::Percent, &Some(*figure)));
            for row in span.tables.iter().flatten().flat_map(|table| table.rows.iter().chain(&table.total)) {
                say(Metric::Total, Unit::Bytes, &Some(row.bytes));
                say(Metric::Issued, Unit::Things, &Some(row.ios));
                say(Metric::Bandwidth, Unit::BytesPerSecond, &row.bandwidth);
                say(Metric::Iops, Unit::PerSecond, &row.iops);
                say(Metric::Latency, Unit::Nanoseconds, &row.latency);
                say(Metric::Interval, Unit::PerSecond, &row.iops_deviation);
                say(Metric::Latency, Unit::Nanoseconds, &row.latency_deviation);
            }
            for figure in span.tiles.iter().flat_map(|tile| &tile.latency) {
                say(Metric::Percentile, Unit::Nanoseconds, figure);
            }
        }
    }

    /// A reading a way of each timespan.
    pub fn readings(&self) -> Vec<Reading> {
        self.spans.iter().flat_map(|span| self.of_span(span)).collect()
    }

    fn of_span(&self, span: &Span) -> Vec<Reading> {
        let busy = |way: usize| {
            let rows = span.tables[way].iter().flat_map(|table| table.rows.iter().chain(&table.total));
            rows.into_iter().any(|row| row.ios.value > 0.0)
        };
        let ways: &[(usize, Way, usize)] = match (busy(1), busy(2)) {
            (false, false) => &[(0, Way::Both, 2)],
            _ => &[(1, Way::Read, 0), (2, Way::Write, 1)],
        };
        let mut readings = Vec::new();
        for (table, way, tile) in ways {
            let of = |tiles: &Tile| Some((tiles.percent, tiles.latency[*tile]?));
            let table = span.tables[*table].iter();
            // XML has no totals: a reading a thread and target.
            let rows = table.flat_map(|table| match &table.total {
                Some(total) => std::slice::from_ref(total),
                None => &table.rows,
            });
            readings.extend(rows.filter(|row| row.ios.value > 0.0).map(|row| Reading {
                iops: row.iops,
                bytes_per_second: row.bandwidth,
                ios: Some(row.ios),
                bytes: Some(row.bytes),
                mean_ns: row.latency,
                percentiles_ns: span.tiles.iter().filter_map(of).collect(),
                ..Reading::new(row.line, self.workload(span), *way)
            }));
        }
        readings
    }

    fn workload(&self, span: &Span) -> Workload {
        let target = self.targets.first();
        let writes = target.and_then(|target| target.writes);
        let mixed = writes.is_some_and(|writes| writes > 0.0 && writes < 100.0);
        let rw = |random: bool, writes: f64| {
            let way = if mixed {
                "rw"
            } else if writes > 0.0 {
                "write"
            } else {
                "read"
            };
            if random { format!("rand{way}") } else { way.to_owned() }
        };
        Workload {
            rw: target.and_then(|target| Some(rw(target.random?, target.writes?))),
            bs: self.block(),
            iodepth: target.and_then(|target| target.outstanding),
            numjobs: span.threads.map(|threads| threads.value as u64),
            rwmixread: writes.filter(|_| mixed).map(|writes| 100.0 - writes),
            runtime_s: span.seconds.map(|seconds| seconds.value),
            ..Workload::default()
        }
    }
}

/// Percent of `25th`, `3-nines`, `min`, `max`.
fn percent(word: &str) -> Option<f64> {
    if let Some(nines) = word.strip_suffix("-nines") {
        let nines: i32 = nines.parse().ok().filter(|nines| (1..=12).contains(nines))?;
        return Some(100.0 - 100.0 * 10f64.powi(-nines));
    }
    match word {
        "min" => Some(0.0),
        "max" => Some(100.0),
        _ => word.strip_suffix("th")?.parse().ok(),
    }
}
