//! Columns that hang together by a product or a quotient and a constant that the page need not state: events over seconds, bandwidth over
//! rate at one block size, a score for each MHz, size over size. Only the rows tell it: where at least four of different figures agree to
//! their last digits, chance is out of the question, and a row that does not agree has a slip.

use crate::finding::{Finding, Severity};
use crate::link::grid::Grid;
use crate::link::words::{LEAST, MEAN, MEDIAN, MOST, SUM};
use crate::number::Quantity;
use crate::page::Page;
use crate::rule::table::like;
use crate::rule::{Evidence, Rule, Sink};

/// X35.
pub const POWERS: Rule = Rule {
    id: "X35",
    name: "columns that are product or quotient of each other are so in every row",
    severity: Severity::WrongFigure,
    holds: "where two or three columns give one constant (a * b / c, a / b) in all rows but one in six, within what their digits stand for, the \
            other rows give it too",
    silent: "unless at least four rows agree, whose figures differ enough that chance cannot make them agree; of rows of means and totals, and of \
             figures that another rule has judged",
    check: powers,
};

/// Rows that must agree.
const ROWS: usize = 4;
/// Bits by which their agreement must outweigh chance.
const ENOUGH: f64 = 16.0;
/// Columns that are tried with each other.
const COLUMNS: usize = 12;
/// How far a row must be off; less is of rounding on the way.
const OFF: f64 = 0.03;

/// A figure in logarithms, with how far its digits leave it open.
#[derive(Clone, Copy)]
struct Log {
    value: f64,
    open: f64,
}

impl Log {
    fn of(figure: &Quantity) -> Option<Log> {
        let (value, interval) = (figure.figure.value, figure.interval());
        let open = 0.75 * (interval.high - interval.low) / value;
        (value > 0.0 && open < 0.2).then(|| Log { value: value.ln(), open })
    }
}

/// A relation that was taken: columns with their powers, and the constant.
struct Relation {
    columns: Vec<(usize, f64)>,
    constant: f64,
    held: Vec<usize>,
    missed: Vec<usize>,
    score: f64,
}

fn powers(evidence: &Evidence, sink: &mut Sink) {
    for grid in evidence.grids.iter().filter(|grid| grid.cells.len() >= ROWS && !grid.is_text) {
        let mut relations = relations(grid);
        relations.sort_by(|one, other| other.score.total_cmp(&one.score));
        // The best of each column; what it bears out needs no other.
        let mut taken: Vec<usize> = Vec::new();
        for relation in relations {
            if relation.columns.iter().all(|(column, _)| taken.contains(column)) {
                continue;
            }
            taken.extend(relation.columns.iter().map(|(column, _)| *column));
            judge(evidence.page, grid, &relation, sink);
        }
    }
}

fn relations(grid: &Grid) -> Vec<Relation> {
    let logs = |column: &usize| grid.column(*column).map(|one| one.and_then(Log::of)).collect();
    let numbers = |column: &usize| grid.column(*column).flatten().count() >= ROWS;
    let columns: Vec<usize> = (0..grid.heads.len()).filter(numbers).take(COLUMNS).collect();
    let of_many = |row: &usize| grid.label_lists[*row] & (MEAN | SUM | MEDIAN | MOST | LEAST) != 0;
    let count = columns.len();
    let mut search = Search {
        rows: (0..grid.cells.len()).filter(|row| !of_many(row)).collect(),
        logs: columns.iter().map(logs).collect(),
        // All pairs, and all threes in three ways.
        tried: ((count * count.saturating_sub(1).pow(2) / 2).max(1) as f64).log2(),
        sums: Vec::new(),
        values: Vec::new(),
    };
    let mut found = Vec::new();
    for one in 0..count {
        for other in one + 1..count {
            found.extend(search.relation(&[(one, 1.0), (other, -1.0)]));
            for third in other + 1..count {
                for signs in [[1.0, 1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, 1.0, 1.0]] {
                    found.extend(search.relation(&[(one, signs[0]), (other, signs[1]), (third, signs[2])]));
                }
            }
        }
    }
    found.iter_mut().flat_map(|relation| &mut relation.columns).for_each(|(at, _)| *at = columns[*at]);
    found
}

/// How many rows may miss where so many hold.
fn most_missed(held: usize) -> usize {
    (held / 6).max(1)
}

/// What all tries of a grid share.
struct Search {
    rows: Vec<usize>,
    /// Of each column all rows.
    logs: Vec<Vec<Option<Log>>>,
    /// Bits of chance in so many tries.
    tried: f64,
    /// What the columns of one try give in each row, and the same in order: hundreds of tries use them again.
    sums: Vec<(usize, Log)>,
    values: Vec<f64>,
}

impl Search {
    /// The relation of columns in these powers.
    fn relation(&mut self, powers: &[(usize, f64)]) -> Option<Relation> {
        let Search { rows, logs, sums, values, tried } = self;
        let sum = |row: &usize| {
            let mut sum = Log { value: 0.0, open: 0.0 };
            for (at, power) in powers {
                let log = logs[*at][*row]?;
                sum = Log { value: sum.value + power * log.value, open: sum.open + log.open };
            }
            Some((*row, sum))
        };
        let mut next = rows.iter().filter_map(sum);
        let most = most_missed(rows.len());
        sums.clear();
        // More than half of the first rows hold, and so agree with each other: most tries end here.
        sums.extend(next.by_ref().take(2 * most + 1));
        let agree = |(_, one): &(usize, Log), (_, other): &(usize, Log)| {
            (one.value - other.value).abs() <= (one.open + other.open) * (1.0 + 1e-9)
        };
        let borne_out = |one| sums.iter().filter(|other| agree(one, other)).count() > most;
        if sums.len() > 2 * most && !sums.iter().any(borne_out) {
            return None;
        }
        sums.extend(next);
        if sums.len() < ROWS {
            return None;
        }
        values.clear();
        values.extend(sums.iter().map(|(_, log)| log.value));
        let middle = values.len() / 2;
        let constant = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
        let fits = |log: &Log| (log.value - constant).abs() <= log.open;
        let missed = sums.iter().filter(|(_, log)| !fits(log)).count();
        let held = sums.len() - missed;
        // Two columns that measure nearly the same are no figure and what follows from it.
        let alike = powers.len() == 2 && constant.abs() < 0.1;
        if held < ROWS || missed > most_missed(held) || alike {
            return None;
        }
        let (held, missed): (Vec<&(usize, Log)>, Vec<&(usize, Log)>) =
            sums.iter().partition(|(_, log)| fits(log));
        // What chance has to hit is as wide as the row's figures are from those of the next row; a row that repeats another proves nothing.
        let bits = |(row, log): &&(usize, Log)| {
            let mut apart: Vec<f64> = powers.iter().map(|(at, _)| apart(*row, &logs[*at], &held)).collect();
            apart.sort_by(f64::total_cmp);
            // The widest column follows from the others, so that the next is what tells.
            let apart = apart[apart.len() - 2];
            (apart / (2.0 * log.open.max(1e-4))).log2().clamp(0.0, 10.0)
        };
        // One row gives the constant.
        let score = held.iter().skip(1).map(bits).sum::<f64>() - *tried;
        // A column that stands still is a constant by itself, and says nothing of the row where it does not.
        let moves = powers.iter().all(|(at, _)| moves(&logs[*at], &held));
        let rows = |rows: Vec<&(usize, Log)>| rows.into_iter().map(|(row, _)| *row).collect();
        let (columns, proven) = (powers.to_vec(), moves && score >= ENOUGH);
        proven.then(|| Relation { columns, constant, held: rows(held), missed: rows(missed), score })
    }
}

/// How far the figure of a row is from the nearest of the other rows, in logarithms.
fn apart(row: usize, logs: &[Option<Log>], rows: &[&(usize, Log)]) -> f64 {
    let others = rows.iter().filter(|(other, _)| *other != row).filter_map(|(other, _)| logs[*other]);
    let Some(own) = logs[row] else { return 0.0 };
    others.map(|other| (other.value - own.value).abs()).fold(f64::MAX, f64::min)
}

/// Whether the column has another figure in one of the rows.
fn moves(logs: &[Option<Log>], rows: &[&(usize, Log)]) -> bool {
    let mut figures = rows.iter().filter_map(|(row, _)| logs[*row]).map(|log| log.value);
    figures.next().is_some_and(|first| figures.any(|other| (other - first).abs() > 1e-9))
}

fn judge(page: &Page, grid: &Grid, relation: &Relation, sink: &mut Sink) {
    let figures = |row: usize| relation.columns.iter().filter_map(move |(column, _)| grid.at(row, *column));
    for row in &relation.held {
        figures(*row).for_each(|figure| sink.holds(POWERS.id, &figure.figure));
    }
    for row in &relation.missed {
        let judged = figures(*row).any(|figure| sink.is_wrong(figure.figure.spot));
        if !judged {
            tell(page, grid, relation, *row, sink);
        }
    }
}

/// Reports the last figure of a row as what the others give: which of them is wrong the row does not tell.
fn tell(page: &Page, grid: &Grid, relation: &Relation, row: usize, sink: &mut Sink) {
    let Some(((column, power), others)) = relation.columns.split_last() else { return };
    let Some(last) = grid.at(row, *column) else { return };
    let others: Vec<(&Quantity, f64)> =
        others.iter().filter_map(|(at, power)| Some((grid.at(row, *at)?, *power))).collect();
    let sum: f64 = others.iter().map(|(figure, power)| power * figure.figure.value.ln()).sum();
    let value = ((relation.constant - sum) / power).exp();
    if (value / last.figure.value - 1.0).abs() < OFF {
        return;
    }
    let printed = page.quote(last.figure.spot);
    let given = like(printed, last, value);
    let quotes: Vec<&str> = others.iter().map(|(figure, _)| page.quote(figure.figure.spot)).collect();
    let count = (relation.held.len(), relation.held.len() + relation.missed.len());
    let message = format!(
        "{printed} and {} do not go together: {} of {} rows give one constant, by which it would be {given}; one of them is wrong",
        quotes.join(" and "),
        count.0,
        count.1
    );
    sink.finds(
        Finding::new(POWERS.id, Severity::WrongFigure, last.figure.spot, message)
            .recomputed(given)
            .by(format!("{} of the same row", quotes.join(", ")))
            .against(others.iter().map(|(figure, _)| figure.figure.spot)),
    );
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const TABLE: &str = "| machine | seconds | events | events/s |\n|---|---|---|---|\n| a | 10.0020 | 1493 | 149.27 |\n| b | 10.0037 | 1300 | 129.95 |\n\
                         | c | 12.5010 | 2211 | 176.87 |\n| d | 9.0044 | 988 | 109.72 |\n| e | 15.0120 | 3391 | 225.89 |\n";

    #[test]
    fn columns_hang_together_without_a_word_of_it() {
        assert_eq!(found(TABLE, "X35"), []);
        let told = found(&TABLE.replace("176.87", "116.87"), "X35");
        assert!(told.len() == 1 && told[0].recomputed.starts_with("176.8"), "{told:#?}");
        assert_eq!(found(&TABLE.replace("| 1300 |", "| 1800 |"), "X35").len(), 1);
        let three = TABLE.lines().take(5).collect::<Vec<_>>().join("\n");
        assert_eq!(found(&three.replace("176.87", "116.87"), "X35"), [], "three rows are too few");
        let other = TABLE.replace("149.27", "151.3").replace("129.95", "140.1").replace("109.72", "99.0");
        assert_eq!(found(&other, "X35"), [], "nothing hangs together");
    }
}
