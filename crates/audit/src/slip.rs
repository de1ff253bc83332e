//! Finds the most likely slip if a figure differs from what its operands give: N6 and N7 of the
//! catalogue. Reported only if the figure is right but for the slip, which is rarely true by chance
//! for a wrong one.

use crate::finding::Slip;
use crate::number::{Interval, NumberUnit};

/// Powers of ten by which people err.
const TENS: [f64; 6] = [10.0, 100.0, 1000.0, 0.1, 0.01, 0.001];
/// Powers of 1024 / 1000, from one to three, and their inverses.
const BASES: [f64; 6] =
    [1.024, 1.048_576, 1.073_741_824, 1.0 / 1.024, 1.0 / 1.048_576, 1.0 / 1.073_741_824];

/// Returns the slip that turns `recomputed` into `printed`.
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
