//! fio's terse output (`--minimal`): a line of values for each job, versions 2 to 5, also the short second version of fio 1.x. Its
//! values are those of the JSON of old without their names: they are given them, and read as that.

use super::job_file::Options;
use super::{Disk, Form, Version, json};
use crate::import::cut::Line;
use crate::import::{Format, Found};
use crate::json::{Node, Value};
use crate::number::leading;
use crate::page::{Page, Unread};

pub(crate) const FORMAT: Format = Format {
    name: "fio terse",
    help: "fio's --minimal, terse versions 2 to 5: lines of values between semicolons",
    example: include_str!("../../../fixtures/fio/terse-3.txt"),
    begins,
    read,
};

/// Fewer values are no line of fio's.
const LEAST: usize = 60;

fn begins(line: &str) -> bool {
    matches!(line.as_bytes(), [b'2'..=b'5', b';', ..])
        && line.bytes().filter(|byte| *byte == b';').count() >= 8
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut reader = json::Reader::new(page, line, Form::Terse, Some(Version { major: 2, minor: 0 }));
    let mut unread: Vec<Unread> = Vec::new();
    let mut at = line;
    while at < page.len() && begins(page.bare(at).0) {
        let line = Line::of(page, at);
        let fields = Fields { line, start: page.offset(at), all: line.text.split(';').collect() };
        let own = fields.version();
        match fields.layout() {
            Some(_) if own.zip(reader.fio.version).is_some_and(|(own, before)| own != before) => break,
            Some(layout) => {
                reader.fio.version = reader.fio.version.or(own);
                reader.job(&fields.job(layout), &Options::new(), None, false);
                for disk in fields.disks(layout.cpu() + 34) {
                    // Each line tells the disks again.
                    let known = |known: &Disk| disk.get("name").and_then(Node::text) == Some(&known.name);
                    if !reader.fio.disks.iter().any(known) {
                        reader.disk(&disk);
                    }
                }
            }
            None if own.is_some() || fields.all.len() >= LEAST => {
                let why = "a terse line of fio whose values are not in the order of its version: cut, or a field lost";
                unread.push(page.unread(at..at + 1, why));
            }
            None => break,
        }
        at += 1;
    }
    (at > line).then(|| Found { said: reader.said(), end: at, unread })
}

/// How the values of a version stand.
#[derive(Clone, Copy)]
struct Layout {
    /// Values before the first way.
    head: usize,
    /// Ways that are told.
    ways: usize,
    /// Whether I/Os a second and percentiles are told: not by fio 1.x.
    rich: bool,
    /// Whether counts of samples and samples of I/Os a second are told.
    samples: bool,
}

impl Layout {
    /// Values of one way.
    fn width(self) -> usize {
        20 + usize::from(self.rich) * (1 + PERCENTILES) + usize::from(self.samples) * 6
    }

    fn cpu(self) -> usize {
        self.head + self.ways * self.width()
    }
}

/// Percentiles that are always told, those that were not asked as `0%=0`.
const PERCENTILES: usize = 20;

const LATENCY: &str = "min max mean stddev";
const DEPTHS: &str = "1 2 4 8 16 32 64";
const MICROSECONDS: &str = "2 4 10 20 50 100 250 500 750 1000";
const MILLISECONDS: &str = "2 4 10 20 50 100 250 500 750 1000 2000 >=2000";
const DISK: &str = "name read_ios write_ios read_merges write_merges read_ticks write_ticks in_queue util";

type Members<'p> = Vec<(&'p str, Node<'p>)>;

struct Fields<'p> {
    line: Line<'p>,
    /// Byte of the page at which the line begins.
    start: usize,
    all: Vec<&'p str>,
}

impl<'p> Fields<'p> {
    fn text(&self, at: usize) -> &'p str {
        self.all.get(at).copied().unwrap_or("")
    }

    fn version(&self) -> Option<Version> {
        self.text(1).strip_prefix("fio-").and_then(Version::read)
    }

    /// The layout in which every value that must be a share is one.
    fn layout(&self) -> Option<Layout> {
        let (head, ways, samples) = match self.text(0) {
            "2" => (4, 3, false),
            "3" => (5, 2, false),
            "4" => (5, 3, false),
            "5" => (5, 3, true),
            _ => return None,
        };
        // The last way is missing in old versions, the others where all are reported as one.
        let layouts =
            (1..=ways).rev().flat_map(|ways| [true, false].map(|rich| Layout { head, ways, rich, samples }));
        let share = |at: usize| self.text(at).ends_with('%');
        layouts.into_iter().find(|layout| {
            let (cpu, depths) = (layout.cpu(), layout.cpu() + 5);
            (cpu..cpu + 2).chain(depths..depths + 7 + 22).all(share)
        })
    }

    /// A value as JSON would have it between quotes.
    fn value(&self, text: &'p str) -> Node<'p> {
        let start = self.start + self.line.spot(text).start as usize;
        Node { bytes: start.saturating_sub(1)..start + text.len() + 1, value: Value::Text(text) }
    }

    /// A number without its sign of percent.
    fn number(&self, text: &'p str) -> Option<Node<'p>> {
        let digits = text.strip_suffix('%').unwrap_or(text);
        (leading(digits)?.1 == digits.len()).then(|| self.value(digits))
    }

    fn object(&self, members: Members<'p>) -> Node<'p> {
        Node { bytes: self.start..self.start + 1, value: Value::Object(members) }
    }

    /// Values from one on by their names.
    fn named(&self, names: &'static str, at: usize) -> Members<'p> {
        let values = self.all.get(at..).unwrap_or_default();
        let pairs = names.split(' ').zip(values);
        pairs.filter_map(|(name, text)| Some((name, self.number(text)?))).collect()
    }

    fn job(&self, layout: Layout) -> Node<'p> {
        let (head, cpu) = (layout.head, layout.cpu());
        let mut job = self.named("groupid error", head - 2);
        job.push(("jobname", self.value(self.text(head - 3))));
        let ways: &[&str] = if layout.ways == 1 { &["mixed"] } else { &["read", "write", "trim"] };
        let each = ways.iter().take(layout.ways).enumerate();
        job.extend(each.map(|(at, way)| (*way, self.way(layout, head + at * layout.width()))));
        job.extend(self.named("usr_cpu sys_cpu ctx", cpu));
        for (key, names, at) in [
            ("iodepth_level", DEPTHS, cpu + 5),
            ("latency_us", MICROSECONDS, cpu + 12),
            ("latency_ms", MILLISECONDS, cpu + 22),
        ] {
            job.push((key, self.object(self.named(names, at))));
        }
        self.object(job)
    }

    fn way(&self, layout: Layout, start: usize) -> Node<'p> {
        let totals = if layout.rich { "io_bytes bw iops runtime" } else { "io_bytes bw runtime" };
        let slat = start + totals.split(' ').count();
        let (clat, percentiles) = (slat + 4, slat + 8);
        let lat = percentiles + if layout.rich { PERCENTILES } else { 0 };
        let of = if self.text(clat + 2).parse() == Ok(0.0) { "lat" } else { "clat" };
        let mut way = self.named(totals, start);
        for (key, at) in [("slat", slat), ("clat", clat), ("lat", lat)] {
            let mut latency = self.named(LATENCY, at);
            if key == of {
                // `99.000000%=1286`, `0%=0` where it was not asked for.
                let points = (percentiles..lat).filter_map(|at| self.text(at).split_once("%="));
                let points = points.filter(|(percent, _)| *percent != "0");
                let points = points.filter_map(|(percent, value)| Some((percent, self.number(value)?)));
                latency.push(("percentile", self.object(points.collect())));
            }
            way.push((key, self.object(latency)));
        }
        way.extend(self.named("bw_min bw_max bw_agg bw_mean bw_dev", lat + 4));
        if layout.samples {
            let names = "bw_samples iops_min iops_max iops_mean iops_stddev iops_samples";
            way.extend(self.named(names, lat + 9));
        }
        self.object(way)
    }

    /// `nvme0n1;44;934217;0;0;9;152472;152997;99.24%`, one behind the other.
    fn disks(&self, from: usize) -> Vec<Node<'p>> {
        let mut disks: Vec<Members> = Vec::new();
        for values in self.all.get(from..).unwrap_or_default().chunks_exact(DISK.split(' ').count()) {
            if values[0].is_empty() || !values[values.len() - 1].ends_with('%') {
                break;
            }
            let name = self.value(values[0]);
            match disks.last_mut() {
                // What the disks below an md or dm device had on average.
                Some(above) if values[0] == "slaves" => above.push(("aggr_read_ios", name)),
                _ => {
                    let numbers = DISK.split(' ').zip(values).skip(1);
                    let numbers = numbers.filter_map(|(key, text)| Some((key, self.number(text)?)));
                    disks.push(numbers.chain([("name", name)]).collect());
                }
            }
        }
        disks.into_iter().map(|disk| self.object(disk)).collect()
    }
}
