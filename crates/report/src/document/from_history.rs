//! The document of a stack's history: a section for each load, with the runs in the order of time
//! and what surely changed between them.

use super::{Document, DocumentHead, DocumentSection, SectionAudience};
use crate::history::{drift_sentences, history_title, sheet, table};
use crate::html::forest;
use crate::number::SPREADS;
use iotax_analysis::findings::history::{HistorySeries, StackHistory};

impl Document {
    pub(crate) fn from_history(history: &StackHistory) -> Document {
        let mut sections: Vec<DocumentSection> = Vec::new();
        for series in &history.series {
            sections.push(series_section(series, SectionAudience::Text));
            sections.push(series_section(series, SectionAudience::Page));
        }
        let mut marks = DocumentSection::new("Marks");
        marks.lines(sheet::reserve(history));
        marks.note(SPREADS);
        sections.push(marks);
        let title = history_title(history);
        Document {
            head: DocumentHead {
                identity: title.clone(),
                alarms: Vec::new(),
                answer: None,
                headline: Err(None),
                ruler: None,
            },
            title,
            sections,
        }
    }
}

/// Returns the runs of one load: text has bars in its table, a page has a chart.
fn series_section(series: &HistorySeries, audience: SectionAudience) -> DocumentSection {
    let heading = format!("{}: {}", series.stack, series.subject);
    let mut section = DocumentSection::new(heading).for_audience(audience);
    if audience == SectionAudience::Page {
        section.note(format!("rate against {} of the same run", sheet::against(series)));
        section.chart(forest::history(series));
        section.table(table::figure_table(series));
    } else {
        section.table(table::history_table(series));
        section.lines(sheet::legend(series));
    }
    for (title, lines) in [
        ("Changed", drift_sentences(series)),
        ("Differences between runs", sheet::other_sentences(series)),
    ] {
        if !lines.is_empty() {
            section.heading(title);
            section.lines(lines);
        }
    }
    section
}
