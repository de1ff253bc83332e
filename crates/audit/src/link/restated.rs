//! Ratios that sentences and lists restate of a table: `QPS up 12 %` of the row `QPS`. The row's own ratio is proven before; what is said
//! of it has the same two ends.

use super::changes::{Sentence, Tie, is_glue, meant, readings, tells, unmarked};
use super::sentences::hedged;
use super::{Ends, Link, Why, is_ratio};
use crate::number::{Hedge, Quantity};
use crate::page::Page;
use crate::prose::{Clause, topic};
use crate::table::Table;
use rustc_hash::FxHashMap;

/// A label is no longer, nor what stands between it and its ratio.
const LONGEST: usize = 40;

/// The links of a page's sentences with rows whose ratios are known.
pub(super) fn links(page: &Page, clauses: &[Clause], tables: &[Table], known: &[Link]) -> Vec<Link> {
    let in_table = |link: &&Link| {
        let line = link.derived.figure.spot.index();
        let table = tables[..tables.partition_point(|table| table.lines.start <= line)].last();
        matches!(link.why, Why::Held(_)) && link.holds() && table.is_some_and(|one| one.lines.contains(&line))
    };
    let mut rows: FxHashMap<String, Vec<&Link>> = FxHashMap::default();
    for link in known.iter().filter(in_table) {
        let label = link.of.rsplit_once(", ").map_or(link.of.as_str(), |(label, _)| label);
        rows.entry(bare(label)).or_default().push(link);
    }
    let mut links = Vec::new();
    for clause in clauses.iter().filter(|_| !rows.is_empty()) {
        let [derived] = clause.figures.as_slice() else { continue };
        if is_ratio(derived) && matches!(derived.hedge, Hedge::Plain | Hedge::About) {
            let line = unmarked(page.line(clause.line));
            let sentence = Sentence { page, line: &line, bytes: clause.sentence.clone() };
            let row = by_label(&sentence, clause, derived, &rows);
            links.extend(row.map(|row| restated(derived, row, &sentence.around(derived))));
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
fn by_label<'a>(
    sentence: &Sentence,
    clause: &Clause,
    derived: &Quantity,
    rows: &FxHashMap<String, Vec<&'a Link>>,
) -> Option<&'a Link> {
    let before = sentence.line.get(clause.bytes.start..derived.figure.spot.start as usize)?.to_lowercase();
    let before = before.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let compares =
        |rest: &str| rest.len() <= LONGEST && is_glue(rest) && tells(rest) && topic(rest).is_empty();
    let ends = before.char_indices().map(|(end, _)| end).skip(2).take(LONGEST);
    let named = ends.filter_map(|end| rows.get(&before[..end]).filter(|_| compares(&before[end..])));
    let named: Vec<&Link> = named.flatten().copied().collect();
    let lower = sentence.text().to_lowercase();
    let headed = |row: &&&Link| row.of.rsplit_once(", ").is_some_and(|(_, head)| lower.contains(&bare(head)));
    // Of several columns the sentence names the one that it is of.
    only(named.iter()).or_else(|| only(named.iter().filter(headed)))
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
