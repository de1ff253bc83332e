//! Ranges that sentences give of a topic (`92 % to 94 %`): their ends against the linked cells of a table, cut off (N4) or rounded twice (N5).

use super::scope;
use crate::finding::{Finding, Severity, Slip};
use crate::link::{Link, Why};
use crate::number::{Quantity, Unit};
use crate::prose::{Clause, topic};
use crate::rule::table::like;
use crate::rule::{Evidence, Sink};

/// Tells what the ends of ranges are; of T1.
pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    let ranges = evidence.clauses.iter().filter_map(|clause| Some((clause, range(evidence, clause)?)));
    for (clause, [low, high]) in ranges.take(MOST) {
        let cells = cells(evidence, clause, &low, &high);
        let by =
            |one: &&&Link, other: &&&Link| one.derived.figure.value.total_cmp(&other.derived.figure.value);
        let (Some(least), Some(most)) = (cells.iter().min_by(by), cells.iter().max_by(by)) else { continue };
        end(evidence, &low, least, sink);
        end(evidence, &high, most, sink);
    }
}

/// So many ranges are looked at.
const MOST: usize = 200;

/// The two ends of `92% ~ 94%`, with nothing but a sign between them.
fn range(evidence: &Evidence, clause: &Clause) -> Option<[Quantity; 2]> {
    let percents: Vec<Quantity> = clause.percents().copied().collect();
    let [low, high] = percents.as_slice() else { return None };
    let (from, to) = (low.figure.spot.end as usize, high.figure.spot.start as usize);
    let between = evidence.page.line(clause.line).get(from..to)?.trim();
    let sign = ["~", "～", "-", "–", "—", "to", "至", "到", "…", "до"].contains(&between);
    (sign && low.figure.value < high.figure.value).then_some([*low, *high])
}

/// Whether a figure is a cell's, rounded or cut off to its digits.
fn is_of(figure: &Quantity, cell: &Link) -> bool {
    let digit = 10f64.powi(-i32::from(figure.decimals));
    let off = cell.derived.figure.value - figure.figure.value;
    off.abs() <= 0.5 * digit + 1e-9 || (0.0..digit).contains(&off)
}

/// The shares of one pair of systems that a range is of: of its topic, in tables before it, the least and the most of which are its ends. None
/// where two pairs would do.
fn cells<'a>(evidence: &Evidence<'a>, clause: &Clause, low: &Quantity, high: &Quantity) -> Vec<&'a Link> {
    let topics = scope(evidence.page, clause);
    let mut pairs: Vec<(&[String; 2], Vec<&Link>)> = Vec::new();
    for link in evidence.links.iter().filter(|link| {
        let about = topic(&link.of);
        link.derived.unit == Unit::Percent
            && link.why != Why::Told
            && link.derived.figure.spot.index() < clause.line
            && topics.iter().any(|topic| !topic.is_empty() && topic.covers(&about))
    }) {
        match pairs.iter().position(|(names, _)| **names == link.names) {
            Some(at) => pairs[at].1.push(link),
            None if pairs.len() < 50 => pairs.push((&link.names, vec![link])),
            None => {}
        }
    }
    let fits = |links: &Vec<&Link>| {
        let by =
            |one: &&&Link, other: &&&Link| one.derived.figure.value.total_cmp(&other.derived.figure.value);
        let ends = (links.iter().min_by(by), links.iter().max_by(by));
        links.len() >= 2
            && matches!(ends, (Some(least), Some(most)) if is_of(low, least) && is_of(high, most))
    };
    let mut fitting = pairs.into_iter().map(|(_, links)| links).filter(fits);
    fitting.next().filter(|_| fitting.next().is_none()).unwrap_or_default()
}

fn end(evidence: &Evidence, figure: &Quantity, cell: &Link, sink: &mut Sink) {
    let printed = evidence.page.quote(figure.figure.spot);
    let of = evidence.page.quote(cell.derived.figure.spot);
    let digit = 10f64.powi(-i32::from(figure.decimals));
    let rounded = (cell.derived.figure.value - figure.figure.value).abs() <= 0.5 * digit + 1e-9;
    let finer = cell.derived.decimals > figure.decimals;
    if finer && !rounded {
        let value = like(printed, figure, cell.derived.figure.value);
        let message = format!("{printed} is cut off, not rounded: the table has {of}");
        sink.finds(
            Finding::new("N4", Severity::Cosmetic, figure.figure.spot, message)
                .recomputed(value)
                .slip(Slip::Truncated)
                .against([cell.derived.figure.spot]),
        );
        return;
    }
    let operands = [&cell.numerator, &cell.denominator].map(|operand| sink.meant(&operand.figure));
    let Some(exact) = cell.form.of(operands[0], operands[1], cell.derived.unit) else { return };
    if finer && rounded && !exact.meets(figure.interval()) {
        let value = like(printed, figure, exact.middle());
        let message = format!("{printed} is rounded from {of}, which was rounded before: it is {value}");
        sink.finds(
            Finding::new("N5", Severity::Cosmetic, figure.figure.spot, message)
                .recomputed(value)
                .slip(Slip::RoundedTwice)
                .against([cell.derived.figure.spot]),
        );
        return;
    }
    sink.holds("T1", &figure.figure);
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn page(sentence: &str) -> String {
        format!(
            "| load | host | guest | guest / host |\n|---|---|---|---|\n| random read | 80000 | 73560 | 91.95% |\n| random write | 60000 | 56400 | 94.00% |\n\
             | random mix read | 70000 | 65100 | 93.00% |\n| random mix write | 50000 | 46250 | 92.50% |\n\n{sentence}\n"
        )
    }

    #[test]
    fn ends_of_ranges_are_rounded() {
        for (sentence, rule, count) in [
            ("Random I/O of the guest reaches 92% ~ 94%.", "N4", 0),
            ("Random I/O of the guest reaches 91% ~ 94%.", "N4", 1),
            ("Random I/O of the guest reaches 80% ~ 94%.", "N4", 0),
            ("Sequential I/O of the guest reaches 91% ~ 94%.", "N4", 0),
        ] {
            assert_eq!(found(&page(sentence), rule).len(), count, "{sentence}");
        }
    }

    #[test]
    fn ends_that_were_rounded_before_are_told() {
        let page =
            page("Random I/O of the guest reaches 92% ~ 94%.").replace("73560 | 91.95%", "73196 | 91.5%");
        assert_eq!(found(&page, "N5").len(), 1, "91.495 is 91");
    }
}
