//! Memory: DDR3 to DDR5 (JEDEC JESD79-3, -4, -5), and how fast a processor copies in it.

use crate::number::Interval;

/// Generations, and millions of transfers a second of their standard modules.
pub const GENERATIONS: [(u8, &[u32]); 3] = [
    (3, &[800, 1066, 1333, 1600, 1866, 2133]),
    (4, &[1600, 1866, 2133, 2400, 2666, 2933, 3200]),
    (5, &[3200, 3600, 4000, 4400, 4800, 5200, 5600, 6000, 6400, 7200, 8000, 8800]),
];

/// Bytes a second of a channel: 64 bits of data a transfer (of DDR5 two halves of 32).
pub fn channel(megatransfers: u32) -> f64 {
    f64::from(megatransfers) * 1e6 * 8.0
}

/// Bytes a second that one thread copies (`memcpy`), whatever the memory: held by the misses that a core has in flight, ten to some
/// dozens lines of 64 bytes at 70 to 120 ns. What is within a core's caches is faster.
pub const COPY_OF_ONE_THREAD: Interval = Interval { low: 2e9, high: 25e9 };

/// The most bytes a second that all threads copy over so many channels: each byte is read once and written once.
pub fn most_copied(channels: u32, megatransfers: u32) -> f64 {
    f64::from(channels) * channel(megatransfers) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_moves_eight_bytes_a_transfer() {
        assert!((channel(3200) - 25.6e9).abs() < 1.0);
        assert!((most_copied(8, 3200) - 102.4e9).abs() < 1.0);
        for (generation, speeds) in GENERATIONS {
            assert!(speeds.is_sorted(), "DDR{generation}");
        }
        assert!(COPY_OF_ONE_THREAD.high < most_copied(4, 2133));
    }
}
