//! The few shapes of which all charts are made, each with its class of the style sheet.

use crate::text::px;
use maud::{Markup, html};

/// A position in pixels.
pub(crate) type ChartPoint = (f64, f64);

pub(crate) fn segment(class: &str, from: ChartPoint, to: ChartPoint) -> Markup {
    let ([x1, x2], [y1, y2]) = ([from.0, to.0].map(px), [from.1, to.1].map(px));
    html! { line class=(class) x1=(x1) x2=(x2) y1=(y1) y2=(y2) {} }
}

/// Draws a rectangle from its upper left corner and its width and height.
pub(crate) fn rectangle(class: &str, corner: ChartPoint, size: ChartPoint) -> Markup {
    let ([x, width], [y, height]) = ([corner.0, size.0].map(px), [corner.1, size.1].map(px));
    html! { rect class=(class) x=(x) y=(y) width=(width) height=(height) {} }
}

pub(crate) fn circle(class: &str, centre: ChartPoint, radius: f64) -> Markup {
    html! { circle class=(class) cx=(px(centre.0)) cy=(px(centre.1)) r=(px(radius)) {} }
}

pub(crate) fn path(class: &str, steps: &str) -> Markup {
    html! { path class=(class) d=(steps) {} }
}

/// Draws a vertical bar, as of an interval.
pub(crate) fn upright(class: &str, x: f64, ends: (f64, f64)) -> Markup {
    path(class, &format!("M{} {}V{}", px(x), px(ends.0), px(ends.1)))
}

/// Draws the mark of a published figure.
pub(crate) fn diamond(centre: ChartPoint) -> Markup {
    path("diamond", &format!("M{} {}l6 6l-6 6l-6-6z", px(centre.0), px(centre.1 - 6.0)))
}

/// Moves a part of the drawing.
pub(crate) fn moved(by: ChartPoint, part: &Markup) -> Markup {
    html! { g transform=(format!("translate({} {})", px(by.0), px(by.1))) { (part) } }
}
