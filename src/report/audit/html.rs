//! An audit as one page of the house: the verdict, root causes with the quoted lines, the page's tables with what their
//! cells should be, what could not be read. No script, no request to anywhere.

use super::super::html::whole;
use super::digest::{Corrected, CorrectedCell, Document, Told};
use super::quote::Place;
use super::text::{shown, shown_line};
use super::{Audit, Renderer, Severity, View, words};
use crate::units::counted;
use iotax_audit::claim::Status;
use iotax_audit::rule;
use iotax_audit::verdict::Block;
use maud::{Markup, html};

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "html", endings: &["html", "htm"], render };

const STYLE: &str = include_str!("audit.css");
/// Root causes on one page that are shown; the others are in JSON.
const EACH: usize = 500;
/// Findings below a root cause that are listed.
const MEMBERS: usize = 200;

fn render(audit: &Audit, _view: &View) -> String {
    let names = match audit.documents.as_slice() {
        [one] => shown(&one.name),
        many => counted(many.len() as u64, "page", "pages"),
    };
    whole(
        &format!("{names} \u{b7} iotax audit"),
        STYLE,
        &html! {
            header {
                p class="eyebrow" { b { "iotax audit" } " \u{b7} " (names) }
                h1 { (sentence(&shown(&words::verdict(audit)))) }
                p class="soft" { (sentence(&words::counts(audit).coverage())) "." }
            }
            @if audit.documents.len() > 1 { (pages(audit)) }
            @for (at, document) in audit.documents.iter().enumerate() { (of_document(document, at, audit.documents.len() == 1)) }
            (not_audited(audit))
        },
    )
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn pages(audit: &Audit) -> Markup {
    let weighed = words::by_weight(audit, Severity::Cosmetic);
    let index = |document: &Document| audit.documents.iter().position(|one| std::ptr::eq(one, document));
    html! {
        @if !weighed.is_empty() {
            section {
                h2 { "Pages with findings" }
                div class="scroll" tabindex="0" {
                    table {
                        thead { tr {
                            th scope="col" { "page" }
                            @for head in words::COLUMNS { th scope="col" { (head) } }
                            th scope="col" { "checked" }
                        } }
                        tbody {
                            @for document in &weighed {
                                @let counts = &document.verdict.counts;
                                tr {
                                    td class="name" { a href={ "#d" (index(document).unwrap_or(0)) } { (shown(&document.name)) } }
                                    @for severity in Severity::ALL { (count(counts.of(severity))) }
                                    td class="whole" { (words::checked(document)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn count(count: usize) -> Markup {
    html! { @if count == 0 { td class="absent" { "\u{2013}" } } @else { td { (count) } } }
}

fn of_document(document: &Document, at: usize, alone: bool) -> Markup {
    let blocks = &document.verdict.blocks;
    html! {
        section id={ "d" (at) } {
            h2 class="file" { (shown(&document.name)) }
            // Of one page it is said above.
            @if !alone {
                p { (sentence(&shown(&document.verdict.line))) "." }
                p class="soft" { (sentence(&document.verdict.coverage)) "." }
            }
            p class="soft" { (sentence(&words::read(document))) "." }
            @if !blocks.is_empty() {
                @for one in blocks.iter().take(EACH) { (block(document, one, at)) }
                @if blocks.len() > EACH { p class="soft" { (blocks.len() - EACH) " more are in --format json." } }
            }
            @for table in &document.tables { (corrected(document, table, at)) }
            (unread(document))
        }
    }
}

/// How a figure of a status looks.
fn class_of(status: Status) -> &'static str {
    match status {
        Status::Holds => "f holds",
        Status::Plausible => "f plausible",
        Status::DoesNotHold => "f wrong",
        Status::CannotBeChecked => "f unknown",
    }
}

fn tag_of(severity: Severity) -> &'static str {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => "tag bad",
        Severity::Ambiguous => "tag warn",
        Severity::Cosmetic => "tag",
    }
}

fn anchor(document: usize, finding: usize) -> String {
    format!("d{document}f{finding}")
}

fn block(document: &Document, block: &Block, at: usize) -> Markup {
    let root = &document.findings[block.root];
    let finding = &root.finding;
    let id = anchor(at, block.root);
    let rule = rule::ALL.iter().find(|rule| rule.id == finding.rule);
    html! {
        article class="finding" id=(id) {
            p class="said" {
                span class=(tag_of(block.severity)) { (block.severity.word().replace('-', " ")) } " "
                a href={ "#" (id) } title=[rule.map(|rule| rule.name)] { (finding.rule) } " "
                (shown(&finding.message))
            }
            (quotes(root))
            dl {
                @if !finding.recomputed.is_empty() {
                    dt { "printed" } dd { del { (shown(&finding.printed)) } }
                    dt { "recomputed" } dd { ins { (shown(&finding.recomputed)) } }
                }
                @if let Some(arithmetic) = &finding.arithmetic { dt { "by" } dd { code { (shown(arithmetic)) } } }
                @if let Some(slip) = finding.slip { dt { "likely" } dd { (slip.words()) } }
                @for (word, members) in words::members(document, block) {
                    dt { (word) }
                    dd { ul class="members" {
                        @for (nth, told) in members.iter().take(MEMBERS) {
                            li id=(anchor(at, *nth)) { (shown(&words::member(told, root))) }
                        }
                        @if let Some(more @ 1..) = members.len().checked_sub(MEMBERS) { li class="soft" { "and " (more) " more" } }
                    } }
                }
                dt { "what to do" } dd { (shown(&finding.advice())) }
            }
        }
    }
}

/// The lines of a finding, in the order of the page.
fn quotes(told: &Told) -> Markup {
    const OPERANDS: usize = 8;
    let mut places: Vec<(&Place, bool)> = told
        .operands
        .iter()
        .take(OPERANDS)
        .map(|place| (place, false))
        .chain([(&told.place, true)])
        .collect();
    places.sort_by_key(|(place, own)| (place.line, !own));
    // What stands in one line is quoted once, the figure itself before what it was held against.
    places.dedup_by(|later, kept| std::sync::Arc::ptr_eq(&later.0.excerpt, &kept.0.excerpt));
    let more = told.more_operands + told.operands.len().saturating_sub(OPERANDS);
    html! {
        div class="quote" {
            @for (place, own) in &places {
                span class=(if *own { "no own" } else { "no" }) { (place.line) }
                code { (line(place, *own)) }
            }
        }
        @if more > 0 { p class="soft" { "and " (counted(more as u64, "more operand", "more operands")) } }
    }
}

/// A line, the figure itself marked.
fn line(place: &Place, own: bool) -> Markup {
    let (text, cut) = (&place.excerpt.text, place.excerpt.cut);
    let span = if own { place.span.clone() } else { text.len()..text.len() };
    html! {
        @if cut.0 { "\u{2026}" }
        (shown_line(&text[..span.start]))
        @if !span.is_empty() { mark { (shown_line(&text[span.clone()])) } }
        (shown_line(&text[span.end..]))
        @if cut.1 { "\u{2026}" }
    }
}

/// A table with what its cells should be.
fn corrected(document: &Document, table: &Corrected, at: usize) -> Markup {
    let title = table.title.as_deref().map(|title| format!("{}, ", shown(title))).unwrap_or_default();
    html! {
        h3 { "Corrected: " (title) "line " (table.line) }
        div class="scroll" tabindex="0" {
            table {
                thead { tr { @for head in &table.heads { th scope="col" { (shown(head)) } } } }
                tbody {
                    @for (label, cells) in &table.rows {
                        tr {
                            td { (shown(label)) }
                            @for one in cells { (cell(document, one.as_ref(), at)) }
                        }
                    }
                }
            }
        }
    }
}

fn cell(document: &Document, cell: Option<&CorrectedCell>, at: usize) -> Markup {
    let Some(cell) = cell else { return html! { td class="absent" { "\u{2013}" } } };
    let found = cell.findings.iter().filter_map(|nth| Some((*nth, document.findings.get(*nth)?)));
    let corrections: Vec<_> = found.clone().filter(|(_, told)| !told.finding.recomputed.is_empty()).collect();
    html! {
        td {
            (corrected_text(cell, &corrections))
            @for (nth, told) in found {
                " " a class="ref" href={ "#" (anchor(at, nth)) } { (told.finding.rule) }
            }
        }
    }
}

/// What is printed, struck through where something else should stand there.
fn corrected_text(cell: &CorrectedCell, corrections: &[(usize, &Told)]) -> Markup {
    let class = cell.status.map_or("", class_of);
    let mut at = 0;
    let mut pieces = Vec::new();
    for (_, told) in corrections {
        let printed = told.finding.printed.trim();
        if let Some(start) = cell.text[at..].find(printed).filter(|_| !printed.is_empty()) {
            pieces.push((
                at..at + start,
                Some((at + start..at + start + printed.len(), &told.finding.recomputed)),
            ));
            at += start + printed.len();
        }
    }
    html! {
        @if pieces.is_empty() {
            span class=(class) { (shown(&cell.text)) }
        } @else {
            @for (before, correction) in &pieces {
                (shown(&cell.text[before.clone()]))
                @if let Some((range, recomputed)) = correction {
                    del { (shown(&cell.text[range.clone()])) } " " ins { (shown(recomputed)) }
                }
            }
            (shown(&cell.text[at..]))
        }
    }
}

fn unread(document: &Document) -> Markup {
    html! {
        @if !document.unread.is_empty() {
            h3 { "Not read" }
            ul { @for one in &document.unread { li { (sentence(&words::lines(one))) ": " (shown(&one.why)) } } }
        }
    }
}

fn not_audited(audit: &Audit) -> Markup {
    html! {
        @for (title, files) in [("Not opened", &audit.refused), ("Skipped", &audit.skipped)] {
            @if !files.is_empty() {
                section {
                    h2 { (title) }
                    ul { @for one in files { li { (shown(&words::skipped(one))) } } }
                }
            }
        }
    }
}
