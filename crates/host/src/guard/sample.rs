//! Reads 1,000 random blocks and both ends of a device: data that bears no signature (a raw
//! database, an encrypted volume without header) must not be taken for emptiness.

use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of a block that is read.
pub const BLOCK: u64 = 4096;
const RANDOM_BLOCKS: usize = 1000;
/// Bytes read completely at each end.
const ENDS: u64 = 1 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSample {
    pub blocks: u64,
    /// Blocks with a byte that is not zero.
    pub nonzero: u64,
    pub failed: u64,
    pub first_failure: Option<String>,
}

/// Reads both ends and 1,000 random blocks of a device of `bytes` bytes, if possible past the page
/// cache. Failures are counted in the result.
pub fn sample_device(path: &Path, bytes: u64) -> BlockSample {
    let mut sample = BlockSample::default();
    // Past the page cache, which may hold what another machine wrote over since.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty())
        .or_else(|_| rustix::fs::open(path, flags, Mode::empty()));
    let file = match opened {
        Ok(fd) => File::from(fd),
        Err(error) => {
            sample.fail(&error.to_string());
            return sample;
        }
    };
    let positions = match positions(bytes) {
        Ok(positions) => positions,
        Err(error) => {
            sample.fail(&format!("no random numbers: {error}"));
            return sample;
        }
    };
    read_blocks(&file, &positions, bytes, &mut sample);
    sample
}

/// Reads the blocks at these byte positions in a sparse copy of a device of `bytes` bytes.
pub fn of_positions(copy: &File, positions: &[u64], bytes: u64) -> BlockSample {
    let mut sample = BlockSample::default();
    read_blocks(copy, positions, bytes, &mut sample);
    sample
}

impl BlockSample {
    fn fail(&mut self, why: &str) {
        self.failed += 1;
        self.first_failure.get_or_insert_with(|| why.to_owned());
    }
}

fn read_blocks(file: &File, positions: &[u64], bytes: u64, sample: &mut BlockSample) {
    let mut memory = vec![0; 2 * BLOCK as usize];
    let start = memory.as_ptr().align_offset(BLOCK as usize);
    for position in positions {
        let length = BLOCK.min(bytes - position) as usize;
        let block = &mut memory[start..start + length];
        match file.read_exact_at(block, *position) {
            Ok(()) => {
                sample.blocks += 1;
                sample.nonzero += u64::from(block.iter().any(|byte| *byte != 0));
            }
            Err(error) => sample.fail(&format!("at byte {position}: {error}")),
        }
    }
}

/// Returns the byte positions of the blocks to be read from a device of `bytes` bytes: those of
/// both ends, and 1,000 random ones. They ascend, for the sake of disks with heads.
pub fn positions(bytes: u64) -> rustix::io::Result<Vec<u64>> {
    let blocks = bytes.div_ceil(BLOCK);
    let ends = ENDS / BLOCK;
    let mut numbers: Vec<u64> =
        (0..blocks.min(ends)).chain(blocks.saturating_sub(ends)..blocks).collect();
    let mut random = [0; RANDOM_BLOCKS * 8];
    let mut filled = 0;
    while filled < random.len() {
        filled +=
            rustix::rand::getrandom(&mut random[filled..], rustix::rand::GetRandomFlags::empty())?;
    }
    if blocks > 0 {
        let words = random.chunks_exact(8).filter_map(|word| word.try_into().ok());
        numbers.extend(words.map(|word| u64::from_le_bytes(word) % blocks));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers.into_iter().map(|number| number * BLOCK).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_random_blocks_within_the_device() {
        let positions = positions(1 << 40).expect("random");
        assert!(positions.len() > 1400 && positions.len() <= 1512, "{}", positions.len());
        assert_eq!((positions[0], positions.last().copied()), (0, Some((1 << 40) - BLOCK)));
        assert!(positions.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn small_devices_are_read_whole() {
        assert_eq!(positions(0).expect("random"), Vec::<u64>::new());
        assert_eq!(positions(8192).expect("random"), [0, 4096]);
        assert_eq!(positions(5000).expect("random"), [0, 4096]);
    }

    #[test]
    fn one_byte_is_seen_and_a_missing_end_is_told() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("x");
        let mut data = vec![0; 1 << 20];
        data[777_777] = 1;
        std::fs::write(&path, &data).expect("write");
        let sample = sample_device(&path, 1 << 20);
        assert_eq!((sample.blocks, sample.nonzero, sample.failed), (256, 1, 0));
        let short = sample_device(&path, 2 << 20);
        assert_eq!((short.blocks, short.failed), (256, 256));
    }
}
