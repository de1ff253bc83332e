//! X29: rados bench, rbd bench, CrystalDiskMark and ioping.

use super::Rule;
use super::ledger::{Ledger, sheets};
use crate::finding::Severity;
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, Sheet, TIME};
use crate::import::{crystal, ioping, rados, rbd};

pub const RULE: Rule = Rule {
    id: "X29",
    name: "rates of rados, rbd, CrystalDiskMark and ioping are counts over time and IOPS times block size",
    severity: Severity::WrongFigure,
    holds: "IOPS * block = bandwidth; I/Os / time = IOPS; bytes / time = bandwidth; least <= mean <= most; all within rounding",
    silent: "about blocks that are not told",
    check: |evidence, sink| {
        for tool in [rados::FORMAT, rbd::FORMAT, crystal::FORMAT, ioping::FORMAT] {
            sheets(evidence, sink, RULE.id, tool.name, |sheets, ledger| {
                // ioping's time has the pauses between requests in it.
                let timed = tool.name != ioping::FORMAT.name;
                sheets.iter().for_each(|sheet| relations(sheet, timed, ledger));
            });
        }
    },
};

fn relations(sheet: &Sheet, timed: bool, ledger: &mut Ledger) {
    if timed {
        ledger.rates(sheet, [(IOPS, IOS), (BANDWIDTH, BYTES)]);
    }
    if let Some(block) = sheet.workload.bs.map(|block| block as f64) {
        ledger.of(sheet, BANDWIDTH, block, &[(IOPS, 1)], 0.0);
        // Where no bytes are told they are whole blocks.
        if timed && sheet.get(BYTES).is_none() {
            ledger.of(sheet, BANDWIDTH, 1e9 * block, &[(IOS, 1), (TIME, -1)], 0.0);
        }
    }
    ledger.latencies(sheet);
}
