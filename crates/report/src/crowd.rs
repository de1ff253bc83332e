//! Guests side by side and hosts that load together: how even, how much together, and what many make of it against one.

use super::number::{Shown, share, three_digits};
use super::sheet;
use super::table::Table;
use iotax_analysis::findings::WorkloadFindings;
use iotax_analysis::findings::crowd::{Crowd, Scaling};

/// A row a stack whose load runs in several places; `None` where there is none.
pub(super) fn table(workload: &WorkloadFindings) -> Option<Table> {
    let crowds = &workload.crowds;
    if crowds.is_empty() {
        return None;
    }
    let mut table = Table::default();
    let cells = |cell: &dyn Fn(&Crowd) -> String| crowds.iter().map(cell).collect::<Vec<_>>();
    table.push("at once", 0, cells(&named));
    table.push("slowest", 0, cells(&|one| of_place(&one.slowest)));
    table.push("fastest", 1, cells(&|one| of_place(&one.fastest)));
    table.push("slowest of fastest", 5, cells(&|one| share(&one.spread).cell()));
    table.push("Jain", 2, cells(&|one| Shown::of(&one.jain).cell()));
    table.push("all ran", 4, cells(&|one| format!("{:.1} %", 100.0 * one.together)));
    if crowds.iter().any(|one| one.scaling.is_some()) {
        table.push("times", 0, cells(&times));
        table.push("of linear", 1, cells(&efficiency));
    }
    table.push("IOPS/busy core", 3, cells(&|one| Shown::of(&one.per_core).cell()));
    let engine = |one: &Crowd| {
        let row = workload.rows.iter().find(|row| row.stack == one.stack)?;
        Some(&row.serving.as_ref()?.iops_per_core)
    };
    if crowds.iter().any(|one| engine(one).is_some()) {
        let cell =
            |one: &Crowd| engine(one).map_or_else(|| "-".to_owned(), |figure| Shown::of(figure).cell());
        table.push(sheet::PER_ENGINE_CORE, 3, cells(&cell));
    }
    Some(table)
}

fn named(crowd: &Crowd) -> String {
    let emulated = if crowd.emulated.is_some() { " ~" } else { "" };
    format!("{}{emulated}", crowd.stack)
}

/// `812 (vm0)`
fn of_place((place, iops): &(String, f64)) -> String {
    format!("{} ({place})", three_digits(*iops))
}

/// `2.01 +- 0.03 of 4`: the rate of the many over that of the fewer, and how many times as many there are.
fn times(crowd: &Crowd) -> String {
    let of = |scaling: &Scaling| match Shown::of(&scaling.ratio) {
        Shown::Known(digits) => format!("{} of {}", digits.cell(), scaling.places),
        other => other.cell(),
    };
    crowd.scaling.as_ref().map_or_else(|| "-".to_owned(), of)
}

fn efficiency(crowd: &Crowd) -> String {
    crowd.scaling.as_ref().map_or_else(|| "-".to_owned(), |scaling| share(&scaling.efficiency).cell())
}

/// What is said of them.
pub(super) fn sentences(workload: &WorkloadFindings) -> impl Iterator<Item = String> {
    let said = |crowd: &Crowd| match &crowd.scaling {
        Some(scaling) => format!("{}; {}", crowd.sentence, scaled(scaling)),
        None => crowd.sentence.clone(),
    };
    workload.crowds.iter().map(said).collect::<Vec<_>>().into_iter()
}

/// Many against few, with the figures of the table.
fn scaled(scaling: &Scaling) -> String {
    let Scaling { against, places, .. } = scaling;
    let caution = scaling.caution.as_deref();
    match (Shown::of(&scaling.ratio), share(&scaling.efficiency)) {
        (Shown::Known(ratio), Shown::Known(of)) => format!(
            "{} times the rate of {against} in {places} times as many places: {} of linear{}",
            ratio.words(),
            of.words(),
            caution.map(|caution| format!(" ({caution})")).unwrap_or_default()
        ),
        _ => format!("against {against}: no figure ({})", caution.unwrap_or("none was found")),
    }
}
