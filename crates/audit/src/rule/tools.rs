//! X29: figures that a tool prints for one run, checked against each other by the relations of
//! `relations.txt`.

use super::ledger::{Ledger, NamedFigure, make_named_figure};
use crate::claim::Metric;
use crate::evidence::{Evidence, EvidenceSink};
use crate::import::format::ToolReport;
use crate::import::iperf3::IperfRow;
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, Sheet, TIME};
use crate::number::PrintedNumber;
use std::sync::OnceLock;

/// A line of `relations.txt`.
struct Relation {
    tools: Vec<&'static str>,
    form: ToolForm,
    slack: f64,
}

enum ToolForm {
    /// `target = factor * block * figures`: the target, the factor, true if `block` (the size of an
    /// I/O) is in it, and each figure with its power, 1 or -1.
    Product(&'static str, f64, bool, Vec<(&'static str, i32)>),
    Sum(&'static str, Vec<&'static str>),
    Order(Vec<&'static str>),
}

fn relations() -> &'static [Relation] {
    static ALL: OnceLock<Vec<Relation>> = OnceLock::new();
    ALL.get_or_init(|| {
        let lines = include_str!("relations.txt").lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(relation).collect()
    })
}

fn relation(line: &'static str) -> Option<Relation> {
    let (tools, text) = line.split_once(": ")?;
    let (text, slack) = text.split_once(" ~ ").unwrap_or((text, "0"));
    let form = match text.split_once(" = ") {
        None => ToolForm::Order(text.split(" <= ").collect()),
        Some((target, given)) if given.contains(" + ") => {
            ToolForm::Sum(target, given.split(" + ").collect())
        }
        Some((target, given)) => {
            let parts = given.split(" * ").flat_map(|part| part.split(" / ").zip([1, -1]));
            let (mut factor, mut block, mut powers) = (1.0, false, Vec::new());
            for (part, power) in parts {
                match part.parse::<f64>() {
                    Ok(number) => factor *= number,
                    Err(_) if part == "block" => block = true,
                    Err(_) => powers.push((part, power)),
                }
            }
            ToolForm::Product(target, factor, block, powers)
        }
    };
    Some(Relation { tools: tools.split(", ").collect(), form, slack: slack.parse().ok()? })
}

pub(super) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    for output in evidence.outputs {
        // JSON outputs have one format for all tools.
        let printed_by =
            if let ToolReport::Iperf3(_) = output.said { "iperf3" } else { output.format };
        let mine = relations()
            .iter()
            .filter(|one| one.tools.iter().any(|tool| printed_by.starts_with(tool)));
        let mine: Vec<&Relation> = mine.collect();
        let mut ledger = Ledger::new(evidence.page, "X29");
        if let ToolReport::Sheets(sheets) = &output.said {
            for (at, sheet) in sheets.iter().enumerate().filter(|(_, sheet)| !sheet.repeats) {
                check_relations(&mine, sheet, &mut ledger);
                totals(sheet, &sheets[at - sheet.sums..at], &mut ledger);
            }
        }
        if let ToolReport::Iperf3(said) = &output.said {
            let rows = said.tests.iter().flat_map(|test| test.ends.iter().chain(&test.intervals));
            rows.filter_map(of_row).for_each(|sheet| check_relations(&mine, &sheet, &mut ledger));
        }
        ledger.report_figures(sink);
    }
}

fn check_relations(relations: &[&Relation], sheet: &Sheet, ledger: &mut Ledger) {
    for relation in relations {
        let _ = relation.check_sheet(sheet, ledger);
    }
}

impl Relation {
    /// Checks the relation in a sheet; returns `None` if the sheet does not have all of its
    /// figures.
    fn check_sheet(&self, sheet: &Sheet, ledger: &mut Ledger) -> Option<()> {
        match &self.form {
            ToolForm::Product(target, factor, block, powers) => {
                let size = if *block { sheet.workload.bs? as f64 } else { 1.0 };
                let operands = powers.iter().map(|(name, power)| Some((sheet.get(name)?, *power)));
                let operands = operands.collect::<Option<Vec<_>>>()?;
                ledger.product(sheet.get(target)?, *factor, size, &operands, self.slack);
            }
            ToolForm::Sum(total, parts) => {
                let parts = parts.iter().map(|name| sheet.get(name)).collect::<Option<Vec<_>>>()?;
                ledger.sum(sheet.get(total)?, &parts, self.slack);
            }
            ToolForm::Order(names) => {
                ledger.rising(
                    &names.iter().filter_map(|name| sheet.get(name)).collect::<Vec<_>>(),
                    0.0,
                );
            }
        }
        Some(())
    }
}

/// Converts a row of iperf3 to a sheet, whose time is that between the printed ends. `None` if
/// figures are missing, for results of UDP, and for less than 0.1 s.
fn of_row(row: &IperfRow) -> Option<Sheet> {
    let (bytes, rate, [Some(from), Some(to)]) = (row.bytes?, row.rate?, row.time) else {
        return None;
    };
    let (low, high) = (to.low - from.high, to.high - from.low);
    let time = PrintedNumber { value: to.value - from.value, low, high, ..to }.scaled(1e9);
    let mut sheet = Sheet::new(0, None);
    sheet.add_sheet_figure(Metric::Total, make_named_figure(BYTES, "", bytes));
    sheet.add_sheet_figure(Metric::Bandwidth, make_named_figure(BANDWIDTH, "", rate));
    sheet.add_sheet_figure(Metric::Runtime, make_named_figure(TIME, "s", time));
    // UDP receivers count arrivals in the sender's time or in their own, by version.
    let of_udp = row.datagrams.is_some() && row.end.is_some();
    (time.value >= 1e8 && !of_udp).then_some(sheet)
}

/// Checks that the figures of a sheet are the sums of those in `parts`.
fn totals(total: &Sheet, parts: &[Sheet], ledger: &mut Ledger) {
    for name in [BYTES, IOS, BANDWIDTH, IOPS] {
        let rows: Option<Vec<NamedFigure>> = parts.iter().map(|row| row.get(name)).collect();
        if let (Some(target), Some(rows)) = (total.get(name), rows) {
            ledger.sum(target, &rows, 0.0);
        }
    }
}
