//! Drawings of a sweep as inline SVG: cost over the swept value, and throughput against latency
//! with the knee. Widths are in percent and heights in pixels, as in `plot`, so that a phone gets
//! the same drawing.

use super::plot::{nice_step, tick_words};
use crate::typography::typographic;
use maud::{Markup, html};

/// One line of points, in the order along the axis.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) style: usize,
    pub(super) points: Vec<Dot>,
}

/// A point with its intervals: horizontally a swept value or a latency, vertically a change in
/// percent or a rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dot {
    pub(super) label: String,
    pub(super) x: Range,
    pub(super) y: Range,
    pub(super) knee: bool,
    pub(super) hollow: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) low: f64,
    pub(super) value: f64,
    pub(super) high: f64,
}

impl Range {
    pub(super) fn point(value: f64) -> Range {
        Range { low: value, value, high: value }
    }
}

const HEIGHT: f64 = 300.0;
const TOP: f64 = 14.0;
/// Left end, in percent of the width, of the range in which points lie; labels are to the left of
/// it.
const LEFT: f64 = 14.0;
const RIGHT: f64 = 96.0;
/// Widths in pixels of a drawing on the narrowest phone and on a desktop: labels must not collide
/// on either.
const WIDTHS: [f64; 2] = [300.0, 1030.0];
/// Width of a letter in pixels; [`LINE`] is the height of a line of text.
const LETTER: f64 = 6.6;
const LINE: f64 = 13.0;
/// Pixels by which series are shifted, so that their bars do not hide each other.
const STEP: f64 = 7.0;

/// A scale on which equal ratios are equal lengths.
#[derive(Clone, Copy, Debug)]
struct Log {
    low: f64,
    high: f64,
}

impl Log {
    /// Returns a scale that holds all ranges with a margin, the factor `air`, and is never empty.
    fn holding(ranges: impl Iterator<Item = Range> + Clone, air: f64) -> Log {
        let low = ranges
            .clone()
            .map(|range| range.low)
            .filter(|low| *low > 0.0)
            .fold(f64::INFINITY, f64::min);
        let high = ranges.map(|range| range.high).fold(0.0, f64::max);
        if low > high {
            Log { low: 1.0, high: 10.0 }
        } else {
            Log { low: low / air, high: high * air }
        }
    }

    fn share_of_axis(&self, value: f64) -> f64 {
        ((value.max(self.low) / self.low).ln() / (self.high / self.low).ln()).clamp(0.0, 1.0)
    }

    /// Returns 1, 2 and 5 of each decade, without those that are closer than `apart`, a share of
    /// the axis, to the one before.
    fn ticks(&self, apart: f64) -> Vec<f64> {
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(decade)));
        let inside: Vec<f64> = all.filter(|tick| (self.low..=self.high).contains(tick)).collect();
        thinned(inside, |tick| self.share_of_axis(*tick), apart)
    }
}

/// Keeps the elements whose position `at` is at least `apart` from that of the last one kept.
fn thinned<T>(all: Vec<T>, at: impl Fn(&T) -> f64, apart: f64) -> Vec<T> {
    let mut kept: Vec<T> = Vec::new();
    for one in all {
        if kept.last().is_none_or(|last| at(&one) - at(last) >= apart) {
            kept.push(one);
        }
    }
    kept
}

fn across(share: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * share
}

fn percent(share: f64) -> String {
    format!("{:.2}%", across(share))
}

fn up(share: f64) -> f64 {
    HEIGHT - (HEIGHT - TOP) * share
}

/// Scales and ticks of a drawing.
struct SweepFrame {
    x: Log,
    y: Upright,
    x_ticks: Vec<(f64, String)>,
    y_ticks: Vec<(f64, String)>,
    /// True if points of several series share a horizontal position, so that the series are
    /// shifted.
    aside: bool,
}

#[derive(Clone, Copy, Debug)]
enum Upright {
    Even { from: f64, to: f64 },
    Log(Log),
}

impl Upright {
    fn height_at(&self, value: f64) -> f64 {
        match self {
            Upright::Even { from, to } => up(((value - from) / (to - from)).clamp(0.0, 1.0)),
            Upright::Log(log) => up(log.share_of_axis(value)),
        }
    }
}

/// Draws the change of the rate over the swept value; `zone` is in percent.
pub(super) fn costs(series: &[Series], zone: f64, words: &str) -> Markup {
    let dots = || series.iter().flat_map(|one| &one.points);
    let low = dots().map(|dot| dot.y.low).fold(-1.5 * zone, f64::min).max(-100.0);
    let high = dots().map(|dot| dot.y.high).fold(1.5 * zone, f64::max).min(1e4);
    let step = nice_step((high - low) / 5.0);
    let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
    let count = ((to - from) / step).round() as i32;
    let ticks = (0..=count).map(|tick| from + f64::from(tick) * step);
    let tight = Log::holding(dots().map(|dot| dot.x), 1.0);
    // Shifted points at the first value must not reach the labels.
    let x = Log::holding(dots().map(|dot| dot.x), (tight.high / tight.low).max(2.0).powf(0.05));
    let mut values: Vec<(f64, String)> =
        dots().map(|dot| (dot.x.value, dot.label.clone())).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    values.dedup();
    let frame = SweepFrame {
        x_ticks: thinned(values, |(value, _)| x.share_of_axis(*value), 0.11),
        y_ticks: ticks.map(|tick| (tick, percent_words(tick, step))).collect(),
        x,
        y: Upright::Even { from, to },
        aside: true,
    };
    let (above, below) = (frame.y.height_at(zone), frame.y.height_at(-zone));
    let background = html! {
        rect class="zone" x=(percent(0.0)) width={ (format!("{:.2}", RIGHT - LEFT)) "%" } y=(px(above)) height=(px(below - above)) {}
        line class="zero" x1=(percent(0.0)) x2=(percent(1.0)) y1=(px(frame.y.height_at(0.0))) y2=(px(frame.y.height_at(0.0))) {}
    };
    frame.draw_frame(series, background, words)
}

/// Draws throughput against mean latency, both logarithmic: points of equal power lie on diagonals.
pub(super) fn throughputs(series: &[Series], words: &str) -> Markup {
    let dots = || series.iter().flat_map(|one| &one.points);
    let (x, y) =
        (Log::holding(dots().map(|dot| dot.x), 1.3), Log::holding(dots().map(|dot| dot.y), 1.3));
    let frame = SweepFrame {
        x_ticks: x.ticks(0.16).into_iter().map(|ns| (ns, tick_words(ns))).collect(),
        y_ticks: y.ticks(0.07).into_iter().map(|rate| (rate, rate_words(rate))).collect(),
        x,
        y: Upright::Log(y),
        aside: false,
    };
    frame.draw_frame(series, html! {}, words)
}

fn px(value: f64) -> String {
    format!("{value:.1}")
}

fn percent_words(tick: f64, step: f64) -> String {
    let decimals = usize::from(step < 1.0);
    if tick.abs() < 1e-9 { "0 %".to_owned() } else { typographic(&format!("{tick:+.decimals$} %")) }
}

/// Returns `20k`, `1M`: only ticks below one need decimals.
fn rate_words(rate: f64) -> String {
    match rate {
        rate if rate >= 1e6 => format!("{:.0}M", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.0}k", rate / 1e3),
        rate if rate >= 1.0 => format!("{rate:.0}"),
        rate => format!("{rate}"),
    }
}

impl SweepFrame {
    fn draw_frame(&self, series: &[Series], background: Markup, words: &str) -> Markup {
        html! {
            svg height=(px(HEIGHT + 24.0)) role="img" aria-label=(words) {
                title { (words) }
                (background)
                (self.axes())
                @for (number, one) in series.iter().enumerate() { (self.draw_line(one, self.shift(number, series.len()))) }
                @if !self.aside { (self.labels(series)) }
            }
        }
    }

    fn axes(&self) -> Markup {
        html! {
            @for (value, label) in &self.y_ticks {
                line class="grid" x1=(percent(0.0)) x2=(percent(1.0)) y1=(px(self.y.height_at(*value))) y2=(px(self.y.height_at(*value))) {}
                text x={ (format!("{:.2}", LEFT - 1.5)) "%" } y=(px(self.y.height_at(*value))) text-anchor="end" dominant-baseline="middle" { (label) }
            }
            @for (value, label) in &self.x_ticks {
                @let x = percent(self.x.share_of_axis(*value));
                line class="grid" x1=(x) x2=(x) y1=(TOP) y2=(HEIGHT) {}
                text x=(x) y=(HEIGHT + 18.0) text-anchor="middle" { (label) }
            }
        }
    }

    fn shift(&self, number: usize, of: usize) -> f64 {
        if self.aside { STEP * (number as f64 - (of as f64 - 1.0) / 2.0) } else { 0.0 }
    }

    fn draw_line(&self, series: &Series, shift: f64) -> Markup {
        let x = |value: f64| percent(self.x.share_of_axis(value));
        let y = |value: f64| px(self.y.height_at(value));
        html! {
            g transform={ "translate(" (px(shift)) ")" } {
                @for pair in series.points.windows(2) {
                    line class={ "curve c" (series.style) } x1=(x(pair[0].x.value)) y1=(y(pair[0].y.value))
                        x2=(x(pair[1].x.value)) y2=(y(pair[1].y.value)) {}
                }
                @for dot in &series.points {
                    g class={ "mark k" (series.style) } {
                        line x1=(x(dot.x.value)) x2=(x(dot.x.value)) y1=(y(dot.y.low)) y2=(y(dot.y.high)) {}
                        @if dot.x.low < dot.x.high { line x1=(x(dot.x.low)) x2=(x(dot.x.high)) y1=(y(dot.y.value)) y2=(y(dot.y.value)) {} }
                        circle class=(if dot.hollow { "hollow" } else { "full" }) cx=(x(dot.x.value)) cy=(y(dot.y.value)) r="4" {}
                        @if dot.knee { circle class="ring" cx=(x(dot.x.value)) cy=(y(dot.y.value)) r="9" {} }
                    }
                }
            }
        }
    }

    /// Draws the labels of points: knees first, then the others, each only if there is room.
    fn labels(&self, series: &[Series]) -> Markup {
        let all = || series.iter().flat_map(|one| &one.points);
        let dots: Vec<Label> = all().map(|dot| self.blot(dot)).collect();
        let mut placed: Vec<Label> = Vec::new();
        let (knees, others): (Vec<&Dot>, Vec<&Dot>) = all().partition(|dot| dot.knee);
        for dot in knees.into_iter().chain(others) {
            let free = |label: &Label| {
                label.is_inside() && !placed.iter().chain(&dots).any(|one| label.hits(one))
            };
            if let Some(label) = self.places(dot).into_iter().find(free) {
                placed.push(label);
            }
        }
        html! {
            @for label in &placed {
                text class=(if label.knee { "label knee" } else { "label" }) x=(percent(label.share)) dx=(px(label.dx)) y=(px(label.y)) text-anchor=(label.anchor) { (label.text) }
            }
        }
    }

    /// Returns where the label of a point may go, the best place first.
    fn places(&self, dot: &Dot) -> Vec<Label> {
        let (share, middle) = (self.x.share_of_axis(dot.x.value), self.y.height_at(dot.y.value));
        let away = if dot.knee { 12.0 } else { 7.0 };
        let text = if dot.knee { format!("knee {}", dot.label) } else { dot.label.clone() };
        let corners = [
            (1.0, LINE),
            (-1.0, -6.0),
            (1.0, -6.0),
            (-1.0, LINE),
            (1.0, 2.0 * LINE),
            (-1.0, -6.0 - LINE),
        ];
        let place = |(side, down): (f64, f64)| Label {
            text: text.clone(),
            share,
            dx: side * away,
            y: middle + down,
            anchor: if side > 0.0 { "start" } else { "end" },
            knee: dot.knee,
        };
        corners.into_iter().map(place).collect()
    }

    /// Returns the room that a point itself takes, with its ring.
    fn blot(&self, dot: &Dot) -> Label {
        let (share, y) =
            (self.x.share_of_axis(dot.x.value), self.y.height_at(dot.y.value) + LINE / 3.0);
        let text = if dot.knee { "ooo" } else { "o" };
        let dx = -LETTER / 2.0 * text.len() as f64;
        Label { text: text.into(), share, dx, y, anchor: "start", knee: false }
    }
}

struct Label {
    text: String,
    share: f64,
    dx: f64,
    y: f64,
    anchor: &'static str,
    knee: bool,
}

impl Label {
    fn extent(&self, pixels: f64) -> (f64, f64) {
        let x = pixels * across(self.share) / 100.0 + self.dx;
        let width = LETTER * self.text.chars().count() as f64;
        if self.anchor == "end" { (x - width, x) } else { (x, x + width) }
    }

    fn is_inside(&self) -> bool {
        let fits = |pixels: f64| {
            let (left, right) = self.extent(pixels);
            left >= pixels * LEFT / 100.0 && right <= pixels
        };
        WIDTHS.into_iter().all(fits) && self.y >= LINE && self.y <= HEIGHT
    }

    fn hits(&self, other: &Label) -> bool {
        let meets = |pixels: f64| {
            let (a, b) = (self.extent(pixels), other.extent(pixels));
            a.0 < b.1 && b.0 < a.1
        };
        (self.y - other.y).abs() < LINE && WIDTHS.into_iter().any(meets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_hold_their_points_and_ticks_keep_apart() {
        let log = Log::holding([1.0, 64.0].into_iter().map(Range::point), 1.0);
        assert!((log.share_of_axis(8.0) - 0.5).abs() < 1e-9);
        assert_eq!((log.share_of_axis(0.0), log.share_of_axis(1e9)), (0.0, 1.0));
        let ticks = Log { low: 90.0, high: 9e6 }.ticks(0.16);
        let gaps: Vec<f64> = ticks.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
        assert!(
            ticks.len() >= 4 && gaps.iter().all(|gap| *gap >= 0.16 * (1e5f64).ln()),
            "{ticks:?}"
        );
        let none = Log::holding(std::iter::empty(), 1.0);
        assert!(none.share_of_axis(5.0) > 0.0 && none.share_of_axis(5.0) < 1.0);
    }

    #[test]
    fn labels_stand_where_there_is_room_and_knees_first() {
        let dot = |x: f64, y: f64, knee| Dot {
            label: format!("{x}"),
            x: Range::point(x),
            y: Range::point(y),
            knee,
            hollow: false,
        };
        let crowd =
            (0..12).map(|at| dot(100.0 + f64::from(at), 10.0 + 0.1 * f64::from(at), at == 5));
        let points = crowd.chain([dot(900.0, 90.0, false)]).collect();
        let page =
            throughputs(&[Series { name: "a".into(), style: 0, points }], "words").into_string();
        assert!(page.contains(">knee 105<") && page.contains(">900<"), "{page}");
        let shown = page.matches("class=\"label\"").count();
        assert!(shown < 12, "{shown} labels in one place");
    }

    #[test]
    fn ticks_in_words() {
        assert_eq!([0.5, 20.0, 5e3, 2e6].map(rate_words), ["0.5", "20", "5k", "2M"]);
        assert_eq!(percent_words(-2.0, 1.0), "\u{2212}2\u{a0}%");
    }
}
