//! An audit for a wiki or an issue: the verdict, a table of pages, root causes with what they quote as code, the arithmetic folded.

use super::super::table::{Table, escaped};
use super::digest::{Document, Told};
use super::text::shown;
use super::{Audit, Renderer, Severity, View, words};
use crate::units::counted;
use iotax_audit::verdict::Block;
use maud::html;

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "markdown", endings: &["md", "markdown"], render };

/// Characters of a line that are quoted on either side of the figure.
const AROUND: usize = 60;

fn render(audit: &Audit, view: &View) -> String {
    let mut out = format!("# iotax audit\n\n**{}**\n\n", escaped(&words::verdict(audit)));
    out += &format!("{}\n\n", words::counts(audit).coverage());
    if audit.documents.len() > 1 {
        out += &format!("{}\n", pages(audit, view).markdown());
    }
    words::by_weight(audit, view.show).iter().for_each(|document| out += &of_document(document, view));
    let unread = audit.documents.iter().flat_map(|document| {
        document.unread.iter().map(|one| format!("{}, {}: {}", document.name, words::lines(one), one.why))
    });
    out += &list("Not read", unread);
    out += &list("Skipped", audit.skipped.iter().map(words::skipped));
    out + &list("Not opened", audit.refused.iter().map(words::skipped))
}

fn pages(audit: &Audit, view: &View) -> Table {
    let pages = words::by_weight(audit, view.show);
    let mut table = Table::default();
    table.push("page", 0, pages.iter().map(|page| page.name.clone()).collect());
    for (severity, head) in Severity::ALL.into_iter().zip(words::COLUMNS) {
        let cells = pages.iter().map(|page| page.verdict.counts.of(severity).to_string()).collect();
        table.push(head, 0, cells);
    }
    table.push("checked", 0, pages.iter().map(|page| words::checked(page)).collect());
    table
}

fn of_document(document: &Document, view: &View) -> String {
    let blocks = &document.verdict.blocks;
    let told = blocks.iter().take_while(|block| block.severity <= view.show);
    let items: Vec<String> = told.map(|block| item(document, block)).collect();
    let head = format!("## {}\n\n{}\n\n", escaped(&document.name), escaped(&document.verdict.line));
    let not_shown = match blocks.len() - items.len() {
        0 => String::new(),
        hidden => format!("Not shown: {}.\n\n", counted(hidden as u64, "less severe", "less severe")),
    };
    head + &items.concat() + &not_shown
}

fn item(document: &Document, block: &Block) -> String {
    let root = &document.findings[block.root];
    let finding = &root.finding;
    let place = format!("{}:{}", document.name, root.place.line);
    let severity = block.severity.word().replace('-', " ");
    let mut out =
        format!("- **{severity}** {}: {} ({})\\\n", code(&place), escaped(&finding.message), finding.rule);
    out += &format!("  {}\n", code(&quoted(root)));
    for (word, members) in words::members(document, block) {
        let members =
            members.iter().map(|(_, told)| format!("    - {}\n", escaped(&words::member(told, root))));
        out += &format!("  - {word}:\n{}", members.collect::<String>());
    }
    let summary = match finding.recomputed.as_str() {
        "" => "what to do".to_owned(),
        recomputed => format!("printed {}, recomputed {}", plain(&finding.printed), plain(recomputed)),
    };
    let arithmetic = finding.arithmetic.as_ref().map(|by| format!("by {}", code(by)));
    let likely = finding.slip.map(|slip| format!("likely: {}", escaped(slip.words())));
    let details = arithmetic.into_iter().chain(likely).chain([escaped(&finding.advice())]);
    let details: String = details.map(|line| format!("  - {line}\n")).collect();
    out + &format!("\n  <details><summary>{summary}</summary>\n\n{details}\n  </details>\n\n")
}

/// What a line has around the figure.
fn quoted(told: &Told) -> String {
    let (all, span) = (&told.place.excerpt.text, &told.place.span);
    let (before, after) = (&all[..span.start], &all[span.end..]);
    let head: String = before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let tail: String = after.chars().take(AROUND).collect();
    let mark = |there: bool| if there { "\u{2026}" } else { "" };
    let (cut, cut_after) = told.place.excerpt.cut;
    format!(
        "{}{head}{}{tail}{}",
        mark(cut || head.len() < before.len()),
        told.place.text(),
        mark(cut_after || tail.len() < after.len())
    )
    .trim()
    .to_owned()
}

fn list(title: &str, lines: impl Iterator<Item = String>) -> String {
    let items: String = lines.map(|line| format!("- {}\n", escaped(&line))).collect();
    if items.is_empty() { items } else { format!("## {title}\n\n{items}\n") }
}

/// Text of an HTML element.
fn plain(text: &str) -> String {
    html! { (shown(text)) }.into_string()
}

/// A code span that what is in it cannot end.
fn code(text: &str) -> String {
    let text = shown(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let blank = if text.is_empty() || text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_spans_cannot_be_left() {
        assert_eq!(code("a"), "`a`");
        assert_eq!(code("a ``b` <c>"), "```a ``b` <c>```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(code("a\nb\r"), "`a b\\u{d}`");
    }
}
