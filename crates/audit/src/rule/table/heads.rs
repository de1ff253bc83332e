//! What columns and charts are called against what they hold: T6, T12.

use crate::finding::{Finding, Severity};
use crate::import::{Said, Way};
use crate::number::Unit;
use crate::page::Spot;
use crate::prose::topic;
use crate::rule::{Evidence, Rule, Sink};

/// T6.
pub const COLUMN: Rule = Rule {
    id: "T6",
    name: "a column holds what it is called",
    severity: Severity::Cosmetic,
    holds: "a column called bandwidth beside columns of reads and of writes has that of both, not the one that a mixed run prints for its reads",
    silent: "unless two of its cells are copies of what outputs of mixed runs print for one way",
    check: column,
};

/// T12.
pub const CHART: Rule = Rule {
    id: "T12",
    name: "sequential loads are told in bytes a second",
    severity: Severity::Ambiguous,
    holds: "no title of a chart or table has sequential I/O in I/Os a second alone",
    silent: "where the title has a block size or a bandwidth too, and of lines that have a table behind them",
    check: chart,
};

fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn column(evidence: &Evidence, sink: &mut Sink) {
    // What mixed runs print for one way.
    let mut ways: Vec<(String, Way, Spot)> = Vec::new();
    for output in evidence.outputs {
        let Said::Fio(fio) = &output.said else { continue };
        for job in fio
            .jobs
            .iter()
            .filter(|job| job.directions.iter().filter(|one| one.bandwidth.is_some()).count() == 2)
        {
            for direction in &job.directions {
                if let Some(figure) = direction.bandwidth.filter(|_| ways.len() < 2000) {
                    ways.push((plain(evidence.page.quote(figure.spot)), direction.way, figure.spot));
                }
            }
        }
    }
    if ways.is_empty() {
        return;
    }
    for table in evidence.tables {
        let about: Vec<_> = table.columns.iter().map(|column| topic(&column.head)).collect();
        let of_one = |read: bool| {
            about.iter().any(|one| one.read == read && one.write != read && (one.read || one.write))
        };
        if !of_one(true) || !of_one(false) {
            continue;
        }
        for (at, column) in
            table.columns.iter().enumerate().filter(|(at, _)| !about[*at].read && !about[*at].write)
        {
            let cells = table.rows.iter().filter_map(|row| row.cells.get(at)?.as_ref()?.figure);
            let copies: Vec<(Spot, Way, Spot)> = cells
                .filter(|figure| figure.unit == Unit::BytesPerSecond)
                .filter_map(|figure| {
                    let text = plain(evidence.page.quote(figure.figure.spot));
                    ways.iter()
                        .find(|(other, ..)| *other == text)
                        .map(|(_, way, spot)| (figure.figure.spot, *way, *spot))
                })
                .collect();
            if copies.len() < 2 {
                continue;
            }
            let way = if copies[0].1 == Way::Read { "reads" } else { "writes" };
            let message = format!(
                "the column {:?} has the bandwidth of the {way} alone, of runs that read and write",
                column.head.trim()
            );
            sink.finds(
                Finding::new("T6", Severity::Cosmetic, copies[0].0, message)
                    .against(copies.iter().map(|copy| copy.2)),
            );
        }
    }
}

/// Longer lines are sentences.
const LONGEST: usize = 100;
/// Lines behind a title in which its table begins.
const NEAR: usize = 4;

fn chart(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    for line in evidence.text_lines() {
        let text = page.line(line).trim();
        let iops = || text.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"iops"));
        if !iops() || text.is_empty() || text.len() > LONGEST || text.ends_with(['.', '。', ';', ':', '：'])
        {
            continue;
        }
        let lower = text.to_lowercase();
        if !topic(text).sequential || topic(text).random || topic(text).size.is_some() {
            continue;
        }
        let bandwidth =
            ["b/s", "bps", "bandwidth", "throughput", "带宽", "吞吐", "пропускн", "скорост", "б/с"]
                .iter()
                .any(|word| lower.contains(word));
        // A title ends with its unit; a sentence goes on.
        let unit = lower.trim_end_matches([')', '）', ' ']).ends_with("iops");
        // Outputs and tables are in the order of the page.
        let near = || {
            let at = |lines: &std::ops::Range<usize>| lines.start <= line + NEAR;
            let output = evidence.outputs.partition_point(|output| output.lines.end <= line);
            let table = evidence.tables.partition_point(|table| table.lines.end <= line);
            evidence.outputs.get(output).is_some_and(|one| at(&one.lines))
                || evidence.tables.get(table).is_some_and(|one| at(&one.lines))
        };
        if bandwidth || !unit || near() {
            continue;
        }
        let message =
            "sequential I/O in I/Os a second says nothing without the block size: bytes a second do";
        sink.finds(Finding::new(
            "T12",
            Severity::Ambiguous,
            Spot::new(line, 0..page.line(line).len()),
            message,
        ));
    }
}

#[cfg(test)]
mod tests {

    use crate::rule::testing::found;

    const MIXED: &str = include_str!("../../../fixtures/fio/randrw-3.33.txt");

    #[test]
    fn one_way_is_not_the_bandwidth_of_both() {
        let bandwidth = |way: &str| {
            let line = MIXED.lines().find(|line| line.trim_start().starts_with(way)).unwrap();
            line.split("BW=").nth(1).unwrap().split(' ').next().unwrap().to_owned()
        };
        let (read, write) = (bandwidth("read:"), bandwidth("write:"));
        let table = |one: &str, other: &str| {
            format!(
                "{MIXED}\n\n| | Read | Write | Bandwidth |\n|---|---|---|---|\n| A | 26.0k | 25.0k | {one} |\n| B | 20.4k | 20.4k | {other} |\n"
            )
        };
        assert_eq!(found(&table(&read, &read), "T6").len(), 1);
        assert_eq!(found(&table("1234MiB/s", "1111MiB/s"), "T6"), []);
        assert_eq!(found(&table(&read, &write).replace("| Bandwidth |", "| Read MB/s |"), "T6"), []);
    }

    #[test]
    fn sequential_charts_in_iops_are_told() {
        assert_eq!(found("Text.\n\nSequential performance, K IOps\n\nMore text.\n", "T12").len(), 1);
        for title in [
            "Random performance, K IOps",
            "Sequential 1M performance, IOPS",
            "Sequential performance, GB/s",
            "Sequential performance, IOPS and MB/s",
            "Sequential reads reach many IOPS there.",
        ] {
            assert_eq!(found(&format!("Text.\n\n{title}\n\nMore text.\n"), "T12"), [], "{title}");
        }
    }
}
