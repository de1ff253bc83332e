//! Comparisons in the reports: three figures each, which are throughput, latency at a matched rate
//! and CPU time, as sentences and next to each other in a table.

use super::grouped::{self, One};
use super::number::{Shown, change_in_percent};
use super::sheet;
use super::table::TextTable;
use iotax_analysis::findings::slo::ServiceLevelFinding;
use iotax_analysis::findings::{
    ChargeFinding, Charges, Comparison, DirectionComparison, MatchedFindings, MatchedRow, Quantity,
    RateFinding, WorkloadFindings, percentile_name,
};
use iotax_stats::Verdict;
use iotax_stats::exceedance::ServiceVerdict;
use iotax_units::{distinct, show_names};

pub(super) struct VerdictSentence {
    /// `cost`, `gain`, `none`, `open`, or `absent` for something that was not measured.
    pub(super) class: &'static str,
    pub(super) text: String,
}

/// Returns the class of a verdict: `cost`, `gain`, `none` or `open`.
pub(super) fn class_of(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Costs { .. } => "cost",
        Verdict::Gains { .. } => "gain",
        Verdict::NoDifference { .. } => "none",
        Verdict::Unresolved { .. } => "open",
    }
}

pub(super) fn service_levels(workload: &WorkloadFindings) -> impl Iterator<Item = VerdictSentence> {
    workload.slo.iter().map(|one| VerdictSentence {
        class: class_of_level(one.verdict),
        text: one.sentence.clone(),
    })
}

fn class_of_level(verdict: ServiceVerdict) -> &'static str {
    match verdict {
        ServiceVerdict::Kept => "none",
        ServiceVerdict::Broken => "cost",
        ServiceVerdict::Unresolved => "open",
    }
}

/// Groups the service levels into fewer lines: stacks that keep a level, or break it, are named
/// together.
pub(super) fn service_levels_in_brief(workload: &WorkloadFindings) -> Vec<VerdictSentence> {
    let mut all = Vec::new();
    for level in distinct(workload.slo.iter().map(|one| &one.level)) {
        for verdict in [ServiceVerdict::Broken, ServiceVerdict::Unresolved, ServiceVerdict::Kept] {
            let is_it = |one: &&ServiceLevelFinding| one.level == *level && one.verdict == verdict;
            let same: Vec<&ServiceLevelFinding> = workload.slo.iter().filter(is_it).collect();
            let text = match (same.as_slice(), verdict) {
                ([], _) => continue,
                ([one], _) => one.sentence.clone(),
                (many, verdict) => {
                    let names = show_names(many.iter().map(|one| one.stack.clone()));
                    match verdict {
                        ServiceVerdict::Kept => format!("{names} keep {level}"),
                        ServiceVerdict::Broken => format!("{names} break {level}"),
                        ServiceVerdict::Unresolved => format!("{names}: {level} is unresolved"),
                    }
                }
            };
            all.push(VerdictSentence { class: class_of_level(verdict), text });
        }
    }
    all
}

/// Returns sentences on the share of each stack's I/Os that take longer than a percentile of the
/// baseline's.
pub(super) fn tails(workload: &WorkloadFindings) -> Vec<String> {
    let tails = workload.comparisons.iter().flat_map(|one| &one.tails);
    tails.filter_map(|one| one.sentence.clone()).collect()
}

/// Returns all conclusions about a workload: service levels, throughput, latency, CPU time, and the
/// effect of the other stacks on the baseline. Similar conclusions about many stacks are one line,
/// and so are figures that were not measured for one reason.
pub(super) fn workload_sentences(workload: &WorkloadFindings) -> Vec<VerdictSentence> {
    let rates: Vec<&Comparison> = workload.comparisons.iter().collect();
    let charges: Vec<&Charges> = workload.charges.iter().collect();
    let mut all: Vec<VerdictSentence> = service_levels(workload).collect();
    all.extend(sentences_of(&rates, &charges, &|stack| stack, "stack"));
    all.extend(
        workload.beside.iter().map(|one| VerdictSentence {
            class: class_of(&one.verdict),
            text: one.sentence.clone(),
        }),
    );
    all
}

pub(super) fn rates(workload: &WorkloadFindings) -> Vec<VerdictSentence> {
    grouped::group_sentences(&workload.comparisons.iter().map(of_rate).collect::<Vec<_>>(), "stack")
}

/// Returns the sentences for comparisons with one stack. `named` returns the name that a stack has
/// in them, and `noun` is what these are: `stack` or `state`.
pub(super) fn sentences_of<'a>(
    rates: &[&'a Comparison],
    charges: &[&'a Charges],
    named: &dyn Fn(&'a str) -> &'a str,
    noun: &str,
) -> Vec<VerdictSentence> {
    let of_rates: Vec<One> =
        rates.iter().map(|one| One { stack: named(&one.stack), ..of_rate(one) }).collect();
    let directions =
        |one: &'a Comparison| directions_of(one).map(|it| One { stack: named(&one.stack), ..it });
    let directions: Vec<One> = rates.iter().copied().flat_map(directions).collect();
    let mut all = grouped::group_sentences(&of_rates, noun);
    all.extend(grouped::group_sentences(&directions, noun));
    all.extend(charges_of(charges, named, noun, &|charges| &charges.latency));
    let apart: Vec<&Charges> = charges.iter().copied().filter(|one| says_directions(one)).collect();
    for at in 0..apart.first().map_or(0, |one| one.directions.len()) {
        all.extend(charges_of(&apart, named, noun, &|charges| &charges.directions[at].latency));
    }
    all.extend(charges_of(charges, named, noun, &|charges| &charges.cpu));
    all
}

/// Returns the findings on reads and writes apart; empty if the scenario does not ask for them and
/// they do not differ.
pub(super) fn directions_of(one: &Comparison) -> impl Iterator<Item = One<'_>> {
    let said = one.directions.iter().filter(|_| one.says_directions);
    said.map(move |direction| of_finding(one, &direction.rate))
}

pub(super) fn says_directions(charges: &Charges) -> bool {
    charges.says_directions && charges.latency.not_measured().is_none()
}

pub(super) fn of_rate(one: &Comparison) -> One<'_> {
    of_finding(one, &one.rate)
}

fn of_finding<'a>(one: &'a Comparison, rate: &'a RateFinding) -> One<'a> {
    One {
        stack: &one.stack,
        against: &one.against,
        quantity: &rate.quantity,
        class: class_of(&rate.verdict),
        emulated: one.emulated.is_some(),
        phrase: &rate.phrase,
        sentence: &rate.sentence,
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
    pick: &dyn Fn(&'a Charges) -> &'a ChargeFinding,
) -> Vec<VerdictSentence> {
    let all: Vec<&ChargeFinding> = charges.iter().copied().map(pick).collect();
    let once = match all.as_slice() {
        [first, others @ ..] if !others.is_empty() => first.not_measured().filter(|reason| {
            others
                .iter()
                .all(|one| one.not_measured() == Some(reason) && one.quantity == first.quantity)
        }),
        _ => None,
    };
    if let (Some(reason), Some(first)) = (once, all.first()) {
        return vec![VerdictSentence {
            class: "absent",
            text: format!("{}: not measured: {reason}", first.quantity),
        }];
    }
    let one = |charges: &&'a Charges| One {
        stack: named(&charges.stack),
        ..of_charge(charges, pick(charges))
    };
    grouped::group_sentences(&charges.iter().map(one).collect::<Vec<_>>(), noun)
}

/// Returns the table of rates, latencies and CPU times of each comparison; `None` if it would only
/// repeat the one sentence.
pub(super) fn three_figures_table(workload: &WorkloadFindings) -> Option<TextTable> {
    let comparisons: Vec<&Comparison> = workload.comparisons.iter().collect();
    let table = table_of(&comparisons, &workload.charges.iter().collect::<Vec<_>>(), |one| {
        one.stack.clone()
    })?;
    (comparisons.len() > 1 || table.columns.len() > 2).then_some(table)
}

/// Returns a table with a row per comparison with one stack; `named` returns a row's name. `None`
/// if there is no comparison or no figure.
pub(super) fn table_of(
    comparisons: &[&Comparison],
    all_charges: &[&Charges],
    named: impl Fn(&Comparison) -> String,
) -> Option<TextTable> {
    let first = comparisons.first()?;
    let charges = |one: &Comparison| {
        let is_first = comparisons
            .iter()
            .find(|other| other.stack == one.stack)
            .is_some_and(|other| std::ptr::eq(*other, one));
        all_charges.iter().copied().find(|charges| is_first && charges.stack == one.stack)
    };
    let mut table = TextTable::named_table("comparison");
    let lines: Vec<RateLine> =
        comparisons.iter().copied().flat_map(RateLine::all_of_comparison).collect();
    let name = |line: &RateLine| match line.direction {
        Some(direction) => format!("  {}s", direction.direction),
        None => comparison_name(line.one, named(line.one)),
    };
    table.push(&format!("against {}", first.against), 0, lines.iter().map(name).collect());
    table.push("rate", 0, lines.iter().map(RateLine::rate_cell).collect());
    let quantiles =
        lines.iter().filter_map(|line| charges(line.one)).flat_map(|charges| &charges.percentiles);
    let quantiles = distinct(quantiles.map(|(_, q, _)| percentile_name(*q)));
    let ranks = [("p50", 5), ("p99", 2), ("p99.9", 4)];
    let rank = |name: &str| ranks.iter().find(|known| known.0 == name).map_or(2, |known| known.1);
    let percentiles = quantiles.iter().map(|name| {
        let pick: PickCell = Box::new(move |charges, way| percentile(charges, way, name));
        (name.as_str(), rank(name), pick)
    });
    let mean: PickCell = Box::new(mean_latency);
    let added: PickCell =
        Box::new(|charges, way| cpu(Shown::from_figure(&charges.cpu.difference), charges, way));
    let changed: PickCell =
        Box::new(|charges, way| cpu(change_in_percent(&charges.cpu.ratio), charges, way));
    let picks = std::iter::once(("mean latency", 1, mean)).chain(percentiles);
    for (head, rank, pick) in picks.chain([("added CPU/IO", 1, added), ("CPU/IO", 6, changed)]) {
        let cell =
            |line: &RateLine| pick(charges(line.one)?, line.direction.map(|one| one.direction));
        let cells: Vec<Option<String>> = lines.iter().map(cell).collect();
        if cells.iter().any(Option::is_some) {
            let cell = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
            table.push(head, rank, cells.into_iter().map(cell).collect());
        }
    }
    (!table.is_blank()).then_some(table)
}

/// A line of the table: a comparison, or a direction below it.
struct RateLine<'a> {
    one: &'a Comparison,
    direction: Option<&'a DirectionComparison>,
}

impl<'a> RateLine<'a> {
    fn all_of_comparison(one: &'a Comparison) -> impl Iterator<Item = RateLine<'a>> {
        let directions = one.directions.iter().map(Some);
        std::iter::once(None).chain(directions).map(move |direction| RateLine { one, direction })
    }

    fn rate_finding(&self) -> &RateFinding {
        self.direction.map_or(&self.one.rate, |direction| &direction.rate)
    }

    fn rate_cell(&self) -> String {
        change_in_percent(&self.rate_finding().at_once())
            .judged_cell(self.rate_finding().verdict.is_resolved())
    }
}

/// Function that returns the cell of one direction, or of the whole load; `None` if there is no
/// figure.
type PickCell<'a> = Box<dyn Fn(&Charges, Option<&str>) -> Option<String> + 'a>;

fn mean_latency(charges: &Charges, way: Option<&str>) -> Option<String> {
    let latency = match way {
        Some(way) => &charges.directions.iter().find(|one| one.direction == way)?.latency,
        None => &charges.latency,
    };
    judged_charge(change_in_percent(&latency.ratio), latency)
}

/// Returns the change of one percentile. A whole mix has none.
fn percentile(charges: &Charges, way: Option<&str>, name: &str) -> Option<String> {
    let is_mix = !charges.directions.is_empty();
    let mut of_way =
        charges.percentiles.iter().filter(|(known, ..)| way.map_or(!is_mix, |way| way == *known));
    let (_, _, ratio) = of_way.find(|(_, q, _)| percentile_name(*q) == name)?;
    Some(change_in_percent(ratio).cell()).filter(|_| ratio.value().is_some())
}

/// Returns the CPU time, which is not known for one direction.
fn cpu(shown: Shown, charges: &Charges, way: Option<&str>) -> Option<String> {
    judged_charge(shown, &charges.cpu).filter(|_| way.is_none())
}

/// Returns a figure of latency or CPU time, marked if nothing follows from it; `None` if there is
/// no value.
fn judged_charge(shown: Shown, charge: &ChargeFinding) -> Option<String> {
    shown.digits().is_some().then(|| shown.judged_cell(charge.verdict.is_resolved()))
}

fn comparison_name(one: &Comparison, named: String) -> String {
    let which = if one.of_write == Some(Quantity::Durable) { " (durable)" } else { "" };
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    let masked = if one.masked.is_some() { " (masked)" } else { "" };
    format!("{named}{which}{emulated}{masked}")
}

pub(super) fn matched_title(matched: &MatchedFindings) -> String {
    format!("{} ({})", matched.subject, matched.origin)
}

/// Returns the rate and the latencies of each stack under the same load, for each direction.
pub(super) fn matched_table(matched: &MatchedFindings) -> TextTable {
    let mut table = TextTable::named_table("under the same load");
    let marked = |row: &MatchedRow| {
        let baseline = if row.baseline { " *" } else { "" };
        let emulated = if row.emulated.is_some() { " ~" } else { "" };
        let late = if row.kept_up == Some(false) { " (not kept up)" } else { "" };
        format!("{}{baseline}{emulated}{late}", row.stack)
    };
    table.push("stack", 0, matched.rows.iter().map(marked).collect());
    table.push(
        "IOPS",
        1,
        matched.rows.iter().map(|row| Shown::from_figure(&row.iops).cell()).collect(),
    );
    let directions = matched.rows.iter().map(|row| row.latency.len()).max().unwrap_or(0);
    for at in 0..directions {
        let way = |row: &MatchedRow| row.latency.get(at).map(|latency| latency.direction);
        let way = matched.rows.iter().find_map(way).unwrap_or_default();
        let of = if directions > 1 { format!(" of {way}s") } else { String::new() };
        let latencies = matched.rows.iter().filter_map(|row| row.latency.get(at));
        for (head, rank) in sheet::latency_columns(latencies, [0, 3, 0, 1]) {
            let cell = |row: &MatchedRow| {
                let figure = row.latency.get(at).and_then(|latency| latency.figure_named(&head));
                figure.map_or_else(|| "-".to_owned(), |figure| Shown::from_figure(figure).cell())
            };
            table.push_known(&format!("{head}{of}"), rank, matched.rows.iter().map(cell).collect());
        }
    }
    if matched.rows.iter().any(|row| row.service.is_some()) {
        let cell = |row: &MatchedRow| {
            row.service
                .as_ref()
                .map_or_else(|| "-".to_owned(), |service| Shown::from_figure(&service.p99).cell())
        };
        table.push("service p99", 4, matched.rows.iter().map(cell).collect());
    }
    table
}
