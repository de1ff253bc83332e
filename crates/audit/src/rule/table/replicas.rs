//! Units that are nominally equal, against each other: T9 and T10.

use super::like;
use crate::finding::{Finding, Severity, Slip};
use crate::number::{Interval, Quantity, Unit};
use crate::page::Page;
use crate::rule::{Evidence, Sink};
use crate::table::Table;
use std::collections::HashMap;

/// Fewer tell no outlier.
const LEAST: usize = 4;

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    for group in groups(evidence.page, evidence.tables) {
        let first = group[0];
        if group.len() < LEAST || is_course(first) {
            continue;
        }
        for (row, labelled) in first.rows.iter().enumerate() {
            for (column, headed) in first.columns.iter().enumerate() {
                let figures = group.iter().filter_map(|table| figure(table, row, column));
                let of = format!("{}, {}", labelled.label, headed.head);
                judge(evidence.page, &figures.collect::<Vec<_>>(), &of, sink);
            }
        }
    }
}

fn figure(table: &Table, row: usize, column: usize) -> Option<Quantity> {
    table.rows.get(row)?.cells.get(column)?.as_ref()?.figure
}

/// A name without its numbers and what stands in brackets: `PM9A3 (0369)` and `PM9A3 (6310)` are one.
fn bare_name(text: &str) -> Option<String> {
    let (mut depth, mut numbered, mut bare) = (0, false, String::new());
    for letter in text.chars() {
        match letter {
            '(' | '（' | '[' => depth += 1,
            ')' | '）' | ']' => depth -= 1,
            _ if depth > 0 => numbered |= letter.is_ascii_digit(),
            other => bare.push(other),
        }
    }
    let bare = bare.trim();
    let trimmed = bare.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '#').trim_end();
    let counted = trimmed.len() < bare.len() && depth == 0;
    // A number in brackets, or one at the end, counts units; a model's own digits do not.
    let name = if numbered { bare } else { trimmed };
    ((numbered || counted) && name.contains(char::is_alphabetic)).then(|| name.to_owned())
}

/// Tables of the same heads and labels whose names, and the headings above them, differ by a number only.
fn groups<'a>(page: &Page, tables: &'a [Table]) -> Vec<Vec<&'a Table>> {
    let name = |table: &Table| bare_name(&table.corner).or_else(|| bare_name(table.title.as_deref()?));
    let named: Vec<(String, &Table)> =
        tables.iter().filter_map(|table| Some((name(table)?, table))).collect();
    if named.len() < LEAST {
        return Vec::new();
    }
    let is_heading = |line: &usize| page.line(*line).starts_with('#');
    let headings: Vec<usize> = (0..page.len()).filter(is_heading).collect();
    let mut groups: HashMap<_, Vec<&Table>> = HashMap::new();
    for (name, table) in named {
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        let above = headings.partition_point(|line| *line < table.lines.start);
        let heading = above.checked_sub(1).map(|at| page.line(headings[at]));
        let heading = heading.map(|text| bare_name(text).unwrap_or_else(|| text.to_owned()));
        groups.entry((name, heading, heads, labels)).or_default().push(table);
    }
    groups.into_values().collect()
}

/// Whether the rows of a table are moments of a run (`0`, `1`, `2`, ... seconds): what each of them counts varies from run to run.
fn is_course(table: &Table) -> bool {
    let labels: Vec<Option<f64>> = table.rows.iter().map(|row| row.label.trim().parse().ok()).collect();
    let steps = labels.windows(2).filter_map(|pair| Some(pair[1]? - pair[0]?));
    let steps: Vec<f64> = steps.filter(|step| *step > 0.0).collect();
    let Some(first) = steps.first() else { return false };
    // A table that was cut short begins at 0 all the same.
    let counts = labels[0] == Some(0.0) && steps.len() + 1 == labels.len();
    let even = steps.iter().filter(|step| (*step - first).abs() < 1e-3 * first).count();
    counts || even >= 4 && 4 * even >= 3 * (labels.len() - 1)
}

fn judge(page: &Page, figures: &[Quantity], of: &str, sink: &mut Sink) {
    let Some(first) = figures.first().filter(|_| figures.len() >= LEAST) else { return };
    let alike = figures.iter().all(|figure| figure.unit == first.unit && figure.unit != Unit::Percent);
    let median = median(figures);
    let off = |figure: &Quantity| figure.figure.value / median - 1.0;
    let outside = figures.iter().filter(|figure| off(figure).abs() > 0.1).count();
    // Small counts without a unit are states and settings.
    let is_state = first.unit == Unit::Bare && median < 100.0;
    if !alike || is_state || median <= 0.0 || 4 * outside > figures.len() {
        return;
    }
    let low = figures.iter().map(|one| one.figure.low).filter(|low| *low > 0.9 * median);
    let high = figures.iter().map(|one| one.figure.high).filter(|high| *high < 1.1 * median);
    let others = Interval { low: low.fold(f64::MAX, f64::min), high: high.fold(0.0, f64::max) };
    for figure in figures {
        let off = off(figure);
        if off.abs() <= 0.1 {
            sink.plausible("T9", &figure.figure);
            continue;
        }
        let (spot, count) = (figure.figure.spot, figures.len());
        let printed = page.quote(spot);
        let severity = if off.abs() > 0.3 { Severity::WrongFigure } else { Severity::Ambiguous };
        let finding = if others.wider(0.02).meets(figure.interval().scaled(2.0)) {
            let message = format!(
                "{of}: {printed} is half of what {} nominally equal units have: one of two runs or parts is missing",
                count - 1
            );
            let both = like(printed, figure, 2.0 * figure.figure.value);
            Finding::new("T10", severity, spot, message).slip(Slip::Half).recomputed(both)
        } else {
            let off = 100.0 * off;
            let message =
                format!("{of}: {printed} is {off:+.0} % from the median of {count} nominally equal units");
            Finding::new("T9", severity, spot, message)
        };
        let operands = figures.iter().map(|other| other.figure.spot).filter(|other| *other != spot);
        sink.finds(finding.against(operands));
    }
}

fn median(figures: &[Quantity]) -> f64 {
    let mut values: Vec<f64> = figures.iter().map(|figure| figure.figure.value).collect();
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}
