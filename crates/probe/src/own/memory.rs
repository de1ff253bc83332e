//! Memory probes: the speed of copying, and the time of loads each of which waits for the one
//! before, over sizes from a first cache to beyond the last. Buffers lie on huge pages if the
//! kernel gives them. On pages of 4 KiB two equal processes differed by up to 17 %, by where their
//! pages happened to lie, and no number of rounds cancels that.

use super::crew::prepare;
use super::work::{SHORTEST_SLICE_NS, Work};
use crate::spec::MOST_BYTES;
use crate::{Argument, Definition, ProbeError, ProbeSpec, ProbeUnit};
use iotax_load::{Histogram, Random};
use iotax_sys::pages::{HUGE, ask_for_huge};
use iotax_units::MIB;
use std::hint::black_box;
use std::ops::Range;

/// Bytes of a cache line.
const LINE: u64 = 64;
/// The indexes of a chain fit in 31 bits.
const _: () = assert!(MOST_BYTES <= LINE << 31);

pub(super) static COPY: Definition = Definition {
    name: "copy",
    argument: Argument::Bytes { default: 128 * MIB, least: 4096 },
    unit: ProbeUnit::Bytes,
    subject: "memory copy",
    about: "Copies a buffer of the given size to another with memcpy.",
    relative: "mbw MEMCPY, called DUMB before mbw 1.4; it reports single copies",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, copy),
};

pub(super) static CHASE: Definition = Definition {
    name: "chase",
    argument: Argument::Bytes { default: 256 * MIB, least: 4096 },
    unit: ProbeUnit::Count("loads"),
    subject: "dependent memory loads",
    about: "Follows a chain through all cache lines of a buffer of the given size in random order: each load waits for the one before.",
    relative: "lmbench lat_mem_rd, which no Debian package has",
    program: None,
    shortest_slice_ns: SHORTEST_SLICE_NS,
    needs_peer: false,
    prepare: |spec| prepare(spec, |spec| Ok(Box::new(Chase::new(spec)?))),
};

fn size(spec: &ProbeSpec) -> u64 {
    spec.amount().unwrap_or(128 * MIB)
}

/// Buffer whose elements begin at a huge page.
struct Held<T> {
    all: Vec<T>,
    used: Range<usize>,
}

impl<T: Clone> Held<T> {
    /// Makes a buffer of `number` equal elements.
    ///
    /// # Errors
    /// [`ProbeError::Unfit`] when there is not enough memory.
    fn new(spec: &ProbeSpec, number: u64, element: T) -> Result<Held<T>, ProbeError> {
        let (number, spare) = (number as usize, HUGE / size_of::<T>());
        let too_little = || {
            let why = format!(
                "probe {spec}: there is not enough memory; hint: use a smaller size, or a place with more memory"
            );
            ProbeError::Unfit(why)
        };
        // The kernel promises more memory than it has, and kills a process that uses it.
        let bytes = ((number + spare) * size_of::<T>()) as u64;
        if available().is_some_and(|available| bytes > available) {
            return Err(too_little());
        }
        let mut all = Vec::new();
        all.try_reserve_exact(number + spare).map_err(|_| too_little())?;
        ask_for_huge(all.spare_capacity_mut());
        all.resize(number + spare, element);
        let from = all.as_ptr().align_offset(HUGE).min(spare);
        Ok(Held { all, used: from..from + number })
    }

    fn as_elements(&self) -> &[T] {
        &self.all[self.used.clone()]
    }

    fn all_mut(&mut self) -> &mut [T] {
        &mut self.all[self.used.clone()]
    }
}

/// Returns the bytes of memory that are available without swapping; `None` if /proc does not say.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kib = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kib.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

struct Copy {
    from: Held<u8>,
    to: Held<u8>,
}

fn copy(spec: &ProbeSpec) -> Result<Box<dyn Work>, ProbeError> {
    let bytes = size(spec);
    // The value is not zero: pages that were never written share one page of zeros.
    Ok(Box::new(Copy { from: Held::new(spec, bytes, 1)?, to: Held::new(spec, bytes, 2)? }))
}

impl Work for Copy {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        for _ in 0..units {
            self.to.all_mut().copy_from_slice(black_box(self.from.as_elements()));
            black_box(&mut self.to);
        }
        Ok(())
    }

    fn bytes_per_unit(&self) -> u64 {
        self.from.as_elements().len() as u64
    }

    fn serves_all_slices(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct CacheLine {
    next: u32,
}

struct Chase {
    lines: Held<CacheLine>,
    at: u32,
}

impl Chase {
    /// Links all lines into one random cycle (Sattolo's algorithm).
    fn new(spec: &ProbeSpec) -> Result<Chase, ProbeError> {
        let many = size(spec) / LINE;
        let mut held = Held::new(spec, many, CacheLine { next: 0 })?;
        let lines = held.all_mut();
        (0..many).for_each(|at| lines[at as usize].next = at as u32);
        let mut random = Random::new(1, many);
        for at in (1..many).rev() {
            let other = random.draw_below(at) as usize;
            let next = lines[at as usize].next;
            lines[at as usize].next = lines[other].next;
            lines[other].next = next;
        }
        Ok(Chase { lines: held, at: 0 })
    }
}

impl Work for Chase {
    fn run_batch(&mut self, units: u64, _: &mut Histogram) -> Result<(), ProbeError> {
        let (mut at, lines) = (self.at, self.lines.as_elements());
        for _ in 0..units {
            at = lines[at as usize].next;
        }
        self.at = black_box(at);
        Ok(())
    }

    fn serves_all_slices(&self) -> bool {
        true
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
            work.run_batch(1, &mut Histogram::new()).unwrap();
        }
        assert_eq!(work.at, 0, "the circle is closed");
    }

    #[test]
    fn a_buffer_begins_at_a_huge_page_and_lies_on_huge_ones_where_there_are_any() {
        let probe = ProbeSpec::parse("copy(8MiB)").unwrap();
        let refused = || -> u64 {
            let counts = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
            let found = counts.lines().find_map(|line| line.strip_prefix("thp_fault_fallback "));
            found.and_then(|count| count.parse().ok()).unwrap_or(0)
        };
        let refused_before = refused();
        let held = Held::new(&probe, 8 * MIB, 1u8).unwrap();
        let start = held.as_elements().as_ptr() as usize;
        assert_eq!((start % HUGE, held.as_elements().len() as u64), (0, 8 * MIB));
        let allowed = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        if !allowed.is_ok_and(|words| !words.contains("[never]")) {
            return println!("skipped: needs transparent huge pages on \"madvise\" or \"always\"");
        }
        if refused() > refused_before {
            return println!("skipped: the kernel had no huge page left");
        }
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let huge_kib = |lines: &str| -> u64 {
            let line = lines.lines().find_map(|line| line.strip_prefix("AnonHugePages:"));
            line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
        };
        let holds = |line: &str| {
            let (from, to) =
                line.split(' ').next().and_then(|range| range.split_once('-')).unwrap_or(("", ""));
            let number = |text: &str| usize::from_str_radix(text, 16).unwrap_or(0);
            (number(from)..number(to)).contains(&start)
        };
        let at = maps.lines().position(holds).unwrap();
        let mapping = maps.lines().skip(at + 1).take(25).collect::<Vec<_>>().join("\n");
        let line = mapping.lines().find_map(|line| line.strip_prefix("THPeligible:"));
        assert!(line.is_none_or(|rest| rest.trim() == "1"), "{mapping}");
        // A kernel that is short of memory may give none, and not count that as refused.
        if huge_kib(&mapping) < 8 << 10 {
            println!("skipped: the kernel gave no huge page, though the buffer may have them");
        }
    }

    #[test]
    fn more_memory_than_is_available_is_refused_before_it_is_taken() {
        let probe = ProbeSpec::parse("copy(8MiB)").unwrap();
        let available = available().expect("/proc/meminfo");
        let refused = Held::new(&probe, available + (64 << 20), 1u8).err().unwrap().to_string();
        assert!(refused.contains("there is not enough memory"), "{refused}");
    }
}
