//! X28: HCIBench's IOPS and throughput are the sums of its virtual machines, its latency their plain mean, which is told where it
//! is far from the mean over I/Os.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::hcibench::{Case, HciBench};
use crate::import::vdbench::Row;
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X28",
    name: "HCIBench's figures are those of its virtual machines",
    severity: Severity::WrongFigure,
    holds: "latency between the reads' and the writes'; 95th percentile above the mean (it is mean + 1.645 deviations); of the \
            sheet: IOPS * block = throughput, IOPS * latency = outstanding within 25 %; where vdbench's output of as many \
            virtual machines stands on the page: IOPS and throughput are their sums (n half-units), latency their mean",
    silent: "about virtual machines where their outputs are not as many as the result says",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    for (index, output) in evidence.outputs.iter().enumerate() {
        let Said::HciBench(said) = &output.said else { continue };
        let machines = machines(evidence, index);
        for (at, case) in said.cases.iter().enumerate() {
            let mut ledger = Ledger::new(evidence.page, RULE.id);
            of_case(case, &mut ledger);
            if let Some(rows) = of_machines(said, at, &machines) {
                sums(case, &rows, &mut ledger);
                weighted(case, &rows, sink);
            }
            ledger.settle(sink);
        }
    }
}

/// The averages of the outputs of vdbench right before an output, one list an output; of all of the page where none are.
fn machines<'a>(evidence: &'a Evidence, before: usize) -> Vec<Vec<&'a Row>> {
    let of = |said: &'a Said| match said {
        Said::Vdbench(said) => Some(said.runs.iter().filter_map(|run| run.average()).collect()),
        _ => None,
    };
    let sound = |rows: &Vec<&Row>| !rows.is_empty();
    let mut near: Vec<Vec<&Row>> =
        evidence.outputs[..before].iter().rev().map_while(|output| of(&output.said)).filter(sound).collect();
    near.reverse();
    match near.is_empty() {
        true => evidence.outputs.iter().filter_map(|output| of(&output.said)).filter(sound).collect(),
        false => near,
    }
}

/// The virtual machines of a case, where the page has one output of each with a run for every case.
fn of_machines<'a>(said: &HciBench, at: usize, machines: &[Vec<&'a Row>]) -> Option<Vec<&'a Row>> {
    let count = said.cases[at].vms?.value;
    let whole = machines.len() as f64 == count && machines.iter().all(|rows| rows.len() == said.cases.len());
    (whole && count >= 1.0).then(|| machines.iter().map(|rows| rows[at]).collect())
}

fn of_case(case: &Case, ledger: &mut Ledger) {
    let [all, reads, writes] = case.latency;
    let there = |figure: Option<Figure>| figure.filter(|figure| figure.value > 0.0);
    if let (Some(all), Some(reads), Some(writes)) = (all, there(reads), there(writes)) {
        let low = reads.low.min(writes.low);
        let high = reads.high.max(writes.high);
        let operands = [named("the reads'", "ms", reads), named("the writes'", "ms", writes)];
        let expected = Interval { low, high };
        ledger.within(named("the latency", "ms", all), expected, &operands, || {
            "a mean of both lies between them".to_owned()
        });
    }
    for (mean, tail) in case.latency.iter().zip(&case.tail) {
        if let (Some(mean), Some(tail), true) = (mean, tail, all.is_some()) {
            ledger
                .rising(&[named("the latency", "ms", *mean), named("the 95th percentile", "ms", *tail)], 0.0);
        }
    }
    let iops = case.iops.map(|iops| named("the IOPS", "IO/S", iops));
    if let (Some(iops), Some(bandwidth), Some(block)) = (iops, case.bandwidth, case.block) {
        // The block is rounded to KB, the throughput a sum of rounded ones.
        let block = Figure { low: block.value - 512.0, high: block.value + 512.0, ..block };
        let block = if block.value >= 4096.0 { exact(block) } else { block };
        let operands = [(iops, 1), (named("the block size", "KB", block), 1)];
        ledger.product(named("the throughput", "MB/s", bandwidth), 1.0, &operands, 0.002);
    }
    if let (Some(iops), Some(latency), Some(outstanding)) = (iops, all, case.outstanding) {
        let latency = named("the latency", "ms", latency);
        ledger.about(
            named("the outstanding I/Os", "", outstanding),
            1e-9,
            &[(iops, 1), (latency, 1)],
            UNEVEN,
        );
    }
}

fn exact(figure: Figure) -> Figure {
    Figure { low: figure.value, high: figure.value, ..figure }
}

/// Machines that are not alike make the plain mean of latencies another than that over I/Os.
const UNEVEN: f64 = 0.25;

fn sums(case: &Case, rows: &[&Row], ledger: &mut Ledger) {
    let parts = |name, unit, get: fn(&Row) -> Option<Figure>| -> Option<Vec<Named>> {
        rows.iter().map(|row| get(row).map(|figure| named(name, unit, figure))).collect()
    };
    if let (Some(iops), Some(parts)) = (case.iops, parts("the machines' rates", "/s", |row| row.rate)) {
        ledger.sum(named("the IOPS", "IO/S", iops), 1.0, &parts, 0.0);
    }
    let bandwidths = parts("the machines' MB/sec", "MiB/s", |row| row.bandwidth);
    if let (Some(bandwidth), Some(parts)) = (case.bandwidth, bandwidths) {
        ledger.sum(named("the throughput", "MB/s", bandwidth), 1.0, &parts, 0.0);
    }
    let ways: [fn(&Row) -> Option<Figure>; 3] =
        [|row| row.response[0], |row| row.response[1], |row| row.response[2]];
    for (at, get) in ways.into_iter().enumerate() {
        let Some(parts) = parts("the machines' latencies", "ms", get) else { continue };
        if let (Some(latency), false) = (case.latency[at], at == 0 && is_weighted(case, rows)) {
            ledger.sum(named("the latency", "ms", latency), 1.0 / parts.len() as f64, &parts, 0.0);
        }
    }
}

/// The mean latency over all I/Os.
fn over_ios(rows: &[&Row]) -> Option<f64> {
    let mut sums = (0.0, 0.0);
    for row in rows {
        let (rate, response) = (row.rate?.value, row.response[0]?.value);
        sums = (sums.0 + rate * response, sums.1 + rate);
    }
    (sums.1 > 0.0).then(|| sums.0 / sums.1)
}

fn is_weighted(case: &Case, rows: &[&Row]) -> bool {
    let (Some(latency), Some(mean)) = (case.latency[0], over_ios(rows)) else { return false };
    latency.interval().wider(0.001).has(mean)
}

/// How far the plain mean may be from that over I/Os before it is told.
const TOLD: f64 = 0.05;

fn weighted(case: &Case, rows: &[&Row], sink: &mut Sink) {
    let (Some(latency), Some(mean)) = (case.latency[0], over_ios(rows)) else { return };
    if latency.interval().wider(TOLD).has(mean) {
        return;
    }
    let message = format!(
        "the latency is a plain mean over virtual machines: over I/Os it is {:.2} ms, since the machines are not alike",
        mean / 1e6
    );
    let finding = Finding::new(RULE.id, Severity::Ambiguous, latency.spot, message)
        .recomputed(format!("{:.2}", mean / 1e6))
        .by("sum of rate * latency / sum of rates");
    sink.finds(finding);
}
