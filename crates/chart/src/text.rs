//! Text in a drawing: its width, its shortening, and figures and ticks as words.

use iotax_analysis::findings::MeasuredFigure;
use iotax_stats::Digits;
use iotax_units::{grouped, harmless};
use maud::{Markup, html};

/// Size of all text but the title, in pixels.
const TEXT_PX: f64 = 12.0;

/// Returns a text of others as it may be drawn: one line, without characters that act or that XML
/// does not have.
pub(crate) fn drawable(text: &str) -> String {
    harmless::escape_line(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// Returns the pixels that a text takes, rather too many than too few: fonts differ.
pub(crate) fn text_width(text: &str) -> f64 {
    TEXT_PX * text.chars().map(letter_width).sum::<f64>()
}

/// Returns the width of a letter over the size of the text.
fn letter_width(letter: char) -> f64 {
    match letter {
        ' ' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | '/' | '(' | ')' | '[' | ']' => 0.38,
        'f' | 'i' | 'j' | 'l' | 'r' | 't' => 0.4,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '\u{2026}' => 0.98,
        '\u{1100}'.. => 1.1,
        letter if letter.is_uppercase() => 0.74,
        _ => 0.64,
    }
}

/// Returns a text that fits into `room` pixels. What is left out is in its middle, because the
/// names of stacks differ at both ends.
pub(crate) fn shortened(text: &str, room: f64) -> String {
    if text_width(text) <= room {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let (mut left, mut right, mut head) = (0, letters.len(), true);
    let mut free = room - text_width("\u{2026}");
    while left < right {
        let letter = if head { letters[left] } else { letters[right - 1] };
        free -= TEXT_PX * letter_width(letter);
        if free < 0.0 {
            break;
        }
        if head {
            left += 1
        } else {
            right -= 1
        }
        head = !head;
    }
    format!(
        "{}\u{2026}{}",
        letters[..left].iter().collect::<String>(),
        letters[right..].iter().collect::<String>()
    )
}

/// A text at a position of the drawing.
#[derive(Clone, Copy)]
pub(crate) struct ChartLabel<'a> {
    pub(crate) x: f64,
    /// Height of the line on which the letters are.
    pub(crate) y: f64,
    /// `start`, `middle` or `end`.
    pub(crate) anchor: &'a str,
    pub(crate) class: &'a str,
    /// Pixels that the text may take; a longer one is shortened, and has its whole text as title.
    pub(crate) room: f64,
}

impl ChartLabel<'_> {
    pub(crate) fn draw(&self, text: &str) -> Markup {
        let whole = drawable(text);
        let shown = shortened(&whole, self.room);
        html! {
            text x=(px(self.x)) y=(px(self.y)) text-anchor=(self.anchor) class=(self.class) {
                @if shown != whole { title { (whole) } }
                (shown)
            }
        }
    }
}

/// Formats a coordinate with one decimal at most; 0 for what is no number.
pub(crate) fn px(value: f64) -> String {
    let value = if value.is_finite() { value.clamp(-1e5, 1e5) } else { 0.0 };
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Replaces the ASCII of plain texts by the signs of print.
pub(crate) fn typeset(text: &str) -> String {
    let mut out = text.replace("+-", "\u{b1}").replace(" us", " \u{b5}s");
    for digit in '0'..='9' {
        for before in [" ", "("] {
            out = out.replace(&format!("{before}-{digit}"), &format!("{before}\u{2212}{digit}"));
        }
    }
    match out.strip_prefix('-') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("\u{2212}{rest}"),
        _ => out,
    }
}

/// Returns `71.23k ± 0.41k` with the figure's unit; `no figure` without a value.
pub(crate) fn figure_text(figure: &MeasuredFigure) -> String {
    match figure {
        MeasuredFigure::Known { value, unit, .. } => {
            typeset(&Digits::for_value(*value, figure.bounds(), unit).cell())
        }
        _ => "no figure".to_owned(),
    }
}

/// Returns a figure without its interval, for a small cell: `71.23k`, `176.3 MiB/s`; `None` without
/// a value.
pub(crate) fn brief_figure(figure: &MeasuredFigure) -> Option<String> {
    let MeasuredFigure::Known { value, unit, .. } = figure else { return None };
    let digits = Digits::for_value(*value, figure.bounds(), unit);
    Some(typeset(format!("{} {}", digits.value, digits.unit).trim_end()))
}

/// Returns a ratio as a change in percent: `−6.12 ± 0.78 %`; `no figure` without a value.
pub(crate) fn change_text(ratio: &MeasuredFigure) -> String {
    let bounds = ratio.bounds().map(|(low, high)| (low - 1.0, high - 1.0));
    match ratio.value() {
        Some(value) => typeset(&Digits::format_change(value - 1.0, bounds).cell()),
        None => "no figure".to_owned(),
    }
}

/// Returns a ratio as a change in percent without its interval, for a small cell: `−6.1 %`.
pub(crate) fn brief_change(ratio: f64) -> String {
    let change = 100.0 * (ratio - 1.0);
    let decimals = usize::from(change.abs() < 99.95);
    let text = format!("{change:+.decimals$} %");
    typeset(if text.trim_start_matches(['+', '-']) == "0.0 %" { "0 %" } else { &text })
}

/// Returns why a figure has no value or no interval; `None` if it has both.
pub(crate) fn gap_reason(figure: &MeasuredFigure) -> Option<&str> {
    use iotax_analysis::findings::Interval;
    match figure {
        MeasuredFigure::Known { interval: Interval::Missing { missing }, .. } => Some(missing),
        MeasuredFigure::Known { .. } => None,
        MeasuredFigure::Failed { reason } | MeasuredFigure::Missing { reason } => Some(reason),
    }
}

/// Formats the value of a tick with no more decimals than it needs: `0.25`, `12,000`.
pub(crate) fn tick_text(value: f64) -> String {
    if value.abs() >= 1e15 {
        return typeset(&format!("{value:e}"));
    }
    // A tick is a few steps of 1, 2 or 5 away from a round number; the rest is rounding.
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = if value.abs() >= 1e4 { grouped(value.trunc()) } else { whole.to_owned() };
    match (whole.as_str(), fraction) {
        ("-0", "") => "0".to_owned(),
        (_, "") => typeset(&whole),
        _ => typeset(&format!("{whole}.{fraction}")),
    }
}

/// Readable unit of an axis, and the divisor that leads to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AxisUnit {
    pub(crate) by: f64,
    pub(crate) name: &'static str,
}

impl AxisUnit {
    /// Returns the unit for figures in `unit` (`1/s`, `B/s`, `ns`, `s` or another) up to `most`.
    pub(crate) fn for_size(unit: &str, most: f64) -> AxisUnit {
        let steps: &[(f64, &'static str)] = match unit {
            "B/s" => {
                &[(1.0, "B/s"), (1024.0, "KiB/s"), (1048576.0, "MiB/s"), (1073741824.0, "GiB/s")]
            }
            "1/s" => &[(1.0, "IOPS"), (1e3, "thousand IOPS"), (1e6, "million IOPS")],
            "ns" => &[(1.0, "ns"), (1e3, "\u{b5}s"), (1e6, "ms"), (1e9, "s")],
            "s" => &[(1.0, "seconds"), (60.0, "minutes"), (3600.0, "hours")],
            _ => &[(1.0, "")],
        };
        let fits = |step: &&(f64, &'static str)| most.abs() >= 5.0 * step.0;
        let (by, name) = *steps.iter().rev().find(fits).unwrap_or(&steps[0]);
        AxisUnit { by, name }
    }

    /// Returns the name of the unit, with the word for what is counted in place of `IOPS`.
    pub(crate) fn name_counting(&self, counted: &str) -> String {
        self.name.replace("IOPS", counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends_and_fits() {
        let name = "vm(cache=directsync,num-queues=4)";
        let short = shortened(name, 120.0);
        assert!(short.starts_with("vm(ca") && short.ends_with("s=4)"), "{short}");
        assert!(text_width(&short) <= 120.0);
        assert_eq!(shortened("loop", 120.0), "loop");
        assert_eq!(shortened(name, 0.0), "\u{2026}");
    }

    #[test]
    fn ticks_and_changes_have_the_digits_that_they_need() {
        let texts = [0.0, -0.0, 0.1 + 0.2, 12_000.0, -2.5, 1e20].map(tick_text);
        assert_eq!(texts, ["0", "0", "0.3", "12,000", "\u{2212}2.5", "1e20"]);
        let changes = [0.9388, 1.25, 1.0, 12.0].map(brief_change);
        assert_eq!(changes, ["\u{2212}6.1 %", "+25.0 %", "0 %", "+1100 %"]);
        assert_eq!([f64::NAN, 2.04, 3.0].map(px), ["0", "2", "3"]);
    }

    #[test]
    fn units_leave_a_readable_number() {
        let named = |unit, most| AxisUnit::for_size(unit, most).name;
        assert_eq!(named("1/s", 71_000.0), "thousand IOPS");
        assert_eq!(named("1/s", 900.0), "IOPS");
        assert_eq!(named("ns", 90_000.0), "\u{b5}s");
        assert_eq!(named("B/s", 1e9), "MiB/s");
        assert_eq!(named("?", f64::NAN), "");
    }

    #[test]
    fn what_is_no_xml_is_not_drawn() {
        let shown = drawable("a\u{1b}[2J\u{ffff}\n<b>&");
        assert_eq!(shown, "a\\u{1b}[2J\u{fffd} <b>&");
    }
}
