//! Renderers of what one scenario showed on many hosts.

mod brief;
mod csv;
pub(crate) mod sheet;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use super::document::Document;
use super::json::document_text;
use super::{PageContext, html, markdown, terminal};
use iotax_analysis::findings::fleet::FleetFindings;
use serde::Serialize;

pub use brief::{FLEET_LINES, brief};
pub use sheet::fleet_title;

pub struct FleetRenderer {
    pub name: &'static str,
    /// Endings of files for which the renderer is chosen; the usual one first.
    pub endings: &'static [&'static str],
    pub render: fn(&FleetFindings, &PageContext) -> String,
}

pub const ALL: &[&FleetRenderer] = &[
    &FleetRenderer { name: "terminal", endings: &["txt"], render: in_terminal },
    &FleetRenderer { name: "markdown", endings: &["md", "markdown"], render: in_markdown },
    &FleetRenderer { name: "html", endings: &["html", "htm"], render: as_page },
    &FleetRenderer { name: "json", endings: &["json"], render: |found, _| json_text(found) },
    &csv::RENDERER,
];

pub fn by_name(name: &str) -> Option<&'static FleetRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}

const FORMAT: &str = "iotax-fleet";
/// Version of the format, raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct FleetDocument<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    findings: &'a FleetFindings,
}

fn json_text(findings: &FleetFindings) -> String {
    document_text(&FleetDocument { format: FORMAT, version: VERSION, findings })
}

fn in_terminal(found: &FleetFindings, page: &PageContext) -> String {
    terminal::document_text(&Document::from_fleet(found), page)
}

fn in_markdown(found: &FleetFindings, _page: &PageContext) -> String {
    markdown::document_text(&Document::from_fleet(found))
}

fn as_page(found: &FleetFindings, _page: &PageContext) -> String {
    let document = Document::from_fleet(found);
    let title = format!("{} \u{b7} iotax fleet", document.title);
    html::page_of(&title, std::slice::from_ref(&document))
}
