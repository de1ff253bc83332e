//! An audit for programs: all findings, whatever people are shown. Fields are only ever added within a version.

use super::super::json::written;
use super::digest::{Document, Told};
use super::quote::Place;
use super::{Audit, PinsUsed, Renderer, Severity, View, no_page, words};
use iotax_audit::claim::Status;
use iotax_audit::finding::Finding;
use iotax_audit::page::Unread;
use serde::Serialize;
use std::collections::BTreeMap;

/// Its entry.
pub const RENDERER: Renderer = Renderer {
    name: "json",
    help: "all findings for programs",
    endings: &["json"],
    page: no_page,
    end: render,
};

/// Name of the format.
pub const FORMAT: &str = "iotax-audit";
/// Raised when a field changes its meaning or goes.
pub const VERSION: u32 = 1;

#[derive(Serialize)]
struct Whole<'a> {
    format: &'static str,
    version: u32,
    findings: Vec<Found<'a>>,
    claims: BTreeMap<&'static str, usize>,
    documents: Vec<OneDocument<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    set_aside: Vec<FoundAside<'a>>,
    unread: Vec<NotRead<'a>>,
    skipped: Vec<NotAudited<'a>>,
    not_opened: Vec<NotAudited<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    document: &'a str,
    line: u32,
    #[serde(flatten)]
    columns: Option<At>,
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operands: Vec<Operand<'a>>,
}

/// Columns in characters, from 1; `end_column` is behind the last.
#[derive(Serialize)]
struct At {
    column: usize,
    end_column: usize,
}

#[derive(Serialize)]
struct Operand<'a> {
    line: u32,
    #[serde(flatten)]
    columns: Option<At>,
    printed: &'a str,
}

/// A finding that a pin set aside: `pin` is the line of the file of pins.
#[derive(Serialize)]
struct FoundAside<'a> {
    #[serde(flatten)]
    found: Found<'a>,
    pins: &'a str,
    pin: usize,
    reason: &'a str,
}

#[derive(Serialize)]
struct Pins<'a> {
    file: &'a str,
    pins: usize,
    no_results: usize,
    set_aside: usize,
    idle: &'a [u32],
}

#[derive(Serialize)]
struct OneDocument<'a> {
    document: &'a str,
    lines: usize,
    outputs: &'a BTreeMap<&'static str, usize>,
    tables: usize,
    claims: BTreeMap<&'static str, usize>,
    findings: BTreeMap<&'static str, usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pins: Option<Pins<'a>>,
}

#[derive(Serialize)]
struct NotRead<'a> {
    document: &'a str,
    #[serde(flatten)]
    unread: &'a Unread,
}

#[derive(Serialize)]
struct NotAudited<'a> {
    document: &'a str,
    why: &'a str,
}

fn render(audit: &Audit, _view: &View) -> String {
    let whole = Whole {
        format: FORMAT,
        version: VERSION,
        findings: audit.documents.iter().flat_map(all_of).collect(),
        claims: claims(|status| words::all_claims(audit, status)),
        documents: audit.documents.iter().map(one_document).collect(),
        set_aside: audit.documents.iter().flat_map(aside).collect(),
        unread: audit.documents.iter().flat_map(not_read).collect(),
        skipped: audit.skipped.iter().map(|one| NotAudited { document: &one.name, why: &one.why }).collect(),
        not_opened: audit
            .refused
            .iter()
            .map(|one| NotAudited { document: &one.name, why: &one.why })
            .collect(),
    };
    written(&whole)
}

fn all_of(document: &Document) -> impl Iterator<Item = Found<'_>> {
    document.findings.iter().map(|told| found(&document.name, told))
}

fn aside(document: &Document) -> impl Iterator<Item = FoundAside<'_>> {
    document.pins.iter().flat_map(|used| {
        used.set_aside.iter().map(|one| FoundAside {
            found: found(&document.name, &one.told),
            pins: &used.file,
            pin: one.pin,
            reason: &one.reason,
        })
    })
}

fn pins(used: &PinsUsed) -> Pins<'_> {
    let PinsUsed { file, count, no_results, set_aside, idle } = used;
    Pins { file, pins: *count, no_results: *no_results, set_aside: set_aside.len(), idle }
}

fn found<'a>(document: &'a str, told: &'a Told) -> Found<'a> {
    let operand = |place: &'a Place| Operand { line: place.line, columns: at(place), printed: place.text() };
    Found {
        document,
        line: told.place.line,
        columns: at(&told.place),
        finding: &told.finding,
        operands: told.operands.iter().map(operand).collect(),
    }
}

fn at(place: &Place) -> Option<At> {
    place.columns.map(|columns| At { column: columns.chars.0, end_column: columns.chars.1 })
}

fn claims(count: impl Fn(Status) -> usize) -> BTreeMap<&'static str, usize> {
    Status::ALL.into_iter().map(|status| (status.words(), count(status))).collect()
}

fn one_document(document: &Document) -> OneDocument<'_> {
    OneDocument {
        document: &document.name,
        lines: document.lines,
        outputs: &document.outputs,
        tables: document.tables_read,
        claims: claims(|status| document.count(status)),
        findings: Severity::ALL.into_iter().map(|one| (one.word(), document.found(one))).collect(),
        pins: document.pins.as_ref().map(pins),
    }
}

fn not_read(document: &Document) -> impl Iterator<Item = NotRead<'_>> {
    document.unread.iter().map(|unread| NotRead { document: &document.name, unread })
}
