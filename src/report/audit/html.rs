//! An audit as one page of the house: what was found, the quoted lines with every figure in the colour of its status, the page's
//! tables with what their cells should be, what could not be checked or read. No script, no request to anywhere.

use super::super::html::whole;
use super::digest::{Corrected, CorrectedCell, Document, Told, Unchecked};
use super::quote::Place;
use super::text::{shown, shown_line};
use super::{Audit, Renderer, Severity, View, no_page, words};
use crate::units::counted;
use iotax_audit::claim::Status;
use maud::{Markup, html};
use std::ops::Range;

/// Its entry.
pub const RENDERER: Renderer = Renderer {
    name: "html",
    help: "one self-contained page with the tables corrected",
    endings: &["html", "htm"],
    page: no_page,
    end: render,
};

const STYLE: &str = include_str!("audit.css");
/// Findings on one page that are told each; the others are in JSON.
const EACH: usize = 500;

fn render(audit: &Audit, _view: &View) -> String {
    let names = match audit.documents.as_slice() {
        [one] => shown(&one.name),
        many => counted(many.len() as u64, "page", "pages"),
    };
    let found = words::by_severity(|severity| words::all_found(audit, severity));
    whole(
        &format!("{names} \u{b7} iotax audit"),
        STYLE,
        &html! {
            header {
                p class="eyebrow" { b { "iotax audit" } " \u{b7} " (names) }
                h1 { (sentence(&found)) }
                p class="soft" { (words::by_status(|status| words::all_claims(audit, status))) "." }
            }
            @if audit.documents.len() > 1 { (pages(audit)) }
            @for (at, document) in audit.documents.iter().enumerate() { (of_document(document, at)) }
            (not_audited(audit))
            (rules(audit))
        },
    )
}

/// With a capital.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn pages(audit: &Audit) -> Markup {
    html! {
        section {
            h2 { "Pages" }
            div class="scroll" tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "page" }
                        @for severity in Severity::ALL { th scope="col" { (severity.word().replace('-', " ")) } }
                        @for status in Status::ALL { th scope="col" { (status.words()) } }
                    } }
                    tbody {
                        @for (at, document) in audit.documents.iter().enumerate() {
                            tr {
                                td class="name" { a href={ "#d" (at) } { (shown(&document.name)) } }
                                @for severity in Severity::ALL { (count(document.found(severity))) }
                                @for status in Status::ALL { (count(document.count(status))) }
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

fn of_document(document: &Document, at: usize) -> Markup {
    html! {
        section id={ "d" (at) } {
            h2 class="file" { (shown(&document.name)) }
            p class="soft" {
                (sentence(&words::of_page(document))) " in " (counted(document.lines as u64, "line", "lines")) "; "
                (words::by_status(|status| document.count(status))) "; " (words::read(document)) "."
            }
            @if document.findings.is_empty() {
                p { "Nothing on this page was found not to hold." }
            } @else {
                ul class="key" { @for status in Status::ALL { li { span class=(class_of(status)) { "12.3" } " " (status.words()) } } }
                (wrong(document, at))
                @for (nth, told) in document.findings.iter().take(EACH).enumerate() { (finding(told, at, nth)) }
                @if document.findings.len() > EACH {
                    p class="soft" { (document.findings.len() - EACH) " more findings are in --format json." }
                }
            }
            @if let Some(pins) = &document.pins {
                h3 { "Pins" }
                ul { @for said in pins.said() { li { (shown(&said)) } } }
            }
            @for table in &document.tables { (corrected(document, table, at)) }
            (unread(document))
            (unchecked(&document.unchecked))
        }
    }
}

/// Findings of the list before all others.
const LISTED: usize = 12;

/// What is wrong, before what may mislead: the findings come in the order of the page.
fn wrong(document: &Document, at: usize) -> Markup {
    let is_wrong = |told: &Told| told.finding.severity <= Severity::WrongFigure;
    let mut wrong: Vec<(usize, &Told)> =
        document.findings.iter().take(EACH).enumerate().filter(|(_, told)| is_wrong(told)).collect();
    wrong.sort_by_key(|(_, told)| told.finding.severity);
    html! {
        // Where all is wrong the list would say it twice.
        @if !wrong.is_empty() && wrong.len() < document.findings.len() {
            ul class="worst" {
                @for (nth, told) in wrong.iter().take(LISTED) {
                    li { a href={ "#" (anchor(at, *nth)) } { "line " (told.place.line) } " " (shown(&told.finding.message)) }
                }
                @if let Some(more @ 1..) = wrong.len().checked_sub(LISTED) { li class="soft" { "and " (more) " more" } }
            }
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

fn finding(told: &Told, document: usize, nth: usize) -> Markup {
    let finding = &told.finding;
    let id = anchor(document, nth);
    let title = words::rule_of(finding.rule).map(|rule| rule.name);
    html! {
        article class="finding" id=(id) {
            p class="said" {
                span class=(tag_of(finding.severity)) { (finding.severity.word().replace('-', " ")) } " "
                a href={ "#" (id) } title=[title] { (finding.rule) } " "
                (shown(&finding.message))
            }
            (quotes(told))
            dl {
                @if !finding.recomputed.is_empty() {
                    dt { "printed" } dd { del { (shown(&finding.printed)) } }
                    dt { "recomputed" } dd { ins { (shown(&finding.recomputed)) } }
                }
                @if let Some(arithmetic) = &finding.arithmetic { dt { "by" } dd { code { (shown(arithmetic)) } } }
                @if let Some(slip) = finding.slip { dt { "likely" } dd { (slip.words()) } }
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

/// A line with its figures in the colours of their status, what is told of it marked.
fn line(place: &Place, own: bool) -> Markup {
    let excerpt = &place.excerpt;
    let part = |range: Range<usize>| marked(&excerpt.text, range, own.then_some(&place.span));
    let mut at = 0;
    let mut pieces = Vec::new();
    for (range, status) in &excerpt.claims {
        if range.start >= at {
            pieces.push((at..range.start, None));
            pieces.push((range.clone(), Some(class_of(*status))));
            at = range.end;
        }
    }
    pieces.push((at..excerpt.text.len(), None));
    html! {
        @if excerpt.cut.0 { "\u{2026}" }
        @for (range, class) in pieces {
            @match class {
                Some(class) => span class=(class) { (part(range)) },
                None => (part(range)),
            }
        }
        @if excerpt.cut.1 { "\u{2026}" }
    }
}

/// A part of a line, and in it what is told of the line.
fn marked(text: &str, range: Range<usize>, told: Option<&Range<usize>>) -> Markup {
    let told = told.map_or(range.end..range.end, |told| {
        told.start.clamp(range.start, range.end)..told.end.clamp(range.start, range.end)
    });
    html! {
        (shown_line(&text[range.start..told.start]))
        @if !told.is_empty() { mark { (shown_line(&text[told.clone()])) } }
        (shown_line(&text[told.end..range.end]))
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
                    @for row in &table.rows {
                        tr {
                            @match row {
                                Some(row) => {
                                    td { (shown(&row.label)) }
                                    @for one in &row.cells { (cell(document, one.as_ref(), at)) }
                                }
                                None => td class="absent" colspan=(table.heads.len()) { "\u{2026}" },
                            }
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

fn unchecked(reasons: &[Unchecked]) -> Markup {
    html! {
        @for reason in reasons {
            details {
                summary {
                    (counted(reason.count as u64, "figure", "figures")) " cannot be checked: " (shown(reason.why))
                }
                p class="figures" {
                    @for (line, figure) in &reason.first { span { span class="no" { (line) } " " (shown(figure)) } " " }
                    @if reason.count > reason.first.len() { span class="soft" { "and " (reason.count - reason.first.len()) " more" } }
                }
            }
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

/// What the rules that found something hold, and when they are silent.
fn rules(audit: &Audit) -> Markup {
    let rules = words::rules_that_found(audit);
    html! {
        @if !rules.is_empty() {
            section {
                h2 { "Rules" }
                dl {
                    @for rule in rules {
                        dt { (rule.id) " " (rule.name) }
                        dd { (rule.holds) ". " span class="soft" { "Silent: " (rule.silent) "." } }
                    }
                }
            }
        }
    }
}
