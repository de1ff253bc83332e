//! X14 and X21: figures of one of several jobs told as those of all; rows that are the same to all digits.

use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};
use std::collections::HashMap;

/// X14.
pub const ONE_JOB: Rule = Rule {
    id: "X14",
    name: "a table has the figures of all jobs",
    severity: Severity::Ambiguous,
    holds: "no cell is the rate that an output without group_reporting prints for one of its jobs of the same name",
    silent: "unless the text has three digits at least, only jobs of such outputs print it, and no cell of the table is of another of the jobs",
    check: one_job,
};

/// X21.
pub const SAME: Rule = Rule {
    id: "X21",
    name: "two rows are not the same to all digits",
    severity: Severity::Ambiguous,
    holds: "no two rows of the page's tables have three or more figures of four digits or more that are all the same, under other names",
    silent: "of rows whose figures are the same among themselves, of rows of the same name under the same table's title, and of lists of hardware",
    check: same,
};

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn digits(text: &str) -> usize {
    let number: String = text.chars().filter(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    // Zeros at the end may be of rounding.
    let number = number.trim_end_matches('0');
    number.bytes().filter(u8::is_ascii_digit).count()
}

fn one_job(evidence: &Evidence, sink: &mut Sink) {
    // Printed text of each rate: of which output and job, None where other outputs print it.
    let mut rates: HashMap<String, Option<(usize, usize)>> = HashMap::new();
    let mut counts: HashMap<usize, usize> = HashMap::new();
    for (at, output) in evidence.outputs.iter().enumerate() {
        let Said::Fio(fio) = &output.said else { continue };
        let alike = fio.jobs.len() >= 2
            && fio.jobs.iter().all(|job| job.name == fio.jobs[0].name && job.jobs == Some(1));
        if alike {
            counts.insert(at, fio.jobs.len());
        }
        for (index, job) in fio.jobs.iter().enumerate() {
            for figure in job.directions.iter().flat_map(|one| [one.iops, one.bandwidth]).flatten() {
                let text = plain(evidence.page.quote(figure.spot));
                let own = alike.then_some((at, index));
                rates
                    .entry(text)
                    .and_modify(|kept| *kept = kept.filter(|kept| Some(*kept) == own))
                    .or_insert(own);
            }
        }
        // What is of all of them together.
        for status in &fio.statuses {
            status.bandwidth.iter().flatten().for_each(|figure| {
                rates.insert(plain(evidence.page.quote(figure.spot)), None);
            });
        }
    }
    if counts.is_empty() {
        return;
    }
    for table in evidence.tables {
        let cells =
            table.rows.iter().flat_map(|row| row.cells.iter().flatten()).filter_map(|cell| cell.figure);
        let copies: Vec<(Spot, usize, usize)> = cells
            .filter(|figure| !matches!(figure.unit, Unit::Percent | Unit::Times))
            .filter_map(|figure| {
                let text = plain(evidence.page.quote(figure.figure.spot));
                let (output, job) = (*rates.get(&text)?)?;
                (digits(&text) >= 3).then_some((figure.figure.spot, output, job))
            })
            .collect();
        for (at, (spot, output, job)) in copies.iter().enumerate() {
            let first = !copies[..at].iter().any(|(_, other, _)| other == output);
            let others = copies.iter().any(|(_, other, index)| other == output && index != job);
            if first && !others && at < 100 {
                let message = format!(
                    "{} is the rate of one of {} jobs (line {}): group_reporting is missing, and the others are not counted",
                    evidence.page.quote(*spot),
                    counts[output],
                    evidence.page.number(evidence.outputs[*output].lines.start)
                );
                sink.finds(Finding::new("X14", Severity::Ambiguous, *spot, message));
            }
        }
    }
}

/// So many rows are looked at.
const MOST: usize = 20_000;

fn same(evidence: &Evidence, sink: &mut Sink) {
    let mut seen: HashMap<Vec<String>, (usize, &str, Spot)> = HashMap::new();
    let rows = evidence
        .tables
        .iter()
        .enumerate()
        .flat_map(|(at, table)| table.rows.iter().map(move |row| (at, row)));
    for (at, row) in rows.take(MOST) {
        let figures: Vec<Quantity> = row.cells.iter().flatten().filter_map(|cell| cell.figure).collect();
        let results = figures.iter().all(|figure| {
            matches!(
                figure.unit,
                Unit::Bare | Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Nanoseconds
            )
        });
        let texts: Vec<String> =
            figures.iter().map(|figure| plain(evidence.page.quote(figure.figure.spot))).collect();
        let mut apart = texts.clone();
        apart.sort();
        apart.dedup();
        if texts.len() < 3 || !results || apart.len() < 3 || texts.iter().any(|text| digits(text) < 4) {
            continue;
        }
        let spot = figures[0].figure.spot;
        match seen.get(&texts) {
            None => {
                seen.insert(texts, (at, &row.label, spot));
            }
            // The same row of the same system may stand in two tables: only other labels of one table are two systems for sure.
            Some((table, label, first)) if *table == at && *label != row.label => {
                let message = format!(
                    "all {} figures of {:?} are those of {:?} (line {}) to the last digit: one may be a copy of the other",
                    texts.len(),
                    row.label.trim(),
                    label.trim(),
                    evidence.page.number(first.index())
                );
                sink.finds(Finding::new("X21", Severity::Ambiguous, spot, message).against([*first]));
            }
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn one_of_several_jobs_is_told() {
        let job = |rate: &str| {
            format!(
                "t: (groupid=0, jobs=1): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  read: IOPS={rate}, BW=39.1MiB/s (41.0MB/s)(2344MiB/60002msec)\n"
            )
        };
        let page = |cell: &str| {
            format!(
                "t: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=1\n...\nfio-3.33\nStarting 2 processes\n{}{}\n\
                 | system | IOPS |\n|---|---|\n| A | {cell} |\n| B | 31234 |\n",
                job("10123"),
                job("10234")
            )
        };
        assert_eq!(found(&page("10123"), "X14").len(), 1);
        assert_eq!(found(&page("20357"), "X14"), []);
        assert_eq!(found(&page("10123").replace("31234", "10234"), "X14"), [], "each job has its cell");
    }

    #[test]
    fn rows_that_are_copies_are_told() {
        let page = |last: &str| {
            format!(
                "| system | a | b | c |\n|---|---|---|---|\n| A | 12345 | 6789.1 | 4567 |\n| B | 12346 | 6789.2 | 4568 |\n| C | 12345 | 6789.1 | {last} |\n"
            )
        };
        assert_eq!(found(&page("4567"), "X21").len(), 1);
        assert_eq!(found(&page("4569"), "X21"), []);
        assert_eq!(found(&page("4567").replace("12345", "10000"), "X21"), [], "round figures");
    }
}
