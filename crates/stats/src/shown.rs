//! Formats figures as text, with the same digits in a sentence and in a table's cell: scaled to a
//! readable unit, as precise as the interval allows.

use super::round::{Margin, print_figure, three_digits};

/// A figure as text: its value, margin and unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Value as printed, with the suffix of its scale: `71.23k`.
    pub value: String,
    /// Margin printed beside the value.
    pub margin: Margin,
    /// Unit after both; empty if the value has none.
    pub unit: &'static str,
}

/// Edges of a change, in percent: the loss of the whole baseline, which nothing can exceed, and no
/// change.
const CHANGE: &[f64] = &[-100.0, 0.0];
const SHARE: &[f64] = &[0.0, 100.0];
/// Edges of a ratio: it is not negative, and 1 is no change.
const RATIO: &[f64] = &[0.0, 1.0];
/// Edge of an amount: amounts are not negative, and a significant difference is not printed as
/// zero.
const AMOUNT: &[f64] = &[0.0];

impl Digits {
    /// Formats a value in one of the units `1/s`, `B/s`, `1/s/ms`, `B/s/ms`, `ns` and `1` (a
    /// ratio). `bounds` is its interval, if it has one.
    pub fn for_value(value: f64, bounds: Option<(f64, f64)>, unit: &str) -> Digits {
        let farther = bounds.map_or(0.0, |(low, high)| (value - low).max(high - value));
        let scale = Scale::for_size(value.abs().max(farther), unit);
        let edges = if unit == "1" { RATIO } else { AMOUNT };
        let (value, margin) = match bounds {
            Some((low, high)) => print_figure(
                value / scale.by,
                low / scale.by,
                high / scale.by,
                edges,
                scale.decimals,
            ),
            None => (three_digits(value / scale.by), Margin::Unknown),
        };
        let suffixed = |text: String| format!("{text}{}", scale.suffix);
        Digits { value: suffixed(value), margin: margin.map(suffixed), unit: scale.unit }
    }

    /// Formats a change, given as a fraction of the baseline: `-6.12 +- 0.78 %`. `bounds` is its
    /// interval, if it has one.
    pub fn format_change(change: f64, bounds: Option<(f64, f64)>) -> Digits {
        let signed = |text: String| {
            let is_bare = text.starts_with('-') || text.parse() == Ok(0.0);
            format!("{}{text}", if is_bare { "" } else { "+" })
        };
        let mut shown = Digits::percent(change, bounds, CHANGE);
        if shown.margin == Margin::Unknown && change.abs() >= 1.0 {
            shown.value = three_digits(100.0 * change);
        }
        let margin = match shown.margin {
            Margin::Bounds(low, high) => Margin::Bounds(signed(low), signed(high)),
            other => other,
        };
        Digits { value: signed(shown.value), margin, unit: shown.unit }
    }

    /// Formats the size of a change whose direction is given in words: `6.12 +- 0.78 %`. A loss
    /// (`is_less`) is not printed above 100 %. The digits are those of [`Self::format_change`].
    pub fn size(size: f64, bounds: (f64, f64), is_less: bool) -> Digits {
        let edges = if is_less { SHARE } else { CHANGE };
        Digits::percent(size, Some(bounds), edges)
    }

    /// Formats a share of the baseline, given as a fraction: `93.88 +- 0.78 %`. `bounds` is its
    /// interval, if it has one.
    pub fn format_share(share: f64, bounds: Option<(f64, f64)>) -> Digits {
        Digits::percent(share, bounds, SHARE)
    }

    fn percent(fraction: f64, bounds: Option<(f64, f64)>, edges: &[f64]) -> Digits {
        let (value, margin) = match bounds {
            Some((low, high)) => {
                print_figure(100.0 * fraction, 100.0 * low, 100.0 * high, edges, 2)
            }
            None => (format!("{:.1}", 100.0 * fraction), Margin::Unknown),
        };
        Digits { value, margin, unit: "%" }
    }

    /// Returns the text for a cell: `71.23k +- 0.41k`, `12 (3 to 70) %`. A value without an
    /// interval gets a `?`.
    pub fn cell(&self) -> String {
        let text = match &self.margin {
            Margin::HalfWidth(half) => format!("{} +- {half}", self.value),
            Margin::Bounds(low, high) => format!("{} ({low} to {high})", self.value),
            Margin::Unknown => format!("{} ?", self.value),
        };
        self.with_unit(&text)
    }

    /// Returns the text for a sentence: `6.12 % +- 0.78 %`, `88 % (75 to 94 %)`.
    pub fn to_words(&self) -> String {
        let value = self.with_unit(&self.value);
        match &self.margin {
            Margin::HalfWidth(half) => format!("{value} +- {}", self.with_unit(half)),
            Margin::Bounds(low, high) => {
                format!("{value} ({})", self.with_unit(&format!("{low} to {high}")))
            }
            Margin::Unknown => format!("{value} ?"),
        }
    }

    /// Returns the value with its unit, without the interval.
    pub fn bare(&self) -> String {
        self.with_unit(&self.value)
    }

    /// Returns the interval alone: `+- 4.0 %`, `-87 to +440 %`; `None` if there is no interval.
    pub fn width(&self) -> Option<String> {
        match &self.margin {
            Margin::HalfWidth(half) => Some(format!("+- {}", self.with_unit(half))),
            Margin::Bounds(low, high) => Some(self.with_unit(&format!("{low} to {high}"))),
            Margin::Unknown => None,
        }
    }

    fn with_unit(&self, text: &str) -> String {
        if self.unit.is_empty() { text.to_owned() } else { format!("{text} {}", self.unit) }
    }
}

/// Scale in which a quantity is written.
struct Scale {
    /// Divisor applied to the quantity.
    by: f64,
    /// Suffix directly after the number.
    suffix: &'static str,
    /// Unit after the number.
    unit: &'static str,
    /// Largest number of decimals.
    decimals: i32,
}

impl Scale {
    fn for_size(size: f64, unit: &str) -> Scale {
        let (by, suffix, unit, decimals) = match unit {
            "1/s" if size >= 1e6 => (1e6, "M", "", 3),
            "1/s" if size >= 1e4 => (1e3, "k", "", 3),
            "1/s" => (1.0, "", "", 1),
            "1/s/ms" if size >= 1e6 => (1e6, "M", "/ms", 3),
            "1/s/ms" if size >= 1e4 => (1e3, "k", "/ms", 3),
            "1/s/ms" => (1.0, "", "/ms", 1),
            "B/s" => ((1 << 20) as f64, "", "MiB/s", 2),
            "B/s/ms" => ((1 << 20) as f64, "", "MiB/s/ms", 2),
            "ns" if size >= 1e9 => (1e9, "", "s", 3),
            "ns" if size >= 1e6 => (1e6, "", "ms", 3),
            "ns" if size >= 1e3 => (1e3, "", "us", 2),
            "ns" => (1.0, "", "ns", 1),
            _ => (1.0, "", "", 4),
        };
        Scale { by, suffix, unit, decimals }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_and_a_cell_have_the_same_digits() {
        let change = Digits::format_change(-0.876, Some((-0.939, -0.749)));
        let size = Digits::size(0.876, (0.749, 0.939), true);
        assert_eq!(change.cell(), "-87.6 (-93.9 to -74.9) %");
        assert_eq!(size.to_words(), "87.6 % (74.9 to 93.9 %)");
        let more = [
            Digits::format_change(0.25, Some((0.2, 0.31))).cell(),
            Digits::size(0.25, (0.2, 0.31), false).to_words(),
        ];
        assert_eq!(more, ["+25.0 +- 6.0 %", "25.0 % +- 6.0 %"]);
        assert_eq!(
            Digits::format_change(-0.37, Some((-0.77, 0.26))).width().unwrap(),
            "-77 to +26 %"
        );
        assert_eq!(Digits::format_change(0.24, None).to_words(), "+24.0 % ?");
    }

    #[test]
    fn a_wide_interval_decides_the_unit() {
        assert_eq!(Digits::for_value(500.0, Some((-6700.0, 7700.0)), "ns").cell(), "0.5 +- 7.2 us");
        assert_eq!(
            Digits::for_value(-300.0, Some((-496.0, -104.0)), "ns").to_words(),
            "-300 ns +- 200 ns"
        );
    }
}
