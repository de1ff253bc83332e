//! Restores what the earlier parts of a resumed run did, from the record and the journal.

use super::progress::WorkloadProgress;
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_host::guard::found::DATA;
use iotax_model::record::precondition::{PassedDrive, Passes};
use iotax_model::record::{LaidOut, Purpose, Slice, ended_as_asked};
use iotax_model::scenario::Scenario;
use iotax_model::stack::Medium;
use iotax_stats::pilot::{Design, Pattern};
use iotax_stats::rounds::{Round, RoundKind, RoundPart};
use iotax_stats::steady::{WrittenRound, Wrote};
use iotax_steps::journal::{self, JournalEntry};
use iotax_store::RunData;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// State of a run so far; empty for a new run.
#[derive(Debug, Default)]
pub struct ResumeState {
    pub progress: BTreeMap<String, WorkloadProgress>,
    /// Visits that ended: (visit, set, workload).
    pub ended: BTreeSet<(u32, u32, String)>,
    pub first_visit: u32,
    pub workloads_done: BTreeSet<String>,
    /// Bytes written, by fills and by the load.
    pub written: u64,
    /// True if stacks were found to disturb the baseline and are measured apart.
    pub apart: bool,
    passes: Vec<Passes>,
}

impl ResumeState {
    pub fn from_data(data: &RunData, run_dir: &Path) -> Result<ResumeState> {
        let scenario = &data.start.scenario;
        let of_workload = |name: &String| (name.clone(), progress(scenario, data, name));
        let done = data.ends.iter().filter(|(_, reason)| ended_as_asked(reason));
        Ok(ResumeState {
            progress: scenario
                .workloads
                .iter()
                .map(|workload| of_workload(&workload.name))
                .collect(),
            ended: data.visits_ended.iter().cloned().collect(),
            first_visit: data.slices.iter().map(|slice| slice.visit + 1).max().unwrap_or(0),
            workloads_done: done.map(|(workload, _)| workload.clone()).collect(),
            written: loaded_bytes(data)
                + first_writes(data)
                + filled_bytes(&journal::read_journal(run_dir)?.entries)
                + lost_pass_bytes(data),
            apart: data.apart.is_some(),
            passes: data.passes.iter().map(|passes| still_there(scenario, passes)).collect(),
        })
    }

    /// Extends the consents for drives that passes of this very run wrote, recognized by serial
    /// number, to data without a signature: nobody misses that data. Anything else on such a drive
    /// still needs consent.
    pub fn consent_to_own(&self, scenario: &mut Scenario) {
        let passed = |serial: &str| {
            let drives = self
                .passes
                .iter()
                .filter(|passes| passes.begun > 0)
                .flat_map(|passes| &passes.drives);
            drives.into_iter().any(|drive| drive.serial.as_deref() == Some(serial))
        };
        for consent in scenario.consent.iter_mut().filter(|consent| passed(&consent.serial)) {
            if !consent.wipe.iter().any(|word| word == DATA) {
                consent.wipe.push(DATA.to_owned());
            }
        }
    }

    /// Returns the passes over a drive, as far as the drive has kept them.
    pub fn passes_over(&self, place: &Place, drive: &PassedDrive) -> Option<&Passes> {
        let mut last = self.passes.iter().rev().filter(|passes| passes.place == *place);
        last.find(|passes| passes.drives.contains(drive))
    }
}

/// Returns the bytes that recorded slices wrote.
fn loaded_bytes(data: &RunData) -> u64 {
    data.slices
        .iter()
        .filter_map(|slice| slice.figure("write.bytes"))
        .map(|bytes| bytes as u64)
        .sum()
}

/// Returns the bytes that were written before measuring, or may have been. An earlier version of
/// iotax recorded first writes only at their end.
fn first_writes(data: &RunData) -> u64 {
    let begun: u64 = data.laying_out.iter().map(|begun| begun.bytes).sum();
    let begins = |done: &LaidOut| {
        data.laying_out.iter().any(|begun| {
            (begun.visit, begun.set, &begun.stack, &begun.place)
                == (done.visit, done.set, &done.stack, &done.place)
        })
    };
    let ended = data.laid_out.iter().filter(|done| !begins(done)).map(|done| done.written);
    begun + ended.sum::<u64>()
}

/// Returns the passes without drives that are gone, and without files that were removed or are to
/// be made again.
fn still_there(scenario: &Scenario, passes: &Passes) -> Passes {
    let media = || scenario.stacks.iter().flat_map(|stack| stack.medium.members());
    let is_kept = |drive: &PassedDrive| {
        media()
            .any(|medium| medium.place() == passes.place && keeps(medium, Path::new(&drive.path)))
    };
    let drives = passes.drives.iter().filter(|drive| is_kept(drive)).cloned().collect();
    Passes { drives, ..passes.clone() }
}

/// Returns true if data that was written to that path is still there after the end of the run.
fn keeps(medium: &Medium, written: &Path) -> bool {
    match medium {
        Medium::File { path, size, keep } => {
            path == written && (*keep || size.is_none()) && path.exists()
        }
        Medium::Device { path } => path == written,
        Medium::Remote { path, size, keep, .. } => path == written && (*keep || size.is_none()),
        Medium::Cpu { .. }
        | Medium::Net { .. }
        | Medium::Drive { .. }
        | Medium::Rbd { .. }
        | Medium::VhostUser { .. }
        | Medium::Many { .. } => false,
    }
}

/// Returns the bytes of passes that are to be written again. Passes that a drive kept are part of
/// what setting up writes.
fn lost_pass_bytes(data: &RunData) -> u64 {
    let scenario = &data.start.scenario;
    let kept = |passes: &Passes| still_there(scenario, passes).drives.len() as u64;
    let mut bytes = 0;
    for (at, passes) in data.passes.iter().enumerate() {
        let drives = |other: &&Passes| other.place == passes.place && other.drives == passes.drives;
        let (all, begun) = (passes.drives.len() as u64, passes.begun);
        match data.passes[at + 1..].iter().find(drives) {
            // The passes were begun again.
            Some(next) if next.written < passes.written => bytes += all * begun,
            Some(_) => {}
            None => bytes += (all - kept(passes)) * begun,
        }
    }
    bytes
}

/// Returns the bytes of the fills, first syncs and rebuilds that were begun.
fn filled_bytes(entries: &[JournalEntry]) -> u64 {
    let of = |entry: &JournalEntry| match entry {
        JournalEntry::Intent { step, .. } => step.op.bytes_filled() + step.op.bytes_below(),
        _ => 0,
    };
    entries.iter().map(of).sum()
}

/// Collects the whole rounds of a workload. A round that was cut short would weigh one stack more
/// than another. Latencies at the matched rate are few and are measured again, at the rate that was
/// fixed.
fn progress(scenario: &Scenario, data: &RunData, workload: &str) -> WorkloadProgress {
    let design = data.designs.iter().rfind(|design| design.workload == workload);
    let slices: Vec<&Slice> =
        data.slices.iter().filter(|slice| slice.workload == workload).collect();
    let wrongly_timed = data.wrongly_timed(workload);
    // All places are reached again: a load without a lost place was another load.
    let parts = |stack: &str| {
        slices.iter().filter(|slice| slice.stack == stack).map(|slice| slice.parts.len()).max()
    };
    let all: BTreeMap<&str, Option<usize>> =
        scenario.stacks.iter().map(|stack| (stack.name.as_str(), parts(&stack.name))).collect();
    let is_full = |slice: &Slice| {
        all.get(slice.stack.as_str()).is_none_or(|most| *most == Some(slice.parts.len()))
    };
    let counts =
        |slice: &&&Slice| is_full(slice) && !wrongly_timed.contains(&(slice.visit, slice.set));
    let mut rounds: BTreeMap<u32, Round> = BTreeMap::new();
    for slice in slices.iter().filter(counts).filter(|slice| kind(slice).is_some()) {
        let Some(stack) = scenario.stacks.iter().position(|stack| stack.name == slice.stack) else {
            continue;
        };
        let round = rounds.entry(slice.round).or_insert_with(|| Round {
            kind: kind(slice).unwrap_or_default(),
            visit: slice.visit,
            ..Round::default()
        });
        let by_bytes = scenario.workloads.iter().any(|one| one.name == workload && one.writes());
        let ending = if by_bytes { ".bytes" } else { ".ios" };
        round.parts.push(RoundPart {
            stack,
            amount: slice.total(ending),
            seconds: slice.window_ns as f64 / 1e9,
        });
    }
    let pattern = design.map_or(Pattern::Mirror, |design| design.pattern);
    // A series has one record of each stack.
    let series = design.and_then(|design| design.series);
    let of_each = if series.is_some() { 1 } else { pattern.slices() };
    let whole = |round: &Round| {
        let of = |stack: usize| round.parts.iter().filter(|part| part.stack == stack).count();
        (0..scenario.stacks.len()).all(|stack| [0, of_each].contains(&of(stack)))
    };
    WorkloadProgress {
        elapsed_s: rounds.values().flat_map(|round| &round.parts).map(|part| part.seconds).sum(),
        rounds: rounds.into_values().filter(whole).collect(),
        next_round: slices.iter().map(|slice| slice.round + 1).max().unwrap_or(0),
        design: design.map(|design| Design {
            slice_s: design.slice_ns as f64 / 1e9,
            pattern: design.pattern,
            period_s: design.period_ns.map(|ns| ns as f64 / 1e9),
        }),
        series,
        matched: data.matched.iter().rfind(|matched| matched.workload == workload).cloned(),
        preconditioned: preconditioned_rounds(scenario, &slices),
        ..WorkloadProgress::default()
    }
}

/// Returns the rounds of preconditioning that these slices belong to.
fn preconditioned_rounds(scenario: &Scenario, slices: &[&Slice]) -> Vec<WrittenRound> {
    let mut rounds: BTreeMap<u32, WrittenRound> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| slice.purpose == Purpose::Precondition) {
        let Some(stack) = scenario.stacks.iter().position(|stack| stack.name == slice.stack) else {
            continue;
        };
        let none =
            || WrittenRound { visit: slice.visit, preconditions: true, ..WrittenRound::default() };
        let round = rounds.entry(slice.round).or_insert_with(none);
        let seconds = slice.window_ns as f64 / 1e9;
        let durable_s = seconds + slice.total("flush") / 1e9;
        match round.stacks.iter_mut().find(|wrote| wrote.stack == stack) {
            Some(wrote) => {
                wrote.bytes += slice.total(".bytes");
                wrote.seconds += seconds;
                wrote.durable_s = wrote.durable_s.map(|before| before + durable_s);
            }
            None => round.stacks.push(Wrote {
                stack,
                bytes: slice.total(".bytes"),
                seconds,
                durable_s: Some(durable_s),
            }),
        }
    }
    rounds.into_values().collect()
}

/// Returns the kind of the round of throughput that a slice is part of; `None` if it is part of
/// none.
fn kind(slice: &Slice) -> Option<RoundKind> {
    match slice.purpose {
        Purpose::Plain => Some(RoundKind::Plain),
        Purpose::Long => Some(RoundKind::Long),
        Purpose::WarmUp
        | Purpose::Pilot
        | Purpose::Precondition
        | Purpose::Alone
        | Purpose::Beside
        | Purpose::Matched
        | Purpose::OutOfState => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::path_ref::PathRef;
    use iotax_steps::op::{Op, Rebuild};
    use iotax_steps::step::Step;

    #[test]
    fn rebuilds_that_were_begun_have_written() {
        let member = PathRef::Path("/dev/sda".into());
        let op = Op::Rebuild(Rebuild { array: PathRef::Yield(0), member, bytes: 1 << 30 });
        let step = Box::new(Step { id: 7, place: Place::Host, why: "rebuild".into(), op });
        let begun = |seq| JournalEntry::Intent { seq, boot_id: "boot".into(), step: step.clone() };
        assert_eq!(filled_bytes(&[begun(1), JournalEntry::Undone { seq: 1 }, begun(2)]), 2 << 30);
    }
}
