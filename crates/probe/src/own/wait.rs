//! Probes of unwanted time: how late a sleeper wakes, and for how long a busy thread does not run.
//! The main result of both is the histogram of these times.

use super::crew::prepare;
use super::work::{SHORTEST_SLICE_NS, Work};
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::{Histogram, clock};

/// Shortest gap between two readings of the clock that counts as a stall.
const STALL_NS: u64 = 5_000;

pub(super) static WAKEUP: Definition = Definition {
    name: "wakeup",
    argument: Argument::Time { default_ns: 500_000 },
    unit: ProbeUnit::Time("wake-ups"),
    subject: "wake-up latency",
    about: "Sleeps for the given time and records how late it wakes.",
    relative: "cyclictest, and stress-ng cyclic, under the scheduler's usual policy",
    program: None,
    shortest_slice_ns: 50_000_000,
    needs_peer: false,
    prepare: |spec| prepare(spec, wakeup),
};

pub(super) static STALL: Definition = Definition {
    name: "stall",
    argument: Argument::None,
    unit: ProbeUnit::Count("undisturbed us"),
    subject: "undisturbed time",
    about: "Reads the clock without a pause, counts the microseconds outside of gaps of 5 us and more, and records these gaps: interrupts, other processes, a virtual processor that the host does not run.",
    relative: "the kernel's osnoise tracer, which needs root",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, |_| Ok(Box::new(Stall { undisturbed_ns: 0 }))),
};

struct Wakeup {
    period_ns: u64,
}

fn wakeup(spec: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    Ok(Box::new(Wakeup { period_ns: spec.amount().unwrap_or(500_000) }))
}

impl Work for Wakeup {
    fn run_batch(&mut self, units: u64, times: &mut Histogram) -> Result<(), ProbeError> {
        for _ in 0..units {
            let due = clock::monotonic_ns() + self.period_ns;
            clock::sleep_until(due);
            times.record(clock::monotonic_ns() - due);
        }
        Ok(())
    }
}

struct Stall {
    undisturbed_ns: u64,
}

impl Work for Stall {
    fn run_batch(&mut self, units: u64, times: &mut Histogram) -> Result<(), ProbeError> {
        // Time between two batches is not a stall.
        let mut last = clock::monotonic_ns();
        for _ in 0..units {
            let now = clock::monotonic_ns();
            match now - last {
                gap if gap >= STALL_NS => times.record(gap),
                gap => self.undisturbed_ns += gap,
            }
            last = now;
        }
        Ok(())
    }

    fn counted_units(&mut self, _: u64) -> u64 {
        let us = self.undisturbed_ns / 1_000;
        self.undisturbed_ns %= 1_000;
        us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undisturbed_time_and_gaps_are_all_the_time() {
        let (mut stall, mut gaps) = (Stall { undisturbed_ns: 700 }, Histogram::new());
        let began = clock::monotonic_ns();
        stall.run_batch(100_000, &mut gaps).unwrap();
        let took_ns = clock::monotonic_ns() - began;
        let gaps_ns = gaps.mean().unwrap_or(0.0) * gaps.count() as f64;
        let us = stall.counted_units(100_000);
        // A histogram knows its times to a few percent, and the two readings around the batch are
        // outside.
        let all_ns = us as f64 * 1e3 + gaps_ns;
        assert!(
            us > 0 && all_ns <= took_ns as f64 + 700.0 + 0.05 * gaps_ns,
            "{us} us, {gaps_ns}, {took_ns}"
        );
        assert!(stall.undisturbed_ns < 1_000 && stall.counted_units(0) == 0);
    }
}
