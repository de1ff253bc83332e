//! Charts of a run as SVG, and as PNG with the feature `png`. A kind of chart is a file in `kinds`
//! and its entry in [`ALL`]; all draw with one frame (`frame`), one style sheet (`theme`) and one
//! form of rows (`rows`).
#![forbid(unsafe_code)]

mod drawing;
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

pub use drawing::ChartDrawing;
pub use kinds::bill::bill_chart;
pub use kinds::overtime::overtime_chart;
#[cfg(feature = "png")]
pub use png::{PngError, render_png};
pub use request::{ChartError, ChartQuantity, ChartRequest, chart, kinds_of_run};
pub use theme::{ChartTheme, page_rules};

use kinds::{bars, bill, drives, grid, heat, latency, limits, overtime, states, sweep, verdicts};

/// One kind of chart.
#[derive(Debug)]
pub struct ChartKind {
    /// Word for `--kind`.
    pub name: &'static str,
    /// What the chart shows, for lists of the kinds.
    pub about: &'static str,
    /// True if the chart can be of latencies and CPU times instead of rates.
    pub has_quantities: bool,
    /// Draws the chart; `None` if the run has no data for it.
    draw: fn(&ChartRequest) -> Option<ChartDrawing>,
}

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
