//! What a written block holds: in each of its eight sectors of 512 bytes the trial, the block, the write's number, which
//! sector it is, random filler and a checksum. A sector is what a disk writes whole or not at all, so it is what is judged.

use iotax_load::Random;

/// Bytes of a block.
pub const BLOCK: usize = 4096;
/// Bytes of a sector.
pub const SECTOR: usize = 512;

const MAGIC: [u8; 8] = *b"IOTAXDUR";
const FILLER: usize = 36;
const CHECKSUM: usize = SECTOR - 4;

/// Which write a sector is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The trial's own number.
    pub trial: u64,
    /// The block that it was written to.
    pub block: u64,
    /// The write, counted from 1.
    pub sequence: u64,
}

/// What a sector holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sector {
    /// A whole one of a trial, written to be that sector of its block.
    Whole(Stamp, u32),
    /// It begins as one of a trial, and its checksum is wrong.
    Torn,
    /// No trial wrote it.
    Foreign,
}

/// Writes a whole block.
pub fn fill(block: &mut [u8], stamp: &Stamp) {
    let mut random = Random::new(stamp.trial ^ stamp.block, stamp.sequence);
    for (at, sector) in block.chunks_exact_mut(SECTOR).enumerate() {
        sector[..8].copy_from_slice(&MAGIC);
        sector[8..16].copy_from_slice(&stamp.trial.to_le_bytes());
        sector[16..24].copy_from_slice(&stamp.block.to_le_bytes());
        sector[24..32].copy_from_slice(&stamp.sequence.to_le_bytes());
        sector[32..FILLER].copy_from_slice(&(at as u32).to_le_bytes());
        for word in sector[FILLER..CHECKSUM].chunks_mut(8) {
            let bytes = random.next().to_le_bytes();
            word.copy_from_slice(&bytes[..word.len()]);
        }
        let checksum = crc32fast::hash(&sector[..CHECKSUM]);
        sector[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// What the sectors of a block hold.
pub fn sectors(block: &[u8]) -> impl Iterator<Item = Sector> + '_ {
    block.chunks_exact(SECTOR).map(sector)
}

fn sector(bytes: &[u8]) -> Sector {
    if bytes[..8] != MAGIC {
        return Sector::Foreign;
    }
    if crc32fast::hash(&bytes[..CHECKSUM]).to_le_bytes() != bytes[CHECKSUM..] {
        return Sector::Torn;
    }
    let number = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        u64::from_le_bytes(word)
    };
    let stamp = Stamp { trial: number(8), block: number(16), sequence: number(24) };
    // The upper half of this word is filler.
    Sector::Whole(stamp, number(32) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { trial: 9, block: 77, sequence: 1234 };

    #[test]
    fn a_block_reads_as_it_was_written() {
        let mut block = vec![0; BLOCK];
        fill(&mut block, &STAMP);
        let expected: Vec<Sector> = (0..8).map(|at| Sector::Whole(STAMP, at)).collect();
        assert_eq!(sectors(&block).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn any_changed_byte_is_seen() {
        let mut block = vec![0; BLOCK];
        fill(&mut block, &STAMP);
        for at in (0..BLOCK).step_by(37) {
            let mut changed = block.clone();
            changed[at] ^= 1;
            let seen = sectors(&changed).nth(at / SECTOR).unwrap();
            let expected = if at % SECTOR < 8 { Sector::Foreign } else { Sector::Torn };
            assert_eq!(seen, expected, "byte {at}");
        }
    }

    #[test]
    fn a_sector_of_two_writes_is_torn() {
        let (mut old, mut new) = (vec![0; BLOCK], vec![0; BLOCK]);
        fill(&mut old, &STAMP);
        fill(&mut new, &Stamp { sequence: 1235, ..STAMP });
        old[..100].copy_from_slice(&new[..100]);
        assert_eq!(sectors(&old).next(), Some(Sector::Torn));
        assert_eq!(sectors(&vec![0; BLOCK]).next(), Some(Sector::Foreign));
    }
}
