//! Checks that IOPS times the mean latency is the number of I/Os in flight (Little's law).

use super::columns::{ColumnKind, by_columns, depth, depth_of, only_value, pairs};
use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity};
use crate::link::grid::Grid;
use crate::link::near;
use crate::number::{Interval, Quantity};
use crate::page::AuditedPage;
use crate::rule::table::like;

/// Largest relative difference between the I/Os in flight and the depth in a row that agrees.
const SLACK: f64 = 0.03;
/// Multiple of the depth that cannot be in flight; rounding and ramps account for up to a tenth.
const IMPOSSIBLE: f64 = 1.1;

/// Least factor between the I/Os in flight and the depth that is reported; a smaller one may come
/// from a ramp, or from a pause between two I/Os.
const FAR: f64 = 1.15;

/// Number of rows whose I/Os in flight are tried as the depth of all rows.
const MOST_DEPTHS: usize = 500;

struct LittleRow<'a> {
    rate: &'a Quantity,
    latency: &'a Quantity,
    /// Number of I/Os in flight according to these figures.
    flight: Interval,
    depth: f64,
}

impl LittleRow<'_> {
    fn agrees(&self) -> bool {
        self.flight.wider(SLACK).contains_value(self.depth)
    }
}

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    let of_page = only_value(evidence, depth_of);
    // All lines of a page are one table; small tables count if others on the page confirm them.
    let mut lines = Vec::new();
    let (mut tables, mut small): (Vec<Vec<LittleRow>>, Vec<Vec<LittleRow>>) =
        (Vec::new(), Vec::new());
    for grid in evidence.grids {
        let (mut stated, mut open) = (Vec::new(), Vec::new());
        for row in 0..grid.cells.rows() {
            for (rate, latency) in pairs(grid, row, ColumnKind::Rate, ColumnKind::Latency) {
                let Some(found) = read_little_row(grid, row, rate, latency) else { continue };
                match depth(grid, row, [rate, latency]).or(of_page) {
                    Some(depth) => stated.push(([rate, latency], LittleRow { depth, ..found })),
                    None => open.push(([rate, latency], found)),
                }
            }
        }
        // Most of many clients may wait: `5000 connections` that 50 threads serve.
        if stated.len() >= 3 && !stated.iter().any(|(_, row)| row.agrees()) {
            open.append(&mut stated);
        }
        let stated = stated.into_iter().map(|(_, row)| row);
        match grid.is_text {
            true => lines.extend(stated),
            false => tables.push(stated.collect()),
        }
        let (agreed, two): (Vec<_>, Vec<_>) =
            agreed(open).into_iter().partition(|rows| held(rows) >= 3);
        tables.extend(agreed);
        small.extend(two);
    }
    tables.push(lines);
    let all: Vec<bool> = tables.iter().flatten().map(LittleRow::agrees).collect();
    let held = all.iter().filter(|agrees| **agrees).count();
    let borne_out = held >= 6 && 3 * held >= 2 * all.len();
    for rows in tables.into_iter().chain(small.into_iter().filter(|_| borne_out)) {
        judge_rows(evidence.page, &rows, borne_out, sink);
    }
}

fn read_little_row<'a>(
    grid: &'a Grid,
    row: usize,
    rate: usize,
    latency: usize,
) -> Option<LittleRow<'a>> {
    let (rate, latency) = (grid.quantity_at(row, rate)?, grid.quantity_at(row, latency)?);
    let positive = rate.interval().low > 0.0 && latency.interval().low > 0.0;
    let flight = rate.interval().product_with(latency.interval()).scaled(1e-9);
    positive.then_some(LittleRow { rate, latency, flight, depth: 0.0 })
}

fn held(rows: &[LittleRow]) -> usize {
    rows.iter().filter(|row| row.agrees()).count()
}

/// Infers the depth of rows without a stated one. Rows of the same columns get the depth that most
/// of them fit; they are dropped if fewer than three fit (two, if there are three).
fn agreed(open: Vec<([usize; 2], LittleRow<'_>)>) -> Vec<Vec<LittleRow<'_>>> {
    let mut all = Vec::new();
    for mut rows in by_columns(open) {
        let count = |depth: f64| {
            rows.iter().filter(|row| row.flight.wider(SLACK).contains_value(depth)).count()
        };
        let whole = |row: &LittleRow| row.flight.middle().round().max(1.0);
        let best = rows.iter().take(MOST_DEPTHS).map(whole).max_by_key(|depth| count(*depth));
        let enough = if rows.len() == 3 { 2 } else { 3 };
        let Some(depth) = best.filter(|depth| count(*depth) >= enough) else { continue };
        rows.iter_mut().for_each(|row| row.depth = depth);
        all.push(rows);
    }
    all
}

/// Reports the rows of a table that do not hold, and marks the others. `borne_out` is true if most
/// rows of the page agree with their depth.
fn judge_rows(page: &AuditedPage, rows: &[LittleRow], borne_out: bool, sink: &mut EvidenceSink) {
    let held = held(rows);
    let all_others = held + 1 >= rows.len();
    let proven = held >= 4 && 5 * held >= 4 * rows.len()
        || all_others && (held >= 3 || borne_out && held >= 2);
    let some = held >= 2 && 2 * held >= rows.len();
    for row in rows {
        if row.agrees() {
            sink.mark_holding("X33", &row.rate.figure);
            sink.mark_holding("X33", &row.latency.figure);
            continue;
        }
        let off = Interval { low: row.flight.low / row.depth, high: row.flight.high / row.depth };
        let impossible = off.low > IMPOSSIBLE && some;
        let far = off.low > FAR || off.high < 1.0 / FAR;
        if proven && far || impossible || (held >= 3 && 3 * held >= 2 * rows.len() && is_slip(row))
        {
            report_row(page, row, held, rows.len(), sink);
        }
    }
}

/// Returns true if one slip of the pen, in the rate or in the latency, explains why the row
/// disagrees.
fn is_slip(row: &LittleRow) -> bool {
    let needed = |other: Interval| {
        Interval::exact(row.depth * 1e9).ratio_to(other).map(|given| given.wider(0.005))
    };
    needed(row.rate.interval()).is_some_and(|given| near::is_near(row.latency, given))
        || needed(row.latency.interval()).is_some_and(|given| near::is_near(row.rate, given))
}

fn report_row(
    page: &AuditedPage,
    row: &LittleRow,
    held: usize,
    of: usize,
    sink: &mut EvidenceSink,
) {
    let (rate, latency) = (page.quote(row.rate.figure.spot), page.quote(row.latency.figure.spot));
    let flight = row.flight.middle();
    let shown = if flight < 10.0 { format!("{flight:.2}") } else { format!("{flight:.0}") };
    let needed = row.depth * 1e9 / row.rate.figure.value;
    let value = like(latency, row.latency, needed);
    let message = format!(
        "{rate} at a mean of {latency} is {shown} in flight, not {}: one of the two is wrong ({held} of {of} rows agree)",
        row.depth
    );
    sink.add_finding(
        Finding::new("X33", Severity::WrongFigure, row.latency.figure.spot, message)
            .recomputed(value)
            .with_arithmetic(format!("{rate} * {latency} = {shown}"))
            .against([row.rate.figure.spot]),
    );
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    const TABLE: &str = "| threads | QPS | avg latency (ms) | p99 (ms) |\n|---|---|---|---|\n| 20 | 41273 | 0.48 | 0.9 |\n| 50 | 100255 | 0.50 | 1.2 |\n\
                         | 100 | 137688 | 0.73 | 2.0 |\n| 200 | 150000 | 1.33 | 3.0 |\n";

    #[test]
    fn what_is_in_flight_is_what_is_stated() {
        assert_eq!(found(TABLE, "X33"), []);
        let high = found(&TABLE.replace("0.73", "0.93"), "X33");
        assert!(high.len() == 1 && high[0].message.contains("128 in flight, not 100"), "{high:#?}");
        assert_eq!(found(&TABLE.replace("150000", "120000"), "X33").len(), 1, "all others agree");
    }

    #[test]
    fn of_many_clients_few_may_be_served() {
        let idle = |third: &str| {
            let table = "| connections | QPS | avg latency (ms) |\n|---|---|---|\n| 5000 | 96620 | 0.52 |\n| 10000 | 96143 | 0.52 |\n| 15000 | 96048 | 0.52 |\n";
            format!("{TABLE}\n\n{TABLE}\n\n{}", table.replace("96048 | 0.52", third))
        };
        assert_eq!(found(&idle("96048 | 0.52"), "X33"), []);
        let told = found(&idle("96048 | 0.82"), "X33");
        assert!(told.len() == 1 && told[0].recomputed == "0.52", "{told:#?}");
    }

    #[test]
    fn a_generator_that_does_not_keep_its_depth_is_no_wrong_figure() {
        let below = TABLE.replace("100255", "50255").replace("137688", "90000");
        assert_eq!(found(&below, "X33"), []);
        assert_eq!(found(&TABLE.replace("avg latency", "p95 latency"), "X33"), [], "no mean");
    }
}
