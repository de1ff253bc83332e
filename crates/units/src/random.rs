//! A small fast random generator: SplitMix64 (Steele, Lea and Flood 2014), one addition and two
//! multiplications per number. It is good enough to scatter offsets, to fill buffers and to draw
//! orders, and short enough never to change. Do not use it for secrets.

/// A stream of random numbers; the same seed gives the same numbers in every version of iotax.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Starts a stream; streams of different `seed` or `stream` do not resemble each other.
    pub fn new(seed: u64, stream: u64) -> Random {
        let seeded = Random::from_state(seed).next();
        let state = seeded ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Random { state: Random::from_state(state).next() }
    }

    /// Returns the published generator, with its counter at `state`.
    pub fn from_state(state: u64) -> Random {
        Random { state }
    }

    /// Returns 64 random bits.
    #[expect(
        clippy::should_implement_trait,
        reason = "it never ends, and a loop over it would not either"
    )]
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `limit`, or 0 if `limit` is 0, by multiply and shift: no division, a
    /// bias of at most limit / 2^64.
    #[inline]
    pub fn draw_below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns true in `percent` of 100 cases.
    #[inline]
    pub fn chance(&mut self, percent: u8) -> bool {
        self.draw_below(100) < u64::from(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_as_published() {
        let mut known = Random::from_state(1_234_567);
        assert_eq!(known.next(), 6_457_827_717_110_365_317);
        assert_eq!(known.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn below_is_even_and_in_range() {
        let mut random = Random::new(7, 0);
        let mut seen = [0u32; 10];
        for _ in 0..100_000 {
            seen[random.draw_below(10) as usize] += 1;
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
