//! S6: effects that the page's own noise is as large as.

use super::spot;
use super::within::ERROR;
use crate::finding::{Finding, Severity};
use crate::number::{Hedge, Quantity, Unit};
use crate::prose::{Clause, Manner};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// S6.
pub const RULE: Rule = Rule {
    id: "S6",
    name: "an effect is larger than the noise",
    severity: Severity::Ambiguous,
    holds: "a loss or gain that a sentence states is more than the error that the page states; what is called the best is so by more than that error \
            somewhere; a loss right behind a table is one that its shares all show",
    silent: "where no error is stated and no share of the table is of the other sign; of losses that are hedged as small (below x %)",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    if let Some((least, most)) = bands(evidence) {
        stated(evidence, &least, sink);
        best(evidence, &most, sink);
    }
    signs(evidence, sink);
}

/// The smallest and the largest error of the measurement that a page states.
fn bands(evidence: &Evidence) -> Option<(Quantity, Quantity)> {
    let called = |clause: &&Clause| {
        let sentence = clause.sentence(evidence.page).to_lowercase();
        clause.manner == Manner::Within && ERROR.iter().any(|word| sentence.contains(word))
    };
    let mut bands: Vec<Quantity> = evidence
        .clauses
        .iter()
        .filter(called)
        .filter_map(|clause| clause.percents().next().copied())
        .filter(|band| band.figure.value > 0.0)
        .collect();
    bands.sort_by(|one, other| one.figure.value.total_cmp(&other.figure.value));
    Some((*bands.first()?, *bands.last()?))
}

/// The effect of a clause in percent.
fn effect(clause: &Clause) -> Option<Quantity> {
    let mut percents = clause.percents();
    let (first, more) = (percents.next()?, percents.next());
    let plain = !matches!(first.hedge, Hedge::Below | Hedge::Above | Hedge::PlusMinus);
    (more.is_none() && plain && matches!(clause.manner, Manner::Loss | Manner::Gain)).then_some(*first)
}

fn stated(evidence: &Evidence, band: &Quantity, sink: &mut Sink) {
    let measured = super::method::measures(evidence);
    for clause in evidence.clauses {
        // A poll has a margin of error, too.
        if clause.topic.is_empty() && !measured {
            continue;
        }
        let Some(effect) = effect(clause)
            .filter(|effect| effect.figure.high < band.figure.value && effect.figure.value > 0.0)
        else {
            continue;
        };
        let message = format!(
            "{} is less than the error of {} that line {} states: it may be none",
            evidence.page.quote(effect.figure.spot),
            evidence.page.quote(band.figure.spot),
            evidence.page.number(band.figure.spot.index())
        );
        sink.finds(
            Finding::new("S6", Severity::Ambiguous, spot(clause), message).against([band.figure.spot]),
        );
    }
}

const BEST: [&str; 14] = [
    "highest",
    "the best",
    "fastest",
    "best results",
    "outperforms",
    "самые высокие",
    "лучший результат",
    "лучшие результат",
    "самый быстрый",
    "быстрее всех",
    "最高",
    "最好",
    "最快",
    "最优",
];

/// Shares of a column, where the table has a column that is 100 % all the way down.
fn shares(table: &Table, column: usize) -> Option<Vec<Quantity>> {
    table
        .rows
        .iter()
        .map(|row| row.cells.get(column)?.as_ref()?.figure.filter(|figure| figure.unit == Unit::Percent))
        .collect()
}

fn best(evidence: &Evidence, band: &Quantity, sink: &mut Sink) {
    let superlatives = superlatives(evidence);
    if superlatives.is_empty() {
        return;
    }
    let sized = |table: &&Table| table.rows.len() >= 3 && table.columns.len() <= 50;
    for table in evidence.tables.iter().filter(sized).take(MOST) {
        let columns: Vec<Option<Vec<Quantity>>> =
            (0..table.columns.len()).map(|column| shares(table, column)).collect();
        let whole = |column: &Option<Vec<Quantity>>| {
            column.as_ref().is_some_and(|shares| shares.iter().all(|share| share.figure.value == 100.0))
        };
        let Some(base) = columns.iter().position(whole) else { continue };
        for (at, column) in columns.iter().enumerate().filter(|(at, _)| *at != base) {
            let Some(shares) = column else { continue };
            let close = |share: &Quantity| (share.figure.value - 100.0).abs() <= band.figure.value;
            if !shares.iter().all(close) {
                continue;
            }
            let names = [table.columns[base].head.clone(), table.columns[at].head.clone()];
            let calls =
                |line: &&usize| crate::link::mentions(evidence.page.line(**line), &names[0], &names[1]);
            let Some(line) = superlatives.iter().find(calls).copied() else { continue };
            let message = format!(
                "all {} shares of {} are within the error of {} that line {} states: line {} calls {} the best",
                shares.len(),
                names[1].trim(),
                evidence.page.quote(band.figure.spot),
                evidence.page.number(band.figure.spot.index()),
                evidence.page.number(line),
                names[0].trim()
            );
            sink.finds(
                Finding::new("S6", Severity::Ambiguous, shares[0].figure.spot, message)
                    .against([band.figure.spot]),
            );
        }
    }
}

/// Lines of sentences that call something the best.
fn superlatives(evidence: &Evidence) -> Vec<usize> {
    let page = evidence.page;
    let mut lines = Vec::new();
    for line in evidence.text_lines() {
        let text = page.line(line);
        if text.len() > 1000 || lines.len() >= MOST {
            continue;
        }
        let lower = text.to_lowercase();
        if BEST.iter().any(|word| lower.contains(word)) {
            lines.push(line);
        }
    }
    lines
}

/// So many tables are looked at.
const MOST: usize = 200;
/// Lines between a table and the sentence that is about it.
const NEAR: usize = 4;

/// A loss that some of the shares right before it do not show.
fn signs(evidence: &Evidence, sink: &mut Sink) {
    for clause in evidence.clauses.iter().filter(|clause| clause.manner == Manner::Loss) {
        let Some(effect) = effect(clause) else { continue };
        let behind = evidence.tables.partition_point(|table| table.lines.end <= clause.line);
        let before = behind.checked_sub(1).map(|at| &evidence.tables[at]);
        let Some(table) = before.filter(|table| table.lines.end + NEAR > clause.line) else { continue };
        let cells = table.rows.iter().flat_map(|row| row.cells.iter().flatten());
        let shares: Vec<Quantity> = cells
            .filter_map(|cell| cell.share.or(cell.figure))
            .filter(|share| share.unit == Unit::Percent)
            .collect();
        let others: Vec<f64> =
            shares.iter().map(|share| share.figure.value - 100.0).filter(|off| *off != 0.0).collect();
        let (less, more) = (others.iter().any(|off| *off < 0.0), others.iter().any(|off| *off > 0.0));
        let largest = others.iter().fold(0f64, |most, off| most.max(off.abs()));
        // A base, and all others close to it, on both sides.
        let has_base = shares.iter().any(|share| share.figure.value == 100.0);
        if !has_base || others.len() < 2 || !less || !more || largest > 2.0 * effect.figure.value.max(0.5) {
            continue;
        }
        let message = format!(
            "{} is within what chance does: of the {} shares of the table before it some are above 100 % and some below",
            evidence.page.quote(effect.figure.spot),
            others.len()
        );
        sink.finds(
            Finding::new("S6", Severity::Ambiguous, spot(clause), message)
                .against(shares.iter().map(|share| share.figure.spot)),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn effects_below_the_stated_error_are_told() {
        let page = |loss: &str| format!("The margin of error is 5%.\n\nThe guest's writes lose {loss}.\n");
        assert_eq!(found(&page("3 %"), "S6").len(), 1);
        assert_eq!(found(&page("12 %"), "S6"), []);
        assert_eq!(found(&page("less than 3 %"), "S6"), []);
        assert_eq!(found("The guest's writes lose 3 %.\n", "S6"), []);
        assert_eq!(
            found("The poll has a margin of error of 7 %.\n\nThe index lost 3 %.\n", "S6"),
            [],
            "nothing is measured"
        );
    }

    #[test]
    fn the_best_is_better_than_the_error() {
        let page = |last: &str| {
            format!(
                "The margin of error is 5%.\n\nLVM has the highest results.\n\n| load | LVM | mdadm |\n|---|---|---|\n| read | 100% | 97.1% |\n\
                 | write | 100% | 98.2% |\n| mixed | 100% | {last} |\n"
            )
        };
        assert_eq!(found(&page("96.3%"), "S6").len(), 1);
        assert_eq!(found(&page("86.3%"), "S6"), []);
        assert_eq!(found(&page("96.3%").replace("has the highest results", "is near mdadm"), "S6"), []);
    }

    #[test]
    fn shares_of_both_signs_show_no_loss() {
        let page = |share: &str| {
            format!(
                "| from | host | guest |\n|---|---|---|\n| host | 8.35 Gbps (100%) | 8.40 Gbps (101%) |\n| guest | 8.31 Gbps ({share}) | 8.33 Gbps (99.7%) |\n\nThe overhead is low (1% or so).\n"
            )
        };
        assert_eq!(found(&page("101%"), "S6").len(), 1);
        assert_eq!(found(&page("99.5%").replace("(101%)", "(99.6%)"), "S6"), []);
        assert_eq!(found(&page("88%"), "S6"), []);
    }
}
