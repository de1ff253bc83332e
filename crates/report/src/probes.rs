//! Figures of probes besides their rate: single runs of a tool, never the best alone; losses and
//! CPU time of a network.

use super::number::{Shown, share_of_baseline, three_digits};
use super::sheet::name_with_loss;
use super::table::TextTable;
use iotax_analysis::findings::{MeasuredFigure, NetworkRow, StackRow, ToolRuns, WorkloadFindings};
use iotax_stats::Digits;

/// Returns ` (12 % lost)`, which must go with a rate; empty if little was lost.
pub(super) fn loss(row: &StackRow) -> String {
    let lost = row.network.as_ref().and_then(NetworkRow::loses);
    lost.map_or_else(String::new, |lost| format!(" ({} % lost)", three_digits(100.0 * lost)))
}

pub(super) struct ProbeSection {
    pub(super) title: &'static str,
    pub(super) table: TextTable,
    pub(super) legend: &'static str,
}

pub(super) fn sections(workload: &WorkloadFindings) -> impl Iterator<Item = ProbeSection> {
    let runs = runs(workload).map(|table| ProbeSection {
        title: "Runs of the tool",
        table,
        legend: "best, median and mean of single runs; the figure above, with its interval, is of whole rounds",
    });
    let network = network(workload).map(|table| ProbeSection {
        title: "Losses and CPU time of the network",
        table,
        legend: "sent, lost: datagrams, or requests by datagram; sent again: TCP segments; CPU here, there: of the threads or the program at \
                 each end, over the whole slice by what arrived in it, without what the kernel does in interrupts",
    });
    runs.into_iter().chain(network)
}

/// Returns a row per stack; `None` if no tool ran.
fn runs(workload: &WorkloadFindings) -> Option<TextTable> {
    let mut table = TextTable::named_table("runs of the tool");
    let cells = |cell: &dyn Fn(&ToolRuns) -> String| {
        workload
            .rows
            .iter()
            .map(|row| row.runs.as_ref().map_or_else(|| "-".to_owned(), cell))
            .collect()
    };
    let figure = |of: fn(&ToolRuns) -> f64| {
        cells(&|one| {
            let Digits { value, unit, .. } = Digits::for_value(of(one), None, one.unit);
            format!("{value} {unit}").trim_end().to_owned()
        })
    };
    table.push("runs of", 0, workload.rows.iter().map(name_with_loss).collect());
    table.push("best", 0, figure(|one| one.best));
    table.push("median", 0, figure(|one| one.median));
    table.push("mean", 0, figure(|one| one.mean));
    table.push("runs", 3, cells(&|one| one.runs.to_string()));
    workload.rows.iter().any(|row| row.runs.is_some()).then_some(table)
}

/// Function that picks one figure of a row's network, if it was measured.
type OfNetwork = for<'a> fn(&'a StackRow, &'a NetworkRow) -> Option<&'a MeasuredFigure>;

/// Returns a row per stack; `None` if no network was measured.
fn network(workload: &WorkloadFindings) -> Option<TextTable> {
    let mut table = TextTable::named_table("network");
    table.push("network", 0, workload.rows.iter().map(name_with_loss).collect());
    let mut add = |head: &str, rank: u8, shown: fn(&MeasuredFigure) -> Shown, of: OfNetwork| {
        let figures = workload.rows.iter().map(|row| of(row, row.network.as_ref()?));
        let cell = |figure: Option<&MeasuredFigure>| {
            figure.map_or_else(|| "-".to_owned(), |one| shown(one).cell())
        };
        table.push_known(head, rank, figures.map(cell).collect());
    };
    add("sent/s", 1, Shown::from_figure, |_, one| one.sent.as_ref());
    add("arrived/s", 1, Shown::from_figure, |row, one| one.sent.as_ref().map(|_| &row.iops));
    add("lost", 0, share_of_baseline, |_, one| one.lost.as_ref());
    add("sent again/GiB", 2, Shown::from_figure, |_, one| one.sent_again_per_gib.as_ref());
    add("CPU/KiB here", 1, Shown::from_figure, |_, one| one.cpu_here_per_kib.as_ref());
    add("CPU/KiB there", 1, Shown::from_figure, |_, one| one.cpu_there_per_kib.as_ref());
    (table.columns.len() > 1).then_some(table)
}
