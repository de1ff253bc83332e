//! The findings for programs. Fields are only ever added within a version.

use super::{Page, Renderer};
use crate::bill::Findings;
use serde::Serialize;

/// Its entry.
pub const RENDERER: Renderer =
    Renderer { name: "json", help: "all findings for programs", extension: "json", render };

/// Name of the format.
pub const FORMAT: &str = "iotax-findings";
/// Raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    findings: &'a Findings,
}

fn render(findings: &Findings, _page: &Page) -> String {
    let document = Document { format: FORMAT, version: VERSION, findings };
    // Our own types always serialize; should one ever not, the reason is worth more than a panic.
    serde_json::to_string_pretty(&document)
        .map_or_else(|error| format!("{{\"error\": {:?}}}\n", error.to_string()), |text| text + "\n")
}
