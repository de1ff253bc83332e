//! Drawings as inline SVG. Horizontal positions are percentages, so a drawing stretches with the
//! page while its text and strokes keep their size. Every drawing has a title for those who cannot
//! see it.

use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::limits::CourseFinding;
use iotax_stats::bucket::CourseShape;
use iotax_units::show_ns;
use maud::{Markup, html};

/// Interval of a ratio, drawn as its change in percent of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    low: f64,
    middle: f64,
    high: f64,
}

impl Bar {
    pub(super) fn from_ratio(ratio: &MeasuredFigure) -> Option<Bar> {
        let (low, high) = ratio.bounds()?;
        let change = |ratio: f64| 100.0 * (ratio - 1.0);
        Some(Bar { low: change(low), middle: change(ratio.value()?), high: change(high) })
    }
}

/// Axis that several bars share, in percent of the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    from: f64,
    to: f64,
    step: f64,
}

/// Limit of bars in percent; longer ones are cut off with the axis.
const FARTHEST: f64 = 1e4;

impl Scale {
    pub(super) fn holding_bars(bars: &[Bar], zone: f64) -> Scale {
        let low = bars.iter().map(|bar| bar.low).fold(-zone * 1.5, f64::min).max(-100.0);
        let high = bars.iter().map(|bar| bar.high).fold(zone * 1.5, f64::max).min(FARTHEST);
        let step = nice_step((high - low) / 4.0);
        Scale { from: (low / step).floor() * step, to: (high / step).ceil() * step, step }
    }

    fn left_percent(&self, value: f64) -> String {
        let share = 100.0 * (value - self.from) / (self.to - self.from);
        format!("{:.2}%", share.clamp(0.0, 100.0))
    }

    /// Returns the class of a tick: every other one has no room for its label on a phone, but zero
    /// keeps it.
    fn class(&self, tick: f64) -> &'static str {
        if (tick / self.step).round() as i64 % 2 == 0 { "even" } else { "odd" }
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.to - self.from) / self.step).round() as i32;
        (0..=count).map(|tick| self.from + f64::from(tick) * self.step).collect()
    }
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`.
pub(super) fn nice_step(rough: f64) -> f64 {
    let power = 10f64.powf(rough.max(1e-3).log10().floor());
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|step| step * power)
        .find(|step| *step >= rough)
        .unwrap_or(10.0 * power)
}

/// Draws one interval on the shared axis, as high as the name next to it.
pub(super) fn interval(
    bar: Option<Bar>,
    scale: Scale,
    zone: f64,
    class: &str,
    words: &str,
) -> Markup {
    html! {
        div class="lane" {
            svg class=(class) role="img" aria-label=(words) {
                title { (words) }
                (zone_of(scale, zone))
                @for tick in scale.ticks() {
                    line class="grid" x1=(scale.left_percent(tick)) x2=(scale.left_percent(tick)) y1="0" y2="100%" {}
                }
                line class="zero" x1=(scale.left_percent(0.0)) x2=(scale.left_percent(0.0)) y1="0" y2="100%" {}
                @if let Some(bar) = bar {
                    line class="whisker" x1=(scale.left_percent(bar.low)) x2=(scale.left_percent(bar.high)) y1="50%" y2="50%" {}
                    circle class="dot" cx=(scale.left_percent(bar.middle)) cy="50%" r="5.5" {}
                }
            }
        }
    }
}

fn zone_of(scale: Scale, zone: f64) -> Markup {
    let width = 100.0 * 2.0 * zone / (scale.to - scale.from);
    html! { rect class="zone" x=(scale.left_percent(-zone)) width={ (format!("{width:.2}")) "%" } y="0" height="100%" {} }
}

pub(super) fn axis(scale: Scale) -> Markup {
    let decimals = usize::from(scale.step < 1.0);
    html! {
        svg height="20" aria-hidden="true" {
            @for tick in scale.ticks() {
                text class=(scale.class(tick)) x=(scale.left_percent(tick)) y="14" text-anchor=(anchor(tick, scale)) {
                    @if tick.abs() < 1e-9 { "0 %" } @else { (format!("{tick:+.decimals$} %").replace('-', "\u{2212}")) }
                }
            }
        }
    }
}

/// Returns the anchor of a tick's label, which keeps the outer labels inside the drawing.
fn anchor(tick: f64, scale: Scale) -> &'static str {
    match () {
        () if tick <= scale.from => "start",
        () if tick >= scale.to - scale.step / 2.0 => "end",
        () => "middle",
    }
}

pub(super) struct Curve<'a> {
    pub(super) points: &'a [(f64, u64)],
    pub(super) class: String,
}

const HEIGHT: f64 = 300.0;
const TOP: f64 = 10.0;
/// Percent of the width to the left of the first percentile, for the labels of the latencies.
const LEFT: f64 = 12.0;
const MARKS: [(f64, &str); 6] =
    [(0.0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99 %")];

/// Draws latency over percentile; both axes are logarithmic, the percentiles in nines.
pub(super) fn latencies(curves: &[Curve], words: &str) -> Markup {
    let all = || curves.iter().flat_map(|curve| curve.points.iter().copied());
    let low = all().map(|point| point.1).min().unwrap_or(1).max(1) as f64;
    let high = all().map(|point| point.1).max().unwrap_or(1).max(2) as f64;
    let frame =
        PlotFrame::spanning(low, high, all().map(|point| nines(point.0)).fold(1.0, f64::max));
    html! {
        svg height=(HEIGHT + 24.0) role="img" aria-label=(words) {
            title { (words) }
            @for ns in frame.latency_ticks() {
                line class="grid" x1={ (LEFT) "%" } x2="100%" y1=(frame.y(ns)) y2=(frame.y(ns)) {}
                text x={ (LEFT - 1.0) "%" } y=(frame.y(ns)) text-anchor="end" dominant-baseline="middle" { (tick_words(ns)) }
            }
            @for (q, label) in MARKS.iter().filter(|(q, _)| nines(*q) <= frame.nines + 1e-9) {
                line class="grid" x1=(frame.x(*q)) x2=(frame.x(*q)) y1=(TOP) y2=(HEIGHT) {}
                text x=(frame.x(*q)) y=(HEIGHT + 18.0) text-anchor=(if nines(*q) > frame.nines - 0.2 { "end" } else { "middle" }) { (label) }
            }
            @for curve in curves {
                @for pair in curve.points.windows(2) {
                    line class={ "curve " (curve.class) } x1=(frame.x(pair[0].0)) y1=(frame.y(pair[0].1 as f64))
                        x2=(frame.x(pair[1].0)) y2=(frame.y(pair[1].1 as f64)) {}
                }
            }
        }
    }
}

const SEGMENTS: usize = 240;
const COURSE_HEIGHT: f64 = 180.0;

/// Draws how much a course of load completed over time, and the line of the limiter that was found.
pub(super) fn course(course: &CourseFinding) -> Markup {
    let seconds = course.seconds.max(1e-9);
    let most = course.points.last().map_or(1.0, |point| point.1.max(1e-9));
    let x = |at: f64| format!("{:.2}%", LEFT + (100.0 - LEFT) * at / seconds);
    let y = |amount: f64| {
        format!("{:.1}", COURSE_HEIGHT - (COURSE_HEIGHT - TOP) * amount.max(0.0) / most)
    };
    let every = course.points.len().div_ceil(SEGMENTS).max(1);
    let kept = course.points.iter().step_by(every).chain(course.points.last());
    let points: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(kept.copied()).collect();
    let limiter = match course.found {
        Some(CourseShape::Bucket(bucket)) => Some((bucket.burst.value, bucket.rate.value)),
        Some(CourseShape::Cap { rate }) => Some((0.0, rate.value)),
        _ => None,
    };
    let unit = if course.unit == "bytes" { f64::from(1 << 20) } else { 1.0 };
    let (step, grid) = (nice_step(seconds / 5.0), unit * nice_step(most / unit / 4.0));
    let ticks =
        |step: f64, end: f64| (0..=(end / step) as u32).map(move |tick| step * f64::from(tick));
    html! {
        svg height=(COURSE_HEIGHT + 24.0) role="img" aria-label=(course.sentence) {
            title { (course.sentence) }
            @for amount in ticks(grid, most) {
                line class="grid" x1={ (LEFT) "%" } x2="100%" y1=(y(amount)) y2=(y(amount)) {}
                text x={ (LEFT - 1.0) "%" } y=(y(amount)) text-anchor="end" dominant-baseline="middle" { (course.amount_phrase(amount)) }
            }
            @for at in ticks(step, seconds) {
                line class="grid" x1=(x(at)) x2=(x(at)) y1=(TOP) y2=(COURSE_HEIGHT) {}
                text x=(x(at)) y=(COURSE_HEIGHT + 18.0) text-anchor=(if at > 0.95 * seconds { "end" } else { "middle" }) { (format!("{at} s")) }
            }
            @for pair in points.windows(2) {
                line class="curve c0" x1=(x(pair[0].0)) y1=(y(pair[0].1)) x2=(x(pair[1].0)) y2=(y(pair[1].1)) {}
            }
            @if let Some((burst, rate)) = limiter {
                line class="curve c1" x1=(x(0.0)) y1=(y(burst)) x2=(x(seconds)) y2=(y((burst + rate * seconds).min(most))) {}
            }
        }
    }
}

struct PlotFrame {
    low: f64,
    high: f64,
    nines: f64,
}

impl PlotFrame {
    fn spanning(low: f64, high: f64, nines: f64) -> PlotFrame {
        // A margin keeps the range from being empty.
        PlotFrame { low: low / 1.15, high: high * 1.15, nines }
    }

    fn x(&self, q: f64) -> String {
        format!("{:.2}%", LEFT + (100.0 - LEFT) * nines(q) / self.nines)
    }

    fn y(&self, ns: f64) -> String {
        let share = (ns / self.low).ln() / (self.high / self.low).ln();
        format!("{:.1}", HEIGHT - (HEIGHT - TOP) * share)
    }

    /// Returns 1, 2 and 5 of each decade, or only decades if those would crowd.
    fn latency_ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.high / self.low > 2e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all =
            decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
        all.filter(|ns| (self.low..=self.high).contains(ns)).collect()
    }
}

/// Returns the number of nines: 0.99 is two.
fn nines(q: f64) -> f64 {
    -(1.0 - q).max(1e-9).log10()
}

/// Returns `200 us`: a tick needs no decimals.
pub(super) fn tick_words(ns: f64) -> String {
    show_ns(ns).replace(".00", "").replace(".0", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_axis_holds_bars_zero_and_zone() {
        let bars = [
            Bar { low: -16.2, middle: -15.7, high: -15.1 },
            Bar { low: -3.0, middle: -1.0, high: 1.0 },
        ];
        let scale = Scale::holding_bars(&bars, 2.0);
        assert_eq!(scale, Scale { from: -20.0, to: 5.0, step: 5.0 });
        assert_eq!(
            (scale.left_percent(-20.0), scale.left_percent(0.0)),
            ("0.00%".into(), "80.00%".into())
        );
        let none = Scale::holding_bars(&[], 2.0);
        assert!(none.from < -2.0 && none.to > 2.0);
        assert!(none.ticks().iter().any(|tick| tick.abs() < 1e-9));
    }

    #[test]
    fn an_axis_of_latencies_has_ticks_even_for_one_value() {
        assert_eq!(nice_step(0.3), 0.5);
        let frame = PlotFrame::spanning(90_000.0, 2_000_000.0, 4.0);
        assert_eq!(frame.latency_ticks().len(), 5);
        assert_eq!(tick_words(200_000.0), "200 us");
        assert_eq!(tick_words(1_000_000.0), "1 ms");
        assert_eq!(frame.x(0.0), "12.00%");
    }
}
