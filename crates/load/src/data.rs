//! Kind of the written data: how far they can be compressed, and how much of them repeats. By
//! default they are random and no block comes twice, so that a layer that compresses or
//! deduplicates saves nothing.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// Size in bytes of the stretches that `buffer_compress_percentage` applies to (as fio's default).
pub(crate) const SECTOR: usize = 512;

/// Compressibility and repetition of written data, in fio's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataKind {
    /// Percentage of each sector that is zeros, 0 ..= 100 (fio's `buffer_compress_percentage`).
    pub compress_percent: u8,
    /// Chance in percent, 0 ..= 100, that a unit repeats the last new unit (fio's
    /// `dedupe_percentage`).
    pub dedupe_percent: u8,
    /// Size in bytes of the units that are new or repeated as a whole. 0, or more than is written
    /// at once, means all that is written at once.
    pub unit: u64,
}

impl DataKind {
    /// Returns true if the data cannot be compressed and no unit is repeated.
    pub fn is_unique(&self) -> bool {
        self.compress_percent == 0 && self.dedupe_percent == 0
    }

    /// Returns the size of a unit in bytes if `written` bytes are written at once, which it never
    /// exceeds.
    pub(crate) fn unit_of(&self, written: usize) -> usize {
        usize::try_from(self.unit)
            .ok()
            .filter(|unit| (1..written).contains(unit))
            .unwrap_or(written)
    }
}

impl std::fmt::Display for DataKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (zeros, repeated) = (self.compress_percent, self.dedupe_percent);
        match (zeros, repeated) {
            (0, 0) => write!(f, "incompressible data"),
            (_, 0) => write!(f, "data of which {zeros} % can be compressed away"),
            (0, _) => {
                write!(f, "incompressible data, {repeated} % of it duplicates of {} B", self.unit)
            }
            _ => write!(
                f,
                "data of which {zeros} % can be compressed away, {repeated} % of it duplicates of {} B",
                self.unit
            ),
        }
    }
}

/// Decides at random which units repeat an earlier one, and keeps the last new unit for that.
pub(crate) struct Repeats {
    percent: u8,
    last: Vec<u8>,
    random: Random,
}

impl Repeats {
    pub(crate) fn new(kind: &DataKind, random: Random) -> Repeats {
        Repeats { percent: kind.dedupe_percent, last: Vec::new(), random }
    }

    /// Fills a unit with a copy of the last new unit, or lets `renew` make it new.
    pub(crate) fn next(&mut self, unit: &mut [u8], renew: impl FnOnce(&mut [u8])) {
        if self.percent == 0 {
            return renew(unit);
        }
        // The short unit at an end is a unit of its own length.
        if self.last.len() >= unit.len() && self.random.chance(self.percent) {
            return unit.copy_from_slice(&self.last[..unit.len()]);
        }
        renew(unit);
        self.last.clear();
        self.last.extend_from_slice(unit);
    }
}

/// Reproducible stream of data of one [`DataKind`], for filling a file.
pub struct Stream {
    kind: DataKind,
    random: Random,
    repeats: Repeats,
}

impl Stream {
    /// Creates a stream. Equal kinds and seeds give equal data, if it is read in equal stretches.
    pub fn new(kind: DataKind, seed: u64) -> Stream {
        Stream {
            kind,
            random: Random::new(seed, 0),
            repeats: Repeats::new(&kind, Random::new(seed, 1)),
        }
    }

    /// Fills the buffer with the next units of the stream. The first begins at its start; the last
    /// may be cut short.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let kept = kept_bytes(self.kind.compress_percent);
        let random = &mut self.random;
        for unit in buffer.chunks_mut(self.kind.unit_of(buffer.len()).max(1)) {
            self.repeats.next(unit, |unit| fill_new(unit, kept, random));
        }
    }
}

/// Fills each sector with random bytes at its start and zeros after them. `kept` is the number of
/// random bytes in a full sector.
pub(crate) fn fill_new(data: &mut [u8], kept: usize, random: &mut Random) {
    for sector in data.chunks_mut(SECTOR) {
        let (new, rest) = sector.split_at_mut(kept_of(sector.len(), kept));
        for word in new.chunks_mut(8) {
            word.copy_from_slice(&random.next().to_ne_bytes()[..word.len()]);
        }
        rest.fill(0);
    }
}

/// Returns the number of random bytes at the start of each full sector; the rest is zeros.
pub(crate) fn kept_bytes(compress_percent: u8) -> usize {
    SECTOR * usize::from(100 - compress_percent.min(100)) / 100
}

/// Returns the number of random bytes in a sector of `length` bytes, which may be the short one at
/// the end of a block. `kept` is that of a full sector.
pub(crate) fn kept_of(length: usize, kept: usize) -> usize {
    length * kept / SECTOR
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::collections::HashSet;

    pub(crate) fn kind(compress_percent: u8, dedupe_percent: u8, unit: u64) -> DataKind {
        DataKind { compress_percent, dedupe_percent, unit }
    }

    /// Returns the percentage of bytes that LZ4 removes, block by block as ZFS does.
    pub(crate) fn compressed_away(data: &[u8], block: usize) -> f64 {
        let length = |block: &[u8]| lz4_flex::block::compress(block).len().min(block.len());
        let left: usize = data.chunks(block).map(length).sum();
        100.0 - 100.0 * left as f64 / data.len() as f64
    }

    /// Returns the percentage of units that exist already.
    pub(crate) fn duplicates(data: &[u8], unit: usize) -> f64 {
        let units: Vec<&[u8]> = data.chunks(unit).collect();
        let different: HashSet<&[u8]> = units.iter().copied().collect();
        100.0 - 100.0 * different.len() as f64 / units.len() as f64
    }

    fn streamed(kind: DataKind, bytes: usize) -> Vec<u8> {
        let mut data = vec![7; bytes];
        let mut stream = Stream::new(kind, 5);
        data.chunks_mut(1 << 20).for_each(|piece| stream.fill(piece));
        data
    }

    #[test]
    fn a_compressor_takes_away_what_was_stated() {
        for percent in [0, 30, 50, 80, 100] {
            let data = streamed(kind(percent, 0, 0), 4 << 20);
            for block in [4096, 16 << 10, 128 << 10] {
                let away = compressed_away(&data, block);
                // LZ4 says in some bytes a sector how many zeros there were.
                assert!(
                    (away - f64::from(percent)).abs() < 2.0,
                    "{away} of {percent} % in {block}"
                );
            }
        }
    }

    #[test]
    fn as_many_units_repeat_as_was_stated_and_no_others() {
        for percent in [0, 25, 50, 90] {
            for zeros in [0, 50] {
                let data = streamed(kind(zeros, percent, 8192), 32 << 20);
                let found = duplicates(&data, 8192);
                // 4096 units: four standard deviations are 3.1 points.
                assert!((found - f64::from(percent)).abs() < 3.2, "{found} of {percent} %");
                assert!((compressed_away(&data, 8192) - f64::from(zeros)).abs() < 2.0);
            }
        }
        let all = streamed(kind(0, 100, 8192), 1 << 20);
        assert!(duplicates(&all, 8192) > 99.0, "all are the first");
    }

    #[test]
    fn a_unit_is_as_long_as_was_stated() {
        let data = streamed(kind(0, 50, 16 << 10), 32 << 20);
        assert!((duplicates(&data, 16 << 10) - 50.0).abs() < 5.0);
        // A block of two units is a duplicate if both are: each repeats the one before it, or is
        // it.
        assert!(duplicates(&data, 64 << 10) < 25.0);
    }

    #[test]
    fn one_seed_gives_one_content() {
        assert_eq!(streamed(kind(30, 30, 4096), 1 << 20), streamed(kind(30, 30, 4096), 1 << 20));
        let mut other = vec![0; 1 << 20];
        Stream::new(kind(30, 30, 4096), 6).fill(&mut other);
        assert_ne!(streamed(kind(30, 30, 4096), 1 << 20), other);
    }

    #[test]
    fn what_it_is_in_words() {
        let all = [kind(0, 0, 4096), kind(50, 0, 0), kind(0, 30, 16384), kind(50, 30, 4096)];
        assert_eq!(
            all.map(|kind| kind.to_string()),
            [
                "incompressible data",
                "data of which 50 % can be compressed away",
                "incompressible data, 30 % of it duplicates of 16384 B",
                "data of which 50 % can be compressed away, 30 % of it duplicates of 4096 B"
            ]
        );
    }
}
