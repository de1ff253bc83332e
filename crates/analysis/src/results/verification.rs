//! Loads with `verify`: whether each stack returned, under each workload, what had been written to
//! it. A report first names a stack that did not.

use crate::findings::verification::{Verification, VerifiedRow};
use iotax_load::verify::{BlockFault, Example, VerifiedBlocks};
use iotax_model::record::verification::Verification as Record;
use iotax_model::scenario::Workload;
use iotax_model::stack::Stack;
use iotax_store::RunData;
use iotax_units::{grouped, show_bytes};
use std::collections::BTreeSet;

/// Returns the findings on loads with `verify`; `None` for a run without such loads.
pub fn verification(run: &RunData) -> Option<Verification> {
    let scenario = &run.start.scenario;
    let verifying = scenario.workloads.iter().filter(|workload| workload.verifies());
    let of = |workload: &Workload| {
        let of_stack = |stack: &Stack| verified_row(run, workload, &stack.name);
        scenario.stacks.iter().filter_map(of_stack).collect::<Vec<_>>()
    };
    let rows: Vec<VerifiedRow> = verifying.flat_map(of).collect();
    (!rows.is_empty()).then_some(Verification { rows })
}

fn verified_row(run: &RunData, workload: &Workload, stack: &str) -> Option<VerifiedRow> {
    let is_it = |record: &&Record| record.workload == workload.name && record.stack == stack;
    let records: Vec<&Record> = run.verified.iter().filter(is_it).collect();
    let whole: BTreeSet<(u32, u32)> = records
        .iter()
        .filter(|record| record.found.whole)
        .map(|record| (record.visit, record.set))
        .collect();
    let cut = records
        .iter()
        .filter(|record| !record.found.whole)
        .map(|record| (record.visit, record.set));
    let loaded =
        run.slices.iter().filter(|slice| slice.workload == workload.name && slice.stack == stack);
    let unread =
        loaded.map(|slice| (slice.visit, slice.set)).filter(|visit| !whole.contains(visit));
    let not_read: BTreeSet<(u32, u32)> = unread.chain(cut).collect();
    if records.is_empty() && not_read.is_empty() {
        return None;
    }
    let sum = |of: fn(&Record) -> &VerifiedBlocks| {
        records
            .iter()
            .map(|record| of(record).clone())
            .fold(VerifiedBlocks::default(), VerifiedBlocks::and)
    };
    let (back, load) = (sum(|record| &record.found.back), sum(|record| &record.found.load));
    let sizes: BTreeSet<u64> =
        workload.jobs.iter().filter(|job| job.verify).map(|job| job.bs).collect();
    let examples =
        back.examples.iter().chain(&load.examples).take(MOST_EXAMPLES).map(example_words).collect();
    let mut row = VerifiedRow {
        workload: workload.name.clone(),
        stack: stack.to_owned(),
        sizes: sizes.into_iter().collect(),
        back: VerifiedBlocks { examples: Vec::new(), ..back },
        load: VerifiedBlocks { examples: Vec::new(), ..load },
        took_s: records.iter().map(|record| record.found.took_ns as f64 / 1e9).sum(),
        not_read: not_read.len() as u64,
        sentence: String::new(),
        examples,
    };
    row.sentence = row_words(&row);
    Some(row)
}

const MOST_EXAMPLES: usize = 3;

fn example_words(example: &Example) -> String {
    format!(
        "{}, block of {} at byte {}: {} must be there, and there is {}",
        example.target.display(),
        show_bytes(example.length),
        example.offset,
        example.to_sentence(),
        example.found
    )
}

/// Returns the words for a kind of fault where blocks are counted.
fn word_of(kind: BlockFault) -> &'static str {
    match kind {
        BlockFault::Lost => "LOST (an older write is there)",
        BlockFault::Misplaced => "MISPLACED (what was written elsewhere is there)",
        BlockFault::Foreign => "FOREIGN (never written by this load)",
        BlockFault::Torn => "TORN (wrong checksum)",
        BlockFault::Unreadable => "NOT READABLE",
    }
}

fn row_words(row: &VerifiedRow) -> String {
    let count = |blocks: u64| grouped(blocks as f64);
    let sizes = row.sizes.iter().map(|bytes| show_bytes(*bytes)).collect::<Vec<_>>().join(" and ");
    let wrong = |found: &VerifiedBlocks| {
        let kinds = BlockFault::ALL.into_iter().filter(|kind| found.count_wrong(*kind) > 0);
        kinds
            .map(|kind| format!("{} {}", count(found.count_wrong(kind)), word_of(kind)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let stack = &row.stack;
    let mut text = match (row.is_empty(), row.wrong()) {
        (true, _) => format!("{stack}: nothing was read back of what was written"),
        (false, 0) if row.back.blocks == 0 => {
            format!(
                "{stack}: {} reads of the load gave what was last written",
                count(row.load.blocks)
            )
        }
        (false, 0) => {
            let blocks = format!("{} blocks of {sizes}", count(row.back.blocks));
            let reads = match row.load.blocks {
                0 => String::new(),
                reads => format!(", and {} reads of the load were so, too", count(reads)),
            };
            format!("{stack}: read back {blocks}: all as last written{reads}")
        }
        (false, _) => {
            let back = (row.back.wrong() > 0).then(|| {
                format!(
                    "of {} blocks of {sizes} read back {}",
                    count(row.back.blocks),
                    wrong(&row.back)
                )
            });
            let load = (row.load.wrong() > 0).then(|| {
                format!("of {} reads of the load {}", count(row.load.blocks), wrong(&row.load))
            });
            let parts: Vec<String> = back.into_iter().chain(load).collect();
            format!("WRONG DATA from {stack}: {}", parts.join("; "))
        }
    };
    let further = [
        (row.back.unjudged, "blocks were not judged, as a write of them failed"),
        (
            row.back.mixed + row.load.mixed,
            "were a mix within a sector of writes that were in flight at once, of which nothing else is promised",
        ),
        (row.not_read, "of its visits ended before all that was written was read back"),
    ];
    let further = further.into_iter().filter(|(number, _)| *number > 0);
    text.extend(further.map(|(number, words)| format!("; {} {words}", count(number))));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use crate::twin;

    #[test]
    fn what_is_wrong_comes_before_what_it_costs() {
        let found = findings(&twin::verified());
        let rows = &found.verification.as_ref().unwrap().rows;
        let [right, wrong] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!(
            right.sentence,
            "file: read back 120,331 blocks of 4 KiB: all as last written, and 53,000 reads of the load were so, too"
        );
        assert_eq!(
            wrong.sentence,
            "WRONG DATA from file | loop: of 240,662 blocks of 4 KiB read back 3 LOST (an older write is there), 1 TORN (wrong checksum)"
        );
        assert!(
            wrong.examples[0].starts_with(
                "/dev/loop7, block of 4 KiB at byte 8192: write 3 of it must be there"
            )
        );
        let headline = found.headline.unwrap();
        assert!(headline.starts_with(&wrong.sentence), "{headline}");
    }

    #[test]
    fn what_was_not_read_back_is_said() {
        let mut run = twin::verified();
        run.verified
            .iter_mut()
            .filter(|one| one.stack == "file")
            .for_each(|one| one.found.whole = false);
        run.verified.retain(|one| one.stack == "file");
        let rows = verification(&run).unwrap().rows;
        assert!(
            rows[0]
                .sentence
                .ends_with("; 1 of its visits ended before all that was written was read back")
        );
        assert!(
            rows[1].sentence.starts_with("file | loop: nothing was read back"),
            "{}",
            rows[1].sentence
        );
        assert_eq!(verification(&run).unwrap().alarm(), None);
        run.slices.clear();
        run.verified.clear();
        assert_eq!(verification(&run), None, "nothing was measured");
    }
}
