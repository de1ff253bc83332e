//! Layout that the text forms of a comparison share.

use super::super::number::{SPREADS, change_in_percent, remark};
use super::super::table::TextTable;
use iotax_analysis::findings::against::{
    CourseChange, DirectionChange, RateChange, RunComparison, StackChange, VerdictBasis,
    WorkloadChange,
};
use iotax_analysis::findings::{MeasuredFigure, RunIdentity};
use iotax_units::show_time;
use std::collections::BTreeMap;

pub(crate) fn legend() -> String {
    format!(
        "changes, new over old; /base: of the ratio to the baseline of its own run; CPU: an I/O; * baseline; {SPREADS}"
    )
}

/// Function that picks the figure of a column for a stack.
type Pick = fn(&StackChange) -> Option<&MeasuredFigure>;
/// Columns: head, rank, and the function that picks the figure.
const COLUMNS: &[(&str, u8, Pick)] = &[
    ("rate", 0, |stack| Some(&stack.rates.first()?.change.direct)),
    ("rate/base", 0, |stack| Some(&stack.rates.first()?.change.against_own_baseline)),
    ("durable", 2, |stack| Some(&stack.rates.get(1)?.change.direct)),
    ("durable/base", 2, |stack| Some(&stack.rates.get(1)?.change.against_own_baseline)),
    ("latency", 1, |stack| Some(&stack.latency.direct)),
    ("latency/base", 4, |stack| Some(&stack.latency.against_own_baseline)),
    ("CPU", 3, |stack| Some(&stack.cpu.direct)),
    ("CPU/base", 5, |stack| Some(&stack.cpu.against_own_baseline)),
];

pub(crate) fn stacks(workload: &WorkloadChange) -> TextTable {
    let mut table = TextTable::default();
    let lines: Vec<ComparisonLine> = workload.stacks.iter().flat_map(comparison_lines).collect();
    let name = |(stack, direction): &ComparisonLine| {
        direction.map_or_else(
            || marked_stack_name(stack),
            |direction| format!("  {}s", direction.direction),
        )
    };
    table.push("stack", 0, lines.iter().map(name).collect());
    for (head, rank, pick) in COLUMNS {
        if workload
            .stacks
            .iter()
            .any(|stack| pick(stack).is_some_and(|figure| figure.value().is_some()))
        {
            let cell = |line| {
                line_figure(line, head, *pick)
                    .map_or_else(|| "-".to_owned(), |figure| change_in_percent(figure).cell())
            };
            table.push(head, *rank, lines.iter().map(cell).collect());
        }
    }
    let rounds = |(stack, direction): &ComparisonLine| match direction {
        Some(_) => String::new(),
        None => format!("{} / {}", stack.rounds.0, stack.rounds.1),
    };
    table.push(workload.of.word(), 6, lines.iter().map(rounds).collect());
    table
}

/// A stack, or a direction below it.
type ComparisonLine<'a> = (&'a StackChange, Option<&'a DirectionChange>);

fn comparison_lines(stack: &StackChange) -> Vec<ComparisonLine<'_>> {
    std::iter::once(None)
        .chain(stack.directions.iter().map(Some))
        .map(|direction| (stack, direction))
        .collect()
}

fn line_figure<'a>(
    (stack, direction): &ComparisonLine<'a>,
    head: &str,
    pick: Pick,
) -> Option<&'a MeasuredFigure> {
    match direction {
        Some(direction) => of_direction(direction, head),
        None => pick(stack),
    }
}

fn of_direction<'a>(direction: &'a DirectionChange, head: &str) -> Option<&'a MeasuredFigure> {
    match head {
        "rate" => Some(&direction.rate.direct),
        "rate/base" => Some(&direction.rate.against_own_baseline),
        "latency" => Some(&direction.latency.direct),
        "latency/base" => Some(&direction.latency.against_own_baseline),
        _ => None,
    }
}

pub(crate) fn marked_stack_name(stack: &StackChange) -> String {
    let baseline = if stack.baseline { " *" } else { "" };
    let emulated = if stack.emulated.is_some() { " ~" } else { "" };
    format!("{}{baseline}{emulated}", stack.stack)
}

pub(crate) fn courses(against: &RunComparison) -> Vec<String> {
    let line = |one: &CourseChange| match &one.limit {
        Some(limit) => format!("{}; {}", one.sentence, limit.sentence),
        None => one.sentence.clone(),
    };
    against.courses.iter().map(line).collect()
}

pub(crate) fn verdicts(workload: &WorkloadChange) -> Vec<String> {
    let line = |rate: &RateChange| match &rate.limit {
        Some(limit) => format!("{}; {}", rate.sentence, limit.sentence),
        None => rate.sentence.clone(),
    };
    let of_stack = |stack: &StackChange| {
        let charges =
            stack.charges.iter().map(|one| format!("{}; {}", one.sentence, one.limit.sentence));
        let levels = stack.slo.iter().map(|one| one.sentence.clone());
        stack.rates.iter().map(line).chain(charges).chain(levels).collect::<Vec<_>>()
    };
    workload.stacks.iter().flat_map(of_stack).collect()
}

/// Returns which change the verdicts are about, the direct one or that of the ratio to the run's
/// own baseline: one line for all stacks with the same reason.
pub(crate) fn bases(workload: &WorkloadChange) -> Vec<String> {
    let mut about: BTreeMap<(bool, &str), Vec<&str>> = BTreeMap::new();
    for stack in &workload.stacks {
        for rate in &stack.rates {
            let names =
                about.entry((rate.judged == VerdictBasis::Direct, rate.why.as_str())).or_default();
            if !names.contains(&stack.stack.as_str()) {
                names.push(&stack.stack);
            }
        }
    }
    about.iter().map(|((_, why), names)| format!("judged: {} {why}", names.join(", "))).collect()
}

/// Returns why figures are missing or weak, one line per reason. Missing ratios to the baseline are
/// left out, since the baseline itself has none.
pub(crate) fn remarks(workload: &WorkloadChange) -> Vec<String> {
    let mut about: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for stack in &workload.stacks {
        let own = |figure: &MeasuredFigure| matches!(figure, MeasuredFigure::Missing { .. });
        for (head, _, pick) in COLUMNS {
            let Some(figure) = pick(stack) else { continue };
            let over_base = head.ends_with("/base");
            if let Some(reason) = remark(figure).filter(|_| !(over_base && own(figure))) {
                about.entry(reason.to_owned()).or_default().push(format!("{} {head}", stack.stack));
            }
        }
    }
    about.into_iter().map(|(reason, names)| format!("{}: {reason}", names.join(", "))).collect()
}

pub(crate) fn runs(against: &RunComparison) -> [String; 2] {
    let line = |word: &str, run: &RunIdentity| {
        format!("{word} run {} of {}: {}", run.id, show_time(&run.at), run.state_said())
    };
    [line("old", &against.old), line("new", &against.new)]
}

/// Returns how far apart in time the runs are.
pub(crate) fn time_apart(against: &RunComparison) -> String {
    match against.apart_s {
        Some(seconds) => format!("{} apart; the longer, the more a machine drifts", time(seconds)),
        None => "how far apart is not known".to_owned(),
    }
}

/// Formats a time in the largest unit in which it is two or more.
fn time(seconds: f64) -> String {
    let units = [(86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes")];
    match units.iter().find(|(unit, _)| seconds >= 2.0 * unit) {
        Some((unit, name)) => format!("{:.0} {name}", seconds / unit),
        None => format!("{seconds:.0} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn times() {
        let said = [7.4, 119.0, 120.0, 7_200.0, 604_800.0].map(time);
        assert_eq!(said, ["7 s", "119 s", "2 minutes", "2 hours", "7 days"]);
    }
}
