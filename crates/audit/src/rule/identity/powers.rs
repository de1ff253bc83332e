//! Columns that hang together by a product or a quotient and a constant that the page need not state: events over seconds, bandwidth over
//! rate at one block size, a score for each MHz, size over size. Only the rows tell it: where at least three of different figures agree to
//! their last digits, chance is out of the question, and a row that does not agree has a slip.

use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::link::grid::Grid;
use crate::link::near;
use crate::link::words::{LEAST, MEAN, MEDIAN, MOST, SUM};
use crate::number::{Interval, Quantity};
use crate::page::Page;
use crate::rule::table::like;

/// Rows that must agree.
const ROWS: usize = 3;
/// Bits by which their agreement must outweigh chance.
const ENOUGH: f64 = 12.0;
/// What a head that names the relation is worth: `events/s` beside `events`.
const NAMED: f64 = 8.0;
/// Columns that are tried with each other.
const COLUMNS: usize = 10;
/// How far a row must be off, as a share and in what its digits leave open; less is of rounding on the way.
const OFF: (f64, f64) = (0.01, 4.0);

/// How far off a row must be in a table of so many that hold, where its digits are too few to tell a slip.
const FAR: f64 = 0.2;
const MANY: usize = 6;

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

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    for grid in evidence.grids {
        of_grid(evidence.page, grid, sink);
        // Of a table whose systems stand side by side the rows hang together.
        if let Some(turned) = grid.turned().filter(|_| !grid.is_text) {
            of_grid(evidence.page, &turned, sink);
        }
    }
}

fn of_grid(page: &Page, grid: &Grid, sink: &mut Sink) {
    if grid.cells.rows() > ROWS {
        let mut relations = relations(grid);
        relations.sort_by(|one, other| other.score.total_cmp(&one.score));
        // The best of each column; what it bears out needs no other.
        let mut taken: Vec<usize> = Vec::new();
        for relation in relations {
            if relation.columns.iter().all(|(column, _)| taken.contains(column)) {
                continue;
            }
            taken.extend(relation.columns.iter().map(|(column, _)| *column));
            judge(page, grid, &relation, sink);
        }
    }
}

fn relations(grid: &Grid) -> Vec<Relation> {
    let logs = |column: &usize| grid.column(*column).map(|one| one.and_then(Log::of)).collect();
    let numbers = |column: &usize| grid.column(*column).flatten().count() > ROWS;
    let columns: Vec<usize> = (0..grid.heads.len()).filter(numbers).take(COLUMNS).collect();
    let of_many = |row: &usize| grid.label_lists[*row] & (MEAN | SUM | MEDIAN | MOST | LEAST) != 0;
    let count = columns.len();
    let mut search = Search {
        heads: columns.iter().map(|column| grid.heads[*column].text.to_lowercase()).collect(),
        rows: (0..grid.cells.rows()).filter(|row| !of_many(row)).collect(),
        logs: columns.iter().map(logs).collect(),
        // All pairs in two ways, and all threes in three.
        tried: ((count * count.saturating_sub(1) * count / 2).max(1) as f64).log2(),
        sums: Vec::new(),
        values: Vec::new(),
    };
    let mut found = Vec::new();
    for one in 0..count {
        for other in one + 1..count {
            found.extend(search.relation(&[(one, 1.0), (other, -1.0)]));
            found.extend(search.relation(&[(one, 1.0), (other, 1.0)]));
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
    heads: Vec<String>,
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
        let Search { heads, rows, logs, sums, values, tried } = self;
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
        if sums.len() <= ROWS {
            return None;
        }
        values.clear();
        values.extend(sums.iter().map(|(_, log)| log.value));
        let middle = values.len() / 2;
        let constant = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
        let fits = |log: &Log| (log.value - constant).abs() <= log.open;
        let (held, missed): (Vec<_>, Vec<_>) = sums.iter().partition(|(_, log)| fits(log));
        // Two columns that measure nearly the same are no figure and what follows from it.
        let alike = powers.len() == 2 && powers[1].1 < 0.0 && constant.abs() < 0.1;
        if held.len() < ROWS || missed.len() > most_missed(held.len()) || alike {
            return None;
        }
        // A column that stands still is a constant by itself, and says nothing of the row where it does not.
        if !powers.iter().all(|(at, _)| moves(&logs[*at], &held)) {
            return None;
        }
        // What chance has to hit is as wide as a column's figures lie apart, of the widest but one, since the widest follows from the others.
        let mut widths: Vec<f64> = powers.iter().map(|(at, _)| width(&logs[*at], &held)).collect();
        widths.sort_by(f64::total_cmp);
        let width = widths[widths.len() - 2];
        let bits = |(at, (row, log)): (usize, &&(usize, Log))| {
            let repeats = held[..at].iter().any(|(other, _)| repeats(logs, powers, *row, *other));
            let bits = (width / (2.0 * log.open.max(1e-4))).log2().clamp(0.0, 10.0);
            if repeats { 0.0 } else { bits }
        };
        // One row gives the constant.
        let which = missed.len() as f64 * (sums.len() as f64).log2();
        let named = if named(heads, powers) { NAMED } else { 0.0 };
        let score = held.iter().enumerate().skip(1).map(bits).sum::<f64>() + named - *tried - which;
        if score < ENOUGH {
            return None;
        }
        let far = |log: &Log| (log.value - constant).abs() > OFF.0.max(OFF.1 * log.open);
        let missed = missed.into_iter().filter(|(_, log)| far(log)).map(|(row, _)| *row).collect();
        let held = held.into_iter().map(|(row, _)| *row).collect();
        Some(Relation { columns: powers.to_vec(), constant, held, missed, score })
    }
}

/// Whether a head says that its column is one of the others over something: `events/s`, `Gflops/W`, `score per MHz`.
fn named(heads: &[String], powers: &[(usize, f64)]) -> bool {
    powers.iter().any(|(own, power)| {
        let name = &heads[*own];
        let Some((above, _)) = name.split_once('/').or_else(|| name.split_once(" per ")) else {
            return false;
        };
        let above = above.trim();
        powers.iter().any(|(at, other)| power != other && heads[*at].starts_with(above) && above.len() > 2)
    })
}

/// How far the figures of a column lie apart: their mean distance from the middle one, in logarithms.
fn width(logs: &[Option<Log>], rows: &[&(usize, Log)]) -> f64 {
    let mut values: Vec<f64> = rows.iter().filter_map(|(row, _)| logs[*row]).map(|log| log.value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values[values.len() / 2];
    values.iter().map(|value| (value - middle).abs()).sum::<f64>() / values.len() as f64
}

/// Whether a row has the figures of another: it proves nothing once more.
fn repeats(logs: &[Vec<Option<Log>>], powers: &[(usize, f64)], row: usize, other: usize) -> bool {
    powers.iter().all(|(at, _)| match (logs[*at][row], logs[*at][other]) {
        (Some(one), Some(other)) => (one.value - other.value).abs() < one.open.max(1e-3),
        _ => false,
    })
}

/// Whether the column has another figure in one of the rows.
fn moves(logs: &[Option<Log>], rows: &[&(usize, Log)]) -> bool {
    let mut figures = rows.iter().filter_map(|(row, _)| logs[*row]).map(|log| log.value);
    figures.next().is_some_and(|first| figures.any(|other| (other - first).abs() > 1e-9))
}

fn judge(page: &Page, grid: &Grid, relation: &Relation, sink: &mut Sink) {
    let figures = |row: usize| relation.columns.iter().filter_map(move |(column, _)| grid.at(row, *column));
    for row in &relation.held {
        figures(*row).for_each(|figure| sink.holds("X35", &figure.figure));
    }
    for row in &relation.missed {
        let judged = figures(*row).any(|figure| sink.is_wrong(figure.figure.spot));
        if !judged && is_slip(grid, relation, *row) {
            tell(page, grid, relation, *row, sink);
        }
    }
}

/// Whether one slip of the pen in one of the figures makes the row what it is: a load that reaches its limit also leaves the relation of
/// those below, but not to one digit.
fn is_slip(grid: &Grid, relation: &Relation, row: usize) -> bool {
    let terms: Vec<(&Quantity, f64)> =
        relation.columns.iter().filter_map(|(at, power)| Some((grid.at(row, *at)?, *power))).collect();
    let sum: f64 = terms.iter().map(|(figure, power)| power * figure.figure.value.ln()).sum();
    let open: f64 = terms.iter().filter_map(|(figure, _)| Log::of(figure)).map(|log| log.open).sum();
    // A slip cannot be seen in few digits; a long table shows it by how far off the row is.
    let far = (relation.constant - sum).abs() > FAR && relation.held.len() >= MANY;
    far || terms.iter().any(|(figure, power)| {
        let given = (figure.figure.value.ln() + (relation.constant - sum) / power).exp();
        near::of(figure, Interval::around(given, given * open))
    })
}

/// Reports the last figure of a row as what the others give: which of them is wrong the row does not tell.
fn tell(page: &Page, grid: &Grid, relation: &Relation, row: usize, sink: &mut Sink) {
    let Some(((column, power), others)) = relation.columns.split_last() else { return };
    let Some(last) = grid.at(row, *column) else { return };
    let others: Vec<(&Quantity, f64)> =
        others.iter().filter_map(|(at, power)| Some((grid.at(row, *at)?, *power))).collect();
    let sum: f64 = others.iter().map(|(figure, power)| power * figure.figure.value.ln()).sum();
    let value = ((relation.constant - sum) / power).exp();
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
        Finding::new("X35", Severity::WrongFigure, last.figure.spot, message)
            .recomputed(given)
            .by(format!("{} of the same row", quotes.join(", ")))
            .against(others.iter().map(|(figure, _)| figure.figure.spot)),
    );
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn three_rows_are_enough_where_a_head_names_the_relation() {
        let table = "| host | run time | events | events/s |\n|---|---|---|---|\n| a | 10.0020s | 1493 | 149.27 |\n| b | 10.0037s | 1300 | 129.95 |\n\
                     | c | 10.0087s | 1061 | 106.01 |\n| d | 10.0080s | 762 | 76.14 |\n";
        assert_eq!(found(table, "X35"), []);
        assert_eq!(found(&table.replace("106.01", "136.01"), "X35").len(), 1);
    }

    #[test]
    fn a_product_may_be_one_and_systems_may_stand_side_by_side() {
        let table = "| stage | loops | pause |\n|---|---|---|\n| a | 61.41 | 195.41 |\n| b | 125.09 | 95.93 |\n| c | 129.93 | 92.36 |\n| d | 303.70 | 39.51 |\n";
        assert_eq!(found(table, "X35"), []);
        assert_eq!(found(&table.replace("95.93", "45.93"), "X35").len(), 1);
        let turned = "| | gzip | zstd | xz | lz4 | brotli |\n|---|---|---|---|---|---|\n| size, GiB | 12.17 | 3.245 | 1.219 | 24.36 | 7.612 |\n\
                      | ratio | 3.902 | 14.63 | 38.96 | 1.949 | 6.239 |\n";
        assert_eq!(found(turned, "X35"), []);
        assert_eq!(found(&turned.replace("38.96", "58.96"), "X35").len(), 1);
    }

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
