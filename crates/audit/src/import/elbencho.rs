//! elbencho: its table of phases (first done, last done) and its CSV, in one form. It cuts off what it prints: a printed 33395 stands
//! for up to 33396.

use super::cut::{Line, MIB, counted, exact};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::{Page, Unread};

/// One output: its phases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Elbencho {
    /// In their order.
    pub phases: Vec<Phase>,
}

/// A phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phase {
    /// `WRITE`.
    pub name: String,
    /// Index of the line it begins at.
    pub line: usize,
    /// Seconds, when the first was done and when the last.
    pub elapsed: Option<Pair>,
    /// What was counted.
    pub counts: Vec<Count>,
    /// Latencies.
    pub latencies: Vec<Latency>,
    /// Bytes of a block, threads and hosts, depth, whether random: of the CSV.
    pub block: Option<Figure>,
    /// Bytes of a file, of the CSV.
    pub file: Option<u64>,
    /// Threads of all hosts.
    pub threads: Option<u64>,
    /// I/Os in flight a thread.
    pub depth: Option<u64>,
    /// Whether offsets are random.
    pub random: Option<bool>,
}

/// When the first thread was done, and when the last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The first.
    pub first: Figure,
    /// The last.
    pub last: Figure,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Files, directories, objects.
    Entries,
    /// I/Os.
    Ios,
    /// Bytes.
    Bytes,
}

/// Whose: of a mix the writes, the reads, both; of anything else all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// All there is.
    All,
    /// The writes of a mix.
    Write,
    /// The reads of a mix.
    Read,
    /// Both of a mix.
    Both,
}

/// A count or how much of it a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// What.
    pub what: What,
    /// Whose.
    pub share: Share,
    /// Whether it is a second.
    pub rate: bool,
    /// The figures.
    pub pair: Pair,
}

/// Latencies of entries or I/Os.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Of what.
    pub what: What,
    /// Whose.
    pub share: Share,
    /// Least, mean, most in nanoseconds.
    pub bounds: Option<[Figure; 3]>,
    /// Percent, nanoseconds.
    pub percentiles: Vec<(f64, Figure)>,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "elbencho",
    help: "elbencho's table of phases and its CSV",
    example: include_str!("../../fixtures/elbencho/write-read.txt"),
    begins: |line| is_head(line) || is_csv(line),
    read,
};

fn is_head(line: &str) -> bool {
    line.starts_with("OPERATION") && line.contains("RESULT TYPE") && line.contains("LAST DONE")
}

fn is_csv(line: &str) -> bool {
    (line.starts_with("ISO date,") || line.starts_with("label,path type,")) && line.contains(",operation,")
}

/// Lines in the table that no reader knows.
const STRANGE: usize = 2;

fn read(page: &Page, line: usize) -> Option<Found> {
    if is_csv(Line::of(page, line).text) {
        return csv(page, line);
    }
    let mut phases: Vec<Phase> = Vec::new();
    let (mut at, mut end, mut strange) = (line + 1, line + 1, 0);
    while at < page.len() && strange <= STRANGE {
        let here = Line::of(page, at);
        let text = here.text.trim();
        if is_head(here.text) {
            break;
        }
        if row(&here, at, &mut phases).is_some() || drawn(text) {
            (end, strange) = (at + 1, 0);
        } else {
            strange += 1;
        }
        at += 1;
    }
    let said = Elbencho { phases };
    (!said.phases.is_empty()).then(|| Found { said: Said::Elbencho(Box::new(said)), end, unread: Vec::new() })
}

fn drawn(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'=' | b'-' | b' '))
}

/// No line of figures is longer: histograms are not read.
const LONGEST: usize = 4000;

/// A line of the table, taken into its phase.
fn row(line: &Line, at: usize, phases: &mut Vec<Phase>) -> Option<()> {
    if line.text.len() > LONGEST {
        return None;
    }
    let (head, values) = line.text.split_once(':')?;
    let (name, label) = match head.starts_with(' ') {
        true => ("", head.trim()),
        false => head.split_once("  ").or_else(|| head.split_once(' '))?,
    };
    let label = label.trim();
    if name.is_empty() && phases.is_empty() {
        return None;
    }
    if !name.is_empty() {
        if !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_') {
            return None;
        }
        phases.push(Phase { name: name.to_owned(), line: at, ..Phase::default() });
    }
    let phase = phases.last_mut()?;
    if let Some(values) = values.trim().strip_prefix('[') {
        return in_brackets(line, label, values, phase);
    }
    let mut words = values.split_whitespace();
    let (first, last) = (words.next()?, words.next()?);
    if words.next().is_some() {
        return None;
    }
    if matches!(label, "Elapsed time" | "Elapsed ms") {
        let of = |word| if label == "Elapsed ms" { millis(line, word) } else { human(line, word) };
        phase.elapsed = Some(Pair { first: of(first)?, last: of(last)? });
        return Some(());
    }
    let Some((what, share, rate, scale)) = labelled(label) else {
        // CPU and other lines of two figures are of the table and tell nothing here.
        return (line.figure(first, 1.0).is_some() && line.figure(last, 1.0).is_some()).then_some(());
    };
    let of = |word| Some(one(line.count(word)?, rate || scale != 1.0, scale));
    phase.counts.push(Count { what, share, rate, pair: Pair { first: of(first)?, last: of(last)? } });
    Some(())
}

/// A count, or what was cut off.
fn one(figure: Figure, cut: bool, scale: f64) -> Figure {
    let high = if cut { figure.value + 1.0 } else { figure.value };
    Figure { high, ..figure }.scaled(scale)
}

/// What a label counts, whose, whether a second, and how much one of it is.
fn labelled(label: &str) -> Option<(What, Share, bool, f64)> {
    let fixed = match label {
        "Throughput MiB/s" => Some((What::Bytes, Share::All, true, MIB)),
        "Throughput MB/s" => Some((What::Bytes, Share::All, true, 1e6)),
        "Total MiB" => Some((What::Bytes, Share::All, false, MIB)),
        "IOPS" => Some((What::Ios, Share::All, true, 1.0)),
        "IOs total" => Some((What::Ios, Share::All, false, 1.0)),
        _ => None,
    };
    if fixed.is_some() {
        return fixed;
    }
    let (head, share) = match label.rsplit_once(' ') {
        Some((head, "write")) => (head, Share::Write),
        Some((head, "read")) => (head, Share::Read),
        Some((head, "total")) => (head, Share::Both),
        _ => (label, Share::All),
    };
    match head {
        "IOPS" => Some((What::Ios, share, true, 1.0)),
        "IOs" => Some((What::Ios, share, false, 1.0)),
        "MiB/s" => Some((What::Bytes, share, true, MIB)),
        "MB/s" => Some((What::Bytes, share, true, 1e6)),
        "MiB" => Some((What::Bytes, share, false, MIB)),
        // `Files total` is the count of all, `Files/s total` the sum of a mix.
        "Files" | "Objects" => {
            Some((What::Entries, if share == Share::Both { Share::All } else { share }, false, 1.0))
        }
        "Files/s" | "Objects/s" => Some((What::Entries, share, true, 1.0)),
        _ => None,
    }
}

/// `[ min=73us avg=1.20ms max=9.87ms ]`, `[ 1%<=9.5 50%<=108 ... ]`.
fn in_brackets<'a>(line: &Line<'a>, label: &str, values: &'a str, phase: &mut Phase) -> Option<()> {
    let (what, share, percentiles) = latency_label(label)?;
    let mut bounds = [None; 3];
    let mut points = Vec::new();
    for word in values.split_whitespace() {
        if let Some((percent, value)) = word.split_once("%<=") {
            points.push((
                percent.parse().ok().filter(|percent: &f64| percent.is_finite())?,
                line.figure(value, 1e3)?,
            ));
        } else if let Some((name, value)) = word.split_once('=') {
            let at = ["min", "avg", "max"].iter().position(|one| *one == name)?;
            bounds[at] = latency(line, value);
        }
    }
    let bounds = match bounds {
        [Some(min), Some(mean), Some(max)] => Some([min, mean, max]),
        _ => None,
    };
    if percentiles && points.is_empty() || !percentiles && bounds.is_none() {
        return None;
    }
    match phase.latencies.iter_mut().find(|one| (one.what, one.share) == (what, share)) {
        Some(told) => {
            told.bounds = told.bounds.or(bounds);
            told.percentiles.extend(points);
        }
        None => phase.latencies.push(Latency { what, share, bounds, percentiles: points }),
    }
    Some(())
}

/// `IO latency`, `Files wr lat % us`: of what, whose, whether percentiles.
fn latency_label(label: &str) -> Option<(What, Share, bool)> {
    let percentiles = label.strip_suffix(" lat % us");
    let of = percentiles
        .or_else(|| label.strip_suffix(" latency"))
        .or_else(|| label.strip_suffix(" latency us"))?;
    let (of, share) = match of.rsplit_once(' ') {
        Some((of, "rd")) => (of, Share::Read),
        Some((of, "wr")) => (of, Share::Write),
        _ => (of, Share::All),
    };
    let what = if of == "IO" { What::Ios } else { What::Entries };
    Some((what, share, percentiles.is_some()))
}

/// `9.87ms`, `73us`, `1.2s`, of old versions `73`.
fn latency<'a>(line: &Line<'a>, word: &'a str) -> Option<Figure> {
    let (figure, unit) = line.number(word, 1.0)?;
    let scale = match unit {
        "us" | "" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(figure.scaled(scale))
}

fn millis<'a>(line: &Line<'a>, word: &'a str) -> Option<Figure> {
    Some(one(line.count(word)?, true, 1e-3))
}

/// Seconds of `1h2m3s`, `2m3.241s`, `1.234s`, `456ms`.
fn human<'a>(line: &Line<'a>, word: &'a str) -> Option<Figure> {
    let (mut rest, mut total, mut unit) = (word, 0.0, 1.0);
    if rest.is_empty() || rest.len() > 20 {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let value: f64 = rest.get(..digits)?.parse().ok()?;
        let behind = &rest[digits..];
        let (scale, bytes) = match behind {
            _ if behind.starts_with("ms") => (1e-3, 2),
            _ if behind.starts_with('h') => (3600.0, 1),
            _ if behind.starts_with('m') => (60.0, 1),
            _ if behind.starts_with('s') => (1.0, 1),
            _ => return None,
        };
        let decimals = rest[..digits].split_once('.').map_or(0, |(_, decimals)| decimals.len());
        unit = scale * 10f64.powi(-i32::try_from(decimals).ok()?);
        total += value * scale;
        rest = &behind[bytes..];
    }
    Some(Figure { high: total + unit, ..exact(line.spot(word), total) })
}

/// The CSV: a head and a line a phase.
fn csv(page: &Page, line: usize) -> Option<Found> {
    let heads: Vec<&str> = Line::of(page, line).text.split(',').take(160).map(str::trim).collect();
    let mut phases = Vec::new();
    let mut unread: Vec<Unread> = Vec::new();
    let mut at = line + 1;
    while at < page.len() {
        let here = Line::of(page, at);
        let cells: Vec<&str> = here.text.split(',').take(heads.len() + 1).map(str::trim).collect();
        if cells.len() + 2 < heads.len() || here.text.len() > LONGEST || is_csv(here.text) {
            break;
        }
        match csv_row(&here, at, &heads, &cells) {
            Some(phase) if cells.len() == heads.len() => phases.push(phase),
            _ => {
                unread.push(page.unread(at..at + 1, "elbencho CSV: a line with other columns than its head"))
            }
        }
        at += 1;
    }
    let said = Elbencho { phases };
    (at > line + 1).then_some(Found { said: Said::Elbencho(Box::new(said)), end: at, unread })
}

fn csv_row<'a>(line: &Line<'a>, at: usize, heads: &[&str], cells: &[&'a str]) -> Option<Phase> {
    let of = |head: &str| heads.iter().position(|one| *one == head).and_then(|at| cells.get(at)).copied();
    let whole = |head: &str| of(head).and_then(|cell| cell.parse::<u64>().ok());
    let pair = |head: &str, cut: bool, scale: f64| {
        let side =
            |side: &str| line.count(of(&format!("{head} [{side}]"))?).map(|figure| one(figure, cut, scale));
        Some(Pair { first: side("first")?, last: side("last")? })
    };
    let mix = pair("rwmix read IOPS", true, 1.0).is_some();
    let mut counts = Vec::new();
    for (prefix, share) in [("", if mix { Share::Write } else { Share::All }), ("rwmix read ", Share::Read)] {
        for (name, what, rate, cut, scale) in [
            ("entries/s", What::Entries, true, true, 1.0),
            ("IOPS", What::Ios, true, true, 1.0),
            ("MiB/s", What::Bytes, true, true, MIB),
            ("entries", What::Entries, false, false, 1.0),
            ("MiB", What::Bytes, false, true, MIB),
        ] {
            let found = pair(&format!("{prefix}{name}"), cut, scale);
            counts.extend(found.map(|pair| Count { what, share, rate, pair }));
        }
    }
    let bounds = |name: &str| {
        let side = |side: &str| line.count(of(&format!("{name} lat us [{side}]"))?).map(cut_us);
        Some([side("min")?, side("avg")?, side("max")?])
    };
    let latencies = [("Ent", What::Entries), ("IO", What::Ios)].iter().filter_map(|(name, what)| {
        let share = if mix { Share::Write } else { Share::All };
        Some(Latency { what: *what, share, bounds: Some(bounds(name)?), percentiles: Vec::new() })
    });
    Some(Phase {
        name: of("operation")?.to_owned(),
        line: at,
        elapsed: Some(pair("time ms", true, 1e-3)?),
        latencies: latencies.collect(),
        counts,
        block: of("block size").and_then(|cell| line.count(cell)).map(counted),
        file: whole("file size"),
        threads: whole("threads").map(|threads| threads.saturating_mul(whole("hosts").unwrap_or(1).max(1))),
        depth: whole("IO depth"),
        random: whole("random").map(|random| random == 1),
    })
}

/// Microseconds, cut off.
fn cut_us(figure: Figure) -> Figure {
    one(figure, true, 1e3)
}

impl Phase {
    /// A count or a rate.
    pub fn count(&self, what: What, share: Share, rate: bool) -> Option<&Pair> {
        let mut counts = self.counts.iter();
        counts.find(|one| (one.what, one.share, one.rate) == (what, share, rate)).map(|one| &one.pair)
    }

    fn reading(&self, share: Share, way: Way) -> Option<Reading> {
        let last = |what, rate| self.count(what, share, rate).map(|pair| pair.last);
        let (iops, bytes_per_second) = (last(What::Ios, true), last(What::Bytes, true));
        let entries = last(What::Entries, true);
        if iops.is_none() && bytes_per_second.is_none() && entries.is_none() {
            return None;
        }
        let latency = self.latencies.iter().find(|one| (one.what, one.share) == (What::Ios, share));
        let rw = |random: bool| match (random, way) {
            (true, Way::Read) => Some("randread"),
            (true, Way::Write) => Some("randwrite"),
            (false, Way::Read) => Some("read"),
            (false, Way::Write) => Some("write"),
            _ => None,
        };
        let workload = Workload {
            rw: self.random.and_then(rw).map(str::to_owned),
            bs: self.block.map(|block| block.value as u64),
            iodepth: self.depth,
            numjobs: self.threads,
            runtime_s: self.elapsed.map(|elapsed| elapsed.last.value),
            name: Some(self.name.clone()),
            ..Workload::default()
        };
        let entries = entries.map(|figure| super::cut::other(&self.name, "entries/s", true, figure));
        Some(Reading {
            iops,
            bytes_per_second,
            ios: last(What::Ios, false),
            bytes: last(What::Bytes, false),
            mean_ns: latency.and_then(|one| one.bounds).map(|bounds| bounds[1]),
            percentiles_ns: latency.map(|one| one.percentiles.clone()).unwrap_or_default(),
            others: entries.into_iter().collect(),
            ..Reading::new(self.line, workload, way)
        })
    }
}

impl Elbencho {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for phase in &self.phases {
            for figure in phase.elapsed.iter().flat_map(|pair| [pair.first, pair.last]) {
                tell((Metric::Runtime, Unit::Nanoseconds, figure.scaled(1e9)));
            }
            for count in &phase.counts {
                let (metric, unit) = match (count.what, count.rate) {
                    (What::Bytes, true) => (Metric::Bandwidth, Unit::BytesPerSecond),
                    (What::Bytes, false) => (Metric::Total, Unit::Bytes),
                    (What::Ios, true) => (Metric::Iops, Unit::PerSecond),
                    (What::Ios, false) => (Metric::Issued, Unit::Things),
                    (What::Entries, true) => (Metric::Score, Unit::PerSecond),
                    (What::Entries, false) => (Metric::Other, Unit::Things),
                };
                tell((metric, unit, count.pair.first));
                tell((metric, unit, count.pair.last));
            }
            for latency in &phase.latencies {
                latency
                    .bounds
                    .iter()
                    .flatten()
                    .for_each(|one| tell((Metric::Latency, Unit::Nanoseconds, *one)));
                let points = latency.percentiles.iter();
                points.for_each(|(_, one)| tell((Metric::Percentile, Unit::Nanoseconds, *one)));
            }
            phase.block.iter().for_each(|figure| tell((Metric::Other, Unit::Bytes, *figure)));
        }
    }

    /// A reading a phase, of a mix one a way: when the last thread was done.
    pub fn readings(&self) -> Vec<Reading> {
        let of_phase = |phase: &Phase| {
            let way = match phase.name.as_str() {
                "READ" => Way::Read,
                "WRITE" => Way::Write,
                _ => Way::Both,
            };
            let all = phase.reading(Share::All, way);
            let mix = [(Share::Write, Way::Write), (Share::Read, Way::Read)];
            let mix = mix.into_iter().filter_map(|(share, way)| phase.reading(share, way));
            all.into_iter().chain(mix).collect::<Vec<Reading>>()
        };
        self.phases.iter().flat_map(of_phase).collect()
    }
}
