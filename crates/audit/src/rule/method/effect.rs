//! M9: parameters that change nothing.

use super::loads::{Load, loads};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::knowledge::words::{says, spellings};

pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    let mut loads = loads(evidence);
    loads.retain(|load| !load.is_template());
    loads.iter().filter_map(syncs).for_each(|finding| sink.finds(finding));
    depth(evidence, &loads, sink);
}

/// fsync on a load that only reads.
fn syncs(load: &Load) -> Option<Finding> {
    let entry = load.entry(&["fsync", "fdatasync", "end_fsync", "fsync_on_close"])?;
    let reads = matches!(load.rw()?, "read" | "randread") && entry.value.as_deref() != Some("0");
    let message = format!("{} has no effect on a load that only reads", entry.key);
    reads.then(|| Finding::new("M9", Severity::Cosmetic, entry.spot, message))
}

/// A depth that the engine cannot have: once for each engine.
fn depth(evidence: &Evidence, loads: &[Load], sink: &mut Sink) {
    let mut told: Vec<&str> = Vec::new();
    for load in loads {
        let (engine, entry) = (load.option(&["ioengine"]), load.entry(&["iodepth"]));
        let (Some(engine), Some(entry), Some(depth)) = (engine, entry, load.number(&["iodepth"])) else {
            continue;
        };
        if depth < 2 || told.contains(&engine) {
            continue;
        }
        let why = match engine {
            _ if spellings("one at a time").contains(&engine) => format!(
                "the engine {engine} has one I/O in flight a job, whatever iodepth says: {depth} has no effect"
            ),
            "posixaio" if on_linux(evidence) => format!(
                "glibc serves the requests of posixaio for one file one after another: of iodepth {depth} one I/O reaches the device at a time"
            ),
            _ => continue,
        };
        told.push(engine);
        let alike = |other: &&Load| other.option(&["ioengine"]) == Some(engine) && other.spot != load.spot;
        let others = loads.iter().filter(alike).map(|other| other.spot);
        sink.finds(Finding::new("M9", Severity::Ambiguous, entry.spot, why).against(others));
    }
}

/// Whether a page names a Linux, and no other system whose posixaio is another.
fn on_linux(evidence: &Evidence) -> bool {
    let lower = evidence.page.text().to_lowercase();
    says(&lower, "linux") && !says(&lower, "no linux")
}
