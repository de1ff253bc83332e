//! Published figures next to the measured ones: a table for each workload and metric, a row per
//! stack.

use super::number::{Shown, change_in_percent, share_of_baseline};
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::published::{
    ClaimFinding, PublishedFinding, PublishedFindings, RatioBeside,
};

pub(super) const TITLE: &str = "Published beside measured";

/// Returns the legend of the ratio columns; `None` if there are none.
pub(super) fn legend(published: &PublishedFindings) -> Option<&'static str> {
    published.figures.iter().any(|one| one.ratio.is_some()).then_some(LEGEND)
}

const LEGEND: &str = "in % of the baseline's: the published ratio and the measured one; agrees: the published one lies within the measured interval, \
     as far as its printed digits allow, and a bound above all of it";

pub(super) fn origin(published: &PublishedFindings) -> Vec<String> {
    let named = [("published", &published.source), ("measured there on", &published.hardware)];
    let named = named.map(|(what, text)| format!("{what}: {text}"));
    named
        .into_iter()
        .chain(published.note.iter().map(|note| format!("also published: {note}")))
        .collect()
}

pub(super) fn tables(findings: &Findings) -> Vec<(String, TextTable)> {
    let figures =
        findings.published.iter().flat_map(|published| &published.figures).collect::<Vec<_>>();
    let title = |one: &PublishedFinding| format!("{}: {}", one.subject, one.metric_said());
    figures
        .chunk_by(|a, b| a.is_of_row(b))
        .map(|rows| (title(rows[0]), published_table(rows)))
        .collect()
}

/// Title of the part on claims.
pub(super) const CLAIMS: &str = "Claims";

/// Returns a row for each published claim with the figure that was measured.
pub(super) fn claims_table(claims: &[ClaimFinding]) -> TextTable {
    let cells = |cell: &dyn Fn(&ClaimFinding) -> String| claims.iter().map(cell).collect();
    let marked = |one: &ClaimFinding| {
        format!("{}{}", one.stack, if one.emulated.is_some() { " ~" } else { "" })
    };
    let mut table = TextTable::default();
    table.push("stack", 0, cells(&marked));
    table.push("against", 1, cells(&|one| one.against.clone().unwrap_or_default()));
    table.push("load", 2, cells(&|one| one.workload.clone()));
    table.push("metric", 2, cells(&|one| one.metric.clone()));
    table.push("claimed", 0, cells(&|one| one.printed.clone()));
    table.push("measured", 0, cells(&claimed_form));
    table.push("verdict", 0, cells(&|one| one.verdict.to_owned()));
    table
}

/// Returns the words of the claims, one line for each.
pub(super) fn claim_words(claims: &[ClaimFinding]) -> Vec<String> {
    let words = |one: &ClaimFinding| {
        format!("{} of {} under {}: \"{}\"", one.metric, one.pair_words(), one.workload, one.text)
    };
    claims.iter().map(words).collect()
}

/// Legend of the claims.
pub(super) const CLAIMS_LEGEND: &str = "\
    agrees: the claimed figure lies within the measured interval, as far as its printed digits \
    allow (~: without the zeros at its end); above, below: the measured figure is above or below it";

/// Returns the measured figure in the form in which it was claimed: a change in percent, a share, a
/// multiple, or with its unit.
fn claimed_form(one: &ClaimFinding) -> String {
    let measured = &one.beside.measured;
    match &one.printed {
        _ if one.against.is_none() => Shown::from_figure(measured).cell(),
        text if text.contains("less") || text.contains("more") => {
            change_in_percent(measured).cell()
        }
        text if text.contains('%') => share_of_baseline(measured).cell(),
        _ => match Shown::from_figure(measured) {
            known @ Shown::Known(_) => format!("{} x", known.cell()),
            other => other.cell(),
        },
    }
}

fn published_table(rows: &[&PublishedFinding]) -> TextTable {
    let mut table = TextTable::default();
    table.push("stack", 0, rows.iter().map(|one| name(one)).collect());
    // Columns that compare come first, where even a narrow page has room.
    if rows.iter().any(|one| one.ratio.is_some()) {
        let cells = |cell: &dyn Fn(&RatioBeside) -> String| {
            rows.iter().map(|one| one.ratio.as_ref().map_or_else(String::new, cell)).collect()
        };
        table.push("published %", 1, cells(&ratio));
        table.push("measured %", 0, cells(&|one| share_of_baseline(&one.measured).cell()));
        table.push("verdict", 0, cells(&|one| one.agreement.word().to_owned()));
    }
    table.push("published", 2, rows.iter().map(|one| printed_figure(one)).collect());
    table.push(
        "measured",
        3,
        rows.iter().map(|one| Shown::from_figure(&one.measured).cell()).collect(),
    );
    table
}

fn name(one: &PublishedFinding) -> String {
    let baseline = if one.against.is_none() { " *" } else { "" };
    let emulated = if one.emulated.is_some() { " ~" } else { "" };
    format!("{}{baseline}{emulated}", one.stack)
}

/// Returns the figure as it was printed; `-` if only its share was published, which is in its own
/// column.
fn printed_figure(one: &PublishedFinding) -> String {
    match one.published {
        MeasuredFigure::Known { .. } => one.printed.clone(),
        _ => "-".to_owned(),
    }
}

/// Returns the published ratio, `94.0 ? %`, which has no interval; `< 0.1 %` if only an upper bound
/// was published.
fn ratio(one: &RatioBeside) -> String {
    let shown = share_of_baseline(&one.published);
    match (one.rounding, shown.digits()) {
        (Some([0.0, _]), Some(digits)) => format!("< {} %", digits.value),
        _ => shown.cell(),
    }
}
