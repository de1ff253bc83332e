//! iotax's own probes: resident threads, each on a processor of its own, that do units of work for
//! a slice. [`Work`] is what a thread does; `crew` has the threads; each other module has some of
//! the family.

mod compute;
mod crew;
mod kernel;
mod memory;
mod small;
mod wait;

use crate::{Definition, Probe, ProbeError, ProbeSpec};
use iotax_load::Histogram;

pub const ALL: &[&Definition] = &[
    &compute::INTEGER,
    &compute::FLOAT,
    &memory::COPY,
    &memory::CHASE,
    &kernel::SYSCALL,
    &kernel::PIPE,
    &kernel::SWITCH,
    &kernel::FORK,
    &kernel::EXEC,
    &wait::WAKEUP,
    &wait::STALL,
];

/// Slices are at least so long: some batches of the slowest unit.
const SHORTEST_SLICE_NS: u64 = 20_000_000;

/// What a thread of a probe does. It is made in its thread, which is on its processor by then.
trait Work {
    /// Does so many units, and records the times of those that take longer than the clock's reading
    /// by far.
    ///
    /// # Errors
    /// When the system refuses what a unit is.
    fn batch(&mut self, units: u64, times: &mut Histogram) -> Result<(), ProbeError>;

    /// What so many units of the last batch count as.
    fn counted(&mut self, units: u64) -> u64 {
        units
    }

    /// Bytes that a unit moves.
    fn bytes(&self) -> u64 {
        0
    }

    /// Whether it serves all slices. Else it is made again for each, so that the luck of its
    /// addresses and pages counts as noise of a slice, not as a difference between two places.
    fn lasts(&self) -> bool {
        false
    }
}

/// Makes a thread's work.
type Make = fn(&ProbeSpec) -> Result<Box<dyn Work>, ProbeError>;

/// Starts the threads of a probe.
fn prepare(spec: &ProbeSpec, make: Make) -> Result<Box<dyn Probe>, ProbeError> {
    Ok(Box::new(crew::ProbeCrew::start(spec, make)?))
}

/// What the system refused.
fn refused(action: &str, error: impl Into<std::io::Error>) -> ProbeError {
    ProbeError::System { action: action.to_owned(), source: error.into() }
}
