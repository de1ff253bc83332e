//! Memory: how fast it is copied, and how long a load takes that the next one depends on, over sizes from a first cache to beyond the
//! last. Pages are as the system gives them: a guest's second walk through page tables is part of the time.

use super::{SHORTEST_SLICE_NS, Work, prepare};
use crate::{Argument, Definition, ProbeError, ProbeSpec, Unit};
use iotax_load::{Histogram, Random};
use iotax_units::MIB;
use std::hint::black_box;

/// Bytes that a cache moves at once.
const LINE: u64 = 64;
/// Beyond it a chain's numbers would not fit.
const MOST: u64 = LINE << 31;

/// From one buffer to another.
pub(super) static COPY: Definition = Definition {
    name: "copy",
    argument: Argument::Bytes { default: 128 * MIB, least: 4096 },
    unit: Unit::Bytes,
    subject: "memory copy",
    about: "Copies a buffer of the given size to another with memcpy.",
    relative: "mbw MEMCPY, which reports single copies",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, copy),
};

/// Along a chain.
pub(super) static CHASE: Definition = Definition {
    name: "chase",
    argument: Argument::Bytes { default: 256 * MIB, least: 4096 },
    unit: Unit::Count("loads"),
    subject: "dependent memory loads",
    about: "Follows a chain through all cache lines of a buffer of the given size in random order: each load waits for the one before.",
    relative: "lmbench lat_mem_rd, which no Debian package has",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, |spec| Ok(Box::new(Chase::new(spec)?))),
};

fn size(spec: &ProbeSpec) -> Result<u64, ProbeError> {
    let bytes = spec.amount().unwrap_or(128 * MIB);
    match bytes <= MOST {
        true => Ok(bytes),
        false => Err(ProbeError::Unfit(format!("probe {spec}: the size is at most 128 GiB"))),
    }
}

/// Zeroed memory of so many elements.
///
/// # Errors
/// [`ProbeError::Unfit`] when there is not that much.
fn memory<T: Clone>(spec: &ProbeSpec, number: u64, element: T) -> Result<Vec<T>, ProbeError> {
    let mut all = Vec::new();
    all.try_reserve_exact(number as usize).map_err(|_| {
        ProbeError::Unfit(format!("probe {spec}: there is not enough memory; hint: use a smaller size"))
    })?;
    all.resize(number as usize, element);
    Ok(all)
}

struct Copy {
    from: Vec<u8>,
    to: Vec<u8>,
}

fn copy(spec: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    let bytes = size(spec)?;
    // Of another value than zero: pages that were never written are all one.
    Ok(Box::new(Copy { from: memory(spec, bytes, 1)?, to: memory(spec, bytes, 2)? }))
}

impl Work for Copy {
    fn batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        for _ in 0..units {
            self.to.copy_from_slice(black_box(&self.from));
            black_box(&mut self.to);
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.from.len() as u64
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line {
    next: u32,
}

struct Chase {
    lines: Vec<Line>,
    at: u32,
}

impl Chase {
    /// One circle through all lines (Sattolo): each line is put behind one that came before it.
    fn new(spec: &ProbeSpec) -> Result<Chase, ProbeError> {
        let many = size(spec)? / LINE;
        let mut lines = memory(spec, many, Line { next: 0 })?;
        (0..many).for_each(|at| lines[at as usize].next = at as u32);
        let mut random = Random::new(1, many);
        for at in (1..many).rev() {
            let other = random.below(at) as usize;
            let next = lines[at as usize].next;
            lines[at as usize].next = lines[other].next;
            lines[other].next = next;
        }
        Ok(Chase { lines, at: 0 })
    }
}

impl Work for Chase {
    fn batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        let mut at = self.at;
        for _ in 0..units {
            at = self.lines[at as usize].next;
        }
        self.at = black_box(at);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_comes_by_every_line_once() {
        let mut work = Chase::new(&ProbeSpec::parse("chase(64KiB)").unwrap()).unwrap();
        let mut seen = vec![false; 1024];
        for _ in 0..1024 {
            assert!(!seen[work.at as usize]);
            seen[work.at as usize] = true;
            work.batch(1, &mut Histogram::new()).unwrap();
        }
        assert_eq!(work.at, 0, "the circle is closed");
    }
}
