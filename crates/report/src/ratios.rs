//! Tables that a scenario requests: a row per load, a column per stack, and below each figure its
//! share of one column's, as measured and as published.

use super::number::{Shown, share_of_baseline};
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::ratios::{RatioCell, RatioColumn, RatioRow, RatioTable};
use iotax_stats::alike;
use iotax_units::distinct;

pub(super) fn tables(findings: &Findings) -> Vec<(String, TextTable, Vec<String>)> {
    findings.tables.iter().map(|asked| (title(asked), ratio_table(asked), remarks(asked))).collect()
}

pub(super) const LEGEND: &str = "shares are ratios of totals with a 95 % interval each by itself; nothing follows from one with !; published \
     ones are of two printed figures";

pub(super) fn legend(findings: &Findings) -> Option<&'static str> {
    findings.tables.iter().any(|asked| asked.percent_of.is_some()).then_some(LEGEND)
}

fn title(asked: &RatioTable) -> String {
    let metrics = distinct(asked.rows.iter().map(|row| row.metric.as_str()));
    let name = asked.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    let of =
        asked.percent_of.as_ref().map(|head| format!(", and in % of {head}")).unwrap_or_default();
    format!("{name}{}{of}", metrics.join(", "))
}

fn ratio_table(asked: &RatioTable) -> TextTable {
    let lines: Vec<RatioLine> =
        asked.rows.iter().flat_map(|row| RatioLine::all_of_table(asked, row)).collect();
    let mut table = TextTable::default();
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

#[derive(Clone, Copy, PartialEq)]
enum RatioContent {
    Value,
    Share,
    Published,
}

struct RatioLine<'a> {
    name: String,
    row: &'a RatioRow,
    what: RatioContent,
}

impl<'a> RatioLine<'a> {
    fn all_of_table(asked: &RatioTable, row: &'a RatioRow) -> Vec<RatioLine<'a>> {
        let line = |name: String, what| RatioLine { name, row, what };
        // Reads and writes of a mix are below its whole.
        let (name, below) = match row.direction {
            Some(direction) => (format!("  {direction}s"), "    "),
            None => (row.workload.clone(), "  "),
        };
        let mut lines = vec![line(name, RatioContent::Value)];
        if let Some(head) = &asked.percent_of {
            lines.push(line(format!("{below}of {head}"), RatioContent::Share));
            let published = row.cells.iter().any(|cell| cell.published.is_some());
            lines.extend(
                published.then(|| line(format!("{below}published"), RatioContent::Published)),
            );
        }
        lines
    }

    fn cell(&self, at: usize, is_base: bool) -> String {
        let cell = &self.row.cells[at];
        let absent = || "-".to_owned();
        match self.what {
            RatioContent::Value => Shown::from_figure(&cell.value).cell(),
            RatioContent::Share | RatioContent::Published if is_base => "100 %".to_owned(),
            RatioContent::Share => cell.share.as_ref().map_or_else(absent, |ratio| {
                share_of_baseline(ratio).judged_cell(cell.is_resolved())
            }),
            RatioContent::Published => {
                cell.published.as_ref().map_or_else(absent, |ratio| share_of_baseline(ratio).cell())
            }
        }
    }
}

/// Returns why figures are emulated, and which figures a limit masks.
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
    // A limit that masks a whole load masks its reads and writes.
    let whole = asked.rows.iter().filter(|row| row.direction.is_none());
    let masked: Vec<(String, String)> = whole.flat_map(cells).collect();
    let texts: Vec<&str> = masked.iter().map(|(_, text)| text.as_str()).collect();
    let said = |group: Vec<usize>| {
        let names: Vec<&str> = group.iter().map(|at| masked[*at].0.as_str()).collect();
        let text = alike::merge_texts(&group.iter().map(|at| texts[*at]).collect::<Vec<_>>());
        format!("{}: {text}", names.join(", "))
    };
    emulated.chain(alike::grouped(&texts).into_iter().map(said)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_analysis::findings::{Interval, MeasuredFigure, SampleUnit};

    #[test]
    fn reads_and_writes_of_a_mix_are_lines_below_their_load() {
        let figure = |value: f64, unit| {
            let interval = Interval::from_bounds(0.99 * value, 1.01 * value);
            MeasuredFigure::known_value(value, unit, (48, SampleUnit::Rounds), interval)
        };
        let row = |direction, metric: &str, iops: [f64; 2]| {
            let cell = |at: usize| RatioCell {
                value: figure(iops[at], "1/s"),
                share: (at == 1).then(|| figure(iops[1] / iops[0], "1")),
                verdict: None,
                masked: (at == 1).then(|| "masked by busy CPUs".to_owned()),
                published: None,
            };
            let cells = vec![cell(0), cell(1)];
            RatioRow { workload: "mix".into(), metric: metric.into(), direction, cells }
        };
        let column = |head: &str| RatioColumn {
            head: head.into(),
            stack: Some(head.into()),
            emulated: None,
        };
        let asked = RatioTable {
            name: None,
            percent_of: Some("raw".into()),
            columns: vec![column("raw"), column("lvm")],
            rows: vec![
                row(None, "iops", [1000.0, 800.0]),
                row(Some("read"), "read iops", [700.0, 630.0]),
                row(Some("write"), "write iops", [300.0, 170.0]),
            ],
            emulated: Vec::new(),
        };
        let columns = ratio_table(&asked).columns;
        assert_eq!(
            columns[0].cells,
            ["mix", "  of raw", "  reads", "    of raw", "  writes", "    of raw"]
        );
        for (cell, wanted) in
            columns[2].cells.iter().zip(["800", "80.00", "630", "90.00", "170", "56.67"])
        {
            assert!(cell.starts_with(wanted), "{cell}, not {wanted}");
        }
        assert_eq!(title(&asked), "iops, read iops, write iops, and in % of raw");
        assert_eq!(remarks(&asked), ["lvm of mix: masked by busy CPUs"], "once, of the whole");
    }
}
