//! Parses the content of fio's lines.

use super::fields::{number_of_key, pairs, scaled_number, time, unprefixed_number, value_of_key};
use super::lines::FioLineKind;
use crate::import::cut::UnnumberedLine;
use crate::import::fio::{
    Direction, FioCpu, FioEta, FioJobLine, FioLatency, FioReport, FioVersion, GroupStatus,
    IssuedLine, Percentiles, options,
};
use crate::import::workload::ResultDirection;
use crate::number::{PrintedNumber, leading};

/// Reads the version from `hostname=a, ..., fio=fio-3.33, flags=1`.
pub(super) fn version_of_client(text: &str) -> Option<FioVersion> {
    let (_, after) = text.split_once("fio=")?;
    FioVersion::parse_fio_version(after.split([',', ' ']).next()?)
}

/// Reads `test: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) ..., ioengine=libaio, iodepth=1`.
pub(super) fn parse_job_settings(line: &UnnumberedLine, index: usize) -> Option<FioJobLine> {
    Some(FioJobLine {
        name: line.text.trim_start().split(": (g=").next()?.to_owned(),
        line: index,
        rw: value_of_key(line, "rw").map(str::to_owned),
        bs: block_sizes(line.text).unwrap_or_default(),
        ioengine: value_of_key(line, "ioengine").map(str::to_owned),
        iodepth: value_of_key(line, "iodepth").and_then(|depth| depth.parse().ok()),
    })
}

/// Reads block sizes into the form of options: `bs=(R) 4096B-4096B, (W) 4096B-4096B, (T)
/// 4096B-4096B`, `bs=4K-4K/4K-4K/4K-4K`, `bs=4K-4K,ioengine`.
fn block_sizes(text: &str) -> Option<[Option<(u64, u64)>; 3]> {
    let after =
        text.split_once("bs=")?.1.split(", ioengine").next()?.replace("iB", "").replace('/', ",");
    let ranges = after.split(',').map(|part| part.rsplit(' ').next().unwrap_or(part));
    Some(options::sizes(None, Some(&ranges.collect::<Vec<_>>().join(","))))
}

/// Reads the last of several progress lines that overwrote each other by carriage returns.
pub(super) fn eta(line: &UnnumberedLine) -> Option<FioEta> {
    let line = line.skip_bytes(line.text.trim_end().rfind('\r').map_or(0, |at| at + 1));
    let done = line.text.split('[').nth(2).and_then(leading).map(|(value, ..)| value);
    let mut eta = FioEta { done, ..FioEta::default() };
    // `r=102MiB/s` is a bandwidth, `r=26.2k` of `[r=26.2k,w=26.3k IOPS]` a rate.
    for (key, text) in pairs(&line).filter(|(_, text)| text.contains("B/s")) {
        if let Some(way) = ["r", "w", "t"].iter().position(|way| *way == key) {
            eta.bytes_per_second[way] = scaled_number(&line, text, false);
        }
    }
    eta.bytes_per_second.iter().any(Option::is_some).then_some(eta)
}

/// Reads `test: (groupid=0, jobs=4): err= 0: pid=1155: Thu Nov 18 23:24:45 2021`.
pub(super) fn job(line: &UnnumberedLine, index: usize) -> FioReport {
    let text = line.text;
    let whole =
        |key: &str| value_of_key(line, key).and_then(leading).map(|(value, ..)| value as u64);
    let ended = text.split_once(" pid=").and_then(|(_, after)| after.split_once(": "));
    FioReport {
        name: text.trim_start().split(": (groupid=").next().unwrap_or("").to_owned(),
        line: index,
        group: whole("groupid"),
        jobs: whole("jobs"),
        pid: whole("pid"),
        // Sums over the clients whose own results precede it.
        aggregate: text.trim_start().starts_with("All clients:"),
        error: number_of_key(line, "err"),
        ended: ended.map(|(_, time)| time.trim().to_owned()).filter(|time| !time.is_empty()),
        ..FioReport::default()
    }
}

/// Reads a line of a job's results into it. `unit` is that of the current list of percentiles, in
/// nanoseconds; `None` for a list that is skipped. Returns `None` if the line could not be read.
pub(super) fn read_result_line(
    job: &mut FioReport,
    unit: &mut Option<f64>,
    kind: FioLineKind,
    line: &UnnumberedLine,
    index: usize,
    version: Option<FioVersion>,
) -> Option<()> {
    match kind {
        FioLineKind::Result => job.directions.push(result(line, index, version)?),
        FioLineKind::Cpu => {
            let (user, system) = (number_of_key(line, "usr")?, number_of_key(line, "sys")?);
            job.cpu = Some(FioCpu { user, system, switches: number_of_key(line, "ctx") });
        }
        FioLineKind::Issued => job.issued = Some(issued(line)?),
        // The lines that follow are about syncs, or about one priority: they are not percentiles of
        // this direction.
        FioLineKind::Aside => *unit = None,
        _ => {
            // Without a direction it is a piece of an output whose result line is missing.
            let direction = job.directions.last_mut()?;
            let text = line.text.trim_start();
            let of = ["clat", "slat", "lat"]
                .into_iter()
                .find(|name| text.starts_with(name))
                .unwrap_or("clat");
            match (kind, of) {
                (FioLineKind::Latency, "slat") => direction.slat = Some(latency(line)?),
                (FioLineKind::Latency, "clat") => direction.clat = Some(latency(line)?),
                (FioLineKind::Latency, _) => direction.lat = Some(latency(line)?),
                (FioLineKind::PercentileHead, _) => {
                    // Of two lists, that of completions is kept; total latencies count only if
                    // there is no other.
                    *unit =
                        unit_ns(text).filter(|_| direction.percentiles.is_none() || of == "clat");
                    let list = unit.map(|_| Percentiles { of, points: Vec::new() });
                    direction.percentiles = list.or(direction.percentiles.take());
                }
                (FioLineKind::Percentiles, _) => {
                    let Some(unit) = *unit else { return Some(()) };
                    let points = Some(points(line, unit)).filter(|points| !points.is_empty())?;
                    direction.percentiles.as_mut()?.points.extend(points);
                }
                _ => return None,
            }
        }
    }
    Some(())
}

fn way_of(text: &str) -> Option<ResultDirection> {
    match text.trim_start().as_bytes().first()?.to_ascii_lowercase() {
        b'r' => Some(ResultDirection::Read),
        b'w' => Some(ResultDirection::Write),
        b't' => Some(ResultDirection::Trim),
        b'm' => Some(ResultDirection::Both),
        _ => None,
    }
}

/// Reads `read: IOPS=26.0k, BW=102MiB/s (107MB/s)(29.8GiB/300001msec)`, `read : io=4096.0MB,
/// bw=611058KB/s, iops=152764, runt= 6864msec`.
fn result(line: &UnnumberedLine, index: usize, version: Option<FioVersion>) -> Option<Direction> {
    let mut direction = Direction::new(way_of(line.text)?, index);
    let of = |key: &str, old: bool| scaled_number(line, value_of_key(line, key)?, old);
    if let Some(runtime) = value_of_key(line, "runt") {
        let old = version.is_none_or(|version| !version.is_from(2, 17));
        direction.io = of("io", old);
        direction.bandwidth = of("bw", old);
        direction.iops = of("iops", old);
        direction.runtime_ms = unprefixed_number(line, runtime);
    } else {
        direction.iops = of("IOPS", false);
        direction.bandwidth = of("BW", false);
        let mut brackets = bracketed(line.text.split_once("BW=").map_or("", |(_, rest)| rest));
        direction.bandwidth_decimal =
            brackets.next().and_then(|text| scaled_number(line, text, false));
        if let Some((io, runtime)) = brackets.next().map(halves) {
            direction.io = scaled_number(line, io, false);
            direction.runtime_ms = runtime.and_then(|text| unprefixed_number(line, text));
        }
    }
    direction.iops.is_some().then_some(direction)
}

fn bracketed(text: &str) -> impl Iterator<Item = &str> {
    text.split('(').skip(1).map_while(|part| Some(part.split_once(')')?.0))
}

/// Splits `29.8GiB/300001msec`, `49/37694388`, `2457MiB/s-2457MiB/s` at the slash or dash between
/// the figures, which is not the slash of a rate.
fn halves(text: &str) -> (&str, Option<&str>) {
    let part =
        |(at, sign): &(usize, char)| matches!(sign, '/' | '-') && !text[*at..].starts_with("/s");
    match text.char_indices().find(part) {
        Some((at, _)) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn both(
    line: &UnnumberedLine,
    text: Option<&str>,
    read: fn(&UnnumberedLine, &str) -> Option<PrintedNumber>,
) -> [Option<PrintedNumber>; 2] {
    let Some((first, second)) = text.map(halves) else { return [None; 2] };
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

/// Reads `clat (usec): min=21, max=19215, avg=113.61, stdev=218.66`.
fn latency(line: &UnnumberedLine) -> Option<FioLatency> {
    let unit = unit_ns(line.text)?;
    let figure = |key: &str| time(line, value_of_key(line, key)?, unit);
    // Whole microseconds and milliseconds are truncated from nanoseconds; after a prefix they are
    // rounded.
    let cut = |key: &str| {
        let figure = figure(key)?;
        let prefixed =
            value_of_key(line, key)?.ends_with(|letter: char| letter.is_ascii_alphabetic());
        let low = if prefixed { figure.low } else { figure.value };
        Some(PrintedNumber { low, high: figure.value + (figure.high - figure.low), ..figure })
    };
    Some(FioLatency {
        min: cut("min")?,
        max: cut("max")?,
        mean: figure("avg")?,
        deviation: figure("stdev")?,
    })
}

/// Reads `|  1.00th=[   48],  5.00th=[   51],`.
fn points(line: &UnnumberedLine, unit_ns: f64) -> Vec<(f64, PrintedNumber)> {
    let one = |(before, after): (&str, &str)| {
        let percent = before.rsplit([' ', '|', ',']).next().and_then(leading)?.0;
        let printed = unprefixed_number(line, after.split(']').next()?.trim_start())?;
        let value = printed.value * unit_ns;
        // fio rounds percentiles up when it scales them.
        let low = if unit_ns > 1.0 { value - unit_ns } else { value };
        Some((percent, PrintedNumber { low, high: value, value, ..printed }))
    };
    let parts: Vec<&str> = line.text.split("th=[").collect();
    parts.windows(2).filter_map(|pair| one((pair[0], pair[1]))).collect()
}

/// Reads `issued rwts: total=7804560,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0`, `issued :
/// total=r=1/w=0/d=0, short=r=0/...`.
fn issued(line: &UnnumberedLine) -> Option<IssuedLine> {
    let list = |key: &str| {
        let (_, rest) = line.text.split_once(key)?;
        let mut parts = rest.split([' ', ')']).next()?.split([',', '/']);
        Some([(); 3].map(|()| {
            let part = parts.next()?;
            unprefixed_number(line, part.split_once('=').map_or(part, |(_, count)| count))
        }))
    };
    Some(IssuedLine {
        total: list("total=")?,
        short: list("short=").unwrap_or_default(),
        dropped: list("dropped=").or_else(|| list("drop=")).unwrap_or_default(),
    })
}

/// Reads `READ: bw=102MiB/s (107MB/s), 102MiB/s-102MiB/s (107MB/s-107MB/s), io=29.8GiB (31.0GB),
/// run=300001-300001msec`; before 2.17 `READ: io=4096.0MB, aggrb=611058KB/s, minb=..., maxb=...,
/// mint=6864msec, maxt=6864msec`.
pub(super) fn status(line: &UnnumberedLine, group: Option<u64>) -> Option<GroupStatus> {
    let of = |key: &str, old: bool| scaled_number(line, value_of_key(line, key)?, old);
    let mut made = GroupStatus { group, way: way_of(line.text)?, ..GroupStatus::default() };
    if value_of_key(line, "aggrb").is_some() {
        made.bandwidth[0] = of("aggrb", true);
        made.slowest[0] = of("minb", true);
        made.fastest[0] = of("maxb", true);
        made.io[0] = of("io", true);
        made.runtime_ms = ["mint", "maxt"].map(|key| number_of_key(line, key));
        return Some(made);
    }
    let new: fn(&UnnumberedLine, &str) -> Option<PrintedNumber> =
        |line, text| scaled_number(line, text, false);
    let mut brackets = bracketed(line.text);
    let mut next = || both(line, brackets.next(), new);
    let ([bandwidth, _], [slowest, fastest], [io, _]) = (next(), next(), next());
    let range = line.text.split_once("), ").and_then(|(_, rest)| Some(rest.split_once(' ')?.0));
    let ends = both(line, range, new);
    made.bandwidth = [of("bw", false), bandwidth];
    (made.slowest, made.fastest) = ([ends[0], slowest], [ends[1], fastest]);
    made.io = [of("io", false), io];
    made.runtime_ms = both(line, value_of_key(line, "run"), unprefixed_number);
    Some(made)
}
