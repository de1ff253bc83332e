//! Figures as text: scaled to a unit that people read, with the digits that the interval allows.

use crate::bill::findings::{Figure, Interval};
use crate::stats::round::{bounded, is_lopsided, rounded};

/// What stands beside a value.
pub(super) const SPREADS: &str = "+- to the farther end of the 95 % interval, (a to b) its ends where they lie unlike; ? no interval; \
     ~ emulated, not representative";

/// A figure ready to be laid out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    /// A value with what is known of its interval.
    Known { value: String, spread: Spread, unit: &'static str },
    /// Tried and failed.
    Failed,
    /// Not there.
    Missing,
}

/// An interval in digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spread {
    /// About the same to both sides.
    HalfWidth(String),
    /// So lopsided that one half-width would mislead.
    Bounds(String, String),
    /// There is none.
    Unknown,
}

impl Shown {
    pub(super) fn of(figure: &Figure) -> Shown {
        match figure {
            Figure::Known { value, unit, .. } => known(*value, unit, figure.bounds()),
            Figure::Failed { .. } => Shown::Failed,
            Figure::Missing { .. } => Shown::Missing,
        }
    }

    /// `71.23k +- 0.41k`, `91.20 +- 0.36 us`, `12 (3 to 70) %`, `failed`, `-`; a value without an interval has a `?`.
    pub(super) fn cell(&self) -> String {
        match self {
            Shown::Known { value, spread, unit } => spaced(
                &match spread {
                    Spread::HalfWidth(half) => format!("{value} +- {half}"),
                    Spread::Bounds(low, high) => format!("{value} ({low} to {high})"),
                    Spread::Unknown => format!("{value} ?"),
                },
                unit,
            ),
            Shown::Failed => "failed".to_owned(),
            Shown::Missing => "-".to_owned(),
        }
    }
}

/// A value and its spread in digits, never finer than `decimals`.
fn digits(value: f64, bounds: Option<(f64, f64)>, decimals: i32) -> Option<(String, Spread)> {
    let (low, high) = bounds?;
    let shown = rounded(value, (high - value).max(value - low), decimals);
    // The longer side must not be printed across a zero that the interval excludes.
    let crosses = (low > 0.0 || high < 0.0) && !shown.excludes_zero();
    if is_lopsided(value, low, high) || crosses {
        let shown = bounded(value, low, high, decimals);
        return Some((shown.value, Spread::Bounds(shown.low, shown.high)));
    }
    Some((shown.value, Spread::HalfWidth(shown.half_width)))
}

impl Spread {
    fn map(self, map: impl Fn(String) -> String) -> Spread {
        match self {
            Spread::HalfWidth(half) => Spread::HalfWidth(map(half)),
            Spread::Bounds(low, high) => Spread::Bounds(map(low), map(high)),
            Spread::Unknown => Spread::Unknown,
        }
    }
}

fn spaced(text: &str, unit: &str) -> String {
    if unit.is_empty() { text.to_owned() } else { format!("{text} {unit}") }
}

/// What is weak about a figure, or why it is not there.
pub(super) fn remark(figure: &Figure) -> Option<&str> {
    match figure {
        Figure::Known { interval: Interval::Missing { missing }, .. } => Some(missing),
        Figure::Known { caution, .. } => caution.as_deref(),
        Figure::Failed { reason } | Figure::Missing { reason } => Some(reason),
    }
}

fn known(value: f64, unit: &str, bounds: Option<(f64, f64)>) -> Shown {
    let (scale, suffix, unit, decimals) = scale(value.abs(), unit);
    let with_suffix = |text: String| format!("{text}{suffix}");
    let bounds = bounds.map(|(low, high)| (low / scale, high / scale));
    let (value, spread) = digits(value / scale, bounds, decimals)
        .unwrap_or_else(|| (three_digits(value / scale), Spread::Unknown));
    Shown::Known { value: with_suffix(value), spread: spread.map(with_suffix), unit }
}

/// Divisor, suffix of the number, unit behind it, finest decimals.
fn scale(size: f64, unit: &str) -> (f64, &'static str, &'static str, i32) {
    match unit {
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
    }
}

/// Three significant digits, for a value that nothing says the precision of.
pub(super) fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// A ratio as a share of the baseline in percent: `93.88 +- 0.78 %`.
pub(super) fn share(ratio: &Figure) -> Shown {
    let as_percent = ratio.clone().map("%", |ratio| 100.0 * ratio);
    let Figure::Known { value, .. } = &as_percent else {
        return Shown::of(ratio);
    };
    let (value, spread) =
        digits(*value, as_percent.bounds(), 2).unwrap_or_else(|| (format!("{value:.1}"), Spread::Unknown));
    Shown::Known { value, spread, unit: "%" }
}

/// A ratio as a change in percent: `-6.12 % +- 0.78 %`.
pub(super) fn change(ratio: &Figure) -> Shown {
    let as_percent = ratio.clone().map("%", |ratio| 100.0 * (ratio - 1.0));
    let Figure::Known { value, .. } = &as_percent else {
        return Shown::of(ratio);
    };
    let signed = |text: String| {
        let sign = if text.starts_with('-') || text.parse() == Ok(0.0) { "" } else { "+" };
        format!("{sign}{text}")
    };
    let (value, spread) = match digits(*value, as_percent.bounds(), 2) {
        Some((value, Spread::Bounds(low, high))) => (value, Spread::Bounds(signed(low), signed(high))),
        Some(shown) => shown,
        None => (format!("{value:.1}"), Spread::Unknown),
    };
    Shown::Known { value: signed(value), spread, unit: "%" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, half: f64, unit: &'static str) -> Figure {
        let interval = Interval::between(value - half, value + half);
        Figure::Known { value, unit, n: 20, of: "rounds", interval, caution: None }
    }

    #[test]
    fn cells() {
        let cell = |value, half, unit| Shown::of(&figure(value, half, unit)).cell();
        assert_eq!(cell(71_234.0, 412.0, "1/s"), "71.23k +- 0.42k");
        assert_eq!(cell(812.0, 31.0, "1/s"), "812 +- 31");
        assert_eq!(cell(2_345_678.0, 12_345.0, "1/s"), "2.346M +- 0.013M");
        assert_eq!(cell(123_456.0, 990.0, "1/s/ms"), "123.46k +- 0.99k /ms");
        assert_eq!(cell(91_234.0, 360.0, "ns"), "91.23 +- 0.36 us");
        assert_eq!(cell(1_234_567.0, 60_000.0, "ns"), "1.235 +- 0.060 ms");
        assert_eq!(cell(104_857_600.0, 1_048_576.0, "B/s"), "100.0 +- 1.0 MiB/s");
        assert_eq!(cell(0.93881, 0.0078, "1"), "0.9388 +- 0.0078");
        let lopsided = Interval::between(80_000.0, 190_000.0);
        let skewed = figure(91_234.0, 0.0, "ns").with_interval(Some(&lopsided));
        assert_eq!(Shown::of(&skewed).cell(), "91 (80 to 190) us");
        assert_eq!(Shown::of(&Figure::missing("why")).cell(), "-");
        assert_eq!(Shown::of(&Figure::Failed { reason: "why".into() }).cell(), "failed");
    }

    #[test]
    fn changes() {
        assert_eq!(change(&figure(0.9388, 0.0078, "1")).cell(), "-6.12 +- 0.78 %");
        assert_eq!(change(&figure(1.25, 0.051, "1")).cell(), "+25.0 +- 5.1 %");
        assert_eq!(change(&figure(1.0, 0.0, "1")).cell(), "0.00 +- 0.00 %");
        let between = |low, high| figure(1.0, 0.0, "1").with_interval(Some(&Interval::between(low, high)));
        assert_eq!(change(&between(0.9, 1.4)).cell(), "0 (-10 to +40) %");
        assert_eq!(change(&between(0.002, 611.0)).cell(), "0 (-100 to +61000) %");
        let sure = figure(2.0, 0.0, "1").with_interval(Some(&Interval::between(1.5, 3.2)));
        assert_eq!(change(&sure).cell(), "+100 (+50 to +220) %");
    }
}
