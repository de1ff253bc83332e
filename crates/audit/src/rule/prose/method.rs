//! What a page does not say of its method: M1 repeats and spread, M2 the best of several, M3 preconditioning.

use crate::finding::{Finding, Severity};
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// M1: spread.
pub const SPREAD: Rule = Rule {
    id: "M1",
    name: "figures that are compared have a spread",
    severity: Severity::Ambiguous,
    holds: "a page that compares states how its figures spread over repeated runs",
    silent: "where nothing is compared or measured, and where a table has a spread (`+-`, stdev, a confidence interval)",
    check: spread,
};

/// M2: selection.
pub const SELECTION: Rule = Rule {
    id: "M2",
    name: "figures are not the best of several",
    severity: Severity::Ambiguous,
    holds: "no sentence says that the best of several runs was taken: a maximum is biased, the more runs the more",
    silent: "where no count of runs stands in the sentence",
    check: selection,
};

/// M3: preconditioning.
pub const PRECONDITIONING: Rule = Rule {
    id: "M3",
    name: "writes to a flash drive start from a steady state",
    severity: Severity::Ambiguous,
    holds: "a page that shows writes to a flash drive says how the drive was preconditioned",
    silent: "where no flash drive is named, nothing is written, or preconditioning, filling or steady state is spoken of",
    check: preconditioning,
};

/// Whether a page has one of these words outside its outputs, in lower case.
fn says(evidence: &Evidence, words: &[&str]) -> bool {
    prose_lines(evidence).any(|line| {
        let lower = evidence.page.line(line).to_lowercase();
        words.iter().any(|word| lower.contains(word))
    })
}

fn prose_lines<'a>(evidence: &'a Evidence) -> impl Iterator<Item = usize> + 'a {
    let mut next = evidence.outputs.iter().peekable();
    (0..evidence.page.len()).filter(move |line| {
        while next.peek().is_some_and(|output| output.lines.end <= *line) {
            next.next();
        }
        !next.peek().is_some_and(|output| output.lines.contains(line))
    })
}

/// Whether a figure is a rate or a time that somebody measured.
fn is_measured(figure: &Quantity) -> bool {
    use Unit::{BitsPerSecond, BytesPerSecond, Mwips, Nanoseconds, PerSecond};
    matches!(figure.unit, PerSecond | BytesPerSecond | BitsPerSecond | Mwips | Nanoseconds)
}

/// Whether a page shows anything that was measured.
fn measures(evidence: &Evidence) -> bool {
    let mut cells =
        evidence.tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten());
    !evidence.outputs.is_empty()
        || evidence.clauses.iter().flat_map(|clause| &clause.figures).any(is_measured)
        || cells.any(|cell| cell.figure.as_ref().is_some_and(is_measured))
}

/// The first line that has something to compare.
fn compared(evidence: &Evidence) -> Option<Spot> {
    let linked = evidence.links.first().map(|link| link.derived.figure.spot);
    let claimed = || {
        let results = evidence.clauses.iter().filter(|clause| {
            use crate::prose::Manner;
            matches!(clause.manner, Manner::Loss | Manner::Gain | Manner::Times)
        });
        let spots: Vec<Spot> = results.map(super::spot).collect();
        (spots.len() >= 2 && measures(evidence)).then(|| spots[0])
    };
    linked.or_else(claimed)
}

const SPREAD_WORDS: [&str; 14] = [
    "stdev",
    "std dev",
    "standard deviation",
    "confidence interval",
    "95% ci",
    "95 % ci",
    "interquartile",
    "标准差",
    "置信区间",
    "方差",
    "стандартное отклонение",
    "среднеквадрат",
    "доверительн",
    "error bars",
];

fn spread(evidence: &Evidence, sink: &mut Sink) {
    let Some(spot) = compared(evidence) else { return };
    let in_tables = evidence.tables.iter().any(|table| {
        let head = |text: &str| {
            let lower = text.to_lowercase();
            SPREAD_WORDS.iter().any(|word| lower.contains(word)) || lower.contains('±') || lower.contains('σ')
        };
        let cell =
            |line: usize| evidence.page.line(line).contains(['±']) || evidence.page.line(line).contains("+-");
        table.columns.iter().any(|column| head(&column.head)) || table.lines.clone().any(cell)
    });
    if in_tables || says(evidence, &SPREAD_WORDS) {
        return;
    }
    let message = "figures are compared without a word of how they spread over repeated runs: a difference may be chance";
    sink.finds(Finding::new("M1", Severity::Ambiguous, spot, message));
}

const BEST: [&str; 9] = [
    "best of",
    "best result of",
    "took the best",
    "highest of",
    "取最好",
    "取最高",
    "取最大",
    "лучший из",
    "лучшее из",
];

fn selection(evidence: &Evidence, sink: &mut Sink) {
    for line in prose_lines(evidence) {
        let text = evidence.page.line(line);
        let lower = text.to_lowercase();
        if text.len() < 2000 && BEST.iter().any(|word| lower.contains(word)) && counts(&lower) {
            let message = "the best of several runs is biased: the more runs, the better; the median or the mean with its spread is not";
            sink.finds(Finding::new("M2", Severity::Ambiguous, Spot::new(line, 0..text.len()), message));
        }
    }
}

/// Whether a sentence counts runs.
fn counts(lower: &str) -> bool {
    let words = [
        "two",
        "three",
        "four",
        "five",
        "ten",
        "several",
        "次",
        "两",
        "三",
        "五",
        "двух",
        "трёх",
        "трех",
        "пяти",
        "нескольк",
    ];
    lower.contains(|letter: char| letter.is_ascii_digit()) || words.iter().any(|word| lower.contains(word))
}

const STEADY_WORDS: [&str; 16] = [
    "precondition",
    "pre-condition",
    "steady state",
    "steady-state",
    "purge",
    "prefill",
    "pre-fill",
    "filled",
    "prepare virtual disk",
    "secure erase",
    "预处理",
    "稳态",
    "写满",
    "прогрев",
    "предварительн",
    "заполнен",
];

fn preconditioning(evidence: &Evidence, sink: &mut Sink) {
    let flash = says(evidence, &["ssd", "nvme", "flash", "固态"]);
    let write = evidence.outputs.iter().find_map(|output| {
        let written =
            output.said.readings().into_iter().find(|reading| reading.way == crate::import::Way::Write)?;
        Some(written.iops.or(written.bytes_per_second)?.spot)
    });
    let in_tables = || {
        let writes = |text: &str| crate::prose::topic(text).write;
        let rated = |figure: &Quantity| figure.unit == Unit::Bare || is_measured(figure);
        let measured =
            |cell: &crate::table::Cell| cell.figure.as_ref().is_some_and(rated).then_some(cell.spot);
        evidence.tables.iter().find_map(|table| {
            let of_rows =
                table.rows.iter().filter(|row| writes(&row.label)).flat_map(|row| row.cells.iter().flatten());
            let column = table.columns.iter().position(|column| writes(&column.head));
            let of_column = table.rows.iter().filter_map(|row| row.cells.get(column?)?.as_ref());
            of_rows.chain(of_column).find_map(measured)
        })
    };
    let Some(spot) = write.or_else(in_tables).filter(|_| flash) else { return };
    if says(evidence, &STEADY_WORDS) {
        return;
    }
    let message = "writes to a flash drive without a word of preconditioning: a fresh drive writes faster than it goes on to";
    sink.finds(Finding::new("M3", Severity::Ambiguous, spot, message));
}

#[cfg(test)]
mod tests;
