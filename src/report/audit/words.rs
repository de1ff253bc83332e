//! What all forms say alike: counts of findings, figures and lines in words.

use super::digest::{Document, Skipped, Told};
use super::{Audit, Severity};
use crate::units::counted;
use iotax_audit::claim::Status;
use iotax_audit::finding::Finding;
use iotax_audit::page::Unread;
use iotax_audit::rule::{self, Rule};
use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;

/// `2 wrong figures`.
pub fn findings(severity: Severity, count: usize) -> String {
    let (one, many) = match severity {
        Severity::WrongConclusion => ("wrong conclusion", "wrong conclusions"),
        Severity::WrongFigure => ("wrong figure", "wrong figures"),
        Severity::Ambiguous => ("ambiguous", "ambiguous"),
        Severity::Cosmetic => ("cosmetic", "cosmetic"),
    };
    counted(count as u64, one, many)
}

/// The title of all that are so bad.
pub fn title(severity: Severity) -> &'static str {
    match severity {
        Severity::WrongConclusion => "Wrong conclusions",
        Severity::WrongFigure => "Wrong figures",
        Severity::Ambiguous => "Ambiguous",
        Severity::Cosmetic => "Cosmetic",
    }
}

/// `1 wrong conclusion, 2 wrong figures`; `nothing found`.
pub fn by_severity(count: impl Fn(Severity) -> usize) -> String {
    let told: Vec<String> = Severity::ALL
        .into_iter()
        .map(|severity| (severity, count(severity)))
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| findings(severity, count))
        .collect();
    if told.is_empty() { "nothing found".to_owned() } else { told.join(", ") }
}

/// `120 figures: 80 hold, 7 plausible, 1 does not hold, 32 cannot be checked`.
pub fn by_status(count: impl Fn(Status) -> usize) -> String {
    let all: usize = Status::ALL.into_iter().map(&count).sum();
    let told: Vec<String> = Status::ALL
        .into_iter()
        .map(|status| (status, count(status)))
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| format!("{count} {}", of_many(status, count)))
        .collect();
    match all {
        0 => "no figures".to_owned(),
        all => format!("{}: {}", counted(all as u64, "figure", "figures"), told.join(", ")),
    }
}

/// `read: fio text (2), dd, 3 tables`: what of a page was understood to be figures.
pub fn read(document: &Document) -> String {
    let outputs = document.outputs.iter().map(|(format, count)| match count {
        1 => (*format).to_owned(),
        count => format!("{format} ({count})"),
    });
    let tables = (document.tables_read > 0).then(|| counted(document.tables_read as u64, "table", "tables"));
    let all: Vec<String> = outputs.chain(tables).collect();
    if all.is_empty() {
        return "read: sentences; there is no table and no known tool's output".to_owned();
    }
    format!("read: {}", all.join(", "))
}

fn of_many(status: Status, count: usize) -> &'static str {
    match status {
        Status::Holds if count != 1 => "hold",
        Status::DoesNotHold if count != 1 => "do not hold",
        status => status.words(),
    }
}

/// `line 7`, `lines 7 to 9`.
pub fn lines(unread: &Unread) -> String {
    if unread.line >= unread.last {
        return format!("line {}", unread.line);
    }
    format!("lines {} to {}", unread.line, unread.last)
}

/// `line 4`, `lines 4, 7 to 9 and 12`; of very many the first.
pub fn line_numbers(numbers: impl IntoIterator<Item = u32>) -> String {
    const TOLD: usize = 12;
    let mut runs: Vec<RangeInclusive<u32>> = Vec::new();
    for number in numbers {
        match runs.last_mut().filter(|run| (*run.end()..=run.end() + 1).contains(&number)) {
            Some(run) => *run = *run.start()..=number,
            None => runs.push(number..=number),
        }
    }
    let one = |run: &RangeInclusive<u32>| match run.end() - run.start() {
        0 => run.start().to_string(),
        1 => format!("{}, {}", run.start(), run.end()),
        _ => format!("{} to {}", run.start(), run.end()),
    };
    let word = if matches!(runs.as_slice(), [run] if run.start() == run.end()) { "line" } else { "lines" };
    let told: Vec<String> = runs.iter().take(TOLD).map(one).collect();
    let more = if runs.len() > TOLD { " and others" } else { "" };
    format!("{word} {}{more}", told.join(", "))
}

/// The rule of an id.
pub fn rule_of(id: &str) -> Option<&'static Rule> {
    rule::ALL.iter().copied().find(|rule| rule.id == id)
}

/// Rules that found something in any page, in the order of the family.
pub fn rules_that_found(audit: &Audit) -> Vec<&'static Rule> {
    let aside = audit.documents.iter().flat_map(|document| &document.pins).flat_map(|used| &used.set_aside);
    let all = told(audit).chain(aside.map(|one| &one.told));
    let found: HashSet<&str> = all.map(|told| told.finding.rule).collect();
    rule::ALL.iter().copied().filter(|rule| found.contains(rule.id)).collect()
}

fn told(audit: &Audit) -> impl Iterator<Item = &Told> {
    audit.documents.iter().flat_map(|document| &document.findings)
}

/// Over all pages.
pub fn all_found(audit: &Audit, severity: Severity) -> usize {
    audit.documents.iter().map(|document| document.found(severity)).sum()
}

/// Over all pages.
pub fn all_claims(audit: &Audit, status: Status) -> usize {
    audit.documents.iter().map(|document| document.count(status)).sum()
}

/// How a page stands, in a line.
pub fn of_page(document: &Document) -> String {
    by_severity(|severity| document.found(severity))
}

/// `no page: PNG image`.
pub fn skipped(skipped: &Skipped) -> String {
    format!("{}: {}", skipped.name, skipped.why)
}

/// Findings of one kind that are told each.
const EACH: usize = 3;

/// Findings of one kind behind the first few.
pub struct Folded<'a> {
    pub rule: &'a str,
    pub severity: Severity,
    lines: Vec<u32>,
}

impl Folded<'_> {
    /// `17 more of this kind on lines 4, 7 to 20`.
    pub fn said(&self) -> String {
        let lines = line_numbers(self.lines.iter().copied());
        format!("{} more of this kind on {lines}; --format json has all", self.lines.len())
    }
}

/// The first few findings of each kind, and the others folded.
pub fn folded<'a>(found: impl Iterator<Item = &'a Told>) -> (Vec<&'a Told>, Vec<Folded<'a>>) {
    let mut kinds: HashMap<(&str, Severity, String), (usize, Option<usize>)> = HashMap::new();
    let (mut first, mut folded): (Vec<&Told>, Vec<Folded>) = (Vec::new(), Vec::new());
    for told in found {
        let Finding { rule, severity, message, .. } = &told.finding;
        let (count, at) = kinds.entry((rule, *severity, shape(message))).or_default();
        *count += 1;
        if *count <= EACH {
            first.push(told);
            continue;
        }
        let at = *at.get_or_insert_with(|| {
            folded.push(Folded { rule, severity: *severity, lines: Vec::new() });
            folded.len() - 1
        });
        folded[at].lines.push(told.place.line);
    }
    (first, folded)
}

/// The message without its figures: findings of one rule that have it in common are of one kind.
fn shape(message: &str) -> String {
    let mut shape = String::with_capacity(message.len());
    for c in message.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        // Units too, where they stand right behind: `916MiB/s` and `960MB/s` are one figure in two.
        let of_figure = matches!(c, '0' | '.' | ',' | '/' | '%') || c.is_ascii_alphabetic();
        let joins = of_figure && shape.ends_with('0');
        if !joins {
            shape.push(c);
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_lines_are_told_by_their_ends() {
        assert_eq!(line_numbers([4]), "line 4");
        assert_eq!(line_numbers([4, 5, 7, 7, 8, 9, 12]), "lines 4, 5, 7 to 9, 12");
        assert!(line_numbers((0..100).map(|at| at * 2)).ends_with("22 and others"));
    }

    #[test]
    fn messages_that_differ_in_figures_only_are_of_one_shape() {
        assert_eq!(shape("1,024.5 MiB/s is not 7 x 3"), shape("12 MiB/s is not 1.5 x 300"));
        assert_eq!(shape("is 916MiB/s, not 920MiB/s by 3 B"), shape("is 960MB/s, not 965MB/s by 3 B"));
        assert_ne!(shape("read is 7"), shape("write is 7"));
        assert_ne!(shape("7 reads"), shape("7 writes"));
    }

    #[test]
    fn counts_in_words() {
        assert_eq!(by_severity(|_| 0), "nothing found");
        assert_eq!(
            by_severity(|severity| severity as usize),
            "1 wrong figure, 2 ambiguous, 3 cosmetic",
            "what is not there is not told"
        );
        assert_eq!(by_status(|_| 0), "no figures");
        assert_eq!(by_status(|_| 1), "4 figures: 1 holds, 1 plausible, 1 does not hold, 1 cannot be checked");
        assert_eq!(by_status(|status| 2 * usize::from(status == Status::Holds)), "2 figures: 2 hold");
    }
}
