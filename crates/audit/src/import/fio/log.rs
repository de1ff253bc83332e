//! fio's logs of bandwidth, I/Os a second and latencies (`time, value, direction, block size[, offset][, priority]`), in files
//! named as fio names them: what a log is of only that tells. Their means are results where a folder has nothing else of a run.

use crate::claim::Metric;
use crate::import::workload::{Reading, Way, Workload};
use crate::import::{Format, Found, Said};
use crate::number::Figure;
use crate::page::{Page, Spot};

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "fio log",
    help: "fio's logs in files named as fio names them: *_bw.1.log, *_iops.1.log, *_lat.1.log, *_clat.1.log",
    example: "500, 31220, 0, 0, 0\n1000, 32012, 0, 0, 0\n1500, 31873, 0, 0, 0\n2000, 31400, 0, 0, 0\n",
    begins: |line| {
        line.starts_with(|letter: char| letter == ',' || letter.is_ascii_digit()) && line.contains(',')
    },
    read,
};

/// What a log is of: `run_clat.1.log`, `run_bw.log`, also with a client's name behind.
fn kind_of(name: &str) -> Option<Metric> {
    let file = name.rsplit(['/', '\\']).next()?;
    let stem = &file[..file.rfind(".log")?];
    let stem = stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('.');
    match stem.rsplit('_').next()? {
        "bw" => Some(Metric::Bandwidth),
        "iops" => Some(Metric::Iops),
        "lat" | "clat" => Some(Metric::Latency),
        _ => None,
    }
}

#[derive(Clone, Copy, Default)]
struct Sums {
    points: f64,
    values: f64,
    bytes: f64,
    first: Option<f64>,
    last: f64,
}

/// The columns of a line: at most eight; a priority, which is no earlier than the fifth, may be written by 16.
fn columns(line: &str) -> Option<Vec<u64>> {
    let one = |(at, text): (usize, &str)| match text.trim().strip_prefix("0x").filter(|_| at >= 4) {
        Some(by_16) => u64::from_str_radix(by_16, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let all: Vec<u64> = line.split(',').take(9).enumerate().map(one).collect::<Option<_>>()?;
    ((4..=8).contains(&all.len()) && all[2] <= 2).then_some(all)
}

fn read(page: &Page, line: usize) -> Option<Found> {
    // A log is a file of its own.
    let kind = kind_of(&page.name).filter(|_| line == 0)?;
    let width = columns(page.line(0))?.len();
    let (mut ways, mut strange, mut nanoseconds) = ([Sums::default(); 3], Vec::new(), width >= 5);
    for at in 0..page.len() {
        let text = page.line(at);
        let Some(all) = columns(text).filter(|all| all.len() == width) else {
            strange.extend((!text.trim().is_empty()).then_some(at));
            continue;
        };
        // Since 3.18 a priority stands in the fifth column, or behind the offset in the sixth; an offset goes all over the file.
        nanoseconds &= width >= 6 || all.get(4).is_some_and(|priority| *priority <= 1) || text.contains("0x");
        let way = &mut ways[all[2] as usize];
        way.points += 1.0;
        way.values += all[1] as f64;
        way.bytes += all[3] as f64;
        way.first = way.first.or(Some(all[0] as f64));
        way.last = way.last.max(all[0] as f64);
    }
    if strange.len() * 10 > page.len() {
        return None;
    }
    let spot = Spot::new(0, 0..page.line(0).len());
    let known = nanoseconds || kind != Metric::Latency;
    let ways = [Way::Read, Way::Write, Way::Trim].into_iter().zip(ways).filter(|_| known);
    let readings = ways.filter_map(|(way, sums)| reading(kind, sums, way, spot)).collect();
    let mut unread = Vec::new();
    if let (Some(first), Some(last)) = (strange.first(), strange.last()) {
        let why = "lines of a fio log that are cut or have other columns than the others";
        unread.push(page.unread(*first..last + 1, why));
    }
    if !known {
        let why = "fio 2.x logs latencies in microseconds, 3.x in nanoseconds, and the columns of this log do not tell \
                   which; its means are not read";
        unread.push(page.unread(0..1, why));
    }
    Some(Found { said: Said::FioLog(readings), end: page.len(), unread })
}

/// fio's shortest window, in milliseconds: points that are closer are I/Os.
const WINDOW: f64 = 400.0;

/// The mean of one way; computed of all lines, it stands at the first.
fn reading(kind: Metric, sums: Sums, way: Way, spot: Spot) -> Option<Reading> {
    let figure = |value: f64| value.is_finite().then_some(Figure { spot, value, low: value, high: value });
    let long = sums.last - sums.first?;
    let each_io = sums.bytes > 0.0 && long / sums.points < WINDOW;
    let mean = sums.values / sums.points;
    let a_second = |sum: f64| sum / sums.last * 1e3;
    let mut reading = Reading::new(0, Workload::default(), way);
    reading.workload.runtime_s = Some(sums.last / 1e3);
    match kind {
        Metric::Bandwidth if each_io => reading.bytes_per_second = figure(a_second(sums.bytes)),
        Metric::Bandwidth => reading.bytes_per_second = figure(mean * 1024.0),
        Metric::Iops if each_io => reading.iops = figure(a_second(sums.points)),
        Metric::Iops => reading.iops = figure(mean),
        _ => reading.mean_ns = figure(mean),
    }
    Some(reading)
}
