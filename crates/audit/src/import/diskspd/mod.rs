//! DiskSpd: its text and its XML in one form. Its tables are of bytes over the time of the test; XML has the counts only.

pub mod text;

use super::sheet::{BANDWIDTH, BYTES, IOPS, IOS, MEAN, Place, Sheet};
use super::{Reading, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};

/// One output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskSpd {
    /// What was asked of each target, by the profile.
    pub(crate) targets: Vec<Target>,
    pub(crate) spans: Vec<Span>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Target {
    pub(crate) block: Option<u64>,
    pub(crate) writes: Option<f64>,
    pub(crate) random: Option<bool>,
    pub(crate) outstanding: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Span {
    pub(crate) time: Option<Figure>,
    pub(crate) threads: Option<Figure>,
    pub(crate) tables: [Option<Table>; 3],
    /// Percent (0 of the least, 100 of the most) and nanoseconds of reads, writes, all, in the order of the page.
    pub(crate) tiles: Vec<(f64, [Option<Figure>; 3])>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    pub(crate) rows: Vec<Sheet>,
    pub(crate) total: Option<Sheet>,
}

impl Span {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.iter().all(Option::is_none)
    }
}

impl Table {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Sheet> {
        self.rows.iter().chain(&self.total)
    }
}

pub(crate) const COLUMNS: [Place; 4] = [
    (BYTES, Metric::Total, "bytes", 1.0),
    (IOS, Metric::Issued, "", 1.0),
    (BANDWIDTH, Metric::Bandwidth, "MiB/s", super::cut::MIB),
    (IOPS, Metric::Iops, "/s", 1.0),
];
const LATENCY: Place = (MEAN, Metric::Latency, "ms", 1e6);

impl DiskSpd {
    pub(crate) fn block(&self) -> Option<u64> {
        let first = self.targets.first()?.block?;
        self.targets.iter().all(|target| target.block == Some(first)).then_some(first)
    }

    pub(crate) fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for span in &self.spans {
            let time = span.time.iter().map(|time| (Metric::Runtime, Unit::Nanoseconds, *time));
            let threads = span.threads.iter().map(|threads| (Metric::Other, Unit::Things, *threads));
            time.chain(threads).for_each(&mut *tell);
            span.tables.iter().flatten().flat_map(Table::all).for_each(|row| row.tell(tell));
            let tiles = span.tiles.iter().flat_map(|(_, latencies)| latencies).flatten();
            tiles.for_each(|one| tell((Metric::Percentile, Unit::Nanoseconds, *one)));
        }
    }

    pub(crate) fn readings(&self) -> Vec<Reading> {
        self.spans.iter().flat_map(|span| self.of_span(span)).collect()
    }

    fn of_span(&self, span: &Span) -> Vec<Reading> {
        let moves = |row: &Sheet| row.figure(IOS).is_some_and(|ios| ios.value > 0.0);
        let busy = |way: usize| span.tables[way].iter().flat_map(Table::all).any(moves);
        let ways: &[(usize, Way, usize)] = match (busy(1), busy(2)) {
            (false, false) => &[(0, Way::Both, 2)],
            _ => &[(1, Way::Read, 0), (2, Way::Write, 1)],
        };
        let mut readings = Vec::new();
        for (table, way, tile) in ways {
            // XML has no totals: a reading a thread and target.
            let rows = span.tables[*table].iter().flat_map(|table| match &table.total {
                Some(total) => std::slice::from_ref(total),
                None => &table.rows,
            });
            let percentiles = span.tiles.iter().filter_map(|(percent, of)| Some((*percent, of[*tile]?)));
            readings.extend(rows.filter(|row| moves(row)).filter_map(|row| {
                let (workload, percentiles) = (self.workload(span), percentiles.clone().collect());
                Sheet { way: Some(*way), workload, percentiles, ..row.clone() }.reading()
            }));
        }
        readings
    }

    fn workload(&self, span: &Span) -> Workload {
        let target = self.targets.first();
        let writes = target.and_then(|target| target.writes);
        let mixed = writes.is_some_and(|writes| writes > 0.0 && writes < 100.0);
        let rw = |random: bool, writes: f64| {
            let way = match () {
                () if mixed => "rw",
                () if writes > 0.0 => "write",
                () => "read",
            };
            if random { format!("rand{way}") } else { way.to_owned() }
        };
        Workload {
            rw: target.and_then(|target| Some(rw(target.random?, target.writes?))),
            bs: self.block(),
            iodepth: target.and_then(|target| target.outstanding),
            numjobs: span.threads.map(|threads| threads.value as u64),
            rwmixread: writes.filter(|_| mixed).map(|writes| 100.0 - writes),
            runtime_s: span.time.map(|time| time.value / 1e9),
            ..Workload::default()
        }
    }
}
