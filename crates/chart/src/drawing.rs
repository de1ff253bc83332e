//! A finished chart: title, legend, body and caption as one SVG that opens alone.

use crate::shapes::{circle, diamond, moved, rectangle, segment};
use crate::text::{ChartLabel, drawable, px, text_width};
use crate::theme::{ChartTheme, line_class, style_sheet};
use maud::{Markup, PreEscaped, html};

/// Width of every chart in pixels.
pub(crate) const WIDTH: f64 = 900.0;
/// Free space at the left and the right.
pub(crate) const MARGIN: f64 = 16.0;

/// Mark of a legend's entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LegendMark {
    /// The line of the series with this number.
    Line(usize),
    /// A line of this class.
    Plain(&'static str),
    /// A box of this class.
    Area(&'static str),
    /// A bar with this verdict.
    Bar(&'static str),
    Dot(&'static str),
    Diamond,
}

/// A chart of one kind, to be written as SVG.
#[derive(Clone, Debug)]
pub struct ChartDrawing {
    pub(crate) title: String,
    /// One sentence for those who cannot see the chart.
    pub(crate) description: String,
    pub(crate) legend: Vec<(LegendMark, String)>,
    pub(crate) height: f64,
    /// The chart itself, from a height of 0 to `height`.
    pub(crate) body: Markup,
    /// Lines below the chart: how to read it, and what it is of.
    pub(crate) notes: Vec<String>,
}

impl ChartDrawing {
    /// Returns the chart as a whole SVG file without references to anything outside.
    pub fn to_svg(&self, theme: ChartTheme) -> String {
        let (legend, legend_height) = draw_legend(&self.legend);
        let top = 48.0 + legend_height;
        let notes: Vec<String> = self.notes.iter().flat_map(|note| folded(note)).collect();
        let height = top + self.height + 18.0 * notes.len() as f64 + 22.0;
        let label = |y, class| ChartLabel {
            x: MARGIN,
            y,
            anchor: "start",
            class,
            room: WIDTH - 2.0 * MARGIN,
        };
        // Its letters are larger than all others.
        let title = ChartLabel { room: 0.75 * (WIDTH - 2.0 * MARGIN), ..label(28.0, "title") };
        let svg = html! {
            svg xmlns="http://www.w3.org/2000/svg" role="img" width=(px(WIDTH)) height=(px(height))
                viewBox={ "0 0 " (px(WIDTH)) " " (px(height)) } {
                title { (drawable(&self.title)) }
                desc { (drawable(&self.description)) }
                style { (PreEscaped(style_sheet(theme))) }
                rect class="paper" width="100%" height="100%" {}
                (title.draw(&self.title))
                (moved((0.0, 40.0), &legend))
                (moved((0.0, top), &self.body))
                @for (at, note) in notes.iter().enumerate() {
                    (label(top + self.height + 18.0 * (at as f64 + 1.0), "soft").draw(note))
                }
            }
        };
        svg.into_string()
    }

    /// Returns the chart for a page that has [`page_rules`](crate::page_rules) in its style sheet.
    /// The page has the title as a heading.
    pub fn to_page(&self) -> Markup {
        let (legend, top) = draw_legend(&self.legend);
        let words = drawable(&self.description);
        let view = format!("0 0 {} {}", px(WIDTH), px(top + self.height));
        html! {
            div class="scroll" tabindex="0" {
                svg class="chart" role="img" viewBox=(view) aria-label=(words) {
                    title { (words) }
                    (legend)
                    (moved((0.0, top), &self.body))
                }
            }
            @for note in &self.notes { p class="soft" { (drawable(note)) } }
        }
    }

    /// Returns the sentence that describes the chart.
    pub fn description(&self) -> &str {
        &self.description
    }
}

/// Draws the entries of a legend in lines, and returns the height that they take.
fn draw_legend(entries: &[(LegendMark, String)]) -> (Markup, f64) {
    const ROOM: f64 = 250.0;
    let (mut x, mut y) = (MARGIN, 12.0);
    let mut placed = Vec::new();
    for (mark, text) in entries {
        let width = 30.0 + text_width(&drawable(text)).min(ROOM) + 18.0;
        if x + width > WIDTH && x > MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        placed.push((x, y, mark, text));
        x += width;
    }
    let height = if entries.is_empty() { 0.0 } else { y + 12.0 };
    let label = |x, y| ChartLabel { x, y, anchor: "start", class: "", room: ROOM };
    let drawn = html! {
        @for (x, y, mark, text) in placed {
            (mark.draw(x, y))
            (label(x + 30.0, y + 4.0).draw(text))
        }
    };
    (drawn, height)
}

impl LegendMark {
    fn draw(&self, x: f64, y: f64) -> Markup {
        let stroke = |class: &str| segment(class, (x, y), (x + 24.0, y));
        match self {
            LegendMark::Line(number) => stroke(&format!("curve {}", line_class(*number))),
            LegendMark::Plain(class) => stroke(class),
            LegendMark::Area(class) => rectangle(class, (x, y - 6.0), (24.0, 12.0)),
            LegendMark::Bar(class) => {
                rectangle(&format!("bar {class}"), (x, y - 6.0), (24.0, 12.0))
            }
            LegendMark::Dot(class) => circle(&format!("dot {class}"), (x + 12.0, y), 4.5),
            LegendMark::Diamond => diamond((x + 12.0, y)),
        }
    }
}

/// Splits a text into lines of the chart's width.
fn folded(text: &str) -> Vec<String> {
    let text = drawable(text);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(line) + text_width(word) < WIDTH - 2.0 * MARGIN - 8.0 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.truncate(MOST_NOTE_LINES);
    lines
}

/// Most lines of one note.
const MOST_NOTE_LINES: usize = 4;
