//! An audit as SARIF 2.1.0 (OASIS), for code hosts and editors: one run, its rules, a result a finding. Columns are in units of
//! UTF-16, which is what most readers take them for whatever they are told.

use super::super::json::written;
use super::digest::{Document, Told};
use super::quote::Place;
use super::{Audit, Renderer, Severity, View};
use iotax_audit::page::Unread;
use iotax_audit::rule::{self, Rule};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// Its entry.
pub const RENDERER: Renderer = Renderer { name: "sarif", endings: &["sarif"], render };

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Whoever changes what it is made of gives it another name.
const FINGERPRINT: &str = "iotaxFinding/v1";

/// Consequences that a result names; readers refuse very many.
const RELATED: usize = 100;

fn render(audit: &Audit, _view: &View) -> String {
    let found: HashSet<&str> =
        audit.documents.iter().flat_map(|one| &one.findings).map(|told| told.finding.rule).collect();
    let rules: Vec<&Rule> = rule::ALL.iter().copied().filter(|rule| found.contains(rule.id)).collect();
    let index: HashMap<&str, usize> = rules.iter().enumerate().map(|(at, rule)| (rule.id, at)).collect();
    let mut results = Vec::new();
    for document in &audit.documents {
        let mut alike: HashMap<u64, usize> = HashMap::new();
        for block in &document.verdict.blocks {
            for at in block.findings() {
                let told = &document.findings[at];
                let print = fingerprint(told);
                let nth = alike.entry(print).or_default();
                let consequences = if at == block.root { block.consequences.as_slice() } else { &[] };
                let rule = index.get(told.finding.rule);
                results.push(result(document, told, consequences, rule, format!("{print:016x}:{nth}")));
                *nth += 1;
            }
        }
    }
    let whole = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "iotax audit",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "utf16CodeUnits",
            "invocations": [{
                "executionSuccessful": audit.refused.is_empty(),
                "toolExecutionNotifications": notifications(audit),
            }],
            "results": results,
        }],
    });
    written(&whole)
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::WrongConclusion | Severity::WrongFigure => "error",
        Severity::Ambiguous => "warning",
        Severity::Cosmetic => "note",
    }
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.id,
        "name": rule.name,
        "shortDescription": { "text": rule.name },
        "fullDescription": { "text": rule.holds },
        "help": { "text": format!("Holds: {}\nSilent: {}", rule.holds, rule.silent) },
        "defaultConfiguration": { "level": level(rule.severity) },
        "properties": { "severity": rule.severity.word() },
    })
}

fn result(
    document: &Document,
    told: &Told,
    consequences: &[usize],
    rule: Option<&usize>,
    print: String,
) -> Value {
    let finding = &told.finding;
    let mut result = json!({
        "ruleId": finding.rule,
        "level": level(finding.severity),
        "message": { "text": message(told) },
        "locations": [location(document, &told.place)],
        "partialFingerprints": { FINGERPRINT: print },
        "properties": {
            "severity": finding.severity,
            "printed": finding.printed,
            "recomputed": finding.recomputed,
            "arithmetic": finding.arithmetic,
            "slip": finding.slip,
        },
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = json!(rule);
    }
    let operands = told.operands.iter().map(|place| (place, "held against this"));
    let consequences = consequences.iter().take(RELATED);
    let consequences = consequences.map(|at| (&document.findings[*at].place, "computed from it"));
    let related: Vec<Value> = operands
        .chain(consequences)
        .enumerate()
        .map(|(at, (place, said))| {
            let mut related: Value = location(document, place);
            related["id"] = json!(at);
            related["message"] = json!({ "text": said });
            related
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = related.into();
    }
    result
}

/// What readers show; they show nothing else.
fn message(told: &Told) -> String {
    let finding = &told.finding;
    let mut text = finding.message.clone();
    if !finding.recomputed.is_empty() {
        text += &format!("\nprinted: {}; recomputed: {}", finding.printed, finding.recomputed);
    }
    if let Some(arithmetic) = &finding.arithmetic {
        text += &format!("\nby: {arithmetic}");
    }
    if let Some(slip) = finding.slip {
        text += &format!("\nlikely: {}", slip.words());
    }
    text + &format!("\nhelp: {}", finding.advice())
}

fn location(document: &Document, place: &Place) -> Value {
    let mut region = json!({ "startLine": place.line });
    if let Some(columns) = place.columns {
        region["startColumn"] = json!(columns.utf16.0);
        region["endColumn"] = json!(columns.utf16.1);
        region["snippet"] = json!({ "text": place.text() });
    }
    json!({ "physicalLocation": { "artifactLocation": { "uri": uri(&document.name) }, "region": region } })
}

/// A path as a reference: relative ones stay so.
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

/// The same finding on the same text, wherever its line has gone to.
fn fingerprint(told: &Told) -> u64 {
    const CRC: crc::Crc<u64> = crc::Crc::<u64>::new(&crc::CRC_64_XZ);
    let mut digest = CRC.digest();
    for part in [told.finding.rule, &told.finding.printed, told.place.excerpt.text.trim()] {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    digest.finalize()
}

/// What was not looked at, as notifications of the run.
fn notifications(audit: &Audit) -> Vec<Value> {
    let of = |level: &str, text: String, document: &str, line: Option<(u32, u32)>| {
        let mut physical = json!({ "artifactLocation": { "uri": uri(document) } });
        if let Some((line, last)) = line {
            physical["region"] = json!({ "startLine": line, "endLine": last });
        }
        json!({ "level": level, "message": { "text": text }, "locations": [{ "physicalLocation": physical }] })
    };
    let unread = audit.documents.iter().flat_map(|document| {
        let of = |one: &Unread| {
            let text = format!("not read: {}", one.why);
            of("warning", text, &document.name, Some((one.line, one.last)))
        };
        document.unread.iter().map(of).collect::<Vec<_>>()
    });
    let skipped =
        audit.skipped.iter().map(|one| of("note", format!("skipped: {}", one.why), &one.name, None));
    let refused =
        audit.refused.iter().map(|one| of("error", format!("not opened: {}", one.why), &one.name, None));
    unread.chain(skipped).chain(refused).collect()
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
