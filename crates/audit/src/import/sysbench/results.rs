//! What an output of sysbench says: its figures, and its results in the form that all tools share.

use super::Sysbench;
use crate::claim::Metric;
use crate::import::cut::other;
use crate::import::{Other, Reading, Told, Way, Workload};
use crate::number::{Figure, Unit};

impl Sysbench {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        let mut say = |metric, unit, figure: &Option<Figure>| {
            if let Some(figure) = figure {
                tell((metric, unit, *figure));
            }
        };
        say(Metric::Other, Unit::Things, &self.threads);
        for figure in &self.events_per_second {
            say(Metric::Score, Unit::PerSecond, &Some(*figure));
        }
        for (rate, total, per_second) in [
            (&self.operations, Unit::Things, Unit::PerSecond),
            (&self.transferred, Unit::Bytes, Unit::BytesPerSecond),
        ] {
            if let Some(rate) = rate {
                say(Metric::Total, total, &Some(rate.total));
                say(Metric::Bandwidth, per_second, &Some(rate.per_second));
            }
        }
        self.moved.iter().for_each(|figure| say(Metric::Total, Unit::Bytes, figure));
        self.requests.iter().for_each(|figure| say(Metric::Issued, Unit::Things, figure));
        say(Metric::Iops, Unit::PerSecond, &self.requests_per_second);
        self.per_second.iter().for_each(|figure| say(Metric::Iops, Unit::PerSecond, figure));
        for figures in [&self.bytes_per_second, &self.decimal_per_second] {
            figures.iter().for_each(|figure| say(Metric::Bandwidth, Unit::BytesPerSecond, figure));
        }
        self.queries.iter().for_each(|figure| say(Metric::Issued, Unit::Things, figure));
        for counted in &self.counted {
            say(Metric::Issued, Unit::Things, &Some(counted.rate.total));
            say(Metric::Score, Unit::PerSecond, &Some(counted.rate.per_second));
        }
        say(Metric::Runtime, Unit::Nanoseconds, &self.seconds.map(|figure| figure.scaled(1e9)));
        say(Metric::Issued, Unit::Things, &self.events);
        say(Metric::Latency, Unit::Nanoseconds, &self.event_time);
        self.latency.iter().for_each(|figure| say(Metric::Latency, Unit::Nanoseconds, figure));
        say(Metric::Percentile, Unit::Nanoseconds, &self.percentile.map(|(_, figure)| figure));
        for figure in self.events_of_thread.iter().flatten() {
            say(Metric::Other, Unit::Things, &Some(*figure));
        }
        for figure in self.seconds_of_thread.iter().flatten() {
            say(Metric::Runtime, Unit::Nanoseconds, &Some(figure.scaled(1e9)));
        }
    }

    /// Its results in the form that all tools share: fileio's by way, memory's bandwidth, anything else as scores.
    pub fn readings(&self) -> Vec<Reading> {
        let workload = Workload {
            rw: self.operation.as_deref().and_then(rw),
            bs: self.block,
            numjobs: self.threads.map(|threads| threads.value as u64),
            runtime_s: self.seconds.map(|seconds| seconds.value),
            ..Workload::default()
        };
        let reading = |way| Reading {
            mean_ns: self.latency[1],
            percentiles_ns: self.percentile.iter().copied().collect(),
            ..Reading::new(self.line, workload.clone(), way)
        };
        let mut readings = Vec::new();
        for (at, way) in [Way::Read, Way::Write].into_iter().enumerate() {
            let (iops, bytes) = (self.per_second[at], self.bytes_per_second[at]);
            // Latencies of fileio are of reads, writes and fsyncs together.
            if iops.is_some_and(|iops| iops.value > 0.0) {
                let mean_ns = None;
                readings.push(Reading {
                    iops,
                    bytes_per_second: bytes,
                    mean_ns,
                    percentiles_ns: Vec::new(),
                    ..reading(way)
                });
            }
        }
        if let Some(transferred) = self.transferred {
            let way = match self.operation.as_deref() {
                Some("write") => Way::Write,
                Some("read") => Way::Read,
                _ => Way::Both,
            };
            let (bytes, bytes_per_second) = (Some(transferred.total), Some(transferred.per_second));
            readings.push(Reading {
                bytes,
                bytes_per_second,
                iops: self.requests_per_second,
                ..reading(way)
            });
        }
        let others = self.others();
        if !others.is_empty() || readings.is_empty() {
            readings.push(Reading { others, ..reading(Way::Both) });
        }
        readings
    }

    fn others(&self) -> Vec<Other> {
        let mut others: Vec<Other> = Vec::new();
        if let Some(rate) = self.events_per_second.first() {
            others.push(other("events per second", "events/s", true, *rate));
        }
        for counted in self.counted.iter().filter(|one| matches!(one.name, "transactions" | "queries")) {
            others.push(other(counted.name, "/s", true, counted.rate.per_second));
        }
        others
    }
}

/// fio's word for what sysbench calls a test.
fn rw(operation: &str) -> Option<String> {
    let word = match operation {
        "sequential write (creation) test" | "sequential rewrite test" | "write" => "write",
        "sequential read test" | "read" => "read",
        "random read test" => "randread",
        "random write test" => "randwrite",
        "random r/w test" => "randrw",
        _ => return None,
    };
    Some(word.to_owned())
}
