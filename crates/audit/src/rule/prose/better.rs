//! `A improves B`: S3, by rows of a table that differ in A alone.

use crate::finding::{Finding, Severity};
use crate::number::Quantity;
use crate::page::{Page, Spot};
use crate::prose::{Topic, topic};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// S3.
pub const BETTER: Rule = Rule {
    id: "S3",
    name: "what is said to improve does so everywhere",
    severity: Severity::Ambiguous,
    holds: "in every pair of rows that differ only in the setting which the sentence names the figures rise",
    silent: "unless labels hold settings (`cache=writeback`) that the sentence names, and the table stands before the sentence",
    check: better,
};

/// Words that say that something got better.
const IMPROVES: [&str; 12] = [
    "improve",
    "speed up",
    "speeds up",
    "faster",
    "boost",
    "提升",
    "加速",
    "提高",
    "改善",
    "ускор",
    "улучш",
    "повыша",
];

/// What settings are called in sentences.
const CALLED: [(&str, &str); 4] =
    [("多队列", "queues"), ("multiqueue", "queues"), ("multi-queue", "queues"), ("многоочеред", "queues")];

fn better(evidence: &Evidence, sink: &mut Sink) {
    let mut fenced = false;
    for line in evidence.text_lines() {
        let text = evidence.page.line(line);
        fenced ^= text.trim_start().starts_with("```");
        if fenced || text.len() > 4000 {
            continue;
        }
        let lower = text.to_lowercase();
        if IMPROVES.iter().any(|word| lower.contains(word)) {
            of_line(evidence, line, &lower, sink);
        }
    }
}

fn of_line(evidence: &Evidence, line: usize, lower: &str, sink: &mut Sink) {
    let Some(table) = evidence.tables.iter().rev().find(|table| table.lines.end <= line) else { return };
    let wanted = topic(lower);
    let one_way = wanted.read != wanted.write;
    for setting in settings(table) {
        let (key, value) = setting.split_once('=').unwrap_or((setting.as_str(), ""));
        let called = CALLED.iter().any(|(name, other)| *other == key && lower.contains(name));
        let plain = value.len() >= 3
            && value.chars().all(char::is_alphabetic)
            && lower.contains(value)
            && value != "none";
        if (called || plain) && one_way {
            judge(evidence.page, table, line, &setting, &wanted, sink);
        }
    }
}

/// Settings of the labels, each once.
fn settings(table: &Table) -> Vec<String> {
    let mut all: Vec<String> = table.rows.iter().flat_map(|row| of_label(&row.label)).collect();
    all.sort();
    all.dedup();
    all
}

fn of_label(label: &str) -> Vec<String> {
    let parts = label.split([' ', ',', '(', ')', '（', '）', ';']);
    parts.filter(|part| part.contains('=')).map(str::to_lowercase).collect()
}

/// A label without a setting; `cache=writeback` against `cache=none` differ in one.
fn without(label: &str, key: &str) -> String {
    let parts = label.split([' ', ',', '(', ')', '（', '）', ';']).filter(|part| !part.is_empty());
    parts.filter(|part| !part.to_lowercase().starts_with(&format!("{key}="))).collect::<Vec<_>>().join(" ")
}

fn judge(page: &Page, table: &Table, line: usize, setting: &str, wanted: &Topic, sink: &mut Sink) {
    let key = setting.split('=').next().unwrap_or(setting);
    let has = |label: &str| of_label(label).iter().any(|one| one == setting);
    let mut fell: Vec<(Quantity, Quantity)> = Vec::new();
    let mut all = 0;
    for with in table.rows.iter().filter(|row| has(&row.label)) {
        for other in table
            .rows
            .iter()
            .filter(|row| !has(&row.label) && without(&row.label, key) == without(&with.label, key))
        {
            for (at, column) in table.columns.iter().enumerate() {
                let about = topic(&column.head);
                if about.read == about.write || !wanted.covers(&about) {
                    continue;
                }
                let figure = |row: &crate::table::Row| row.cells.get(at)?.as_ref()?.figure;
                let (Some(after), Some(before)) = (figure(with), figure(other)) else { continue };
                all += 1;
                if after.figure.high < before.figure.low {
                    fell.push((after, before));
                }
            }
        }
    }
    if fell.is_empty() || all < 2 {
        return;
    }
    let (after, before) = &fell[0];
    let message = format!(
        "{setting} makes it slower in {} of {all} pairs of rows that differ only in it: {} without, {} with it",
        fell.len(),
        page.quote(before.figure.spot),
        page.quote(after.figure.spot)
    );
    let spots: Vec<Spot> =
        fell.iter().flat_map(|(after, before)| [before.figure.spot, after.figure.spot]).collect();
    let length = page.line(line).len();
    sink.finds(Finding::new("S3", Severity::Ambiguous, Spot::new(line, 0..length), message).against(spots));
}

#[cfg(test)]
mod tests;
