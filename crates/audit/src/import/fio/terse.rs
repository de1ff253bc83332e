//! fio's terse output (`--minimal`): a line of values for each job, versions 2 to 5, also the short
//! second version of fio 1.x. Latencies are in microseconds, bytes in KiB; whole values are
//! truncated.

use super::{Direction, Fio, FioCpu, FioForm, FioLatency, FioReport, FioVersion, Percentiles};
use crate::import::cut::UnnumberedLine;
use crate::import::format::{Format, ImportedOutputs, ToolReport};
use crate::import::workload::ResultDirection;
use crate::number::PrintedNumber;
use crate::page::AuditedPage;
use std::str::Split;

pub(crate) const FORMAT: Format = Format {
    name: "fio terse",
    example: include_str!("../../../fixtures/fio/terse-3.txt"),
    begins,
    read,
};

const KIB: f64 = 1024.0;
const US: f64 = 1e3;

/// Least number of values of a line that counts as fio's even if it cannot be read.
const LEAST: usize = 60;

fn begins(line: &str) -> bool {
    matches!(line.as_bytes(), [b'2'..=b'5', b';', ..])
        && line.bytes().filter(|byte| *byte == b';').count() >= 8
}

fn read(page: &AuditedPage, first: usize) -> Option<ImportedOutputs> {
    let mut fio = Fio { form: FioForm::Terse, ..Fio::default() };
    let (mut unread, mut at) = (Vec::new(), first);
    while at < page.len() && begins(page.bare_line(at).0) {
        let line = UnnumberedLine::from_page(page, at);
        let own = line
            .text
            .split(';')
            .nth(1)
            .and_then(|word| FioVersion::parse_fio_version(word.strip_prefix("fio-")?));
        // Old versions leave out the last direction, others report all directions as one, and fio
        // 1.x prints fewer fields for each.
        let ways = [
            &[ResultDirection::Read, ResultDirection::Write, ResultDirection::Trim][..],
            &[ResultDirection::Read, ResultDirection::Write],
            &[ResultDirection::Both],
        ];
        let mut layouts = ways.into_iter().flat_map(|ways| [(ways, true), (ways, false)]);
        let job = layouts.find_map(|(ways, rich)| job(line, at, ways, rich));
        match job {
            Some(_) if own.zip(fio.version).is_some_and(|(own, before)| own != before) => break,
            Some(job) => {
                fio.version = fio.version.or(own);
                fio.jobs.push(job);
            }
            None if own.is_some() || line.text.split(';').count() >= LEAST => {
                let why = "a terse line of fio whose values are not in the order of its version: cut, or a field lost";
                unread.push(page.unread(at..at + 1, why));
            }
            None => break,
        }
        at += 1;
    }
    (at > first).then(|| ImportedOutputs { said: ToolReport::Fio(Box::new(fio)), end: at, unread })
}

/// Reads a job with results of the directions `ways`. `rich` is false for the layout of fio 1.x.
/// Returns `None` if a value that must be a percentage is not one.
fn job(line: UnnumberedLine, at: usize, ways: &[ResultDirection], rich: bool) -> Option<FioReport> {
    let mut values = TerseValues { line, rest: line.text.split(';') };
    let version = values.next_text();
    if version != "2" {
        values.next_text();
    }
    let (name, group) = (values.next_text().to_owned(), values.next_text().parse().ok());
    let mut job =
        FioReport { name, line: at, group, error: values.next_count(), ..FioReport::default() };
    for way in ways {
        job.directions.push(values.direction_values(
            Direction::new(*way, at),
            rich,
            version == "5",
        )?);
    }
    job.directions.retain(|one| {
        [one.io, one.bandwidth, one.iops].into_iter().flatten().any(|one| one.value > 0.0)
    });
    job.cpu = Some(FioCpu {
        user: values.next_share()?,
        system: values.next_share()?,
        switches: values.next_count(),
    });
    let _faults = (values.next_text(), values.next_text());
    // Depths and latency buckets.
    (0..7 + 22).try_for_each(|_| values.next_share().map(drop))?;
    Some(job)
}

struct TerseValues<'p> {
    line: UnnumberedLine<'p>,
    rest: Split<'p, char>,
}

impl<'p> TerseValues<'p> {
    fn next_text(&mut self) -> &'p str {
        self.rest.next().unwrap_or("")
    }

    fn next_count(&mut self) -> Option<PrintedNumber> {
        let text = self.next_text();
        self.line.whole_count(text)
    }

    /// Returns a figure, multiplied by `unit`. Decimals count as rounded, whole numbers as
    /// truncated.
    fn cut(&self, text: &'p str, unit: f64) -> Option<PrintedNumber> {
        let count = self
            .line
            .whole_count(text)
            .map(|count| PrintedNumber { high: count.value + 1.0, ..count }.scaled(unit));
        count.or_else(|| self.line.whole_figure(text, unit))
    }

    fn next_figure(&mut self, unit: f64) -> Option<PrintedNumber> {
        let text = self.next_text();
        self.cut(text, unit)
    }

    fn next_share(&mut self) -> Option<PrintedNumber> {
        let text = self.next_text().strip_suffix('%')?;
        self.line.whole_figure(text, 1.0)
    }

    fn latency(&mut self) -> Option<FioLatency> {
        let [min, max, mean, deviation] = [(); 4].map(|()| self.next_figure(US));
        let latency = FioLatency { min: min?, max: max?, mean: mean?, deviation: deviation? };
        // Zeros mean that there was no I/O.
        [min, max, mean].iter().flatten().any(|one| one.value > 0.0).then_some(latency)
    }

    /// Reads a percentile, `99.000000%=1286`. Returns `Some(None)` for `0%=0`, one that was not
    /// requested, and `None` for anything else.
    fn point(&mut self) -> Option<Option<(f64, PrintedNumber)>> {
        let (percent, value) = self.next_text().split_once("%=")?;
        Some(percent.parse().ok().filter(|percent| *percent > 0.0).zip(self.cut(value, US)))
    }

    fn direction_values(
        &mut self,
        mut made: Direction,
        rich: bool,
        counts: bool,
    ) -> Option<Direction> {
        made.io = self.next_figure(KIB);
        // fio 1.x divides bytes by milliseconds.
        made.bandwidth = self.next_figure(if rich { KIB } else { 1e3 });
        made.iops = if rich { self.next_figure(1.0) } else { None };
        made.runtime_ms = self.next_count();
        (made.slat, made.clat) = (self.latency(), self.latency());
        let points =
            (0..if rich { 20 } else { 0 }).map(|_| self.point()).collect::<Option<Vec<_>>>()?;
        made.lat = self.latency();
        let of = if made.clat.is_some() { "clat" } else { "lat" };
        let points: Vec<(f64, PrintedNumber)> = points.into_iter().flatten().collect();
        let some = !points.is_empty() && (made.clat.is_some() || made.lat.is_some());
        made.percentiles = some.then_some(Percentiles { of, points });
        // Samples of the bandwidth, with a share between them, and of the IOPS.
        let _least_and_most = (self.next_text(), self.next_text());
        self.next_text().strip_suffix('%')?;
        self.rest.by_ref().take(if counts { 8 } else { 2 }).for_each(drop);
        Some(made)
    }
}
