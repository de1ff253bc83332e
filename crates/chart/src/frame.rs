//! Axes and the frame that they make: the one scale of all charts. Ticks are counted, never
//! summed up in a loop, so that no value makes their number large.

use crate::shapes::{rectangle, segment};
use crate::text::{ChartLabel, px, text_width, tick_text};
use maud::{Markup, html};

#[derive(Clone, Copy, Debug, PartialEq)]
enum AxisForm {
    Even,
    /// Equal ratios are equal lengths.
    Log,
    /// Equal numbers of nines of a quantile are equal lengths.
    Nines,
}

/// Scale of one direction with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChartAxis {
    form: AxisForm,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

/// Values beyond this are drawn at the end of the axis.
const FARTHEST: f64 = 1e15;
/// Most ticks of an axis.
const MOST_TICKS: usize = 24;

impl ChartAxis {
    /// Returns an even axis that holds all values that are numbers, with about `parts` parts.
    pub(crate) fn even(values: impl IntoIterator<Item = f64>, parts: f64) -> ChartAxis {
        let (low, high) = extent(values).unwrap_or((0.0, 1.0));
        let least = (low.abs().max(high.abs()) * 1e-6).max(1e-9);
        let (low, high) =
            if high - low < least { (low - least, high + least) } else { (low, high) };
        let step = nice_step((high - low) / parts.max(1.0));
        let (from, to) = ((low / step).floor() * step, (high / step).ceil() * step);
        let count = (((to - from) / step).round() as usize).clamp(1, MOST_TICKS);
        let ticks = (0..=count).map(|tick| from + tick as f64 * step).collect();
        ChartAxis { form: AxisForm::Even, from, to, ticks }
    }

    /// Returns the axis cut off at its lower end, where no value can lie: at -100 % for losses.
    pub(crate) fn ending_at(mut self, low: f64) -> ChartAxis {
        if self.from < low && low < self.to {
            self.from = low;
            self.ticks.retain(|tick| *tick >= low);
        }
        self
    }

    /// Returns the axis cut off at its upper end, as at the end of a run.
    pub(crate) fn ending_before(mut self, high: f64) -> ChartAxis {
        if self.from < high && high < self.to {
            self.to = high;
            self.ticks.retain(|tick| *tick <= high);
        }
        self
    }

    /// Returns a logarithmic axis that holds all values above zero, with a margin.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>) -> ChartAxis {
        let above = values.into_iter().filter(|value| *value > 0.0);
        let (low, high) = extent(above).unwrap_or((1.0, 10.0));
        let low = low.max(1e-15);
        let air = if high / low < 1.5 { 1.3 } else { 1.08 };
        let (from, to) = (low / air, (high * air).max(low * 1.2));
        let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
        let steps: &[f64] = match (to / from).log10() {
            many if many > 5.0 => &[1.0],
            few if few > 0.8 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let ticks = decades.flat_map(|ten| steps.iter().map(move |step| step * 10f64.powi(ten)));
        let mut ticks: Vec<f64> = ticks.filter(|tick| (from..=to).contains(tick)).collect();
        let many = ticks.len().div_ceil(MOST_TICKS / 2).max(1);
        ticks = ticks.into_iter().step_by(many).collect();
        ChartAxis { form: AxisForm::Log, from, to, ticks }
    }

    /// Returns an axis of quantiles from 0 to `most`, in nines.
    pub(crate) fn nines(most: f64) -> ChartAxis {
        let to = if most.is_finite() { most.clamp(0.9, 0.999_999_9) } else { 0.9 };
        let marks = [0.0, 0.5, 0.9, 0.99, 0.999, 0.999_9, 0.999_99, 0.999_999];
        let ticks = marks.into_iter().filter(|mark| *mark <= to + 1e-12).collect();
        ChartAxis { form: AxisForm::Nines, from: 0.0, to, ticks }
    }

    /// Returns where a value lies between the ends of the axis: 0 to 1, 0 for what is no number.
    pub(crate) fn share_of(&self, value: f64) -> f64 {
        let share = match self.form {
            AxisForm::Even => (value - self.from) / (self.to - self.from),
            AxisForm::Log => (value.max(self.from) / self.from).ln() / (self.to / self.from).ln(),
            AxisForm::Nines => nines(value) / nines(self.to),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    pub(crate) fn begin(&self) -> f64 {
        self.from
    }

    pub(crate) fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Replaces the ticks, by the values of a sweep for example.
    pub(crate) fn with_ticks(mut self, ticks: Vec<f64>) -> ChartAxis {
        self.ticks = ticks;
        self
    }
}

/// Returns the number of nines of a quantile: 0.99 has two.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).clamp(1e-9, 1.0).log10()
}

fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let held = values.into_iter().filter(|value| value.is_finite());
    let held = held.map(|value| value.clamp(-FARTHEST, FARTHEST));
    held.fold(None, |ends, value| {
        let (low, high) = ends.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Returns the smallest step of 1, 2 or 5 times a power of ten that is at least `rough`.
fn nice_step(rough: f64) -> f64 {
    let rough = if rough.is_finite() { rough.clamp(1e-12, 1e18) } else { 1.0 };
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0].into_iter().map(|step| step * power);
    steps.into_iter().find(|step| *step >= rough).unwrap_or(10.0 * power)
}

/// A rectangle of the drawing with an axis below it and one at its left.
pub(crate) struct ChartFrame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: ChartAxis,
    pub(crate) y: ChartAxis,
}

impl ChartFrame {
    pub(crate) fn x_of(&self, value: f64) -> f64 {
        self.left + self.width * self.x.share_of(value)
    }

    pub(crate) fn y_of(&self, value: f64) -> f64 {
        self.top + self.height * (1.0 - self.y.share_of(value))
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub(crate) fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Draws a line across the frame at a value.
    pub(crate) fn level(&self, class: &str, value: f64) -> Markup {
        segment(class, (self.left, self.y_of(value)), (self.right(), self.y_of(value)))
    }

    /// Draws the band in which a difference from 0 is negligible.
    pub(crate) fn zone(&self, half: f64) -> Markup {
        let [top, bottom] = [half, -half].map(|end| self.y_of(end));
        rectangle("zone", (self.left, top), (self.width, bottom - top))
    }

    /// Draws the lines of the ticks at the left, with their labels.
    pub(crate) fn y_grid(&self, label: impl Fn(f64) -> String) -> Markup {
        let ticks = self.y.ticks().iter().map(|tick| (self.y_of(*tick), label(*tick)));
        let mut last = f64::INFINITY;
        let kept = ticks.filter(|(y, _)| {
            let fits = last - y >= 15.0;
            if fits {
                last = *y;
            }
            fits
        });
        let shown = ChartLabel {
            x: self.left - 6.0,
            y: 0.0,
            anchor: "end",
            class: "soft",
            room: f64::INFINITY,
        };
        html! {
            @for (y, text) in kept {
                (segment("grid", (self.left, y), (self.right(), y)))
                (ChartLabel { y: y + 4.0, ..shown }.draw(&text))
            }
        }
    }

    /// Draws the lines of the ticks below, with those labels that have room.
    pub(crate) fn x_grid(&self, label: impl Fn(f64) -> String) -> Markup {
        let axis = HorizontalTicks { frame: self, label: &label };
        html! {
            @for x in self.x.ticks().iter().map(|tick| self.x_of(*tick)) {
                (segment("grid", (x, self.top), (x, self.bottom())))
            }
            (axis.labels(self.bottom() + 16.0))
        }
    }

    /// Draws both axes of plain numbers with the names of what they count.
    pub(crate) fn grid(&self, x_name: &str, y_name: &str) -> Markup {
        html! { (self.y_grid(tick_text)) (self.x_grid(tick_text)) (self.names(x_name, y_name)) }
    }

    /// Draws the names of both axes: below at the right, and above at the left.
    pub(crate) fn names(&self, x_name: &str, y_name: &str) -> Markup {
        let right = ChartLabel {
            x: self.right(),
            y: self.bottom() + 32.0,
            anchor: "end",
            class: "soft",
            room: self.width,
        };
        let above = ChartLabel { x: self.left, y: self.top - 7.0, anchor: "start", ..right };
        html! { (right.draw(x_name)) (above.draw(y_name)) }
    }

    /// Returns the path of a line through points of the axes' values.
    pub(crate) fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        for (x, y) in points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()) {
            path += if path.is_empty() { "M" } else { "L" };
            path += &format!("{} {}", px(self.x_of(x)), px(self.y_of(y)));
        }
        path
    }

    /// Returns the path of dots, which a stroke with round ends draws.
    pub(crate) fn dots(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let points = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        points.map(|(x, y)| format!("M{} {}h0", px(self.x_of(x)), px(self.y_of(y)))).collect()
    }
}

/// Labels of the ticks below a frame: as many as there is room for.
struct HorizontalTicks<'a> {
    frame: &'a ChartFrame,
    label: &'a dyn Fn(f64) -> String,
}

impl HorizontalTicks<'_> {
    fn labels(&self, y: f64) -> Markup {
        let right = self.frame.right();
        let mut free = f64::NEG_INFINITY;
        let mut kept = Vec::new();
        for tick in self.frame.x.ticks() {
            let (x, text) = (self.frame.x_of(*tick), (self.label)(*tick));
            let half = text_width(&text) / 2.0;
            // The outer labels stay within the drawing.
            let x = x.min(right + 30.0 - half);
            if x - half >= free {
                free = x + half + 8.0;
                kept.push((x, text));
            }
        }
        let shown = ChartLabel { x: 0.0, y, anchor: "middle", class: "soft", room: f64::INFINITY };
        html! { @for (x, text) in kept { (ChartLabel { x, ..shown }.draw(&text)) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRANGE: [f64; 9] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1e308,
        -1e308,
        f64::MIN_POSITIVE,
        4e-320,
    ];

    #[test]
    fn no_value_makes_an_axis_endless_or_empty() {
        let check = |axis: ChartAxis| {
            assert!(axis.from.is_finite() && axis.to > axis.from, "{axis:?}");
            assert!(axis.ticks.len() <= MOST_TICKS + 1, "{axis:?}");
            for value in STRANGE {
                assert!((0.0..=1.0).contains(&axis.share_of(value)), "{axis:?}");
            }
        };
        for a in STRANGE {
            check(ChartAxis::nines(a));
            for b in STRANGE {
                check(ChartAxis::even([a, b], 4.0));
                check(ChartAxis::even([a, b], a));
                check(ChartAxis::log([a, b]));
            }
        }
        check(ChartAxis::even([], 4.0));
        check(ChartAxis::even([1e9, 1e9 + 1e-7], 4.0));
        check(ChartAxis::log([]));
    }

    #[test]
    fn axes_hold_their_values_on_round_ticks() {
        let axis = ChartAxis::even([-16.2, 3.0], 4.0);
        assert_eq!(axis.ticks(), [-20.0, -15.0, -10.0, -5.0, 0.0, 5.0]);
        assert_eq!(axis.share_of(-20.0), 0.0);
        let losses = ChartAxis::even([-99.0, 130.0], 4.0).ending_at(-100.0);
        assert_eq!((losses.begin(), losses.ticks()[0]), (-100.0, -100.0));
        let log = ChartAxis::log([1.0, 64.0]);
        assert!((log.share_of(8.0) - 0.5).abs() < 1e-9, "{log:?}");
        assert_eq!(log.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0]);
        let nines = ChartAxis::nines(0.999);
        assert!((nines.share_of(0.9) - 1.0 / 3.0).abs() < 1e-9);
        assert_eq!(nines.ticks(), [0.0, 0.5, 0.9, 0.99, 0.999]);
    }
}
