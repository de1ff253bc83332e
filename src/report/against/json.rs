//! A comparison for programs. Fields are only ever added within a version.

use super::{Page, Renderer};
use crate::bill::against::Against;
use serde::Serialize;

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "json", help: "all of it for programs", render };

/// Name of the format.
pub const FORMAT: &str = "iotax-comparison";
/// Raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    against: &'a Against,
}

fn render(against: &Against, _page: &Page) -> String {
    let document = Document { format: FORMAT, version: VERSION, against };
    // Our own types always serialize; should one ever not, the reason is worth more than a panic.
    serde_json::to_string_pretty(&document)
        .map_or_else(|error| format!("{{\"error\": {:?}}}\n", error.to_string()), |text| text + "\n")
}
