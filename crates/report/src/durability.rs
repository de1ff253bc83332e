//! Durability trials: a row per stack and kind of kill, the conclusions, and blocks that were not
//! kept.

use super::table::TextTable;
use super::verdicts::VerdictSentence;
use iotax_analysis::Findings;
use iotax_analysis::findings::durability::DurabilityRow;
use iotax_analysis::results::durability::known_share;

pub(super) fn trial_table(findings: &Findings) -> Option<TextTable> {
    let rows = durability_rows(findings);
    if rows.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    let cells = |cell: &dyn Fn(&DurabilityRow) -> String| rows.iter().map(cell).collect::<Vec<_>>();
    table.push("durability of", 0, cells(&trial_row_name));
    table.push("killed", 0, cells(&|row| row.kill.to_owned()));
    table.push("load", 4, cells(&|row| format!("{:.1} to {:.1} s", row.load_s.0, row.load_s.1)));
    table.push("writes", 3, cells(&|row| row.acknowledged.to_string()));
    table.push("blocks", 1, cells(&|row| row.found.blocks.to_string()));
    table.push("kept", 0, cells(&|row| row.found.kept.to_string()));
    table.push("later", 5, cells(&|row| row.found.later.to_string()));
    table.push("lost", 0, cells(&|row| row.found.lost.to_string()));
    table.push("torn", 0, cells(&|row| (row.found.torn + row.found.under_way_torn).to_string()));
    if rows.iter().any(|row| row.found.unreadable > 0) {
        table.push("unreadable", 0, cells(&|row| row.found.unreadable.to_string()));
    }
    table.push("kills with loss", 0, cells(&with_loss));
    Some(table)
}

fn durability_rows(findings: &Findings) -> &[DurabilityRow] {
    findings.durability.as_ref().map(|found| found.rows.as_slice()).unwrap_or_default()
}

/// Returns `0 of 20 (at most 14.0 %)`.
fn with_loss(row: &DurabilityRow) -> String {
    let known = known_share(row).map(|known| format!(" ({known})"));
    format!("{} of {}{}", row.lossy, row.kills, known.unwrap_or_default())
}

fn trial_row_name(row: &DurabilityRow) -> String {
    let emulated = if row.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", row.stack)
}

pub(super) fn trial_sentences(findings: &Findings) -> Vec<VerdictSentence> {
    let class = |row: &DurabilityRow| if row.is_broken() { "cost" } else { "none" };
    durability_rows(findings)
        .iter()
        .map(|row| VerdictSentence { class: class(row), text: row.sentence.clone() })
        .collect()
}

pub(super) fn examples(findings: &Findings) -> Vec<String> {
    let of = |row: &DurabilityRow| {
        let about = format!("{} ({} killed)", row.stack, row.kill);
        row.examples.iter().map(move |line| format!("{about}: {line}")).collect::<Vec<_>>()
    };
    durability_rows(findings).iter().flat_map(of).collect()
}

pub(super) const LEGEND: &str = "writes of 4 KiB that were flushed and acknowledged before the kill, and the blocks that they went to, \
    read back through the stack; kept: what was acknowledged last, or a later write; kills with loss: over kills, as all blocks of one \
    kill share its fate: the two-sided 95 % interval of Clopper and Pearson (a to b), or, where none or all lost something, their \
    one-sided 95 % bound (at most, at least)";
