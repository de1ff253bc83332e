//! Imported results: a table per load with a row per system, results that are not I/O in tables of
//! their own, and the files they come from.

use super::number::{Shown, UNRESOLVED, share_of_baseline};
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::imported::{
    Better, ImportedComparison, ImportedFigure, ImportedFile, ImportedFindings, ImportedPercentile,
    ImportedRow, ImportedWorkload, OtherResult, OtherRow,
};
use iotax_analysis::findings::{MeasuredFigure, SampleUnit};
use iotax_units::{count_noun, distinct, show_bytes};
use std::collections::BTreeSet;

pub(super) struct ImportedSection {
    pub(super) title: String,
    pub(super) table: TextTable,
    pub(super) lines: Vec<String>,
}

pub(super) const FILES: &str = "Imported from";
/// Largest number of files that are listed; JSON has all.
const MOST_FILES: usize = 20;
const SHOWN: [f64; 3] = [50.0, 99.0, 99.9];

/// Returns the section with the most conclusions, for an answer that has room for one.
pub(super) fn clearest_section(findings: &Findings) -> Option<ImportedSection> {
    let is_resolved =
        |row: &&ImportedRow| row.comparison.as_ref().is_some_and(|one| one.verdict.is_resolved());
    let found = findings.imported.as_ref()?;
    // The first of those with equally many.
    let loads = found.workloads.iter().rev();
    let clearest = loads.max_by_key(|one| one.rows.iter().filter(is_resolved).count());
    clearest.map(of_load).or_else(|| found.others.first().map(of_other))
}

pub(super) fn sections(findings: &Findings) -> Vec<ImportedSection> {
    let Some(found) = &findings.imported else { return Vec::new() };
    found.workloads.iter().map(of_load).chain(found.others.iter().map(of_other)).collect()
}

type Pick = fn(&ImportedRow) -> &ImportedFigure;

fn of_load(one: &ImportedWorkload) -> ImportedSection {
    let mut table = TextTable::default();
    let cells =
        |cell: &dyn Fn(&ImportedRow) -> String| one.rows.iter().map(cell).collect::<Vec<_>>();
    table.push(
        "system",
        0,
        cells(&|row| marked_system(&row.system, row.baseline && one.rows.len() > 1)),
    );
    let columns: [(&str, u8, Pick); 3] = [
        ("IOPS", 0, |row| &row.iops),
        ("throughput", 3, |row| &row.bytes_per_s),
        ("mean", 4, |row| &row.mean),
    ];
    for (at, (head, rank, pick)) in columns.into_iter().enumerate() {
        if one.rows.iter().any(|row| matches!(pick(row).figure, MeasuredFigure::Known { .. })) {
            table.push(head, rank, cells(&|row| Shown::from_figure(&pick(row).figure).cell()));
        }
        if at == 0 && one.rows.iter().any(|row| row.comparison.is_some()) {
            table.push("of base", 1, cells(&|row| ratio(row.comparison.as_ref())));
        }
    }
    for (percent, rank) in SHOWN.into_iter().zip([2, 2, 5]) {
        if one.rows.iter().any(|row| find_percentile(row, percent).is_some()) {
            table.push(
                &format!("p{percent}"),
                rank,
                cells(&|row| percentile(find_percentile(row, percent))),
            );
        }
    }
    table.push("runs", 6, cells(&|row| row.runs.to_string()));
    ImportedSection { title: one.subject.clone(), table, lines: one.sentences.clone() }
}

fn of_other(one: &OtherResult) -> ImportedSection {
    let mut table = TextTable::default();
    let cells = |cell: &dyn Fn(&OtherRow) -> String| one.rows.iter().map(cell).collect::<Vec<_>>();
    table.push(
        "system",
        0,
        cells(&|row| marked_system(&row.system, row.baseline && one.rows.len() > 1)),
    );
    table.push(if one.unit.is_empty() { "value" } else { &one.unit }, 0, cells(&value));
    if one.rows.iter().any(|row| row.comparison.is_some()) {
        let head = if one.better == Better::Higher { "of base" } else { "base of it" };
        table.push(head, 1, cells(&|row| ratio(row.comparison.as_ref())));
    }
    table.push("runs", 2, cells(&|row| row.runs.to_string()));
    let better = match one.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    ImportedSection {
        title: format!("{}, {better}", one.name),
        table,
        lines: one.sentences.clone(),
    }
}

/// Returns a single value in six digits, marked `?`, or a mean with its interval.
fn value(row: &OtherRow) -> String {
    match row.interval {
        None => format!("{} ?", six_digits(row.value)),
        Some([low, high]) => {
            let interval = iotax_analysis::findings::Interval::from_bounds(low, high);
            let figure =
                MeasuredFigure::known_value(row.value, "", (row.runs, SampleUnit::Runs), interval);
            Shown::from_figure(&figure).cell()
        }
    }
}

/// Formats a value with the precision that such results are printed with: `24.1321G`, `38145.7`.
fn six_digits(value: f64) -> String {
    let (by, prefix) = match value.abs() {
        n if n >= 1e9 => (1e9, "G"),
        n if n >= 1e6 => (1e6, "M"),
        _ => (1.0, ""),
    };
    let scaled = value / by;
    let whole = scaled.abs().log10().floor().max(0.0) as usize + 1;
    let digits = format!("{scaled:.*}", 6usize.saturating_sub(whole));
    let bare = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        &digits
    };
    format!("{bare}{prefix}")
}

fn marked_system(system: &str, baseline: bool) -> String {
    format!("{system}{}", if baseline { " *" } else { "" })
}

fn ratio(comparison: Option<&ImportedComparison>) -> String {
    let mark = |one: &ImportedComparison| if one.verdict.is_resolved() { "" } else { UNRESOLVED };
    // Most have no interval, and no conclusion about them either.
    comparison.map_or_else(String::new, |one| {
        format!("{}{}", share_of_baseline(&one.ratio).cell(), mark(one))
    })
}

fn find_percentile(row: &ImportedRow, percent: f64) -> Option<&ImportedPercentile> {
    row.percentiles.iter().find(|one| (one.percent - percent).abs() < 1e-9)
}

/// Returns one value, or the range from the least run to the greatest: percentiles of several runs
/// are not averaged.
fn percentile(one: Option<&ImportedPercentile>) -> String {
    let Some(one) = one else { return "-".to_owned() };
    let shown = |ns: f64| {
        Shown::from_figure(&MeasuredFigure::bare(ns, "ns", (1, SampleUnit::Runs), "")).cell()
    };
    let bare = |ns: f64| shown(ns).replace(" ?", "");
    match one.least_ns == one.most_ns {
        true if one.most_ns == 0.0 => "0".to_owned(),
        true => bare(one.least_ns),
        false => format!("{} to {}", bare(one.least_ns), bare(one.most_ns)),
    }
}

pub(super) fn legend(findings: &Findings) -> Option<String> {
    let found = findings.imported.as_ref()?;
    let several = found.workloads.iter().flat_map(|one| &one.rows).any(|row| row.runs > 1);
    let of_several = if several {
        "; of several runs the mean, and percentiles from the least run to the most, or of merged histograms"
    } else {
        ""
    };
    Some(format!(
        "figures as others printed them: ? no interval, ! unresolved, * what others are compared with; of base: IOPS, else throughput{of_several}"
    ))
}

/// Explains what an imported run is and is not, in place of how it was measured.
pub(super) const METHOD: &str = "Nothing was measured here: figures are read from the outputs that are listed, as other tools printed them, and each may be \
    any value that rounds to it. One run each is no verdict, nor are two or three; from four runs of each on they are compared as runs that nothing paired, by how \
    far a system's runs are from each other. Percentiles are not averaged, and copies count once. docs/import.md of iotax says how loads and systems are told apart.";

/// Returns the title of an imported run: the names of its systems, or their number if there are
/// more than [`MOST_SYSTEMS`].
pub(super) fn title(found: &ImportedFindings) -> String {
    let of_loads = found.workloads.iter().flat_map(|one| &one.rows).map(|row| row.system.as_str());
    let of_others = found.others.iter().flat_map(|one| &one.rows).map(|row| row.system.as_str());
    match distinct(of_loads.chain(of_others)).as_slice() {
        few if few.len() <= MOST_SYSTEMS => format!("Imported results of {}", few.join(", ")),
        many => format!("Imported results of {} systems", many.len()),
    }
}

const MOST_SYSTEMS: usize = 4;

pub(super) fn files(findings: &Findings) -> Vec<String> {
    let Some(found) = &findings.imported else { return Vec::new() };
    let line = |file: &ImportedFile| {
        let sources = found.workloads.iter().flat_map(|one| &one.rows).flat_map(|row| &row.sources);
        let others = found.others.iter().flat_map(|one| &one.rows).flat_map(|row| &row.sources);
        let tools: BTreeSet<&str> = sources
            .chain(others)
            .filter(|source| source.file == file.file)
            .map(|source| source.tool.as_str())
            .collect();
        let tools = tools.into_iter().collect::<Vec<_>>().join(", ");
        format!(
            "{}: {} of {}; {}, SHA-256 {}",
            file.path,
            count_noun(u64::from(file.results), "result", "results"),
            if tools.is_empty() { "no tool" } else { &tools },
            show_bytes(file.bytes),
            file.sha256.get(..16).unwrap_or(&file.sha256),
        )
    };
    let mut lines: Vec<String> = found.files.iter().take(MOST_FILES).map(line).collect();
    if let Some(more) = found.files.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        lines.push(format!("and {more} more, which --format json lists"));
    }
    lines
}
