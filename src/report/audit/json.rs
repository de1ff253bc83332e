//! An audit for programs: all findings, whatever people are shown. Fields are only ever added within a version.

use super::super::json::written;
use super::digest::{Document, Told};
use super::quote::Place;
use super::{Audit, Renderer, Severity, Skipped, View, words};
use iotax_audit::claim::Status;
use iotax_audit::finding::Finding;
use iotax_audit::page::Unread;
use iotax_audit::verdict::Block;
use serde::Serialize;
use std::collections::BTreeMap;

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "json", endings: &["json"], render };

/// Name of the format.
pub const FORMAT: &str = "iotax-audit";
/// Raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Whole<'a> {
    format: &'static str,
    version: u32,
    verdict: String,
    findings: Vec<Found<'a>>,
    claims: BTreeMap<&'static str, usize>,
    documents: Vec<OneDocument<'a>>,
    unread: Vec<NotRead<'a>>,
    skipped: &'a [Skipped],
    not_opened: &'a [Skipped],
}

#[derive(Serialize)]
struct Found<'a> {
    document: &'a str,
    #[serde(flatten)]
    at: At,
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operands: Vec<Other<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    consequences: Vec<Other<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<At>,
}

/// Columns in characters, from 1; `end_column` is after the last.
#[derive(Serialize)]
struct At {
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
}

/// What a figure was held against; with a rule, a finding about what was computed from it.
#[derive(Serialize)]
struct Other<'a> {
    #[serde(flatten)]
    at: At,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    printed: &'a str,
}

#[derive(Serialize)]
struct OneDocument<'a> {
    document: &'a str,
    verdict: &'a str,
    lines: usize,
    outputs: &'a BTreeMap<&'static str, usize>,
    tables: usize,
    claims: BTreeMap<&'static str, usize>,
    findings: BTreeMap<&'static str, usize>,
}

#[derive(Serialize)]
struct NotRead<'a> {
    document: &'a str,
    #[serde(flatten)]
    unread: &'a Unread,
}

fn render(audit: &Audit, _view: &View) -> String {
    let all_claims = |status| audit.documents.iter().map(|document| document.count(status)).sum();
    let whole = Whole {
        format: FORMAT,
        version: VERSION,
        verdict: words::verdict(audit),
        findings: audit.documents.iter().flat_map(findings).collect(),
        claims: claims(all_claims),
        documents: audit.documents.iter().map(one_document).collect(),
        unread: audit.documents.iter().flat_map(not_read).collect(),
        skipped: &audit.skipped,
        not_opened: &audit.refused,
    };
    written(&whole)
}

/// In the order of the page.
fn findings(document: &Document) -> Vec<Found<'_>> {
    let mut all: Vec<Found> = document.findings.iter().map(|told| found(&document.name, told)).collect();
    for Block { root, consequences, .. } in &document.verdict.blocks {
        all[*root].consequences =
            consequences.iter().map(|at| consequence(&document.findings[*at])).collect();
        for at in consequences {
            all[*at].cause = Some(place(&document.findings[*root].place));
        }
    }
    all
}

fn found<'a>(document: &'a str, told: &'a Told) -> Found<'a> {
    let operand = |one: &'a Place| Other { at: place(one), rule: None, printed: one.text() };
    Found {
        document,
        at: place(&told.place),
        finding: &told.finding,
        operands: told.operands.iter().map(operand).collect(),
        consequences: Vec::new(),
        cause: None,
    }
}

fn consequence(told: &Told) -> Other<'_> {
    Other { at: place(&told.place), rule: Some(told.finding.rule), printed: &told.finding.printed }
}

fn place(place: &Place) -> At {
    let (column, end_column) = place.columns.map(|columns| columns.chars).unzip();
    At { line: place.line, column, end_column }
}

fn claims(count: impl Fn(Status) -> usize) -> BTreeMap<&'static str, usize> {
    Status::ALL.into_iter().map(|status| (status.words(), count(status))).collect()
}

fn one_document(document: &Document) -> OneDocument<'_> {
    OneDocument {
        document: &document.name,
        verdict: &document.verdict.line,
        lines: document.lines,
        outputs: &document.outputs,
        tables: document.tables_read,
        claims: claims(|status| document.count(status)),
        findings: Severity::ALL.into_iter().map(|one| (one.word(), document.found(one))).collect(),
    }
}

fn not_read(document: &Document) -> impl Iterator<Item = NotRead<'_>> {
    document.unread.iter().map(|unread| NotRead { document: &document.name, unread })
}
