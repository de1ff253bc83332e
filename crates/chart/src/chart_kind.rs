//! The shape of a kind of chart.

use crate::drawing::ChartDrawing;
use crate::request::{ChartQuantity, ChartRequest};
use iotax_analysis::Findings;

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
    pub(crate) draw: fn(&ChartRequest) -> Option<ChartDrawing>,
}

impl ChartKind {
    pub(crate) fn offers(&self, quantity: ChartQuantity) -> bool {
        self.has_quantities || quantity == ChartQuantity::Rate
    }

    /// Draws the chart with a caption; `None` if the run has no data for it.
    pub(crate) fn drawing(&self, request: &ChartRequest) -> Option<ChartDrawing> {
        if !self.offers(request.quantity) {
            return None;
        }
        let mut drawing = (self.draw)(request)?;
        drawing.notes.push(caption(request.findings));
        Some(drawing)
    }
}

/// Returns the line below each chart: which run it is of, and whether its figures stand for more.
fn caption(findings: &Findings) -> String {
    let run = &findings.run;
    let name = run.name.as_ref().map(|name| format!(" \"{name}\"")).unwrap_or_default();
    let state = if run.is_complete() { String::new() } else { format!(", {}", run.state) };
    let at = iotax_units::show_minute(&run.at);
    let emulated = match findings.emulated.is_empty() {
        true => "",
        false => "; emulated, not representative",
    };
    format!("iotax run {}{name}, {at} UTC{state}{emulated}", run.id)
}
