//! Loads with `verify`: a row per stack and workload, the conclusions, and the first wrong blocks.

use super::table::TextTable;
use super::verdicts::VerdictSentence;
use iotax_analysis::Findings;
use iotax_analysis::findings::verification::VerifiedRow;
use iotax_units::show_bytes;

pub(super) const TITLE: &str = "Read back";

pub(super) fn read_back_table(findings: &Findings) -> Option<TextTable> {
    let rows = verified_rows(findings);
    if rows.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    let cells = |cell: &dyn Fn(&VerifiedRow) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    table.push("read back of", 0, cells(&|row| row.stack.clone()));
    if rows.iter().any(|row| row.workload != rows[0].workload) {
        table.push("workload", 1, cells(&|row| row.workload.clone()));
    }
    table.push("blocks", 0, cells(&|row| row.back.blocks.to_string()));
    table.push("data", 4, cells(&|row| show_bytes(row.back.bytes)));
    table.push("in", 5, cells(&|row| format!("{:.1} s", row.took_s)));
    table.push("wrong", 0, cells(&|row| row.back.wrong().to_string()));
    if rows.iter().any(|row| row.wrong() > 0) {
        let both = |row: &VerifiedRow, of: fn(&iotax_load::verify::VerifiedBlocks) -> u64| {
            (of(&row.back) + of(&row.load)).to_string()
        };
        table.push("lost", 1, cells(&|row| both(row, |found| found.lost)));
        table.push("misplaced", 2, cells(&|row| both(row, |found| found.misplaced)));
        table.push("foreign", 2, cells(&|row| both(row, |found| found.foreign)));
        table.push("torn", 1, cells(&|row| both(row, |found| found.torn)));
        table.push("unreadable", 2, cells(&|row| both(row, |found| found.unreadable)));
    }
    table.push("reads checked", 3, cells(&|row| row.load.blocks.to_string()));
    table.push("wrong reads", 1, cells(&|row| row.load.wrong().to_string()));
    Some(table)
}

fn verified_rows(findings: &Findings) -> &[VerifiedRow] {
    findings.verification.as_ref().map(|found| found.rows.as_slice()).unwrap_or_default()
}

pub(super) fn read_back_sentences(findings: &Findings) -> Vec<VerdictSentence> {
    let several = verified_rows(findings)
        .iter()
        .any(|row| row.workload != verified_rows(findings)[0].workload);
    let said = |row: &VerifiedRow| {
        let of = if several { format!(" ({})", row.workload) } else { String::new() };
        let class = match () {
            () if row.wrong() > 0 => "cost",
            () if row.is_empty() => "absent",
            () => "none",
        };
        VerdictSentence { class, text: format!("{}{of}", row.sentence) }
    };
    verified_rows(findings).iter().map(said).collect()
}

pub(super) fn examples(findings: &Findings) -> Vec<String> {
    let of = |row: &VerifiedRow| {
        let about = row.stack.clone();
        row.examples.iter().map(move |line| format!("{about}: {line}")).collect::<Vec<_>>()
    };
    verified_rows(findings).iter().flat_map(of).collect()
}

pub(super) const LEGEND: &str = "blocks that the load wrote, read back through the stack after its last slice; reads checked: of a mix, those of \
    blocks that it had written; stamps and checks take CPU time of the load generator, which may bound the rate";
