//! Sums, means, medians and extremes of rows and columns: T5.

use super::parts::{Made, What};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::link::grid::{Grid, numbered};
use crate::link::near;
use crate::link::words::{LEAST, List, MEAN, MEDIAN, MOST, SUM, is};
use crate::number::{Quantity, Unit};
use crate::page::Page;
use crate::rule::table::like;

/// What a label says of its figures: `Total`, `Average (5 runs)`.
fn said(label: &str) -> Option<What> {
    const NAMES: [(What, List); 5] = [
        (What::Sum, SUM),
        (What::Mean, MEAN),
        (What::Median, MEDIAN),
        (What::Most, MOST),
        (What::Least, LEAST),
    ];
    let bare = label.split(['(', '（', '[']).next().unwrap_or(label);
    let lower = bare.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '.').to_lowercase();
    let whole = NAMES.iter().find(|(_, list)| is(&lower, *list));
    // `Average I/O speed` of `I/O speed (1st run)`; of other words the parts must have them too.
    let part = || {
        let (first, _) = lower.split_once(' ')?;
        NAMES.iter().take(2).find(|(_, list)| is(first, *list))
    };
    whole.or_else(part).map(|(what, _)| *what)
}

/// Whether an aggregate is of what its parts are called, where it says more than that it is one.
fn is_of(label: &str, parts: &[&str]) -> bool {
    let own = crate::link::parts(label);
    let rest: Vec<&String> = own.iter().skip(1).collect();
    let all: Vec<Vec<String>> = parts.iter().map(|part| crate::link::parts(part)).collect();
    rest.iter().all(|word| all.iter().all(|part| part.contains(word)))
}

/// Whether it is something else of its parts on purpose: the mean latency in a row of totals, the sum of errors in one of means.
fn is_another(made: &Made, what: What) -> bool {
    let other =
        What::ALL.iter().any(|other| *other != what && other.given(&made.parts).has(made.total.figure.value));
    let most = What::Most.given(&made.parts).high;
    other
        || (what == What::Sum
            && (made.total.unit == Unit::Nanoseconds || made.total.figure.value <= 1.05 * most))
}

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    for grid in evidence.grids {
        rows(evidence.page, grid, sink);
        columns(evidence.page, grid, sink);
    }
}

/// Which of several labels a range of parts ends before, and where it begins: parts are those since the last that is a sum itself; several
/// such labels in a row have the same parts, so many at most.
fn parts_of(kinds: &[Option<What>], at: usize) -> std::ops::Range<usize> {
    let end = (at.saturating_sub(MOST_LABELS)..at).rev().find(|one| kinds[*one].is_none());
    let end = end.map_or(0, |one| one + 1);
    let start = (0..end).rev().find(|one| kinds[*one].is_some()).map_or(0, |one| one + 1);
    start..end
}

/// Labels of sums, means and extremes in a row.
const MOST_LABELS: usize = 8;

fn rows(page: &Page, grid: &Grid, sink: &mut Sink) {
    let kinds: Vec<Option<What>> = grid.labels.iter().map(|label| said(label)).collect();
    for (at, kind) in kinds.iter().enumerate() {
        let Some(what) = kind else { continue };
        let range = parts_of(&kinds, at);
        let made = (0..grid.heads.len()).filter_map(|column| {
            let parts: Option<Vec<Quantity>> =
                range.clone().map(|row| grid.at(row, column).copied()).collect();
            Some(Made { total: *grid.at(at, column)?, parts: parts? })
        });
        let made: Vec<Made> = made.filter(Made::sound).collect();
        let labels = &grid.labels[range];
        if !is_of(grid.labels[at], labels) {
            continue;
        }
        judge(page, *what, &made, numbered(labels), sink);
    }
}

fn columns(page: &Page, grid: &Grid, sink: &mut Sink) {
    let kinds: Vec<Option<What>> = grid.heads.iter().map(|head| said(&head.text)).collect();
    for (at, kind) in kinds.iter().enumerate() {
        let Some(what) = kind else { continue };
        let range = parts_of(&kinds, at);
        let made = (0..grid.cells.rows()).filter(|row| said(grid.labels[*row]).is_none()).filter_map(|row| {
            let parts = range.clone().filter(|column| grid.heads[*column].slot == grid.heads[at].slot);
            let parts: Option<Vec<Quantity>> = parts.map(|column| grid.at(row, column).copied()).collect();
            Some(Made { total: *grid.at(row, at)?, parts: parts? })
        });
        let made: Vec<Made> = made.filter(Made::sound).collect();
        let heads: Vec<&str> = grid.heads[range].iter().map(|head| head.text.as_str()).collect();
        // Of a line only numbered parts are parts: `min: 0, max: 7, avg: 1` is another kind.
        if !is_of(&grid.heads[at].text, &heads) || grid.is_text && !numbered(&heads) {
            continue;
        }
        judge(page, *what, &made, numbered(&heads), sink);
    }
}

/// Digits that a figure must have for its aggregate to hold by more than chance.
const DIGITS: f64 = 100.0;

fn judge(page: &Page, what: What, made: &[Made], numbered: bool, sink: &mut Sink) {
    let held: Vec<&Made> = made.iter().filter(|one| one.holds(what)).collect();
    let exact = |one: &&Made| {
        let digits = one.total.figure.value / one.total.scale * 10f64.powi(one.total.decimals.into());
        matches!(what, What::Sum | What::Mean | What::Median) && digits >= DIGITS
    };
    let told = held.iter().any(exact);
    for one in held.iter().filter(|_| numbered || told || held.len() >= 2) {
        sink.holds("T5", &one.total.figure);
    }
    // A total of which more than one does not hold is made of other parts.
    let few = made.len() - held.len() <= (held.len() / 4).max(1);
    let adds = matches!(what, What::Sum | What::Mean);
    let proven = held.len() >= 2 || told || numbered && adds;
    let digits =
        |one: &Made| one.total.figure.value / one.total.scale * 10f64.powi(one.total.decimals.into());
    let slips = |one: &&Made| {
        let enough = !held.is_empty() || digits(one) >= 10.0 * DIGITS;
        adds && enough && near::of(&one.total, what.given(&one.parts))
    };
    // What is far from all of its parts is of another kind: `min: 1.9, avg: 2.7` behind counts.
    let near_parts = |one: &&Made| {
        let (least, most) = (What::Least.given(&one.parts).low, What::Most.given(&one.parts).high);
        what == What::Sum || (0.1 * least..=10.0 * most).contains(&one.total.figure.value)
    };
    let wrong = made.iter().filter(|one| few && !one.holds(what) && !is_another(one, what));
    for one in wrong.filter(near_parts) {
        if proven || slips(&one) {
            tell(page, what, one, sink);
        }
    }
}

/// Tells that a figure is not what its parts give.
fn tell(page: &Page, what: What, one: &Made, sink: &mut Sink) {
    let given = what.given(&one.parts);
    let exact: Vec<Quantity> = one
        .parts
        .iter()
        .map(|part| {
            let mut part = *part;
            (part.figure.low, part.figure.high) = (part.figure.value, part.figure.value);
            part
        })
        .collect();
    let printed = page.quote(one.total.figure.spot);
    let value = like(printed, &one.total, what.given(&exact).middle());
    let parts: Vec<&str> = one.parts.iter().take(12).map(|part| page.quote(part.figure.spot)).collect();
    let message = format!(
        "the {} of {} figures is printed as {printed}, but it is {value}",
        what.word(),
        one.parts.len()
    );
    sink.corrects(one.total.figure.spot, given, value.clone());
    sink.finds(
        Finding::new("T5", Severity::WrongFigure, one.total.figure.spot, message)
            .recomputed(value)
            .by(format!("{} of {}", what.word(), parts.join(", ")))
            .against(one.parts.iter().map(|part| part.figure.spot)),
    );
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const SUM: &str = "| VM | IOPS | MB/s |\n|---|---|---|\n| VM1 | 1000 | 4.1 |\n| VM2 | 1100 | 4.5 |\n| VM3 | 900 | 3.7 |\n| Total | 3000 | 12.3 |\n";

    #[test]
    fn sums_and_means_are_those_of_their_parts() {
        assert_eq!(found(SUM, "T5"), []);
        let told = found(&SUM.replace("3000", "3300"), "T5");
        assert!(told.len() == 1 && told[0].recomputed == "3000", "{told:#?}");
        let mean = SUM.replace("Total | 3000 | 12.3", "Average | 1000 | 4.1");
        assert_eq!(found(&mean, "T5"), []);
        assert_eq!(found(&mean.replace("Average | 1000", "Average | 1010"), "T5").len(), 1);
    }

    #[test]
    fn columns_too() {
        let runs = "| load | Run 1 | Run 2 | Run 3 | Average |\n|---|---|---|---|---|\n| read | 100 | 110 | 120 | 110 |\n| write | 50 | 51 | 52 | 51 |\n| mixed | 70 | 71 | 75 | 72 |\n";
        assert_eq!(found(runs, "T5"), []);
        assert_eq!(found(&runs.replace("75 | 72", "75 | 74"), "T5").len(), 1);
        let median = runs.replace("Average", "Median").replace("75 | 72", "75 | 71");
        assert_eq!(found(&median, "T5"), []);
    }

    #[test]
    fn what_may_be_of_something_else_is_not_told() {
        let other = "| drive | IOPS |\n|---|---|\n| A100 SSD | 1000 |\n| B7 | 1100 |\n| Total | 2500 |\n";
        assert_eq!(found(other, "T5"), [], "a third may be in it");
        let shares = "| part | share |\n|---|---|\n| VM1 | 40% |\n| VM2 | 50% |\n| Total | 95% |\n";
        assert_eq!(found(shares, "T5"), []);
        let latency = SUM
            .replace("MB/s |", "MB/s | lat (ms) |")
            .replace("4.1 |", "4.1 | 1.2 |")
            .replace("4.5 |", "4.5 | 1.5 |");
        let latency = latency
            .replace("3.7 |", "3.7 | 1.1 |")
            .replace("12.3 |", "12.3 | 1.3 |")
            .replace("|---|---|---|", "|---|---|---|---|");
        assert_eq!(found(&latency, "T5"), [], "a total has no sum of latencies");
    }
}
