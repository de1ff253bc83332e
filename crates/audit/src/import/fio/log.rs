//! fio's logs: of bandwidth, I/Os a second and latencies (`time, value, direction, block size[, offset][, priority]`), and of
//! histograms (`time, direction, block size, bins...`). What a log is of only its file's name tells.

use crate::import::printed::{self, Whole};
use crate::import::workload::{Reading, Way, Workload};
use crate::import::{Format, Found, Said};
use crate::number::Figure;
use crate::page::{Page, Spot, Unread};
use std::ops::Range;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "fio log",
    help: "fio's logs in files named as fio names them: *_bw.1.log, *_iops.1.log, *_lat.1.log, *_clat_hist.1.log",
    example: "500, 31220, 0, 0, 0\n1000, 32012, 0, 0, 0\n1500, 31873, 0, 0, 0\n2000, 31400, 0, 0, 0\n\
              2500, 31954, 0, 0, 0\n3000, 32001, 0, 0, 0\n3500, 31990, 0, 0, 0\n4000, 31911, 0, 0, 0\n",
    begins,
    read,
};

/// What a log is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// KiB a second.
    Bandwidth,
    /// I/Os a second.
    Iops,
    /// Time until submitted.
    Slat,
    /// Time until completed.
    Clat,
    /// Both.
    Lat,
    /// Histograms of the completions.
    Histogram,
}

/// What each point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// The mean of a window.
    Windows,
    /// One I/O.
    EachIo,
}

/// A log.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// What it is of; `None` where its name does not tell.
    pub kind: Option<Kind>,
    /// What a point is.
    pub sampling: Sampling,
    /// Nanoseconds of a printed 1 of a latency: microseconds in fio 2.x, which its columns do not always tell.
    pub unit_ns: Option<f64>,
    /// Milliseconds since the start, one a line.
    pub times: Vec<u32>,
    /// Values; of histograms how many I/Os the line counts.
    pub values: Vec<u64>,
    /// Which way.
    pub ways: Vec<u8>,
    /// Bytes of all I/Os each way, where each point is one I/O.
    pub bytes: [u64; 3],
    /// Runs of points on consecutive lines: index of the first point, index of its line.
    pub runs: Vec<(u32, u32)>,
    /// Histograms, all lines of a way merged.
    pub histograms: [Vec<Bin>; 3],
    /// Where its first line stands.
    pub spot: Spot,
}

/// A bin of a histogram that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Least nanoseconds in it.
    pub low: u64,
    /// The first above it.
    pub high: u64,
    /// I/Os.
    pub count: u64,
}

const WAYS: [Way; 3] = [Way::Read, Way::Write, Way::Trim];

impl Kind {
    /// Of `run_clat_hist.1.log`, `run_bw.log`, also with a client's name behind.
    pub fn of_name(name: &str) -> Option<Kind> {
        let file = name.rsplit(['/', '\\']).next()?;
        let stem = &file[..file.rfind(".log")?];
        let stem = stem.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches('.');
        let is = |kind: &str| {
            stem.strip_suffix(kind).is_some_and(|before| before.is_empty() || before.ends_with('_'))
        };
        [
            ("clat_hist", Kind::Histogram),
            ("slat", Kind::Slat),
            ("clat", Kind::Clat),
            ("lat", Kind::Lat),
            ("iops", Kind::Iops),
            ("bw", Kind::Bandwidth),
        ]
        .into_iter()
        .find(|(name, _)| is(name))
        .map(|(_, kind)| kind)
    }
}

fn begins(line: &str) -> bool {
    // A listing's number may have been taken from a first line that begins with 1.
    let line = line.strip_prefix(", ").unwrap_or(line).as_bytes();
    line.first().is_some_and(u8::is_ascii_digit) && line.contains(&b',')
}

/// Fewer lines without a telling name are chance.
const LEAST: usize = 8;

fn read(page: &Page, line: usize) -> Option<Found> {
    // A log is a file of its own.
    if line > 0 {
        return None;
    }
    let kind = Kind::of_name(&page.name);
    let columns: Vec<u64> = numbers(page.line(0))?;
    let bins = columns.len().checked_sub(3).filter(|bins| stride_of(*bins).is_some());
    match (kind, bins) {
        (Some(Kind::Histogram) | None, Some(bins)) => histograms(page, bins),
        (Some(Kind::Histogram), None) => None,
        _ => points(page, kind),
    }
}

/// The whole numbers of a line between commas.
fn numbers(line: &str) -> Option<Vec<u64>> {
    line.split(',').map(|text| number(text.trim())).collect()
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A number of a column; a priority, which is no earlier than the fifth, may be written by 16.
fn of_column(text: &str, column: usize) -> Option<u64> {
    match text.strip_prefix("0x").filter(|_| column >= 4) {
        Some(by_16) => u64::from_str_radix(by_16, 16).ok(),
        None => number(text),
    }
}

/// The columns of a line of points: at most eight.
fn columns(line: &str) -> Option<([u64; 8], usize)> {
    let (mut all, mut count) = ([0; 8], 0);
    for text in line.split(',') {
        *all.get_mut(count)? = of_column(text.trim(), count)?;
        count += 1;
    }
    Some((all, count))
}

/// Lines that are not read are told by runs, the first few of them.
#[derive(Default)]
struct Strange {
    runs: Vec<Range<usize>>,
}

impl Strange {
    fn add(&mut self, line: usize) {
        match self.runs.last_mut() {
            Some(last) if last.end == line => last.end += 1,
            _ => self.runs.push(line..line + 1),
        }
    }

    fn count(&self) -> usize {
        self.runs.iter().map(Range::len).sum()
    }

    fn tell(&self, page: &Page, unread: &mut Vec<Unread>) {
        const TOLD: usize = 8;
        let why = "a line of a fio log that is cut or has other columns than the others";
        unread.extend(self.runs.iter().take(TOLD).map(|lines| page.unread(lines.clone(), why)));
        if let (Some(next), Some(last)) = (self.runs.get(TOLD), self.runs.last()) {
            unread.push(page.unread(next.start..last.end, format!("{why}, and more of them between")));
        }
    }
}

fn points(page: &Page, kind: Option<Kind>) -> Option<Found> {
    let mut log = Log::new(page, kind);
    let mut strange = Strange::default();
    let width = columns(page.line(0)).filter(|(first, count)| (4..=8).contains(count) && first[2] <= 2)?.1;
    let (mut each_io, mut blocks, mut small) = (true, true, true);
    for at in 0..page.len() {
        let line = page.line(at);
        let sound = columns(line).filter(|(all, count)| *count == width && all[2] <= 2);
        let Some((all, time)) = sound.and_then(|(all, _)| Some((all, u32::try_from(all[0]).ok()?))) else {
            if !line.trim().is_empty() {
                strange.add(at);
            }
            continue;
        };
        log.add(at, time, all[1], all[2]);
        each_io &= all[3] > 0;
        blocks &= all[3] % 512 == 0 && line.contains(", ");
        let way = usize::from(log.ways.last().copied().unwrap_or(0));
        log.bytes[way] = log.bytes[way].saturating_add(all[3]);
        small &= all[4] <= 1 || line.contains("0x");
    }
    let count = log.times.len();
    let alike = kind.is_some() || (count >= LEAST && blocks);
    if !alike || strange.count() * 10 > count {
        return None;
    }
    // Without the name, times that run back are any table of numbers.
    let ordered = log.times.windows(2).filter(|pair| pair[0] <= pair[1]).count();
    if kind.is_none() && ordered * 10 < (count - 1) * 9 {
        return None;
    }
    log.sampling = if each_io && log.dense() { Sampling::EachIo } else { Sampling::Windows };
    // Since 3.18 a priority stands in the fifth column, or behind the offset in the sixth; an offset goes all over the file.
    log.unit_ns = (width >= 6 || (width == 5 && small)).then_some(1.0);
    let mut unread = Vec::new();
    if kind.is_none() {
        let why = "it looks like a log of fio, but only the file's name tells of what: name it as fio does, \
                   *_bw.1.log, *_iops.1.log, *_lat.1.log, *_clat.1.log or *_slat.1.log";
        unread.push(page.unread(0..page.len(), why));
    } else if log.unit_ns.is_none() && matches!(kind, Some(Kind::Slat | Kind::Clat | Kind::Lat)) {
        let why = "fio 2.x logs latencies in microseconds, 3.x in nanoseconds, and the columns of this log do not tell \
                   which; its means are not read";
        unread.push(page.unread(0..1, why));
    }
    strange.tell(page, &mut unread);
    Some(Found { said: Said::FioLog(Box::new(log)), end: page.len(), unread })
}

/// Bins of each power of two.
const GROUP: usize = 64;
const GROUPS_OF_MICROSECONDS: usize = 19;
const GROUPS_OF_NANOSECONDS: usize = 29;

/// How many of fio's bins are one of a log's, and its unit in nanoseconds, by how many there are.
fn stride_of(bins: usize) -> Option<(usize, u64)> {
    [(GROUPS_OF_NANOSECONDS, 1), (GROUPS_OF_MICROSECONDS, 1000)]
        .into_iter()
        .flat_map(|(groups, unit)| {
            (0..=6).map(move |coarseness| ((groups * GROUP) >> coarseness, 1 << coarseness, unit))
        })
        .find(|(count, ..)| *count == bins)
        .map(|(_, stride, unit)| (stride, unit))
}

/// Least value of one of fio's bins: 64 of each power of two, the first 128 one apart.
fn bin_low(index: usize) -> u64 {
    let (group, within) = (index / GROUP, (index % GROUP) as u64);
    match group {
        0 => within,
        _ => (GROUP as u64 + within) << (group - 1),
    }
}

fn histograms(page: &Page, bins: usize) -> Option<Found> {
    let (stride, unit) = stride_of(bins)?;
    let mut log = Log::new(page, Some(Kind::Histogram));
    log.unit_ns = Some(unit as f64);
    let mut strange = Strange::default();
    let mut sums = [vec![0u64; bins], vec![0u64; bins], vec![0u64; bins]];
    for at in 0..page.len() {
        let line = page.line(at);
        let read = histogram_line(line, bins);
        let Some((time, way, counts)) = read else {
            if !line.trim().is_empty() {
                strange.add(at);
            }
            continue;
        };
        let mut total = 0u64;
        for (sum, count) in sums[way].iter_mut().zip(counts) {
            *sum = sum.saturating_add(count);
            total = total.saturating_add(count);
        }
        log.add(at, time, total, way as u64);
    }
    for (way, sums) in sums.iter().enumerate() {
        let bin = |(at, count): (usize, &u64)| Bin {
            low: bin_low(at * stride) * unit,
            high: bin_low((at + 1) * stride) * unit,
            count: *count,
        };
        log.histograms[way] = sums.iter().enumerate().filter(|(_, count)| **count > 0).map(bin).collect();
    }
    let mut unread = Vec::new();
    strange.tell(page, &mut unread);
    (!log.times.is_empty()).then(|| Found { said: Said::FioLog(Box::new(log)), end: page.len(), unread })
}

fn histogram_line(line: &str, bins: usize) -> Option<(u32, usize, Vec<u64>)> {
    let all = numbers(line)?;
    let (head, counts) = all.split_at_checked(3)?;
    let way = usize::try_from(head[1]).ok().filter(|way| *way < 3)?;
    (counts.len() == bins).then(|| Some((u32::try_from(head[0]).ok()?, way, counts.to_vec()))).flatten()
}

impl Log {
    fn new(page: &Page, kind: Option<Kind>) -> Log {
        Log {
            kind,
            sampling: Sampling::Windows,
            unit_ns: None,
            times: Vec::new(),
            values: Vec::new(),
            ways: Vec::new(),
            bytes: [0; 3],
            runs: Vec::new(),
            histograms: [Vec::new(), Vec::new(), Vec::new()],
            spot: Spot::new(0, 0..page.line(0).len()),
        }
    }

    fn add(&mut self, line: usize, time: u32, value: u64, way: u64) {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let (point, line) = (narrow(self.times.len()), narrow(line));
        if self.runs.last().is_none_or(|(first, at)| line - at != point - first) {
            self.runs.push((point, line));
        }
        self.times.push(time);
        self.values.push(value);
        self.ways.push(u8::try_from(way).unwrap_or(0));
    }

    /// Index of the line of a point.
    pub fn line_of(&self, point: usize) -> usize {
        let before = self.runs.partition_point(|(first, _)| *first as usize <= point);
        let (first, line) = before.checked_sub(1).map_or((0, 0), |run| self.runs[run]);
        line as usize + (point - first as usize)
    }

    /// Points of one way: time, value.
    pub fn points(&self, way: usize) -> impl Iterator<Item = (u32, u64)> {
        let of = move |((_, time), value): ((&u8, &u32), &u64)| (*time, *value);
        self.ways
            .iter()
            .zip(&self.times)
            .zip(&self.values)
            .filter(move |((one, _), _)| usize::from(**one) == way)
            .map(of)
    }

    /// Whether points of a way follow each other quicker than windows do.
    fn dense(&self) -> bool {
        // Windows of less than fio's own 500 ms are told by a block size of nothing.
        const SHORTEST_WINDOW: u32 = 400;
        let (mut close, mut pairs) = (0usize, 0usize);
        for way in 0..3 {
            let mut before = None;
            for (time, _) in self.points(way) {
                if let Some(before) = before.replace(time) {
                    pairs += 1;
                    close += usize::from(time.saturating_sub(before) < SHORTEST_WINDOW);
                }
            }
        }
        close * 2 > pairs
    }

    /// The mean of one way's points: of windows each by its length, where one that is missing does not count.
    fn mean(&self, way: usize) -> Option<f64> {
        let (mut sum, mut weight, mut before) = (0.0, 0.0, 0u32);
        let usual = self.usual_gap(way);
        for (time, value) in self.points(way) {
            let length = match self.sampling {
                Sampling::EachIo => 1.0,
                Sampling::Windows => {
                    f64::from(time.saturating_sub(before).clamp(1, usual.saturating_mul(2).max(1)))
                }
            };
            before = time;
            sum += value as f64 * length;
            weight += length;
        }
        (weight > 0.0).then(|| sum / weight)
    }

    /// The middle of the gaps between points of one way.
    fn usual_gap(&self, way: usize) -> u32 {
        let mut times = self.points(way).map(|(time, _)| time);
        let Some(mut before) = times.next() else { return 0 };
        let mut gaps: Vec<u32> =
            times.map(|time| time.saturating_sub(std::mem::replace(&mut before, time))).collect();
        let middle = gaps.len() / 2;
        if gaps.is_empty() { before } else { *gaps.select_nth_unstable(middle).1 }
    }

    fn figure(&self, value: f64) -> Option<Figure> {
        value.is_finite().then_some(Figure { spot: self.spot, value, low: value, high: value })
    }

    /// Its means in the form that all tools share. They are computed of all lines and stand at the first.
    pub fn readings(&self) -> Vec<Reading> {
        (0..3).filter(|way| self.points(*way).next().is_some()).filter_map(|way| self.reading(way)).collect()
    }

    fn reading(&self, way: usize) -> Option<Reading> {
        let last = f64::from(self.points(way).map(|(time, _)| time).max()?);
        let workload = Workload { runtime_s: Some(last / 1e3), ..Workload::default() };
        let mut reading = Reading::new(self.spot.index(), workload, WAYS[way]);
        let mean = self.mean(way)?;
        match (self.kind?, self.sampling) {
            (Kind::Bandwidth, Sampling::Windows) => reading.bytes_per_second = self.figure(mean * 1024.0),
            (Kind::Bandwidth, Sampling::EachIo) => {
                reading.bytes_per_second = self.figure(self.bytes[way] as f64 / last * 1e3);
            }
            (Kind::Iops, Sampling::Windows) => reading.iops = self.figure(mean),
            (Kind::Iops, Sampling::EachIo) => {
                reading.iops = self.figure(self.points(way).count() as f64 / last * 1e3);
            }
            (Kind::Slat, _) => return None,
            (Kind::Clat | Kind::Lat, _) => reading.mean_ns = self.figure(mean * self.unit_ns?),
            (Kind::Histogram, _) => {
                let bins = &self.histograms[way];
                let count: u64 = bins.iter().map(|bin| bin.count).fold(0, u64::saturating_add);
                reading.ios = self.figure(count as f64);
                reading.percentiles_ns = self.percentiles(bins, count);
            }
        }
        Some(reading)
    }

    /// Percentiles of a histogram, each as the bin that it is in.
    fn percentiles(&self, bins: &[Bin], count: u64) -> Vec<(f64, Figure)> {
        let of = |percent: f64| {
            let wanted = (count as f64 * percent / 100.0).ceil().max(1.0) as u64;
            let mut sum = 0u64;
            let bin = bins.iter().find(|bin| {
                sum = sum.saturating_add(bin.count);
                sum >= wanted
            })?;
            let (low, high) = (bin.low as f64, bin.high as f64);
            Some((percent, Figure { spot: self.spot, value: f64::midpoint(low, high), low, high }))
        };
        [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99]
            .into_iter()
            .filter_map(of)
            .collect()
    }

    /// The figure of a point, for a finding about it.
    pub fn figure_of(&self, page: &Page, point: usize) -> Option<Figure> {
        let line = self.line_of(point);
        let text = page.line(line);
        let from = text.find(',')? + 1;
        let blank = text[from..].len() - text[from..].trim_start().len();
        printed::figure(line, from + blank, &text[from + blank..], 1.0, Whole::Cut).map(|(figure, _)| figure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(name: &str, text: &str) -> Option<(Log, Vec<Unread>)> {
        let mut scanned = crate::import::scan(&Page::new(name, text));
        match scanned.outputs.pop()?.said {
            Said::FioLog(log) => Some((*log, scanned.unread)),
            _ => None,
        }
    }

    macro_rules! fixture {
        ($name:literal) => {
            log(concat!("run/", $name), include_str!(concat!("../../../fixtures/fio/", $name))).unwrap()
        };
    }

    fn near(figure: Option<Figure>, wanted: f64) {
        let value = figure.unwrap().value;
        assert!((value / wanted - 1.0).abs() < 0.03, "{value} {wanted}");
    }

    #[test]
    fn windows_have_the_means_that_fio_printed_for_the_run() {
        // Its text: 160KiB/s, 39 IOPS each way, samples avg=162.22 and avg=40.56, clat avg=187789.69 and 12395.61 ns.
        let (log, unread) = fixture!("w_bw.1.log");
        assert_eq!((log.kind, log.sampling, unread.len()), (Some(Kind::Bandwidth), Sampling::Windows, 0));
        let readings = log.readings();
        near(readings[0].bytes_per_second, 162.2 * 1024.0);
        near(readings[1].bytes_per_second, 162.2 * 1024.0);
        near(fixture!("w_iops.1.log").0.readings()[1].iops, 40.56);
        let (log, unread) = fixture!("w_clat.1.log");
        assert_eq!((log.unit_ns, unread.len()), (Some(1.0), 0));
        near(log.readings()[1].mean_ns, 12395.61);
    }

    #[test]
    fn logs_of_each_io_have_the_rates_of_their_ios() {
        // Its text: IOPS=20, BW=83.9KiB/s, lat avg=45.79 us.
        let (log, _) = fixture!("each_bw.1.log");
        assert_eq!(log.sampling, Sampling::EachIo);
        near(log.readings()[0].bytes_per_second, 83.9 * 1024.0);
        near(fixture!("each_lat.1.log").0.readings()[0].mean_ns, 45790.0);
    }

    #[test]
    fn histograms_are_merged_and_have_the_percentiles_of_the_run() {
        let (log, unread) = fixture!("w_clat_hist.1.log");
        assert!(unread.is_empty());
        let readings = log.readings();
        let counted: u64 = log.histograms[1].iter().map(|bin| bin.count).sum();
        assert!(counted > 40, "{counted}");
        let median = readings[1].percentiles_ns.iter().find(|(percent, _)| *percent == 50.0).unwrap().1;
        assert!(
            median.low <= 11_000.0 && 9_000.0 <= median.high,
            "{median:?}: it was 9920 over the whole run"
        );
    }

    #[test]
    fn bins_are_where_fio_has_them() {
        let lows: Vec<u64> = [0, 63, 64, 127, 128, 129, 191, 192].map(bin_low).to_vec();
        assert_eq!(lows, [0, 63, 64, 127, 128, 130, 254, 256]);
        // What JSON+ of our runs has as the middle of a bin.
        let at = (0..GROUPS_OF_NANOSECONDS * GROUP).rposition(|index| bin_low(index) <= 44_800).unwrap();
        assert_eq!((bin_low(at), bin_low(at + 1)), (44_544, 45_056));
        assert_eq!(stride_of(1216), Some((1, 1000)));
        assert_eq!(stride_of(58), Some((32, 1)));
        assert_eq!(stride_of(100), None);
        let micro = format!("1000, 0, 4096{}\n", ", 0".repeat(99) + ", 7" + &", 0".repeat(1216 - 100));
        let (log, _) = log("x_clat_hist.2.log", &micro).unwrap();
        assert_eq!(log.histograms[0], [Bin { low: 99_000, high: 100_000, count: 7 }]);
        assert_eq!(log.readings()[0].ios.unwrap().value, 7.0);
    }

    #[test]
    fn what_a_log_is_of_is_told_by_its_name_alone() {
        for (name, kind) in [
            ("a/run_bw.1.log", Some(Kind::Bandwidth)),
            ("iops.log", Some(Kind::Iops)),
            ("run_clat_hist.12.log.host2", Some(Kind::Histogram)),
            ("x_slat.3.log", Some(Kind::Slat)),
            ("x_clat.log", Some(Kind::Clat)),
            ("flat.log", None),
            ("x_lat.txt", None),
            ("notes", None),
        ] {
            assert_eq!(Kind::of_name(name), kind, "{name}");
        }
        let (log, unread) = log("pasted", FORMAT.example).unwrap();
        assert_eq!((log.kind, log.readings().len()), (None, 0));
        assert!(unread[0].why.contains("name it as fio does"), "{}", unread[0].why);
    }

    #[test]
    fn latencies_of_an_unknown_unit_are_no_means() {
        let text = "1, 250, 0, 4096\n2, 260, 0, 4096\n";
        let (log, unread) = log("x_lat.1.log", text).unwrap();
        assert!(log.readings().is_empty());
        assert!(unread[0].why.contains("microseconds"));
    }

    #[test]
    fn tables_of_numbers_are_no_logs() {
        let table = "1, 2, 0, 4\n".repeat(20);
        assert!(log("data.csv", &table).is_none());
        assert!(log("data.csv", "1, 2, 3\n4, 5, 6\n").is_none());
        assert!(log("data.csv", &"5,10,1,0\n".repeat(20)).is_none());
    }

    #[test]
    fn lines_that_are_cut_are_listed_and_the_others_know_theirs() {
        let sound = "2000, 31400, 0, 0, 0\n".repeat(20);
        let text = format!("500, 31220, 0, 0, 0\n1000, 32\n1500, 31873, 0, 0, 0\n{sound}");
        let page = Page::new("a_bw.1.log", text.clone());
        let (log, unread) = log("a_bw.1.log", &text).unwrap();
        assert_eq!(unread[0].line, 2);
        assert_eq!(log.line_of(1), 2);
        let figure = log.figure_of(&page, 1).unwrap();
        assert_eq!(page.quote(figure.spot), "31873");
    }

    proptest::proptest! {
        #[test]
        fn no_log_makes_it_panic(text in "(1000, [0-9]{1,21}, [0-3], (0|4096)(, 0|, 0x4001)?\n){0,12}[0-9, \n]{0,30}") {
            if let Some((log, _)) = log("x_bw.1.log", &text) {
                let page = Page::new("x_bw.1.log", text);
                for point in 0..log.times.len() {
                    let figure = log.figure_of(&page, point).unwrap();
                    proptest::prop_assert_eq!(figure.value, log.values[point] as f64);
                }
                let _ = log.readings();
            }
        }
    }
}
