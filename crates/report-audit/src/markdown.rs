//! An audit for a wiki or an issue: the verdict, then root causes page by page with their quotes as
//! code and the arithmetic folded.

use super::digest::DigestDocument;
use super::{Audit, AuditRenderer, View, escape_line, words};
use iotax_audit::verdict::{FindingBlock, grouped};
use iotax_report::table::escape_markdown;
use maud::html;

pub const RENDERER: AuditRenderer =
    AuditRenderer { name: "markdown", endings: &["md", "markdown"], render };

/// Limit of quoted columns per line.
const COLUMNS: usize = 120;

fn render(audit: &Audit, view: &View) -> String {
    let mut out = format!("# iotax audit\n\n**{}**\n\n", escape_markdown(&words::verdict(audit)));
    let coverage = words::coverage(audit);
    out +=
        &if coverage.is_empty() { coverage } else { format!("{}\n\n", escape_markdown(&coverage)) };
    let pages = words::by_weight(audit, view.show);
    pages.iter().for_each(|document| out += &of_document(document, view));
    let unread = audit.documents.iter().flat_map(|document| {
        document.unread.iter().map(|one| format!("{}, {}", document.name, words::unread_note(one)))
    });
    out += &list("Not read", unread);
    out += &list("Skipped", audit.skipped.iter().map(words::skipped));
    out + &list("Not opened", audit.refused.iter().map(words::skipped))
}

fn of_document(document: &DigestDocument, view: &View) -> String {
    let shown = document.visible_blocks(view.show);
    let items: String = shown.iter().map(|block| item(document, block)).collect();
    let head = format!(
        "## {}\n\n{}\n\n",
        escape_markdown(&document.name),
        escape_markdown(&document.verdict.line)
    );
    let not_shown = match document.verdict.blocks.len() - shown.len() {
        0 => String::new(),
        hidden => format!("Not shown: {} less severe.\n\n", grouped(hidden)),
    };
    head + &items + &not_shown
}

fn item(document: &DigestDocument, block: &FindingBlock) -> String {
    let root = &document.findings[block.root];
    let finding = &root.finding;
    let place = code(&format!("{}:{}", document.name, root.place.line));
    let severity = block.severity.severity_word().replace('-', " ");
    let mut out = format!(
        "- **{severity}** {place}: {} ({})\\\n",
        escape_markdown(&finding.message),
        finding.rule
    );
    let (line, _) = root.place.window(&[], COLUMNS);
    out += &format!("  {}\n", code(line.trim()));
    for (word, members) in document.members(block) {
        let members = members.iter().map(|(_, line)| format!("    - {}\n", escape_markdown(line)));
        out += &format!("  - {word}:\n{}", members.collect::<String>());
    }
    let summary = match finding.recomputed.as_str() {
        "" => "help".to_owned(),
        recomputed => format!("printed {}, recomputed {recomputed}", finding.printed),
    };
    let notes = root.headed_notes(0).filter(|(word, _)| !matches!(*word, "and" | "recomputed"));
    let notes = notes.map(|(word, note)| match word {
        "by" => format!("  - by {}\n", code(&note)),
        word => format!("  - {word}: {}\n", escape_markdown(&note)),
    });
    let (summary, notes) =
        (html! { (escape_line(&summary)) }.into_string(), notes.collect::<String>());
    out + &format!("\n  <details><summary>{summary}</summary>\n\n{notes}\n  </details>\n\n")
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let items: String = lines.map(|line| format!("- {}\n", escape_markdown(&line))).collect();
    if items.is_empty() { items } else { format!("## {title}\n\n{items}\n") }
}

/// Returns a code span for any content.
fn code(text: &str) -> String {
    let text = escape_line(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let blank =
        if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn code_spans_cannot_be_left() {
        for (text, span) in [
            ("a", "`a`"),
            ("a ``b` <c>", "```a ``b` <c>```"),
            ("`", "`` ` ``"),
            ("a\nb\r", "`a b\\u{d}`"),
        ] {
            assert_eq!(code(text), span);
        }
    }
}
