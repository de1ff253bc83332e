//! HCIBench's `-res.txt`, by vdbench or by fio, the same in its report's words, and the summary sheet of its workbook as CSV. Its MB
//! are MiB (fio's were of 1,024,000 in early versions); latencies are plain means over the virtual machines.

use super::cut::{Line, MIB, size, walk};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "HCIBench",
    help: "HCIBench's result files of vdbench and fio, the summary sheet as CSV",
    example: include_str!("../../fixtures/hcibench/vdbench-res.txt"),
    begins: |line| HEADS.iter().any(|head| line.starts_with(head)) || line.starts_with("Sheet Number,"),
    read,
};

const HEADS: [&str; 3] = ["Datastore", "JOB_NAME", "Run Def:"];

/// Lines of a file that tell nothing here.
const STRANGE: usize = 3;

const MACHINES: &str = "the virtual machines";
const READS: &str = "the latency of reads";
const WRITES: &str = "the latency of writes";
const MS: f64 = 1e6;

const PATTERNS: &[Pattern] = &[
    ("VMs = #|Number of VMs: #", &[count(MACHINES)]),
    ("IOPS = # IO/S|I/O per Second: # IO/S", &[(IOPS, Metric::Iops, "IO/S", 1.0)]),
    ("THROUGHPUT = # MB/s|Throughput: # MB/s", &[(BANDWIDTH, Metric::Bandwidth, "MB/s", MIB)]),
    ("LATENCY = # ms|Latency: # ms", &[ms(MEAN)]),
    ("R_LATENCY = # ms|Read Latency: # ms", &[ms(READS)]),
    ("W_LATENCY = # ms|Write Latency: # ms", &[ms(WRITES)]),
];

/// Lines that tell nothing here.
const FURNITURE: [&str; 8] =
    ["=====", "Datastore", "Version:", "Resource Usage:", "95", "vSAN PCPU", "CPU USAGE", "RAM USAGE"];

fn read(page: &Page, line: usize) -> Option<Found> {
    if Line::of(page, line).text.starts_with("Sheet Number,") {
        return summary(page, line);
    }
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut name: Option<(usize, String)> = None;
    let of_datastore = page.bare(line).0.starts_with("Datastore");
    let end = walk(page, line, STRANGE, |here, at| {
        let text = here.text.trim();
        // A second head of a file with nothing between is of another.
        let follows = of_datastore && !text.starts_with("Datastore");
        if at > line && sheets.is_empty() && !follows && HEADS.iter().any(|head| text.starts_with(head)) {
            return None;
        }
        if let Some(said) = text.strip_prefix("Run Def:").or(text.strip_prefix("JOB_NAME")) {
            name = Some((at, said.trim_start_matches(['\t', ' ', '=']).to_owned()));
            return Some(true);
        }
        if text.starts_with("VMs") || text.starts_with("Number of VMs") {
            let (line, name) = name.take().map_or((at, None), |(line, name)| (line, Some(name)));
            let workload = Workload { name, ..Workload::default() };
            sheets.push(Sheet { workload, ..Sheet::new(line, None) });
        }
        let told = sheets.last_mut().is_some_and(|sheet| sheet.take(here, PATTERNS).is_some());
        Some(told || FURNITURE.iter().any(|head| text.starts_with(head)))
    });
    found(sheets, end)
}

fn found(mut sheets: Vec<Sheet>, end: usize) -> Option<Found> {
    sheets.retain(|sheet| sheet.get(IOPS).is_some());
    for sheet in &mut sheets {
        let of = |name: &str| sheet.get(name).map(|one| (one, one.figure.value > 0.0));
        let (way, only) = match (of(READS), of(WRITES)) {
            (Some((reads, true)), Some((_, false))) => (Way::Read, Some(reads)),
            (Some((_, false)), Some((writes, true))) => (Way::Write, Some(writes)),
            _ => (Way::Both, None),
        };
        sheet.way = Some(way);
        sheet.workload.numjobs = sheet.figure(MACHINES).map(|machines| machines.value as u64);
        // Of one way its latency is that of all; it stands there once.
        if let Some((_, only)) = sheet.figures.iter_mut().find(|(_, one)| Some(*one) == only) {
            only.name = MEAN;
        }
    }
    Found::sheets(sheets, end)
}

/// The summary sheet: a head and a line a case.
fn summary(page: &Page, line: usize) -> Option<Found> {
    let heads: Vec<&str> = Line::of(page, line).text.split(',').take(64).map(str::trim).collect();
    let mut sheets = Vec::new();
    while let Some(sheet) = row(&Line::of(page, line + 1 + sheets.len()), &heads) {
        sheets.push(Sheet { line: line + 1 + sheets.len(), ..sheet });
    }
    let end = line + 1 + sheets.len();
    found(sheets, end)
}

fn row(line: &Line, heads: &[&str]) -> Option<Sheet> {
    let cells: Vec<&str> = line.text.split(',').take(heads.len() + 1).map(str::trim).collect();
    (cells.len() == heads.len()).then_some(())?;
    let of = |head: &str| heads.iter().position(|one| *one == head).map(|at| cells[at]);
    let mut sheet = Sheet::new(0, None);
    for (head, name, metric, unit, scale) in [
        ("Number of VMs", MACHINES, Metric::Issued, "", 1.0),
        ("IOPS", IOPS, Metric::Iops, "", 1.0),
        ("Throughput", BANDWIDTH, Metric::Bandwidth, "MB/s", MIB),
        ("Latency", MEAN, Metric::Latency, "ms", MS),
        ("Read Latency", READS, Metric::Latency, "ms", MS),
        ("Write Latency", WRITES, Metric::Latency, "ms", MS),
    ] {
        let figure = of(head).and_then(|cell| line.figure(cell, scale));
        figure.into_iter().for_each(|figure| sheet.add(metric, named(name, unit, figure)));
    }
    sheet.get(IOPS)?;
    sheet.workload = Workload {
        bs: of("Blocksize").and_then(size),
        rwmixread: of("Read Percentage").and_then(|cell| Some(line.number(cell, 1.0)?.0.value)),
        name: of("Case Name").map(str::to_owned),
        ..Workload::default()
    };
    Some(sheet)
}
