//! Sums, means, medians and extremes of rows and columns: T5.

use super::parts::{Made, What};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::link::grid::{Grid, numbered};
use crate::link::near;
use crate::link::words::{CHANGE, GAIN, LEAST, LOSS, List, MEAN, MEDIAN, MOST, SUM, is};
use crate::number::{Figure, Quantity, Unit};
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
    let made: Vec<Made> = evidence.grids.iter().filter_map(|grid| told_below(evidence, grid)).collect();
    // One may be of anything.
    if made.iter().filter(|one| one.holds(What::Mean)).count() >= 2 {
        judge(evidence.page, What::Mean, &made, false, sink);
    }
}

/// The mean of a table's changes as the text right below has it: `Reads are 1.79 % slower`.
fn told_below(evidence: &Evidence, grid: &Grid) -> Option<Made> {
    let is_change = |at: &usize| {
        grid.heads[*at].lists & (CHANGE | GAIN | LOSS) != 0
            && grid.column(*at).all(|one| one.is_some_and(|one| one.unit == Unit::Percent))
    };
    let mut columns = (0..grid.heads.len()).filter(is_change);
    let (column, None) = (columns.next()?, columns.next()) else { return None };
    let last = *grid.lines.last().filter(|_| !grid.is_text)?;
    let from = evidence.clauses.partition_point(|clause| clause.line <= last);
    let line = evidence.clauses.get(from)?.line;
    let clauses = evidence.clauses[from..].iter().take_while(|clause| clause.line == line);
    let mut told = clauses.flat_map(|clause| &clause.figures).filter(|one| one.unit == Unit::Percent);
    let (total, None) = (*told.next().filter(|_| line <= last + 2)?, told.next()) else { return None };
    // Cut off is no slip.
    let total = Quantity {
        figure: Figure { high: 2.0 * total.figure.high - total.figure.value, ..total.figure },
        ..total
    };
    let mut parts: Vec<Quantity> = grid.column(column).flatten().copied().collect();
    // `1.79 % less` of changes that are below nothing.
    if What::Mean.given(&parts).high < 0.0 && total.figure.value > 0.0 {
        for Figure { value, low, high, .. } in parts.iter_mut().map(|one| &mut one.figure) {
            (*value, *low, *high) = (-*value, -*high, -*low);
        }
    }
    Some(Made { total, parts }).filter(|made| made.parts.len() >= 3)
}

/// Which of several labels a range of parts ends before, and where it begins: parts are those since the last that is a sum itself; several
/// such labels in a row have the same parts.
fn parts_of(kinds: &[Option<What>], at: usize) -> std::ops::Range<usize> {
    let end = (0..at).rev().find(|one| kinds[*one].is_none()).map_or(0, |one| one + 1);
    let start = (0..end).rev().find(|one| kinds[*one].is_some()).map_or(0, |one| one + 1);
    start..end
}

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
        let unit = one.total.scale * 10f64.powi(-i32::from(one.total.decimals));
        matches!(what, What::Sum | What::Mean | What::Median) && one.total.figure.value / unit >= DIGITS
    };
    let told = held.iter().any(exact);
    for one in held.iter().filter(|_| numbered || told || held.len() >= 2) {
        sink.holds("T5", &one.total.figure);
    }
    let proven = (held.len() >= 2 || told) && 3 * held.len() >= 2 * made.len().saturating_sub(1)
        || numbered
            && matches!(what, What::Sum | What::Mean)
            && 2 * held.len() >= made.len().saturating_sub(1);
    let slips =
        |one: &&Made| matches!(what, What::Sum | What::Mean) && near::of(&one.total, what.given(&one.parts));
    // What is far from all of its parts is of another kind: `min: 1.9, avg: 2.7` behind counts.
    let near_parts = |one: &&Made| {
        let (least, most) = (What::Least.given(&one.parts).low, What::Most.given(&one.parts).high);
        what == What::Sum || (0.1 * least..=10.0 * most).contains(&one.total.figure.value)
    };
    for one in made.iter().filter(|one| !one.holds(what) && !is_another(one, what)).filter(near_parts) {
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
    fn text_below_tables_has_the_means_of_their_changes() {
        let part = |name: &str, changes: [&str; 3], told: &str| {
            let row = |(old, change): (u32, &str)| format!("| {old} | {} | {change} |\n", old + 7);
            let rows: String = [101, 211, 307].into_iter().zip(changes).map(row).collect();
            format!("## {name}\n\n| old | new | increase (%) |\n|---|---|---|\n{rows}\n{name} {told}.\n\n")
        };
        let page = |told: &str| {
            part("Reads", ["1.97", "-3.42", "-3.91"], "are slower by 1.79 %")
                + &part("Writes", ["16.59", "16.36", "15.56"], "are 16.17 % faster")
                + &part("Scans", ["2.11", "4.35", "3.08"], told)
        };
        assert_eq!(found(&page("are 3.18 % faster"), "T5"), []);
        let slip = found(&page("are 8.18 % faster"), "T5");
        assert!(slip.len() == 1 && slip[0].recomputed == "3.18 %", "{slip:#?}");
        let alone = part("Reads", ["1.97", "-3.42", "-3.91"], "are slower by 1.29 %");
        assert_eq!(found(&alone, "T5"), [], "one may be of anything");
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
