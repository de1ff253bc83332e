//! What the reports say of comparisons: three figures each, throughput, latency at a matched rate and CPU time, as
//! sentences and side by side in a table.

use super::grouped::{self, One};
use super::number::{Shown, change};
use super::table::Table;
use iotax_analysis::findings::{
    ChargeFinding, Charges, Comparison, Figure, Interval, MatchedFindings, MatchedRow, Quantity,
    WorkloadFindings,
};
use iotax_stats::Verdict;

/// A sentence with the way that it points.
pub(super) struct Said {
    /// `cost`, `gain`, `none`, `open`, or `absent` for what was not measured.
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// Which way a verdict points.
pub(super) fn class_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Costs { .. } => "cost",
        Verdict::Gains { .. } => "gain",
        Verdict::NoDifference { .. } => "none",
        Verdict::Unresolved { .. } => "open",
    }
}

/// All that is concluded of a workload: throughput, latency, CPU time, and what the other stacks do to the baseline.
/// What is alike of many stacks is one line, and what was not measured of any for one reason.
pub(super) fn sentences(workload: &WorkloadFindings) -> Vec<Said> {
    let of = (workload.comparisons.iter().collect::<Vec<_>>(), workload.charges.iter().collect::<Vec<_>>());
    let mut all = sentences_of((&of.0, &of.1), &|stack| stack, "stack");
    all.extend(
        workload.beside.iter().map(|one| Said { class: class_of(&one.verdict), text: one.sentence.clone() }),
    );
    all
}

/// The same of any comparisons with one stack: how each is called among others, and what each is.
pub(super) fn sentences_of<'a>(
    (rates, charges): (&[&'a Comparison], &[&'a Charges]),
    named: &dyn Fn(&'a str) -> &'a str,
    noun: &str,
) -> Vec<Said> {
    let rates: Vec<One> = rates.iter().map(|one| One { stack: named(&one.stack), ..of_rate(one) }).collect();
    let mut all = grouped::sentences(&rates, noun);
    all.extend(charges_of(charges, named, noun, |charges| &charges.latency));
    all.extend(charges_of(charges, named, noun, |charges| &charges.cpu));
    all
}

pub(super) fn of_rate(one: &Comparison) -> One<'_> {
    One {
        stack: &one.stack,
        against: &one.against,
        quantity: &one.quantity,
        class: class_of(&one.verdict),
        emulated: one.emulated.is_some(),
        phrase: &one.phrase,
        sentence: &one.sentence,
    }
}

pub(super) fn of_charge<'a>(charges: &'a Charges, one: &'a ChargeFinding) -> One<'a> {
    One {
        stack: &charges.stack,
        against: &charges.against,
        quantity: &one.quantity,
        class: if one.not_measured().is_some() { "absent" } else { class_of(&one.verdict) },
        emulated: charges.emulated.is_some(),
        phrase: &one.phrase,
        sentence: &one.sentence,
    }
}

fn charges_of<'a>(
    charges: &[&'a Charges],
    named: &dyn Fn(&'a str) -> &'a str,
    noun: &str,
    pick: fn(&Charges) -> &ChargeFinding,
) -> Vec<Said> {
    let all: Vec<&ChargeFinding> = charges.iter().map(|one| pick(one)).collect();
    let once = match all.as_slice() {
        [first, others @ ..] if !others.is_empty() => first.not_measured().filter(|reason| {
            others.iter().all(|one| one.not_measured() == Some(reason) && one.quantity == first.quantity)
        }),
        _ => None,
    };
    if let (Some(reason), Some(first)) = (once, all.first()) {
        return vec![Said { class: "absent", text: format!("{}: not measured: {reason}", first.quantity) }];
    }
    let one =
        |charges: &&'a Charges| One { stack: named(&charges.stack), ..of_charge(charges, pick(charges)) };
    grouped::sentences(&charges.iter().map(one).collect::<Vec<_>>(), noun)
}

/// The three figures of each comparison; `None` where it would only repeat the one sentence.
pub(super) fn table(workload: &WorkloadFindings) -> Option<Table> {
    let comparisons: Vec<&Comparison> = workload.comparisons.iter().collect();
    let table =
        table_of(&comparisons, &workload.charges.iter().collect::<Vec<_>>(), |one| one.stack.clone())?;
    (comparisons.len() > 1 || table.columns.len() > 2).then_some(table)
}

/// The same of any comparisons with one stack, each by its name.
pub(super) fn table_of(
    comparisons: &[&Comparison],
    all_charges: &[&Charges],
    named: impl Fn(&Comparison) -> String,
) -> Option<Table> {
    let first = comparisons.first()?;
    let charges = |one: &Comparison| {
        let is_first = comparisons
            .iter()
            .find(|other| other.stack == one.stack)
            .is_some_and(|other| std::ptr::eq(*other, one));
        all_charges.iter().copied().find(|charges| is_first && charges.stack == one.stack)
    };
    let mut table = Table::default();
    table.push(
        &format!("against {}", first.against),
        0,
        comparisons.iter().map(|one| name(one, named(one))).collect(),
    );
    table.push("rate", 0, comparisons.iter().map(|one| rate(one)).collect());
    if comparisons.iter().any(|one| is_wider(one)) {
        let cell = |one: &Comparison| change(&at_once(one)).judged(one.verdict.is_resolved());
        table.push("all at once", 3, comparisons.iter().map(|one| cell(one)).collect());
    }
    let picks: [(&str, u8, PickCell); 6] = [
        ("mean latency", 1, |charges| judged(change(&charges.latency.ratio), &charges.latency)),
        ("p50", 5, |charges| percentile(charges, 0.5)),
        ("p99", 2, |charges| percentile(charges, 0.99)),
        ("p99.9", 4, |charges| percentile(charges, 0.999)),
        ("added CPU/IO", 1, |charges| judged(Shown::of(&charges.cpu.difference), &charges.cpu)),
        ("CPU/IO", 6, |charges| judged(change(&charges.cpu.ratio), &charges.cpu)),
    ];
    for (head, rank, pick) in picks {
        let cells: Vec<Option<String>> = comparisons.iter().map(|one| charges(one).and_then(pick)).collect();
        if cells.iter().any(Option::is_some) {
            let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
            table.push(head, rank, cells.into_iter().map(cell).collect());
        }
    }
    (!table.is_blank()).then_some(table)
}

/// `None`: no figure.
type PickCell = fn(&Charges) -> Option<String>;

/// Of the first direction.
fn percentile(charges: &Charges, quantile: f64) -> Option<String> {
    let (_, _, ratio) = charges.percentiles.iter().find(|(_, q, _)| *q == quantile)?;
    Some(change(ratio).cell()).filter(|_| ratio.value().is_some())
}

/// A figure of a charge, marked where nothing follows from it.
fn judged(shown: Shown, charge: &ChargeFinding) -> Option<String> {
    matches!(shown, Shown::Known(_)).then(|| shown.judged(charge.verdict.is_resolved()))
}

fn rate(one: &Comparison) -> String {
    change(&one.ratio).judged(one.verdict.is_resolved())
}

fn name(one: &Comparison, named: String) -> String {
    let which = if one.of_write == Some(Quantity::Durable) { " (durable)" } else { "" };
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    let masked = if one.masked.is_some() { " (masked)" } else { "" };
    format!("{named}{which}{emulated}{masked}")
}

/// Whether its interval for all comparisons is another than its own.
fn is_wider(one: &Comparison) -> bool {
    match (one.ratio.bounds(), &one.simultaneous) {
        (Some((low, _)), Some(Interval::Bounds { low: at_once, .. })) => (low / at_once - 1.0).abs() > 1e-9,
        _ => false,
    }
}

/// Whether a verdict is resolved whose interval for all comparisons includes zero.
pub(super) fn is_two_families(workload: &WorkloadFindings) -> bool {
    let includes = |one: &Comparison| matches!(one.simultaneous, Some(Interval::Bounds { low, high, .. }) if low <= 1.0 && high >= 1.0);
    let differs = |one: &Comparison| matches!(one.verdict, Verdict::Costs { .. } | Verdict::Gains { .. });
    workload.all_comparisons().any(|one| is_wider(one) && differs(one) && includes(one))
}

/// The ratio with the interval that holds together with all others.
pub(super) fn at_once(one: &Comparison) -> Figure {
    one.ratio.with_interval(one.simultaneous.as_ref())
}

/// Above the latencies at the matched rate.
pub(super) fn matched_title(matched: &MatchedFindings) -> String {
    format!("{} ({})", matched.subject, matched.origin)
}

/// Latencies of each stack where all get the same load, of the first direction.
pub(super) fn matched(matched: &MatchedFindings) -> Table {
    let mut table = Table::default();
    let marked = |row: &MatchedRow| {
        let baseline = if row.baseline { " *" } else { "" };
        let emulated = if row.emulated.is_some() { " ~" } else { "" };
        let late = if row.kept_up == Some(false) { " (not kept up)" } else { "" };
        format!("{}{baseline}{emulated}{late}", row.stack)
    };
    table.push("stack", 0, matched.rows.iter().map(marked).collect());
    table.push("IOPS", 1, matched.rows.iter().map(|row| Shown::of(&row.iops).cell()).collect());
    let directions = matched.rows.iter().map(|row| row.latency.len()).max().unwrap_or(0);
    for at in 0..directions {
        let way = |row: &MatchedRow| row.latency.get(at).map(|latency| latency.direction);
        let way = matched.rows.iter().find_map(way).unwrap_or_default();
        let of = if directions > 1 { format!(" of {way}s") } else { String::new() };
        for (head, rank) in [("mean", 0), ("p50", 3), ("p99", 0), ("p99.9", 1)] {
            let cell = |row: &MatchedRow| {
                let Some(latency) = row.latency.get(at) else { return "-".to_owned() };
                let figure = match head {
                    "mean" => &latency.mean,
                    "p50" => &latency.p50,
                    "p99" => &latency.p99,
                    _ => &latency.p999,
                };
                Shown::of(figure).cell()
            };
            table.push(&format!("{head}{of}"), rank, matched.rows.iter().map(cell).collect());
        }
    }
    if matched.rows.iter().any(|row| row.service.is_some()) {
        let cell = |row: &MatchedRow| {
            row.service.as_ref().map_or_else(|| "-".to_owned(), |service| Shown::of(&service.p99).cell())
        };
        table.push("service p99", 4, matched.rows.iter().map(cell).collect());
    }
    table
}
