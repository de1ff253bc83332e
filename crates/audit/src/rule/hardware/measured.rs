//! Every figure of I/O of a page, whether a tool printed it or a table has it: which load, how much, on what.

use super::load::Load;
use crate::import::{Reading, Way};
use crate::knowledge::mentions::{Mentions, NamedDrive, Word, drives_in, makers, said};
use crate::knowledge::ratings::{Ratings, words};
use crate::number::{Base, Interval, Quantity, Unit};
use crate::page::Spot;
use crate::rule::Evidence;
use crate::table::Table;

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// An output, by its index.
    Output(usize),
    /// A cell: table, row, column.
    Cell(usize, usize, usize),
}

/// A drive that a figure's own table names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tie {
    /// Index in the ratings.
    pub drive: usize,
    /// Bytes, where they are told.
    pub capacity: Option<f64>,
}

/// A figure of I/O.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Where its figure stands.
    pub spot: Spot,
    /// The load, as far as it is told.
    pub load: Load,
    /// Bytes a second; of a table's `MB/s` from 1000 to 1024 each.
    pub bandwidth: Option<Interval>,
    /// I/Os a second, as printed.
    pub iops: Option<Interval>,
    /// What is printed of them: bytes a second, I/Os a second.
    pub printed: [Option<f64>; 2],
    /// Nanoseconds of a mean I/O.
    pub mean_ns: Option<Interval>,
    /// Where it comes from.
    pub origin: Origin,
    /// The drive that its own table names.
    pub drive: Option<Tie>,
    /// The vocabulary of its table, labels and headings, or of the lines before its output.
    said: Vec<Word>,
}

impl Measured {
    /// Whether what is around it says so.
    pub fn says(&self, word: Word) -> bool {
        self.said.contains(&word)
    }

    /// Reads or writes alone.
    pub fn way(&self) -> Option<Way> {
        self.load.way.filter(|way| matches!(way, Way::Read | Way::Write))
    }

    /// I/Os a second: as printed, else of the bandwidth by the size of an I/O.
    pub fn ios(&self) -> Option<Interval> {
        self.iops.or_else(|| Some(self.bandwidth?.scaled(1.0 / self.load.bs? as f64)))
    }

    /// Bytes a second: as printed, else of the I/Os.
    pub fn bytes(&self) -> Option<Interval> {
        self.bandwidth.or_else(|| Some(self.iops?.scaled(self.load.bs? as f64)))
    }

    /// Bytes a second of the busier way: of a mix the larger share, at least half.
    pub fn one_way(&self) -> Option<Interval> {
        let all = self.bytes()?;
        Some(Interval {
            low: all.low * self.busier(),
            high: all.high * if self.load.way.is_none() { 1.0 } else { self.busier() },
        })
    }

    fn busier(&self) -> f64 {
        match self.load.way {
            Some(Way::Read | Way::Write) => 1.0,
            _ => self.load.reads.map_or(0.5, |reads| reads.max(1.0 - reads)),
        }
    }

    /// I/Os a second for a message: as printed, else of what is.
    pub fn told_ios(&self) -> f64 {
        let [bytes, ios] = self.printed;
        ios.or_else(|| Some(bytes? / self.load.bs? as f64)).unwrap_or(0.0)
    }

    /// Bytes a second for a message.
    pub fn told_bytes(&self) -> f64 {
        let [bytes, ios] = self.printed;
        bytes.or_else(|| Some(ios? * self.load.bs? as f64)).unwrap_or(0.0)
    }

    /// Those of the busier way.
    pub fn told_one_way(&self) -> f64 {
        self.told_bytes() * self.busier()
    }

    /// Whether it is a figure of small I/Os at random places.
    pub fn is_random_4k(&self) -> bool {
        self.load.random == Some(true) && self.load.bs == Some(4096)
    }
}

/// All of a page.
pub fn of(evidence: &Evidence, mentions: &Mentions) -> Vec<Measured> {
    let mut all = Vec::new();
    for (index, output) in evidence.outputs.iter().enumerate() {
        let around = before(evidence, mentions, output.lines.start);
        let said = vocabulary(&around);
        let tie = tie(&around[..around.len().min(NAMING)], evidence.ratings);
        all.extend(
            output.said.readings().iter().filter_map(|reading| of_reading(index, reading, &said, tie)),
        );
    }
    for (index, table) in evidence.tables.iter().enumerate() {
        all.extend(of_table(evidence, mentions, index, table));
    }
    all
}

/// Lines before an output that may tell what it is of.
const BEFORE: usize = 3;
/// Of them, those that name its drive: the nearest line and heading.
const NAMING: usize = 1;

/// The nearest lines of text before a line that are none of an output, and the headings over it.
fn before(evidence: &Evidence, mentions: &Mentions, line: usize) -> Vec<String> {
    let page = evidence.page;
    let near = (line.saturating_sub(12)..line).rev().take_while(|at| evidence.is_text(*at));
    let mut texts: Vec<String> = near
        .map(|at| page.line(at))
        .filter(|text| !text.trim().is_empty() && text.len() < 300)
        .take(BEFORE)
        .map(str::to_owned)
        .collect();
    texts.extend(mentions.headings_over(line).into_iter().map(|at| page.line(at).to_owned()));
    texts
}

fn vocabulary(texts: &[String]) -> Vec<Word> {
    let mut all: Vec<Word> = texts.iter().flat_map(|text| said(&text.to_lowercase(), &words(text))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The only drive that texts name, one of it, and no other maker's.
fn tie(texts: &[String], ratings: &Ratings) -> Option<Tie> {
    let found: Vec<NamedDrive> = texts.iter().flat_map(|text| drives_in(text, ratings)).collect();
    let first = found.first()?;
    let alone = found.iter().all(|other| other.drive == first.drive && other.count.unwrap_or(1) == 1);
    let named = texts.iter().flat_map(|text| makers(&text.to_lowercase(), &words(text)));
    let others = named.into_iter().any(|maker| !makers_of(first.drive, ratings).contains(&maker));
    let capacity = found.iter().find_map(|named| named.capacity);
    (alone && !others).then_some(Tie { drive: first.drive, capacity })
}

/// Makers by which a drive goes.
pub fn makers_of(drive: usize, ratings: &Ratings) -> Vec<&'static str> {
    let drive = &ratings.drives()[drive];
    let text = format!("{} {}", drive.name, drive.source).to_lowercase();
    makers(&text, &words(&text))
}

fn of_reading(output: usize, reading: &Reading, said: &[Word], drive: Option<Tie>) -> Option<Measured> {
    let spot = reading.bytes_per_second.or(reading.iops)?.spot;
    let workload = &reading.workload;
    let load = Load {
        way: Some(reading.way).filter(|way| *way != Way::Trim),
        reads: workload.rwmixread.map(|share| share / 100.0).filter(|_| reading.way == Way::Both),
        random: workload.rw.as_ref().map(|rw| rw.starts_with("rand")),
        bs: workload.bs,
        depth: workload.iodepth,
        jobs: workload.numjobs,
    };
    let bs = load.bs.or_else(|| size_of(reading));
    (reading.way != Way::Trim).then(|| Measured {
        spot,
        load: Load { bs, ..load },
        bandwidth: reading.bytes_per_second.map(|figure| figure.interval()),
        iops: reading.iops.map(|figure| figure.interval()),
        printed: [reading.bytes_per_second, reading.iops].map(|figure| Some(figure?.value)),
        mean_ns: reading.mean_ns.map(|figure| figure.interval()),
        origin: Origin::Output(output),
        drive,
        said: said.to_vec(),
    })
}

/// The power of two that bandwidth and I/Os a second make: what stood in the line that a page left out.
fn size_of(reading: &Reading) -> Option<u64> {
    let ratio = reading.bytes_per_second?.interval().over(reading.iops?.interval())?;
    let mut sizes = (9..=26).map(|shift| 1u64 << shift).filter(|size| ratio.wider(0.005).has(*size as f64));
    sizes.next().filter(|_| sizes.next().is_none())
}

/// What a label or a head tells of its cells.
struct Near {
    text: String,
    said: Vec<Word>,
    drive: Option<Tie>,
    load: Load,
}

impl Near {
    fn of(text: &str, load: Load, ratings: &Ratings) -> Near {
        let texts = [text.to_owned()];
        Near { said: vocabulary(&texts), drive: tie(&texts, ratings), text: text.to_owned(), load }
    }
}

fn of_table(evidence: &Evidence, mentions: &Mentions, index: usize, table: &Table) -> Vec<Measured> {
    let own = [table.title.clone().unwrap_or_default(), table.corner.clone()];
    let headings =
        mentions.headings_over(table.lines.start).into_iter().map(|at| evidence.page.line(at).to_owned());
    let around: Vec<String> = own.iter().cloned().chain(headings).collect();
    let around = vocabulary(&around);
    let (named, own_drive) = (own.join(" "), tie(&own, evidence.ratings));
    let titled = Load::read(&named);
    let loads = loads_of_heads(table);
    let near = |text: &str, load| Near::of(text, load, evidence.ratings);
    let heads: Vec<Near> =
        table.columns.iter().zip(loads).map(|(column, load)| near(&column.head, load)).collect();
    let nothing = near("", Load::default());
    let mut all = Vec::new();
    for (row, one) in table.rows.iter().enumerate() {
        let label = near(&one.label, Load::read(&one.label));
        for (column, cell) in one.cells.iter().enumerate() {
            let Some(quantity) = cell.as_ref().and_then(|cell| cell.figure) else { continue };
            let head = heads.get(column).unwrap_or(&nothing);
            let texts = [label.text.as_str(), head.text.as_str(), named.as_str()];
            let Some(Amount { bandwidth, iops, scale }) = amount(&quantity, &texts) else { continue };
            if label.said.contains(&Word::Rating) || head.said.contains(&Word::Rating) {
                continue;
            }
            // Two drives of one cell are none.
            let drive = match (label.drive, head.drive) {
                (Some(one), Some(other)) if one.drive != other.drive => continue,
                (label, head) => label.or(head).or(own_drive),
            };
            let value = quantity.figure.value * scale;
            all.push(Measured {
                spot: quantity.figure.spot,
                load: label.load.or(head.load).or(titled),
                bandwidth,
                iops,
                printed: [bandwidth.map(|_| value), iops.map(|_| value)],
                mean_ns: None,
                origin: Origin::Cell(index, row, column),
                drive,
                said: [&label.said[..], &head.said[..], &around[..]].concat(),
            });
        }
    }
    all
}

/// The loads of columns. Where all of them are pairs of I/Os and bytes a second under one head that was cut in two (`4KB | random
/// read` over `IOPS | MB/s`), both of a pair have what either tells.
fn loads_of_heads(table: &Table) -> Vec<Load> {
    let mut loads: Vec<Load> = table.columns.iter().map(|column| Load::read(&column.head)).collect();
    let is_iops = |at: usize| table.columns[at].head.to_lowercase().contains("iops");
    let paired =
        loads.len() >= 2 && loads.len() % 2 == 0 && (0..loads.len()).all(|at| is_iops(at) == (at % 2 == 0));
    if paired {
        for pair in loads.chunks_mut(2) {
            let both = pair[0].or(pair[1]);
            pair.fill(both);
        }
    }
    loads
}

/// What a cell has, and how much of it a printed 1 is where only its label, head or title tells.
struct Amount {
    bandwidth: Option<Interval>,
    iops: Option<Interval>,
    scale: f64,
}

/// Bytes a second or I/Os a second of a cell: by its own unit, else by that which its label, head or title names.
fn amount(quantity: &Quantity, texts: &[&str]) -> Option<Amount> {
    let interval = quantity.interval();
    let bytes = |scale: f64, of_1000: bool| {
        let scaled = interval.scaled(scale);
        Amount { bandwidth: Some(if of_1000 { decimal(scaled) } else { scaled }), iops: None, scale }
    };
    let ios = Amount { bandwidth: None, iops: Some(interval), scale: 1.0 };
    match quantity.unit {
        Unit::BytesPerSecond => Some(bytes(1.0, quantity.base == Base::Decimal)),
        Unit::PerSecond => Some(ios),
        Unit::Bare => match texts.iter().find_map(|text| unit(text))? {
            None => Some(ios),
            Some((scale, of_1000)) => Some(bytes(scale, of_1000)),
        },
        _ => None,
    }
}

/// `MB` of tables are of 1000 or of 1024.
fn decimal(interval: Interval) -> Interval {
    Interval { low: interval.low, high: interval.high * 1.048_576 }
}

/// The unit that a text names: `None` within is I/Os a second, else the scale of bytes a second and whether it is of 1000. A text with
/// both tells none.
fn unit(text: &str) -> Option<Option<(f64, bool)>> {
    const RATES: [(&str, f64, bool); 8] = [
        ("mib/s", 1_048_576.0, false),
        ("gib/s", 1_073_741_824.0, false),
        ("kib/s", 1024.0, false),
        ("mb/s", 1e6, true),
        ("мб/с", 1e6, true),
        ("gb/s", 1e9, true),
        ("гб/с", 1e9, true),
        ("kb/s", 1e3, true),
    ];
    let lower = text.to_lowercase();
    let rates = RATES.iter().filter(|(name, ..)| lower.contains(name));
    let rate = rates.map(|(_, scale, decimal)| (*scale, *decimal)).next();
    match (lower.contains("iops"), rate) {
        (true, None) => Some(None),
        (false, Some(rate)) => Some(Some(rate)),
        _ => None,
    }
}
