//! Numbers in every form that people print them in: `26.0k`, `1,234.5`, `3 604 МБ/с`, `12,7
//! Гбит/с`, `(94 %)`, `１２％`. A printed figure represents the interval of values that round to it.
//! Text that only looks like a number is refused: parts of names (`nvme0n1`, `E5-2678`), versions,
//! dates, addresses.

use crate::TextSpan;
pub use iotax_units::show_ns;
use serde::{Deserialize, Serialize};

mod scan;
mod unit;
mod words;

pub use scan::{DecimalSign, Style, hedges, quantities, quantities_in, quantity, shows};
pub use unit::cyrillic;
pub use unit::{Measure, NumberUnit, PrefixBase, whole_unit as measure};

/// All values between two ends, both included; a printed figure represents one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn exact(value: f64) -> Interval {
        Interval { low: value, high: value }
    }

    /// Returns the interval from `value - slack` to `value + slack`.
    pub fn around(value: f64, slack: f64) -> Interval {
        Interval { low: value - slack, high: value + slack }
    }

    /// Returns true if both have a value in common; ends that differ by the rounding of a double
    /// touch.
    pub fn overlaps_with(self, other: Interval) -> bool {
        let reaches = |low: f64, high: f64| low <= high + 1e-12 * low.abs().max(high.abs());
        reaches(self.low, other.high) && reaches(other.low, self.high)
    }

    pub fn contains_value(self, value: f64) -> bool {
        self.overlaps_with(Interval::exact(value))
    }

    /// Returns the interval, widened by a fraction of its ends.
    pub fn wider(self, share: f64) -> Interval {
        Interval {
            low: self.low - share * self.low.abs(),
            high: self.high + share * self.high.abs(),
        }
    }

    pub fn middle(self) -> f64 {
        self.low + (self.high - self.low) / 2.0
    }

    /// Returns all products of two intervals without negative values.
    pub fn product_with(self, other: Interval) -> Interval {
        Interval { low: self.low * other.low, high: self.high * other.high }
    }

    pub fn scaled(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, high: self.high * factor }
    }

    pub fn sum_with(self, other: Interval) -> Interval {
        Interval { low: self.low + other.low, high: self.high + other.high }
    }

    /// Returns all ratios of two intervals; `None` if the divisor may be zero or negative.
    pub fn ratio_to(self, other: Interval) -> Option<Interval> {
        // For a negative value the smallest divisor gives the lowest ratio.
        let least = if self.low < 0.0 { other.low } else { other.high };
        let most = if self.high < 0.0 { other.high } else { other.low };
        (other.low > 0.0).then(|| Interval { low: self.low / least, high: self.high / most })
    }
}

/// A printed figure and its position, in the unit of its field: I/Os or bytes per second,
/// nanoseconds, bytes, a count, percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrintedNumber {
    pub spot: TextSpan,
    pub value: f64,
    /// Lowest value that rounds to the figure.
    pub low: f64,
    pub high: f64,
}

impl PrintedNumber {
    pub fn interval(&self) -> Interval {
        Interval { low: self.low, high: self.high }
    }

    pub fn scaled(self, factor: f64) -> PrintedNumber {
        PrintedNumber {
            value: self.value * factor,
            low: self.low * factor,
            high: self.high * factor,
            ..self
        }
    }
}

/// Precision that a sentence gives a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NumberHedge {
    Plain,
    /// `about`, `~`, `约`, `около`.
    About,
    /// `below`, `<`, `不到`, `less than`.
    Below,
    /// `above`, `>`, `超过`, `more than`.
    Above,
    PlusMinus,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Figure in the base of its unit (bytes per second for `MB/s`, nanoseconds for `us`, percent
    /// for `%`), at the position of number and unit.
    pub figure: PrintedNumber,
    pub unit: NumberUnit,
    /// Amount of the unit that a printed 1 is: 1,048,576 for `MiB/s`, 1000 for `26.0k`.
    pub scale: f64,
    pub base: PrefixBase,
    /// Number of printed digits after the point.
    pub decimals: u8,
    pub hedge: NumberHedge,
}

impl Quantity {
    pub fn interval(&self) -> Interval {
        self.figure.interval()
    }
}

/// Returns the figure for a value that was printed with that many digits after the point. Its
/// interval is half a unit of the last digit to either side.
pub fn rounded(spot: TextSpan, printed: f64, decimals: usize, scale: f64) -> PrintedNumber {
    let half = POWERS.get(decimals).map_or(0.0, |power| 0.5 / power);
    PrintedNumber {
        spot,
        value: printed * scale,
        low: (printed - half) * scale,
        high: (printed + half) * scale,
    }
}

const POWERS: [f64; 13] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12];

/// Reads the plain decimal number that a text begins with (`118.47us`). Also returns the number of
/// its bytes and of its digits after the point; `None` if there is no number. An exponent counts
/// (`1.2e+06`).
pub fn leading(text: &str) -> Option<(f64, usize, usize)> {
    let bytes = text.as_bytes();
    let run =
        |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let sign = usize::from(matches!(bytes.first(), Some(b'-' | b'+')));
    let whole = run(sign);
    let point = sign + whole;
    let decimals = if bytes.get(point) == Some(&b'.') { run(point + 1) } else { 0 };
    let at = if decimals > 0 { point + 1 + decimals } else { point };
    let exponent = exponent(&bytes[at..]);
    if whole == 0 {
        return None;
    }
    // The quick way is exact while the digits and the power of ten fit a double.
    if exponent == 0 && whole + decimals <= 15 && decimals < POWERS.len() {
        let digits = bytes[sign..at].iter().filter(|byte| **byte != b'.');
        let value = digits.fold(0u64, |value, digit| value * 10 + u64::from(digit - b'0')) as f64
            / POWERS[decimals];
        return Some((if bytes[0] == b'-' { -value } else { value }, at, decimals));
    }
    let end = at + exponent;
    let power: i32 = text[at..end].get(1..).map_or(Ok(0), str::parse).ok()?;
    if power.abs() > MOST_POWER {
        return None;
    }
    Some((parsed(&text[..end])?, end, decimals))
}

/// Largest number that is read. No tool prints more, and it remains finite in any unit.
const LARGEST: f64 = 1e60;
/// Largest power of ten that is read, which also limits the rounding of a 0.
const MOST_POWER: i32 = 60;

/// Parses a text that is a number; `None` for other text, and for a number that a unit could make
/// infinite.
pub fn parsed(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.abs() <= LARGEST)
}

fn exponent(bytes: &[u8]) -> usize {
    let Some(b'e' | b'E') = bytes.first() else { return 0 };
    let sign = usize::from(matches!(bytes.get(1), Some(b'-' | b'+')));
    let digits = bytes.iter().skip(1 + sign).take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=3).contains(&digits) { 1 + sign + digits } else { 0 }
}
