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

/// All values from `low` to `high`, both included, such as those that round to one printed figure.
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

    /// Returns true if the intervals have a value in common. Ends that differ by a rounding error
    /// of a double (a relative 1e-12) count as equal.
    pub fn overlaps_with(self, other: Interval) -> bool {
        let reaches = |low: f64, high: f64| low <= high + 1e-12 * low.abs().max(high.abs());
        reaches(self.low, other.high) && reaches(other.low, self.high)
    }

    pub fn contains_value(self, value: f64) -> bool {
        self.overlaps_with(Interval::exact(value))
    }

    /// Returns the interval with each end moved outwards by `share` times the end's absolute value.
    pub fn wider(self, share: f64) -> Interval {
        Interval {
            low: self.low - share * self.low.abs(),
            high: self.high + share * self.high.abs(),
        }
    }

    pub fn middle(self) -> f64 {
        self.low + (self.high - self.low) / 2.0
    }

    /// Returns the interval of all products. Neither interval may contain negative values.
    pub fn product_with(self, other: Interval) -> Interval {
        Interval { low: self.low * other.low, high: self.high * other.high }
    }

    pub fn scaled(self, factor: f64) -> Interval {
        Interval { low: self.low * factor, high: self.high * factor }
    }

    pub fn sum_with(self, other: Interval) -> Interval {
        Interval { low: self.low + other.low, high: self.high + other.high }
    }

    /// Returns the interval of all ratios `self / other`; `None` if `other` contains zero or a
    /// negative value.
    pub fn ratio_to(self, other: Interval) -> Option<Interval> {
        // For a negative value the smallest divisor gives the lowest ratio.
        let least = if self.low < 0.0 { other.low } else { other.high };
        let most = if self.high < 0.0 { other.high } else { other.low };
        (other.low > 0.0).then(|| Interval { low: self.low / least, high: self.high / most })
    }
}

/// A printed figure and its position in the text. Its values are I/Os or bytes per second,
/// nanoseconds, bytes, a count or percent, whichever the field or unit implies.
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

/// What the words or signs beside a figure say about its precision.
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
    /// for `%`). Its position covers the number and the unit.
    pub figure: PrintedNumber,
    pub unit: NumberUnit,
    /// Factor from the printed number to the base of the unit: 1,048,576 for `MiB/s`, 1000 for
    /// `26.0k`.
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

/// Returns the figure for a value that was printed with `decimals` digits after the point, in units
/// of `scale`. Its interval extends half a unit of the last digit to either side; with more than 12
/// decimals it is the value alone.
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

/// Reads the plain decimal number that a text begins with (`118.47us`, `1.2e+06`). Returns its
/// value, its length in bytes and its number of digits after the point. `None` if there is no
/// number, if its exponent is beyond 60 or -60, or if it is beyond 1e60.
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

/// Largest absolute value that is read. No tool prints more, and it remains finite in any unit.
const LARGEST: f64 = 1e60;
/// Largest exponent that is read, without its sign. It also excludes zeros such as `0e300`.
const MOST_POWER: i32 = 60;

/// Parses a number. `None` for other text, and for a number beyond 1e60 or -1e60, which a unit
/// could make infinite.
pub fn parsed(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.abs() <= LARGEST)
}

fn exponent(bytes: &[u8]) -> usize {
    let Some(b'e' | b'E') = bytes.first() else { return 0 };
    let sign = usize::from(matches!(bytes.get(1), Some(b'-' | b'+')));
    let digits = bytes.iter().skip(1 + sign).take_while(|byte| byte.is_ascii_digit()).count();
    if (1..=3).contains(&digits) { 1 + sign + digits } else { 0 }
}
