//! Interface between the threads and the work that a probe lets them do.

use crate::{ProbeError, ProbeSpec};
use iotax_load::Histogram;

/// Minimum length of a slice in nanoseconds: some batches of the slowest unit.
pub(super) const SHORTEST_SLICE_NS: u64 = 20_000_000;

/// Work of a probe's thread. It is made in that thread, after the thread was pinned to its
/// processor.
pub(super) trait Work {
    /// Does a number of units, and records the times of those that take far longer than a reading
    /// of the clock.
    ///
    /// # Errors
    /// When the system refuses a unit.
    fn run_batch(&mut self, units: u64, times: &mut Histogram) -> Result<(), ProbeError>;

    /// Returns how many units the last batch, of `units` units, counts as.
    fn counted_units(&mut self, units: u64) -> u64 {
        units
    }

    fn bytes_per_unit(&self) -> u64 {
        0
    }

    /// Returns true if the same work serves all slices. Otherwise it is made again after each, so
    /// that the luck of its addresses and pages counts as noise of a slice, not as a difference
    /// between two places.
    fn serves_all_slices(&self) -> bool {
        false
    }
}

pub(super) type MakeWork = fn(&ProbeSpec) -> Result<Box<dyn Work>, ProbeError>;

/// Returns the error that the system refused an action: `cannot make a pipe: ...`.
pub(super) fn unit_refused_error(action: &str, error: impl Into<std::io::Error>) -> ProbeError {
    ProbeError::System { action: action.to_owned(), source: error.into() }
}
