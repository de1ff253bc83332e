//! A report as data: sections of sentences, tables and charts in the order in which they are read.
//! The builder (`from_findings`, `of_workload`) says what belongs into a report; a writer for each
//! form (`terminal`, `markdown`, `html`) says how it looks.

mod from_articles;
mod from_comparison;
mod from_findings;
mod from_fleet;
mod from_history;
mod of_workload;

pub(super) use from_findings::{identity, is_alarm};
pub(super) use from_fleet::FEW_HOSTS;

use super::table::TextTable;
use super::verdicts::VerdictSentence;
use iotax_chart::ChartDrawing;
use maud::{Markup, html};

/// The report of one run.
pub(super) struct Document {
    /// Title of a page: the scenario's name, or what was compared.
    pub(super) title: String,
    pub(super) head: DocumentHead,
    pub(super) sections: Vec<DocumentSection>,
}

/// What is read first: the run, what must be known before any figure, and the answer.
pub(super) struct DocumentHead {
    /// The run, when it was made, and its state, for one line.
    pub(super) identity: String,
    /// Sentences without which figures are misread.
    pub(super) alarms: Vec<String>,
    /// The answer in about a dozen words, if something is resolved.
    pub(super) answer: Option<VerdictSentence>,
    /// The answer with its statistics, or the reason why there is none.
    pub(super) headline: Result<String, Option<String>>,
    /// Check of the measuring by a stack against itself, and whether it holds.
    pub(super) ruler: Option<(String, bool)>,
}

/// Which forms have a section.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionAudience {
    All,
    /// The page has it in another form.
    Text,
    Page,
}

pub(super) struct DocumentSection {
    pub(super) heading: String,
    pub(super) audience: SectionAudience,
    /// Verdicts that are shown in place of a folded section; `None`: it is open.
    pub(super) folded: Option<Vec<VerdictSentence>>,
    pub(super) blocks: Vec<Block>,
}

pub(super) enum Block {
    Heading(String),
    Paragraph(String),
    /// Effort, legends and the like.
    Note(String),
    Verdicts(Vec<VerdictSentence>),
    /// Lines of equal rank.
    Lines(Vec<String>),
    Table(DocumentTable),
    Chart(Markup),
    /// Details that a page and Markdown show on request.
    Folded {
        summary: String,
        blocks: Vec<Block>,
    },
    /// Keys and values; a terminal leaves them out.
    Facts(Vec<(String, String)>),
    Commands(Vec<String>),
}

pub(super) struct DocumentTable {
    pub(super) table: TextTable,
    /// Row that is set off as the sum of the others.
    pub(super) total: Option<usize>,
    /// By column and row, how good each cell is, from 0 to 1.
    pub(super) shades: Option<Vec<Vec<Option<f64>>>>,
    pub(super) fit: TableFit,
}

/// What a terminal does with a table that is too wide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TableFit {
    /// Columns are left out by rank.
    Ranked,
    /// As `Ranked`, but none up to this rank.
    UpToRank(u8),
    /// All columns stay, in several tables.
    Parts,
}

impl From<TextTable> for DocumentTable {
    fn from(table: TextTable) -> DocumentTable {
        DocumentTable { table, total: None, shades: None, fit: TableFit::Ranked }
    }
}

impl DocumentTable {
    fn in_parts(self) -> DocumentTable {
        DocumentTable { fit: TableFit::Parts, ..self }
    }
}

impl DocumentSection {
    fn new(heading: impl Into<String>) -> DocumentSection {
        DocumentSection {
            heading: heading.into(),
            audience: SectionAudience::All,
            folded: None,
            blocks: Vec::new(),
        }
    }

    fn for_audience(self, audience: SectionAudience) -> DocumentSection {
        DocumentSection { audience, ..self }
    }

    fn heading(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Heading(text.into()));
    }

    fn paragraph(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Paragraph(text.into()));
    }

    fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Note(text.into()));
    }

    /// Adds lines, if there are any.
    fn lines(&mut self, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        if !lines.is_empty() {
            self.blocks.push(Block::Lines(lines));
        }
    }

    /// Adds verdicts, if there are any.
    fn verdicts(&mut self, verdicts: Vec<VerdictSentence>) {
        if !verdicts.is_empty() {
            self.blocks.push(Block::Verdicts(verdicts));
        }
    }

    fn table(&mut self, table: impl Into<DocumentTable>) {
        self.blocks.push(Block::Table(table.into()));
    }

    fn chart(&mut self, chart: Markup) {
        self.blocks.push(Block::Chart(chart));
    }

    /// Adds a chart below a heading; nothing if there is no data for it.
    fn headed_chart(&mut self, heading: &str, chart: Option<ChartDrawing>) {
        if let Some(chart) = chart {
            self.chart(html! { h3 { (heading) } (chart.to_page()) });
        }
    }

    fn fold(&mut self, summary: impl Into<String>, fill: impl FnOnce(&mut DocumentSection)) {
        let mut inner = DocumentSection::new("");
        fill(&mut inner);
        self.blocks.push(Block::Folded { summary: summary.into(), blocks: inner.blocks });
    }
}
