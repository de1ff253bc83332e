//! Units that are nominally equal, against each other: T9 and T10.

use super::like;
use crate::finding::{Finding, Severity, Slip};
use crate::link::mentions;
use crate::number::{Interval, Quantity, Unit};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;
use std::collections::HashMap;

mod headings;

/// T9 and T10.
pub const REPLICAS: Rule = Rule {
    id: "T9",
    name: "units that are nominally equal have equal figures",
    severity: Severity::WrongFigure,
    holds: "of at least four tables (or columns) that are called the same but for a number, no cell is more than 30 % from their \
            median (10 % may mislead); half of it is told as T10: one of two runs is missing",
    silent: "with fewer than four, where headings above them differ in more than an ordinal (run 1, #2, VM3), of counts below 100 without a unit, where rows are moments of a run, and where more than a quarter of them are off: they are not equal then",
    check: replicas,
};

/// Fewer tell no outlier.
const LEAST: usize = 4;

/// What is numbered where several are equal.
const UNITS: [&str; 17] = [
    "vm",
    "run",
    "disk",
    "drive",
    "node",
    "host",
    "test",
    "sample",
    "pass",
    "虚拟机",
    "次",
    "盘",
    "节点",
    "вм",
    "диск",
    "тест",
    "прогон",
];

fn replicas(evidence: &Evidence, sink: &mut Sink) {
    for group in headings::part(evidence.page, groups(evidence.tables)) {
        if group.len() >= LEAST {
            across(evidence.page, &group, sink);
        }
    }
    for table in evidence.tables {
        within(evidence.page, table, sink);
    }
}

/// A name without its numbers and what stands in brackets: `PM9A3 (0369)` and `PM9A3 (6310)` are one.
fn bare_name(text: &str) -> Option<String> {
    let mut depth = 0;
    let mut bare = String::new();
    let mut numbered = false;
    for letter in text.chars() {
        match letter {
            '(' | '（' | '[' => depth += 1,
            ')' | '）' | ']' => depth -= 1,
            _ if depth > 0 => numbered |= letter.is_ascii_digit(),
            other => bare.push(other),
        }
    }
    let trimmed =
        bare.trim_end().trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '#').trim_end();
    let counted = trimmed.len() < bare.trim_end().len() && depth == 0;
    // A number in brackets, or one at the end, counts units; a model's own digits do not.
    let name = if numbered { bare.trim().to_owned() } else { trimmed.to_owned() };
    (numbered || counted).then_some(name).filter(|name| name.chars().any(char::is_alphabetic))
}

/// What tables of the same shape have in common: the name without its number, heads, labels.
type Shape<'a> = (String, Vec<&'a str>, Vec<&'a str>);

/// Tables of the same shape whose names differ by a number only. A page may have thousands: they are not held one against another.
fn groups(tables: &[Table]) -> Vec<Vec<&Table>> {
    let mut groups: Vec<Vec<&Table>> = Vec::new();
    let mut known: HashMap<Shape, usize> = HashMap::new();
    for table in tables {
        let Some(name) = bare_name(&table.corner).or_else(|| bare_name(table.title.as_deref()?)) else {
            continue;
        };
        let heads = table.columns.iter().map(|column| column.head.as_str()).collect();
        let labels = table.rows.iter().map(|row| row.label.as_str()).collect();
        let at = *known.entry((name, heads, labels)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(table),
            None => groups.push(vec![table]),
        }
    }
    groups.into_iter().filter(|group| group.len() >= LEAST).collect()
}

/// Whether the rows of a table are moments of a run (`0`, `1`, `2`, ... seconds): what each of them counts varies from run to run.
fn is_course(table: &Table) -> bool {
    let labels: Vec<Option<f64>> = table.rows.iter().map(|row| row.label.trim().parse().ok()).collect();
    let steps = labels.windows(2).filter_map(|pair| Some(pair[1]? - pair[0]?));
    let steps: Vec<f64> = steps.filter(|step| *step > 0.0).collect();
    let Some(first) = steps.first() else { return false };
    // A table that was cut short begins at 0 all the same.
    if labels.first() == Some(&Some(0.0)) && steps.len() + 1 == labels.len() {
        return true;
    }
    let even = steps.iter().filter(|step| (*step - first).abs() < 1e-3 * first).count();
    even >= 4 && 4 * even >= 3 * (labels.len() - 1)
}

fn across(page: &Page, group: &[&Table], sink: &mut Sink) {
    let Some(first) = group.first().filter(|first| !is_course(first)) else { return };
    for (row, labelled) in first.rows.iter().enumerate() {
        for (column, headed) in first.columns.iter().enumerate() {
            let figure = |table: &&Table| table.rows.get(row)?.cells.get(column)?.as_ref()?.figure;
            let figures: Vec<Quantity> = group.iter().filter_map(figure).collect();
            judge(page, &figures, &format!("{}, {}", labelled.label, headed.head), sink);
        }
    }
}

/// Columns of one table that are numbered: `VM1`, `VM2`, `run 1`.
fn within(page: &Page, table: &Table, sink: &mut Sink) {
    let named: Vec<(usize, String)> = table
        .columns
        .iter()
        .enumerate()
        .filter_map(|(at, column)| Some((at, bare_name(&column.head)?)))
        .collect();
    let Some((_, name)) = named.first() else { return };
    let same: Vec<usize> = named.iter().filter(|(_, other)| other == name).map(|(at, _)| *at).collect();
    // Columns that count something (threads, queues) differ on purpose.
    let counts_units =
        UNITS.iter().any(|unit| name.to_lowercase().trim() == *unit || mentions(name, unit, ""));
    if same.len() < LEAST || !counts_units {
        return;
    }
    for row in &table.rows {
        let figures: Vec<Quantity> =
            same.iter().filter_map(|at| row.cells.get(*at)?.as_ref()?.figure).collect();
        judge(page, &figures, &row.label, sink);
    }
}

fn judge(page: &Page, figures: &[Quantity], of: &str, sink: &mut Sink) {
    let Some(first) = figures.first() else { return };
    let alike = figures.iter().all(|figure| figure.unit == first.unit && figure.unit != Unit::Percent);
    if figures.len() < LEAST || !alike {
        return;
    }
    let median = median(figures);
    let off = |figure: &Quantity| figure.figure.value / median - 1.0;
    let outside = figures.iter().filter(|figure| off(figure).abs() > 0.1).count();
    // Small counts without a unit are states and settings.
    if first.unit == Unit::Bare && median < 100.0 {
        return;
    }
    if median <= 0.0 || 4 * outside > figures.len() {
        return;
    }
    let others = Interval {
        low: figures
            .iter()
            .map(|figure| figure.figure.low)
            .filter(|low| *low > 0.9 * median)
            .fold(f64::MAX, f64::min),
        high: figures
            .iter()
            .map(|figure| figure.figure.high)
            .filter(|high| *high < 1.1 * median)
            .fold(0.0, f64::max),
    };
    for figure in figures {
        let off = off(figure);
        if off.abs() <= 0.1 {
            sink.plausible("T9", &figure.figure);
            continue;
        }
        let printed = page.quote(figure.figure.spot);
        let half = others.wider(0.02).meets(figure.interval().scaled(2.0));
        let severity = if off.abs() > 0.3 { Severity::WrongFigure } else { Severity::Ambiguous };
        let spots = figures.iter().map(|other| other.figure.spot).filter(|spot| *spot != figure.figure.spot);
        let message = if half {
            format!(
                "{of}: {printed} is half of what {} nominally equal units have: one of two runs or parts is missing",
                figures.len() - 1
            )
        } else {
            format!(
                "{of}: {printed} is {:+.0} % from the median of {} nominally equal units",
                100.0 * off,
                figures.len()
            )
        };
        let mut finding =
            Finding::new(if half { "T10" } else { "T9" }, severity, figure.figure.spot, message)
                .against(spots);
        if half {
            finding = finding.slip(Slip::Half).recomputed(like(printed, figure, 2.0 * figure.figure.value));
        }
        sink.finds(finding);
    }
}

fn median(figures: &[Quantity]) -> f64 {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.figure.value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

#[cfg(test)]
mod tests;
