//! The terminal's report with every figure: fits 80 columns, and uses more if available. A chart
//! and the facts of places are on the page only.

use super::document::{
    Block, Document, DocumentHead, DocumentSection, DocumentTable, SectionAudience, TableFit,
};
use super::ink::Ink;
use super::look::TerminalLook;
use super::table::{LeftOut, wrap_words};
use super::verdicts::VerdictSentence;
use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;

pub const RENDERER: ReportRenderer = ReportRenderer { name: "terminal", endings: &["txt"], render };

/// Least width, in columns, that is laid out for; a narrower terminal gets lines that are too long.
pub const NARROWEST: usize = 40;

fn render(findings: &[Findings], page: &PageContext) -> String {
    let one = |findings| document_text(&Document::from_findings(findings), page);
    findings.iter().map(one).collect::<Vec<_>>().join("\n")
}

pub(super) fn document_text(document: &Document, page: &PageContext) -> String {
    TerminalWriter::new(page).document(document)
}

struct TerminalWriter {
    width: usize,
    look: TerminalLook,
    out: String,
    left_out: LeftOut,
}

impl TerminalWriter {
    fn new(page: &PageContext) -> TerminalWriter {
        let (width, look) = (page.width.max(NARROWEST), page.look);
        TerminalWriter { width, look, out: String::new(), left_out: LeftOut::default() }
    }

    fn document(mut self, document: &Document) -> String {
        self.out += &head(&document.head, self.look, self.width);
        let of_text = document.sections.iter().filter(|one| one.audience != SectionAudience::Page);
        of_text.for_each(|section| self.section(section));
        if let Some(said) = self.left_out.to_sentence(self.width) {
            self.out += &format!("\n{}", wrap_words(&said, self.width, "  "));
        }
        self.look.painted(&self.out)
    }

    fn section(&mut self, section: &DocumentSection) {
        let heading = wrap_words(&self.look.signs(&section.heading), self.width, "  ");
        self.out += &format!("\n{}", self.look.ink(Ink::Bold, &heading));
        section.blocks.iter().for_each(|block| self.block(block));
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(text) => {
                self.out.push('\n');
                self.line(text);
            }
            Block::Paragraph(text) | Block::Note(text) => self.line(text),
            Block::Verdicts(verdicts) => {
                let lines = verdicts.iter().map(|one| marked_line(one, self.look, self.width));
                self.out += &lines.collect::<String>();
            }
            Block::Lines(lines) => lines.iter().for_each(|line| self.line(line)),
            Block::Table(table) => self.table(table),
            Block::Folded { summary, blocks } => {
                let inner = blocks.iter().filter(|block| !is_for_pages(block));
                let inner: Vec<&Block> = inner.collect();
                if !inner.is_empty() {
                    self.out.push('\n');
                    self.line(summary);
                    inner.into_iter().for_each(|block| self.block(block));
                }
            }
            Block::Commands(commands) => {
                let lines = commands.iter().map(|command| format!("  {command}\n"));
                self.out += &lines.collect::<String>();
            }
            Block::Chart(_) | Block::Facts(_) => {}
        }
    }

    fn line(&mut self, line: &str) {
        self.out += &indented(&self.look.signs(line), self.width);
    }

    fn table(&mut self, one: &DocumentTable) {
        let (table, left_out) = (&self.look.table(&one.table), &mut self.left_out);
        let text = match one.fit {
            TableFit::Ranked => table.to_text(self.width, left_out),
            TableFit::UpToRank(rank) => table.text_with(rank, self.width, left_out),
            TableFit::Parts => table.in_parts(self.width),
        };
        self.out += &text;
    }
}

/// Returns true for blocks that a terminal leaves out, and for what holds nothing else.
fn is_for_pages(block: &Block) -> bool {
    match block {
        Block::Chart(_) | Block::Facts(_) | Block::Commands(_) => true,
        Block::Folded { blocks, .. } => blocks.iter().all(is_for_pages),
        _ => false,
    }
}

/// Returns the run, what must be known first, and the answer.
fn head(head: &DocumentHead, look: TerminalLook, width: usize) -> String {
    let wrapped = |line: &str| wrap_words(&look.signs(line), width, "  ");
    let alarms: String = head.alarms.iter().map(|line| wrapped(&format!("! {line}"))).collect();
    let identity = look.ink(Ink::Dim, &wrapped(&head.identity));
    format!("{identity}{alarms}\n{}", answer(head, look, width))
}

/// Returns the answer with its statistics, or why there is none, and the check of the measuring.
pub(super) fn answer(head: &DocumentHead, look: TerminalLook, width: usize) -> String {
    let wrapped = |line: &str| wrap_words(&look.signs(line), width, "  ");
    let short = head.answer.as_ref().map(|one| {
        look.ink(Ink::Bold, &wrapped(&format!("{} {}", look.mark(one.class), one.text)))
    });
    let headline = match &head.headline {
        Ok(headline) => wrapped(headline),
        Err(reason) => reason.as_deref().map(wrapped).unwrap_or_default(),
    };
    let ruler = head.ruler.as_ref().map(|(check, _)| wrapped(check)).unwrap_or_default();
    format!("{}{headline}{ruler}", short.unwrap_or_default())
}

/// Returns a verdict with the mark of its class.
pub(super) fn marked_line(one: &VerdictSentence, look: TerminalLook, width: usize) -> String {
    let text = wrap_words(&look.signs(&one.text), width - 2, "    ");
    format!("{} {text}", look.mark(one.class))
}

pub(super) fn indented(line: &str, width: usize) -> String {
    format!("  {}", wrap_words(line, width - 2, "    "))
}
