//! An audit as SARIF 2.1.0 (OASIS), for code hosts and editors: one run, its rules, and one result
//! per finding. Columns are in units of UTF-16, which most readers assume whatever the file
//! declares.

use super::digest::{DigestDocument, DigestEntry};
use super::quote::ReleasedSpan;
use super::{Audit, AuditRenderer, Severity, View};
use iotax_audit::rule::{self, Rule};
use iotax_report::json::document_text;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

pub const RENDERER: AuditRenderer = AuditRenderer { name: "sarif", endings: &["sarif"], render };

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Name of the fingerprint, which must change with the parts of the fingerprint.
const FINGERPRINT: &str = "iotaxFinding/v1";

/// Number of consequences listed per result; readers refuse very many.
const RELATED: usize = 100;

fn render(audit: &Audit, _view: &View) -> String {
    let entries = audit.documents.iter().flat_map(|one| &one.findings);
    let found: HashSet<&str> = entries.map(|entry| entry.finding.rule).collect();
    let rules: Vec<&Rule> =
        rule::all_rules().iter().filter(|rule| found.contains(rule.id)).collect();
    let results: Vec<Value> =
        audit.documents.iter().flat_map(|document| results(document, &rules)).collect();
    let driver = json!({
        "name": "iotax audit",
        "version": env!("CARGO_PKG_VERSION"),
        "rules": rules.iter().map(|rule| rule_descriptor(rule)).collect::<Vec<_>>(),
    });
    let invocation = json!({
        "executionSuccessful": audit.refused.is_empty(),
        "toolExecutionNotifications": notifications(audit),
    });
    let run = json!({
        "tool": { "driver": driver },
        "columnKind": "utf16CodeUnits",
        "invocations": [invocation],
        "results": results,
    });
    document_text(&json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] }))
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => "error",
        Severity::Ambiguous => "warning",
        Severity::Cosmetic => "note",
    }
}

fn rule_descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.name },
        "fullDescription": { "text": rule.holds },
        "help": { "text": format!("Holds: {}\nSilent: {}", rule.holds, rule.silent) },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "severity": rule.severity.severity_word() },
    })
}

fn results(document: &DigestDocument, rules: &[&Rule]) -> Vec<Value> {
    let mut alike: HashMap<u64, usize> = HashMap::new();
    let mut results = Vec::new();
    for block in &document.verdict.blocks {
        for at in block.findings() {
            let entry = &document.findings[at];
            let print = fingerprint(entry);
            let nth = alike.entry(print).or_default();
            let consequences = if at == block.root { block.consequences.as_slice() } else { &[] };
            let mut result = result(document, entry, consequences);
            result["partialFingerprints"] = json!({ FINGERPRINT: format!("{print:016x}:{nth}") });
            if let Some(rule) = rules.iter().position(|rule| rule.id == entry.finding.rule) {
                result["ruleIndex"] = json!(rule);
            }
            results.push(result);
            *nth += 1;
        }
    }
    results
}

fn result(document: &DigestDocument, entry: &DigestEntry, consequences: &[usize]) -> Value {
    let finding = &entry.finding;
    let operands = entry.operands.iter().map(|place| (place, "held against this"));
    let consequences = consequences.iter().take(RELATED);
    let consequences = consequences.map(|at| (&document.findings[*at].place, "computed from it"));
    let related = operands.chain(consequences).enumerate().map(|(at, (place, said))| {
        let mut related = location(document, place);
        related["id"] = json!(at);
        related["message"] = json!({ "text": said });
        related
    });
    // Readers show only the message.
    let notes =
        entry.headed_notes(entry.operands.len()).map(|(word, note)| format!("\n{word}: {note}"));
    json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": finding.message.clone() + &notes.collect::<String>() },
        "locations": [location(document, &entry.place)],
        "relatedLocations": related.collect::<Vec<_>>(),
        "properties": {
            "severity": finding.severity,
            "printed": finding.printed,
            "recomputed": finding.recomputed,
            "arithmetic": finding.arithmetic,
            "slip": finding.slip,
        },
    })
}

fn location(document: &DigestDocument, place: &ReleasedSpan) -> Value {
    let mut region = json!({ "startLine": place.line });
    if let Some(columns) = place.columns {
        region["startColumn"] = json!(columns.utf16.0);
        region["endColumn"] = json!(columns.utf16.1);
        region["snippet"] = json!({ "text": place.excerpt_text() });
    }
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&document.name) }, "region": region } })
}

/// Returns a path as a URI; relative paths stay relative.
fn uri(path: &str) -> String {
    let mut uri = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.strip_prefix("./").unwrap_or(path).bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char)
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}

/// Returns the fingerprint of a finding: the same for the same text, even if its line moves.
fn fingerprint(entry: &DigestEntry) -> u64 {
    const CRC: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_XZ);
    let mut digest = CRC.digest();
    for part in [entry.finding.rule, &entry.finding.printed, entry.place.excerpt.text.trim()] {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    digest.finalize()
}

/// Returns notifications of the run about parts that were not examined.
fn notifications(audit: &Audit) -> Vec<Value> {
    let of = |level: &str, text: String, document: &str| {
        let place = json!({ "physicalLocation": { "artifactLocation": { "uri": uri(document) } } });
        json!({ "level": level, "message": { "text": text }, "locations": [place] })
    };
    let mut all = Vec::new();
    for document in &audit.documents {
        for one in &document.unread {
            let mut unread = of("warning", format!("not read: {}", one.why), &document.name);
            unread["locations"][0]["physicalLocation"]["region"] =
                json!({ "startLine": one.line, "endLine": one.last });
            all.push(unread);
        }
    }
    all.extend(
        audit.skipped.iter().map(|one| of("note", format!("skipped: {}", one.why), &one.name)),
    );
    all.extend(
        audit.refused.iter().map(|one| of("error", format!("not opened: {}", one.why), &one.name)),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("./a b/结果.md"), "a%20b/%E7%BB%93%E6%9E%9C.md");
        assert_eq!(uri("/srv/x%y#1.txt"), "file:///srv/x%25y%231.txt");
    }
}
