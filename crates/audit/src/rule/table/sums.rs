//! Sums, means, medians and extremes of rows and columns that a table has: T5. X10 where percentiles were averaged.

use super::like;
use crate::finding::{Finding, Severity};
use crate::link::{Made, What};
use crate::number::{Quantity, Unit};
use crate::page::Page;
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// T5.
pub const SUMS: Rule = Rule {
    id: "T5",
    name: "a sum, mean, median or extreme is that of its parts",
    severity: Severity::WrongFigure,
    holds: "a row or column that is called total, average, median, maximum or minimum has that of the figures before it, within what printed digits \
            stand for; a line that says a total right behind iperf3's streams has their sum",
    silent: "unless at least two others of that row (column) hold, or the parts are numbered units (VM1, run 2); of ratios, and of parts with other \
             units",
    check: sums,
};

/// X10.
pub const PERCENTILES: Rule = Rule {
    id: "X10",
    name: "percentiles are not averaged",
    severity: Severity::Ambiguous,
    holds: "no row called average has a figure in a column of percentiles: the mean of several p99 is the p99 of nothing",
    silent: "where the label says how (of histograms, merged)",
    check: percentiles,
};

/// What a label says of its figures: `Total`, `Average`.
pub(crate) fn said(label: &str) -> Option<What> {
    const NAMES: &[(What, &[&str])] = &[
        (
            What::Sum,
            &["total", "sum", "overall total", "итого", "сумма", "всего", "合计", "总计", "总和", "小计"],
        ),
        (
            What::Mean,
            &[
                "average",
                "avg",
                "avg.",
                "mean",
                "среднее",
                "в среднем",
                "среднее значение",
                "平均",
                "平均值",
                "均值",
            ],
        ),
        (What::Median, &["median", "медиана", "中位数"]),
        (What::Most, &["max", "maximum", "максимум", "最大", "最大值"]),
        (What::Least, &["min", "minimum", "минимум", "最小", "最小值"]),
    ];
    let lower = label.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != '.').to_lowercase();
    NAMES.iter().find(|(_, names)| names.contains(&lower.as_str())).map(|(what, _)| *what)
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

fn sums(evidence: &Evidence, sink: &mut Sink) {
    crate::rule::network::totals(evidence, sink);
    for table in evidence.tables {
        rows(evidence, table, sink);
        columns(evidence, table, sink);
    }
}

/// Rows and columns that are looked at: larger tables are data.
const MOST: usize = 500;

fn figure(table: &Table, row: usize, column: usize) -> Option<Quantity> {
    table.rows.get(row)?.cells.get(column)?.as_ref()?.figure
}

fn rows(evidence: &Evidence, table: &Table, sink: &mut Sink) {
    if table.rows.len() > MOST {
        return;
    }
    let kinds: Vec<Option<What>> = table.rows.iter().map(|row| said(&row.label)).collect();
    for (at, kind) in kinds.iter().enumerate() {
        let Some(what) = kind else { continue };
        // Parts are the rows since the last that is a sum itself; several such rows in a row have the same parts.
        let end = (0..at).rev().find(|row| kinds[*row].is_none()).map_or(0, |row| row + 1);
        let start = (0..end).rev().find(|row| kinds[*row].is_some()).map_or(0, |row| row + 1);
        let made = (0..table.columns.len()).filter_map(|column| {
            let parts: Option<Vec<Quantity>> = (start..end).map(|row| figure(table, row, column)).collect();
            Some(Made { total: figure(table, at, column)?, parts: parts? })
        });
        let made: Vec<Made> = made.filter(Made::sound).collect();
        let labels: Vec<&str> = table.rows[start..end].iter().map(|row| row.label.as_str()).collect();
        judge(evidence, *what, &made, numbered(&labels), sink);
    }
}

fn columns(evidence: &Evidence, table: &Table, sink: &mut Sink) {
    if table.columns.len() > MOST || table.rows.len() > MOST {
        return;
    }
    let kinds: Vec<Option<What>> = table.columns.iter().map(|column| said(&column.head)).collect();
    for (at, kind) in kinds.iter().enumerate() {
        let Some(what) = kind else { continue };
        let end = (0..at).rev().find(|column| kinds[*column].is_none()).map_or(0, |column| column + 1);
        let start = (0..end).rev().find(|column| kinds[*column].is_some()).map_or(0, |column| column + 1);
        let made =
            (0..table.rows.len()).filter(|row| said(&table.rows[*row].label).is_none()).filter_map(|row| {
                let parts: Option<Vec<Quantity>> =
                    (start..end).map(|column| figure(table, row, column)).collect();
                Some(Made { total: figure(table, row, at)?, parts: parts? })
            });
        let made: Vec<Made> = made.filter(Made::sound).collect();
        let heads: Vec<&str> = table.columns[start..end].iter().map(|column| column.head.as_str()).collect();
        judge(evidence, *what, &made, numbered(&heads), sink);
    }
}

/// Whether names are one but for their numbers.
fn numbered(names: &[&str]) -> bool {
    let bare = |name: &str| {
        let name = name.trim().to_lowercase();
        let end = name.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
        (end < name.len()).then(|| name[..end].trim_end_matches([' ', '#', '-', '_']).to_owned())
    };
    let first = names.first().and_then(|name| bare(name));
    first.is_some() && names.len() >= 2 && names.iter().all(|name| bare(name) == first)
}

fn judge(evidence: &Evidence, what: What, made: &[Made], numbered: bool, sink: &mut Sink) {
    let held = made.iter().filter(|one| one.holds(what)).count();
    for one in made.iter().filter(|one| one.holds(what)) {
        // One alone may be chance of an extreme; a sum is not.
        if numbered || held >= 2 || what == What::Sum {
            sink.holds("T5", &one.total.figure);
        }
    }
    let proven = (held >= 2 && 3 * held >= 2 * made.len())
        || (numbered && matches!(what, What::Sum | What::Mean) && 2 * held >= made.len().saturating_sub(1));
    if !proven {
        return;
    }
    for one in made.iter().filter(|one| !one.holds(what) && !is_another(one, what)) {
        tell(evidence.page, what, one, sink);
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

/// Whether a head is of a percentile: `p99`, `99th`, `P99.9 (us)`.
fn is_percentile(head: &str) -> bool {
    let lower = head.to_lowercase();
    lower.split([' ', '(', ')', ',', '_', '/']).any(|word| {
        let bare = word.strip_prefix('p').or(word.strip_suffix("th"));
        bare.and_then(|bare| bare.parse::<f64>().ok()).is_some_and(|share| share > 50.0 && share < 100.0)
    })
}

fn percentiles(evidence: &Evidence, sink: &mut Sink) {
    for table in evidence.tables {
        let rows = table.rows.iter().enumerate().filter(|(_, row)| said(&row.label) == Some(What::Mean));
        for (row, _) in rows.take(MOST).filter(|(row, _)| *row >= 2) {
            let column = (0..table.columns.len().min(MOST)).find(|column| {
                is_percentile(&table.columns[*column].head) && figure(table, row, *column).is_some()
            });
            let Some(total) = column.and_then(|column| figure(table, row, column)) else { continue };
            let message = "the mean of percentiles is a percentile of nothing: those of all together come from their histograms";
            sink.finds(Finding::new("X10", Severity::Ambiguous, total.figure.spot, message));
        }
    }
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

    #[test]
    fn means_of_percentiles_are_told() {
        let table = "| VM | IOPS | p99 (us) |\n|---|---|---|\n| VM1 | 1000 | 400 |\n| VM2 | 1100 | 500 |\n| Average | 1050 | 450 |\n";
        assert_eq!(found(table, "X10").len(), 1);
        assert_eq!(found(&table.replace("p99 (us)", "mean (us)"), "X10"), []);
        assert_eq!(
            found(&table.replace("Average", "Max").replace("1050", "1100").replace("450", "500"), "X10"),
            []
        );
    }
}
