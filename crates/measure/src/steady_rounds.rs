//! Runs a load that writes on all stacks of a set in turn, before it is measured, until the pace of
//! each is steady (SNIA's workload dependent preconditioning). These rounds run whenever a set was
//! set up, because setting up writes, too, and a drive that rested recovers. `stats` decides what
//! is steady.

use super::progress::{VisitEnd, WorkloadProgress};
use super::rounds::{Visit, in_units};
use super::slice_outcome::SlicePosition;
use super::visit_workers::OfferedLoad;
use anyhow::Result;
use iotax_load::{Job, SliceBound};
use iotax_model::record::precondition::{Preconditioned, PreconditionedStack};
use iotax_model::record::{Purpose, RunRecord};
use iotax_model::scenario::{Precondition, SteadyLimit};
use iotax_stats::steady::{Window, WrittenRound, Wrote, preconditioned};
use iotax_units::show_ns;
use std::sync::atomic::Ordering;

/// Length of the slices of a round, in nanoseconds: short enough for Ctrl-C between two of them,
/// long enough for the flush after each to matter little.
const SLICE_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct SteadyRounds {
    writes: Vec<WrittenRound>,
    /// Bytes of a slice of each stack, by worker; `None` before its first slice. They count where
    /// written bytes are limited.
    slice_bytes: Vec<Option<u64>>,
}

impl Visit<'_> {
    /// Runs the load until the pace of each stack is steady, or the limit of preconditioning is
    /// reached. Returns `None` if the visit goes on.
    ///
    /// # Errors
    /// As any slice.
    pub(super) fn until_steady(
        &mut self,
        progress: &mut WorkloadProgress,
    ) -> Result<Option<VisitEnd>> {
        let Some(spec) = self.precondition else { return Ok(None) };
        // A load at a rate reaches that rate at once, whatever the drive could do. The load's pace
        // shows without the rate.
        let workload = self.workload;
        let without_rate = workload.jobs.iter().any(|job| job.rate_iops.is_some());
        if without_rate {
            let jobs: Vec<Job> =
                // These writes are overwritten before anything is read back.
                workload.jobs.iter().map(|job| Job { rate_iops: None, verify: false, ..job.clone() }).collect();
            self.bench.end()?;
            self.bench.prepare(OfferedLoad::Jobs(jobs))?;
        }
        let began_s = self.bench.spent_s;
        let mut rounds = SteadyRounds {
            slice_bytes: vec![None; self.bench.ready.len()],
            ..SteadyRounds::default()
        };
        let why = loop {
            let took_s = self.bench.spent_s - began_s;
            if let Some(why) = self.is_over(&spec, &rounds, took_s) {
                break why;
            }
            if let Some(ended) = self.steady_round(progress, &spec, &mut rounds)? {
                break ended;
            }
        };
        if without_rate {
            self.bench.end()?;
            self.bench.prepare(OfferedLoad::Jobs(workload.jobs.clone()))?;
        }
        let took_s = self.bench.spent_s - began_s;
        self.record_preconditioned(&spec, &rounds, why, took_s, without_rate)?;
        progress.preconditioned.extend(rounds.writes);
        Ok((why == INTERRUPTED).then_some(VisitEnd::Interrupted))
    }

    fn is_over(
        &self,
        spec: &Precondition,
        rounds: &SteadyRounds,
        took_s: f64,
    ) -> Option<&'static str> {
        let (made, round_s) = (rounds.writes.len(), spec.round_ns as f64 / 1e9);
        let all_s = round_s * self.bench.ready.len() as f64;
        match spec.limit {
            _ if self
                .windows(rounds)
                .iter()
                .all(|window| window.is_some_and(|one| one.is_level())) =>
            {
                Some("steady")
            }
            SteadyLimit::Rounds(most) => (made >= most as usize).then_some("rounds"),
            // A round that would not be complete in that time is not begun.
            SteadyLimit::TimeNs(ns) => {
                (made > 0 && took_s + all_s > ns as f64 / 1e9).then_some("time")
            }
        }
    }

    fn windows(&self, rounds: &SteadyRounds) -> Vec<Option<Window>> {
        self.bench.ready.iter().map(|ready| preconditioned(&rounds.writes, ready.index)).collect()
    }

    /// Runs one round: some slices of each stack. Returns why it was cut short; `None` if it was
    /// not.
    fn steady_round(
        &mut self,
        progress: &mut WorkloadProgress,
        spec: &Precondition,
        rounds: &mut SteadyRounds,
    ) -> Result<Option<&'static str>> {
        let slice_ns = spec.round_ns.min(SLICE_NS.max(self.bench.shortest_slice_ns()));
        let slices = (spec.round_ns / slice_ns).max(1);
        let mut writes = WrittenRound {
            visit: self.bench.visit,
            preconditions: true,
            ..WrittenRound::default()
        };
        let mut position = 0;
        for worker in 0..self.bench.ready.len() {
            let mut wrote = Wrote {
                stack: self.bench.ready[worker].index,
                bytes: 0.0,
                seconds: 0.0,
                durable_s: None,
            };
            let mut flushes_s = 0.0;
            for slice in 0..slices {
                if self.stop.load(Ordering::Relaxed) {
                    return Ok(Some(INTERRUPTED));
                }
                self.announce_phase(self.steady_progress(spec, rounds, worker, slice * slice_ns));
                let bound = self.steady_bound(slice_ns, rounds.slice_bytes[worker]);
                if self.bench.would_exceed(bound, 1) {
                    return Ok(Some("max_written"));
                }
                let spot = SlicePosition {
                    round: progress.next_round,
                    position,
                    purpose: Purpose::Precondition,
                };
                let done = self.bench.record(worker, bound, spot, self.observer)?;
                let part = done.part(0, true);
                wrote.bytes += part.amount;
                wrote.seconds += part.seconds;
                flushes_s += done.flush_s();
                let paced =
                    part.amount / part.seconds.max(f64::MIN_POSITIVE) * slice_ns as f64 / 1e9;
                rounds.slice_bytes[worker].get_or_insert(in_units(paced, self.bench.unit()));
                position += 1;
            }
            wrote.durable_s = Some(wrote.seconds + flushes_s);
            writes.stacks.push(wrote);
        }
        progress.next_round += 1;
        rounds.writes.push(writes);
        Ok(None)
    }

    /// Bounds a slice by time or, if bytes are limited, by the bytes that went through in that time
    /// at first.
    fn steady_bound(&self, slice_ns: u64, slice_bytes: Option<u64>) -> SliceBound {
        match (*self.bench.allowance, slice_bytes) {
            (None, _) => SliceBound::Time { ns: slice_ns },
            (Some(_), Some(bytes)) => SliceBound::Bytes { bytes },
            (Some(left), None) => self.first_bytes(left),
        }
    }

    /// Formats the progress: `preconditioning by LOAD: round 7 of at most 25, loop at 31 of 60 s;
    /// the last five: ...`
    fn steady_progress(
        &self,
        spec: &Precondition,
        rounds: &SteadyRounds,
        worker: usize,
        at_ns: u64,
    ) -> String {
        let most = match spec.limit {
            SteadyLimit::Rounds(most) => format!(" of at most {most}"),
            SteadyLimit::TimeNs(ns) => format!(", at most {}", show_ns(ns as f64)),
        };
        let windows = self.windows(rounds);
        let least = windows.into_iter().flatten().max_by(|a, b| a.range.total_cmp(&b.range));
        let said = least.map_or_else(String::new, |window| {
            format!("; the last five: {}", window.to_sentence())
        });
        format!(
            "preconditioning by {}: round {}{most}, {} at {:.0} of {:.0} s{said}",
            self.workload.kind_subject(),
            rounds.writes.len() + 1,
            self.bench.ready[worker].stack,
            at_ns as f64 / 1e9,
            spec.round_ns as f64 / 1e9
        )
    }

    fn record_preconditioned(
        &mut self,
        spec: &Precondition,
        rounds: &SteadyRounds,
        why: &str,
        took_s: f64,
        without_rate: bool,
    ) -> Result<()> {
        let stack = |(ready, window): (&super::under_load::StackUnderLoad, Option<Window>)| {
            PreconditionedStack {
                stack: ready.stack.clone(),
                written: rounds
                    .writes
                    .iter()
                    .flat_map(|writes| &writes.stacks)
                    .filter(|wrote| wrote.stack == ready.index)
                    .map(|wrote| wrote.bytes as u64)
                    .sum(),
                range: window.map(|window| window.range),
                slope: window.map(|window| window.slope),
                steady: window.is_some_and(|window| window.is_level()),
            }
        };
        let stacks = self.bench.ready.iter().zip(self.windows(rounds)).map(stack).collect();
        self.bench.store.append(&RunRecord::Preconditioned(Preconditioned {
            visit: self.bench.visit,
            set: self.bench.set,
            workload: self.workload.name.clone(),
            rounds: rounds.writes.len() as u32,
            round_ns: spec.round_ns,
            ended: why.to_owned(),
            without_rate,
            took_ns: (took_s * 1e9) as u64,
            stacks,
        }))?;
        Ok(())
    }
}

const INTERRUPTED: &str = "interrupted";
