//! HCIBench's `-res.txt`, by vdbench or by fio, the same in its report's words. Its MB
//! are MiB (fio's were of 1,024,000 in early versions); latencies are plain means over the virtual machines.

use super::cut::{Line, walk};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "HCIBench",
    example: include_str!("../../fixtures/hcibench/vdbench-res.txt"),
    begins: |line| HEADS.iter().any(|head| line.starts_with(head)),
    read,
};

const HEADS: [&str; 3] = ["Datastore", "JOB_NAME", "Run Def:"];

/// Lines of a file that tell nothing here.
const STRANGE: usize = 3;

const MACHINES: &str = "the virtual machines";
const READS: &str = "the latency of reads";
const WRITES: &str = "the latency of writes";

/// Lines that tell nothing here.
const FURNITURE: [&str; 8] =
    ["=====", "Datastore", "Version:", "Resource Usage:", "95", "vSAN PCPU", "CPU USAGE", "RAM USAGE"];

fn read(page: &Page, line: usize) -> Option<Found> {
    let first = Line::of(page, line).text;
    let mut sheets: Vec<Sheet> = Vec::new();
    let mut name: Option<(usize, String)> = None;
    let of_datastore = first.starts_with("Datastore");
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
            sheets
                .push(Sheet { workload: Workload { name, ..Workload::default() }, ..Sheet::new(line, None) });
        }
        let told = sheets.last_mut().is_some_and(|sheet| sheet.take(here, patterns(FORMAT.name)));
        Some(told || FURNITURE.iter().any(|head| text.starts_with(head)))
    });
    Found::sheets(sheets.into_iter().filter_map(finished).collect(), end)
}

fn finished(mut sheet: Sheet) -> Option<Sheet> {
    sheet.get(IOPS)?;
    let of = |name: &str| sheet.figure(name).map(|one| one.value > 0.0);
    let (way, only) = match (of(READS), of(WRITES)) {
        (Some(true), Some(false)) => (Way::Read, READS),
        (Some(false), Some(true)) => (Way::Write, WRITES),
        _ => (Way::Both, MEAN),
    };
    sheet.way = Some(way);
    sheet.workload.numjobs = sheet.figure(MACHINES).map(|machines| machines.value as u64);
    // Of one way its latency is that of all; it stands there once.
    if let Some((_, only)) = sheet.figures.iter_mut().find(|(_, one)| one.name == only) {
        only.name = MEAN;
    }
    Some(sheet)
}
