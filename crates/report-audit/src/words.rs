//! What all forms say in the same words.

use super::digest::{Document, Skipped};
use super::{Audit, Severity};
use iotax_audit::page::Unread;
use iotax_audit::verdict::{Counts, counted, grouped};
use iotax_report::table::Table;
use std::cmp::Reverse;

/// The verdict about all pages.
pub fn verdict(audit: &Audit) -> String {
    let pages = audit.documents.as_slice();
    let counts = counts(audit);
    let all = counted(pages.len(), "page", "pages");
    let is_wrong = |one: &&Document| one.worst().is_some_and(|worst| worst <= Severity::WrongFigure);
    match (pages, counts.wrong()) {
        ([], _) => "nothing was audited".to_owned(),
        ([one], _) => one.verdict.line.clone(),
        (_, Some(wrong)) => format!("{wrong}, on {} of {all}", pages.iter().filter(is_wrong).count()),
        (_, None) if counts.checked == 0 => format!("nothing on {all} could be checked"),
        (_, None) if counts.of(Severity::Cosmetic) > 0 => {
            format!("no figure on {all} that could be checked is wrong")
        }
        (_, None) => format!("every figure on {all} that could be checked holds"),
    }
}

/// What was counted on all pages.
pub fn counts(audit: &Audit) -> Counts {
    audit.documents.iter().fold(Counts::default(), |all, one| all.and(&one.verdict.counts))
}

/// `read: fio text (2), dd, 3 tables`: where figures were looked for.
pub fn read(document: &Document) -> String {
    let outputs = document.outputs.iter().map(|(format, count)| match count {
        1 => (*format).to_owned(),
        count => format!("{format} ({count})"),
    });
    let tables = (document.tables > 0).then(|| counted(document.tables, "table", "tables"));
    let all: Vec<String> = outputs.chain(tables).collect();
    if all.is_empty() { "read: sentences only".to_owned() } else { format!("read: {}", all.join(", ")) }
}

/// `lines 7 to 9: it ends in the middle`.
pub fn unread(unread: &Unread) -> String {
    let Unread { line, last, why } = unread;
    if line < last { format!("lines {line} to {last}: {why}") } else { format!("line {line}: {why}") }
}

/// `a.png: a PNG image`.
pub fn skipped(skipped: &Skipped) -> String {
    format!("{}: {}", skipped.name, skipped.why)
}

/// Pages with findings that are as bad as `show` or worse, those with the weightiest first.
pub fn by_weight(audit: &Audit, show: Severity) -> Vec<&Document> {
    let has = |one: &&Document| one.worst().is_some_and(|worst| worst <= show);
    let mut pages: Vec<&Document> = audit.documents.iter().filter(has).collect();
    pages.sort_by_key(|one| Reverse(one.verdict.counts.found));
    pages
}

/// What the table of pages is of, and the table, with names below the folder that all are in.
pub fn table(pages: &[&Document], show: Severity) -> (String, Table) {
    let folder = common_folder(pages);
    let mut table = Table::default();
    table.push("page", 0, pages.iter().map(|page| page.name[folder.len()..].to_owned()).collect());
    let heads = ["conclusions", "figures", "remarks", "cosmetic"];
    for (severity, head) in Severity::ALL.into_iter().zip(heads) {
        let counts = pages.iter().map(|page| page.verdict.counts.of(severity));
        if severity <= show && counts.clone().any(|count| count > 0) {
            table.push(head, severity as u8 / 2, counts.map(grouped).collect());
        }
    }
    table.push("checked", 1, pages.iter().map(|page| page.verdict.counts.share()).collect());
    let place = if folder.is_empty() { String::new() } else { format!(" in {folder}") };
    (format!("wrong conclusions and figures{place}"), table)
}

/// The folder that all are in, with the slash after it.
fn common_folder<'a>(pages: &[&'a Document]) -> &'a str {
    let Some((first, others)) = pages.split_first() else { return "" };
    let mut ends = first.name.match_indices('/').map(|(at, _)| &first.name[..=at]).rev();
    ends.find(|folder| others.iter().all(|page| page.name.starts_with(folder))).unwrap_or("")
}
