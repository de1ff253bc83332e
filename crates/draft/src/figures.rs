//! Figures of a page that a scenario can publish: each with its system, its load, its metric, and
//! its text in the units that scenarios know.

use super::labels::PageMetric;
use iotax_audit::number::{NumberUnit, PrintedNumber, leading};
use iotax_audit::page::TextSpan;

/// Direction of a figure of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum PageWay {
    Read,
    Write,
}

/// Kind of system that a figure is of; each needs a scenario of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DraftKind {
    Storage,
    /// Processors and memory.
    Machine,
    Network,
}

/// Place at which a figure was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FigurePlace {
    /// A cell of the table with this index.
    Table(usize),
    Output,
    /// An output, from whose counts and time the figure was computed.
    Counted,
}

#[derive(Clone, Debug)]
pub(super) struct PageFigure {
    pub system: String,
    /// Index of the load.
    pub load: usize,
    pub metric: PageMetric,
    pub way: Option<PageWay>,
    pub kind: DraftKind,
    pub place: FigurePlace,
    /// Text for `printed`: `26.0k`, `102MiB/s`.
    pub text: String,
    pub low: f64,
    pub high: f64,
    /// Number of its line in the file.
    pub line: u32,
    /// Spot of a cell, by which ratios name it.
    pub spot: Option<TextSpan>,
    pub note: Option<&'static str>,
}

impl PageFigure {
    /// Returns true if both may be one value, printed twice.
    pub fn agrees_with(&self, other: &PageFigure) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    pub fn is_of_table(&self) -> bool {
        matches!(self.place, FigurePlace::Table(_))
    }
}

const PLAIN: &[(&str, f64)] = &[("", 1.0), ("k", 1e3), ("M", 1e6)];
const RATES: &[(&str, f64)] = &[
    ("MiB/s", 1_048_576.0),
    ("KiB/s", 1024.0),
    ("GiB/s", 1_073_741_824.0),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("GB/s", 1e9),
    ("B/s", 1.0),
];
const BITS: &[(&str, f64)] = &[("Mbit/s", 1e6), ("Gbit/s", 1e9)];
const TIMES: &[(&str, f64)] = &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Most digits after the point that a text gets.
const MOST_DECIMALS: usize = 9;

/// Returns a figure in the units that `[published]` knows, with the digits that were printed:
/// `quote` is its text on the page. Where the text has other units or signs, the interval shows the
/// digits. `None` for zero, a negative value or another unit.
pub(super) fn printed_text(
    figure: &PrintedNumber,
    unit: NumberUnit,
    quote: &str,
) -> Option<String> {
    let units = match unit {
        NumberUnit::Bare | NumberUnit::PerSecond => PLAIN,
        NumberUnit::Mwips => &[("MWIPS", 1.0)],
        NumberUnit::BytesPerSecond => RATES,
        NumberUnit::BitsPerSecond => BITS,
        NumberUnit::Nanoseconds => TIMES,
        _ => return None,
    };
    let (value, step) = (figure.value, figure.high - figure.low);
    if !(value.is_finite() && step.is_finite() && (1e-6..1e18).contains(&value)) {
        return None;
    }
    let quoted = leading(quote).and_then(|(number, _, decimals)| {
        let is_scale = |factor: f64| (number * factor / value - 1.0).abs() < 1e-9;
        let (name, _) = units.iter().find(|(_, factor)| is_scale(*factor))?;
        (decimals <= MOST_DECIMALS).then(|| format!("{number:.decimals$}{name}"))
    });
    // The unit in which the last digit counts ones, tenths, hundredths, ..., and has the fewest.
    let decimals = |factor: f64| {
        let digits = -(step / factor).log10();
        let whole = digits.round();
        let fits = (digits - whole).abs() < 1e-3 && (0.0..=MOST_DECIMALS as f64).contains(&whole);
        fits.then_some(whole as usize)
    };
    let exact = units.iter().filter_map(|(name, factor)| Some((decimals(*factor)?, name, factor)));
    let by_step = exact.min_by_key(|(decimals, ..)| *decimals);
    let text = quoted.unwrap_or_else(|| match by_step {
        Some((decimals, name, factor)) => format!("{:.decimals$}{name}", value / factor),
        // Of another base: five digits.
        None => {
            let (name, factor) = largest_unit(units, value);
            let whole = (value / factor).log10().floor().max(0.0) as usize;
            format!("{:.*}{name}", 4usize.saturating_sub(whole), value / factor)
        }
    });
    text.bytes().any(|byte| matches!(byte, b'1'..=b'9')).then_some(text)
}

/// Returns the unit for a value that was not printed with one: the largest that it reaches. Rates
/// without bytes stay whole.
fn largest_unit(units: &'static [(&'static str, f64)], value: f64) -> (&'static str, f64) {
    let first = units[0];
    if units == PLAIN {
        return first;
    }
    let reached = units.iter().filter(|(_, factor)| *factor <= value);
    reached.max_by(|one, other| one.1.total_cmp(&other.1)).copied().unwrap_or(first)
}

/// Returns the figure for a count per time, rounded to whole I/Os a second.
pub(super) fn counted_rate(ios: &PrintedNumber, runtime_ns: &PrintedNumber) -> Option<f64> {
    let seconds = runtime_ns.value / 1e9;
    let rate = ios.value / seconds;
    (seconds > 0.0 && rate.is_finite() && rate >= 1.0).then(|| rate.round())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_audit::number::quantity;

    #[test]
    fn a_figure_keeps_its_digits_and_gets_a_known_unit() {
        for (printed, text) in [
            ("629k IOPS", "629k"),
            ("131652.90", "131652.90"),
            ("4603.11 МБ/с", "4603.11MB/s"),
            ("782KiB/s", "782KiB/s"),
            ("1.7 GB/s", "1.7GB/s"),
            ("8.35 Gbps", "8.35Gbit/s"),
            ("181.96 us", "181.96us"),
            ("0.5 ms", "0.5ms"),
            ("1000k IOPS", "1000k"),
            ("34839728.4 lps", "34839728.4"),
            ("4368.3 MWIPS", "4368.3MWIPS"),
            ("1825548.4 KBps", "1825548.4kB/s"),
        ] {
            let read = quantity(0, printed).unwrap();
            let of = |quote| printed_text(&read.figure, read.unit, quote);
            assert_eq!([of(""), of(printed)], [Some(text.to_owned()), Some(text.to_owned())]);
        }
        let exact =
            |value: f64| PrintedNumber { spot: Default::default(), value, low: value, high: value };
        let of = |value, unit, quote| printed_text(&exact(value), unit, quote);
        let per_second = NumberUnit::PerSecond;
        assert_eq!(of(26_015.0, per_second, "").as_deref(), Some("26015"));
        assert_eq!(of(27_264.0, NumberUnit::Nanoseconds, "27264").as_deref(), Some("27264ns"));
        assert_eq!(of(0.0, per_second, "0"), None);
        assert_eq!(of(f64::INFINITY, per_second, ""), None);
        assert_eq!(of(7.0, NumberUnit::Percent, "7"), None);
    }
}
