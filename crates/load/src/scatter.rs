//! Permutation of the blocks of a region that needs no table: a Feistel network over a grid that is
//! hardly larger than the region, applied again while the result is outside the region. No two
//! blocks collide, whatever their number.

use crate::random::Random;

/// Number of rounds of the network: no load can distinguish a permutation by four rounds from a
/// random one.
const ROUNDS: usize = 4;

/// Number of blocks below which a multiplication divides by the grid's width exactly: blocks times
/// width stay below 2^64.
const BY_RECIPROCAL: u64 = 1 << 42;

/// Permutation of the numbers `0..blocks`.
#[derive(Clone, Debug)]
pub(crate) struct Scatter {
    blocks: u64,
    keys: [u64; ROUNDS],
    width: u64,
    height: u64,
    /// Reciprocal of the width: 2^64 / width, rounded up.
    reciprocal: u64,
}

impl Scatter {
    /// Creates a permutation of at least one block. Different seeds or numbers give permutations
    /// that do not resemble each other.
    pub(crate) fn new(blocks: u64, seed: u64, number: u64) -> Scatter {
        // A width of 1 has no reciprocal of 64 bits.
        let width = ((blocks as f64).sqrt() as u64).max(2);
        let mut random = Random::new(seed, number);
        Scatter {
            blocks,
            keys: std::array::from_fn(|_| random.next()),
            width,
            height: blocks.div_ceil(width),
            reciprocal: (u64::MAX / width) + 1,
        }
    }

    /// Returns the place of a block in the permutation.
    #[inline]
    pub(crate) fn scattered_block(&self, block: u64) -> u64 {
        let mut walked = self.walk(block);
        // If the region is large, almost none of the grid is outside.
        while walked >= self.blocks {
            walked = self.walk(walked);
        }
        walked
    }

    /// Applies the network once: moves row and column in turn, each by an amount made from the
    /// other and a key. The result may be outside the region.
    #[inline]
    fn walk(&self, block: u64) -> u64 {
        let mut row = match self.blocks < BY_RECIPROCAL {
            true => ((u128::from(block) * u128::from(self.reciprocal)) >> 64) as u64,
            false => block / self.width,
        };
        let mut column = block - row * self.width;
        for [one, other] in [[self.keys[0], self.keys[1]], [self.keys[2], self.keys[3]]] {
            row = moved(row, mixed(column ^ one), self.height);
            column = moved(column, mixed(row ^ other), self.width);
        }
        row * self.width + column
    }
}

/// Returns `from + limit * by / 2^64`, wrapped at `limit`; `from` is below `limit`.
#[inline]
fn moved(from: u64, by: u64, limit: u64) -> u64 {
    let to = from + ((u128::from(by) * u128::from(limit)) >> 64) as u64;
    if to >= limit { to - limit } else { to }
}

#[inline]
fn mixed(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ (value >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(blocks: u64, seed: u64, number: u64) -> Vec<u64> {
        let scatter = Scatter::new(blocks, seed, number);
        (0..blocks).map(|block| scatter.scattered_block(block)).collect()
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
        let follows: std::collections::HashSet<_> =
            one.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let kept = other.windows(2).filter(|pair| follows.contains(&(pair[0], pair[1]))).count();
        assert!(kept < 12, "{kept}");
    }

    #[test]
    fn the_largest_regions_have_one() {
        for blocks in [BY_RECIPROCAL - 1, BY_RECIPROCAL, 1 << 53, (1 << 62) + 12345] {
            let scatter = Scatter::new(blocks, 3, 0);
            let ends = (0..1000).chain(blocks - 1000..blocks);
            let met: std::collections::HashSet<u64> =
                ends.map(|block| scatter.scattered_block(block)).collect();
            assert!(met.len() == 2000 && met.iter().all(|block| *block < blocks), "{blocks}");
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
