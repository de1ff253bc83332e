//! Writers of tables in the form of an article, for `report --table`: the table alone, in the forms
//! of a report.

mod layout;
#[cfg(test)]
mod tests;

use super::csv::safe_cell;
use super::document::{Document, identity};
use super::json::document_text;
use super::{PageContext, TerminalLook, html, markdown, terminal};
use iotax_analysis::Findings;
use iotax_analysis::findings::article::ArticleFindings;
use iotax_units::distinct;
use serde::Serialize;

pub(crate) use layout::{article_legend, article_table};

/// Tables of one run or several, with what is said of the runs.
pub struct ArticleReport {
    /// The runs, when they were made, and their states.
    pub identity: String,
    /// Sentences without which the figures are misread.
    pub alarms: Vec<String>,
    pub tables: Vec<ArticleFindings>,
}

impl ArticleReport {
    /// Returns the report of tables that have the figures of these runs.
    pub fn of_runs(runs: &[&Findings], tables: Vec<ArticleFindings>) -> ArticleReport {
        let identity: Vec<String> = runs.iter().map(|run| identity(run)).collect();
        let emulated = runs.iter().flat_map(|run| &run.emulated);
        let alarms = distinct(emulated.map(|line| format!("EMULATED: {line}")));
        ArticleReport { identity: identity.join("; "), alarms, tables }
    }
}

pub struct ArticleRenderer {
    pub name: &'static str,
    pub endings: &'static [&'static str],
    pub render: fn(&ArticleReport, &PageContext) -> String,
}

pub const ALL: &[&ArticleRenderer] = &[
    &ArticleRenderer { name: "terminal", endings: &["txt"], render: in_terminal },
    &ArticleRenderer { name: "markdown", endings: &["md", "markdown"], render: as_markdown },
    &ArticleRenderer { name: "html", endings: &["html", "htm"], render: as_page },
    &ArticleRenderer { name: "json", endings: &["json"], render: as_json },
    &ArticleRenderer { name: "csv", endings: &["csv"], render: as_csv },
];

pub fn by_name(name: &str) -> Option<&'static ArticleRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}

fn in_terminal(report: &ArticleReport, page: &PageContext) -> String {
    terminal::document_text(&Document::from_articles(report, page.look), page)
}

fn as_markdown(report: &ArticleReport, _page: &PageContext) -> String {
    markdown::document_text(&Document::from_articles(report, TerminalLook::default()))
}

fn as_page(report: &ArticleReport, _page: &PageContext) -> String {
    let document = Document::from_articles(report, TerminalLook::default());
    let title = format!("{} \u{b7} iotax", document.title);
    html::page_of(&title, &[document])
}

const FORMAT: &str = "iotax-tables";
/// Version of the format, raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct ArticleDocument<'a> {
    format: &'static str,
    version: u32,
    runs: &'a str,
    tables: &'a [ArticleFindings],
}

fn as_json(report: &ArticleReport, _page: &PageContext) -> String {
    let (runs, tables) = (report.identity.as_str(), report.tables.as_slice());
    document_text(&ArticleDocument { format: FORMAT, version: VERSION, runs, tables })
}

/// Returns the plain grid; several tables have an empty line between them.
fn as_csv(report: &ArticleReport, _page: &PageContext) -> String {
    report.tables.iter().map(grid_text).collect::<Vec<_>>().join("\n")
}

fn grid_text(table: &ArticleFindings) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    let head = std::iter::once(&table.corner).chain(&table.columns);
    let mut records: Vec<Vec<&String>> = vec![head.collect()];
    for row in &table.rows {
        records.push(
            std::iter::once(&row.name).chain(row.cells.iter().map(|cell| &cell.text)).collect(),
        );
    }
    for record in records {
        // Every record has the same number of fields and goes to memory.
        let _ = writer.write_record(record.into_iter().map(|field| safe_cell(field)));
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}
