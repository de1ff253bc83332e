//! X32: elbencho's rates are counts over the elapsed time, those of a mix add up, latencies rise from least to most.

use super::Rule;
use super::ledger::{Ledger, Named, named, sheets};
use crate::finding::Severity;
use crate::import::elbencho::{BLOCK, ENTRIES, ENTRY_RATE, FORMAT, MIX_COUNTS, MIX_RATES};
use crate::import::sheet::{BANDWIDTH, BYTES, IOPS, IOS, LEAST, MEAN, MOST, Sheet, TIME};

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X32",
    name: "elbencho's rates are counts over the elapsed time",
    severity: Severity::WrongFigure,
    holds: "total / elapsed = rate, when the first and when the last thread was done; writes + reads of a mix = total; IOPS * \
            block = MiB/s of files that are whole blocks (CSV); least <= mean <= most latency; percentiles rise; printed \
            figures are cut off, not rounded",
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
    let get = |name: &str| side.get(name);
    if let Some(time) = get(TIME) {
        let [[write_ios, read_ios], [written, read]] = MIX_COUNTS;
        let [[write_iops, read_iops], [write_rate, read_rate], _] = MIX_RATES;
        let all = [(IOPS, IOS), (BANDWIDTH, BYTES), (ENTRY_RATE, ENTRIES)];
        let mix = [(write_iops, write_ios), (read_iops, read_ios), (write_rate, written), (read_rate, read)];
        for (rate, count) in all.into_iter().chain(mix) {
            if let (Some(rate), Some(count)) = (get(rate), get(count)) {
                ledger.product(rate, 1e9, &[(count, 1), (time, -1)], 0.0);
            }
        }
    }
    for (all, parts) in [IOPS, BANDWIDTH, ENTRY_RATE].into_iter().zip(MIX_RATES) {
        if let (Some(all), [Some(writes), Some(reads)]) = (get(all), parts.map(get)) {
            ledger.sum(all, &[writes, reads], 0.0);
        }
    }
    if let (Some(block), Some(iops), Some(bandwidth)) = (block, get(IOPS), get(BANDWIDTH)) {
        ledger.product(bandwidth, 1.0, &[(iops, 1), (block, 1)], 0.0);
    }
    let order: Vec<Named> = [LEAST, MEAN, MOST].into_iter().filter_map(get).collect();
    ledger.rising(&order, 0.0);
    if side.percentiles.windows(2).all(|pair| pair[0].0 <= pair[1].0) {
        let points: Vec<Named> =
            side.percentiles.iter().map(|(_, one)| named("the percentile", "us", *one)).collect();
        ledger.rising(&points, 0.0);
    }
}
