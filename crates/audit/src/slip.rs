//! Finds the slip that explains why a figure differs from the one that its operands give (rules N6
//! and N7). A slip is reported only if it alone explains the difference, which is rarely true by
//! chance.

use crate::finding::Slip;
use crate::number::{Interval, NumberUnit};

/// Powers of ten by which people err.
const TENS: [f64; 6] = [10.0, 100.0, 1000.0, 0.1, 0.01, 0.001];
/// `(1024 / 1000)^n` for n from 1 to 3, and the inverses.
const BASES: [f64; 6] =
    [1.024, 1.048_576, 1.073_741_824, 1.0 / 1.024, 1.0 / 1.048_576, 1.0 / 1.073_741_824];

/// Returns the slip that turns `recomputed` into `printed`: a power of ten, or of 1024 / 1000.
pub fn find_slip(printed: Interval, recomputed: Interval) -> Option<Slip> {
    // A printed zero fits any factor.
    if printed.contains_value(0.0) {
        return None;
    }
    let by = |factors: &[f64], slack: f64| {
        factors.iter().any(|factor| printed.overlaps_with(recomputed.scaled(*factor).wider(slack)))
    };
    // With very few digits, 1000 and 1024 look alike.
    let loose = (printed.high - printed.low).abs() > 0.012 * printed.middle().abs();
    match () {
        () if by(&TENS, 0.005) => Some(Slip::FactorTen),
        () if !loose && by(&BASES, 0.001) => Some(Slip::ThousandFor1024),
        () => None,
    }
}

/// Returns true if a slip is possible in this unit: only bytes are counted both 1000-based and
/// 1024-based.
pub fn is_of(slip: Slip, unit: NumberUnit) -> bool {
    slip != Slip::ThousandFor1024 || matches!(unit, NumberUnit::Bytes | NumberUnit::BytesPerSecond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likely_slip_is_told() {
        let around = |value: f64| Interval::around(value, value * 1e-3);
        assert_eq!(find_slip(around(2558.0), around(255.8)), Some(Slip::FactorTen));
        assert_eq!(find_slip(around(6969.0), around(7136.0)), Some(Slip::ThousandFor1024));
        assert_eq!(find_slip(around(94.0), around(93.0)), None);
        assert_eq!(
            find_slip(Interval::around(7.0, 0.5), Interval::exact(7.6)),
            None,
            "too few digits"
        );
        assert_eq!(
            find_slip(Interval::around(0.0, 0.05), Interval::exact(-2.8)),
            None,
            "nothing is no tenth"
        );
    }
}
