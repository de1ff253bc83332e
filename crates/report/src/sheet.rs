//! Layout that the text reports share: tables of a workload, and the remarks below them.

use super::imported;
use super::number::{Shown, change_in_percent, remark};
use super::probes;
use super::table::{PartRow, TextTable};
use iotax_analysis::findings::traffic::TrafficReport;
use iotax_analysis::findings::{
    Bill, BillDirection, BillLine, Comparison, DirectionRow, Findings, JointBill, LatencyFigures,
    MatchedRow, MeasuredFigure, ProbeReport, StackRow, TargetRow, WorkloadFindings,
    percentile_name,
};
use iotax_analysis::precondition;
use iotax_stats::{Refusal, Verdict, alike};
use iotax_units::{distinct, show_bytes};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the title of a run: its scenario's name, else what it compares.
pub(super) fn title(findings: &Findings) -> String {
    const MOST: usize = 3;
    if let Some(name) = &findings.run.name {
        return name.clone();
    }
    let rows =
        findings.workloads.first().map(|workload| workload.rows.as_slice()).unwrap_or_default();
    let tried =
        findings.durability.iter().flat_map(|found| &found.rows).map(|row| row.stack.as_str());
    let mut tried: Vec<&str> = tried.collect();
    tried.dedup();
    let others: Vec<&str> =
        rows.iter().filter(|row| !row.baseline).map(|row| row.stack.as_str()).collect();
    match (rows.iter().find(|row| row.baseline), others.as_slice()) {
        (Some(baseline), []) => baseline.stack.clone(),
        (Some(baseline), [..]) if others.len() <= MOST => {
            format!("{} against {}", others.join(", "), baseline.stack)
        }
        (Some(baseline), _) => format!("{} stacks against {}", others.len(), baseline.stack),
        (None, _) if !tried.is_empty() => format!("Durability of {}", tried.join(", ")),
        (None, _) if findings.limits.is_some() => {
            let stacks = findings.limits.iter().map(|found| found.stack.as_str());
            format!("Limits of {}", stacks.collect::<String>())
        }
        (None, _) => match &findings.imported {
            Some(found) => imported::title(found),
            None => "What each layer charges".to_owned(),
        },
    }
}

/// Returns the heads of the columns for these rows, each with its rank: columns of the highest rank
/// are left out first if room is short.
fn stack_columns<'a>(
    rows: impl Iterator<Item = &'a StackRow> + Clone,
    probe: Option<&ProbeReport>,
    is_mix: bool,
) -> Vec<(String, u8)> {
    if let Some(probe) = probe {
        let latencies = latency_columns(rows.filter_map(|row| row.latency.first()), [6, 2, 1, 5]);
        // For a time, the mean comes first, from whole rounds.
        let others = latencies.into_iter().filter(|(head, _)| *head != probe.head);
        return std::iter::once((probe.head.clone(), 0)).chain(others).collect();
    }
    let rates = [("IOPS", 0), ("throughput", 7), ("durable", 3)];
    let mut all: Vec<(String, u8)> = rates.map(|(head, rank)| (head.to_owned(), rank)).to_vec();
    // A mix has those of each direction instead.
    if !is_mix {
        all.extend(latency_columns(rows.filter_map(|row| row.latency.first()), [6, 2, 1, 5]));
    }
    all.extend([("CPU/IO", 4), (PER_ENGINE_CORE, 5)].map(|(head, rank)| (head.to_owned(), rank)));
    all
}

/// Head of the IOPS for each core that the engine keeps busy.
pub(super) const PER_ENGINE_CORE: &str = "IOPS/engine core";

/// Describes the engines, one line for all stacks that share one.
fn engines(workload: &WorkloadFindings) -> Vec<String> {
    let known: Vec<(&str, &str)> = workload
        .rows
        .iter()
        .filter_map(|row| Some((row.stack.as_str(), row.serving.as_ref()?.threads.as_str())))
        .collect();
    let line = |threads: &str| {
        let names: Vec<&str> =
            known.iter().filter(|one| one.1 == threads).map(|one| one.0).collect();
        format!("engine of {}: {threads}", of_stacks(&names, workload.rows.len()))
    };
    distinct(known.iter().map(|one| one.1)).into_iter().map(line).collect()
}

fn stack_figure<'a>(
    row: &'a StackRow,
    probe: Option<&ProbeReport>,
    head: &str,
) -> Option<&'a MeasuredFigure> {
    match head {
        "throughput" if probe.is_some() => Some(&row.bytes_per_s),
        head if probe.is_some_and(|probe| probe.head == head) => Some(&row.iops),
        "IOPS" => Some(&row.iops),
        "throughput" => Some(&row.bytes_per_s),
        "durable" => row.durable_bytes_per_s.as_ref(),
        "CPU/IO" => Some(&row.cpu),
        PER_ENGINE_CORE => row.serving.as_ref().map(|engine| &engine.iops_per_core),
        latency => row.latency.first()?.figure_named(latency),
    }
}

/// Returns the heads of the columns of latencies, each with its rank. `ranks` are those of mean,
/// p50, p99 and p99.9; any other percentile has that of p99.
pub(super) fn latency_columns<'a>(
    latencies: impl Iterator<Item = &'a LatencyFigures>,
    ranks: [u8; 4],
) -> Vec<(String, u8)> {
    let names = distinct(latencies.flat_map(LatencyFigures::figures).map(|(name, _)| name));
    let known = ["mean", "p50", "p99", "p99.9"];
    let rank = |name: &str| ranks[known.iter().position(|one| *one == name).unwrap_or(2)];
    names.into_iter().map(|name| (name.clone(), rank(&name))).collect()
}

/// Returns the name of a row with its marks, and with the share lost on a network if it matters.
pub(super) fn name_with_loss(row: &StackRow) -> String {
    name_with_marks(row) + &probes::loss(row)
}

pub(super) fn name_with_marks(row: &StackRow) -> String {
    let baseline = if row.baseline { " *" } else { "" };
    let emulated = if row.emulated.is_some() { " ~" } else { "" };
    format!("{}{baseline}{emulated}", row.stack)
}

/// Returns the rate of a row as it is usually quoted for the workload: throughput or IOPS.
pub(super) fn quoted_rate<'a>(
    workload: &WorkloadFindings,
    row: &'a StackRow,
) -> &'a MeasuredFigure {
    if workload.rate_unit == "B/s" { &row.bytes_per_s } else { &row.iops }
}

pub(super) fn rate_of<'a>(
    workload: &WorkloadFindings,
    one: &'a DirectionRow,
) -> &'a MeasuredFigure {
    if workload.rate_unit == "B/s" { &one.bytes_per_s } else { &one.iops }
}

pub(super) fn is_mix(workload: &WorkloadFindings) -> bool {
    workload.rows.iter().any(|row| !row.directions.is_empty())
}

/// Returns rates, latencies (for a load of one direction) and CPU time of each stack.
pub(super) fn stacks(workload: &WorkloadFindings) -> TextTable {
    let mut table = TextTable::named_table("stacks");
    table.push("stack", 0, workload.rows.iter().map(name_with_loss).collect());
    let probe = workload.probe.as_ref();
    for (head, rank) in stack_columns(workload.rows.iter(), probe, is_mix(workload)) {
        let cell = |row| {
            stack_figure(row, probe, &head)
                .map_or_else(|| "-".to_owned(), |figure| Shown::from_figure(figure).cell())
        };
        let cells = workload.rows.iter().map(cell).collect();
        // The rate always stays: it is the main figure of the rows.
        match rank {
            0 => table.push(&head, rank, cells),
            _ => table.push_known(&head, rank, cells),
        }
    }
    table.push("n", 9, workload.rows.iter().map(|row| row.rounds.to_string()).collect());
    table
}

/// Returns true if there is no figure yet and no reason why one failed: the workload ended before
/// its first whole round.
pub(super) fn is_empty(workload: &WorkloadFindings) -> bool {
    workload
        .rows
        .iter()
        .all(|row| row.rounds == 0 && matches!(row.iops, MeasuredFigure::Missing { .. }))
}

pub(super) const EMPTY: &str = "ended before the first whole round: there are no figures";

pub(super) const TARGETS: &str = "Disks one by one";

/// Returns one row per disk of stacks whose load has several; `None` if there is no such stack.
pub(super) fn targets(workload: &WorkloadFindings) -> Option<TextTable> {
    let all = workload.rows.iter().flat_map(|row| row.targets.iter().map(move |one| (row, one)));
    let all: Vec<(&StackRow, &TargetRow)> = all.collect();
    let name = |(row, one): &(&StackRow, &TargetRow)| {
        format!("{} on {} of {}", one.path, one.place, name_with_loss(row))
    };
    let mut table = TextTable::default();
    table.push("disk", 0, all.iter().map(name).collect());
    table.push(
        "IOPS",
        0,
        all.iter().map(|(_, one)| Shown::from_figure(&one.iops).cell()).collect(),
    );
    (!all.is_empty()).then_some(table)
}

/// Returns rates and latencies of reads and writes apart, with their changes; `None` if the load is
/// not a mix.
fn directions(workload: &WorkloadFindings) -> Option<TextTable> {
    let all = workload.rows.iter().flat_map(|row| row.directions.iter().map(move |one| (row, one)));
    let all: Vec<(&StackRow, &DirectionRow)> = all.collect();
    if all.is_empty() {
        return None;
    }
    let mut table = TextTable::named_table("reads and writes");
    let mut add = |head: &str, rank: u8, cell: &dyn Fn(&StackRow, &DirectionRow) -> String| {
        let cells = all.iter().map(|(row, one)| cell(row, one)).collect();
        match rank {
            0 => table.push(head, rank, cells),
            _ => table.push_known(head, rank, cells),
        }
    };
    let figure = |figure: Option<&MeasuredFigure>| {
        figure.map_or_else(|| "-".to_owned(), |one| Shown::from_figure(one).cell())
    };
    add("", 0, &|row, one| format!("{}s of {}", one.direction, name_with_loss(row)));
    add("IOPS", 0, &|_, one| figure(Some(&one.iops)));
    if let Some(first) = workload.comparisons.first() {
        add(&format!("against {}", first.against), 0, &|row, one| {
            let ours = workload.comparisons.iter().find(|comparison| comparison.stack == row.stack);
            let ours = ours.and_then(|ours| ours.rate_of(Some(one.direction)));
            ours.map_or_else(String::new, |it| {
                change_in_percent(&it.at_once()).judged_cell(it.verdict.is_resolved())
            })
        });
    }
    add("throughput", 7, &|_, one| figure(Some(&one.bytes_per_s)));
    add("durable", 6, &|_, one| figure(one.durable_bytes_per_s.as_ref()));
    let latencies = workload.rows.iter().flat_map(|row| &row.latency);
    for (head, rank) in latency_columns(latencies, [1, 4, 2, 5]) {
        add(&head, rank, &|row, one| {
            let ours = row.latency.iter().find(|latency| latency.direction == one.direction);
            figure(ours.and_then(|latency| latency.figure_named(&head)))
        });
    }
    Some(table)
}

/// Table that has reads and writes or flushes apart, with its title and a note below it.
pub(super) type ApartTable<'a> = (String, TextTable, Option<&'a str>);

/// Returns reads and writes of a mix, the latencies of the second direction of other loads, and
/// those of the calls that flush, as far as there are any.
pub(super) fn apart_tables(workload: &WorkloadFindings) -> impl Iterator<Item = ApartTable<'_>> {
    let mix = directions(workload);
    let note = workload.directions_note.as_deref();
    let second =
        workload.rows.iter().find_map(|row| row.latency.get(1)).filter(|_| !is_mix(workload));
    let second = second.and_then(|second| {
        let table = latency_table(workload, |row| row.latency.get(1))?;
        Some((format!("latency of {}s", second.direction), table, None))
    });
    let flushes = latency_table(workload, |row| row.flush.as_ref());
    let flushes = flushes.map(|table| ("latency of fsync and fdatasync".to_owned(), table, None));
    mix.map(|table| ("Reads and writes".to_owned(), table, note))
        .into_iter()
        .chain(second)
        .chain(flushes)
}

fn latency_table(
    workload: &WorkloadFindings,
    pick: impl Fn(&StackRow) -> Option<&LatencyFigures>,
) -> Option<TextTable> {
    let latencies: Vec<&LatencyFigures> = workload.rows.iter().filter_map(&pick).collect();
    let mut table = TextTable::default();
    table.push("stack", 0, workload.rows.iter().map(name_with_loss).collect());
    for (head, rank) in latency_columns(latencies.iter().copied(), [0; 4]) {
        let cell = |row: &StackRow| {
            let figure = pick(row).and_then(|latency| latency.figure_named(&head));
            figure.map_or_else(|| "-".to_owned(), |figure| Shown::from_figure(figure).cell())
        };
        table.push_known(&head, rank, workload.rows.iter().map(cell).collect());
    }
    (!latencies.is_empty()).then_some(table)
}

pub(super) const LATENCY_CHANGES: &str = "Change of latency";

/// Returns the changes of latency percentiles, one line per stack and direction; `None` if there
/// are none.
pub(super) fn latency_ratios<'a>(comparisons: &'a [Comparison]) -> Option<TextTable> {
    let mut table = TextTable::named_table("change of latency");
    let mut seen: Vec<&'a Comparison> = Vec::new();
    for one in comparisons {
        // Both quantities of a write share their latencies.
        if !seen.iter().any(|other| other.stack == one.stack) && !one.latency_ratios.is_empty() {
            seen.push(one);
        }
    }
    let of_each = |one: &&'a Comparison| -> Vec<(&'a Comparison, &'static str, bool)> {
        let ways = distinct(one.latency_ratios.iter().map(|ratio| ratio.0));
        let several = ways.len() > 1;
        ways.into_iter().map(|way| (*one, way, several)).collect()
    };
    let lines: Vec<_> = seen.iter().flat_map(of_each).collect();
    let name = |(one, way, several): &(&Comparison, &str, bool)| {
        let of = if *several { format!(", {way}s") } else { String::new() };
        format!("{} / {}{of}", one.stack, one.against)
    };
    table.push("latency", 0, lines.iter().map(name).collect());
    let mut quantiles: Vec<f64> =
        lines.iter().flat_map(|(one, ..)| &one.latency_ratios).map(|ratio| ratio.1).collect();
    quantiles.sort_by(f64::total_cmp);
    quantiles.dedup();
    for (rank, q) in (1u8..).zip(quantiles) {
        let figure = |(one, way, _): &(&Comparison, &str, bool)| {
            let ratio = one.latency_ratios.iter().find(|ratio| ratio.0 == *way && ratio.1 == q);
            ratio.map_or_else(|| "-".to_owned(), |ratio| change_in_percent(&ratio.2).cell())
        };
        table.push_known(&percentile_name(q), rank, lines.iter().map(figure).collect());
    }
    (table.columns.len() > 1).then_some(table)
}

/// Returns the lines of a bill, the total, and the remainder.
pub(super) fn bill_lines(bill: &Bill) -> Vec<&BillLine> {
    bill.lines.iter().chain([&bill.total, &bill.unexplained]).collect()
}

/// A line of the table of a bill: a layer, or a direction below it.
type BillRow<'a> = PartRow<'a, BillLine, BillDirection>;

impl<'a> PartRow<'a, BillLine, BillDirection> {
    fn name(&self) -> String {
        match (self.direction, &self.whole.emulated) {
            (Some(one), _) => format!("  {}s", one.direction),
            (None, Some(_)) => format!("{} ~", self.whole.layer),
            (None, None) => self.whole.layer.clone(),
        }
    }

    fn ratio(&self) -> &'a MeasuredFigure {
        self.direction.map_or(&self.whole.ratio, |one| &one.ratio)
    }

    fn added_latency(&self) -> &'a MeasuredFigure {
        self.direction.map_or(&self.whole.added_latency, |one| &one.added_latency)
    }

    /// Returns the change of the rate in percentage points of the baseline's; `-` for one
    /// direction.
    fn points(&self) -> String {
        match (self.direction, &self.whole.of_baseline) {
            (None, figure @ MeasuredFigure::Known { .. }) => change_in_percent(figure).cell(),
            _ => "-".to_owned(),
        }
    }

    fn added_cpu(&self) -> String {
        self.direction
            .map_or_else(|| Shown::from_figure(&self.whole.added_cpu).cell(), |_| "-".to_owned())
    }
}

pub(super) fn bill(bill: &Bill) -> TextTable {
    let rows: Vec<BillRow> = bill_lines(bill)
        .into_iter()
        .flat_map(|one| BillRow::whole_and_directions(one, &one.directions))
        .collect();
    let mut table = TextTable::named_table("bill");
    table.push("layer", 0, rows.iter().map(BillRow::name).collect());
    table.push("rate", 0, rows.iter().map(|row| change_in_percent(row.ratio()).cell()).collect());
    let reserves: Vec<String> = rows.iter().map(|row| reserve(row.whole)).collect();
    if reserves.iter().any(|reserve| !reserve.is_empty()) {
        table.push("", 1, reserves);
    }
    if rows.iter().any(|row| row.added_latency().value().is_some()) {
        let cells = rows.iter().map(|row| Shown::from_figure(row.added_latency()).cell());
        table.push("added latency", 2, cells.collect());
    }
    let points: Vec<String> = rows.iter().map(BillRow::points).collect();
    if points.iter().any(|cell| cell != "-") {
        table.push("points", 3, points);
    }
    table.push("added CPU/IO", 4, rows.iter().map(BillRow::added_cpu).collect());
    table
}

pub(super) fn total_of(bill: &Bill) -> usize {
    bill.lines.iter().map(|line| 1 + line.directions.len()).sum()
}

/// Returns in a word or two why nothing follows from the rate of a line: `(unresolved: too wide)`.
fn reserve(line: &BillLine) -> String {
    match (&line.masked, &line.verdict) {
        _ if line.ratio.value().is_none() => String::new(),
        (Some(masked), _) => format!("(masked: {})", masked.short()),
        (None, Verdict::Unresolved { reason, .. }) => {
            format!("(unresolved: {})", reason.word().replace('_', " "))
        }
        _ => String::new(),
    }
}

/// Returns in full why lines of a bill have no conclusion. Lines without a figure are left out,
/// since [`remarks`] has their reason.
pub(super) fn reserves(bill: &Bill) -> Vec<String> {
    let said = |line: &&BillLine| {
        let about = |text: &str| format!("{}: {text}", line.layer);
        if let Some(masked) = &line.masked {
            return Some(about(&masked.words));
        }
        let Verdict::Unresolved { reason, .. } = &line.verdict else { return None };
        // The verdicts give better advice on these: a run that was cut short only has to continue.
        let by_effort =
            matches!(reason, Refusal::TooFewRounds { .. } | Refusal::TooFewVisits { .. });
        let settle = reason
            .remedy()
            .filter(|_| !by_effort)
            .map(|remedy| format!("; to settle it: {remedy}"))
            .unwrap_or_default();
        line.ratio.value().map(|_| about(&format!("unresolved: {reason}{settle}")))
    };
    bill_lines(bill).iter().filter_map(said).collect()
}

pub(super) fn joint_title(joint: &JointBill) -> String {
    format!("bill of {}; each layer against the stack below it; points add up", joint.subject)
}

/// Returns the bill of one workload, unless a joint bill replaces it.
pub(super) fn own_bill<'a>(
    findings: &Findings,
    workload: &'a WorkloadFindings,
) -> Option<&'a Bill> {
    workload.bill.as_ref().filter(|_| !findings.joint_bills.iter().any(|joint| joint.sole))
}

/// Returns why figures are missing, failed, weak or odd: one line per reason, with its subjects.
pub(super) fn remarks(workload: &WorkloadFindings) -> Vec<String> {
    let mut about = Reasons::default();
    for row in &workload.rows {
        for (reason, heads) in reasons(row, workload.probe.as_ref()) {
            // A reason that most figures of a stack share applies to the whole stack.
            let whole = heads.len() >= 4 || heads.contains(&"IOPS".to_owned());
            let figures = if whole { String::new() } else { heads.join(" and ") };
            about.add(reason, figures, "", &row.stack);
        }
    }
    for row in workload.matched.iter().flat_map(|matched| &matched.rows) {
        for (reason, heads) in matched_reasons(row) {
            let figures = if heads.len() >= 4 { String::new() } else { heads.join(" and ") };
            about.add(reason, figures, " under the same load", &row.stack);
        }
    }
    for line in workload.bill.iter().flat_map(|bill| &bill.lines) {
        if let Some(reason) = remark(&line.ratio) {
            about.add(reason.to_owned(), "rate".into(), " in the bill", &line.layer);
        }
    }
    let said = about.reason_sentences(workload.rows.len()).into_iter().chain(caught_up(workload));
    engines(workload).into_iter().chain(said).collect()
}

/// Names the stacks whose rate was above the offered one, with the reason if the record has it.
fn caught_up(workload: &WorkloadFindings) -> Vec<String> {
    let rows = workload.matched.iter().flat_map(|matched| &matched.rows);
    let of = |caught_up: bool| {
        let names = rows
            .clone()
            .filter(|row| row.caught_up == Some(caught_up))
            .map(|row| row.stack.as_str());
        names.collect::<Vec<_>>()
    };
    let why = [
        (true, "I/Os that were due in the discarded start of a slice came back after it"),
        (false, "the record does not say why"),
    ];
    let said = |(caught_up, why): (bool, &str)| {
        let names = of(caught_up);
        let about =
            format!("IOPS of {} under the same load", of_stacks(&names, rows.clone().count()));
        (!names.is_empty()).then(|| format!("{about}: above what was offered: {why}"))
    };
    why.into_iter().filter_map(said).collect()
}

/// Reasons with their subjects; those that differ only in numbers are merged.
#[derive(Default)]
struct Reasons<'a> {
    all: Vec<(Vec<String>, Vec<Subject<'a>>)>,
}

impl<'a> Reasons<'a> {
    fn add(&mut self, reason: String, figures: String, when: &'static str, stack: &'a str) {
        let same =
            |(texts, _): &&mut (Vec<String>, Vec<Subject>)| alike::is_alike(&texts[0], &reason);
        match self.all.iter_mut().find(same) {
            Some((texts, subjects)) => {
                Subject::add(subjects, figures, when, stack);
                texts.push(reason);
            }
            None => {
                let mut subjects = Vec::new();
                Subject::add(&mut subjects, figures, when, stack);
                self.all.push((vec![reason], subjects));
            }
        }
    }

    fn reason_sentences(&self, stacks: usize) -> Vec<String> {
        let said = |(texts, subjects): &(Vec<String>, Vec<Subject>)| {
            let about =
                subjects.iter().map(|one| one.subject_words(stacks)).collect::<Vec<_>>().join("; ");
            format!(
                "{about}: {}",
                alike::merge_texts(&texts.iter().map(String::as_str).collect::<Vec<_>>())
            )
        };
        self.all.iter().map(said).collect()
    }
}

struct Subject<'a> {
    figures: String,
    when: &'static str,
    stacks: Vec<&'a str>,
}

impl<'a> Subject<'a> {
    fn add(all: &mut Vec<Subject<'a>>, figures: String, when: &'static str, stack: &'a str) {
        match all.iter_mut().find(|one| one.figures == figures && one.when == when) {
            Some(one) if one.stacks.contains(&stack) => {}
            Some(one) => one.stacks.push(stack),
            None => all.push(Subject { figures, when, stacks: vec![stack] }),
        }
    }

    /// Returns `p99.9 of file, loop under the same load`; `stacks` is the number of all stacks.
    fn subject_words(&self, stacks: usize) -> String {
        let of = if self.figures.is_empty() { "" } else { " of " };
        let names = of_stacks(&self.stacks, stacks);
        format!("{}{of}{names}{}", self.figures, self.when)
    }
}

/// Returns remarks on the figures of a stack at the matched rate, each with the figures' names.
fn matched_reasons(row: &MatchedRow) -> BTreeMap<String, Vec<String>> {
    let several = row.latency.len() > 1;
    let figures = row.latency.iter().flat_map(|latency| {
        let of = if several { format!(" of {}s", latency.direction) } else { String::new() };
        latency.figures().map(move |(head, figure)| (format!("{head}{of}"), figure))
    });
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (head, figure) in std::iter::once(("IOPS".to_owned(), &row.iops)).chain(figures) {
        if let Some(reason) = remark(figure) {
            reasons.entry(reason.to_owned()).or_default().push(head);
        }
    }
    reasons
}

/// Returns remarks on the figures of a row, each with its columns.
fn reasons(row: &StackRow, probe: Option<&ProbeReport>) -> BTreeMap<String, Vec<String>> {
    // Latencies of a mix all carry their direction; those of another load do except the first.
    let named = usize::from(row.directions.is_empty());
    let columns = stack_columns(std::iter::once(row), probe, named == 0);
    let columns = columns
        .into_iter()
        .filter_map(|(head, _)| Some((head.clone(), stack_figure(row, probe, &head)?)));
    let rates = row.directions.iter().map(|one| (format!("IOPS of {}s", one.direction), &one.iops));
    let second = row.latency.iter().skip(named).flat_map(|latency| {
        latency
            .figures()
            .map(|(head, figure)| (format!("{head} of {}s", latency.direction), figure))
    });
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (head, figure) in columns.chain(rates).chain(second) {
        if let Some(reason) = remark(figure) {
            reasons.entry(reason.to_owned()).or_default().push(head);
        }
    }
    reasons
}

/// Returns `48 rounds, 19.2 s of load on 4 GiB, ended: precision reached`.
pub(super) fn effort(workload: &WorkloadFindings) -> String {
    let rounds = workload.rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let ended = match workload.ended.as_deref() {
        None => "the run was cut short",
        Some("budget") => "budget used up",
        Some("precision") => "precision reached",
        Some("time" | "visits") => "all visits made",
        Some("rate_limited") => "rate limit found",
        Some("max_written") => "max_written reached",
        Some(reason) => reason,
    };
    let on =
        match (workload.reached_bytes.map(show_bytes), workload.most_reached_bytes.map(show_bytes))
        {
            (Some(least), Some(most)) => format!(" on {least} to {most}, stack by stack"),
            (Some(bytes), None) => format!(" on {bytes}"),
            (None, _) => String::new(),
        };
    format!("{rounds} rounds, {:.1} s of load{on}, ended: {ended}", workload.measured_s)
}

pub(super) const STACKS: &str = "Stacks";

/// Lists the full descriptions of stacks with short names, each once, and the generator with the
/// reason for it. If all stacks had the same generator, it is listed once for all.
pub(super) fn stacks_in_full(findings: &Findings) -> Vec<(String, String)> {
    let rows = || findings.workloads.iter().flat_map(|workload| &workload.rows);
    let names = distinct(rows().map(|row| &row.stack));
    let stacks: Vec<&StackRow> =
        names.into_iter().filter_map(|name| rows().find(|row| row.stack == *name)).collect();
    let engines: Vec<String> = stacks.iter().map(|row| engines_of(findings, &row.stack)).collect();
    let known: BTreeSet<&String> = engines.iter().filter(|engine| !engine.is_empty()).collect();
    let each = known.len() > 1;
    let mut all: Vec<(String, String)> = Vec::new();
    for (row, engine) in stacks.into_iter().zip(&engines) {
        let text = (row.text != row.stack).then(|| row.text.clone());
        let engine = (each && !engine.is_empty()).then(|| format!("engine {engine}"));
        let said: Vec<String> = text.into_iter().chain(engine).collect();
        if !said.is_empty() {
            all.push((row.stack.clone(), said.join(", ")));
        }
    }
    let of_all = known.into_iter().next().filter(|_| !each);
    all.extend(of_all.map(|engine| ("engine".to_owned(), engine.clone())));
    all
}

/// Returns the engine of a stack with the reason for it; if it had several, the loads of each.
fn engines_of(findings: &Findings, stack: &str) -> String {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for workload in &findings.workloads {
        let of_stack = workload.rows.iter().find(|row| row.stack == stack);
        let Some(engine) = of_stack.and_then(|row| row.engine.as_deref()) else { continue };
        match all.iter_mut().find(|(known, _)| *known == engine) {
            Some((_, loads)) => loads.push(&workload.name),
            None => all.push((engine, vec![&workload.name])),
        }
    }
    match all.as_slice() {
        [(engine, _)] => (*engine).to_owned(),
        several => {
            let said =
                several.iter().map(|(engine, loads)| format!("{engine}: {}", loads.join(", ")));
            said.collect::<Vec<_>>().join("; ")
        }
    }
}

pub(super) const PRECONDITIONED: &str = "Preconditioned";

/// Returns one line per stack; passes over drives that several stacks share are reported once.
pub(super) fn preconditioning_lines(findings: &Findings) -> impl Iterator<Item = String> {
    precondition::report_lines(&findings.preconditioned).into_iter()
}

pub(super) const TRAFFIC: &str = "I/O issued and completed";

/// Returns the I/O that loads issued and devices completed, one line per stack and load.
pub(super) fn traffic(findings: &Findings) -> impl Iterator<Item = String> {
    let several = findings.workloads.len() > 1;
    let said = move |one: &TrafficReport| match several {
        true => format!("{}, {}", one.workload, one.sentence),
        false => one.sentence.clone(),
    };
    findings.traffic.iter().map(said)
}

/// Returns what the verdicts on writes cover, then how long stacks waited for earlier writes and
/// what these left. Stacks whose sentences differ only in numbers share a line.
pub(super) fn debts(workload: &WorkloadFindings) -> Vec<String> {
    let regime = workload.writes.iter().flat_map(|writes| writes.sentences.clone());
    let owed: Vec<(&str, String)> = workload
        .rows
        .iter()
        .filter_map(|row| Some((row.stack.as_str(), owed_words(row)?)))
        .collect();
    let texts: Vec<&str> = owed.iter().map(|(_, text)| text.as_str()).collect();
    let line = |group: Vec<usize>| {
        let names: Vec<&str> = group.iter().map(|at| owed[*at].0).collect();
        let text = alike::merge_texts(&group.iter().map(|at| texts[*at]).collect::<Vec<_>>());
        format!("{}: {text}", of_stacks(&names, workload.rows.len()))
    };
    regime.chain(alike::grouped(&texts).into_iter().map(line)).collect()
}

/// Returns how long the slices of a stack waited for earlier writes, and what was left of these;
/// `None` if they never waited and nothing was left.
fn owed_words(row: &StackRow) -> Option<String> {
    let debt = row.debt.as_ref()?;
    let gave_up =
        if debt.gave_up > 0 { format!(", gave up {} times", debt.gave_up) } else { String::new() };
    let dirty = show_bytes(debt.dirty_bytes);
    let left = match (debt.in_flight, debt.dirty_bytes) {
        (Some(0), 0) => "nothing was left dirty or in flight".to_owned(),
        (Some(ios), _) => format!("at most {dirty} dirty and {ios} I/Os in flight were left"),
        (None, _) => {
            format!("at most {dirty} dirty were left; how many I/Os were in flight is not known")
        }
    };
    let share = debt
        .share()
        .map_or_else(String::new, |share| format!(" ({:.1} % of the time)", 100.0 * share));
    let nothing = debt.waited_s < TELLING_S
        && debt.gave_up + debt.dirty_bytes == 0
        && debt.in_flight == Some(0);
    (!nothing).then(|| {
        format!("waited {:.2} s{share} for earlier writes{gave_up}; {left}", debt.waited_s)
    })
}

/// Shortest wait that is reported, in seconds.
const TELLING_S: f64 = 0.005;

fn of_stacks(names: &[&str], stacks: usize) -> String {
    if names.len() == stacks && stacks > 2 { "all stacks".to_owned() } else { names.join(", ") }
}

/// Returns the facts of a place as `key: value`, nested ones joined with dots; absent ones are left
/// out.
pub(super) fn fact_pairs(value: &serde_json::Value) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    flatten(String::new(), value, &mut lines);
    lines
}

/// Attributes of a block device's queue that a reader looks for.
const QUEUE: &[&str] = &[
    "logical_block_size",
    "max_sectors_kb",
    "nr_requests",
    "physical_block_size",
    "rotational",
    "scheduler",
    "write_cache",
];

/// Returns true if a reader looks for this fact. Of the attributes of queues, readers look for
/// those that matter for most loads, and those in which devices of the place differ.
pub(super) fn is_looked_for(all: &[(String, String)], (key, value): &(String, String)) -> bool {
    let attribute = |key: &str| key.rsplit_once(".queue.").map(|(_, name)| name.to_owned());
    let Some(name) = attribute(key) else { return true };
    let differs =
        |(other, its): &(String, String)| attribute(other).as_ref() == Some(&name) && its != value;
    QUEUE.contains(&name.as_str()) || all.iter().any(differs)
}

fn flatten(key: String, value: &serde_json::Value, lines: &mut Vec<(String, String)>) {
    use serde_json::Value;
    let below = |name: &str| {
        if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }
    };
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(below(name), value, lines))
        }
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, value)| flatten(below(&at.to_string()), value, lines));
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) => {
            lines.push((key, items.iter().map(scalar_words).collect::<Vec<_>>().join(", ")))
        }
        other => lines.push((key, scalar_words(other))),
    }
}

fn scalar_words(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{fact_pairs, is_looked_for};

    #[test]
    fn of_queues_those_attributes_are_looked_for_that_matter_or_differ() {
        let queue = |write_cache: &str, fua: &str| serde_json::json!({"queue": {"write_cache": write_cache, "fua": fua, "dax": "0"}});
        let devices = serde_json::json!({"kernel": "6", "devices": [queue("write back", "0"), queue("write back", "1")]});
        let all = fact_pairs(&devices);
        let shown =
            all.iter().filter(|fact| is_looked_for(&all, fact)).map(|(key, _)| key.as_str());
        let expected = [
            "devices.0.queue.fua",
            "devices.0.queue.write_cache",
            "devices.1.queue.fua",
            "devices.1.queue.write_cache",
            "kernel",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn facts_are_flattened_and_absent_ones_left_out() {
        let value = serde_json::json!({"cpu": {"model": "x", "flags": ["a", "b"]}, "none": null, "drives": [{"name": "sda", "bytes": 5}]});
        let lines: Vec<String> =
            fact_pairs(&value).into_iter().map(|(key, value)| format!("{key}={value}")).collect();
        assert_eq!(
            lines,
            ["cpu.flags=a, b", "cpu.model=x", "drives.0.bytes=5", "drives.0.name=sda"]
        );
    }
}
