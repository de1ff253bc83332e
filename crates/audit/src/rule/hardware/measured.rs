//! Every rate of I/O of a page, whether a tool printed it or a table has it: which load, how much, on what.

use crate::evidence::Evidence;
use crate::import::{Reading, Way};
use crate::knowledge::mentions::{NamedDrive, drives};
use crate::knowledge::ratings::{Ratings, words};
use crate::knowledge::words::{Word, makers, says};
use crate::number::{Figure, Unit};
use crate::page::Spot;
use crate::prose::topic;
use crate::table::Table;

/// A load, as far as it is told: `4k randread qd=1 jobs=16`, `Случайная запись 4k qd=128`, `64k-75rdpct`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    pub way: Option<Way>,
    /// Share of reads, of both ways.
    pub reads: Option<f64>,
    pub random: Option<bool>,
    /// Bytes of an I/O.
    pub bs: Option<u64>,
    /// I/Os in flight, of all jobs where their number is told.
    pub in_flight: Option<u64>,
}

impl Load {
    /// Of a label, a head or a title.
    pub fn read(text: &str) -> Load {
        let (topic, words) = (topic(text), words(text));
        // `qd128`, `qd=128`.
        let number = |key: &str| -> Option<u64> {
            words.iter().enumerate().find_map(|(at, (word, _))| match word.strip_prefix(key)? {
                "" => words.get(at + 1)?.0.parse().ok(),
                rest => rest.parse().ok(),
            })
        };
        let jobs = number("jobs").or_else(|| number("numjobs")).unwrap_or(1);
        let share = words.iter().find_map(|(word, _)| word.strip_suffix("rdpct")?.parse::<f64>().ok());
        let way = match (share, topic.read, topic.write) {
            (Some(100.0), ..) | (None, true, false) => Some(Way::Read),
            (Some(0.0), ..) | (None, false, true) => Some(Way::Write),
            (Some(_), ..) | (None, true, true) => Some(Way::Both),
            (None, false, false) => None,
        };
        Load {
            way,
            reads: share.map(|share| share / 100.0),
            random: (topic.random != topic.sequential).then_some(topic.random),
            bs: topic.size.map(|size| size as u64),
            in_flight: number("qd").or_else(|| number("iodepth")).map(|depth| depth.saturating_mul(jobs)),
        }
    }

    /// What this one tells, and where it does not, another.
    fn or(self, other: Load) -> Load {
        Load {
            way: self.way.or(other.way),
            reads: self.reads.or(other.reads.filter(|_| self.way.is_none())),
            random: self.random.or(other.random),
            bs: self.bs.or(other.bs),
            in_flight: self.in_flight.or(other.in_flight),
        }
    }
}

/// A drive by its index in the ratings, and its bytes where they are told.
pub(super) type Tie = (usize, Option<f64>);

/// A rate of I/O.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub spot: Spot,
    pub load: Load,
    /// A second, as printed.
    pub bandwidth: Option<Figure>,
    pub iops: Option<Figure>,
    /// Of a mean I/O.
    pub mean_ns: Option<f64>,
    /// Index of its output, or, after all outputs, of its table.
    pub source: usize,
    /// Row and column.
    pub cell: Option<(usize, usize)>,
    /// The drive that its own table, or the line before its output, names.
    pub drive: Option<Tie>,
    /// The words of its table, labels and headings, or of the lines before its output.
    said: Vec<Word>,
}

/// The words that are looked for around a figure.
const WORDS: [Word; 5] = ["several", "fabric", "cached", "sustained", "rating"];

/// Those of a text.
fn said(text: &str) -> Vec<Word> {
    let lower = text.to_lowercase();
    WORDS.into_iter().filter(|word| says(&lower, word)).collect()
}

impl Measured {
    /// Whether what is around it has a word.
    pub fn says(&self, word: Word) -> bool {
        debug_assert!(WORDS.contains(&word), "{word} is not looked for");
        self.said.contains(&word)
    }

    /// I/Os a second: as printed, else of the bandwidth by the size of an I/O.
    pub fn ios(&self) -> Option<Figure> {
        self.iops.or_else(|| Some(self.bandwidth?.scaled(1.0 / self.load.bs? as f64)))
    }

    /// Bytes a second: as printed, else of the I/Os.
    pub fn bytes(&self) -> Option<Figure> {
        self.bandwidth.or_else(|| Some(self.iops?.scaled(self.load.bs? as f64)))
    }

    /// Bytes a second of the busier way: of a mix the larger share, at least half.
    pub fn one_way(&self) -> Option<Figure> {
        let busier = match self.load.way {
            Some(Way::Read | Way::Write) => 1.0,
            _ => self.load.reads.map_or(0.5, |reads| reads.max(1.0 - reads)),
        };
        Some(self.bytes()?.scaled(busier))
    }
}

/// All of a page: of outputs, then of tables.
pub(super) fn of(evidence: &Evidence) -> Vec<Measured> {
    let mut all = Vec::new();
    for (index, output) in evidence.outputs.iter().enumerate() {
        let readings = output.said.readings();
        let start = output.lines.start;
        let near = (start.saturating_sub(12)..start).rev().take_while(|at| evidence.is_text(*at));
        let near = near.map(|at| evidence.page.line(at));
        // The three lines before it may say what it is of, and the nearest names its drive.
        let near: Vec<&str> = near.filter(|text| (1..300).contains(&text.trim().len())).take(3).collect();
        let drive = near.first().and_then(|line| tie(line, evidence.ratings));
        let said = said(&near.join("\n"));
        all.extend(readings.iter().filter_map(|reading| of_reading(index, reading, &said, drive)));
    }
    for (index, table) in evidence.tables.iter().enumerate() {
        of_table(evidence, index, table, &mut all);
    }
    all
}

/// The only drive that a text names, one of it, and no other maker's.
fn tie(text: &str, ratings: &Ratings) -> Option<Tie> {
    let found = drives(0, text, ratings);
    let own = only(&found, &makers(&text.to_lowercase()), ratings)?;
    Some((own, found.iter().find_map(|named| named.capacity)))
}

/// The only drive of those that are named, one of it, where no other maker is named.
pub(super) fn only(named: &[NamedDrive], named_makers: &[Word], ratings: &Ratings) -> Option<usize> {
    let first = named.first()?.drive;
    let drive = &ratings.drives()[first];
    let own = makers(&format!("{} {}", drive.name, drive.source).to_lowercase());
    let alone = named.iter().all(|one| one.drive == first && one.count == 1);
    (alone && named_makers.iter().all(|maker| own.contains(maker))).then_some(first)
}

fn of_reading(output: usize, reading: &Reading, said: &[Word], drive: Option<Tie>) -> Option<Measured> {
    let workload = &reading.workload;
    let load = Load {
        way: Some(reading.way),
        reads: workload.rwmixread.map(|share| share / 100.0).filter(|_| reading.way == Way::Both),
        random: workload.rw.as_ref().map(|rw| rw.starts_with("rand")),
        bs: workload.bs,
        in_flight: workload.iodepth.zip(workload.numjobs).map(|(depth, jobs)| depth.saturating_mul(jobs)),
    };
    let spot = reading.bytes_per_second.or(reading.iops).filter(|_| reading.way != Way::Trim)?.spot;
    let (bandwidth, iops) = (reading.bytes_per_second, reading.iops);
    let (mean_ns, said) = (reading.mean_ns.map(|figure| figure.value), said.to_vec());
    Some(Measured { spot, load, bandwidth, iops, mean_ns, source: output, cell: None, drive, said })
}

fn of_table(evidence: &Evidence, index: usize, table: &Table, all: &mut Vec<Measured>) {
    let title = table.title.as_deref().unwrap_or("");
    let own = Near::of(&format!("{title} {}", table.corner), evidence.ratings);
    let own_drive = tie(&table.corner, evidence.ratings).or_else(|| tie(title, evidence.ratings));
    let heads = table.columns.iter().map(|column| Near::of(&column.head, evidence.ratings));
    let mut heads: Vec<Near> = heads.collect();
    share_loads(table, &mut heads);
    for (row, one) in table.rows.iter().enumerate() {
        let label = Near::of(&one.label, evidence.ratings);
        for (column, head) in heads.iter().enumerate() {
            let Some(quantity) = one.cells.get(column).and_then(|cell| cell.as_ref()?.figure) else {
                continue;
            };
            let rate = |unit: Unit| Some(quantity.figure).filter(|_| quantity.unit == unit);
            let (bandwidth, iops) = (rate(Unit::BytesPerSecond), rate(Unit::PerSecond));
            // Two drives of one cell are none, and what a data sheet says was not measured.
            let two = label.drive.zip(head.drive).is_some_and(|(one, other)| one.0 != other.0);
            let said = [&label.said[..], &head.said[..], &own.said[..]].concat();
            let rated = label.said.contains(&"rating") || head.said.contains(&"rating");
            if bandwidth.or(iops).is_some() && !two && !rated {
                let (spot, cell) = (quantity.figure.spot, Some((row, column)));
                let load = label.load.or(head.load).or(own.load);
                let (drive, source) =
                    (label.drive.or(head.drive).or(own_drive), evidence.outputs.len() + index);
                all.push(Measured { spot, load, bandwidth, iops, mean_ns: None, source, cell, drive, said });
            }
        }
    }
}

/// What a label, a head or a title tells of its cells.
struct Near {
    load: Load,
    drive: Option<Tie>,
    said: Vec<Word>,
}

impl Near {
    fn of(text: &str, ratings: &Ratings) -> Near {
        Near { load: Load::read(text), drive: tie(text, ratings), said: said(text) }
    }
}

/// Where all columns are pairs of I/Os and bytes a second under one head that was cut in two (`4KB | random read` over `IOPS |
/// MB/s`), both of a pair have what either tells.
fn share_loads(table: &Table, heads: &mut [Near]) {
    let is_iops = |at: usize| table.columns[at].head.to_lowercase().contains("iops");
    if (0..heads.len()).all(|at| is_iops(at) == (at % 2 == 0)) {
        for pair in heads.chunks_exact_mut(2) {
            let both = pair[0].load.or(pair[1].load);
            (pair[0].load, pair[1].load) = (both, both);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_from_labels_in_many_tongues() {
        let (read, write, both) = (Some(Way::Read), Some(Way::Write), Some(Way::Both));
        for (text, way, random, bs, in_flight) in [
            ("4k randread qd=1 jobs=16", read, Some(true), Some(4096), Some(16)),
            ("4K随机写IOPS", write, Some(true), Some(4096), None),
            ("Последовательная запись 4M qd32", write, Some(false), Some(4 << 20), Some(32)),
            ("4KB 随机读写 iodepth=32", both, Some(true), Some(4096), Some(32)),
            ("Throughput", None, None, None, None),
        ] {
            assert_eq!(Load::read(text), Load { way, reads: None, random, bs, in_flight }, "{text}");
        }
        let of = |text: &str| (Load::read(text).way, Load::read(text).reads);
        assert_eq!(of("64k-75rdpct-80randompct"), (both, Some(0.75)));
        assert_eq!(of("4k-0rdpct-100randompct"), (write, Some(0.0)));
    }
}
