//! The document of tables in the form of an article: a section for each, with the notes below it.

use super::{Document, DocumentHead, DocumentSection, DocumentTable, SectionAudience};
use crate::article::{ArticleReport, article_legend, article_table};
use crate::look::TerminalLook;
use iotax_analysis::Findings;
use iotax_analysis::findings::article::ArticleFindings;
use iotax_units::harmless::escape_line;

impl Document {
    pub(crate) fn from_articles(report: &ArticleReport, look: TerminalLook) -> Document {
        let section = |table: &ArticleFindings| {
            let mut section = DocumentSection::new(escape_line(&table.title));
            add_article(&mut section, table, look);
            section
        };
        let titles: Vec<String> =
            report.tables.iter().map(|table| escape_line(&table.title)).collect();
        Document {
            title: titles.join(", "),
            head: DocumentHead {
                identity: escape_line(&report.identity),
                alarms: report.alarms.iter().map(|line| escape_line(line)).collect(),
                answer: None,
                headline: Err(None),
                ruler: None,
            },
            sections: report.tables.iter().map(section).collect(),
        }
    }
}

fn add_article(section: &mut DocumentSection, table: &ArticleFindings, look: TerminalLook) {
    section.table(DocumentTable::from(article_table(table, look)).in_parts());
    section.lines(table.notes.iter().map(|note| escape_line(note)));
    if let Some(legend) = article_legend(table, look) {
        section.note(legend);
    }
}

/// Returns the tables that the scenario has for `--table`: on a page the tables, folded; in text
/// their names.
pub(super) fn named_tables(findings: &Findings) -> Vec<DocumentSection> {
    if findings.articles.is_empty() {
        return Vec::new();
    }
    let section = |audience| DocumentSection::new("Tables by name").for_audience(audience);
    let (mut text, mut page) = (section(SectionAudience::Text), section(SectionAudience::Page));
    let one = |table: &ArticleFindings| format!("--table {}: {}", table.name, table.title);
    text.lines(findings.articles.iter().map(one).map(|line| escape_line(&line)));
    for table in &findings.articles {
        page.fold(escape_line(&table.title), |inner| {
            add_article(inner, table, TerminalLook::default());
        });
    }
    vec![text, page]
}
