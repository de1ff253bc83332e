//! The terminal's report without `-v`: the conclusions, one table, and what to type next; at most
//! [`LINES`] lines. Parts without room are counted, never dropped silently; lost or wrong data
//! always has room.

use super::grouped::{self, One};
use super::matrix::{MatrixLoad, direction_row_name};
use super::number::{Shown, change_in_percent};
use super::table::capital;
use super::table::{LeftOut, TextTable, wrap_words};
use super::verdicts::{self, VerdictSentence};
use super::{
    crowd, durability, imported, limits, matrix, probes, sheet, states, sweep, terminal,
    verification,
};
use iotax_analysis::Findings;
use iotax_analysis::findings::ceiling::MaskingCeiling;
use iotax_analysis::findings::{
    Bill, Charges, Comparison, ComparisonRole, DirectionComparison, DirectionRow, MeasuredFigure,
    Quantity, StackRow, WarningReport, WorkloadFindings,
};
use iotax_analysis::{EMULATED, comparison_subject};
use iotax_stats::Verdict;
use iotax_units::{count_noun, show_names};
use std::collections::BTreeSet;

/// Largest number of lines of the report at 80 columns or more: the 24 of a usual terminal, and
/// one.
pub const LINES: usize = 25;

/// Returns the report of one run; `command` prints the full one (`iotax report ID`).
pub fn brief(findings: &Findings, command: &str, width: usize) -> String {
    let width = width.max(terminal::NARROWEST);
    let top = top(findings, width);
    let verdicts = verdict_sentences(findings);
    let table = OneTable::from_findings(findings);
    let closing = |marks: &str| closing(findings, command, marks, width);
    // The marks of a table take at most one line.
    let fixed = lines_of(&top) + lines_of(&closing("")) + 1;
    let room = LINES.saturating_sub(fixed);
    let said: usize = verdicts.iter().map(|text| lines_of(&indented(text, width))).sum();
    let wants = table.as_ref().map_or(0, |table| table.line_count(width));
    let for_table = wants.min(room.saturating_sub(said + 1).max(room * 2 / 3));
    let table = table.map(|table| table.fitted_rows(for_table, width)).unwrap_or_default();
    let verdicts = fitted_texts(&verdicts, room.saturating_sub(lines_of(&table) + 1), width);
    let gap = if verdicts.is_empty() { "" } else { "\n" };
    let empty = !findings.workloads.is_empty() && findings.workloads.iter().all(sheet::is_empty);
    let nothing =
        if empty { wrap_words(&capital(sheet::EMPTY), width, "  ") } else { String::new() };
    let used = lines_of(&top)
        + lines_of(&nothing)
        + lines_of(gap)
        + lines_of(&verdicts)
        + lines_of(&table);
    let places = places(findings, LINES.saturating_sub(used + fixed - lines_of(&top)), width);
    format!(
        "{top}{nothing}{gap}{verdicts}{table}{places}{}",
        closing(&marks(findings, &format!("{table}{places}")))
    )
}

/// Returns tables of the places that load a stack together, for as many stacks as fit in `room`
/// lines.
fn places(findings: &Findings, mut room: usize, width: usize) -> String {
    let crowds = findings.workloads.iter().flat_map(|workload| &workload.crowds);
    let one = |(title, table): (String, TextTable)| {
        let text =
            format!("{}{}", indented(&title, width), table.to_text(width, &mut LeftOut::default()));
        let lines = lines_of(&text);
        let fits = lines <= room;
        room -= if fits { lines } else { 0 };
        fits.then_some(text)
    };
    crowds.map(|crowd| crowd::places(crowd, true)).filter_map(one).collect()
}

/// Returns only the table of the brief report, with its most informative rows in at most `lines`
/// lines.
pub fn informative_table(findings: &Findings, lines: usize, width: usize) -> String {
    OneTable::from_findings(findings)
        .map(|table| table.fitted_rows(lines, width))
        .unwrap_or_default()
}

fn lines_of(text: &str) -> usize {
    text.lines().count()
}

fn indented(text: &str, width: usize) -> String {
    terminal::list("", std::iter::once(text.to_owned()), width).trim_start_matches('\n').to_owned()
}

/// Returns the head of the report: the run, places that are emulated, warnings without which
/// figures are misread, the headline, and the check of the ruler.
fn top(findings: &Findings, width: usize) -> String {
    let places = findings.places.iter().filter(|place| place.emulated.is_some());
    let names: BTreeSet<String> = places.map(|place| place.place.to_string()).collect();
    let none_is_real =
        findings.headline.is_none() && findings.no_headline.as_deref() == Some(EMULATED);
    let emulated = (!names.is_empty()).then(|| {
        let end = if none_is_real { ", so there is no headline" } else { "" };
        format!("EMULATED: figures of {} are not representative{end}", show_names(in_order(names)))
    });
    let head = match none_is_real && emulated.is_some() {
        // The reason for a missing headline is printed with it.
        true => terminal::ruler(findings, width),
        false => terminal::head(findings, width),
    };
    let failed = findings
        .warnings
        .iter()
        .filter(|warning| is_at_top(findings, warning))
        .map(|one| one.to_sentence());
    let about = std::iter::once(terminal::identity(&findings.run)).chain(emulated).chain(failed);
    let about: String = about.map(|line| wrap_words(&line, width, "  ")).collect();
    if head.is_empty() { about } else { format!("{about}\n{head}") }
}

fn in_order(names: BTreeSet<String>) -> Vec<String> {
    let mut names: Vec<String> = names.into_iter().collect();
    names.sort_by_key(String::len);
    names
}

const IO_ERRORS: &str = "io_errors";
const MACHINES: &str = "machines";

/// Returns true for warnings without which figures are misread. A figure of a stack with failed
/// I/Os must not be used before somebody knows why, and a difference of two machines is not the
/// cost of a layer. iotax did not set up imported runs, so their confounders and failed jobs count
/// too.
fn is_at_top(findings: &Findings, warning: &WarningReport) -> bool {
    let of_imported: &[&str] =
        if findings.imported.is_some() { &["confounder", "failed_job"] } else { &[] };
    [IO_ERRORS, MACHINES].iter().chain(of_imported).any(|kind| *kind == warning.kind)
}

/// Returns the conclusions, the most important first: wrong or lost data, sweeps as a whole,
/// differences in throughput by size, cases without a difference, unresolved cases, and then the
/// same for latency and CPU time. The headline is not repeated.
pub fn verdict_sentences(findings: &Findings) -> Vec<String> {
    let mut all: Vec<(u8, f64, String)> = Vec::new();
    let headline = findings.headline.as_deref().unwrap_or_default();
    for said in durability::trial_sentences(findings)
        .into_iter()
        .chain(verification::read_back_sentences(findings))
    {
        let order = if said.class == "cost" { 0 } else { 3 };
        all.push((order, 0.0, said.text));
    }
    all.extend(
        limits::course_sentences(findings, headline).into_iter().map(|said| (0, 0.0, said.text)),
    );
    let curves = findings.sweeps.iter().flat_map(|one| &one.curves);
    all.extend(curves.flat_map(sweep::curve_sentences).map(|text| (1, 0.0, text.to_owned())));
    for workload in findings.workloads.iter().filter(|workload| !sheet::is_empty(workload)) {
        let mut add = |first: u8, said: Vec<(VerdictSentence, f64)>| {
            let present = said.into_iter().filter(|(said, _)| said.class != "absent");
            all.extend(present.map(|(said, size)| (first + order(said.class), size, said.text)));
        };
        // Requested checks come before other findings.
        let levels = verdicts::service_levels_in_brief(workload);
        add(
            0,
            levels
                .into_iter()
                .map(|said| (VerdictSentence { class: "cost", ..said }, 0.0))
                .collect(),
        );
        add(
            2,
            grouped::sized_sentences(
                &rates(findings, &workload.comparisons.iter().collect::<Vec<_>>()),
                "stack",
            ),
        );
        add(2, directions(findings, &workload.comparisons.iter().collect::<Vec<_>>()));
        for array in &workload.arrays {
            add(2, directions(findings, &states::comparisons(array)));
            add(
                2,
                grouped::sized_sentences(&rates(findings, &states::comparisons(array)), "state"),
            );
        }
        let beside = workload.beside.iter();
        add(
            2,
            beside
                .map(|one| {
                    (
                        VerdictSentence {
                            class: verdicts::class_of(&one.verdict),
                            text: one.sentence.clone(),
                        },
                        0.0,
                    )
                })
                .collect(),
        );
        add(
            5,
            grouped::sized_sentences(
                &charges(workload, |one| verdicts::of_charge(one, &one.latency)),
                "stack",
            ),
        );
        let apart = workload.charges.iter().filter(|one| verdicts::says_directions(one));
        let apart = apart
            .flat_map(|one| one.directions.iter().map(|it| verdicts::of_charge(one, &it.latency)));
        add(5, grouped::sized_sentences(&apart.collect::<Vec<_>>(), "stack"));
        add(
            5,
            grouped::sized_sentences(
                &charges(workload, |one| verdicts::of_charge(one, &one.cpu)),
                "stack",
            ),
        );
    }
    all.retain(|(_, _, text)| !headline.contains(text.as_str()));
    all.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    all.into_iter().map(|(_, _, text)| text).collect()
}

/// Returns the rank of a class: differences first, then no difference, then unresolved.
fn order(class: &str) -> u8 {
    match class {
        "cost" | "gain" => 0,
        "none" => 1,
        _ => 2,
    }
}

/// Returns the rate conclusions of stacks. Comparisons that check the ruler have their own line,
/// and the headline is already shown.
fn rates<'a>(findings: &Findings, all: &[&'a Comparison]) -> Vec<One<'a>> {
    let of_stacks =
        all.iter().filter(|one| one.role == ComparisonRole::Stack && !is_headline(findings, one));
    of_stacks.map(|one| verdicts::of_rate(one)).collect()
}

fn is_headline(findings: &Findings, one: &Comparison) -> bool {
    let is_it = |(stack, quantity): &(String, String)| {
        *stack == one.stack && *quantity == one.rate.quantity
    };
    findings.headline_of.as_ref().is_some_and(is_it)
}

/// Returns a sentence each for the reads and the writes of a stack, with the size of its
/// difference. That of the headline's stack is infinite: its sentences come first, directly below
/// the headline.
fn directions(findings: &Findings, all: &[&Comparison]) -> Vec<(VerdictSentence, f64)> {
    let of_stacks =
        all.iter().filter(|one| one.role == ComparisonRole::Stack && one.says_directions);
    let said = |one: &&Comparison| {
        let who = comparison_subject(&one.stack, &one.against, one.emulated.is_some());
        let size = if is_headline(findings, one) { f64::INFINITY } else { one.rate.phrase.size() };
        let line = |direction: &DirectionComparison| {
            let text = format!(
                "{who}, {}s{}: {}",
                direction.direction,
                marks_of(one),
                direction.rate.verdict.phrase()
            );
            (VerdictSentence { class: verdicts::class_of(&direction.rate.verdict), text }, size)
        };
        one.directions.iter().map(line).collect::<Vec<_>>()
    };
    of_stacks.flat_map(said).collect()
}

fn marks_of(one: &Comparison) -> String {
    let durable = if one.of_write == Some(Quantity::Durable) { " (durable)" } else { "" };
    let masked = if one.masked.is_some() { " (masked)" } else { "" };
    format!("{durable}{masked}")
}

fn charges<'a>(
    workload: &'a WorkloadFindings,
    of: impl Fn(&'a Charges) -> One<'a>,
) -> Vec<One<'a>> {
    let role = |stack: &str| {
        workload.comparisons.iter().find(|one| one.stack == stack).map(|one| one.role)
    };
    let of_stacks =
        workload.charges.iter().filter(|one| role(&one.stack) == Some(ComparisonRole::Stack));
    of_stacks.map(of).collect()
}

/// Returns as many of the texts as fit in `room` lines, and how many are left.
fn fitted_texts(all: &[String], room: usize, width: usize) -> String {
    let texts: Vec<String> = all.iter().map(|text| indented(text, width)).collect();
    let lines = |many: usize| texts[..many].iter().map(|text| lines_of(text)).sum::<usize>();
    let more = |many: usize| usize::from(many < texts.len());
    let many = (0..=texts.len()).rev().find(|many| lines(*many) + more(*many) <= room).unwrap_or(0);
    let left = texts.len() - many;
    let left = match left {
        0 => String::new(),
        left => {
            format!("  and {} (-v)\n", count_noun(left as u64, "more verdict", "more verdicts"))
        }
    };
    texts[..many].concat() + &left
}

/// Most informative table of a run, with the text above it.
struct OneTable {
    title: Vec<String>,
    table: TextTable,
    /// Weight of each row; rows with a higher one have room first.
    weights: Vec<f64>,
    /// Noun for a row, in the singular and the plural.
    rows: [&'static str; 2],
    /// Noun for a column, if columns without room are counted.
    columns: Option<[&'static str; 2]>,
}

impl OneTable {
    fn from_findings(findings: &Findings) -> Option<OneTable> {
        let measured: Vec<&WorkloadFindings> =
            findings.workloads.iter().filter(|workload| !sheet::is_empty(workload)).collect();
        let plain = |title: Vec<String>, table: TextTable| {
            let weights = vec![0.0; table.row_count()];
            Some(OneTable { title, table, weights, rows: ["row", "rows"], columns: None })
        };
        if let Some(table) = durability::trial_table(findings) {
            let lossy =
                |row: &iotax_analysis::findings::durability::DurabilityRow| row.lossy as f64;
            let rows =
                findings.durability.as_ref().map(|found| found.rows.iter().map(lossy).collect());
            return Some(OneTable {
                weights: rows.unwrap_or_default(),
                ..plain(Vec::new(), table)?
            });
        }
        // The sentences of courses have all figures of their table.
        if findings.limits.is_some() {
            return None;
        }
        if let Some(section) = imported::sections(findings).into_iter().next() {
            return plain(vec![section.title], section.table);
        }
        if let Some((table, _)) = matrix::network(findings) {
            return plain(Vec::new(), table);
        }
        if let Some(joint) = findings.joint_bills.first() {
            return Some(OneTable::of_bill(sheet::joint_title(joint), &joint.bill));
        }
        match measured.as_slice() {
            [] => None,
            [one] => Some(match &one.bill {
                Some(bill) => OneTable::of_bill(titled(one), bill),
                None => OneTable {
                    title: vec![titled(one)],
                    table: stacks(one),
                    weights: mix_lines(one)
                        .map(|(_, row, way)| row_weight(one, row, way.is_some()))
                        .collect(),
                    rows: if sheet::is_mix(one) { ["row", "rows"] } else { ["stack", "stacks"] },
                    columns: None,
                },
            }),
            many => Some(grid(many)),
        }
    }

    /// Builds the table of a bill. Layers have room before their shares of reads and of writes.
    fn of_bill(title: String, bill: &Bill) -> OneTable {
        let table = sheet::bill(bill);
        let is_layer = |name: &String| f64::from(u8::from(!name.starts_with(' ')));
        let weights = table.columns[0].cells.iter().map(is_layer).collect();
        OneTable { title: vec![title], table, weights, rows: ["row", "rows"], columns: None }
    }

    fn line_count(&self, width: usize) -> usize {
        lines_of(&self.rows_text(&(0..self.table.row_count()).collect::<Vec<_>>(), width))
    }

    fn rows_text(&self, kept: &[usize], width: usize) -> String {
        let mut left_out = LeftOut::default();
        let table = self.table.of_rows(kept).to_text(width, &mut left_out);
        let rows = self.table.row_count() - kept.len();
        let left = [(rows, Some(self.rows)), (left_out.columns(), self.columns)];
        let counts = left.into_iter().filter(|(many, _)| *many > 0).filter_map(|(many, noun)| {
            let [one, several] = noun?;
            Some(format!("{many} more {}", if many == 1 { one } else { several }))
        });
        let left: Vec<String> = counts.collect();
        let left = if left.is_empty() {
            String::new()
        } else {
            format!("  and {} (-v)\n", left.join(" and "))
        };
        let title = self.title.iter().map(|title| indented(title, width)).collect::<String>();
        format!("\n{title}{table}{left}")
    }

    /// Returns the table with its most informative rows, as many as fit in `room` lines.
    fn fitted_rows(&self, room: usize, width: usize) -> String {
        let mut order: Vec<usize> = (0..self.table.row_count()).collect();
        order.sort_by(|one, other| self.weights[*other].total_cmp(&self.weights[*one]));
        let text = |many: usize| {
            let mut kept = order[..many].to_vec();
            kept.sort_unstable();
            self.rows_text(&kept, width)
        };
        let texts = (1..=order.len()).rev().map(text);
        texts.into_iter().find(|text| lines_of(text) <= room).unwrap_or_default()
    }
}

fn titled(workload: &WorkloadFindings) -> String {
    format!("{}: {}", workload.subject, sheet::effort(workload))
}

/// Returns the size of a stack's difference from the baseline. It is infinite for the baseline,
/// which is always shown.
fn weight(workload: &WorkloadFindings, stack: &str) -> f64 {
    workload
        .comparisons
        .iter()
        .find(|one| one.stack == stack)
        .map_or(f64::INFINITY, difference_size)
}

fn row_weight(workload: &WorkloadFindings, row: &StackRow, is_direction: bool) -> f64 {
    let weight = weight(workload, &row.stack);
    if is_direction { after_wholes(weight) } else { weight }
}

/// Returns the size of a resolved difference; 0 if nothing is resolved.
fn difference_size(one: &Comparison) -> f64 {
    let differs = matches!(one.rate.verdict, Verdict::Costs { .. } | Verdict::Gains { .. });
    if differs { one.rate.phrase.size() } else { 0.0 }
}

/// Returns the figures of each stack, with the change of its rate next to the rate. Below a stack
/// under a mix are the figures of its reads and writes.
fn stacks(workload: &WorkloadFindings) -> TextTable {
    let mut table = sheet::stacks(workload);
    if let Some(against) = workload.comparisons.first().map(|one| one.against.as_str()) {
        let mut changes = TextTable::default();
        let cells =
            workload.rows.iter().map(|row| rate_change_cell(workload, &row.stack, None)).collect();
        changes.push(&format!("against {against}"), 0, cells);
        table.columns.splice(2..2, changes.columns);
    }
    if sheet::is_mix(workload) {
        table = with_directions(workload, &table);
    }
    if workload.rate_unit == "B/s" {
        for column in &mut table.columns {
            column.rank = match column.head.as_str() {
                "IOPS" => 7,
                "throughput" => 0,
                _ => column.rank,
            };
        }
    }
    table
}

/// Returns the rows of a mix's table: for each stack its index and row, with `None` for the whole
/// load, then with each direction.
fn mix_lines(
    workload: &WorkloadFindings,
) -> impl Iterator<Item = (usize, &StackRow, Option<&DirectionRow>)> {
    workload.rows.iter().enumerate().flat_map(|(at, row)| {
        std::iter::once(None).chain(row.directions.iter().map(Some)).map(move |one| (at, row, one))
    })
}

fn with_directions(workload: &WorkloadFindings, whole: &TextTable) -> TextTable {
    let figure = |one: Option<&MeasuredFigure>| {
        one.map_or_else(|| "-".to_owned(), |one| Shown::from_figure(one).cell())
    };
    let mut table = TextTable::default();
    for column in &whole.columns {
        let of = |row: &StackRow, one: &DirectionRow| match column.head.as_str() {
            "stack" => direction_row_name(one.direction),
            "IOPS" => figure(Some(&one.iops)),
            "throughput" => figure(Some(&one.bytes_per_s)),
            "durable" => {
                one.durable_bytes_per_s.as_ref().map(|one| figure(Some(one))).unwrap_or_default()
            }
            head if head.starts_with("against ") => {
                rate_change_cell(workload, &row.stack, Some(one.direction))
            }
            _ => String::new(),
        };
        let cell = |(at, row, one): (usize, &StackRow, Option<&DirectionRow>)| {
            one.map_or_else(|| column.cells[at].clone(), |one| of(row, one))
        };
        table.push(&column.head, column.rank, mix_lines(workload).map(cell).collect());
    }
    let latencies = workload.rows.iter().flat_map(|row| &row.latency);
    let latencies = sheet::latency_columns(latencies, [u8::MAX, 2, 1, u8::MAX]);
    for (head, rank) in latencies.into_iter().filter(|(_, rank)| *rank < u8::MAX) {
        let of = |row: &StackRow, way: &str| {
            figure(
                row.latency
                    .iter()
                    .find(|one| one.direction == way)
                    .and_then(|one| one.figure_named(&head)),
            )
        };
        let cell = |(_, row, one): (usize, &StackRow, Option<&DirectionRow>)| {
            one.map_or_else(String::new, |one| of(row, one.direction))
        };
        table.push_known(&head, rank, mix_lines(workload).map(cell).collect());
    }
    table
}

/// Lowers a weight so that rows of directions have room after all whole rows, the largest
/// difference first.
fn after_wholes(weight: f64) -> f64 {
    -1.0 / (1.0 + weight)
}

/// Returns the change of the rate of a stack, or of one direction of it. For writes, this is the
/// rate at which they are acknowledged.
fn rate_change_cell(workload: &WorkloadFindings, stack: &str, way: Option<&str>) -> String {
    let Some(one) = workload.comparisons.iter().find(|one| one.stack == stack) else {
        return String::new();
    };
    let masked = if one.masked.is_some() && way.is_none() { " (masked)" } else { "" };
    let Some(rate) = one.rate_of(way) else { return String::new() };
    change_in_percent(&rate.at_once()).judged_cell(rate.verdict.is_resolved()) + masked
}

/// Returns a table of all stacks under all loads. The rows are loads or stacks, whichever are more;
/// those with the largest differences have room first. The reads and writes of a mix follow the
/// mix.
fn grid(workloads: &[&WorkloadFindings]) -> OneTable {
    let rows = workloads.first().map(|one| one.rows.as_slice()).unwrap_or_default();
    let by_load = workloads.len() >= rows.len();
    let of_stack =
        |row: &StackRow| workloads.iter().map(|one| weight(one, &row.stack)).fold(0.0, f64::max);
    let stacks: Vec<(String, f64)> =
        rows.iter().map(|row| (sheet::name_with_marks(row), of_stack(row))).collect();
    let parts: Vec<MatrixLoad> =
        workloads.iter().flat_map(|one| MatrixLoad::all_of_workload(one)).collect();
    let load = |load: &MatrixLoad| {
        let size = load.workload.all_comparisons().map(difference_size).fold(0.0, f64::max);
        let name = if by_load { load.row_name() } else { load.name_with_unit() };
        (name, if load.way.is_some() { after_wholes(size) } else { size })
    };
    let loads: Vec<(String, f64)> = parts.iter().map(load).collect();
    let rate = |workload: &WorkloadFindings, row: &StackRow, way: Option<&str>| match way {
        None => Some(sheet::quoted_rate(workload, row).clone()),
        Some(way) => {
            let one = row.directions.iter().find(|one| one.direction == way)?;
            Some(sheet::rate_of(workload, one).clone())
        }
    };
    let cell = |load: usize, stack: usize| {
        let MatrixLoad { workload, way } = parts[load];
        match workload.rows.get(stack) {
            // If the baseline has no figure, the figures of the others are shown as they are.
            Some(row) if row.baseline || !has_baseline(workload) => {
                let figure = rate(workload, row, way);
                figure.map_or_else(|| "-".to_owned(), |one| Shown::from_figure(&one).cell())
                    + &probes::loss(row)
            }
            Some(row) => rate_change_cell(workload, &row.stack, way) + &probes::loss(row),
            None => "-".to_owned(),
        }
    };
    let apart = parts.len() > workloads.len();
    let (loads, stacks) = ((loads, ["load", "loads"]), (stacks, ["stack", "stacks"]));
    if by_load {
        let grid = grid_of(loads, stacks, cell);
        OneTable { rows: if apart { ["row", "rows"] } else { grid.rows }, ..grid }
    } else {
        let grid = grid_of(stacks, loads, |stack, load| cell(load, stack));
        OneTable { columns: if apart { Some(["column", "columns"]) } else { grid.columns }, ..grid }
    }
}

fn has_baseline(workload: &WorkloadFindings) -> bool {
    workload.rows.iter().any(|row| row.baseline && row.rounds > 0)
}

/// Names of rows or columns with their weights, and the noun for one and for many.
type NamedSide = (Vec<(String, f64)>, [&'static str; 2]);

fn grid_of(
    (rows, row): NamedSide,
    (columns, column): NamedSide,
    cell: impl Fn(usize, usize) -> String,
) -> OneTable {
    let mut table = TextTable::default();
    table.push(row[0], 0, rows.iter().map(|(name, _)| name.clone()).collect());
    for (at, (name, weight)) in columns.iter().enumerate() {
        // The baseline is shown only together with the row that differs most from it.
        let rank = columns.iter().filter(|(_, other)| other > weight).count().saturating_sub(1);
        let cells = (0..rows.len()).map(|row| cell(row, at)).collect();
        table.push(name, u8::try_from(rank).unwrap_or(u8::MAX), cells);
    }
    let weights = rows.into_iter().map(|(_, weight)| weight).collect();
    OneTable { title: Vec::new(), table, weights, rows: row, columns: Some(column) }
}

fn marks(findings: &Findings, table: &str) -> String {
    let comparisons = findings.workloads.iter().flat_map(WorkloadFindings::all_comparisons);
    let by: BTreeSet<&str> =
        comparisons.filter_map(|one| one.masked.as_ref()).map(MaskingCeiling::short).collect();
    let masked = format!("masked by {}", by.into_iter().collect::<Vec<_>>().join(", "));
    let all = [
        (" *", "* baseline"),
        (" !", "! unresolved"),
        (" ?", "? no interval"),
        (" ~", "~ emulated"),
        ("(masked)", masked.as_str()),
    ];
    let absent = table.lines().skip(1).flat_map(str::split_whitespace).any(|cell| cell == "-");
    all.into_iter()
        .filter(|(mark, _)| table.contains(mark))
        .map(|(_, said)| said)
        .chain(absent.then_some("- no figure (-v: why)"))
        .collect::<Vec<_>>()
        .join("; ")
}

fn closing(findings: &Findings, command: &str, marks: &str, width: usize) -> String {
    let others = || findings.warnings.iter().filter(|one| !is_at_top(findings, one));
    let kinds: BTreeSet<&str> = others().map(|one| one.kind.as_str()).collect();
    let many = others().count() as u64;
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let warned = (many > 0)
        .then(|| format!("{} (-v): {}", count_noun(many, "warning", "warnings"), kinds.join(", ")));
    let legend = (!marks.is_empty()).then(|| format!("  {marks}"));
    let next = format!("next: {command} -v (all), -o report.html (page)");
    let lines = legend.into_iter().chain(warned.map(|line| capital(&line))).chain([next]);
    lines.map(|line| wrap_words(&line, width, "  ")).collect()
}
