//! Figures as they are printed: with the digits that their interval allows, the half-width rounded up at two
//! significant digits so that no interval is ever printed narrower than it is.

/// A value and its half-width, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The value, as fine as the half-width.
    pub value: String,
    /// The half-width.
    pub half_width: String,
}

impl Rounded {
    /// Whether the interval excludes zero as it is printed, too: rounding up may carry a half-width over its value.
    pub fn excludes_zero(&self) -> bool {
        let number = |text: &str| text.parse::<f64>().unwrap_or(0.0);
        number(&self.half_width) < number(&self.value).abs()
    }
}

/// Rounds to the second significant digit of the half-width, never finer than `decimals`.
pub fn rounded(value: f64, half_width: f64, decimals: i32) -> Rounded {
    let step = step_of(half_width, decimals);
    Rounded { value: fixed((value / step).round() * step, step), half_width: up_to(half_width, step) }
}

/// A longer side beyond so many times the shorter is not told by one half-width.
const LOPSIDED: f64 = 2.5;

/// A value with its two bounds, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounded {
    /// As fine as the closer bound.
    pub value: String,
    /// Rounded down.
    pub low: String,
    /// Rounded up.
    pub high: String,
}

/// Whether the bounds lie so unlike about the value that it takes both to say so.
pub fn is_lopsided(value: f64, low: f64, high: f64) -> bool {
    let (below, above) = (value - low, high - value);
    below.max(above) > LOPSIDED * below.min(above)
}

/// Rounds each bound outwards at the second significant digit of its own distance, the value as finely as the closer
/// one; never finer than `decimals`.
pub fn bounded(value: f64, low: f64, high: f64, decimals: i32) -> Bounded {
    let [below, above] = [value - low, high - value].map(|distance| step_of(distance, decimals));
    let closer = below.min(above);
    Bounded {
        value: fixed((value / closer).round() * closer, closer),
        low: fixed((low / below + SLACK).floor() * below, below),
        high: up_to(high, above),
    }
}

/// Rounds a bound up at two significant digits.
pub fn rounded_up(bound: f64, decimals: i32) -> String {
    up_to(bound, step_of(bound, decimals))
}

/// A fraction in percent.
pub fn rounded_percent(fraction: f64, half_width: f64) -> Rounded {
    rounded(100.0 * fraction, 100.0 * half_width, 2)
}

/// `6.1 % +- 0.8 %` from fractions.
pub fn percent(fraction: f64, half_width: f64) -> String {
    let shown = rounded_percent(fraction, half_width);
    format!("{} % +- {} %", shown.value, shown.half_width)
}

/// `0.83 %` from a fraction, rounded up.
pub fn percent_up(fraction: f64) -> String {
    format!("{} %", rounded_up(100.0 * fraction, 2))
}

fn step_of(half_width: f64, decimals: i32) -> f64 {
    let finest = power(-decimals);
    if !half_width.is_finite() || half_width < finest {
        return finest;
    }
    let step = power(half_width.log10().floor() as i32 - 1).max(finest);
    // 0.996 rounds up to 1.0, which has its second digit one place further left.
    if (half_width / step - SLACK).ceil() >= 100.0 { step * 10.0 } else { step }
}

/// What a division by a power of ten may lose.
const SLACK: f64 = 1e-9;

fn up_to(value: f64, step: f64) -> String {
    fixed((value / step - SLACK).ceil() * step, step)
}

fn power(exponent: i32) -> f64 {
    10f64.powi(exponent)
}

fn fixed(value: f64, step: f64) -> String {
    let decimals = (-step.log10().round()).max(0.0) as usize;
    // Adding zero turns a negative zero into a plain one.
    format!("{:.decimals$}", value + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(percent(0.06123, 0.0078), "6.12 % +- 0.78 %");
        assert_eq!(percent(0.06123, 0.00781), "6.12 % +- 0.79 %");
        assert_eq!(percent(0.06123, 0.0131), "6.1 % +- 1.4 %");
        assert_eq!(percent(0.416, 0.115), "42 % +- 12 %");
        assert_eq!(percent(0.416, 0.00001), "41.60 % +- 0.01 %");
        assert_eq!(percent(0.05, 0.00996), "5.0 % +- 1.0 %");
        assert_eq!(percent(-0.00001, 0.01), "0.0 % +- 1.0 %");
        assert_eq!(percent_up(0.0121), "1.3 %");
        let big = rounded(71_234.0, 412.0, 0);
        assert_eq!((big.value.as_str(), big.half_width.as_str()), ("71230", "420"));
        assert_eq!(rounded(5.0, 0.0, 2), Rounded { value: "5.00".into(), half_width: "0.00".into() });
    }

    #[test]
    fn bounds_are_rounded_outwards() {
        let said = |value, low, high| {
            let found = bounded(value, low, high, 2);
            format!("{} ({} to {})", found.value, found.low, found.high)
        };
        assert_eq!(said(12.34, 10.149, 31.21), "12.3 (10.1 to 32)");
        assert_eq!(said(-50.4, -61.2, 3.01), "-50 (-62 to 4)");
        assert_eq!(said(0.0, -99.8, 61_000.0), "0 (-100 to 61000)");
        assert!(is_lopsided(12.0, 10.0, 20.0) && is_lopsided(12.0, 2.0, 13.0));
        assert!(!is_lopsided(12.0, 10.0, 15.0) && !is_lopsided(12.0, 12.0, 12.0));
    }

    proptest! {
        #[test]
        fn a_printed_half_width_is_never_narrower(half_width in 1e-9..1e6f64, value in -1e6..1e6f64) {
            let shown: f64 = rounded(value, half_width, 2).half_width.parse().unwrap();
            prop_assert!(shown >= half_width * (1.0 - 1e-6));
            prop_assert!(shown <= half_width * 1.11 + 0.01);
        }
    }
}
