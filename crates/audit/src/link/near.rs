//! Whether a printed figure is what it should be but for one slip of the pen: one digit, two digits changed places, a factor of ten or
//! of 1000 for 1024. Chance seldom makes that, so that such a figure tells that it is of its operands though it is wrong.

use super::Ends;
use crate::finding::Slip;
use crate::number::{Interval, Quantity};
use crate::rule::slip;

/// Whether a ratio is what its operands give but for such a slip.
pub(super) fn is_slip(ends: &Ends) -> bool {
    ends.recomputed().is_some_and(|given| of(&ends.derived, given))
}

/// Whether a figure is one of those that `given` holds but for such a slip.
pub(crate) fn of(printed: &Quantity, given: Interval) -> bool {
    let interval = printed.interval();
    if interval.middle() == 0.0 || given.low.signum() != given.high.signum() {
        return false;
    }
    let narrow = |one: Interval| one.high - one.low <= 0.025 * one.middle().abs();
    let fine = narrow(interval) && narrow(given);
    if fine && slip::of(interval, given) == Some(Slip::FactorTen) {
        return true;
    }
    // Few digits are within a slip of everything.
    let unit = printed.scale * 10f64.powi(-i32::from(printed.decimals));
    let [own, low, high] = [printed.figure.value, given.low, given.high].map(|value| (value / unit).abs());
    if own < 100.0 || high - low > 0.01 * high {
        return false;
    }
    // Zeros at the end may be of rounding.
    let own = digits(own.round());
    let told = own.len() - own.iter().rev().take_while(|digit| **digit == b'0').count();
    let middle = f64::midpoint(low, high).round();
    told >= 3 && (one_digit(&own, low, high) || swapped(&own, &digits(middle)))
}

fn digits(value: f64) -> Vec<u8> {
    (value as u64).to_string().into_bytes()
}

/// Whether changing one digit brings it between the two ends.
fn one_digit(own: &[u8], low: f64, high: f64) -> bool {
    let value = own.iter().fold(0.0, |all, digit| all * 10.0 + f64::from(digit - b'0'));
    own.iter().rev().zip(0..).any(|(own, place)| {
        let changed = |digit: u8| value + (f64::from(digit) - f64::from(*own)) * 10f64.powi(place);
        (b'0'..=b'9').any(|digit| digit != *own && (low - 0.5..=high + 0.5).contains(&changed(digit)))
    })
}

/// Whether two neighbouring digits changed places.
fn swapped(own: &[u8], meant: &[u8]) -> bool {
    own.len() == meant.len()
        && (1..own.len()).any(|at| {
            let crossed = own[at] != own[at - 1] && own[at - 1..=at] == [meant[at], meant[at - 1]];
            crossed && own[..at - 1] == meant[..at - 1] && own[at + 1..] == meant[at + 1..]
        })
}
