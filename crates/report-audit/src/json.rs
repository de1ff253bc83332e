//! An audit for programs: all findings, even if people are shown fewer. Within a version, fields
//! are only added.

use super::digest::{DigestDocument, DigestEntry};
use super::quote::ReleasedSpan;
use super::{Audit, AuditRenderer, Severity, Skipped, View, words};
use iotax_audit::claim::Status;
use iotax_audit::finding::Finding;
use iotax_audit::page::UnreadRange;
use iotax_audit::verdict::FindingBlock;
use iotax_report::json::document_text;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub const RENDERER: AuditRenderer = AuditRenderer { name: "json", endings: &["json"], render };

#[derive(Serialize)]
struct Whole<'a> {
    format: &'static str,
    version: u32,
    verdict: String,
    findings: Vec<JsonFindings<'a>>,
    claims: BTreeMap<&'static str, usize>,
    documents: Vec<Value>,
    unread: Vec<Value>,
    skipped: &'a [Skipped],
    not_opened: &'a [Skipped],
}

#[derive(Serialize)]
struct JsonFindings<'a> {
    document: &'a str,
    #[serde(flatten)]
    place: &'a ReleasedSpan,
    #[serde(flatten)]
    finding: &'a Finding,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    operands: Vec<Other<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    consequences: Vec<Other<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a ReleasedSpan>,
}

/// A figure used for comparison or, with a rule, a finding about a figure computed from this one.
#[derive(Serialize)]
struct Other<'a> {
    #[serde(flatten)]
    place: &'a ReleasedSpan,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    printed: &'a str,
}

fn render(audit: &Audit, _view: &View) -> String {
    let pages = audit.documents.as_slice();
    let unread = pages.iter().flat_map(|page| {
        let of = |UnreadRange { line, last, why }: &UnreadRange| {
            json!({ "document": page.name, "line": line, "last": last, "why": why })
        };
        page.unread.iter().map(of)
    });
    document_text(&Whole {
        format: "iotax-audit",
        // Raised when a field changes its meaning or goes.
        version: 1,
        verdict: words::verdict(audit),
        findings: pages.iter().flat_map(findings).collect(),
        claims: claims(pages),
        documents: pages.iter().map(one_document).collect(),
        unread: unread.collect(),
        skipped: &audit.skipped,
        not_opened: &audit.refused,
    })
}

fn findings(document: &DigestDocument) -> Vec<JsonFindings<'_>> {
    let entries = &document.findings;
    let mut all: Vec<JsonFindings> =
        entries.iter().map(|entry| json_finding(&document.name, entry)).collect();
    for FindingBlock { root, consequences, .. } in &document.verdict.blocks {
        for entry in consequences.iter().map(|at| &entries[*at]) {
            let (rule, printed) = (Some(entry.finding.rule), entry.finding.printed.as_str());
            all[*root].consequences.push(Other { place: &entry.place, rule, printed });
        }
        consequences.iter().for_each(|at| all[*at].cause = Some(&entries[*root].place));
    }
    all
}

fn json_finding<'a>(
    document: &'a str,
    DigestEntry { place, finding, operands, .. }: &'a DigestEntry,
) -> JsonFindings<'a> {
    let operand =
        |place: &'a ReleasedSpan| Other { place, rule: None, printed: place.excerpt_text() };
    let operands = operands.iter().map(operand).collect();
    JsonFindings { document, place, finding, operands, consequences: Vec::new(), cause: None }
}

fn claims(pages: &[DigestDocument]) -> BTreeMap<&'static str, usize> {
    let count = |at: usize| pages.iter().map(|page| page.claims[at]).sum();
    Status::ALL.iter().enumerate().map(|(at, status)| (status.status_words(), count(at))).collect()
}

fn one_document(document: &DigestDocument) -> Value {
    let found: BTreeMap<_, _> = Severity::ALL
        .into_iter()
        .map(|one| (one.severity_word(), document.count_severity(one)))
        .collect();
    json!({
        "document": document.name,
        "verdict": document.verdict.line,
        "lines": document.lines,
        "outputs": document.outputs,
        "tables": document.tables,
        "claims": claims(std::slice::from_ref(document)),
        "findings": found,
    })
}
