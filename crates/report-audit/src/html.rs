//! An audit as one HTML page: the verdict, root causes with the quoted lines, and the parts that
//! could not be read. It has no script and makes no requests.

use super::digest::{DigestDocument, DigestEntry};
use super::quote::ReleasedSpan;
use super::{Audit, AuditRenderer, Severity, View, escape_line, words};
use iotax_audit::rule;
use iotax_audit::verdict::{FindingBlock, count_with_noun, grouped};
use iotax_report::html::whole_page;
use iotax_units::harmless::shown_line;
use maud::{Markup, html};

pub const RENDERER: AuditRenderer =
    AuditRenderer { name: "html", endings: &["html", "htm"], render };

const STYLE: &str = include_str!("audit.css");
/// Number of root causes shown per page; the others are only in JSON.
const EACH: usize = 500;
/// Number of findings listed below a root cause.
const MEMBERS: usize = 200;
const OPERANDS: usize = 8;

fn render(audit: &Audit, _view: &View) -> String {
    let names = match audit.documents.as_slice() {
        [one] => escape_line(&one.name),
        many => count_with_noun(many.len(), "page", "pages"),
    };
    let alone = audit.documents.len() == 1;
    let content = html! {
        header {
            p class="eyebrow" { b { "iotax audit" } " \u{b7} " (names) }
            h1 { (sentence(&words::verdict(audit))) }
            (coverage(&words::coverage(audit)))
        }
        @if !alone { (pages(audit)) }
        @for (at, document) in audit.documents.iter().enumerate() { (of_document(document, at, alone)) }
        @for (title, files) in [("Not opened", &audit.refused), ("Skipped", &audit.skipped)] {
            @if !files.is_empty() {
                section {
                    h2 { (title) }
                    ul { @for one in files { li { (escape_line(&words::skipped(one))) } } }
                }
            }
        }
    };
    whole_page(&format!("{names} \u{b7} iotax audit"), STYLE, &content)
}

fn sentence(text: &str) -> String {
    let text = escape_line(text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn coverage(text: &str) -> Markup {
    html! { @if !text.is_empty() { p class="soft" { (sentence(text)) "." } } }
}

fn pages(audit: &Audit) -> Markup {
    let pages = words::by_weight(audit, Severity::Cosmetic);
    let index = |page: &DigestDocument| {
        audit.documents.iter().position(|one| std::ptr::eq(one, page)).unwrap_or(0)
    };
    html! {
        @if !pages.is_empty() {
            section {
                h2 { "Pages with findings" }
                ul {
                    @for page in pages {
                        li {
                            a href={ "#d" (index(page)) } { (escape_line(&page.name)) } ": " (escape_line(&page.verdict.line))
                        }
                    }
                }
            }
        }
    }
}

fn of_document(document: &DigestDocument, at: usize, alone: bool) -> Markup {
    let blocks = &document.verdict.blocks;
    html! {
        section id={ "d" (at) } {
            h2 class="file" { (escape_line(&document.name)) }
            // A single page has it above.
            @if !alone {
                p { (sentence(&document.verdict.line)) "." }
                (coverage(&document.verdict.coverage))
            }
            p class="soft" { (sentence(&words::sources_read(document))) "." }
            @for one in blocks.iter().take(EACH) { (block(document, one, at)) }
            @if blocks.len() > EACH { p class="soft" { (grouped(blocks.len() - EACH)) " more are in --format json." } }
            @if !document.unread.is_empty() {
                h3 { "Not read" }
                ul { @for one in &document.unread { li { (sentence(&words::unread_note(one))) } } }
            }
        }
    }
}

fn block(document: &DigestDocument, block: &FindingBlock, at: usize) -> Markup {
    let root = &document.findings[block.root];
    let finding = &root.finding;
    let anchor = |finding: usize| format!("d{at}f{finding}");
    let rule = rule::all_rules().iter().find(|rule| rule.id == finding.rule);
    let tag = match block.severity {
        Severity::WrongConclusion | Severity::WrongFigure => "tag bad",
        Severity::Ambiguous => "tag warn",
        Severity::Cosmetic => "tag",
    };
    html! {
        article class="finding" id=(anchor(block.root)) {
            p class="said" {
                span class=(tag) { (block.severity.severity_word().replace('-', " ")) } " "
                a href={ "#" (anchor(block.root)) } title=[rule.map(|rule| rule.name)] { (finding.rule) } " "
                (escape_line(&finding.message))
            }
            (quotes(root))
            dl {
                @if !finding.recomputed.is_empty() { dt { "printed" } dd { del { (escape_line(&finding.printed)) } } }
                @for (word, note) in root.headed_notes(OPERANDS) {
                    dt { (word) }
                    dd { @match word {
                        "recomputed" => ins { (escape_line(&note)) },
                        "by" => code { (escape_line(&note)) },
                        _ => (escape_line(&note)),
                    } }
                }
                @for (word, members) in document.members(block) {
                    dt { (word) }
                    dd { ul class="members" {
                        @for (nth, line) in members.iter().take(MEMBERS) { li id=(anchor(*nth)) { (escape_line(line)) } }
                        @if let Some(more @ 1..) = members.len().checked_sub(MEMBERS) {
                            li class="soft" { "and " (grouped(more)) " more" }
                        }
                    } }
                }
            }
        }
    }
}

/// Returns the quoted lines of a finding, in the order of the page.
fn quotes(root: &DigestEntry) -> Markup {
    html! {
        div class="quote" {
            @for places in root.quoted_lines(OPERANDS) {
                @let (place, own) = places[0];
                span class=(if own { "no own" } else { "no" }) { (place.line) }
                code { (line(place, own)) }
            }
        }
    }
}

fn line(place: &ReleasedSpan, own: bool) -> Markup {
    let (text, cut) = (&place.excerpt.text, place.excerpt.cut);
    let span = if own { place.span.clone() } else { 0..0 };
    html! {
        @if cut.0 { "\u{2026}" }
        (shown_line(&text[..span.start]))
        @if own { mark { (shown_line(&text[span.clone()])) } }
        (shown_line(&text[span.end..]))
        @if cut.1 { "\u{2026}" }
    }
}
