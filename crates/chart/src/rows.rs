//! Rows below each other on one horizontal axis: bars, dots and whiskers with a name at the left
//! and the figure at the right.

use crate::drawing::{MARGIN, WIDTH};
use crate::frame::{ChartAxis, ChartFrame};
use crate::shapes::{circle, diamond, path, rectangle, segment};
use crate::text::{ChartLabel, drawable, px, text_width};
use maud::{Markup, html};

/// One row of a [`RowChart`]; what is `None` or empty is not drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChartRow {
    pub(crate) name: String,
    /// `cost`, `gain`, `none`, `open`, or `level` for an absolute figure.
    pub(crate) class: &'static str,
    pub(crate) bar: Option<(f64, f64)>,
    pub(crate) dot: Option<f64>,
    /// Ends of the interval.
    pub(crate) whisker: Option<(f64, f64)>,
    /// Published figures.
    pub(crate) diamonds: Vec<f64>,
    /// Ceilings: class of the line, and its position.
    pub(crate) limits: Vec<(&'static str, f64)>,
    /// Figure at the right end.
    pub(crate) figure: String,
    /// Longer text for who points at the row.
    pub(crate) words: String,
    /// True for a heading over the rows that follow.
    pub(crate) is_heading: bool,
    /// True if a dotted line leads from the end of the bar to the next row.
    pub(crate) is_linked: bool,
}

impl ChartRow {
    pub(crate) fn heading(name: impl Into<String>) -> ChartRow {
        ChartRow { name: name.into(), is_heading: true, ..ChartRow::default() }
    }

    /// Returns everything of the row that has a position on the axis.
    pub(crate) fn values(&self) -> impl Iterator<Item = f64> {
        let pairs = self.bar.into_iter().chain(self.whisker).flat_map(|(a, b)| [a, b]);
        let limits = self.limits.iter().map(|(_, value)| *value);
        pairs.chain(self.dot).chain(self.diamonds.iter().copied()).chain(limits)
    }

    fn height(&self, row: f64) -> f64 {
        if self.is_heading { row + 4.0 } else { row }
    }
}

pub(crate) struct RowChart {
    pub(crate) rows: Vec<ChartRow>,
    pub(crate) axis: ChartAxis,
    pub(crate) axis_name: String,
    /// Text of a tick.
    pub(crate) tick: fn(f64) -> String,
    /// Band in which a difference is negligible.
    pub(crate) zone: Option<(f64, f64)>,
    /// Value of the line that bars or changes begin at.
    pub(crate) origin: Option<f64>,
}

/// Most pixels of a row's name, and of its figure.
const MOST_NAME: f64 = 270.0;
const MOST_FIGURE: f64 = 230.0;

impl RowChart {
    /// Draws the chart, and returns it with its height.
    pub(crate) fn draw(&self) -> (Markup, f64) {
        let row = if self.rows.len() > 24 { 20.0 } else { 28.0 };
        let widest = |texts: &dyn Fn(&ChartRow) -> f64, most: f64| {
            self.rows.iter().map(texts).fold(40.0, f64::max).min(most)
        };
        let name_room = widest(
            &|row| if row.is_heading { 0.0 } else { text_width(&drawable(&row.name)) },
            MOST_NAME,
        );
        let figure_room = widest(&|row| text_width(&row.figure), MOST_FIGURE);
        let left = MARGIN + name_room + 16.0;
        let height = self.rows.iter().map(|one| one.height(row)).sum::<f64>().max(row);
        let frame = ChartFrame {
            left,
            top: 4.0,
            width: WIDTH - MARGIN - figure_room - 26.0 - left,
            height,
            x: self.axis.clone(),
            y: ChartAxis::even([], 1.0),
        };
        let body = html! {
            (self.background(&frame))
            (frame.x_grid(self.tick))
            @if let Some(x) = self.origin.map(|origin| frame.x_of(origin)) {
                (segment("zero", (x, frame.top), (x, frame.bottom())))
            }
            (self.all_rows(&frame, row, name_room, figure_room))
            (frame.names(&self.axis_name, ""))
        };
        (body, height + 52.0)
    }

    fn background(&self, frame: &ChartFrame) -> Markup {
        html! {
            @if let Some((low, high)) = self.zone {
                @let [low, high] = [low, high].map(|end| frame.x_of(end));
                (rectangle("zone", (low, frame.top), (high - low, frame.height)))
            }
        }
    }

    fn all_rows(&self, frame: &ChartFrame, height: f64, names: f64, figures: f64) -> Markup {
        let mut top = frame.top;
        let middles = self.rows.iter().map(|row| {
            top += row.height(height);
            (row, top - row.height(height) / 2.0)
        });
        html! {
            @for (row, middle) in middles {
                (RowPlace { frame, middle, height, names, figures }.draw(row))
            }
        }
    }
}

/// Where a row is drawn.
struct RowPlace<'a> {
    frame: &'a ChartFrame,
    middle: f64,
    height: f64,
    names: f64,
    figures: f64,
}

impl RowPlace<'_> {
    fn draw(&self, row: &ChartRow) -> Markup {
        let y = self.middle + 4.0;
        if row.is_heading {
            let room = WIDTH - 2.0 * MARGIN;
            let label = ChartLabel { x: MARGIN, y, anchor: "start", class: "head", room };
            // The lines of the axis end above a heading and go on below it.
            let top = self.middle - row.height(self.height) / 2.0;
            let behind = rectangle("paper", (0.0, top), (WIDTH, row.height(self.height)));
            return html! { (behind) (label.draw(&row.name)) };
        }
        let name = ChartLabel { x: MARGIN, y, anchor: "start", class: "", room: self.names + 1.0 };
        let figure =
            ChartLabel { x: WIDTH - MARGIN, anchor: "end", room: self.figures + 1.0, ..name };
        html! {
            (name.draw(&row.name))
            g { @if !row.words.is_empty() { title { (drawable(&row.words)) } } (self.marks(row)) }
            (figure.draw(&row.figure))
        }
    }

    fn marks(&self, row: &ChartRow) -> Markup {
        let x = |value: f64| self.frame.x_of(value);
        let (half, edge) = (0.32 * self.height, 0.46 * self.height);
        html! {
            @if let Some((from, to)) = row.bar {
                @let (low, high) = (x(from).min(x(to)), x(from).max(x(to)));
                @let size = ((high - low).max(1.0), 2.0 * half);
                (rectangle(&format!("bar {}", row.class), (low, self.middle - half), size))
                @if from.min(to) < self.frame.x.begin() { (self.torn(half)) }
                @if row.is_linked {
                    @let next = self.middle + self.height - half;
                    (segment("step", (x(to), self.middle + half), (x(to), next)))
                }
            }
            @for (class, x) in row.limits.iter().map(|(class, value)| (class, x(*value))) {
                @let ends = (self.middle - edge, self.middle + edge);
                (segment(&format!("limit {class}"), (x, ends.0), (x, ends.1)))
            }
            (self.interval(row))
            @for value in &row.diamonds { (diamond((x(*value), self.middle))) }
        }
    }

    /// Draws the mark of a bar that begins before the axis does.
    fn torn(&self, half: f64) -> Markup {
        let (x, y, rise) = (self.frame.left + 10.0, self.middle + half + 1.0, 2.0 * half + 2.0);
        path("torn", &format!("M{} {}l7-{}", px(x), px(y), px(rise)))
    }

    /// Draws a dot with a thick line, or the whisker of a bar. A point without an interval is
    /// hollow.
    fn interval(&self, row: &ChartRow) -> Markup {
        let x = |value: f64| self.frame.x_of(value);
        let y = self.middle;
        let bare = if row.whisker.is_none() { " bare" } else { "" };
        let ends = row.whisker.map(|(low, high)| (x(low), x(high)));
        html! {
            @match (ends, row.dot) {
                (Some((low, high)), Some(_)) => {
                    (segment(&format!("reach {}", row.class), (low, y), (high, y)))
                },
                (Some((low, high)), None) => {
                    @let (low, top, high) = (px(low), px(y - 4.0), px(high));
                    (path("whisker", &format!("M{low} {top}v8m0-4H{high}m0-4v8")))
                },
                _ => {},
            }
            @if let Some(value) = row.dot {
                (circle(&format!("dot {}{bare}", row.class), (x(value), y), 5.0))
            }
        }
    }
}
