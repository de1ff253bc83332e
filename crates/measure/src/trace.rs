//! Loads the only stack for a set time without a rest, and records its rate over time: slices that
//! follow each other at once, with neither a wait for earlier writes before them nor a flush after.

use super::progress::{VisitEnd, WorkloadProgress};
use super::rounds::Visit;
use super::slice_outcome::SlicePosition;
use anyhow::Result;
use iotax_load::SliceBound;
use iotax_model::record::Purpose;
use iotax_units::grouped;
use std::sync::atomic::Ordering;

/// Slices into which a trace is divided, as long as none is too short or too long.
const SLICES: u64 = 2000;
/// Shortest slice in nanoseconds: the start of a slice that is discarded is a small part of it.
const SHORTEST_NS: u64 = 100_000_000;
/// Longest slice in nanoseconds, after which Ctrl-C is noticed.
const LONGEST_NS: u64 = 10_000_000_000;

impl Visit<'_> {
    /// Runs the trace. What an earlier part of the run has traced counts.
    ///
    /// # Errors
    /// As any slice.
    pub(super) fn trace(
        &mut self,
        progress: &mut WorkloadProgress,
        length_ns: u64,
    ) -> Result<VisitEnd> {
        self.bench.is_uninterrupted = true;
        let length_s = length_ns as f64 / 1e9;
        let slice_ns = (length_ns / SLICES).clamp(SHORTEST_NS, LONGEST_NS);
        let bound = SliceBound::Time { ns: slice_ns.max(self.bench.shortest_slice_ns()) };
        while progress.elapsed_s < length_s {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(VisitEnd::Interrupted);
            }
            if self.bench.would_exceed(bound, 1) {
                return Ok(VisitEnd::MaxWritten);
            }
            let began_s = self.bench.spent_s;
            let spot =
                SlicePosition { round: progress.next_round, position: 0, purpose: Purpose::Plain };
            let done = self.bench.record(0, bound, spot, self.observer)?;
            progress.next_round += 1;
            progress.elapsed_s += self.bench.spent_s - began_s;
            let rate = grouped(done.rate());
            let what = format!("trace: {:.0} of {length_s:.0} s, {rate} IOPS", progress.elapsed_s);
            self.announce_phase(what);
        }
        Ok(VisitEnd::Budget)
    }
}
