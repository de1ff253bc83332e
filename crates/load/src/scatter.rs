//! A permutation of the blocks of a region that needs no table: a Feistel network over the next power of two, walked on until it
//! comes back into the region. No two blocks meet, whatever their number.

use crate::random::Random;

/// Four rounds are a permutation that no load can tell from a random one.
const ROUNDS: usize = 4;

/// One permutation of `0..blocks`.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    blocks: u64,
    keys: [u64; ROUNDS],
    /// Bits of the lower and of the upper half.
    low: u32,
    high: u32,
}

impl Scatter {
    /// Of at least one block. Different seeds or numbers give permutations that do not resemble each other.
    pub(crate) fn new(blocks: u64, seed: u64, number: u64) -> Scatter {
        let bits = (u64::BITS - blocks.saturating_sub(1).leading_zeros()).max(2);
        let mut random = Random::new(seed, number);
        Scatter { blocks, keys: std::array::from_fn(|_| random.next()), low: bits / 2, high: bits - bits / 2 }
    }

    /// Where a block comes to lie. On average it takes less than two walks through the network.
    #[inline]
    pub(crate) fn at(&self, block: u64) -> u64 {
        let mut walked = self.walk(block);
        while walked >= self.blocks {
            walked = self.walk(walked);
        }
        walked
    }

    /// Each round changes one half by what the other and the key make, and the halves change places.
    #[inline]
    fn walk(&self, block: u64) -> u64 {
        let (mut low, mut high) = (self.low, self.high);
        let (mut left, mut right) = (block >> low, block & mask(low));
        for key in self.keys {
            (left, right) = (right, left ^ (mixed(right ^ key) & mask(high)));
            (low, high) = (high, low);
        }
        left << low | right
    }
}

#[inline]
fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[inline]
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(blocks: u64, seed: u64, number: u64) -> Vec<u64> {
        let scatter = Scatter::new(blocks, seed, number);
        (0..blocks).map(|block| scatter.at(block)).collect()
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let scattered = all(100_000, 1, 0);
        let close = scattered.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) <= 50).count();
        // One in a thousand by chance; sd is 10.
        assert!(close.abs_diff(100) < 60, "{close}");
    }

    #[test]
    fn the_first_blocks_are_spread_over_all_the_region() {
        let mut tenths = [0u32; 10];
        for block in &all(1_000_003, 7, 0)[..10_000] {
            tenths[(block * 10 / 1_000_003) as usize] += 1;
        }
        // Binomial: sd is 30.
        assert!(tenths.iter().all(|tenth| tenth.abs_diff(1000) < 180), "{tenths:?}");
    }

    #[test]
    fn another_number_is_another_order() {
        let (one, other) = (all(10_000, 1, 0), all(10_000, 1, 1));
        let same = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        // A fixed point is met once on average.
        assert!(same < 12, "{same}");
        let follows: std::collections::HashSet<_> = one.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let kept = other.windows(2).filter(|pair| follows.contains(&(pair[0], pair[1]))).count();
        assert!(kept < 12, "{kept}");
    }

    #[test]
    fn the_largest_regions_have_one() {
        for blocks in [1 << 53, u64::MAX] {
            let scatter = Scatter::new(blocks, 3, 0);
            assert!((0..1000).all(|block| scatter.at(block) < blocks));
        }
    }

    proptest! {
        #[test]
        fn every_block_is_met_once(blocks in 1u64..5000, seed: u64, number in 0u64..4) {
            let mut seen = vec![false; blocks as usize];
            for block in all(blocks, seed, number) {
                prop_assert!(!std::mem::replace(&mut seen[block as usize], true));
            }
        }
    }
}
