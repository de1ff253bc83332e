//! X29: what rados bench, rbd bench, CrystalDiskMark and ioping print agrees: IOPS times block size is the bandwidth, counts over
//! the time are the rates, latencies are in order.

use super::Rule;
use super::ledger::{Ledger, sheets};
use crate::finding::Severity;
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, LEAST, MEAN, MOST, Sheet, TIME};
use crate::import::{crystal, ioping, rados, rbd};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X29",
    name: "rates of rados, rbd, CrystalDiskMark and ioping are counts over time and IOPS times block size",
    severity: Severity::WrongFigure,
    holds: "IOPS * block = bandwidth; I/Os / time = IOPS; bytes / time = bandwidth; least <= mean <= most; all within rounding",
    silent: "about blocks that are not told",
    check: |evidence, sink| {
        for tool in [rados::FORMAT, rbd::FORMAT, crystal::FORMAT, ioping::FORMAT] {
            sheets(evidence, sink, RULE.id, tool.name, |sheets, ledger| {
                sheets.iter().for_each(|sheet| relations(sheet, ledger));
            });
        }
    },
};

fn relations(sheet: &Sheet, ledger: &mut Ledger) {
    let [iops, bandwidth, ios, bytes, time] = [IOPS, BANDWIDTH, IOS, BYTES, TIME].map(|name| sheet.get(name));
    if let (Some(iops), Some(bandwidth), Some(block)) = (iops, bandwidth, sheet.workload.bs) {
        ledger.product(bandwidth, block as f64, &[(iops, 1)], 0.0);
    }
    if let Some(time) = time {
        let pairs = [(iops, ios), (bandwidth, bytes)];
        for (rate, count) in pairs.into_iter().filter_map(|(rate, count)| rate.zip(count)) {
            ledger.product(rate, 1e9, &[(count, 1), (time, -1)], 0.0);
        }
        // Where no bytes are told they are whole blocks.
        if let (Some(bandwidth), Some(ios), None, Some(block)) = (bandwidth, ios, bytes, sheet.workload.bs) {
            ledger.product(bandwidth, 1e9 * block as f64, &[(ios, 1), (time, -1)], 0.0);
        }
    }
    let order: Vec<_> = [LEAST, MEAN, MOST].iter().filter_map(|name| sheet.get(name)).collect();
    ledger.rising(&order, 0.0);
}
