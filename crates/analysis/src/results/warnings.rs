//! Facts that a reader must know in addition to the figures: those that were recorded, and those
//! that show only when the slices are read.

use crate::arrays::clusters;
use crate::findings::{Comparison, WarningReport, WorkloadFindings};
use crate::gather::precondition;
use crate::gather::reading::WorkloadView;
use crate::results::imported;
use crate::validity::doubts;
use iotax_model::record::state::RunState;
use iotax_model::record::{LaidOut, Place, WARNING_KINDS};
use iotax_stats::checks::Meaning;
use iotax_store::RunData;
use iotax_units::{count_noun, show_bytes};
use std::collections::BTreeMap;

/// Returns the recorded warnings, and those that show when the record is read.
pub fn warnings(
    run: &RunData,
    readings: &[WorkloadView],
    workloads: &[WorkloadFindings],
) -> Vec<WarningReport> {
    let recorded = run.warnings.iter().map(|warning| WarningReport {
        kind: warning.kind.clone(),
        subject: warning.subject.clone(),
        text: warning.text.clone(),
    });
    let notes =
        run.start.scenario.notes.iter().map(|note| WarningReport::new("note", "", note.clone()));
    let mut all: Vec<WarningReport> = Vec::new();
    let recorded = one_a_matter(recorded);
    for one in notes.chain(recorded) {
        // Each visit, each guest of a stack and each stack may say the same.
        match all.iter_mut().find(|known| (&known.kind, &known.text) == (&one.kind, &one.text)) {
            Some(known) if known.subject.split(", ").any(|subject| subject == one.subject) => {}
            Some(known) => known.subject = format!("{}, {}", known.subject, one.subject),
            None => all.push(one),
        }
    }
    let recorded = all.len();
    let unfinished = match run.state() {
        RunState::Running => Some("the run goes on; figures are of what it has recorded so far"),
        RunState::Killed => Some("the run was killed; figures are of what it recorded"),
        _ => None,
    };
    all.extend(
        unfinished
            .map(|text| WarningReport::new(run.state().state_word(), &run.start.id, text.into())),
    );
    if run.torn > 0 {
        all.push(WarningReport::new(
            "torn_frames",
            &run.start.id,
            format!(
                "absent because torn: {}",
                count_noun(run.torn, "frame of the record", "frames of the record")
            ),
        ));
    }
    if let Some(reason) = &run.apart {
        all.push(WarningReport::new(
            "apart",
            &run.start.id,
            format!("measured apart from here on: {reason}"),
        ));
    }
    all.extend(laid_out(run));
    all.extend(precondition::warnings(run));
    all.extend(imported::warnings(run));
    let found: Vec<WarningReport> =
        readings.iter().flat_map(|reading| found_warnings(reading, &all)).collect();
    all.extend(found);
    all.extend(workloads.iter().flat_map(levels));
    let loads = readings.iter().zip(workloads);
    all.extend(
        loads.flat_map(|(reading, found)| clusters::cluster_warnings(reading, &found.clusters)),
    );
    all.extend(doubts::doubts(readings, workloads));
    let unlisted = all[recorded..].iter().find(|one| !WARNING_KINDS.contains(&one.kind.as_str()));
    debug_assert!(unlisted.is_none(), "{unlisted:?} is not in the docs");
    all
}

/// Reports how fast the blocks of each stack were written for the first time, before its first
/// measured visit. This is no figure of the stack.
fn laid_out(run: &RunData) -> Vec<WarningReport> {
    let said = |stack: &str| {
        let first = run.laid_out.iter().find(|one| one.stack == stack)?;
        // A visit that was repeated after a kill wrote it again; the last one counts.
        let of: BTreeMap<&Place, &LaidOut> = run
            .laid_out
            .iter()
            .filter(|one| one.stack == stack && (one.visit, one.set) == (first.visit, first.set))
            .map(|one| (&one.place, one))
            .collect();
        let sum = |value: fn(&LaidOut) -> u64| of.values().map(|one| value(one)).sum::<u64>();
        let (written, seconds) =
            (sum(|one| one.written), sum(|one| one.took_ns + one.flush_ns) as f64 / 1e9);
        let text = format!(
            "before it was measured, {} of {stack} were written for the first time through it: {} in {seconds:.1} s, {:.1} MB/s \
             with flushes, in no figure",
            show_bytes(sum(|one| one.bytes)),
            show_bytes(written),
            written as f64 / 1e6 / seconds.max(f64::MIN_POSITIVE)
        );
        Some(WarningReport::new("first_writes", stack, text))
    };
    run.start.scenario.stacks.iter().filter_map(|stack| said(&stack.name)).collect()
}

/// Reports lasting changes of the level of both stacks that left their ratio unchanged. Others have
/// withheld the verdict.
fn levels(workload: &WorkloadFindings) -> Vec<WarningReport> {
    let broken = |one: &&Comparison| {
        one.checks.level.is_some_and(|split| split.meaning == Meaning::LevelOnly)
    };
    let said = |one: &Comparison| {
        let split = one.checks.level?;
        let change = 100.0 * (split.after.level / split.before.level - 1.0);
        let text = format!(
            "{}: the level of {} and {} broke in round {} by {change:+.0} %; their ratio did not change with it",
            workload.name, one.against, one.stack, split.at
        );
        Some(WarningReport::new("level", &one.stack, text))
    };
    workload.comparisons.iter().filter(broken).filter_map(said).collect()
}

/// Merges warnings that say the same about guests of different sets. The text begins with the
/// guests' names.
fn one_a_matter(recorded: impl Iterator<Item = WarningReport>) -> Vec<WarningReport> {
    let mut all: Vec<WarningReport> = Vec::new();
    for one in recorded {
        let known = all.iter_mut().filter(|known| known.kind == GUESTS && known.kind == one.kind);
        let mut merged =
            known.filter_map(|known| Some((merge_guest_warnings(&known.text, &one.text)?, known)));
        match merged.next() {
            Some((text, known)) => known.text = text,
            None => all.push(one),
        }
    }
    all
}

/// Kind of the warning that guests wait for processors.
const GUESTS: &str = "guests";

/// Merges the texts of two warnings about guests; `None` if they differ in more than the names of
/// the guests.
fn merge_guest_warnings(known: &str, other: &str) -> Option<String> {
    let ((whose, said), (who, what)) = (known.split_once(": ")?, other.split_once(": ")?);
    let known = whose.split(", and ").any(|one| one == who);
    let whose = if known { whose.to_owned() } else { format!("{whose}, and {who}") };
    (said == what).then(|| format!("{whose}: {what}"))
}

fn is_about(one: &WarningReport, stack: &str) -> bool {
    one.subject == stack || one.subject.split(", ").any(|subject| subject == stack)
}

/// Returns the warnings that show only when the slices are read. Those in `known` are not repeated.
fn found_warnings(reading: &WorkloadView, known: &[WarningReport]) -> Vec<WarningReport> {
    let name = &reading.workload.name;
    let mut found = reading.writes.warnings(name);
    if reading.unknown > 0 {
        found.push(WarningReport::new(
            "unknown_stack",
            name,
            format!(
                "of stacks that the scenario does not name: {}",
                count_noun(reading.unknown, "slice", "slices")
            ),
        ));
    }
    for (stack, side) in reading.run.start.scenario.stacks.iter().zip(&reading.sides) {
        let mut add =
            |kind: &str, text: String| found.push(WarningReport::new(kind, &stack.name, text));
        if side.dropped > 0 {
            add(
                "partial_rounds",
                format!(
                    "{name}: not whole and not counted: {}",
                    count_noun(side.dropped, "round", "rounds")
                ),
            );
        }
        if side.torn > 0 {
            add(
                "torn_histograms",
                format!(
                    "{name}: absent because torn: {}; percentiles are of the others",
                    count_noun(side.torn, "histogram", "histograms")
                ),
            );
        }
        let is_reported =
            known.iter().any(|one| one.kind == "io_errors" && is_about(one, &stack.name));
        // The record reports one slice; for a run that went on, all are reported.
        let goes_on = reading.workload.jobs.iter().all(|job| job.continue_on_error);
        if side.errors > 0 && (!is_reported || goes_on) {
            add(
                "io_errors",
                format!(
                    "{name}: failed or came back short: {}",
                    count_noun(side.errors, "I/O", "I/Os")
                ),
            );
        }
        if side.debt.gave_up > 0
            && !known.iter().any(|one| one.kind == "gate_gave_up" && is_about(one, &stack.name))
        {
            add(
                "gate_gave_up",
                format!(
                    "{name}: earlier writes were still being paid for before {}",
                    count_noun(side.debt.gave_up, "slice", "slices")
                ),
            );
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_docs_explain_every_kind() {
        let page = include_str!("../../../../docs/reading-a-report.md");
        let table = page.split("| kind | meaning |").nth(1).unwrap().split("\n\n").next().unwrap();
        let cells = table.lines().filter_map(|row| row.split(" | ").next()).skip(2);
        let explained: Vec<&str> =
            cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        assert_eq!(explained, WARNING_KINDS);
    }

    #[test]
    fn guests_that_are_short_of_the_same_are_one_matter() {
        let short = |who: &str, of: &str| {
            WarningReport::new(
                GUESTS,
                "",
                format!("{who}: overcommitted, 2 vCPUs and 1 I/O thread share {of}"),
            )
        };
        let told = |all: Vec<WarningReport>| {
            one_a_matter(all.into_iter()).into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        let processors = "2 CPUs";
        let own = "2 CPUs given by cpus=";
        assert_eq!(
            told(vec![short("guest vm0", processors), short("guest vm1", processors)]),
            ["guest vm0, and guest vm1: overcommitted, 2 vCPUs and 1 I/O thread share 2 CPUs"]
        );
        assert_eq!(told(vec![short("guest vm0", processors), short("guest vm1", own)]).len(), 2);
        // Every part of a resumed run records them again.
        let part = || ["vm0", "vm1"].map(|name| short(&format!("guest {name}"), processors));
        assert_eq!(
            told([part(), part()].concat()),
            ["guest vm0, and guest vm1: overcommitted, 2 vCPUs and 1 I/O thread share 2 CPUs"]
        );
    }

    #[test]
    fn what_is_said_of_several_is_said_once() {
        assert!(is_about(&WarningReport::new("io_errors", "a, b", String::new()), "b"));
        assert!(!is_about(&WarningReport::new("io_errors", "ab", String::new()), "a"));
    }
}
