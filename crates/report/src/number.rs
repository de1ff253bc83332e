//! Figures as text: scaled to a readable unit, with the digits that the interval allows.

use iotax_analysis::findings::{Interval, MeasuredFigure};
use iotax_stats::Digits;
pub(super) use iotax_stats::round::{Margin as Spread, three_digits};

pub(super) const SPREADS: &str = "+- to the farther end of the 95 % interval, (a to b) its ends where +- would mislead; ? no interval; \
     - no figure; ! unresolved; ~ emulated, not representative";

/// Mark after a figure from which nothing follows.
pub(super) const UNRESOLVED: &str = " !";

/// A figure ready for layout.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    Known(Digits),
    Failed,
    Missing,
}

impl Shown {
    pub(super) fn from_figure(figure: &MeasuredFigure) -> Shown {
        Shown::from_digits(figure, |value| {
            Digits::for_value(value, figure.bounds(), unit_of(figure))
        })
    }

    fn from_digits(figure: &MeasuredFigure, digits: impl FnOnce(f64) -> Digits) -> Shown {
        match figure {
            MeasuredFigure::Known { value, .. } => Shown::Known(digits(*value)),
            MeasuredFigure::Failed { .. } => Shown::Failed,
            MeasuredFigure::Missing { .. } => Shown::Missing,
        }
    }

    /// Returns `71.23k +- 0.41k`, `91.20 +- 0.36 us`, `12 (3 to 70) %`, `failed`, `-`; a value
    /// without an interval has a `?`.
    pub(super) fn cell(&self) -> String {
        match self {
            Shown::Known(digits) => digits.cell(),
            Shown::Failed => "failed".to_owned(),
            Shown::Missing => "-".to_owned(),
        }
    }

    pub(super) fn digits(&self) -> Option<&Digits> {
        match self {
            Shown::Known(digits) => Some(digits),
            Shown::Failed | Shown::Missing => None,
        }
    }

    /// Returns the cell of a figure with a verdict: an interval from which nothing is concluded is
    /// marked `!`.
    pub(super) fn judged_cell(&self, is_resolved: bool) -> String {
        let has_interval = matches!(self, Shown::Known(digits) if digits.margin != Spread::Unknown);
        let mark = if has_interval && !is_resolved { UNRESOLVED } else { "" };
        format!("{}{mark}", self.cell())
    }
}

fn unit_of(figure: &MeasuredFigure) -> &'static str {
    match figure {
        MeasuredFigure::Known { unit, .. } => unit,
        _ => "",
    }
}

/// Returns why a figure has no interval, has to be read with caution, or is missing.
pub(super) fn remark(figure: &MeasuredFigure) -> Option<&str> {
    match figure {
        MeasuredFigure::Known { interval: Interval::Missing { missing }, .. } => Some(missing),
        MeasuredFigure::Known { caution, .. } => caution.as_deref(),
        MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason } => Some(reason),
    }
}

/// Returns a ratio as a share of the baseline in percent: `93.88 +- 0.78 %`.
pub(super) fn share_of_baseline(ratio: &MeasuredFigure) -> Shown {
    Shown::from_digits(ratio, |value| Digits::format_share(value, ratio.bounds()))
}

/// Returns a ratio as a change in percent: `-6.12 +- 0.78 %`.
pub(super) fn change_in_percent(ratio: &MeasuredFigure) -> Shown {
    let bounds = ratio.bounds().map(|(low, high)| (low - 1.0, high - 1.0));
    Shown::from_digits(ratio, |value| Digits::format_change(value - 1.0, bounds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::findings::SampleUnit;

    fn figure(value: f64, half: f64, unit: &'static str) -> MeasuredFigure {
        let interval = Interval::from_bounds(value - half, value + half);
        MeasuredFigure::known_value(value, unit, (20, SampleUnit::Rounds), interval)
    }

    #[test]
    fn cells() {
        let cell = |value, half, unit| Shown::from_figure(&figure(value, half, unit)).cell();
        assert_eq!(cell(71_234.0, 412.0, "1/s"), "71.23k +- 0.42k");
        assert_eq!(cell(812.0, 31.0, "1/s"), "812 +- 31");
        assert_eq!(cell(2_345_678.0, 12_345.0, "1/s"), "2.346M +- 0.013M");
        assert_eq!(cell(123_456.0, 990.0, "1/s/ms"), "123.46k +- 0.99k /ms");
        assert_eq!(cell(91_234.0, 360.0, "ns"), "91.23 +- 0.36 us");
        assert_eq!(cell(1_234_567.0, 60_000.0, "ns"), "1.235 +- 0.060 ms");
        assert_eq!(cell(104_857_600.0, 1_048_576.0, "B/s"), "100.0 +- 1.0 MiB/s");
        assert_eq!(cell(0.93881, 0.0078, "1"), "0.9388 +- 0.0078");
        assert_eq!(
            Shown::from_figure(&figure(200_000.0, 50_000.0, "ns")).judged_cell(false),
            "200 +- 50 us !"
        );
        let lopsided = Interval::from_bounds(80_000.0, 190_000.0);
        let skewed = figure(91_234.0, 0.0, "ns").with_interval(Some(&lopsided));
        assert_eq!(Shown::from_figure(&skewed).cell(), "91 (80 to 190) us");
        assert_eq!(Shown::from_figure(&MeasuredFigure::missing("why")).cell(), "-");
        assert_eq!(
            Shown::from_figure(&MeasuredFigure::Failed { reason: "why".into() }).cell(),
            "failed"
        );
    }

    #[test]
    fn changes() {
        assert_eq!(change_in_percent(&figure(0.9388, 0.0078, "1")).cell(), "-6.12 +- 0.78 %");
        assert_eq!(change_in_percent(&figure(1.25, 0.051, "1")).cell(), "+25.0 +- 5.1 %");
        assert_eq!(change_in_percent(&figure(1.0, 0.0, "1")).cell(), "0.00 +- 0.00 %");
        let between = |low, high| {
            figure(1.0, 0.0, "1").with_interval(Some(&Interval::from_bounds(low, high)))
        };
        assert_eq!(change_in_percent(&between(0.9, 1.4)).cell(), "0 (-10 to +40) %");
        assert_eq!(change_in_percent(&between(0.002, 611.0)).cell(), "0 (-99.8 to +61000) %");
        let sure = figure(2.0, 0.0, "1").with_interval(Some(&Interval::from_bounds(1.5, 3.2)));
        assert_eq!(change_in_percent(&sure).cell(), "+100 (+50 to +220) %");
    }
}
