//! X30: dd's rate is its bytes over its seconds, the sizes in brackets are its bytes, its bytes are its records.

use super::Rule;
use super::ledger::{Ledger, Named, sheets};
use crate::finding::Severity;
use crate::import::dd::{FORMAT, SIZE};
use crate::import::sheet::{BANDWIDTH, BYTES, IOS, Sheet};
use crate::number::Interval;

pub const RULE: Rule = Rule {
    id: "X30",
    name: "dd's rate is its bytes over its seconds",
    severity: Severity::WrongFigure,
    holds: "bytes / seconds = rate; both sizes in brackets are the bytes; whole records are of one size; all within rounding",
    silent: "where seconds are too short to tell, and of records that were cut",
    check: |evidence, sink| {
        sheets(evidence, sink, RULE.id, FORMAT.name, |sheets, ledger| {
            sheets.iter().for_each(|copy| relations(copy, ledger));
        });
    },
};

fn relations(copy: &Sheet, ledger: &mut Ledger) {
    let Some(bytes) = copy.get(BYTES) else { return };
    for (_, size) in copy.figures.iter().filter(|(_, one)| one.name == SIZE) {
        ledger.product(*size, 1.0, &[(bytes, 1)], 0.0);
    }
    ledger.rates(copy, [(BANDWIDTH, BYTES)]);
    // Whole records are of one size, which is a whole number.
    if let Some(whole) = copy.get(IOS).filter(|whole| whole.figure.value > 0.0) {
        let (all, count) = (bytes.figure.value, whole.figure.value);
        let nearest = Interval::exact((all / count).round() * count);
        ledger.within(bytes, nearest, &[Named { name: "the records out", ..whole }], || {
            format!("{all} bytes / {count} records = {:.3} bytes", all / count)
        });
    }
}
