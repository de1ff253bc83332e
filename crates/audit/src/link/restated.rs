//! Ratios that sentences and lists restate of a table: `QPS up 12 %` of the row `QPS`. The row's own ratio is proven before; what is said
//! of it has the same two ends.

use super::changes::{Sentence, Tie, is_glue, meant, readings, tells, unmarked};
use super::sentences::hedged;
use super::{Ends, Link, Why, is_ratio};
use crate::number::{Hedge, Quantity};
use crate::page::Page;
use crate::prose::{Clause, topic};
use crate::table::Table;

/// Between a label and its ratio stand no more bytes than these.
const LONGEST: usize = 40;

/// The links of a page's sentences with rows whose ratios are known.
pub(super) fn links(page: &Page, clauses: &[Clause], tables: &[Table], known: &[Link]) -> Vec<Link> {
    let in_table = |link: &&Link| {
        let line = link.derived.figure.spot.index();
        matches!(link.why, Why::Held(_)) && link.holds() && tables.iter().any(|one| one.lines.contains(&line))
    };
    let rows: Vec<&Link> = known.iter().filter(in_table).collect();
    let mut links = Vec::new();
    if rows.is_empty() {
        return links;
    }
    for clause in clauses {
        let line = unmarked(page.line(clause.line));
        let sentence = Sentence { page, line: &line, bytes: clause.sentence.clone() };
        if let Some((derived, row)) = by_label(&sentence, clause, &rows) {
            links.push(restated(derived, row, &sentence.around(derived)));
        }
    }
    links
}

/// The ratio of a row as a sentence has it: in whatever form, else in that of its words or of the table.
fn restated(derived: &Quantity, row: &Link, around: &str) -> Link {
    let derived = hedged(*derived);
    let read = readings(&[row.numerator, row.denominator], derived, Tie::Against);
    let found = read.into_iter().find(|link| link.holds());
    let found = found.or_else(|| meant(&[row.numerator, row.denominator], derived, Tie::Against, around));
    let ends = found.map_or(Ends { derived, ..row.ends }, |link| link.ends);
    Link { ends, why: Why::Told, ..row.clone() }
}

/// The row whose label a clause begins with, right before its only figure.
fn by_label<'c, 'a>(
    sentence: &Sentence,
    clause: &'c Clause,
    rows: &[&'a Link],
) -> Option<(&'c Quantity, &'a Link)> {
    let [derived] = clause.figures.as_slice() else { return None };
    let start = derived.figure.spot.start as usize;
    let before = sentence.line.get(clause.bytes.start..start)?.to_lowercase();
    let before = before.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let told = is_ratio(derived) && matches!(derived.hedge, Hedge::Plain | Hedge::About);
    let named = |row: &&&Link| {
        let label = bare(row.of.rsplit_once(", ").map_or(row.of.as_str(), |(label, _)| label));
        let rest = before.strip_prefix(label.as_str()).filter(|_| told && label.chars().count() >= 2);
        rest.is_some_and(|rest| {
            rest.len() <= LONGEST && is_glue(rest) && tells(rest) && topic(rest).is_empty()
        })
    };
    let lower = sentence.text().to_lowercase();
    let headed = |row: &&&Link| row.of.rsplit_once(", ").is_some_and(|(_, head)| lower.contains(&bare(head)));
    // Of several columns the sentence names the one that it is of.
    let row = only(rows.iter().filter(named)).or_else(|| only(rows.iter().filter(named).filter(headed)))?;
    Some((derived, row))
}

/// A label in lower case, without what stands in brackets.
fn bare(label: &str) -> String {
    label
        .split(['(', '（', '['])
        .next()
        .unwrap_or("")
        .trim_matches(|letter: char| !letter.is_alphanumeric())
        .to_lowercase()
}

fn only<'a: 'b, 'b>(mut rows: impl Iterator<Item = &'b &'a Link>) -> Option<&'a Link> {
    let row = rows.next()?;
    rows.next().is_none().then_some(*row)
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const METRICS: &str = "| metric | old | new | change |\n|---|---|---|---|\n| QPS | 89,100 | 100,128 | +12.38% |\n| Mean latency (ms) | 35.87 | 31.92 | -11.01% |\n\
                           | P95 latency (ms) | 58.92 | 51.02 | -13.41% |\n\n";

    fn recomputed(page: &str) -> Vec<String> {
        found(page, "T1").iter().map(|one| one.recomputed.clone()).collect()
    }

    #[test]
    fn what_is_said_of_a_row_is_its_ratio() {
        for (table, sentence, meant) in
            [(METRICS, "- QPS up 18.38%.", "12.38%"), (METRICS, "- P95 latency reduced by 43.41%", "13.41%")]
        {
            assert_eq!(recomputed(&format!("{table}{sentence}\n")), [meant], "{sentence}");
            let right = sentence.replace("18.38", "12.38").replace("43.41", "13.41");
            assert_eq!(recomputed(&format!("{table}{right}\n")), [""; 0], "{right}");
        }
    }

    #[test]
    fn what_may_be_of_something_else_is_let_be() {
        for (table, sentence) in [(METRICS, "- QPS of the writes up 18.38%."), (METRICS, "- TPS up 18.38%.")]
        {
            assert_eq!(recomputed(&format!("{table}{sentence}\n")), [""; 0], "{sentence}");
        }
    }
}
