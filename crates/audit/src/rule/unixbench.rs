//! X25: UnixBench's index is ten times the result over its baseline, the final score the geometric mean of the indices.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::unixbench::{Bench, Index};
use crate::number::{Figure, Interval};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X25",
    name: "UnixBench's index is 10 * result / baseline, the score their geometric mean",
    severity: Severity::WrongFigure,
    holds: "index = 10 * result / baseline; score = geometric mean of the indices, each within its rounding; a result is the same \
            in the list and in the table",
    silent: "about the score where a row of its table has no index",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::UnixBench(bench) = &output.said else { continue };
        let mut ledger = Ledger::new(evidence.page, RULE.id);
        relations(bench, &mut ledger);
        ledger.settle(sink);
    }
}

fn relations(bench: &Bench, ledger: &mut Ledger) {
    for index in &bench.indexes {
        for row in &index.rows {
            let result = named("the result", "", row.result);
            // The same test twice in a list cannot be told apart.
            let mut listed = bench.results.iter().filter(|score| score.name == row.name);
            if let (Some(score), None) = (listed.next(), listed.next()) {
                let listed = named("the result in the list", "", score.result);
                ledger.product(result, 1.0, &[(listed, 1)], 0.0);
            }
            if let (Some(baseline), Some(index)) = (row.baseline, row.index) {
                let baseline = named("the baseline", "", baseline);
                ledger.product(named("the index", "", index), 10.0, &[(result, 1), (baseline, -1)], 0.0);
            }
        }
        score(index, ledger);
    }
}

fn score(index: &Index, ledger: &mut Ledger) {
    let indices: Option<Vec<Figure>> = index.rows.iter().map(|row| row.index).collect();
    let (Some(indices), Some(score)) = (indices, index.score) else { return };
    let mean = |of: fn(&Figure) -> f64| {
        let logs: f64 = indices.iter().map(|one| of(one).max(f64::MIN_POSITIVE).ln()).sum();
        (logs / indices.len() as f64).exp()
    };
    if indices.is_empty() || indices.iter().any(|one| one.low <= 0.0) {
        return;
    }
    let expected = Interval { low: mean(|one| one.low), high: mean(|one| one.high) };
    let operands: Vec<Named> = indices.iter().map(|one| named("the indices", "", *one)).collect();
    ledger.given(named("the final score", "", score), expected, &operands, || {
        format!("geometric mean of {} indices = {:.1}", operands.len(), expected.middle())
    });
}
