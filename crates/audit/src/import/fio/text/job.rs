//! What stands in each of fio's lines.

use super::fields::{cut, pairs, plain, scaled, time, value};
use super::lines::Kind;
use crate::import::cut::Line;
use crate::import::fio::{
    Asked, Cpu, Direction, Disk, Eta, Issued, Job, Latency, Percentiles, Samples, Status, Version, job_file,
};
use crate::import::workload::Way;
use crate::number::{Figure, leading};

/// `hostname=a, ..., fio=fio-3.33, flags=1`.
pub(super) fn version_of_client(text: &str) -> Option<Version> {
    let (_, behind) = text.split_once("fio=")?;
    Version::read(behind.split([',', ' ']).next()?)
}

/// `test: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) ..., ioengine=libaio, iodepth=1`.
pub(super) fn asked(line: &Line, index: usize) -> Option<Asked> {
    let name = line.text.trim_start().split(": (g=").next()?.to_owned();
    Some(Asked {
        name,
        line: index,
        rw: value(line, "rw").map(str::to_owned),
        bs: block_sizes(line.text).unwrap_or_default(),
        ioengine: value(line, "ioengine").map(str::to_owned),
        iodepth: value(line, "iodepth").and_then(|depth| depth.parse().ok()),
    })
}

/// `bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B`, or `bs=4K-4K/4K-4K/4K-4K`, or `bs=4K-4K,ioengine`.
fn block_sizes(text: &str) -> Option<[Option<(u64, u64)>; 3]> {
    let behind = text.split_once("bs=")?.1.split(", ioengine").next()?;
    let ranges: Vec<&str> = if behind.starts_with('(') {
        behind.split(", ").filter_map(|part| part.split_once(") ")).map(|(_, range)| range).collect()
    } else {
        behind.split(['/', ',']).collect()
    };
    let range = |text: &&str| {
        let (least, most) = text.trim().split_once('-')?;
        Some((size(least)?, size(most)?))
    };
    Some([0, 1, 2].map(|index| ranges.get(index).or(ranges.last()).and_then(range)))
}

/// `4096B`, `128KiB`, `4K`, `2.5KiB`.
fn size(text: &str) -> Option<u64> {
    let (value, bytes, _) = leading(text)?;
    let unit = job_file::size(&format!("1{}", text[bytes..].replace("iB", "")))?;
    Some((value * unit as f64).round() as u64)
}

/// The last of several lines of progress that a carriage return drew over each other.
pub(super) fn eta(line: &Line, index: usize) -> Option<Eta> {
    let line = line.without(line.text.trim_end().rfind('\r').map_or(0, |at| at + 1));
    let done = line.text.split('[').nth(2).and_then(leading).map(|(value, ..)| value);
    let mut eta = Eta { line: index, done, ..Eta::default() };
    // `r=102MiB/s` is a bandwidth, `r=26.2k` of `[r=26.2k,w=26.3k IOPS]` a rate.
    for (key, text) in pairs(&line).filter(|(_, text)| text.contains("B/s")) {
        if let Some(way) = ["r", "w", "t"].iter().position(|way| *way == key) {
            eta.bytes_per_second[way] = scaled(&line, text, false);
        }
    }
    eta.bytes_per_second.iter().any(Option::is_some).then_some(eta)
}

/// `test: (groupid=0, jobs=4): err= 0: pid=1155: Thu Nov 18 23:24:45 2021`.
pub(super) fn job(line: &Line, index: usize) -> Job {
    let text = line.text;
    let whole = |key: &str| value(line, key).and_then(leading).map(|(value, ..)| value as u64);
    let ended = text.split_once(" pid=").and_then(|(_, behind)| behind.split_once(": "));
    Job {
        name: text.trim_start().split(": (groupid=").next().unwrap_or("").to_owned(),
        line: index,
        group: whole("groupid"),
        jobs: whole("jobs"),
        pid: whole("pid"),
        // Sums over the clients whose own results stand before it.
        aggregate: text.trim_start().starts_with("All clients:"),
        error: value(line, "err").and_then(|text| plain(line, text)),
        ended: ended.map(|(_, time)| time.trim().to_owned()).filter(|time| !time.is_empty()),
        ..Job::default()
    }
}

/// Reads a line of a job's results into it; `unit` is that of the list of percentiles which is being read, in nanoseconds, `None`
/// of one that is left out. Whether it could be read.
pub(super) fn read(
    job: &mut Job,
    unit: &mut Option<f64>,
    kind: Kind,
    line: &Line,
    index: usize,
    version: Option<Version>,
) -> bool {
    match kind {
        Kind::Result => {
            let direction = result(line, index, version);
            direction.map(|direction| job.directions.push(direction)).is_some()
        }
        Kind::Cpu => put(&mut job.cpu, cpu(line)),
        Kind::Depths => {
            job.depths = depths(line);
            !job.depths.is_empty()
        }
        Kind::Buckets => {
            let before = job.buckets.len();
            job.buckets.extend(buckets(line));
            job.buckets.len() > before
        }
        Kind::Issued => put(&mut job.issued, issued(line)),
        Kind::Target => put(&mut job.target_depth, value(line, "depth").and_then(|text| plain(line, text))),
        Kind::Aside => {
            // What follows is of syncs, or of one priority: no percentiles of this way.
            *unit = None;
            true
        }
        // Without a direction it is a piece of an output whose result line is missing.
        _ => job.directions.last_mut().is_some_and(|direction| of_direction(direction, unit, kind, line)),
    }
}

fn put<T>(slot: &mut Option<T>, read: Option<T>) -> bool {
    let is_read = read.is_some();
    *slot = read.or(slot.take());
    is_read
}

fn of_direction(direction: &mut Direction, unit: &mut Option<f64>, kind: Kind, line: &Line) -> bool {
    let text = line.text.trim_start();
    match kind {
        Kind::Latency => {
            let slot = match text.as_bytes().first() {
                Some(b's') => &mut direction.slat,
                Some(b'c') => &mut direction.clat,
                _ => &mut direction.lat,
            };
            put(slot, latency(line))
        }
        Kind::PercentileHead => {
            let of = ["clat", "slat", "lat"].into_iter().find(|name| text.starts_with(name));
            let of = of.unwrap_or("clat");
            // Of two lists the completions' is kept; total latencies are told only where there is no other.
            *unit = unit_ns(text).filter(|_| direction.percentiles.is_none() || of == "clat");
            if unit.is_some() {
                direction.percentiles = Some(Percentiles { of, points: Vec::new() });
            }
            true
        }
        Kind::Percentiles => {
            // Those of syncs and of single priorities are no figures of a way.
            let Some(unit) = *unit else { return true };
            let Some(percentiles) = &mut direction.percentiles else { return false };
            let before = percentiles.points.len();
            percentiles.points.extend(points(line, unit));
            percentiles.points.len() > before
        }
        Kind::Bandwidth => put(&mut direction.bandwidth_samples, bandwidth_samples(line)),
        Kind::Iops => put(&mut direction.iops_samples, samples(line, 1.0)),
        _ => false,
    }
}

fn way_of(text: &str) -> Option<Way> {
    match text.trim_start().as_bytes().first()? {
        b'r' | b'R' => Some(Way::Read),
        b'w' | b'W' => Some(Way::Write),
        b't' | b'T' => Some(Way::Trim),
        b'm' | b'M' => Some(Way::Both),
        _ => None,
    }
}

/// `read: IOPS=26.0k, BW=102MiB/s (107MB/s)(29.8GiB/300001msec)`, `read : io=4096.0MB, bw=611058KB/s, iops=152764, runt= 6864msec`.
fn result(line: &Line, index: usize, version: Option<Version>) -> Option<Direction> {
    let mut direction = Direction::new(way_of(line.text)?, index);
    let of = |key: &str, old: bool| scaled(line, value(line, key)?, old);
    if let Some(runtime) = value(line, "runt") {
        let old = version.is_none_or(|version| !version.is_from(2, 17));
        direction.io = of("io", old);
        direction.bandwidth = of("bw", old);
        direction.iops = of("iops", old);
        direction.runtime_ms = plain(line, runtime);
        return direction.iops.is_some().then_some(direction);
    }
    direction.iops = of("IOPS", false);
    if let Some((_, rest)) = line.text.split_once("BW=") {
        direction.bandwidth = of("BW", false);
        let mut brackets = bracketed(rest);
        direction.bandwidth_decimal = brackets.next().and_then(|text| scaled(line, text, false));
        if let Some((io, runtime)) = brackets.next().map(halves) {
            direction.io = scaled(line, io, false);
            direction.runtime_ms = runtime.and_then(|text| plain(line, text));
        }
    }
    direction.iops.is_some().then_some(direction)
}

/// What stands in each pair of brackets.
fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.split('(').skip(1).map_while(|part| Some(part.split_once(')')?.0))
}

/// The two halves of `29.8GiB/300001msec`, `49/37694388`, `2457MiB/s-2457MiB/s`: the slash of a rate parts nothing.
fn halves(text: &str) -> (&str, Option<&str>) {
    let part = |(at, sign): &(usize, char)| matches!(sign, '/' | '-') && !text[*at..].starts_with("/s");
    match text.char_indices().find(part) {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// The same, read.
fn both(line: &Line, text: &str, read: fn(&Line, &str) -> Option<Figure>) -> [Option<Figure>; 2] {
    let (first, second) = halves(text);
    [read(line, first), second.and_then(|text| read(line, text))]
}

fn unit_ns(text: &str) -> Option<f64> {
    match text.split_once('(')?.1.split(')').next()?.trim() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        _ => None,
    }
}

/// `clat (usec): min=21, max=19215, avg=113.61, stdev=218.66`.
fn latency(line: &Line) -> Option<Latency> {
    let unit = unit_ns(line.text)?;
    let figure = |key: &str| time(line, value(line, key)?, unit);
    // Whole microseconds and milliseconds are cut off from nanoseconds; behind a prefix they are rounded.
    let cut = |key: &str| {
        let figure = figure(key)?;
        let prefixed = value(line, key)?.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let low = if prefixed { figure.low } else { figure.value };
        Some(Figure { low, high: figure.value + (figure.high - figure.low), ..figure })
    };
    Some(Latency { min: cut("min")?, max: cut("max")?, mean: figure("avg")?, deviation: figure("stdev")? })
}

/// `|  1.00th=[   48],  5.00th=[   51],`.
fn points(line: &Line, unit_ns: f64) -> Vec<(f64, Figure)> {
    let one = |(before, behind): (&str, &str)| {
        let percent = before.rsplit([' ', '|', ',']).next().and_then(leading)?.0;
        let value = plain(line, behind.split(']').next()?.trim_start())?;
        // fio rounds percentiles up when it scales them.
        let low = if unit_ns > 1.0 { (value.value - 1.0) * unit_ns } else { value.value };
        Some((percent, Figure { low, high: value.value * unit_ns, value: value.value * unit_ns, ..value }))
    };
    let parts: Vec<&str> = line.text.split("th=[").collect();
    parts.windows(2).filter_map(|pair| one((pair[0], pair[1]))).collect()
}

/// `bw (  MiB/s): min= 1577, max= 2736, per=100.00%, avg=2457.95, stdev=108.84, samples=480`.
fn bandwidth_samples(line: &Line) -> Option<Samples> {
    let unit: String = line.text.split_once('(')?.1.split(')').next()?.split_whitespace().collect();
    let scale = match unit.as_str() {
        "KiB/s" | "KB/s" => 1024.0,
        "MiB/s" | "MB/s" => 1024.0 * 1024.0,
        "kB/s" => 1000.0,
        "GiB/s" => 1024.0 * 1024.0 * 1024.0,
        "Kibit/s" => 1024.0 / 8.0,
        "Mibit/s" => 1024.0 * 1024.0 / 8.0,
        "kbit/s" => 1000.0 / 8.0,
        _ => return None,
    };
    samples(line, scale)
}

fn samples(line: &Line, scale: f64) -> Option<Samples> {
    let figure = |key: &str| Some(plain(line, value(line, key)?)?.scaled(scale));
    Some(Samples {
        min: cut(line, value(line, "min")?, scale)?,
        max: cut(line, value(line, "max")?, scale)?,
        mean: figure("avg")?,
        deviation: figure("stdev"),
        count: value(line, "samples").and_then(|text| plain(line, text)),
    })
}

/// `lat (usec)   : 2=0.04%, 4=0.01%`, `>=2000=0.01%`.
fn buckets(line: &Line) -> Vec<(f64, Figure)> {
    let Some(unit) = unit_ns(line.text) else { return Vec::new() };
    let bucket = |(key, text): (&str, &str)| {
        let edge = if key.starts_with(">=") { f64::INFINITY } else { leading(key)?.0 * unit };
        Some((edge, plain(line, text)?))
    };
    pairs(line).filter_map(bucket).collect()
}

/// `IO depths    : 1=0.1%, 2=0.1%, ..., >=64=0.0%`.
fn depths(line: &Line) -> Vec<(u64, Figure)> {
    let depth =
        |(key, text): (&str, &str)| Some((key.trim_start_matches(">=").parse().ok()?, plain(line, text)?));
    pairs(line).filter_map(depth).collect()
}

fn cpu(line: &Line) -> Option<Cpu> {
    let of = |key: &str| plain(line, value(line, key)?);
    Some(Cpu { user: of("usr")?, system: of("sys")?, switches: of("ctx") })
}

/// `issued rwts: total=7804560,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0`, `issued : total=r=1/w=0/d=0, short=r=0/...`.
fn issued(line: &Line) -> Option<Issued> {
    let list = |key: &str| {
        let (_, rest) = line.text.split_once(key)?;
        let mut parts = rest.split([' ', ')']).next()?.split([',', '/']);
        Some([(); 3].map(|()| {
            let part = parts.next()?;
            plain(line, part.split_once('=').map_or(part, |(_, count)| count))
        }))
    };
    Some(Issued {
        total: list("total=")?,
        short: list("short=").unwrap_or_default(),
        dropped: list("dropped=").or_else(|| list("drop=")).unwrap_or_default(),
    })
}

/// `READ: bw=102MiB/s (107MB/s), 102MiB/s-102MiB/s (107MB/s-107MB/s), io=29.8GiB (31.0GB), run=300001-300001msec`; before 2.17
/// `READ: io=4096.0MB, aggrb=611058KB/s, minb=..., maxb=..., mint=6864msec, maxt=6864msec`.
pub(super) fn status(line: &Line, index: usize, group: Option<u64>) -> Option<Status> {
    let of = |key: &str, old: bool| scaled(line, value(line, key)?, old);
    let way = way_of(line.text)?;
    if value(line, "aggrb").is_some() {
        return Some(Status {
            group,
            way,
            line: index,
            bandwidth: [of("aggrb", true), None],
            slowest: [of("minb", true), None],
            fastest: [of("maxb", true), None],
            io: [of("io", true), None],
            runtime_ms: ["mint", "maxt"].map(|key| plain(line, value(line, key)?)),
        });
    }
    let new: fn(&Line, &str) -> Option<Figure> = |line, text| scaled(line, text, false);
    let mut brackets = bracketed(line.text);
    let mut next = || brackets.next().map_or([None; 2], |text| both(line, text, new));
    let ([bandwidth, _], [slowest, fastest], [io, _]) = (next(), next(), next());
    let range = line.text.split_once("), ").and_then(|(_, rest)| Some(rest.split_once(' ')?.0));
    let ends = range.map_or([None; 2], |text| both(line, text, new));
    Some(Status {
        group,
        way,
        line: index,
        bandwidth: [of("bw", false), bandwidth],
        slowest: [ends[0], slowest],
        fastest: [ends[1], fastest],
        io: [of("io", false), io],
        runtime_ms: value(line, "run").map_or([None; 2], |text| both(line, text, plain)),
    })
}

/// `dm-2: ios=7801557/7794611, merge=0/0, ticks=862107/186550, in_queue=1048584, util=100.00%, aggrios=...`.
pub(super) fn disk(line: &Line, index: usize) -> Option<Disk> {
    let pair = |key: &str| value(line, key).map_or([None; 2], |text| both(line, text, plain));
    Some(Disk {
        name: line.text.trim_start().split(": ").next()?.to_owned(),
        line: index,
        ios: pair("ios"),
        ticks: pair("ticks"),
        aggregates: value(line, "aggrios").is_some(),
    })
}
