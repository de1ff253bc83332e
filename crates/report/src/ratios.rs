//! The tables that a scenario asks for: a row a load, a column a stack, and below each figure its share of one column's, as
//! measured and as published.

use super::number::{Shown, share};
use super::table::Table;
use iotax_analysis::Findings;
use iotax_analysis::findings::ratios::{RatioCell, RatioColumn, RatioRow, RatioTable};
use iotax_stats::alike;
use iotax_units::distinct;

/// Each with its title and what is to be known beside it.
pub(super) fn tables(findings: &Findings) -> Vec<(String, Table, Vec<String>)> {
    findings.tables.iter().map(|asked| (title(asked), table(asked), remarks(asked))).collect()
}

/// Below tables with shares.
pub(super) const LEGEND: &str = "shares are ratios of totals with a 95 % interval each by itself; nothing follows from one with !; published \
     ones are of two printed figures";

/// Whether any share is shown.
pub(super) fn legend(findings: &Findings) -> Option<&'static str> {
    findings.tables.iter().any(|asked| asked.percent_of.is_some()).then_some(LEGEND)
}

fn title(asked: &RatioTable) -> String {
    let metrics = distinct(asked.rows.iter().map(|row| row.metric.as_str()));
    let name = asked.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let of = asked.percent_of.as_ref().map(|head| format!(", and in % of {head}")).unwrap_or_default();
    format!("{name}{}{of}", metrics.join(", "))
}

fn table(asked: &RatioTable) -> Table {
    let lines: Vec<Line> = asked.rows.iter().flat_map(|row| Line::of(asked, row)).collect();
    let mut table = Table::default();
    table.push("load", 0, lines.iter().map(|line| line.name.clone()).collect());
    for (at, column) in asked.columns.iter().enumerate() {
        let is_base = asked.percent_of.as_ref() == Some(&column.head);
        table.push(&head(column), 0, lines.iter().map(|line| line.cell(at, is_base)).collect());
    }
    table
}

fn head(column: &RatioColumn) -> String {
    let emulated = if column.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", column.head)
}

/// What a line shows of its row.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Value,
    Share,
    Published,
}

struct Line<'a> {
    name: String,
    row: &'a RatioRow,
    what: What,
}

impl<'a> Line<'a> {
    fn of(asked: &RatioTable, row: &'a RatioRow) -> Vec<Line<'a>> {
        let line = |name: String, what| Line { name, row, what };
        let mut lines = vec![line(row.workload.clone(), What::Value)];
        if let Some(head) = &asked.percent_of {
            lines.push(line(format!("  of {head}"), What::Share));
            let published = row.cells.iter().any(|cell| cell.published.is_some());
            lines.extend(published.then(|| line("  published".to_owned(), What::Published)));
        }
        lines
    }

    fn cell(&self, at: usize, is_base: bool) -> String {
        let cell = &self.row.cells[at];
        let absent = || "-".to_owned();
        match self.what {
            What::Value => Shown::of(&cell.value).cell(),
            What::Share | What::Published if is_base => "100 %".to_owned(),
            What::Share => {
                cell.share.as_ref().map_or_else(absent, |ratio| share(ratio).judged(cell.is_resolved()))
            }
            What::Published => cell.published.as_ref().map_or_else(absent, |ratio| share(ratio).cell()),
        }
    }
}

/// What its figures are emulated on, and which shares are those of a limit.
fn remarks(asked: &RatioTable) -> Vec<String> {
    let emulated = asked.emulated.iter().map(|reason| match reason.starts_with("emulated") {
        true => reason.clone(),
        false => format!("emulated: {reason}"),
    });
    let cells = |row: &'_ RatioRow| -> Vec<(String, String)> {
        let masked = |(cell, column): (&RatioCell, &RatioColumn)| {
            Some((format!("{} of {}", column.head, row.workload), cell.masked.clone()?))
        };
        row.cells.iter().zip(&asked.columns).filter_map(masked).collect()
    };
    let masked: Vec<(String, String)> = asked.rows.iter().flat_map(cells).collect();
    let texts: Vec<&str> = masked.iter().map(|(_, text)| text.as_str()).collect();
    let said = |group: Vec<usize>| {
        let names: Vec<&str> = group.iter().map(|at| masked[*at].0.as_str()).collect();
        let text = alike::merged(&group.iter().map(|at| texts[*at]).collect::<Vec<_>>());
        format!("{}: {text}", names.join(", "))
    };
    emulated.chain(alike::grouped(&texts).into_iter().map(said)).collect()
}
