//! A comparison for programs. Fields are only ever added within a version.

use super::super::json::written;
use super::{Page, Renderer};
use iotax_analysis::findings::against::Against;
use serde::Serialize;

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "json", render };

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
    written(&Document { format: FORMAT, version: VERSION, against })
}
