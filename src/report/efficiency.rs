//! Stacks against what their drives could do: a row a stack and source of the drives' figures.

use super::number::{Shown, share};
use super::table::Table;
use crate::bill::efficiency::{By, Efficiency};
use crate::bill::findings::WorkloadFindings;

/// Above the section.
pub(super) const TITLE: &str = "Against what the drives could do";

/// Below it.
pub(super) const LEGEND: &str = "could: the most that the drives allow under this load, by the arithmetic of their layout; measured: all drives loaded \
     at once, each with the whole depth; rated: by the data sheet; of all: of the same drives if every I/O were one of a drive";

/// `None` where nothing is known of the drives.
pub(super) fn table(workload: &WorkloadFindings) -> Option<Table> {
    let found = &workload.efficiency;
    if found.is_empty() {
        return None;
    }
    let mut table = Table::default();
    let cells = |cell: &dyn Fn(&Efficiency) -> String| found.iter().map(cell).collect::<Vec<_>>();
    table.push("stack", 0, cells(&named));
    table.push("of its drives", 0, cells(&|one| share(&one.share).cell()));
    table.push("drives", 3, cells(&|one| one.drives.to_string()));
    table.push("could", 1, cells(&|one| Shown::of(&one.could).cell()));
    if found.iter().any(|one| one.of_all.is_some()) {
        table.push(
            "of all",
            4,
            cells(&|one| one.of_all.as_ref().map_or_else(String::new, |of| share(of).cell())),
        );
    }
    table.push("by", 2, cells(&|one| one.by.word().to_owned()));
    let rules = cells(&|one| one.rule.clone());
    if rules.iter().any(|rule| !rule.is_empty()) {
        table.push("bound", 5, rules);
    }
    Some(table)
}

fn named(one: &Efficiency) -> String {
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", one.stack)
}

/// What is said of each stack: by what was measured, where it was.
pub(super) fn sentences(workload: &WorkloadFindings) -> impl Iterator<Item = String> {
    let is_measured = |one: &&Efficiency| matches!(one.by, By::Measured { .. });
    let said = |one: &&Efficiency| {
        is_measured(one)
            || !workload.efficiency.iter().any(|other| other.stack == one.stack && is_measured(&other))
    };
    workload.efficiency.iter().filter(said).map(|one| one.sentence.clone()).collect::<Vec<_>>().into_iter()
}
