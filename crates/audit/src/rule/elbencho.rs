//! X32: elbencho's rates are counts over the elapsed time, those of a mix add up, latencies rise from least to most.

use super::Rule;
use super::ledger::{Ledger, Named, named, sheets};
use crate::finding::Severity;
use crate::import::elbencho::{BLOCK, ENTRIES, ENTRY_RATE, FORMAT, MIX_COUNTS, MIX_RATES};
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, Sheet};

pub const RULE: Rule = Rule {
    id: "X32",
    name: "elbencho's rates are counts over the elapsed time",
    severity: Severity::WrongFigure,
    holds: "total / elapsed = rate; writes + reads of a mix = total; IOPS * block = MiB/s (CSV); latencies and percentiles rise; \
            printed figures are cut off, not rounded",
    silent: "of times printed as nothing",
    check: |evidence, sink| {
        sheets(evidence, sink, RULE.id, FORMAT.name, |sheets, ledger| {
            let own: Vec<&Sheet> = sheets.iter().filter(|sheet| !sheet.repeats).collect();
            for phase in own.chunks(2) {
                let block = phase.last().and_then(|last| last.get(BLOCK));
                phase.iter().for_each(|side| relations(side, block, ledger));
            }
        });
    },
};

fn relations(side: &Sheet, block: Option<Named>, ledger: &mut Ledger) {
    ledger.rates(side, [(IOPS, IOS), (BANDWIDTH, BYTES), (ENTRY_RATE, ENTRIES)]);
    let mix = MIX_RATES.into_iter().zip(MIX_COUNTS);
    ledger.rates(side, mix.flat_map(|(rates, counts)| rates.into_iter().zip(counts)));
    for (all, parts) in [IOPS, BANDWIDTH, ENTRY_RATE].into_iter().zip(MIX_RATES) {
        ledger.adds(side, all, &parts);
    }
    if let (Some(block), Some(iops), Some(bandwidth)) = (block, side.get(IOPS), side.get(BANDWIDTH)) {
        ledger.product(bandwidth, 1.0, &[(iops, 1), (block, 1)], 0.0);
    }
    ledger.latencies(side);
    if side.percentiles.is_sorted_by(|one, next| one.0 <= next.0) {
        let points = side.percentiles.iter().map(|(_, one)| named("the percentile", "us", *one));
        ledger.rising(&points.collect::<Vec<_>>(), 0.0);
    }
}
