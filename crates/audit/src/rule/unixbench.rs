//! X25: UnixBench's index is ten times the result over its baseline, the final score the geometric mean of the indices.

use super::Rule;
use super::ledger::{Ledger, Named, sheets};
use crate::finding::Severity;
use crate::import::sheet::Sheet;
use crate::import::unixbench::{BASELINE, FORMAT, INDEX, LISTED, RESULT, SCORE};
use crate::number::{Figure, Interval};

pub const RULE: Rule = Rule {
    id: "X25",
    name: "UnixBench's index is 10 * result / baseline, the score their geometric mean",
    severity: Severity::WrongFigure,
    holds: "index = 10 * result / baseline; score = geometric mean of the indices; list and table have the same results",
    silent: "about the score where a row of its table has no index",
    check: |evidence, sink| sheets(evidence, sink, RULE.id, FORMAT.name, relations),
};

fn relations(sheets: &[Sheet], ledger: &mut Ledger) {
    let mut indices: Vec<Option<Named>> = Vec::new();
    for sheet in sheets {
        let [listed, result, score] = [LISTED, RESULT, SCORE].map(|name| sheet.get(name));
        if let Some(result) = result {
            // The same test twice in a list cannot be told apart.
            let same = |one: &&Sheet| one.get(LISTED).is_some() && one.workload.name == sheet.workload.name;
            let mut listed = sheets.iter().filter(same);
            if let (Some(listed), None) = (listed.next().and_then(|one| one.get(LISTED)), listed.next()) {
                ledger.product(result, 1.0, &[(listed, 1)], 0.0);
            }
            ledger.of(sheet, INDEX, 10.0, &[(RESULT, 1), (BASELINE, -1)], 0.0);
            indices.push(sheet.get(INDEX));
        } else if let Some(score) = score {
            let all: Option<Vec<Named>> = indices.drain(..).collect();
            all.into_iter().for_each(|all| mean(score, &all, ledger));
        } else if listed.is_none() {
            indices.clear();
        }
    }
}

fn mean(score: Named, indices: &[Named], ledger: &mut Ledger) {
    if indices.is_empty() || indices.iter().any(|one| one.figure.low <= 0.0) {
        return;
    }
    let mean = |of: fn(&Figure) -> f64| {
        (indices.iter().map(|one| of(&one.figure).ln()).sum::<f64>() / indices.len() as f64).exp()
    };
    let expected = Interval { low: mean(|one| one.low), high: mean(|one| one.high) };
    ledger.given(score, expected, indices, || {
        format!("geometric mean of {} indices = {:.1}", indices.len(), expected.middle())
    });
}
