//! N9: figures that can only be means of a few whole readings (Brown and Heathers' GRIM test), where the page does not say of how many.

use crate::finding::{Finding, Severity};
use crate::number::{Quantity, Unit};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// N9.
pub const RULE: Rule = Rule {
    id: "N9",
    name: "means say of how many runs they are",
    severity: Severity::Ambiguous,
    holds: "figures of tables from 100 on with decimals that are all multiples of 1/n, n from 2 to 8, are means of n readings, which the page tells",
    silent: "with fewer than six figures of a table or fewer than two that are not whole, and where a sentence tells a number of runs",
    check,
};

/// Fewer figures are multiples by chance.
const LEAST: usize = 6;
/// The most runs that are looked for: tenths are decimals like any other.
const MOST: u32 = 8;

fn check(evidence: &Evidence, sink: &mut Sink) {
    let found: Vec<(u32, Vec<Quantity>)> = evidence.tables.iter().filter_map(of_table).collect();
    let Some((runs, figures)) = found.first() else { return };
    if tells_runs(evidence) {
        return;
    }
    let fraction = figures.iter().find(|figure| !is_whole(figure)).unwrap_or(&figures[0]);
    let tables = found.iter().filter(|(other, _)| other == runs).count();
    let all: usize = found.iter().filter(|(other, _)| other == runs).map(|(_, figures)| figures.len()).sum();
    let message = format!(
        "all {all} figures of {tables} tables are multiples of 1/{runs}: they are means of {runs} whole readings, and the page does not say of how many \
         runs, nor how these differ"
    );
    sink.finds(Finding::new("N9", Severity::Ambiguous, fraction.figure.spot, message));
}

fn is_whole(figure: &Quantity) -> bool {
    (figure.figure.value / figure.scale).fract() == 0.0
}

/// The number of runs that the rates of a table are means of, where one below the resolution of its digits fits all.
fn of_table(table: &Table) -> Option<(u32, Vec<Quantity>)> {
    let cells = table.rows.iter().take(200).flat_map(|row| row.cells.iter().take(50).flatten());
    let rate = |figure: &Quantity| {
        let unit = matches!(
            figure.unit,
            Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::PerSecond | Unit::Nanoseconds
        );
        unit && figure.decimals >= 2 && figure.figure.value > 0.0
    };
    // Below a hundred, tools print a digit more: those tell nothing of whole readings.
    let large = |figure: &Quantity| figure.figure.value / figure.scale >= 100.0;
    let figures: Vec<Quantity> = cells.filter_map(|cell| cell.figure).filter(rate).filter(large).collect();
    let fractions = figures.iter().filter(|figure| !is_whole(figure)).count();
    if figures.len() < LEAST || fractions < 2 {
        return None;
    }
    (2..=MOST)
        .find(|runs| figures.iter().all(|figure| is_multiple(figure, *runs)))
        .map(|runs| (runs, figures))
}

/// Whether a multiple of 1/n rounds to a printed figure.
fn is_multiple(figure: &Quantity, runs: u32) -> bool {
    let value = figure.figure.value / figure.scale;
    let nearest = (value * f64::from(runs)).round() / f64::from(runs);
    let half = 0.5 * 10f64.powi(-i32::from(figure.decimals));
    (nearest - value).abs() <= half * (1.0 + 1e-6) + value.abs() * 1e-12
}

/// Whether a sentence tells a number of runs: `three runs`, `5 次`, `среднее из 3`.
fn tells_runs(evidence: &Evidence) -> bool {
    const RUNS: [&str; 16] = [
        "runs",
        "times",
        "repeat",
        "iterations",
        "passes",
        "average of",
        "mean of",
        "次",
        "遍",
        "轮",
        "раз",
        "прогон",
        "повтор",
        "запуск",
        "среднее из",
        "двукратн",
    ];
    const COUNTS: [&str; 16] = [
        "two",
        "three",
        "four",
        "five",
        "twice",
        "both",
        "each",
        "两",
        "三",
        "四",
        "五",
        "два",
        "две",
        "три",
        "четыре",
        "пять",
    ];
    let page = evidence.page;
    evidence.text_lines().filter(|line| page.line(*line).len() < 2000).any(|line| {
        let lower = page.line(line).to_lowercase();
        RUNS.iter().any(|word| {
            lower.match_indices(word).take(4).any(|(at, _)| {
                // The end of another word (`образом`), or the beginning of one that is longer (`разница`), counts nothing.
                let (left, right) = (&lower[..at], &lower[at + word.len()..]);
                let within = left
                    .chars()
                    .next_back()
                    .is_some_and(|letter| letter.is_alphabetic() && letter < '\u{3000}');
                let goes_on =
                    right.chars().take_while(|letter| letter.is_alphabetic() && *letter < '\u{3000}').count();
                if within || goes_on > 3 || (*word == "раз" && goes_on > 1) {
                    return false;
                }
                // A number within some words before or behind it.
                let before = left.chars().rev().take(16);
                let near: String = before
                    .collect::<Vec<_>>()
                    .into_iter()
                    .rev()
                    .chain(['\u{0}'])
                    .chain(right.chars().take(12))
                    .collect();
                near.contains(|letter: char| letter.is_ascii_digit())
                    || COUNTS.iter().any(|count| near.contains(count))
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn page(text: &str, last: &str) -> String {
        format!(
            "{text}\n\n| load | one | other |\n|---|---|---|\n| a | 1820.50 MB/s | 1826.50 MB/s |\n| b | 4518.00 MB/s | 4553.50 MB/s |\n| c | 148.50 MB/s | {last} MB/s |\n"
        )
    }

    #[test]
    fn means_of_two_are_told() {
        let told = found(&page("Results of the drives.", "172.50"), "N9");
        assert!(told.len() == 1 && told[0].message.contains("1/2"), "{told:#?}");
        assert_eq!(found(&page("Results of the drives.", "172.43"), "N9"), []);
        assert_eq!(found(&page("Results of the drives, of raid and in a raze.", "172.50"), "N9").len(), 1);
        assert_eq!(found(&page("Each test ran two times.", "172.50"), "N9"), [], "it says so");
        assert_eq!(found(&page("Results.", "172.50").replace(".50", ".00"), "N9"), [], "whole figures");
    }
}
