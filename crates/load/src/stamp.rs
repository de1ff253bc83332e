//! Stamps of written sectors: who wrote a sector, to which byte, the index of the write, and a
//! checksum. Numbers derived from four random bytes of the sector mask the first three, so that
//! nothing repeats: random data stay random.

use crate::random::Random;

/// Bytes of a sector, which a disk writes as a whole or not at all.
pub const SECTOR: usize = 512;
/// Bytes of a sector that the stamp takes; they must be random before the stamp is written.
pub const STAMP: usize = 32;

/// Identity of the write that a sector belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Unique number of the ledger of blocks under which the sector was written, or of a durability
    /// trial.
    pub writer: u64,
    /// First byte of the sector in the target.
    pub offset: u64,
    /// Index of the write among those of the block, counted from 1.
    pub generation: u64,
}

impl Stamp {
    /// Writes the stamp over the first [`STAMP`] bytes of a sector, or of a longer stretch that is
    /// judged as a whole. Its checksum is over all bytes but its own four.
    ///
    /// # Panics
    /// On less than [`STAMP`] bytes, like all functions of this type.
    pub fn seal(&self, sector: &mut [u8]) {
        let masks = masks(sector);
        for (at, value) in [self.writer, self.offset, self.generation].into_iter().enumerate() {
            field(sector, at).copy_from_slice(&(value ^ masks[at]).to_le_bytes());
        }
        let checksum = crc32fast::hash(&sector[4..]);
        sector[..4].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the stamp of a sector; `None` if the checksum is wrong, as it is where there never was
    /// a stamp.
    pub fn from_sector(sector: &[u8]) -> Option<Stamp> {
        let whole = crc32fast::hash(&sector[4..]).to_le_bytes() == sector[..4];
        whole.then(|| Stamp::claimed(sector))
    }

    /// Reads the stamp of a sector without checking it.
    pub fn claimed(sector: &[u8]) -> Stamp {
        let masks = masks(sector);
        let value = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&sector[8 + 8 * at..][..8]);
            u64::from_le_bytes(word) ^ masks[at]
        };
        Stamp { writer: value(0), offset: value(1), generation: value(2) }
    }
}

fn field(sector: &mut [u8], at: usize) -> &mut [u8] {
    &mut sector[8 + 8 * at..][..8]
}

/// Derives masks for the three numbers from bytes 4 to 7 of the sector, which are random and which
/// the stamp leaves as they are.
fn masks(sector: &[u8]) -> [u64; 3] {
    let mut seed = [0; 4];
    seed.copy_from_slice(&sector[4..8]);
    let mut random = Random::new(u64::from(u32::from_le_bytes(seed)), 0);
    std::array::from_fn(|_| random.next())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::fill_new;
    use crate::data::tests::compressed_away;

    const MINE: Stamp = Stamp { writer: 9, offset: 77 << 12, generation: 1234 };

    fn random(bytes: usize) -> Vec<u8> {
        drawn(bytes, 1)
    }

    fn drawn(bytes: usize, seed: u64) -> Vec<u8> {
        let mut data = vec![0; bytes];
        fill_new(&mut data, SECTOR, &mut Random::new(seed, 2));
        data
    }

    #[test]
    fn a_sector_says_what_was_put_on_it() {
        for bytes in [STAMP, SECTOR, 1000, 65_537] {
            let mut sector = random(bytes);
            assert_eq!(Stamp::from_sector(&sector), None);
            MINE.seal(&mut sector);
            assert_eq!(Stamp::from_sector(&sector), Some(MINE));
            let later = Stamp { generation: 1235, ..MINE };
            later.seal(&mut sector);
            assert_eq!(Stamp::from_sector(&sector), Some(later));
        }
        assert_eq!(Stamp::from_sector(&[0; SECTOR]), None, "zeros are nobody's");
    }

    #[test]
    fn any_changed_byte_is_seen_and_most_leave_the_writer_known() {
        let mut sector = random(SECTOR);
        MINE.seal(&mut sector);
        let mut known = 0;
        for at in 0..SECTOR {
            let mut changed = sector.clone();
            changed[at] ^= 1;
            assert_eq!(Stamp::from_sector(&changed), None, "byte {at}");
            known += usize::from(Stamp::claimed(&changed).writer == MINE.writer);
        }
        assert_eq!(known, SECTOR - 4 - 8);
    }

    #[test]
    fn a_sector_of_two_writes_is_none() {
        let (mut old, mut new) = (drawn(SECTOR, 1), drawn(SECTOR, 2));
        MINE.seal(&mut old);
        Stamp { generation: 1235, ..MINE }.seal(&mut new);
        for cut in [4, 8, 100, 511] {
            let mut both = old.clone();
            both[..cut].copy_from_slice(&new[..cut]);
            assert_eq!(Stamp::from_sector(&both), None, "{cut}");
        }
    }

    #[test]
    fn random_data_stay_random() {
        let mut data = random(4 << 20);
        for (at, sector) in data.chunks_exact_mut(SECTOR).enumerate() {
            Stamp { offset: (at * SECTOR) as u64, generation: 1, ..MINE }.seal(sector);
        }
        let away = compressed_away(&data, 128 << 10);
        assert!(away < 0.01, "{away} %");
    }
}
