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
        let own = fields.text(1).strip_prefix("fio-").and_then(Version::read);
        match fields.job() {
            Some(_) if own.zip(reader.fio.version).is_some_and(|(own, before)| own != before) => break,
            Some((job, end)) => {
                reader.fio.version = reader.fio.version.or(own);
                reader.job(&job, &Options::new(), None, false);
                for disk in fields.disks(end) {
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

/// Values of a way by JSON's names, those of fio 1.x without I/Os a second and percentiles; of version 5 the samples, too.
const TOTALS: &str = "io_bytes bw iops runtime";
const OLD_TOTALS: &str = "io_bytes bw runtime";
const LATENCIES: &str = "slat.min slat.max slat.mean slat.stddev clat.min clat.max clat.mean clat.stddev";
/// Percentiles that are always told, those that were not asked as `0%=0`.
const PERCENTILES: usize = 20;
const BEHIND: &str = "lat.min lat.max lat.mean lat.stddev bw_min bw_max bw_agg bw_mean bw_dev";
const SAMPLES: &str = "bw_samples iops_min iops_max iops_mean iops_stddev iops_samples";

/// Those of all ways; what has a sign of percent must be printed with it.
const OF_ALL: &str = "usr_cpu% sys_cpu% ctx majf minf iodepth_level.1% iodepth_level.2% iodepth_level.4% iodepth_level.8% \
    iodepth_level.16% iodepth_level.32% iodepth_level.64% latency_us.2% latency_us.4% latency_us.10% latency_us.20% \
    latency_us.50% latency_us.100% latency_us.250% latency_us.500% latency_us.750% latency_us.1000% latency_ms.2% latency_ms.4% \
    latency_ms.10% latency_ms.20% latency_ms.50% latency_ms.100% latency_ms.250% latency_ms.500% latency_ms.750% \
    latency_ms.1000% latency_ms.2000% latency_ms.>=2000%";

const DISK: &str = "name read_ios write_ios read_merges write_merges read_ticks write_ticks in_queue util";

type Members<'p> = Vec<(&'p str, Node<'p>)>;

struct Fields<'p> {
    line: Line<'p>,
    start: usize,
    all: Vec<&'p str>,
}

impl<'p> Fields<'p> {
    fn text(&self, at: usize) -> &'p str {
        self.all.get(at).copied().unwrap_or("")
    }

    /// A value as JSON would have it between quotes.
    fn value(&self, text: &'p str) -> Node<'p> {
        let start = self.start + self.line.spot(text).start as usize;
        Node { bytes: start.saturating_sub(1)..start + text.len() + 1, value: Value::Text(text) }
    }

    fn number(&self, text: &'p str) -> Option<Node<'p>> {
        let digits = text.strip_suffix('%').unwrap_or(text);
        (leading(digits)?.1 == digits.len()).then(|| self.value(digits))
    }

    fn object(&self, members: Members<'p>) -> Node<'p> {
        Node { bytes: self.start..self.start + 1, value: Value::Object(members) }
    }

    /// Takes in the next values by their names; `None` where one that must be a share is none.
    fn take(&self, at: &mut usize, names: &'static str, into: &mut Members<'p>) -> Option<()> {
        for name in names.split(' ') {
            let text = self.text(*at);
            *at += 1;
            let name = match name.strip_suffix('%') {
                Some(_) if !text.ends_with('%') => return None,
                share => share.unwrap_or(name),
            };
            let Some(value) = self.number(text) else { continue };
            match name.split_once('.') {
                Some((group, key)) => self.put(into, group, key, value),
                None => into.push((name, value)),
            }
        }
        Some(())
    }

    fn put(&self, members: &mut Members<'p>, group: &'static str, key: &'p str, node: Node<'p>) {
        let known = members.iter().position(|(one, _)| *one == group).unwrap_or_else(|| {
            members.push((group, self.object(Vec::new())));
            members.len() - 1
        });
        if let Value::Object(inner) = &mut members[known].1.value {
            inner.push((key, node));
        }
    }

    /// A job, in the layout in which every value that must be a share is one, and where its disks are told. The last way is missing
    /// in old versions, the others where all are reported as one.
    fn job(&self) -> Option<(Node<'p>, usize)> {
        let (head, ways) = match self.text(0) {
            "2" => (4, 3),
            "3" => (5, 2),
            "4" | "5" => (5, 3),
            _ => return None,
        };
        let mut layouts = (1..=ways).rev().flat_map(|ways| [(ways, true), (ways, false)]);
        layouts.find_map(|(ways, rich)| {
            let (mut job, mut at) = (vec![("jobname", self.value(self.text(head - 3)))], head - 2);
            self.take(&mut at, "groupid error", &mut job)?;
            let names = if ways == 1 { "mixed" } else { "read write trim" };
            for name in names.split(' ').take(ways) {
                job.push((name, self.way(&mut at, rich)?));
            }
            self.take(&mut at, OF_ALL, &mut job)?;
            Some((self.object(job), at))
        })
    }

    fn way(&self, at: &mut usize, rich: bool) -> Option<Node<'p>> {
        let mut way = Members::new();
        self.take(at, if rich { TOTALS } else { OLD_TOTALS }, &mut way)?;
        self.take(at, LATENCIES, &mut way)?;
        let mut points = Members::new();
        for _ in 0..if rich { PERCENTILES } else { 0 } {
            // `99.000000%=1286`
            let point = self.text(*at).split_once("%=").filter(|(percent, _)| *percent != "0");
            points.extend(point.and_then(|(percent, value)| Some((percent, self.number(value)?))));
            *at += 1;
        }
        self.take(at, BEHIND, &mut way)?;
        if self.text(0) == "5" {
            self.take(at, SAMPLES, &mut way)?;
        }
        let mut latencies = way.iter().filter(|(name, _)| *name == "clat");
        let none = latencies.any(|(_, clat)| clat.get("mean").and_then(Node::number) == Some(0.0));
        self.put(&mut way, if none { "lat" } else { "clat" }, "percentile", self.object(points));
        Some(self.object(way))
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
