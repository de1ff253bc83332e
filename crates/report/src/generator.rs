//! The load generator's own part in a stack's figures: its CPU time, its looks at the queue, and
//! the check of its latencies.

use super::number::Shown;
use super::sheet::name_with_loss;
use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::{GeneratorReport, StackRow, WorkloadFindings};
use iotax_stats::round::three_digits;

pub(super) const TITLE: &str = "the load generator itself";

pub(super) const LEGEND: &str = "own/IO, kernel/IO: CPU time of its threads for each I/O in its own code and in the kernel; own code, kernel: shares of the \
     time of each thread; looks: time between two looks at the queue, by which a latency may be too long at most; in flight: their mean \
     number, the rest of the depth waits for a thread that hands over others; Little's law: mean latency times rate against that number";

/// Returns true if there is a warning about the generator; only then does a terminal show its
/// table.
pub(super) fn is_doubted(findings: &Findings) -> bool {
    findings.warnings.iter().any(|one| ["generator", "littles_law"].contains(&one.kind.as_str()))
}

/// Returns a row per stack; `None` if nothing about the generator was recorded.
pub(super) fn generator_table(workload: &WorkloadFindings) -> Option<TextTable> {
    let rows = &workload.rows;
    if rows.iter().all(|row| row.generator.user_share.is_none()) {
        return None;
    }
    let mut table = TextTable::named_table("load generator");
    let cells = |cell: &dyn Fn(&GeneratorReport) -> String| {
        rows.iter().map(|row: &StackRow| cell(&row.generator)).collect::<Vec<_>>()
    };
    table.push("generator", 0, rows.iter().map(name_with_loss).collect());
    table.push("own/IO", 0, cells(&|one| Shown::from_figure(&one.cpu_user).cell()));
    table.push("kernel/IO", 3, cells(&|one| Shown::from_figure(&one.cpu_kernel).cell()));
    table.push("own code", 1, cells(&|one| percent(one.user_share)));
    table.push("kernel", 4, cells(&|one| percent(one.kernel_share)));
    if rows.iter().any(|row| row.generator.reap_gap.is_some()) {
        let looks = |pick: fn(
            &iotax_analysis::findings::LatencyFigures,
        ) -> &iotax_analysis::findings::MeasuredFigure| {
            cells(&|one| {
                one.reap_gap
                    .as_ref()
                    .map_or_else(|| "-".to_owned(), |gap| Shown::from_figure(pick(gap)).cell())
            })
        };
        table.push("looks p50", 5, looks(|gap| &gap.p50));
        table.push("looks p99", 2, looks(|gap| &gap.p99));
    }
    if rows.iter().any(|row| row.generator.in_flight.is_some()) {
        table.push("in flight", 2, cells(&in_flight));
    }
    if rows.iter().any(|row| row.generator.littles_law_error.is_some()) {
        table.push("Little's law", 2, cells(&|one| change(one.littles_law_error)));
    }
    Some(table)
}

fn in_flight(one: &GeneratorReport) -> String {
    let Some(mean) = one.in_flight else { return "-".to_owned() };
    let mean = three_digits(mean);
    one.depth.map_or_else(|| mean.clone(), |depth| format!("{mean} of {depth}"))
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

fn change(error: Option<f64>) -> String {
    // A value that rounds to zero has no sign.
    error.map_or_else(
        || "-".to_owned(),
        |error| match (1000.0 * error).round() / 10.0 {
            0.0 => "0.0 %".to_owned(),
            error => format!("{error:+.1} %"),
        },
    )
}
