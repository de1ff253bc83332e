//! Checks if the length of a slice matters: some rounds have longer slices. If these show another
//! ratio, the start of a slice (a cold cache, a clock that ramps up) is part of the short slices'
//! figure.

use super::checks::LengthCheck;
use super::noise::Noise;
use super::ratio::{Ratio, ratio_of_totals, residuals};
use super::rounds::{Round, RoundKind, SliceValue, pairs};
use super::student::Uncertain;

/// Number of long rounds below which nothing is concluded.
pub const LEAST: usize = 6;
/// Compares the ratio of the stacks `a` and `b` in long rounds with `plain`, that in plain rounds.
/// `None` if fewer than six long rounds have both, or if one of the two completed nothing in them.
pub fn check_length(
    rounds: &[Round],
    a: usize,
    b: usize,
    value: SliceValue,
    plain: &Ratio,
) -> Option<LengthCheck> {
    let long = pairs(rounds, RoundKind::Long, a, b, value);
    if long.len() < LEAST {
        return None;
    }
    let ratio = ratio_of_totals(&long).ok()?;
    let n = long.len() as f64;
    // Long rounds are far apart in time, so they are independent of each other.
    let variance = residuals(&long, ratio).iter().map(|e| e * e).sum::<f64>() / (n - 1.0);
    let of_long = Uncertain { value: ratio.ln(), error: (variance / n).sqrt(), freedom: n - 1.0 };
    let difference = of_long.minus(plain.log());
    Some(LengthCheck {
        ratio,
        difference: difference.value,
        p: difference.p_zero(),
        rounds: long.len(),
    })
}

/// Returns true if the round of this number (from 0) is a long one: one of every 32, chosen at
/// random by `seed`. The first 128 rounds have none, since a comparison that ends so soon could not
/// use them.
pub fn is_long(seed: u64, number: u32) -> bool {
    const ONE_OF: u32 = 32;
    number >= 4 * ONE_OF && is_chosen(seed, number, ONE_OF)
}

/// Returns true if `number` is the one that is chosen at random, by `seed`, from its group of
/// `one_of` consecutive numbers. Nothing periodic can keep step with the choice.
pub fn is_chosen(seed: u64, number: u32, one_of: u32) -> bool {
    let turn = u64::from(number / one_of).wrapping_mul(0x9e37_79b9);
    u64::from(number % one_of) == Noise::new(seed ^ turn).bits() % u64::from(one_of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::estimate;
    use crate::rounds::RoundPart;

    fn measured(seed: u64, long_ratio: f64) -> Option<LengthCheck> {
        let mut noise = Noise::new(seed);
        let mut round = |number: u32| {
            let kind = if is_long(seed, number) { RoundKind::Long } else { RoundKind::Plain };
            let ratio = if kind == RoundKind::Long { long_ratio } else { 0.9 };
            let mut part = |stack, level: f64| RoundPart {
                stack,
                amount: level * (1.0 + 0.02 * noise.normal()),
                seconds: 1.0,
            };
            Round { kind, parts: vec![part(0, 100.0), part(1, 100.0 * ratio)], ..Round::default() }
        };
        let rounds: Vec<Round> = (0..512).map(&mut round).collect();
        let plain = estimate(&pairs(&rounds, RoundKind::Plain, 0, 1, SliceValue::Rate)).unwrap();
        check_length(&rounds, 0, 1, SliceValue::Rate, &plain)
    }

    #[test]
    fn a_start_that_matters_shows() {
        let found = measured(1, 0.96).unwrap();
        assert!(found.disagrees(0.03) && found.rounds == 12, "{found:?}");
    }

    #[test]
    fn equal_lengths_agree() {
        let wrong = (0..300).filter(|seed| measured(*seed, 0.9).unwrap().disagrees(0.0)).count();
        assert!(wrong <= 3, "{wrong} of 300");
    }
}
