//! Sentences that several renderers share.

use super::digest::{DigestDocument, Skipped};
use super::{Audit, Severity};
use iotax_audit::page::UnreadRange;
use iotax_audit::verdict::{FigureCounts, count_with_noun};
use std::cmp::Reverse;

pub fn verdict(audit: &Audit) -> String {
    let pages = audit.documents.as_slice();
    let counts = counts(audit);
    let all = count_with_noun(pages.len(), "page", "pages");
    let is_wrong =
        |one: &&DigestDocument| one.worst().is_some_and(|worst| worst <= Severity::WrongFigure);
    match (pages, counts.wrong()) {
        ([], _) => "nothing was audited".to_owned(),
        ([one], _) => one.verdict.line.clone(),
        (_, Some(wrong)) => {
            format!(
                "{}, {wrong}, on {} of {all}",
                counts.scope(),
                pages.iter().filter(is_wrong).count()
            )
        }
        (_, None) if counts.checked == 0 => format!("{} on {all}", counts.scope()),
        (_, None) => format!("{} on {all}, {}", counts.scope(), counts.outcome()),
    }
}

/// Returns what was not checked on all pages; empty if the verdict has it, or if everything was
/// checked.
pub fn coverage(audit: &Audit) -> String {
    match audit.documents.as_slice() {
        [one] => one.verdict.coverage.clone(),
        _ => counts(audit).not_checked(),
    }
}

pub fn counts(audit: &Audit) -> FigureCounts {
    audit
        .documents
        .iter()
        .fold(FigureCounts::default(), |all, one| all.merge_counts(&one.verdict.counts))
}

/// Returns the sources of figures: `read: fio text (2), dd, 3 tables`.
pub fn sources_read(document: &DigestDocument) -> String {
    let outputs = document.outputs.iter().map(|(format, count)| match count {
        1 => (*format).to_owned(),
        count => format!("{format} ({count})"),
    });
    let tables = (document.tables > 0).then(|| count_with_noun(document.tables, "table", "tables"));
    let all: Vec<String> = outputs.chain(tables).collect();
    if all.is_empty() {
        "read: sentences only".to_owned()
    } else {
        format!("read: {}", all.join(", "))
    }
}

/// Returns `lines 7 to 9: it ends in the middle`.
pub fn unread_note(unread: &UnreadRange) -> String {
    let UnreadRange { line, last, why } = unread;
    if line < last {
        format!("lines {line} to {last}: {why}")
    } else {
        format!("line {line}: {why}")
    }
}

/// Returns `a.png: a PNG image`.
pub fn skipped(skipped: &Skipped) -> String {
    format!("{}: {}", skipped.name, skipped.why)
}

/// Returns pages with findings of severity `show` or worse, the worst first.
pub fn by_weight(audit: &Audit, show: Severity) -> Vec<&DigestDocument> {
    let has = |one: &&DigestDocument| one.worst().is_some_and(|worst| worst <= show);
    let mut pages: Vec<&DigestDocument> = audit.documents.iter().filter(has).collect();
    pages.sort_by_key(|one| Reverse(one.verdict.counts.found));
    pages
}
