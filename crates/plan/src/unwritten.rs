//! What must be written once before anything is measured, because it was never written.

use iotax_layers::{ExposedDevice, FirstWrites};
use iotax_load::DataKind;
use iotax_model::scenario::{Scenario, Workload};
use iotax_units::MIB;

/// Block size in bytes of first writes that are in order.
pub const BLOCK: u64 = MIB;
/// A stack of a set on which something must be written first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnwrittenStack {
    /// Index of the stack among the set's targets.
    pub target: usize,
    pub order: FirstWrites,
    /// Bytes that are written on each of the stack's targets in one pass.
    pub bytes: u64,
    /// Number of the stack's targets, in all of its places.
    pub parts: u64,
    /// Kind of data that is written, which is that of the load.
    pub data: DataKind,
}

impl UnwrittenStack {
    /// Returns the bytes that are written on all targets in all passes.
    pub fn total_written(&self) -> u64 {
        self.bytes * self.parts * self.order.passes()
    }
}

/// Returns the bytes from the start of each target that the loads use, in whole blocks; `None` if
/// one of them uses all.
fn loaded_bytes(scenario: &Scenario) -> Option<u64> {
    let of_load = |workload: &Workload| {
        let jobs = workload.jobs.iter().filter(|_| workload.probe.is_none());
        let ends = jobs.map(|job| job.last_offset().checked_add(job.size?));
        ends.collect::<Option<Vec<u64>>>()?.into_iter().max()
    };
    let ends = scenario.workloads.iter().map(of_load).collect::<Option<Vec<u64>>>()?;
    let end = ends.into_iter().max().filter(|_| scenario.durability.is_none())?;
    end.checked_next_multiple_of(BLOCK)
}

/// Returns what must be written first, so that what the loads use of every stack in a set is
/// written. A device that several stacks share is listed once.
pub fn unwritten_of_set(
    targets: &[(usize, ExposedDevice)],
    region: u64,
    scenario: &Scenario,
) -> Vec<UnwrittenStack> {
    let (data, loaded) = (scenario.data(), loaded_bytes(scenario).unwrap_or(u64::MAX));
    let is_first = |at: &usize| {
        let same = |other: &ExposedDevice, one: &ExposedDevice| {
            (&other.place, &other.paths) == (&one.place, &one.paths)
        };
        !targets[..*at].iter().any(|(_, other)| same(other, &targets[*at].1))
    };
    let of = |at: usize| {
        let exposed = &targets[at].1;
        // The size of a device on a host over ssh is not known yet.
        let part =
            (region / exposed.part_count()).checked_next_multiple_of(BLOCK).unwrap_or(region);
        let part = part.min(exposed.bytes).min(loaded);
        let targets = (exposed.paths.len() + exposed.copies.len()) as u64;
        Some(UnwrittenStack {
            target: at,
            order: exposed.unwritten?,
            bytes: part,
            parts: targets,
            data,
        })
    };
    (0..targets.len()).filter(is_first).filter_map(of).collect()
}
