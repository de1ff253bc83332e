//! Ratios that sentences and lists restate of a table: `QPS up 12 %` of the row `QPS`, `56 % of the host (13.2 Gbit/s)` of the row that has
//! 13.2 Gbit/s. The row's own ratio is proven before; what is said of it has the same two ends.

use super::changes::{Sentence, THAN, Tie, is_glue, meant, readings, tells, unmarked};
use super::sentences::hedged;
use super::words::{BASE, LIMIT, MOST, OF_OTHER_THINGS, OF_PERFORMANCE, SETTINGS, USE, VERSUS, says};
use super::{Ends, Link, Why, is_ratio, mentions};
use crate::number::{Hedge, Quantity, Unit};
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
    for of_sentence in clauses.chunk_by(|one, other| one.line == other.line && one.sentence == other.sentence)
    {
        let line = unmarked(page.line(of_sentence[0].line));
        let sentence = Sentence { page, line: &line, bytes: of_sentence[0].sentence.clone() };
        let figures: Vec<&Quantity> = of_sentence.iter().flat_map(|clause| &clause.figures).collect();
        let row = match figures.as_slice() {
            [one, other] if is_ratio(one) => {
                by_value(&sentence, one, other, tables, &rows).map(|row| (*one, row))
            }
            [one, other] if is_ratio(other) => {
                by_value(&sentence, other, one, tables, &rows).map(|row| (*other, row))
            }
            _ => None,
        };
        let by_label = || of_sentence.iter().filter_map(|clause| by_label(&sentence, clause, &rows));
        let found: Vec<(&Quantity, &Link)> = row.map_or_else(|| by_label().collect(), |row| vec![row]);
        links.extend(
            found.into_iter().map(|(derived, row)| restated(derived, row, &sentence.around(derived))),
        );
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

/// The row that a sentence names by one of its figures: the only one of the page's tables that rounds to it.
fn by_value<'a>(
    sentence: &Sentence,
    derived: &Quantity,
    value: &Quantity,
    tables: &[Table],
    rows: &[&'a Link],
) -> Option<&'a Link> {
    let around = sentence.around(derived);
    let compares = (tells(&around) || says(&around, BASE | OF_PERFORMANCE))
        && !says(&around, OF_OTHER_THINGS | USE | SETTINGS | LIMIT | MOST);
    let precise =
        value.unit != Unit::Bytes && !is_ratio(value) && value.interval().high < 1.06 * value.interval().low;
    let cells = tables.iter().flat_map(|table| &table.rows).flat_map(|row| row.cells.iter().flatten());
    let figures = cells.flat_map(|cell| cell.figure.iter().chain(&cell.more).chain(cell.share.as_deref()));
    let mut same = figures.filter(|one| one.unit == value.unit && value.interval().has(one.figure.value));
    let (cell, None) = (same.next().filter(|_| compares && precise)?, same.next()) else { return None };
    let row = only(rows.iter().filter(|row| row.derived.figure.spot.line == cell.figure.spot.line))?;
    // `vs the old one` is of that base only.
    let behind = sentence.behind(derived);
    let of_another = says(behind, VERSUS) || THAN.iter().any(|than| behind.contains(than));
    (!of_another || mentions(behind, &row.names[1], &row.names[0])).then_some(row)
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

    const TABLE: &str = "| setup | throughput | vs bare metal |\n|---|---|---|\n| bare metal | 23.5 Gbit/s | 100 % |\n| vhost | 13.2 Gbit/s | 56.2 % |\n\
                         | emulated | 10.6 Gbit/s | 45.1 % |\n| slirp | 9.60 Gbit/s | 40.9 % |\n\n";
    const METRICS: &str = "| metric | old | new | change |\n|---|---|---|---|\n| QPS | 89,100 | 100,128 | +12.38% |\n| Mean latency (ms) | 35.87 | 31.92 | -11.01% |\n\
                           | P95 latency (ms) | 58.92 | 51.02 | -13.41% |\n\n";

    fn recomputed(page: &str) -> Vec<String> {
        found(page, "T1").iter().map(|one| one.recomputed.clone()).collect()
    }

    #[test]
    fn what_is_said_of_a_row_is_its_ratio() {
        for (table, sentence, meant) in [
            (TABLE, "- **vhost** achieves 96% of bare metal performance (13.2 Gbit/s)", "56%"),
            (TABLE, "- Emulation does 10.6 Gbit/s (a 15% reduction vs bare metal)", "55%"),
            (METRICS, "- QPS up 18.38%.", "12.38%"),
            (METRICS, "- P95 latency reduced by 43.41%", "13.41%"),
        ] {
            assert_eq!(recomputed(&format!("{table}{sentence}\n")), [meant], "{sentence}");
            let right = sentence
                .replace("96%", "56%")
                .replace("15%", "55%")
                .replace("18.38", "12.38")
                .replace("43.41", "13.41");
            assert_eq!(recomputed(&format!("{table}{right}\n")), [""; 0], "{right}");
        }
    }

    #[test]
    fn what_may_be_of_something_else_is_let_be() {
        for (table, sentence) in [
            (TABLE, "- vhost does 13.2 Gbit/s at 35% less CPU"),
            (TABLE, "- vhost does 13.2 Gbit/s, a 15% reduction vs last year"),
            (TABLE, "- vhost does 13.2 Gbit/s, 95% of the link"),
            (TABLE, "- another does 14.2 Gbit/s, 15% of bare metal performance"),
            (METRICS, "- QPS of the writes up 18.38%."),
            (METRICS, "- TPS up 18.38%."),
        ] {
            assert_eq!(recomputed(&format!("{table}{sentence}\n")), [""; 0], "{sentence}");
        }
    }
}
