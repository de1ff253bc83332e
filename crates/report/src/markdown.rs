//! Markdown for a wiki or an issue: the same document, with all columns of its tables.

use super::document::{Block, Document, DocumentHead, SectionAudience};
use super::table::escape_markdown;
use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;

pub const RENDERER: ReportRenderer =
    ReportRenderer { name: "markdown", endings: &["md", "markdown"], render };

fn render(findings: &[Findings], _page: &PageContext) -> String {
    let one = |findings| document_text(&Document::from_findings(findings));
    findings.iter().map(one).collect::<Vec<_>>().join("\n")
}

pub(super) fn document_text(document: &Document) -> String {
    let mut out = format!("# {}\n\n{}", escape_markdown(&document.title), head(&document.head));
    let of_text = document.sections.iter().filter(|one| one.audience != SectionAudience::Page);
    for section in of_text {
        out += &format!("## {}\n\n", escape_markdown(&section.heading));
        out += &section.blocks.iter().map(block_text).collect::<String>();
    }
    out
}

fn head(head: &DocumentHead) -> String {
    let alarms = head.alarms.iter().map(|line| format!("**{}**\n\n", escape_markdown(line)));
    let short = head.answer.iter().map(|one| format!("**{}**\n\n", escape_markdown(&one.text)));
    let answer = match &head.headline {
        Ok(headline) if head.answer.is_some() => paragraph(headline),
        Ok(headline) => format!("**{}**\n\n", escape_markdown(headline)),
        Err(Some(reason)) => paragraph(reason),
        Err(None) => String::new(),
    };
    let ruler = head.ruler.as_ref().map(|(check, _)| paragraph(check)).unwrap_or_default();
    let above: String = alarms.chain(short).collect();
    format!("{}{above}{answer}{ruler}", paragraph(&head.identity))
}

fn block_text(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("### {}\n\n", escape_markdown(text)),
        Block::Paragraph(text) | Block::Note(text) => paragraph(text),
        Block::Verdicts(verdicts) => list(verdicts.iter().map(|verdict| verdict.text.as_str())),
        Block::Lines(lines) => list(lines.iter().map(String::as_str)),
        Block::Table(one) => format!("{}\n", one.table.markdown()),
        Block::Folded { summary, blocks } => format!(
            "<details><summary>{}</summary>\n\n{}</details>\n\n",
            escape_markdown(summary),
            blocks.iter().map(block_text).collect::<String>()
        ),
        Block::Facts(facts) => {
            let lines: Vec<String> =
                facts.iter().map(|(key, value)| format!("{key}: {value}")).collect();
            list(lines.iter().map(String::as_str))
        }
        // Four backticks, since a command may hold three.
        Block::Commands(commands) => format!("````sh\n{}\n````\n\n", commands.join("\n")),
        Block::Chart(_) => String::new(),
    }
}

fn paragraph(text: &str) -> String {
    format!("{}.\n\n", escape_markdown(text))
}

fn list<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let items: String = lines.map(|line| format!("- {}\n", escape_markdown(line))).collect();
    format!("{items}\n")
}
