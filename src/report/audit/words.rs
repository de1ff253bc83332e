//! What all forms say in the same words.

use super::digest::{Document, Skipped, Told};
use super::{Audit, Severity};
use crate::units::counted;
use iotax_audit::page::Unread;
use iotax_audit::verdict::{Block, Counts};

/// The verdict about all pages.
pub fn verdict(audit: &Audit) -> String {
    let pages = audit.documents.as_slice();
    let counts = counts(audit);
    let all = counted(pages.len() as u64, "page", "pages");
    match (pages, counts.wrong()) {
        ([], _) => "nothing was audited".to_owned(),
        ([one], _) => one.verdict.line.clone(),
        (_, Some(wrong)) => {
            let bad = |one: &&Document| one.worst().is_some_and(|worst| worst <= Severity::WrongFigure);
            format!("{wrong}, on {} of {all}", pages.iter().filter(bad).count())
        }
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
    let tables = (document.tables_read > 0).then(|| counted(document.tables_read as u64, "table", "tables"));
    let all: Vec<String> = outputs.chain(tables).collect();
    if all.is_empty() { "read: sentences only".to_owned() } else { format!("read: {}", all.join(", ")) }
}

/// A finding below its root cause: `line 4: 21.6 %, not 18.4 % (T1)`.
pub fn member(told: &Told, root: &Told) -> String {
    let (line, finding) = (told.place.line, &told.finding);
    match finding.recomputed.as_str() {
        "" if finding.rule == root.finding.rule => {
            format!("line {line}: {} ({})", finding.printed, finding.rule)
        }
        "" => format!("line {line}: {} ({})", finding.message, finding.rule),
        recomputed => format!("line {line}: {recomputed}, not {} ({})", finding.printed, finding.rule),
    }
}

/// The members of a block by what they are to it, with the word for that; those that are none are left out.
pub fn members<'a>(
    document: &'a Document,
    block: &'a Block,
) -> impl Iterator<Item = (&'static str, Vec<(usize, &'a Told)>)> {
    [("consequences", &block.consequences), ("also", &block.also)].into_iter().filter_map(
        |(word, members)| {
            let told: Vec<_> = members.iter().map(|at| (*at, &document.findings[*at])).collect();
            (!told.is_empty()).then_some((word, told))
        },
    )
}

/// `line 7`, `lines 7 to 9`.
pub fn lines(unread: &Unread) -> String {
    match unread.line >= unread.last {
        true => format!("line {}", unread.line),
        false => format!("lines {} to {}", unread.line, unread.last),
    }
}

/// `a.png: a PNG image`.
pub fn skipped(skipped: &Skipped) -> String {
    format!("{}: {}", skipped.name, skipped.why)
}

/// Pages with findings that are as bad as `show` or worse, those with the weightiest first.
pub fn by_weight(audit: &Audit, show: Severity) -> Vec<&Document> {
    let has = |one: &&Document| one.worst().is_some_and(|worst| worst <= show);
    let mut pages: Vec<&Document> = audit.documents.iter().filter(has).collect();
    pages.sort_by_key(|one| std::cmp::Reverse(one.verdict.counts.found));
    pages
}

/// Heads of columns in which figures are counted, in the order of `Severity::ALL`.
pub const COLUMNS: [&str; Severity::ALL.len()] =
    ["wrong conclusions", "wrong figures", "ambiguous", "cosmetic"];

/// `102 of 342`.
pub fn checked(document: &Document) -> String {
    let Counts { checked, figures, .. } = document.verdict.counts;
    format!("{checked} of {figures}")
}
