//! A small random generator of our own (SplitMix64): the same seed gives the same documents on every machine.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`; 0 where there is nothing to choose from.
    pub fn below(&mut self, count: usize) -> usize {
        if count == 0 { 0 } else { (self.bits() % count as u64) as usize }
    }

    /// Whether one of so many.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    /// A number from `low` up to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of several.
    ///
    /// # Panics
    /// Of nothing.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// In a random order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for last in (1..of.len()).rev() {
            of.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_stream_and_all_of_its_range() {
        let mut random = Random::new(7);
        assert_eq!(random.clone().bits(), Random::new(7).bits());
        let mut seen = [0; 5];
        (0..500).for_each(|_| seen[random.below(5)] += 1);
        assert!(seen.iter().all(|count| *count > 60), "{seen:?}");
        assert!((0..100).all(|_| (2.0..3.0).contains(&random.between(2.0, 3.0))));
        assert_eq!(random.below(0), 0);
    }
}
