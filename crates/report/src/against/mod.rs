//! Renderers of two runs against each other, with the same numbers, tables and words as a report.
//! Only positions and digits are computed here.

mod json;
pub(super) mod sheet;
#[cfg(test)]
mod tests;

use super::document::Document;
use super::{PageContext, html, markdown, terminal};
use iotax_analysis::findings::against::RunComparison;

pub struct ComparisonRenderer {
    pub name: &'static str,
    pub render: fn(&RunComparison, &PageContext) -> String,
}

pub const ALL: &[&ComparisonRenderer] = &[
    &ComparisonRenderer { name: "terminal", render: in_terminal },
    &ComparisonRenderer { name: "markdown", render: in_markdown },
    &ComparisonRenderer { name: "html", render: as_page },
    &json::RENDERER,
];

pub fn by_name(name: &str) -> Option<&'static ComparisonRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}

fn in_terminal(against: &RunComparison, page: &PageContext) -> String {
    terminal::document_text(&Document::from_comparison(against), page)
}

fn in_markdown(against: &RunComparison, _page: &PageContext) -> String {
    markdown::document_text(&Document::from_comparison(against))
}

fn as_page(against: &RunComparison, _page: &PageContext) -> String {
    let document = Document::from_comparison(against);
    html::page_of(&document.title, std::slice::from_ref(&document))
}
