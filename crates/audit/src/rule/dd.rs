//! X30: dd's rate is its bytes over its seconds, the sizes in brackets are its bytes, its bytes are its records.

use super::Rule;
use super::ledger::{Ledger, named};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::dd::Copy;
use crate::number::Interval;

pub const RULE: Rule = Rule {
    id: "X30",
    name: "dd's rate is its bytes over its seconds",
    severity: Severity::WrongFigure,
    holds: "bytes / seconds = rate; both sizes in brackets are the bytes; whole records are of one size; all within rounding",
    silent: "where seconds are too short to tell, and of records that were cut",
    check: |evidence, sink| {
        for output in evidence.outputs {
            let Said::Dd(copy) = &output.said else { continue };
            let mut ledger = Ledger::new(evidence.page, RULE.id);
            relations(copy, &mut ledger);
            ledger.settle(sink);
        }
    },
};

fn relations(copy: &Copy, ledger: &mut Ledger) {
    let bytes = named("the bytes copied", "bytes", copy.bytes);
    for size in &copy.sizes {
        ledger.product(named("the size in brackets", size.unit, size.figure), 1.0, &[(bytes, 1)], 0.0);
    }
    let time = named("the time", "s", copy.time);
    let rate = named("the rate", copy.rate.unit, copy.rate.figure);
    ledger.product(rate, 1e9, &[(bytes, 1), (time, -1)], 0.0);
    // Whole records are of one size, which is a whole number.
    let whole = copy.records.map(|[_, out]| out).filter(|(whole, cut)| cut.value == 0.0 && whole.value > 0.0);
    if let Some((whole, _)) = whole {
        let size = copy.bytes.value / whole.value;
        let nearest = Interval::exact(size.round() * whole.value);
        ledger.within(bytes, nearest, &[named("the records out", "records", whole)], || {
            format!("{} bytes / {} records = {size:.3} bytes", copy.bytes.value, whole.value)
        });
    }
}
