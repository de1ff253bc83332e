//! Distribution of I/Os over the blocks of a region: fio's `random_distribution`. Ranks are drawn
//! by the law without a table, and a permutation assigns a block to each rank, so that hot blocks
//! do not lie side by side.

use crate::random::Random;
use crate::scatter::Scatter;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Theta that fio uses if `zipf` has no value.
const THETA: f64 = 1.1;

/// Value that fio uses if `pareto` has no value.
const POWER: f64 = 0.2;

/// Largest theta that is accepted: with it, all but a thousandth of the I/Os already hit one block.
const MOST_THETA: f64 = 10.0;

/// Number of the random stream that permutes hot blocks over the region: the same for all threads
/// of a job.
const HOT: u64 = 0x686f_7400;

/// Value of fio's `random_distribution`, in fio's notation: `random`, `zipf:1.1`, `pareto:0.2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Distribution {
    /// Hits all blocks with equal probability.
    #[default]
    Random,
    /// Hits the block of rank k, counted from 1, with a probability proportional to `1 / k^theta`.
    Zipf {
        /// Exponent of the law, above 0 and at most 10.
        theta: f64,
    },
    /// Gives the share `1 - h` of the I/Os to the hottest share `h` of the blocks, and divides the
    /// I/Os within these in the same way.
    Pareto {
        /// Share of the blocks, above 0 and below 1.
        h: f64,
    },
}

impl Distribution {
    /// Returns true if all blocks are hit with equal probability.
    pub fn is_random(&self) -> bool {
        *self == Distribution::Random
    }

    /// Returns the distribution, or the reason why its value is invalid.
    fn checked(self) -> Result<Distribution, String> {
        match self {
            Distribution::Zipf { theta } if !(theta > 0.0 && theta <= MOST_THETA) => Err(format!(
                "theta of zipf is above 0 and at most {MOST_THETA}; hint: zipf:{THETA}"
            )),
            Distribution::Pareto { h } if !(h > 0.0 && h < 1.0) => {
                Err(format!("the value of pareto is between 0 and 1; hint: pareto:{POWER}"))
            }
            fits => Ok(fits),
        }
    }
}

impl FromStr for Distribution {
    type Err = String;

    /// Parses fio's notation. Refuses invalid values and the laws of fio that are not supported,
    /// with a hint.
    fn from_str(text: &str) -> Result<Self, String> {
        let (law, value) = match text.split_once(':') {
            None => (text, None),
            Some((law, value)) => (law, Some(value)),
        };
        let number = |default: f64| match value.map(str::trim) {
            None => Ok(default),
            Some(value) if value.contains(',') => {
                Err("one law holds for reads and writes; hint: one value, or a job for each"
                    .to_owned())
            }
            Some(value) if value.contains(':') => {
                Err("hot blocks lie all over the region, so there is no centre; hint: one value"
                    .to_owned())
            }
            Some(value) => value.parse().map_err(|_| format!("\"{value}\" is no number")),
        };
        match law.trim() {
            "random" if value.is_none() => Ok(Distribution::Random),
            "random" => {
                Err("random takes no value; hint: random, zipf:1.1 or pareto:0.2".to_owned())
            }
            "zipf" => Distribution::Zipf { theta: number(THETA)? }.checked(),
            "pareto" => Distribution::Pareto { h: number(POWER)? }.checked(),
            "normal" | "zoned" | "zoned_abs" | "sequence" => {
                Err(format!("\"{law}\" is not drawn here; hint: random, zipf:THETA or pareto:H"))
            }
            _ => Err(format!("\"{law}\" is no distribution; hint: random, zipf:THETA or pareto:H")),
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distribution::Random => f.write_str("random"),
            Distribution::Zipf { theta } => write!(f, "zipf:{theta}"),
            Distribution::Pareto { h } => write!(f, "pareto:{h}"),
        }
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> String {
        distribution.to_string()
    }
}

impl TryFrom<String> for Distribution {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Skewed {
    law: Law,
    scatter: Scatter,
}

#[derive(Clone, Debug)]
enum Law {
    Zipf(Zipf),
    /// Exponent p and number of blocks n: the rank is `n * u^p`, with u drawn evenly from 0 to 1.
    Pareto(f64, u64),
}

impl Skewed {
    /// Creates a skewed choice of one of `blocks` blocks; `None` for [`Distribution::Random`].
    pub(crate) fn new(distribution: Distribution, blocks: u64, seed: u64) -> Option<Skewed> {
        let law = match distribution {
            Distribution::Random => return None,
            Distribution::Zipf { theta } => Law::Zipf(Zipf::new(blocks, theta)),
            Distribution::Pareto { h } => Law::Pareto(h.ln() / (1.0 - h).ln(), blocks),
        };
        Some(Skewed { law, scatter: Scatter::new(blocks, seed, HOT) })
    }

    #[inline]
    pub(crate) fn block(&self, random: &mut Random) -> u64 {
        self.scatter.scattered_block(self.rank(random))
    }

    /// Draws a rank: 0 is that of the hottest block.
    #[inline]
    fn rank(&self, random: &mut Random) -> u64 {
        match &self.law {
            Law::Zipf(zipf) => zipf.rank(random),
            Law::Pareto(power, blocks) => {
                let rank = (*blocks as f64 * unit(random).powf(*power)) as u64;
                rank.min(blocks - 1)
            }
        }
    }
}

/// Draws a number evenly from 0 (included) to 1 (excluded).
#[inline]
fn unit(random: &mut Random) -> f64 {
    (random.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Zipf's law by rejection-inversion (Hoermann and Derflinger, 1996): the continuous hat is
/// inverted exactly, and few draws are thrown away, whatever the number of blocks.
#[derive(Clone, Debug)]
struct Zipf {
    blocks: u64,
    theta: f64,
    /// Integral of the hat up to the hot end of the drawn range; `last` is that up to the other
    /// end.
    first: f64,
    last: f64,
    /// Largest `rank - x` at which a drawn point x is accepted without a further test.
    sure: f64,
}

impl Zipf {
    fn new(blocks: u64, theta: f64) -> Zipf {
        let integral = |x: f64| integral(x, theta);
        Zipf {
            blocks,
            theta,
            first: integral(1.5) - 1.0,
            last: integral(blocks as f64 + 0.5),
            sure: 2.0 - inverse(integral(2.5) - 2f64.powf(-theta), theta),
        }
    }

    #[inline]
    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.last + unit(random) * (self.first - self.last);
            let x = inverse(area, self.theta);
            let near = (x + 0.5).clamp(1.0, self.blocks as f64).floor();
            let kept = near - x <= self.sure
                || area >= integral(near + 0.5, self.theta) - (-self.theta * near.ln()).exp();
            if kept {
                return (near as u64 - 1).min(self.blocks - 1);
            }
        }
    }
}

/// Returns the integral of `t^-theta` over t from 1 to `x`: if theta is 1, the logarithm. Near 1 no
/// digits are lost.
#[inline]
fn integral(x: f64, theta: f64) -> f64 {
    let (log, rest) = (x.ln(), 1.0 - theta);
    let grown = rest * log;
    if grown.abs() < 1e-12 { log } else { grown.exp_m1() / rest }
}

/// Returns the `x` at which [`integral`] is `area`.
#[inline]
fn inverse(area: f64, theta: f64) -> f64 {
    let rest = 1.0 - theta;
    // Rounding must not take it beyond what the integral can ever be.
    let grown = (area * rest).max(-1.0 + f64::EPSILON);
    let log = if grown.abs() < 1e-12 { area } else { grown.ln_1p() / rest };
    log.exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_words_are_fios() {
        for (word, shown) in [
            ("random", "random"),
            ("zipf", "zipf:1.1"),
            ("zipf:0.8", "zipf:0.8"),
            ("zipf: 1", "zipf:1"),
            ("pareto", "pareto:0.2"),
            ("pareto:0.9", "pareto:0.9"),
        ] {
            let parsed: Distribution = word.parse().unwrap();
            assert_eq!(parsed.to_string(), shown);
            assert_eq!(String::from(parsed).parse(), Ok(parsed), "it crosses the wire");
        }
        for word in
            ["zipf:0", "zipf:-1", "zipf:11", "zipf:NaN", "zipf:x", "zipf:1.2:0.5", "pareto:0"]
        {
            assert!(word.parse::<Distribution>().is_err(), "{word}");
        }
        for word in
            ["pareto:1", "pareto:inf", "normal:10", "zoned:60/10:40/90", "random:1", "zipfian", ""]
        {
            let why = word.parse::<Distribution>().unwrap_err();
            assert!(why.contains("; hint: "), "{word}: {why}");
        }
    }

    /// Draws of each rank.
    fn ranks(distribution: &str, blocks: u64, draws: u32) -> Vec<u32> {
        let skewed = Skewed::new(distribution.parse().unwrap(), blocks, 1).unwrap();
        let (mut random, mut counts) = (Random::new(5, 0), vec![0; blocks as usize]);
        for _ in 0..draws {
            counts[skewed.rank(&mut random) as usize] += 1;
        }
        counts
    }

    fn hottest(counts: &[u32], blocks: usize) -> f64 {
        let of = |counts: &[u32]| counts.iter().map(|n| f64::from(*n)).sum::<f64>();
        of(&counts[..blocks]) / of(counts)
    }

    #[test]
    fn the_hottest_blocks_get_what_zipfs_law_gives_them() {
        const BLOCKS: usize = 10_000;
        for theta in [0.3, 0.8, 0.99, 1.0, 1.000001, 1.1, 1.5, 3.0, 10.0] {
            let counts = ranks(&format!("zipf:{theta}"), BLOCKS as u64, 200_000);
            let weight = |blocks: usize| (1..=blocks).map(|k| (k as f64).powf(-theta)).sum::<f64>();
            for blocks in [1, 2, 10, BLOCKS / 100, BLOCKS / 5] {
                let (share, law) = (hottest(&counts, blocks), weight(blocks) / weight(BLOCKS));
                // Four standard deviations of a share are at most 0.45 %.
                assert!(
                    (share - law).abs() < 0.0045,
                    "zipf:{theta}, {blocks}: {share} against {law}"
                );
            }
        }
    }

    #[test]
    fn a_share_of_the_blocks_gets_the_rest_of_the_ios_by_paretos_law() {
        for h in [0.05, 0.1, 0.2, 0.4] {
            let counts = ranks(&format!("pareto:{h}"), 100_000, 200_000);
            for (share, law) in [(h, 1.0 - h), (h * h, (1.0 - h) * (1.0 - h))] {
                let found = hottest(&counts, (100_000f64 * share).round() as usize);
                assert!((found - law).abs() < 0.0045, "pareto:{h}: {found} against {law}");
            }
        }
    }

    #[test]
    fn hot_blocks_lie_all_over_the_region_and_not_on_each_other() {
        const BLOCKS: u64 = 10_000;
        let skewed = Skewed::new("zipf:1.2".parse().unwrap(), BLOCKS, 9).unwrap();
        let (mut random, mut counts) = (Random::new(5, 0), vec![0u32; BLOCKS as usize]);
        for _ in 0..200_000 {
            counts[skewed.block(&mut random) as usize] += 1;
        }
        let mut hot: Vec<usize> = (0..counts.len()).collect();
        hot.sort_by_key(|block| std::cmp::Reverse(counts[*block]));
        let mut quarters = [0u32; 4];
        hot[..400].iter().for_each(|block| quarters[block * 4 / counts.len()] += 1);
        assert!(quarters.iter().all(|quarter| quarter.abs_diff(100) < 40), "{quarters:?}");
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let by_rank = ranks("zipf:1.2", BLOCKS, 200_000);
        assert!((hottest(&counts, 100) - hottest(&by_rank, 100)).abs() < 0.0045);
    }

    proptest! {
        #[test]
        fn every_draw_is_in_the_region(
            blocks in prop_oneof![1u64..100, 1u64..1 << 50], theta in 0.001f64..10.0, h in 0.001f64..0.999, seed: u64,
        ) {
            for distribution in [Distribution::Zipf { theta }, Distribution::Pareto { h }] {
                let skewed = Skewed::new(distribution, blocks, seed).unwrap();
                let mut random = Random::new(seed, 1);
                for _ in 0..200 {
                    prop_assert!(skewed.block(&mut random) < blocks);
                }
            }
        }
    }
}
