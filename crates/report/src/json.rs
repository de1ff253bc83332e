//! Findings for programs. Within a version, fields are only added.

use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;
use iotax_units::harmless;
use serde::Serialize;

pub const RENDERER: ReportRenderer = ReportRenderer { name: "json", endings: &["json"], render };

pub const FORMAT: &str = "iotax-findings";
/// Version of the format, raised when a field changes its meaning or is removed.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct ReportDocument<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    findings: &'a Findings,
}

/// Renders one run as a document, several as an array of documents.
fn render(findings: &[Findings], _page: &PageContext) -> String {
    let documents: Vec<ReportDocument> = findings
        .iter()
        .map(|findings| ReportDocument { format: FORMAT, version: VERSION, findings })
        .collect();
    match documents.as_slice() {
        [document] => document_text(document),
        documents => document_text(documents),
    }
}

/// Returns a document as indented JSON, with control characters escaped and a line break at the
/// end.
pub fn document_text<T: Serialize + ?Sized>(document: &T) -> String {
    let text = serde_json::to_string_pretty(document);
    // Our own types always serialize; should one ever not, the reason is worth more than a panic.
    let text = text.unwrap_or_else(|error| format!("{{\"error\": {:?}}}", error.to_string()));
    harmless::json(&text).into_owned() + "\n"
}
