//! A comparison for programs. Within a version, fields are only added.

use super::super::json::document_text;
use super::{ComparisonRenderer, PageContext};
use iotax_analysis::findings::against::RunComparison;
use serde::Serialize;

pub const RENDERER: ComparisonRenderer = ComparisonRenderer { name: "json", render };

pub const FORMAT: &str = "iotax-comparison";
/// Version of the format, raised when a field changes its meaning or is removed.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct ComparisonDocument<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    against: &'a RunComparison,
}

fn render(against: &RunComparison, _page: &PageContext) -> String {
    document_text(&ComparisonDocument { format: FORMAT, version: VERSION, against })
}
