//! What a page does not say, and a run of its scenario needs or would change the result: comments
//! at the top of the draft.

use super::figures::DraftKind;
use super::loads::PageLoad;
use super::words::listed_words;
use iotax_audit::page::AuditedPage;
use std::collections::HashSet;

/// Questions whose answers a page mostly has in one of the words of the list `said`.
const SAID_IN_WORDS: [(&str, &str); 7] = [
    ("cache", "the cache mode of virtual disks (QEMU's cache=)"),
    ("precondition", "whether drives were preconditioned or files written before the reads"),
    ("size", "the vCPUs of guests, or the cores of hosts"),
    ("kernel", "the kernel"),
    ("memory", "the memory of the systems, against which the size of the data counts"),
    ("repeats", "how often each load ran, and the spread"),
    ("preallocation", "whether virtual disks were preallocated"),
];

/// Returns what the page does not say, a line each. `is_of_guests`: a system is a virtual machine.
pub(super) fn find_gaps(
    page: &AuditedPage,
    kind: DraftKind,
    loads: &[PageLoad],
    versions: &[String],
    is_of_guests: bool,
) -> Vec<String> {
    let mut said: HashSet<&str> = HashSet::new();
    for line in 0..page.len() {
        let text = page.line_text(line).to_lowercase();
        let words = listed_words().iter().filter(|word| word.list == "said");
        for word in words.filter(|word| text.contains(word.text)) {
            said.insert(word.meaning);
        }
        if said.len() == SAID_IN_WORDS.len() {
            break;
        }
    }
    let is_storage = kind == DraftKind::Storage;
    let unsaid = SAID_IN_WORDS.iter().filter(|(word, _)| {
        let counts = match *word {
            "cache" | "preallocation" => is_storage && is_of_guests,
            "precondition" => is_storage,
            _ => true,
        };
        counts && !said.contains(word)
    });
    let mut gaps: Vec<String> = unsaid.map(|(_, question)| (*question).to_owned()).collect();
    let io: Vec<&PageLoad> = loads.iter().filter(|load| load.probe.is_none()).collect();
    if versions.is_empty() && !io.is_empty() {
        gaps.push("the version of fio, or of another tool".to_owned());
    }
    let lacking = |has: fn(&PageLoad) -> bool| {
        let names: Vec<String> =
            io.iter().filter(|load| !has(load)).map(|load| load.name()).collect();
        match names.len() {
            0 => None,
            all if all == io.len() => Some("all loads".to_owned()),
            1..=4 => Some(names.join(", ")),
            many => Some(format!("{} and {} more", names[..3].join(", "), many - 3)),
        }
    };
    for (what, has) in [
        ("the block size", (|load: &PageLoad| load.bs.is_some()) as fn(&PageLoad) -> bool),
        ("the depth (iodepth)", |load| load.iodepth.is_some()),
        ("the number of jobs", |load| load.numjobs.is_some()),
        ("the engine (ioengine)", |load| load.engine.is_some()),
        ("the size of the data", |load| load.size.is_some()),
        ("how long a run took", |load| load.runtime.is_some()),
    ] {
        gaps.extend(lacking(has).map(|loads| format!("{what} of {loads}")));
    }
    gaps
}
