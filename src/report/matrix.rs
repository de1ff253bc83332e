//! Stacks by workloads, as people publish them: a row with the figures of each stack, and below it a row with their share of
//! the baseline's.

use super::number::{Shown, share};
use super::table::Table;
use crate::bill::Findings;
use crate::bill::findings::{Figure, GuestDisk, Row, WorkloadFindings};
use std::collections::BTreeMap;

/// The table; `None` of a single workload or stack, whose own section says it all, and of a bill, which is such a table.
/// Points of sweeps stand in theirs.
pub(super) fn table(findings: &Findings) -> Option<Table> {
    let workloads: Vec<&WorkloadFindings> =
        findings.workloads.iter().filter(|workload| workload.sweep.is_none()).collect();
    let is_apart = |first: &&&WorkloadFindings| first.rows.len() > 1 && first.bill.is_none();
    let first = workloads.first().filter(|_| workloads.len() > 1).filter(is_apart)?;
    let lines: Vec<Line> = first.rows.iter().enumerate().flat_map(|(at, row)| Line::of(at, row)).collect();
    let mut table = Table::default();
    table.push("stack", 0, lines.iter().map(|line| line.name.clone()).collect());
    for workload in workloads {
        let cells = lines.iter().map(|line| line.cell(workload)).collect();
        table.push(&workload.name, 0, cells);
    }
    Some(table)
}

/// A line of the table.
struct Line {
    name: String,
    stack: usize,
    is_share: bool,
}

impl Line {
    fn of(stack: usize, row: &Row) -> Vec<Line> {
        let marks = match (row.baseline, &row.emulated) {
            (true, None) => " *",
            (true, Some(_)) => " * ~",
            (false, Some(_)) => " ~",
            (false, None) => "",
        };
        let value = Line { name: format!("{}{marks}", row.stack), stack, is_share: false };
        let share = Line { name: "  of the baseline".to_owned(), stack, is_share: true };
        if row.baseline { vec![value] } else { vec![value, share] }
    }

    fn cell(&self, workload: &WorkloadFindings) -> String {
        let Some(row) = workload.rows.get(self.stack) else { return "-".to_owned() };
        if !self.is_share {
            return Shown::of(rate(workload, row)).cell();
        }
        let comparison = workload.comparisons.iter().find(|one| one.stack == row.stack);
        comparison.map_or_else(|| "-".to_owned(), |one| share(&one.ratio).cell())
    }
}

/// What people speak of: bytes of large blocks, else I/Os.
fn rate<'a>(workload: &WorkloadFindings, row: &'a Row) -> &'a Figure {
    let by_bytes = workload.comparisons.first().is_some_and(|one| one.quantity.contains(" throughput"));
    if by_bytes { &row.bytes_per_s } else { &row.iops }
}

/// Disks of guests as they really are, a row each; `None` where there are none.
pub(super) fn disks(findings: &Findings) -> Option<Table> {
    let mut disks: Vec<&GuestDisk> = Vec::new();
    for disk in findings.places.iter().flat_map(|place| &place.disks) {
        // Every visit reads them anew.
        if !disks.iter().any(|known| known.stack == disk.stack) {
            disks.push(disk);
        }
    }
    if disks.is_empty() {
        return None;
    }
    let mut table = Table::default();
    table.push("disk of a guest", 0, disks.iter().map(|disk| disk.stack.clone()).collect());
    table.push("attach", 0, disks.iter().map(|disk| disk.attach.clone()).collect());
    table.push("there", 3, disks.iter().map(|disk| disk.path.display().to_string()).collect());
    for (head, rank, option) in
        [("direct", 0, "cache.direct"), ("no-flush", 1, "cache.no-flush"), ("write-cache", 2, "write-cache")]
    {
        table.push(head, rank, disks.iter().map(|disk| told(&disk.qemu, option)).collect());
    }
    table.push("guest sees", 0, disks.iter().map(|disk| told(&disk.guest, "write-cache")).collect());
    let queues = |disk: &&GuestDisk| {
        format!("{} / {}", told(&disk.qemu, "num-queues"), told(&disk.guest, "num-queues"))
    };
    table.push("queues", 0, disks.iter().map(queues).collect());
    table.push("scheduler", 2, disks.iter().map(|disk| told(&disk.guest, "scheduler")).collect());
    Some(table)
}

fn told(settings: &BTreeMap<String, String>, option: &str) -> String {
    settings.get(option).cloned().unwrap_or_else(|| "-".to_owned())
}

/// What the columns of [`disks`] are.
pub(super) const DISKS_LEGEND: &str = "as read back before measuring: QEMU's settings, what the guest's kernel sees, queues of QEMU / in use by the guest";
