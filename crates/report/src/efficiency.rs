//! Stacks against what their drives could do: a row a stack and source of the drives' figures.

use super::number::{Shown, share};
use super::table::Table;
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::efficiency::{By, Efficiency};

/// Above the section.
pub(super) const TITLE: &str = "Against what the drives could do";

/// Below it.
const LEGEND: &str = "could: the most that the drives allow under this load, by the arithmetic of their layout; measured: all drives loaded \
     at once, each with the whole depth; rated: by the data sheet; of all: of the same drives if every I/O were one of a drive";
/// More of it, where links are known.
const OF_LINKS: &str =
    "; link, network: the largest packets of what their data cross, with nothing else on it";

/// Below it.
pub(super) fn legend(workload: &WorkloadFindings) -> String {
    let links = workload.efficiency.iter().any(|one| matches!(one.by, By::Link { .. } | By::Network { .. }));
    format!("{LEGEND}{}", if links { OF_LINKS } else { "" })
}

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
    if found.iter().any(|one| one.published.is_some()) {
        let cell = |one: &Efficiency| one.published.as_ref().map_or_else(String::new, |of| share(of).cell());
        table.push("published", 1, cells(&cell));
    }
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
    let rules = cells(&bound);
    if rules.iter().any(|rule| !rule.is_empty()) {
        table.push("bound", 5, rules);
    }
    Some(table)
}

/// Whose data sheet, and the arithmetic.
fn bound(one: &Efficiency) -> String {
    let drive = match &one.by {
        By::Rated { drive, .. } => drive.as_deref(),
        _ => None,
    };
    let words: Vec<&str> =
        drive.into_iter().chain([one.rule.as_str()]).filter(|word| !word.is_empty()).collect();
    words.join("; ")
}

fn named(one: &Efficiency) -> String {
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", one.stack)
}

/// What is said of each stack: by what was measured, where it was, else by its ceiling: the lowest of the others that is known.
pub(super) fn sentences(workload: &WorkloadFindings) -> impl Iterator<Item = String> {
    let mut said: Vec<&Efficiency> = Vec::new();
    for one in &workload.efficiency {
        match said.last_mut().filter(|last| last.stack == one.stack) {
            None => said.push(one),
            Some(last) if is_lower(one, last) => *last = one,
            Some(_) => {}
        }
    }
    said.into_iter().map(|one| one.sentence.clone()).collect::<Vec<_>>().into_iter()
}

fn is_lower(one: &Efficiency, other: &Efficiency) -> bool {
    let bounds = [one, other].map(|one| one.could.value());
    !matches!(other.by, By::Measured { .. }) && matches!(bounds, [Some(one), Some(other)] if one < other)
}
