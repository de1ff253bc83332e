//! fio's terse output: one line of values for each job, versions 2 to 5, also the short second version of fio 1.x.

use super::{Cpu, Direction, Disk, Fio, Form, Job, Latency, Percentiles, Samples, Version};
use crate::import::cut::Line;
use crate::import::printed::{self, Whole};
use crate::import::workload::Way;
use crate::import::{Format, Found, Said};
use crate::number::{Figure, leading};
use crate::page::{Page, Unread};

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "fio terse",
    help: "fio's --minimal, terse versions 2 to 5: lines of values between semicolons",
    example: include_str!("../../../fixtures/fio/terse-3.txt"),
    begins,
    read,
};

const KIB: f64 = 1024.0;
const MICROSECOND: f64 = 1e3;

/// Fewer values are no line of fio's.
const LEAST: usize = 60;

fn begins(line: &str) -> bool {
    matches!(line.as_bytes(), [b'2'..=b'5', b';', ..])
        && line.bytes().filter(|byte| *byte == b';').count() >= 8
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let mut fio = Fio::new(Form::Terse, None);
    let mut unread: Vec<Unread> = Vec::new();
    let mut at = line;
    while at < page.len() {
        let line = Line::of(page, at);
        if !begins(line.text) {
            break;
        }
        let fields = Fields { line, at, all: line.text.split(';').collect() };
        match fields.job() {
            Some((job, disks, version)) => {
                if fio.version.is_some() && version.is_some() && version != fio.version {
                    break;
                }
                fio.version = fio.version.or(version);
                fio.jobs.push(job);
                // Each line tells the disks again.
                let known = |disk: &Disk| fio.disks.iter().any(|known| known.name == disk.name);
                let new: Vec<Disk> = disks.into_iter().filter(|disk| !known(disk)).collect();
                fio.disks.extend(new);
            }
            None if fields.look_like_fio() => {
                let why = "a terse line of fio whose values are not in the order of its version: cut, or a field lost";
                unread.push(page.unread(at..at + 1, why));
            }
            None => break,
        }
        at += 1;
    }
    let found = !fio.jobs.is_empty() || !unread.is_empty();
    found.then(|| Found { said: Said::Fio(Box::new(fio)), end: at, unread })
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
        let rich = if self.rich { 1 + PERCENTILES } else { 0 };
        let samples = if self.samples { 6 } else { 0 };
        20 + rich + samples
    }

    fn cpu(self) -> usize {
        self.head + self.ways * self.width()
    }
}

/// Percentiles that are always told, those that were not asked as `0%=0`.
const PERCENTILES: usize = 20;
const DEPTHS: [u64; 7] = [1, 2, 4, 8, 16, 32, 64];
const MICROSECONDS: [f64; 10] = [2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 250.0, 500.0, 750.0, 1000.0];
const MILLISECONDS: [f64; 12] =
    [2.0, 4.0, 10.0, 20.0, 50.0, 100.0, 250.0, 500.0, 750.0, 1000.0, 2000.0, f64::INFINITY];
/// Values of a disk.
const DISK: usize = 9;

struct Fields<'p> {
    line: Line<'p>,
    at: usize,
    all: Vec<&'p str>,
}

impl<'p> Fields<'p> {
    fn text(&self, at: usize) -> &'p str {
        self.all.get(at).copied().unwrap_or("")
    }

    fn version(&self) -> Option<Version> {
        self.text(1).strip_prefix("fio-").and_then(Version::read)
    }

    fn look_like_fio(&self) -> bool {
        self.version().is_some() || self.all.len() >= LEAST
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
        (1..=ways)
            .rev()
            .flat_map(|ways| [true, false].map(|rich| Layout { head, ways, rich, samples }))
            .find(|layout| self.fits(*layout))
    }

    fn fits(&self, layout: Layout) -> bool {
        let cpu = layout.cpu();
        let shares = |from: usize, count: usize| (from..from + count).all(|at| self.text(at).ends_with('%'));
        let ways = (0..layout.ways).all(|way| {
            let start = layout.head + way * layout.width();
            let rich = usize::from(layout.rich);
            let percentiles = start + 11 + rich;
            let listed =
                !layout.rich || (0..PERCENTILES).all(|at| self.text(percentiles + at).contains("%="));
            let behind = percentiles + rich * PERCENTILES;
            listed && shares(behind + 6, 1)
        });
        ways && shares(cpu, 2) && shares(cpu + 5, 7 + 22)
    }

    fn number(&self, text: &str, scale: f64, whole: Whole) -> Option<Figure> {
        let (value, bytes, decimals) = leading(text)?;
        let digits = &text[..bytes];
        let figure = printed::figure(self.line.spot(digits), digits, value, decimals, scale, whole);
        matches!(&text[bytes..], "" | "%").then_some(figure)
    }

    fn figure(&self, at: usize, scale: f64, whole: Whole) -> Option<Figure> {
        self.number(self.text(at), scale, whole)
    }

    fn exact(&self, at: usize) -> Option<Figure> {
        self.figure(at, 1.0, Whole::Exact)
    }

    fn job(&self) -> Option<(Job, Vec<Disk>, Option<Version>)> {
        let layout = self.layout()?;
        let mut job = Job {
            name: self.text(layout.head - 3).to_owned(),
            line: self.at,
            group: self.text(layout.head - 2).parse().ok(),
            error: self.exact(layout.head - 1),
            ..Job::default()
        };
        let ways = if layout.ways == 1 { &[Way::Both][..] } else { &[Way::Read, Way::Write, Way::Trim] };
        let each = ways.iter().take(layout.ways).enumerate();
        job.directions = each
            .filter_map(|(at, way)| self.direction(layout, *way, layout.head + at * layout.width()))
            .collect();
        self.of_all_ways(layout, &mut job);
        let disks = self.disks(layout.cpu() + 34);
        Some((job, disks, self.version()))
    }

    /// `None` of a way that nothing went.
    fn direction(&self, layout: Layout, way: Way, start: usize) -> Option<Direction> {
        let mut made = Direction::new(way, self.at);
        let rich = usize::from(layout.rich);
        made.io = self.figure(start, KIB, Whole::Cut);
        made.bandwidth = self.figure(start + 1, KIB, Whole::Cut);
        made.iops = layout.rich.then(|| self.figure(start + 2, 1.0, Whole::Cut)).flatten();
        made.runtime_ms = self.exact(start + 2 + rich);
        if [made.io, made.runtime_ms].iter().flatten().all(|figure| figure.value == 0.0) {
            return None;
        }
        let slat = start + 3 + rich;
        made.slat = self.latency(slat);
        made.clat = self.latency(slat + 4);
        let percentiles = slat + 8;
        let lat = percentiles + rich * PERCENTILES;
        made.lat = self.latency(lat);
        if layout.rich {
            let points: Vec<(f64, Figure)> =
                (0..PERCENTILES).filter_map(|at| self.percentile(percentiles + at)).collect();
            let of = if made.clat.is_none() { "lat" } else { "clat" };
            made.percentiles = (!points.is_empty()).then_some(Percentiles { of, points });
        }
        let counted = layout.samples.then_some(lat + 9);
        made.bandwidth_samples = self.samples([4, 5, 7, 8].map(|at| lat + at), KIB, counted);
        let rates =
            layout.samples.then(|| self.samples([10, 11, 12, 13].map(|at| lat + at), 1.0, Some(lat + 14)));
        made.iops_samples = rates.flatten();
        Some(made)
    }

    /// `99.000000%=1286`: microseconds, cut off; `0%=0` where it was not asked for.
    fn percentile(&self, at: usize) -> Option<(f64, Figure)> {
        let (percent, value) = self.text(at).split_once("%=").filter(|(percent, _)| *percent != "0")?;
        let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
        Some((percent, self.number(value, MICROSECOND, Whole::Cut)?))
    }

    fn latency(&self, at: usize) -> Option<Latency> {
        let latency = Latency {
            min: self.figure(at, MICROSECOND, Whole::Cut)?,
            max: self.figure(at + 1, MICROSECOND, Whole::Cut)?,
            mean: self.figure(at + 2, MICROSECOND, Whole::Cut)?,
            deviation: self.figure(at + 3, MICROSECOND, Whole::Cut)?,
        };
        (latency.mean.value > 0.0).then_some(latency)
    }

    fn samples(
        &self,
        [min, max, mean, deviation]: [usize; 4],
        scale: f64,
        count: Option<usize>,
    ) -> Option<Samples> {
        let samples = Samples {
            min: self.figure(min, scale, Whole::Cut)?,
            max: self.figure(max, scale, Whole::Cut)?,
            mean: self.figure(mean, scale, Whole::Cut)?,
            deviation: self.figure(deviation, scale, Whole::Cut),
            count: count.and_then(|at| self.exact(at)),
        };
        (samples.max.value > 0.0).then_some(samples)
    }

    fn of_all_ways(&self, layout: Layout, job: &mut Job) {
        let cpu = layout.cpu();
        if let (Some(user), Some(system)) = (self.exact(cpu), self.exact(cpu + 1)) {
            job.cpu = Some(Cpu { user, system, switches: self.exact(cpu + 2) });
        }
        // fio prints what is not nothing as no less than these.
        let share = |at: usize, least: f64| {
            let figure = self.exact(at)?;
            Some(if figure.value == least { Figure { low: 0.0, ..figure } } else { figure })
        };
        let depths = DEPTHS.iter().enumerate();
        job.depths = depths.filter_map(|(at, depth)| Some((*depth, share(cpu + 5 + at, 0.1)?))).collect();
        let edges =
            MICROSECONDS.iter().map(|edge| edge * 1e3).chain(MILLISECONDS.iter().map(|edge| edge * 1e6));
        let filled = edges.enumerate().filter_map(|(at, edge)| Some((edge, share(cpu + 12 + at, 0.01)?)));
        job.buckets = filled.filter(|(_, share)| share.value > 0.0).collect();
    }

    /// `nvme0n1;44;934217;0;0;9;152472;152997;99.24%`, one behind the other.
    fn disks(&self, mut at: usize) -> Vec<Disk> {
        let mut disks: Vec<Disk> = Vec::new();
        while self.text(at + DISK - 1).ends_with('%') && !self.text(at).is_empty() {
            let both = |from: usize| [self.exact(at + from), self.exact(at + from + 1)];
            // What the disks below an md or dm device had on average.
            if self.text(at) == "slaves" {
                disks.last_mut().into_iter().for_each(|above| above.aggregates = true);
            } else {
                disks.push(Disk {
                    name: self.text(at).to_owned(),
                    line: self.at,
                    ios: both(1),
                    ticks: both(5),
                    aggregates: false,
                });
            }
            at += DISK;
        }
        disks
    }
}

#[cfg(test)]
mod tests;
