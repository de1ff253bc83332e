//! The tables of a fleet's report.

use super::sheet;
use crate::table::TextTable;
use iotax_analysis::findings::fleet::{
    ChangedHost, ComparedHost, FigureDrift, FleetFigure, FleetFindings, OutlierSide,
};
use iotax_stats::Digits;
use std::cmp::Reverse;

/// Returns a row for each figure: mean, spread and the next host.
pub(crate) fn figure_table(found: &FleetFindings) -> TextTable {
    let cells = |cell: &dyn Fn(&FleetFigure) -> String| found.figures.iter().map(cell).collect();
    let mut table = TextTable::default();
    table.push("figure", 0, cells(&|one| sheet::figure_name(found, one)));
    if has_numbers(found) {
        let numbers = (1..=found.figures.len()).map(|number| number.to_string());
        table.push("column", 3, numbers.collect());
    }
    table.push("mean over hosts", 0, cells(&sheet::mean_cell));
    table.push("spread", 1, cells(&|one| sheet::spread_cell(&one.spread)));
    let others = |one: &FleetFigure| match &one.spread_of_others {
        Some(spread) => sheet::spread_cell(spread),
        None => String::new(),
    };
    table.push_known("without outliers", 1, cells(&others));
    table.push("next host", 1, cells(&sheet::next_cell));
    table.push("hosts", 4, cells(&sheet::hosts_cell));
    table.push("outliers", 2, cells(&|one| one.outliers.to_string()));
    table
}

/// Most figures whose names are the heads of a matrix; with more, heads are numbers.
const NAMED_HEADS: usize = 6;

fn has_numbers(found: &FleetFindings) -> bool {
    found.figures.len() > NAMED_HEADS
}

fn matrix_head(found: &FleetFindings, at: usize) -> String {
    match has_numbers(found) {
        true => (at + 1).to_string(),
        false => sheet::figure_name(found, &found.figures[at]),
    }
}

/// Returns a row for each of the hosts, with the figures of which most are outliers in as many
/// columns as fit, and the number of figures with outliers that do not.
pub(crate) fn fitted_matrix(
    found: &FleetFindings,
    hosts: &[&ComparedHost],
    width: usize,
) -> (TextTable, usize) {
    let mut table = TextTable::default();
    table.push("host", 0, hosts.iter().map(|host| host.host.clone()).collect());
    let outliers = |at: usize| {
        let own = hosts.iter().filter_map(|host| host.deviations[at].as_ref());
        own.filter(|one| one.outlier.is_some()).count()
    };
    let mut order: Vec<usize> = (0..found.figures.len()).filter(|at| outliers(*at) > 0).collect();
    order.sort_by_key(|at| (Reverse(outliers(*at)), found.figures[*at].key.quantity));
    let all = order.len();
    for (kept, at) in order.into_iter().enumerate() {
        let cells = hosts.iter().map(|host| sheet::deviation_cell(host.deviations[at].as_ref()));
        let mut wider = table.clone();
        wider.push(&sheet::figure_name(found, &found.figures[at]), 0, cells.collect());
        if kept > 0 && !wider.fits(width) {
            return (table, all - kept);
        }
        table = wider;
    }
    (table, 0)
}

/// Returns a row for each of the hosts, a column for each figure, and how good its cells are.
pub(crate) fn host_matrix(
    found: &FleetFindings,
    hosts: &[&ComparedHost],
) -> (TextTable, Vec<Vec<Option<f64>>>) {
    let mut table = TextTable::default();
    table.push("host", 0, hosts.iter().map(|host| host.host.clone()).collect());
    let mut shades = Vec::new();
    for (at, figure) in found.figures.iter().enumerate() {
        let head = matrix_head(found, at);
        let deviations = || hosts.iter().map(|host| host.deviations[at].as_ref());
        let rank = if figure.outliers > 0 { 0 } else { 1 };
        table.push(&head, rank, deviations().map(sheet::deviation_cell).collect());
        let shade = |side| if side == OutlierSide::Worse { 0.0 } else { 1.0 };
        shades.push(deviations().map(|one| one.and_then(|one| one.outlier).map(shade)).collect());
    }
    (table, shades)
}

/// Returns the values of the hosts: a row for each host, a column for each figure.
pub(crate) fn value_table(found: &FleetFindings, hosts: &[&ComparedHost]) -> TextTable {
    let mut table = TextTable::default();
    table.push("host", 0, hosts.iter().map(|host| host.host.clone()).collect());
    for (at, figure) in found.figures.iter().enumerate() {
        let cells = hosts.iter().map(|host| match &host.deviations[at] {
            Some(one) => Digits::for_value(one.value, None, figure.unit).bare(),
            None => "-".to_owned(),
        });
        table.push(&matrix_head(found, at), 1, cells.collect());
    }
    table
}

pub(crate) fn missing_table(found: &FleetFindings) -> TextTable {
    let mut table = TextTable::default();
    let all = &found.missing;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    table.push("host", 0, all.iter().map(|one| one.host.clone()).collect());
    table.push("state", 0, all.iter().map(|one| one.state.clone()).collect());
    table.push("why", 1, all.iter().map(|one| text(&one.why)).collect());
    table.push("next", 2, all.iter().map(|one| text(&one.next)).collect());
    table
}

/// Returns the facts in which outliers differ.
pub(crate) fn cause_table(found: &FleetFindings) -> TextTable {
    let mut table = TextTable::default();
    let all = &found.causes;
    table.push("hosts", 0, all.iter().map(|one| sheet::named_hosts(&one.hosts)).collect());
    let fact = |subject: &str, key: &str| format!("{subject} {key}");
    table.push("fact", 0, all.iter().map(|one| fact(&one.subject, &one.key)).collect());
    table.push("theirs", 0, all.iter().map(|one| one.value.clone()).collect());
    table.push("most others", 0, all.iter().map(|one| one.usual.clone()).collect());
    let shared = all.iter().map(|one| format!("{} of {}", one.shared_by, one.others));
    table.push("others with it", 2, shared.collect());
    table
}

/// Returns the facts in which any hosts differ, with the numbers of hosts.
pub(crate) fn fact_table(found: &FleetFindings) -> TextTable {
    let mut table = TextTable::default();
    let all = &found.facts;
    let name = all.iter().map(|one| format!("{} {}", one.subject, one.key));
    table.push("fact", 0, name.collect());
    let values = all.iter().map(|one| {
        let values = one.values.iter().filter(|(value, _)| !value.is_empty());
        let values: Vec<String> =
            values.map(|(value, hosts)| format!("{value} ({hosts})")).collect();
        values.join(", ")
    });
    table.push("values (hosts)", 0, values.collect());
    table
}

/// Returns the change of each figure over all hosts.
pub(crate) fn drift_table(found: &FleetFindings, figures: &[FigureDrift]) -> TextTable {
    let mut table = TextTable::default();
    let about = |one: &FigureDrift| sheet::key_name(found, &one.key, one.unit);
    table.push("figure", 0, figures.iter().map(about).collect());
    let change = figures.iter().map(|one| crate::number::change_in_percent(&one.change).cell());
    table.push("mean change", 0, change.collect());
    table.push("spread", 1, figures.iter().map(|one| sheet::spread_cell(&one.spread)).collect());
    table.push(
        "changed hosts",
        0,
        figures.iter().map(|one| one.changed.len().to_string()).collect(),
    );
    table
}

/// Returns the hosts that surely changed, with what differs between their runs.
pub(crate) fn changed_table(changed: &[(&FigureDrift, &ChangedHost)]) -> TextTable {
    let mut table = TextTable::default();
    table.push("host", 0, changed.iter().map(|(_, one)| one.host.clone()).collect());
    let about = changed.iter().map(|(figure, _)| figure.key.to_words(figure.unit));
    table.push("figure", 0, about.collect());
    let change = changed.iter().map(|(_, one)| {
        let side = if one.side == OutlierSide::Worse { "worse" } else { "better" };
        format!("{} {side}", crate::number::change_in_percent(&one.change).cell())
    });
    table.push("change", 0, change.collect());
    let differs = changed.iter().map(|(_, one)| one.differs.join(", "));
    table.push_known("differs since then", 1, differs.collect());
    table
}
