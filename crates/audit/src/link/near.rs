//! Checks if a printed figure is correct but for one slip of the pen: one digit, two digits
//! swapped, a factor of ten or of 1000 for 1024. Chance seldom produces this, so such a figure
//! shows which operands it belongs to, although it is wrong.

use super::LinkEnds;
use crate::finding::Slip;
use crate::number::{Interval, Quantity};
use crate::slip;

/// Returns true if a ratio differs from the result of its operands by one slip of the pen.
pub(crate) fn is_slip(ends: &LinkEnds) -> bool {
    ends.recomputed().is_some_and(|given| is_near(&ends.derived, given))
}

/// Returns true if one slip of the pen explains why a figure is outside `given`.
pub(crate) fn is_near(printed: &Quantity, given: Interval) -> bool {
    let interval = printed.interval();
    if interval.middle() == 0.0 || given.low.signum() != given.high.signum() {
        return false;
    }
    let narrow = |one: Interval| one.high - one.low <= 0.025 * one.middle().abs();
    let fine = narrow(interval) && narrow(given);
    if fine && slip::find_slip(interval, given) == Some(Slip::FactorTen) {
        return true;
    }
    // A figure of few digits is within a slip of everything.
    let unit = printed.scale * 10f64.powi(-i32::from(printed.decimals));
    let [own, low, high] =
        [printed.figure.value, given.low, given.high].map(|value| (value / unit).abs());
    if own < 100.0 || high - low > 0.01 * high {
        return false;
    }
    // Zeros at the end may come from rounding.
    let own = digits(own.round());
    let significant = own.len() - own.iter().rev().take_while(|digit| **digit == b'0').count();
    significant >= 3 && are_near(&own, low, high)
}

fn digits(value: f64) -> Vec<u8> {
    (value as u64).to_string().into_bytes()
}

/// Returns true if changing one digit of the number `own`, or swapping two adjacent ones, brings it
/// between `low` and `high`.
fn are_near(own: &[u8], low: f64, high: f64) -> bool {
    let value = own.iter().fold(0.0, |all, digit| all * 10.0 + f64::from(digit - b'0'));
    let fits = |change: f64| change != 0.0 && (low - 0.5..=high + 0.5).contains(&(value + change));
    let apart = |digit: u8, other: u8| f64::from(digit) - f64::from(other);
    let places = || (0..).map(|place| 10f64.powi(place));
    let changed =
        |(own, place): (&u8, f64)| (b'0'..=b'9').any(|digit| fits(apart(digit, *own) * place));
    // One of the two digits loses ten times what the other gains.
    let swapped = |(two, place): (&[u8], f64)| fits(apart(two[1], two[0]) * 9.0 * place);
    own.iter().rev().zip(places()).any(changed) || own.windows(2).rev().zip(places()).any(swapped)
}
