//! T10: of units that are nominally equal one has half of what the others have.

use super::like;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity, Slip};
use crate::number::{Interval, Quantity, Unit};
use crate::table::Table;
use std::collections::HashMap;

/// Fewer tell no outlier.
const LEAST: usize = 4;

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    let mut groups: HashMap<_, Vec<&Table>> = HashMap::new();
    for table in evidence.tables {
        let title = numbered(&table.corner).or_else(|| numbered(table.title.as_deref()?));
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        if let Some(title) = title {
            groups.entry((title, heads, labels)).or_default().push(table);
        }
    }
    for group in groups.values() {
        for (row, one) in group[0].rows.iter().enumerate() {
            for (column, head) in group[0].columns.iter().enumerate() {
                let figure = |table: &&Table| table.rows[row].cells.get(column)?.as_ref()?.figure;
                let figures: Vec<Quantity> = group.iter().filter_map(figure).collect();
                judge(evidence, &figures, &format!("{}, {}", one.label, head.head), sink);
            }
        }
    }
}

/// A name of a unit with a number in brackets, without it: `PM9A3 (0369)` and `PM9A3 (6310)` are units of one kind.
fn numbered(text: &str) -> Option<String> {
    let (name, rest) = text.split_once(['(', '\u{ff08}'])?;
    let number = rest.trim_end_matches([')', '\u{ff09}', ' ']);
    let is_number = number.chars().all(|letter| letter.is_ascii_digit()) && !number.is_empty();
    (is_number && name.contains(char::is_alphabetic)).then(|| name.trim().to_owned())
}

/// One of at least four rates, where all others are within a tenth of each other.
fn judge(evidence: &Evidence, figures: &[Quantity], of: &str, sink: &mut Sink) {
    let Some(least) = figures.iter().min_by(|one, other| one.figure.value.total_cmp(&other.figure.value))
    else {
        return;
    };
    let spot = least.figure.spot;
    let others = || figures.iter().map(|one| one.figure).filter(|one| one.spot != spot);
    let low = others().map(|one| one.low).fold(f64::MAX, f64::min);
    let spread = Interval { low, high: others().map(|one| one.high).fold(0.0, f64::max) };
    let rates = figures.iter().all(|one| one.unit == least.unit)
        && matches!(least.unit, Unit::BytesPerSecond | Unit::PerSecond);
    if figures.len() < LEAST || !rates || spread.high > 1.1 * spread.low || least.figure.high >= low {
        return;
    }
    if spread.wider(0.02).meets(least.interval().scaled(2.0)) {
        let (printed, others) = (evidence.page.quote(spot), others().map(|one| one.spot));
        let message = format!(
            "{of}: {printed} is half of what {} nominally equal units have: one of two runs or parts is missing",
            figures.len() - 1
        );
        let both = like(printed, least, 2.0 * least.figure.value);
        let finding = Finding::new("T10", Severity::WrongFigure, spot, message).slip(Slip::Half);
        sink.finds(finding.recomputed(both).against(others));
    }
}
