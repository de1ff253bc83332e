//! Content of the blocks that a trial writes. Each of the eight sectors of 512 bytes holds the load
//! generator's stamp (the trial, the offset, the write's number and a checksum) and filler. A disk
//! writes a sector whole or not at all, so each sector is judged on its own. Half of the filler is
//! the same in all writes of a trial to a sector, so that a part of a sector is recognized as that
//! trial's.

use iotax_load::Random;
use iotax_load::stamp::{self, SECTOR, STAMP};

pub const BLOCK: usize = 4096;

/// Identity of the write that a sector comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub trial: u64,
    pub block: u64,
    /// Number of the write, counted from 1.
    pub sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sector {
    /// Sector that some trial wrote whole, and its index in the block that was written.
    Whole(Stamp, u32),
    /// Sector with a part from the trial in question, which as a whole is that of no write.
    Torn,
    /// Sector that no trial wrote whole, and the trial in question did not write in part. Another
    /// trial may have left it torn.
    Foreign,
}

pub fn fill(block: &mut [u8], stamp: &Stamp) {
    let mut random = Random::new(stamp.trial ^ stamp.block, stamp.sequence);
    for (at, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
        sector[..STAMP]
            .chunks_exact_mut(8)
            .for_each(|word| word.copy_from_slice(&random.next().to_le_bytes()));
        for (word, mark) in
            sector[STAMP..].chunks_exact_mut(8).zip(marks(stamp.trial, stamp.block, at))
        {
            word[..4].copy_from_slice(&mark);
            word[4..].copy_from_slice(&random.next().to_le_bytes()[..4]);
        }
        let offset = stamp.block * BLOCK as u64 + (at * SECTOR) as u64;
        stamp::Stamp { writer: stamp.trial, offset, generation: stamp.sequence }.seal(sector);
    }
}

/// Returns the marks of a sector: half of each 8-byte word of its filler, the same in all writes of
/// the trial.
fn marks(trial: u64, block: u64, sector: usize) -> impl Iterator<Item = [u8; 4]> {
    // Marks are counted from the other end than streams of writes.
    let mut random = Random::new(trial ^ block, u64::MAX - sector as u64);
    std::iter::repeat_with(move || (random.next() as u32).to_le_bytes())
}

/// Returns what each sector of a block holds. It is torn if a part of it is of the trial `trial`.
pub fn sectors(bytes: &[u8], trial: u64, block: u64) -> impl Iterator<Item = Sector> + '_ {
    let sector = move |(at, bytes)| match whole_sector(bytes) {
        Some((stamp, own)) => Sector::Whole(stamp, own),
        None if has_part_of(bytes, trial, marks(trial, block, at)) => Sector::Torn,
        None => Sector::Foreign,
    };
    bytes.chunks_exact(SECTOR).enumerate().map(sector)
}

fn whole_sector(bytes: &[u8]) -> Option<(Stamp, u32)> {
    let found = stamp::Stamp::from_sector(bytes)?;
    let (block, own) = (found.offset / BLOCK as u64, found.offset % BLOCK as u64 / SECTOR as u64);
    Some((Stamp { trial: found.writer, block, sequence: found.generation }, own as u32))
}

fn has_part_of(bytes: &[u8], trial: u64, marks: impl Iterator<Item = [u8; 4]>) -> bool {
    let words = bytes[STAMP..].chunks_exact(8);
    let marked = words.zip(marks).filter(|(word, mark)| word[..4] == *mark).count();
    // One mark of four bytes may be there by chance, in the gigabytes that some trials read.
    marked >= 2 || stamp::Stamp::claimed(bytes).writer == trial
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { trial: 9, block: 77, sequence: 1234 };

    fn seen(block: &[u8]) -> Vec<Sector> {
        sectors(block, STAMP.trial, STAMP.block).collect()
    }

    #[test]
    fn a_block_reads_as_it_was_written() {
        let mut block = vec![0; BLOCK];
        fill(&mut block, &STAMP);
        let expected: Vec<Sector> = (0..8).map(|at| Sector::Whole(STAMP, at)).collect();
        assert_eq!(seen(&block), expected);
        // Whoever asks.
        assert_eq!(sectors(&block, 8, 3).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn any_changed_byte_is_seen() {
        let mut block = vec![0; BLOCK];
        fill(&mut block, &STAMP);
        for at in (0..BLOCK).step_by(37) {
            let mut changed = block.clone();
            changed[at] ^= 1;
            assert_eq!(seen(&changed)[at / SECTOR], Sector::Torn, "byte {at}");
        }
    }

    #[test]
    fn a_sector_of_two_writes_is_torn() {
        let (mut old, mut new) = (vec![0; BLOCK], vec![0; BLOCK]);
        fill(&mut old, &STAMP);
        fill(&mut new, &Stamp { sequence: 1235, ..STAMP });
        old[..100].copy_from_slice(&new[..100]);
        assert_eq!(seen(&old)[0], Sector::Torn);
        assert_eq!(seen(&vec![0; BLOCK])[0], Sector::Foreign);
    }

    #[test]
    fn a_torn_sector_is_of_whoever_wrote_a_part_of_it() {
        let (mut before, mut mine) = (vec![0; BLOCK], vec![0; BLOCK]);
        fill(&mut before, &Stamp { trial: 8, ..STAMP });
        fill(&mut mine, &STAMP);
        for part in [0..40, 0..100, 60..100, 480..SECTOR] {
            let torn = |below: &[u8], above: &[u8]| {
                let mut torn = below.to_vec();
                torn[part.clone()].copy_from_slice(&above[part.clone()]);
                torn
            };
            // Something of mine on another trial's, and on nobody's.
            assert_eq!(seen(&torn(&before, &mine))[0], Sector::Torn, "{part:?}");
            assert_eq!(seen(&torn(&vec![0x5a; BLOCK], &mine))[0], Sector::Torn, "{part:?}");
            // It was torn before, and I did not touch it.
            assert_eq!(seen(&torn(&before, &vec![0; BLOCK]))[0], Sector::Foreign, "{part:?}");
        }
    }
}
