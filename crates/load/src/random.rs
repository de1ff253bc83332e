//! A small fast random generator: SplitMix64, one addition and two multiplications a number.
//! Good enough to scatter offsets and to fill buffers; not for secrets.

/// State of one thread's numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Streams of different `seed` or `stream` do not resemble each other.
    pub fn new(seed: u64, stream: u64) -> Random {
        let mut mixer = Random { state: seed };
        let seeded = mixer.next();
        mixer.state = seeded ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Random { state: mixer.next() }
    }

    /// 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends, and a loop over it would not either")]
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`, by multiply and shift: no division, a bias of at most limit / 2^64.
    #[inline]
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// True in `percent` of 100 cases.
    #[inline]
    pub fn chance(&mut self, percent: u8) -> bool {
        self.below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_is_even_and_in_range() {
        let mut random = Random::new(7, 0);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[random.below(10) as usize] += 1;
        }
        // Binomial: sd is 95, so 600 is beyond six of them.
        assert!(seen.iter().all(|n| n.abs_diff(10_000) < 600), "{seen:?}");
    }

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, stream| Random::new(seed, stream).next();
        assert_eq!(first(1, 2), first(1, 2));
        assert_ne!(first(1, 2), first(2, 1));
        assert_ne!(first(1, 0), first(1, 1));
    }

    #[test]
    fn chance_keeps_its_ends() {
        let mut random = Random::new(1, 1);
        assert!((0..1000).all(|_| random.chance(100)));
        assert!((0..1000).all(|_| !random.chance(0)));
    }
}
