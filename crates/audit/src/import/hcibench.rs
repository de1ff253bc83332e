//! HCIBench's `-res.txt`, by vdbench or by fio, the same in its report's words, and the summary sheet of its workbook as CSV. Its MB
//! are MiB (fio's were of 1,024,000 in early versions); latencies are plain means over the virtual machines.

use super::cut::{Line, MIB, counted, exact, size};
use super::{Format, Found, Reading, Said, Told, Way, Workload};
use crate::claim::Metric;
use crate::number::{Figure, Unit};
use crate::page::Page;

/// The results of one file: one case a run definition or job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HciBench {
    /// In their order.
    pub cases: Vec<Case>,
}

/// One test case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Index of the line it begins at.
    pub line: usize,
    /// `RD=run1; I/O rate: ...`, `job0`, or the name of the case.
    pub name: Option<String>,
    /// Virtual machines.
    pub vms: Option<Figure>,
    /// I/Os a second of all.
    pub iops: Option<Figure>,
    /// Bytes a second of all.
    pub bandwidth: Option<Figure>,
    /// Nanoseconds: all, reads, writes.
    pub latency: [Option<Figure>; 3],
    /// The 95th percentile: all, reads, writes.
    pub tail: [Option<Figure>; 3],
    /// Standard deviation of the latency.
    pub deviation: Option<Figure>,
    /// Bytes of an I/O, of the sheet.
    pub block: Option<Figure>,
    /// Percent of reads, of the sheet.
    pub reads: Option<Figure>,
    /// I/Os in flight of all, of the sheet.
    pub outstanding: Option<Figure>,
}

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "HCIBench",
    help: "HCIBench's result files of vdbench and fio, the summary sheet as CSV",
    example: include_str!("../../fixtures/hcibench/vdbench-res.txt"),
    begins: |line| {
        line.starts_with("Datastore")
            || line.starts_with("JOB_NAME")
            || line.starts_with("Run Def:")
            || line.starts_with("Sheet Number,")
    },
    read,
};

/// Lines of a file that tell nothing here.
const STRANGE: usize = 3;

fn read(page: &Page, line: usize) -> Option<Found> {
    if Line::of(page, line).text.starts_with("Sheet Number,") {
        return sheet(page, line);
    }
    let mut cases: Vec<Case> = Vec::new();
    let mut name: Option<(usize, String)> = None;
    let (mut at, mut end, mut strange) = (line, line, 0);
    while at < page.len() && strange <= STRANGE {
        let here = Line::of(page, at);
        let text = here.text.trim();
        // A second head with nothing between is of another file.
        if at > line && cases.is_empty() && (FORMAT.begins)(text) && !follows(Line::of(page, line).text, text)
        {
            break;
        }
        let told = if let Some(said) = text.strip_prefix("Run Def:").or_else(|| value(text, "JOB_NAME")) {
            name = Some((at, said.trim().to_owned()));
            true
        } else if let Some(vms) = number(&here, &["VMs", "Number of VMs"], 1.0) {
            let (line, name) = name.take().map_or((at, None), |(line, name)| (line, Some(name)));
            cases.push(Case { line, name, vms: Some(counted(vms)), ..Case::default() });
            true
        } else {
            cases.last_mut().is_some_and(|case| case.take(&here)) || is_furniture(text)
        };
        if told {
            (end, strange) = (at + 1, 0);
        } else {
            strange += 1;
        }
        at += 1;
    }
    cases.retain(|case| case.iops.is_some());
    let said = HciBench { cases };
    (!said.cases.is_empty()).then(|| Found { said: Said::HciBench(Box::new(said)), end, unread: Vec::new() })
}

/// Whether a head may follow the one that an output began with.
fn follows(first: &str, text: &str) -> bool {
    first.starts_with("Datastore") && !text.starts_with("Datastore")
}

fn is_furniture(text: &str) -> bool {
    text.starts_with("=====")
        || text.starts_with("Datastore")
        || text.starts_with("Version:")
        || text.starts_with("Resource Usage:")
        || text.starts_with("CPU USAGE")
        || text.starts_with("RAM USAGE")
        || text.starts_with("vSAN PCPU USAGE")
}

/// What follows `LABEL = ` or `LABEL: `.
fn value<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.strip_prefix(label)?.trim_start().strip_prefix(['=', ':']).map(str::trim_start)
}

fn number(line: &Line, labels: &[&str], scale: f64) -> Option<Figure> {
    let text = line.text.trim();
    labels.iter().find_map(|label| line.number(value(text, label)?, scale)).map(|(figure, _)| figure)
}

impl Case {
    /// Takes a line in; false where it is none of a case.
    fn take(&mut self, line: &Line) -> bool {
        const LATENCIES: [&[&str]; 3] =
            [&["LATENCY", "Latency"], &["R_LATENCY", "Read Latency"], &["W_LATENCY", "Write Latency"]];
        const TAILS: [&[&str]; 3] = [
            &["95%tile_LAT", "95th Percentile Latency"],
            &["95%tile_R_LAT", "95th Percentile Read Latency"],
            &["95%tile_W_LAT", "95th Percentile Write Latency"],
        ];
        if let Some(iops) = number(line, &["IOPS", "I/O per Second"], 1.0) {
            self.iops = Some(iops);
            return true;
        }
        if let Some(bandwidth) = number(line, &["THROUGHPUT", "Throughput"], MIB) {
            self.bandwidth = Some(bandwidth);
            return true;
        }
        for (places, labels) in [(&mut self.latency, LATENCIES), (&mut self.tail, TAILS)] {
            for (place, labels) in places.iter_mut().zip(labels) {
                if let Some(figure) = number(line, labels, 1e6) {
                    *place = Some(figure);
                    return true;
                }
            }
        }
        false
    }
}

/// The summary sheet: a head and a line a case.
fn sheet(page: &Page, line: usize) -> Option<Found> {
    let heads: Vec<&str> = Line::of(page, line).text.split(',').take(64).map(str::trim).collect();
    let mut cases = Vec::new();
    let mut at = line + 1;
    while let Some(case) = sheet_row(&Line::of(page, at), at, &heads) {
        cases.push(case);
        at += 1;
    }
    let said = HciBench { cases };
    (!said.cases.is_empty()).then(|| Found {
        said: Said::HciBench(Box::new(said)),
        end: at,
        unread: Vec::new(),
    })
}

fn sheet_row(line: &Line, at: usize, heads: &[&str]) -> Option<Case> {
    let cells: Vec<&str> = line.text.split(',').take(heads.len() + 1).map(str::trim).collect();
    if cells.len() != heads.len() {
        return None;
    }
    let of = |head: &str| heads.iter().position(|one| *one == head).map(|at| cells[at]);
    let figure = |head: &str, scale: f64| line.figure(of(head)?, scale);
    let block = of("Blocksize").and_then(|cell| Some((cell, size(cell)?)));
    let percent = of("Read Percentage").and_then(|cell| line.number(cell, 1.0));
    Some(Case {
        line: at,
        name: of("Case Name").map(str::to_owned),
        vms: of("Number of VMs").and_then(|cell| line.count(cell)),
        iops: Some(figure("IOPS", 1.0)?),
        bandwidth: figure("Throughput", MIB),
        latency: [figure("Latency", 1e6), figure("Read Latency", 1e6), figure("Write Latency", 1e6)],
        tail: [None; 3],
        deviation: figure("Latency Standard Deviation", 1e6),
        block: block.and_then(|(cell, bytes)| {
            let digits = cell.bytes().take_while(u8::is_ascii_digit).count();
            Some(exact(line.spot(cell.get(..digits)?), bytes as f64))
        }),
        reads: percent.map(|(figure, _)| figure),
        outstanding: figure("Total Outstanding IO", 1.0),
    })
}

impl HciBench {
    /// Every figure in it.
    pub fn figures(&self, tell: &mut dyn FnMut(Told)) {
        for case in &self.cases {
            let mut say = |metric, unit, figure: &Option<Figure>| {
                figure.iter().for_each(|figure| tell((metric, unit, *figure)));
            };
            say(Metric::Other, Unit::Things, &case.vms);
            say(Metric::Iops, Unit::PerSecond, &case.iops);
            say(Metric::Bandwidth, Unit::BytesPerSecond, &case.bandwidth);
            case.latency.iter().for_each(|figure| say(Metric::Latency, Unit::Nanoseconds, figure));
            case.tail.iter().for_each(|figure| say(Metric::Percentile, Unit::Nanoseconds, figure));
            say(Metric::Latency, Unit::Nanoseconds, &case.deviation);
            say(Metric::Other, Unit::Bytes, &case.block);
            say(Metric::Other, Unit::Percent, &case.reads);
            say(Metric::Depth, Unit::Things, &case.outstanding);
        }
    }

    /// A reading a case, of all its virtual machines.
    pub fn readings(&self) -> Vec<Reading> {
        let reading = |case: &Case| {
            let workload = Workload {
                bs: case.block.map(|block| block.value as u64),
                numjobs: case.vms.map(|vms| vms.value as u64),
                rwmixread: case.reads.map(|reads| reads.value),
                name: case.name.clone(),
                ..Workload::default()
            };
            let way = match (case.latency[1], case.latency[2]) {
                (Some(reads), Some(writes)) if writes.value == 0.0 && reads.value > 0.0 => Way::Read,
                (Some(reads), Some(writes)) if reads.value == 0.0 && writes.value > 0.0 => Way::Write,
                _ => Way::Both,
            };
            let one_way = match way {
                Way::Read => case.latency[1],
                Way::Write => case.latency[2],
                _ => None,
            };
            Reading {
                iops: case.iops,
                bytes_per_second: case.bandwidth,
                mean_ns: case.latency[0].or(one_way),
                ..Reading::new(case.line, workload, way)
            }
        };
        self.cases.iter().map(reading).collect()
    }
}
