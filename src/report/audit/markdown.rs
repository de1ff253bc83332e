//! An audit for a wiki or an issue: a table of pages, findings by severity with what they quote as code, the arithmetic folded.

use super::super::table::{Table, escaped};
use super::digest::{Document, Told};
use super::text::shown;
use super::{Audit, PinsUsed, Renderer, Severity, View, no_page, words};
use iotax_audit::claim::Status;
use iotax_audit::rule::Rule;
use maud::html;

/// Its entry.
pub const RENDERER: Renderer = Renderer {
    name: "markdown",
    help: "findings for a wiki or an issue",
    endings: &["md", "markdown"],
    page: no_page,
    end: render,
};

/// Letters of a line that are quoted to either side of what is told of it.
const AROUND: usize = 60;

fn render(audit: &Audit, view: &View) -> String {
    let mut out = "# iotax audit\n\n".to_owned();
    out += &format!("**{}**; ", words::by_severity(|severity| words::all_found(audit, severity)));
    out += &format!("{}.\n\n", words::by_status(|status| words::all_claims(audit, status)));
    if !audit.documents.is_empty() {
        out += &format!("{}\n", pages(audit).markdown());
    }
    for severity in Severity::ALL.into_iter().filter(|severity| *severity <= view.show) {
        out += &section(audit, severity);
    }
    out += &not_shown(audit, view);
    let unread = audit.documents.iter().flat_map(|document| {
        document.unread.iter().map(|one| format!("{}, {}: {}", document.name, words::lines(one), one.why))
    });
    let pins = audit.documents.iter().flat_map(|document| {
        let said = document.pins.iter().flat_map(PinsUsed::said);
        said.map(|said| format!("{}: {said}", document.name))
    });
    out += &list("Pins", pins);
    out += &list("Not read", unread);
    out += &list("Skipped", audit.skipped.iter().map(words::skipped));
    out += &list("Not opened", audit.refused.iter().map(words::skipped));
    out + &rules(audit)
}

fn pages(audit: &Audit) -> Table {
    let mut table = Table::default();
    table.push("page", 0, audit.documents.iter().map(|document| shown(&document.name)).collect());
    for severity in Severity::ALL {
        let cells = audit.documents.iter().map(|document| document.found(severity).to_string()).collect();
        table.push(&severity.word().replace('-', " "), 0, cells);
    }
    for status in Status::ALL {
        let cells = audit.documents.iter().map(|document| document.count(status).to_string()).collect();
        table.push(status.words(), 0, cells);
    }
    table
}

fn section(audit: &Audit, severity: Severity) -> String {
    let mut out = String::new();
    for document in &audit.documents {
        let found = document.findings.iter().filter(|told| told.finding.severity == severity);
        let (first, folded) = words::folded(found);
        out += &first.into_iter().map(|told| item(document, told)).collect::<String>();
        for kind in folded {
            out += &format!("- {}: {} ({})\n", code(&document.name), kind.said(), kind.rule);
        }
    }
    if out.is_empty() { out } else { format!("## {}\n\n{out}\n", words::title(severity)) }
}

fn item(document: &Document, told: &Told) -> String {
    let finding = &told.finding;
    let place = format!("{}:{}", document.name, told.place.line);
    let mut out = format!("- {}: {} ({})\\\n", code(&place), escaped(&finding.message), finding.rule);
    out += &format!("  {}\n", code(&quoted(told)));
    let mut details = Vec::new();
    let summary = match finding.recomputed.as_str() {
        "" => "arithmetic".to_owned(),
        recomputed => format!("printed {}, recomputed {}", plain(&finding.printed), plain(recomputed)),
    };
    if let Some(arithmetic) = &finding.arithmetic {
        details.push(format!("by {}", code(arithmetic)));
    }
    if let Some(slip) = finding.slip {
        details.push(format!("likely: {}", escaped(slip.words())));
    }
    let lines: Vec<u32> = told.operands.iter().map(|place| place.line).collect();
    if !lines.is_empty() {
        details.push(format!("held against {}", words::line_numbers(lines)));
    }
    if !details.is_empty() || !finding.recomputed.is_empty() {
        let lines: String = details.iter().map(|line| format!("  - {line}\n")).collect();
        out += &format!("  <details><summary>{summary}</summary>\n\n{lines}\n  </details>\n");
    }
    out + "\n"
}

/// What a line has around the figure.
fn quoted(told: &Told) -> String {
    let (all, span) = (&told.place.excerpt.text, &told.place.span);
    let (before, behind) = (&all[..span.start], &all[span.end..]);
    let head: String = before.chars().rev().take(AROUND).collect::<Vec<_>>().into_iter().rev().collect();
    let tail: String = behind.chars().take(AROUND).collect();
    let mark = |there: bool| if there { "\u{2026}" } else { "" };
    let (cut, cut_behind) = told.place.excerpt.cut;
    format!(
        "{}{head}{}{tail}{}",
        mark(cut || head.len() < before.len()),
        told.place.text(),
        mark(cut_behind || tail.len() < behind.len())
    )
    .trim()
    .to_owned()
}

fn not_shown(audit: &Audit, view: &View) -> String {
    let hidden = Severity::ALL.into_iter().filter(|severity| *severity > view.show);
    let counts = hidden.map(|severity| (severity, words::all_found(audit, severity)));
    let told: Vec<String> = counts
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| words::findings(severity, count))
        .collect();
    if told.is_empty() { String::new() } else { format!("Not shown: {}.\n\n", told.join(", ")) }
}

/// What the rules that found something hold, folded.
fn rules(audit: &Audit) -> String {
    let rules = words::rules_that_found(audit);
    if rules.is_empty() {
        return String::new();
    }
    let line = |rule: &&Rule| format!("- **{}** {}: {}\n", rule.id, escaped(rule.name), escaped(rule.holds));
    let lines: String = rules.iter().map(line).collect();
    format!("<details><summary>rules that found something</summary>\n\n{lines}\n</details>\n")
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
