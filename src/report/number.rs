//! Figures as text: scaled to a unit that people read, with the digits that the interval allows.

use crate::bill::findings::{Figure, Interval};
use crate::stats::round::rounded;

/// A figure ready to be laid out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    /// `value +- half_width unit`; no half-width where there is no interval.
    Known { value: String, half_width: Option<String>, unit: &'static str },
    /// Tried and failed.
    Failed,
    /// Not there.
    Missing,
}

impl Shown {
    pub(super) fn of(figure: &Figure) -> Shown {
        match figure {
            Figure::Known { value, unit, .. } => known(*value, unit, half_width(figure)),
            Figure::Failed { .. } => Shown::Failed,
            Figure::Missing { .. } => Shown::Missing,
        }
    }

    /// `71.23k +- 0.41k`, `91.20 +- 0.36 us`, `failed`, `-`; a value without an interval has a `?`.
    pub(super) fn cell(&self) -> String {
        match self {
            Shown::Known { value, half_width: Some(half), unit } => {
                spaced(&format!("{value} +- {half}"), unit)
            }
            Shown::Known { value, half_width: None, unit } => spaced(&format!("{value} ?"), unit),
            Shown::Failed => "failed".to_owned(),
            Shown::Missing => "-".to_owned(),
        }
    }
}

fn spaced(text: &str, unit: &str) -> String {
    if unit.is_empty() { text.to_owned() } else { format!("{text} {unit}") }
}

/// Distance to the farther bound.
fn half_width(figure: &Figure) -> Option<f64> {
    let (value, (low, high)) = (figure.value()?, figure.bounds()?);
    Some((high - value).max(value - low))
}

/// What is weak about a figure, or why it is not there.
pub(super) fn remark(figure: &Figure) -> Option<&str> {
    match figure {
        Figure::Known { interval: Interval::Missing { missing }, .. } => Some(missing),
        Figure::Known { caution, .. } => caution.as_deref(),
        Figure::Failed { reason } | Figure::Missing { reason } => Some(reason),
    }
}

fn known(value: f64, unit: &str, half_width: Option<f64>) -> Shown {
    let (scale, suffix, unit, decimals) = scale(value.abs(), unit);
    let with_suffix = |text: String| format!("{text}{suffix}");
    match half_width {
        Some(half) => {
            let shown = rounded(value / scale, half / scale, decimals);
            Shown::Known {
                value: with_suffix(shown.value),
                half_width: Some(with_suffix(shown.half_width)),
                unit,
            }
        }
        None => Shown::Known { value: with_suffix(three_digits(value / scale)), half_width: None, unit },
    }
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

/// A ratio as a change in percent: `-6.12 % +- 0.78 %`.
pub(super) fn change(ratio: &Figure) -> Shown {
    let as_percent = ratio.clone().map("%", |ratio| 100.0 * (ratio - 1.0));
    let Figure::Known { value, .. } = &as_percent else {
        return Shown::of(ratio);
    };
    match half_width(&as_percent) {
        Some(half) => {
            let shown = rounded(*value, half, 2);
            let sign = if shown.value.starts_with('-') || shown.value.parse() == Ok(0.0) { "" } else { "+" };
            Shown::Known {
                value: format!("{sign}{}", shown.value),
                half_width: Some(shown.half_width),
                unit: "%",
            }
        }
        None => Shown::Known { value: format!("{value:+.1}"), half_width: None, unit: "%" },
    }
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
        assert_eq!(Shown::of(&Figure::missing("why")).cell(), "-");
        assert_eq!(Shown::of(&Figure::Failed { reason: "why".into() }).cell(), "failed");
    }

    #[test]
    fn changes() {
        assert_eq!(change(&figure(0.9388, 0.0078, "1")).cell(), "-6.12 +- 0.78 %");
        assert_eq!(change(&figure(1.25, 0.051, "1")).cell(), "+25.0 +- 5.1 %");
        assert_eq!(change(&figure(1.0, 0.0, "1")).cell(), "0.00 +- 0.00 %");
    }
}
