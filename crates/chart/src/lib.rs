//! Charts of a run as SVG, and as PNG with the feature `png`. A kind of chart is a file in `kinds`
//! and its entry in [`ALL`]; all draw with one frame (`frame`), one style sheet (`theme`) and one
//! form of rows (`rows`).
#![forbid(unsafe_code)]

mod chart_kind;
mod choice;
mod drawing;
mod drawn_rows;
mod frame;
mod kinds;
#[cfg(feature = "png")]
mod png;
mod request;
mod rows;
mod shapes;
mod stack_axes;
#[cfg(test)]
mod tests;
mod text;
mod theme;
mod timeline;

pub use chart_kind::ChartKind;
pub use choice::{ChartError, chart, kinds_of_run};
pub use drawing::ChartDrawing;
pub use drawn_rows::DrawnRows;
pub use kinds::bill::bill_chart;
pub use kinds::latency::latency_chart;
pub use kinds::limits::courses_chart;
pub use kinds::overtime::overtime_chart;
pub use kinds::sweep::sweep_chart;
#[cfg(feature = "png")]
pub use png::{PngError, render_png};
pub use request::{ChartQuantity, ChartRequest};
pub use theme::{ChartTheme, page_rules};

use kinds::{bars, bill, drives, grid, heat, latency, limits, overtime, states, sweep, verdicts};

/// All kinds of charts. The first one that a run has data for is its best one.
pub const ALL: &[&ChartKind] = &[
    &limits::KIND,
    &states::KIND,
    &bill::KIND,
    &sweep::KIND,
    &grid::KIND,
    &verdicts::KIND,
    &drives::KIND,
    &bars::KIND,
    &latency::KIND,
    &overtime::KIND,
    &heat::KIND,
];
