//! X26: mbw's rate is its MiB over its elapsed seconds, its AVG the mean of the runs above it.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::mbw::{Method, Run};
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X26",
    name: "mbw's rate is its MiB over its time, AVG that of the runs",
    severity: Severity::WrongFigure,
    holds: "MiB / elapsed = rate, of AVG too; AVG elapsed = mean of the runs; AVG rate = their harmonic mean (or plain mean); \
            n printed figures have n half-units",
    silent: "about AVG where runs are missing before it; about rates of a time that is printed as nothing",
    check,
};

const MIB: f64 = 1_048_576.0;

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Mbw(methods) = &output.said else { continue };
        let mut ledger = Ledger::new(evidence.page, RULE.id);
        for method in methods {
            relations(method, &mut ledger);
        }
        ledger.settle(sink);
    }
}

fn rate(run: &Run) -> Named {
    named("the rate", "MiB/s", run.rate)
}

fn seconds(run: &Run) -> Named {
    named("the elapsed time", "s", run.seconds)
}

fn relations(method: &Method, ledger: &mut Ledger) {
    for run in method.runs.iter().chain(&method.average) {
        let bytes = named("the size", "MiB", run.bytes);
        ledger.product(rate(run), 1.0, &[(bytes, 1), (seconds(run), -1)], 0.0);
    }
    let Some(average) = &method.average else { return };
    let runs = &method.runs;
    let whole = runs.iter().enumerate().all(|(at, run)| run.number.is_some_and(|one| one.value == at as f64));
    let one_size = runs.iter().all(|run| run.bytes.value == average.bytes.value);
    if runs.is_empty() || !whole || !one_size {
        return;
    }
    let count = runs.len() as f64;
    let times: Vec<Named> = runs.iter().map(seconds).collect();
    let mean = Named { name: "the mean time", ..seconds(average) };
    ledger.sum(mean, 1.0 / count, &times, 0.0);
    let rates: Vec<Named> = runs.iter().map(rate).collect();
    let Some(expected) = mean_rate(&rates) else { return };
    let target = Named { name: "the mean rate", ..rate(average) };
    ledger.given(target, expected, &rates, || {
        let middle = expected.middle() / MIB;
        format!("{count} runs: {count} / (1 / rate + ...) = {middle:.3} MiB/s")
    });
}

/// From the harmonic to the plain mean of rates.
fn mean_rate(rates: &[Named]) -> Option<Interval> {
    let count = rates.len() as f64;
    let harmonic = |of: fn(&Figure) -> f64| {
        let sum: f64 = rates.iter().map(|one| 1.0 / of(&one.figure)).sum();
        Some(count / sum).filter(|mean| mean.is_finite() && *mean > 0.0)
    };
    let plain = rates.iter().map(|one| one.figure.high).sum::<f64>() / count;
    let low = harmonic(|figure| figure.low)?;
    Some(Interval { low, high: plain.max(harmonic(|figure| figure.high)?) })
}
