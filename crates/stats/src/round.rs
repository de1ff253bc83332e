//! Rounds figures for printing, with the digits that their interval allows. The half-width is
//! rounded up at two significant digits so that no interval is ever printed narrower than it is.

/// A value and its half-width, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The value, rounded to the last digit of the half-width.
    pub value: String,
    /// The half-width, rounded up.
    pub half_width: String,
}

/// Rounds a value and its half-width at the second significant digit of the half-width, to no more
/// than `decimals` decimals.
pub fn rounded(value: f64, half_width: f64, decimals: i32) -> Rounded {
    let step = step_of(half_width, decimals);
    Rounded { value: fixed(to_step(value, step), step), half_width: up_to(half_width, step) }
}

/// Largest ratio of the longer side to the shorter for which one half-width is printed.
const LOPSIDED: f64 = 2.5;

/// Margin printed beside a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Margin {
    /// Half-width, for sides of about the same length.
    HalfWidth(String),
    /// Both bounds, since one half-width would mislead.
    Bounds(String, String),
    /// There is no interval.
    Unknown,
}

impl Margin {
    /// Returns the margin with `map` applied to the text of each number.
    pub fn map(self, map: impl Fn(String) -> String) -> Margin {
        match self {
            Margin::HalfWidth(half) => Margin::HalfWidth(map(half)),
            Margin::Bounds(low, high) => Margin::Bounds(map(low), map(high)),
            Margin::Unknown => Margin::Unknown,
        }
    }
}

/// Formats a value and its interval, and returns the texts of both. The margin is the distance to
/// the farther bound, or both bounds if one half-width would mislead: if one side is much longer,
/// or if the printed interval would reach one of `edges` that the interval does not reach.
///
/// Edges are values that a figure cannot pass or that a conclusion depends on, such as no change.
/// The digits follow the width of the whole interval, and bounds are rounded outwards. There are at
/// most `decimals` decimals, unless more are needed to keep clear of an edge or to print the value
/// between its bounds.
pub fn print_figure(
    value: f64,
    low: f64,
    high: f64,
    edges: &[f64],
    decimals: i32,
) -> (String, Margin) {
    let (below, above) = (value - low, high - value);
    let longer = below.max(above);
    let shown = rounded(value, longer, decimals);
    let number = |text: &str| text.parse::<f64>().unwrap_or(value);
    let (middle, half) = (number(&shown.value), number(&shown.half_width));
    let passes = |edge: &f64| {
        !clear(*edge, middle - half, middle + half) && clear(*edge, low, high)
            || (low == *edge && middle - half < *edge)
            || (high == *edge && middle + half > *edge)
    };
    // A margin finer than the digits is printed alike to both sides.
    let is_even = longer <= LOPSIDED * below.min(above) || longer < power(-decimals);
    if is_even && !edges.iter().any(passes) || longer == 0.0 {
        return (shown.value, Margin::HalfWidth(shown.half_width));
    }
    let step = step_of((high - low) / 2.0, decimals);
    let low_text = print_bound(low, step, edges, decimals, |bound, step| {
        (bound / step + SLACK).floor() * step
    });
    let high_text = print_bound(high, step, edges, decimals, |bound, step| {
        (bound / step - SLACK).ceil() * step
    });
    let (from, to) = (number(&low_text), number(&high_text));
    let fits = |step: &f64| (from..=to).contains(&to_step(value, *step));
    // Beside a bound that is far away, the value keeps two digits of its own, or of its distance to
    // the nearer bound.
    let nearer = if value.abs() >= step { value.abs() } else { below.min(above) };
    let own = if nearer > 0.0 { step.min(step_of(nearer, decimals)) } else { step };
    let step = finer(own, decimals).find(fits).unwrap_or(own);
    (fixed(to_step(value, step), step), Margin::Bounds(low_text, high_text))
}

/// Returns true if an interval lies on one side of an edge and does not touch it.
fn clear(edge: f64, low: f64, high: f64) -> bool {
    low > edge || high < edge
}

/// Formats one bound of an interval, rounded by `outwards` to `step`, or to a finer step if the
/// printed bound would otherwise touch or cross an edge that the bound keeps clear of.
fn print_bound(
    bound: f64,
    step: f64,
    edges: &[f64],
    decimals: i32,
    outwards: fn(f64, f64) -> f64,
) -> String {
    let keeps = |step: &f64| {
        let shown = outwards(bound, *step);
        let same_side =
            |edge: &f64| (bound - edge).signum() == (shown - edge).signum() && shown != *edge;
        edges.iter().all(|edge| if bound == *edge { shown == *edge } else { same_side(edge) })
    };
    match finer(step, decimals).find(keeps) {
        Some(step) => fixed(outwards(bound, step), step),
        // Within a ten-thousandth of an edge.
        None => fixed(to_step(bound, step), step),
    }
}

/// Returns `step`, a tenth of it, a hundredth and so on, down to two decimals more than `decimals`.
fn finer(step: f64, decimals: i32) -> impl Iterator<Item = f64> {
    let finest = power(-decimals - 2);
    std::iter::successors(Some(step), |step| Some(step / 10.0))
        .take_while(move |step| *step > 0.5 * finest)
}

fn to_step(value: f64, step: f64) -> f64 {
    (value / step).round() * step
}

/// Formats a bound rounded up at its second significant digit, with at most `decimals` decimals.
pub fn rounded_up(bound: f64, decimals: i32) -> String {
    up_to(bound, step_of(bound, decimals))
}

/// Formats a fraction as a percentage, rounded up at its second significant digit: `0.83 %`.
pub fn percent_up(fraction: f64) -> String {
    format!("{} %", rounded_up(100.0 * fraction, 2))
}

/// Formats a value of unknown precision with three significant digits, but with at most two
/// decimals and with all digits before the point.
pub fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
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

/// Part of a step that a division by a power of ten may be off; it is not rounded up to a step.
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
        let percent = |value: f64, half: f64| {
            let shown = rounded(100.0 * value, 100.0 * half, 2);
            format!("{} % +- {} %", shown.value, shown.half_width)
        };
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
        assert_eq!(
            rounded(5.0, 0.0, 2),
            Rounded { value: "5.00".into(), half_width: "0.00".into() }
        );
    }

    const CHANGE: &[f64] = &[-100.0, 0.0];

    fn said(value: f64, low: f64, high: f64) -> String {
        match print_figure(value, low, high, CHANGE, 2) {
            (value, Margin::HalfWidth(half)) => format!("{value} +- {half}"),
            (value, Margin::Bounds(low, high)) => format!("{value} ({low} to {high})"),
            (value, Margin::Unknown) => value,
        }
    }

    #[test]
    fn ends_are_printed_where_a_half_width_would_mislead() {
        assert_eq!(said(-6.1, -6.9, -5.2), "-6.10 +- 0.90");
        assert_eq!(said(12.34, 10.149, 31.21), "12 (10 to 32)", "lopsided");
        assert_eq!(said(-50.4, -61.2, 3.01), "-50 (-62 to 4)");
        assert_eq!(
            said(-87.6, -93.9, -74.9),
            "-87.6 (-93.9 to -74.9)",
            "less than nothing is not possible"
        );
        assert_eq!(
            said(-37.0, -77.0, 26.0),
            "-37 (-77 to 26)",
            "nor here, where +- 63 would reach beyond"
        );
        assert_eq!(
            said(11.41, 0.09, 22.73),
            "11 (0.09 to 23)",
            "rounded up, +- 12 would reach zero"
        );
        assert_eq!(said(1.0, 0.004, 2.0), "1.0 (0.004 to 2.0)");
    }

    #[test]
    fn digits_follow_the_whole_interval_unless_an_end_would_reach_an_edge() {
        assert_eq!(said(355.09, 100.2, 355.10), "360 (100 to 360)");
        assert_eq!(said(0.0, -99.8, 61_000.0), "0 (-99.8 to 61000)");
        assert_eq!(said(1800.0, 57.0, 4900.0), "1800 (50 to 4900)");
        assert_eq!(said(1190.0, 470.0, 110_000.0), "1200 (400 to 110000)");
        assert_eq!(said(30.0, 5.0, 4900.0), "30 (5 to 4900)", "the value stays within");
        assert_eq!(said(0.0, -100.0, 30.0), "0 (-100 to 30)", "an edge that is reached");
        assert_eq!(said(-5.0, -5.0, -5.0), "-5.00 +- 0.00");
    }

    proptest! {
        #[test]
        fn a_printed_half_width_is_never_narrower(half_width in 1e-9..1e6f64, value in -1e6..1e6f64) {
            let shown: f64 = rounded(value, half_width, 2).half_width.parse().unwrap();
            prop_assert!(shown >= half_width * (1.0 - 1e-6));
            prop_assert!(shown <= half_width * 1.11 + 0.01);
        }

        #[test]
        fn what_is_printed_holds_the_interval_and_passes_no_edge(
            low in -100.0..200.0f64, width in 1e-3..1e4f64, share in 0.0..1.0f64
        ) {
            let (high, value) = (low + width, low + share * width);
            let number = |text: &str| text.parse::<f64>().unwrap();
            let (middle, margin) = print_figure(value, low, high, CHANGE, 2);
            let middle = number(&middle);
            let (from, to) = match margin {
                Margin::HalfWidth(half) => (middle - number(&half), middle + number(&half)),
                Margin::Bounds(low, high) => (number(&low), number(&high)),
                Margin::Unknown => unreachable!(),
            };
            // Half a step may go lost where the value itself is rounded; the half-width is rounded
            // up by its own.
            let slack = 1e-6 + 0.05 * (to - from);
            prop_assert!(from <= low + slack && high - slack <= to, "{from} {low} {high} {to}");
            prop_assert!((from..=to).contains(&middle));
            prop_assert!(from >= -100.0 - 1e-6, "{from}");
            let near = |bound: f64| bound.abs() < 1e-3;
            prop_assert!(near(low) || near(high) || clear(0.0, low, high) == clear(0.0, from, to), "{from} {to}");
        }
    }
}
