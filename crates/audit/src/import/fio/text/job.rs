//! What stands in each of fio's lines.

use super::fields::{Field, Line};
use super::lines::Kind;
use crate::import::fio::{
    Asked, Cpu, Direction, Disk, Eta, Issued, Job, Latency, Percentiles, Samples, Status, Version,
};
use crate::import::workload::Way;
use crate::number::{Figure, leading};

/// `Starting 4 processes`.
pub(super) fn started(line: Line) -> Option<Figure> {
    let at = line.text.find(|letter: char| letter.is_ascii_digit())?;
    line.part(at, line.text.len())?.plain()
}

/// `hostname=a, ..., fio=fio-3.33, flags=1`.
pub(super) fn version_of_client(text: &str) -> Option<Version> {
    let (_, behind) = text.split_once("fio=")?;
    Version::read(behind.split([',', ' ']).next()?)
}

/// `test: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) ..., ioengine=libaio, iodepth=1`.
pub(super) fn asked(line: Line) -> Option<Asked> {
    let name = line.text.trim_start().split(": (g=").next()?.to_owned();
    let text = |key: &str| line.field(key).map(|field| field.value.to_owned());
    Some(Asked {
        name,
        line: line.index,
        rw: text("rw"),
        bs: block_sizes(line.text).unwrap_or_default(),
        ioengine: text("ioengine"),
        iodepth: line.field("iodepth").and_then(|field| field.value.parse().ok()),
    })
}

/// `bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B`, or `bs=4K-4K/4K-4K/4K-4K`, or `bs=4K-4K,ioengine`.
fn block_sizes(text: &str) -> Option<[Option<(u64, u64)>; 3]> {
    let (_, behind) = text.split_once("bs=")?;
    let behind = behind.split(", ioengine").next()?;
    let ranges: Vec<&str> = if behind.starts_with('(') {
        behind.split(", ").filter_map(|part| part.split_once(") ")).map(|(_, range)| range).collect()
    } else {
        behind.split(['/', ',']).collect()
    };
    let range = |text: &str| {
        let (least, most) = text.split_once('-')?;
        Some((size(least)?, size(most)?))
    };
    let at = |index: usize| ranges.get(index).or(ranges.last()).and_then(|text| range(text.trim()));
    Some([at(0), at(1), at(2)])
}

/// `4096B`, `128KiB`, `4K`.
fn size(text: &str) -> Option<u64> {
    let (value, bytes, _) = leading(text)?;
    let power = match text.as_bytes().get(bytes) {
        Some(b'k' | b'K') => 1,
        Some(b'M') => 2,
        Some(b'G') => 3,
        Some(b'B') | None => 0,
        _ => return None,
    };
    Some((value * 1024f64.powi(power)).round() as u64)
}

/// The last of several lines of progress that a carriage return drew over each other.
pub(super) fn eta(line: Line) -> Option<Eta> {
    let start = line.text.trim_end().rfind('\r').map_or(0, |at| at + 1);
    let text = line.text.get(start..)?;
    let line = Line { text, from: line.from + start, ..line };
    let mut eta = Eta { line: line.index, ..Eta::default() };
    let done = text.split('[').nth(2).and_then(leading);
    eta.done = done.map(|(value, ..)| value);
    for field in line.fields() {
        let way = match field.key {
            "r" => 0,
            "w" => 1,
            "t" => 2,
            _ => continue,
        };
        // `r=102MiB/s` is a bandwidth, `r=26.2k` of `[r=26.2k,w=26.3k IOPS]` a rate.
        let figure = field.scaled(false);
        if field.value.contains("B/s") {
            eta.bytes_per_second[way] = figure;
        } else {
            eta.iops[way] = figure;
        }
    }
    let told = eta.iops.iter().chain(&eta.bytes_per_second).any(Option::is_some);
    told.then_some(eta)
}

/// `test: (groupid=0, jobs=4): err= 0: pid=1155: Thu Nov 18 23:24:45 2021`.
pub(super) fn job(line: Line) -> Job {
    let text = line.text;
    let name = text.trim_start().split(": (groupid=").next().unwrap_or("").to_owned();
    let whole =
        |key: &str| line.field(key).and_then(|field| leading(field.value)).map(|(value, ..)| value as u64);
    let ended = text.split_once(" pid=").and_then(|(_, behind)| behind.split_once(": "));
    Job {
        name,
        line: line.index,
        group: whole("groupid"),
        jobs: whole("jobs"),
        pid: whole("pid"),
        // Sums over the clients whose own results stand before it.
        aggregate: text.trim_start().starts_with("All clients:"),
        error: line.field("err").and_then(|field| field.plain()),
        ended: ended.map(|(_, time)| time.trim().to_owned()).filter(|time| !time.is_empty()),
        ..Job::default()
    }
}

/// Reads a line of a job's results into it; whether it could be read.
pub(super) fn read(job: &mut Job, kind: Kind, line: Line, version: Option<Version>) -> bool {
    match kind {
        Kind::Result => {
            let direction = result(line, version);
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
        Kind::Target => {
            job.target_depth = line.field("depth").and_then(|field| field.plain());
            job.target_depth.is_some()
        }
        Kind::Aside => {
            // What follows is of syncs, or of one priority: no percentiles of this way.
            job.directions.iter_mut().for_each(|direction| direction.percentile_unit = None);
            true
        }
        _ => match job.directions.last_mut() {
            Some(direction) => of_direction(direction, kind, line),
            // A piece of an output whose result line is missing.
            None => false,
        },
    }
}

fn put<T>(slot: &mut Option<T>, read: Option<T>) -> bool {
    let is_read = read.is_some();
    *slot = read.or(slot.take());
    is_read
}

fn of_direction(direction: &mut Direction, kind: Kind, line: Line) -> bool {
    match kind {
        Kind::Latency => {
            let text = line.text.trim_start();
            let slot = match text.as_bytes().first() {
                Some(b's') => &mut direction.slat,
                Some(b'c') => &mut direction.clat,
                _ => &mut direction.lat,
            };
            put(slot, latency(line))
        }
        Kind::PercentileHead => {
            let text = line.text.trim_start();
            let of =
                ["clat", "slat", "lat"].into_iter().find(|name| text.starts_with(name)).unwrap_or("clat");
            let unit = unit_ns(text);
            // Of two lists the completions' is kept; total latencies are told only where there is no other.
            let wanted = direction.percentiles.is_none() || of == "clat";
            if wanted && unit.is_some() {
                direction.percentiles = Some(Percentiles { of, points: Vec::new() });
            }
            direction.percentile_unit = unit.filter(|_| wanted);
            true
        }
        Kind::Percentiles => {
            // Those of syncs and of single priorities are no figures of a way.
            let Some(unit) = direction.percentile_unit else { return true };
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
fn result(line: Line, version: Option<Version>) -> Option<Direction> {
    let mut direction = Direction::new(way_of(line.text)?, line.index);
    if let Some(runtime) = line.field("runt") {
        let old = version.is_none_or(|version| !version.is_from(2, 17));
        direction.io = line.field("io").and_then(|field| field.scaled(old));
        direction.bandwidth = line.field("bw").and_then(|field| field.scaled(old));
        direction.iops = line.field("iops").and_then(|field| field.scaled(old));
        direction.runtime_ms = runtime.plain();
        return direction.iops.is_some().then_some(direction);
    }
    direction.iops = line.field("IOPS").and_then(|field| field.scaled(false));
    if let Some(bandwidth) = line.text.find("BW=") {
        direction.bandwidth = line.field("BW").and_then(|field| field.scaled(false));
        let mut brackets = bracketed(line, bandwidth);
        direction.bandwidth_decimal = brackets.next().and_then(|field| field.scaled(false));
        if let Some(total) = brackets.next() {
            let (io, runtime) = halves(line, total);
            direction.io = io.and_then(|field| field.scaled(false));
            direction.runtime_ms = runtime.and_then(|field| field.plain());
        }
    }
    direction.iops.is_some().then_some(direction)
}

/// What stands in each pair of brackets behind `from`.
fn bracketed<'a>(line: Line<'a>, from: usize) -> impl Iterator<Item = Field<'a>> {
    let mut at = from;
    std::iter::from_fn(move || {
        let open = at + line.text.get(at..)?.find('(')?;
        let close = open + line.text.get(open..)?.find(')')?;
        at = close + 1;
        line.part(open + 1, close)
    })
}

/// The two halves of `29.8GiB/300001msec`, `49/37694388`, `60025-60025msec`.
fn halves<'a>(line: Line<'a>, field: Field<'a>) -> (Option<Field<'a>>, Option<Field<'a>>) {
    let start = field.value.as_ptr() as usize - line.text.as_ptr() as usize;
    split(line, field.value, start, ['/', '-'])
}

fn split<'a>(
    line: Line<'a>,
    value: &str,
    start: usize,
    signs: [char; 2],
) -> (Option<Field<'a>>, Option<Field<'a>>) {
    // `2457MiB/s-2457MiB/s`: the slash of a rate parts nothing.
    let part =
        value.char_indices().find(|(at, letter)| signs.contains(letter) && !value[*at..].starts_with("/s"));
    match part {
        Some((at, _)) => (line.part(start, start + at), line.part(start + at + 1, start + value.len())),
        None => (line.part(start, start + value.len()), None),
    }
}

fn unit_ns(text: &str) -> Option<f64> {
    let (_, behind) = text.split_once('(')?;
    match behind.split(')').next()?.trim() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        _ => None,
    }
}

/// `clat (usec): min=21, max=19215, avg=113.61, stdev=218.66`.
fn latency(line: Line) -> Option<Latency> {
    let unit = unit_ns(line.text)?;
    let figure = |key: &str| line.field(key)?.time(unit);
    // Whole microseconds and milliseconds are cut off from nanoseconds; behind a prefix they are rounded.
    let cut = |key: &str| {
        let figure = figure(key)?;
        let prefixed = line.field(key)?.value.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let digit = figure.high - figure.low;
        Some(Figure {
            low: if prefixed { figure.low } else { figure.value },
            high: figure.value + digit,
            ..figure
        })
    };
    Some(Latency { min: cut("min")?, max: cut("max")?, mean: figure("avg")?, deviation: figure("stdev")? })
}

/// `|  1.00th=[   48],  5.00th=[   51],`.
fn points(line: Line, unit_ns: f64) -> Vec<(f64, Figure)> {
    let mut points = Vec::new();
    let mut from = 0;
    while let Some(found) = line.text[from..].find("th=[") {
        let at = from + found;
        let percent_from = line.text[..at].rfind([' ', '|', ',']).map_or(0, |before| before + 1);
        let open = at + "th=[".len();
        let Some(close) = line.text[open..].find(']').map(|close| open + close) else { break };
        let padding = line.text[open..close].len() - line.text[open..close].trim_start().len();
        let percent = leading(&line.text[percent_from..at]).map(|(value, ..)| value);
        let value = line.part(open + padding, close).and_then(|field| field.plain());
        if let (Some(percent), Some(value)) = (percent, value) {
            // fio rounds percentiles up when it scales them.
            let low = if unit_ns > 1.0 { (value.value - 1.0) * unit_ns } else { value.value };
            points.push((
                percent,
                Figure { low, high: value.value * unit_ns, value: value.value * unit_ns, ..value },
            ));
        }
        from = close;
    }
    points
}

/// `bw (  MiB/s): min= 1577, max= 2736, per=100.00%, avg=2457.95, stdev=108.84, samples=480`.
fn bandwidth_samples(line: Line) -> Option<Samples> {
    let (_, behind) = line.text.split_once('(')?;
    let scale = match behind.split(')').next()?.split_whitespace().collect::<String>().as_str() {
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

fn samples(line: Line, scale: f64) -> Option<Samples> {
    let figure = |key: &str| Some(line.field(key)?.plain()?.scaled(scale));
    Some(Samples {
        min: line.field("min")?.cut(scale)?,
        max: line.field("max")?.cut(scale)?,
        mean: figure("avg")?,
        deviation: figure("stdev"),
        per: line.field("per").and_then(|field| field.plain()),
        count: line.field("samples").and_then(|field| field.plain()),
    })
}

/// `lat (usec)   : 2=0.04%, 4=0.01%`, `>=2000=0.01%`.
fn buckets(line: Line) -> Vec<(f64, Figure)> {
    let Some(unit) = unit_ns(line.text) else { return Vec::new() };
    let bucket = |field: Field| {
        let edge = match field.key.strip_prefix(">=") {
            Some(_) => f64::INFINITY,
            None => leading(field.key)?.0 * unit,
        };
        Some((edge, field.plain()?))
    };
    line.fields().filter_map(bucket).collect()
}

/// `IO depths    : 1=0.1%, 2=0.1%, ..., >=64=0.0%`.
fn depths(line: Line) -> Vec<(u64, Figure)> {
    let depth = |field: Field| Some((field.key.trim_start_matches(">=").parse().ok()?, field.plain()?));
    line.fields().filter_map(depth).collect()
}

fn cpu(line: Line) -> Option<Cpu> {
    Some(Cpu {
        user: line.field("usr")?.plain()?,
        system: line.field("sys")?.plain()?,
        switches: line.field("ctx").and_then(|field| field.plain()),
    })
}

/// `issued rwts: total=7804560,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0`, `issued : total=r=1/w=0/d=0, short=r=0/...`.
fn issued(line: Line) -> Option<Issued> {
    let list = |key: &str| -> Option<[Option<Figure>; 3]> {
        let at = line.text.find(key)? + key.len();
        let rest = &line.text[at..];
        let end = rest.find([' ', ')']).map_or(line.text.len(), |length| at + length);
        let mut figures = [None; 3];
        let mut from = at;
        for (index, part) in line.text[at..end].split([',', '/']).enumerate().take(3) {
            let skip = part.find('=').map_or(0, |sign| sign + 1);
            figures[index] = line.part(from + skip, from + part.len()).and_then(|field| field.plain());
            from += part.len() + 1;
        }
        Some(figures)
    };
    let total = list("total=")?;
    let none = [None; 3];
    Some(Issued {
        total,
        short: list("short=").unwrap_or(none),
        dropped: list("dropped=").or_else(|| list("drop=")).unwrap_or(none),
    })
}

/// `READ: bw=102MiB/s (107MB/s), 102MiB/s-102MiB/s (107MB/s-107MB/s), io=29.8GiB (31.0GB), run=300001-300001msec`; before 2.17
/// `READ: io=4096.0MB, aggrb=611058KB/s, minb=..., maxb=..., mint=6864msec, maxt=6864msec`.
pub(super) fn status(line: Line, group: Option<u64>) -> Option<Status> {
    let mut status = Status {
        group,
        way: way_of(line.text)?,
        line: line.index,
        bandwidth: [None; 2],
        slowest: [None; 2],
        fastest: [None; 2],
        io: [None; 2],
        runtime_ms: [None; 2],
    };
    let scaled = |key: &str, old: bool| line.field(key).and_then(|field| field.scaled(old));
    if line.field("aggrb").is_some() {
        status.bandwidth[0] = scaled("aggrb", true);
        status.slowest[0] = scaled("minb", true);
        status.fastest[0] = scaled("maxb", true);
        status.io[0] = scaled("io", true);
        status.runtime_ms = ["mint", "maxt"].map(|key| line.field(key).and_then(|field| field.plain()));
        return Some(status);
    }
    status.bandwidth[0] = scaled("bw", false);
    status.io[0] = scaled("io", false);
    let mut brackets = bracketed(line, 0);
    status.bandwidth[1] = brackets.next().and_then(|field| field.scaled(false));
    if let Some(range) = brackets.next() {
        let (slowest, fastest) = halves(line, range);
        status.slowest[1] = slowest.and_then(|field| field.scaled(false));
        status.fastest[1] = fastest.and_then(|field| field.scaled(false));
    }
    status.io[1] = brackets.next().and_then(|field| field.scaled(false));
    let (slowest, fastest) = range_behind_brackets(line);
    status.slowest[0] = slowest.and_then(|field| field.scaled(false));
    status.fastest[0] = fastest.and_then(|field| field.scaled(false));
    let run = line.field("run").map(|field| halves(line, field));
    if let Some((least, most)) = run {
        status.runtime_ms = [least, most].map(|field| field.and_then(|field| field.plain()));
    }
    Some(status)
}

/// `102MiB/s-102MiB/s` between the first brackets and the second.
fn range_behind_brackets(line: Line) -> (Option<Field>, Option<Field>) {
    let range = || {
        let start = line.text.find("), ")? + "), ".len();
        let end = start + line.text[start..].find(' ')?;
        Some((start, end))
    };
    match range() {
        Some((start, end)) => split(line, &line.text[start..end], start, ['-', '-']),
        None => (None, None),
    }
}

/// `dm-2: ios=7801557/7794611, merge=0/0, ticks=862107/186550, in_queue=1048584, util=100.00%, aggrios=...`.
pub(super) fn disk(line: Line) -> Option<Disk> {
    let name = line.text.trim_start().split(": ").next()?.to_owned();
    let pair = |key: &str| -> [Option<Figure>; 2] {
        let Some(field) = line.field(key) else { return [None; 2] };
        let (read, write) = halves(line, field);
        [read, write].map(|field| field.and_then(|field| field.plain()))
    };
    Some(Disk {
        name,
        line: line.index,
        ios: pair("ios"),
        merges: pair("merge"),
        ticks: pair("ticks"),
        in_queue: line.field("in_queue").and_then(|field| field.plain()),
        util: line.field("util").and_then(|field| field.plain()),
        aggregates: line.field("aggrios").is_some(),
    })
}
