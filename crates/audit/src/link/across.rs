//! Tables of ratios whose operands stand in other tables: `iSER | LVM | mdadm` of the tables `LVM - iSER` and `mdadm - iSER`, by the
//! same labels of rows.

use super::names::parts;
use super::{Form, Link, Why, comparable, is_ratio, settled};
use crate::number::Quantity;
use crate::table::Table;

/// The links between tables.
pub(super) fn links(tables: &[Table]) -> Vec<Link> {
    tables.iter().filter(|table| is_of_ratios(table)).flat_map(|table| of_table(table, tables)).collect()
}

fn figures(table: &Table) -> impl Iterator<Item = &Quantity> {
    table.rows.iter().flat_map(|row| row.cells.iter().flatten()).filter_map(|cell| cell.figure.as_ref())
}

fn is_of_ratios(table: &Table) -> bool {
    figures(table).count() >= 4 && figures(table).all(is_ratio)
}

/// The column that is 100 % all the way down.
fn base_column(table: &Table) -> Option<usize> {
    let whole = |at: &usize| {
        let cell = |row: &crate::table::Row| row.cells.get(*at)?.as_ref()?.figure;
        table.rows.iter().all(|row| cell(row).is_some_and(|figure| figure.figure.value == 100.0))
    };
    (0..table.columns.len()).find(whole)
}

fn of_table(ratios: &Table, tables: &[Table]) -> Vec<Link> {
    let Some(base) = base_column(ratios) else { return Vec::new() };
    let sources: Vec<&Table> = tables
        .iter()
        .filter(|table| !std::ptr::eq(*table, ratios) && figures(table).any(|figure| !is_ratio(figure)))
        .collect();
    let candidates_of = |column: usize| -> Vec<&Table> {
        let wanted = [parts(&ratios.columns[column].head), parts(&ratios.corner)].concat();
        let named: Vec<&Table> = sources.iter().copied().filter(|table| names_all(table, &wanted)).collect();
        if !named.is_empty() {
            return named;
        }
        // `ZFS dedup` may be a second table of `ZFS`: whose form holds is seen by its cells.
        let head = parts(&ratios.columns[column].head);
        let first: Vec<String> = head.first().cloned().into_iter().chain(parts(&ratios.corner)).collect();
        sources.iter().copied().filter(|table| names_all(table, &first)).collect()
    };
    let bases = candidates_of(base);
    let mut links = Vec::new();
    for column in (0..ratios.columns.len()).filter(|at| *at != base) {
        let mut candidates = Vec::new();
        for above in candidates_of(column) {
            for below in &bases {
                if std::ptr::eq(above, *below) {
                    continue;
                }
                for metric in 0..below.columns.len().min(above.columns.len()) {
                    candidates.push(linked(ratios, column, above, below, metric));
                }
            }
        }
        links.extend(settled(candidates, |_| false));
    }
    links
}

/// Whether a table's corner, title or heads have all of these words.
fn names_all(table: &Table, wanted: &[String]) -> bool {
    let own = [parts(&table.corner), table.title.as_deref().map(parts).unwrap_or_default()].concat();
    !wanted.is_empty() && wanted.iter().all(|part| own.contains(part))
}

fn linked(ratios: &Table, column: usize, above: &Table, below: &Table, metric: usize) -> Vec<Link> {
    let link = |row: &crate::table::Row| {
        let derived = row.cells.get(column)?.as_ref()?.figure?;
        let (numerator, denominator) = (cell(above, &row.label, metric)?, cell(below, &row.label, metric)?);
        comparable(&numerator, &denominator).then(|| Link {
            derived,
            form: Form::Share,
            numerator,
            denominator,
            why: Why::Held(0),
            of: format!("{}, {}", row.label, ratios.columns[column].head),
            names: [above, below].map(|table| table.corner.clone()),
        })
    };
    ratios.rows.iter().filter_map(link).collect()
}

/// The figure in the row of that label; `None` where several have it.
fn cell(table: &Table, label: &str, column: usize) -> Option<Quantity> {
    let mut rows = table.rows.iter().filter(|row| row.label.trim() == label.trim());
    let row = rows.next().filter(|_| rows.next().is_none())?;
    row.cells.get(column)?.as_ref()?.figure
}
