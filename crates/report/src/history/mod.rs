//! Renderers of the history of a stack over many runs, with the same numbers, intervals and words
//! as a report.

mod csv;
pub(crate) mod sheet;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use super::document::Document;
use super::json::document_text;
use super::{PageContext, html, terminal};
use iotax_analysis::findings::history::StackHistory;
use serde::Serialize;

pub use sheet::{drift_sentences, history_title};

pub struct HistoryRenderer {
    pub name: &'static str,
    pub endings: &'static [&'static str],
    pub render: fn(&StackHistory, &PageContext) -> String,
}

pub const ALL: &[&HistoryRenderer] = &[
    &HistoryRenderer { name: "terminal", endings: &["txt"], render: in_terminal },
    &JSON,
    &csv::RENDERER,
    &HistoryRenderer { name: "html", endings: &["html", "htm"], render: as_page },
];

pub fn by_name(name: &str) -> Option<&'static HistoryRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}

const JSON: HistoryRenderer =
    HistoryRenderer { name: "json", endings: &["json"], render: |history, _| json_text(history) };

const FORMAT: &str = "iotax-history";
/// Version of the format, raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct HistoryDocument<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    history: &'a StackHistory,
}

fn json_text(history: &StackHistory) -> String {
    document_text(&HistoryDocument { format: FORMAT, version: VERSION, history })
}

fn in_terminal(history: &StackHistory, page: &PageContext) -> String {
    terminal::document_text(&Document::from_history(history), page)
}

fn as_page(history: &StackHistory, _page: &PageContext) -> String {
    let document = Document::from_history(history);
    let title = format!("{} \u{b7} iotax history", document.title);
    html::page_of(&title, std::slice::from_ref(&document))
}
