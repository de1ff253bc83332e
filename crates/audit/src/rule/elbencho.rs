//! X32: elbencho's rates are counts over the elapsed time, those of a mix add up, latencies rise from least to most.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::Severity;
use crate::import::Said;
use crate::import::elbencho::{Latency, Pair, Phase, Share, What};
use crate::number::Figure;

/// The rule's entry in the family.
pub const RULE: Rule = Rule {
    id: "X32",
    name: "elbencho's rates are counts over the elapsed time",
    severity: Severity::WrongFigure,
    holds: "total / elapsed = rate, when the first and when the last thread was done; writes + reads of a mix = total; IOPS * \
            block = MiB/s of files that are whole blocks (CSV); least <= mean <= most latency; percentiles rise; printed \
            figures are cut off, not rounded",
    silent: "of times printed as nothing",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    for output in evidence.outputs {
        let Said::Elbencho(said) = &output.said else { continue };
        for phase in &said.phases {
            let mut ledger = Ledger::new(evidence.page, RULE.id);
            rates(phase, &mut ledger);
            mix(phase, &mut ledger);
            blocks(phase, &mut ledger);
            phase.latencies.iter().for_each(|latency| latencies(latency, &mut ledger));
            ledger.settle(sink);
        }
    }
}

const WHATS: [What; 3] = [What::Entries, What::Ios, What::Bytes];

fn rate_name(what: What) -> (&'static str, &'static str) {
    match what {
        What::Entries => ("the entries a second", "/s"),
        What::Ios => ("the IOPS", ""),
        What::Bytes => ("the throughput", "MiB/s"),
    }
}

fn count_name(what: What) -> (&'static str, &'static str) {
    match what {
        What::Entries => ("the entries", ""),
        What::Ios => ("the I/Os", ""),
        What::Bytes => ("the MiB moved", "MiB"),
    }
}

/// The two sides of a pair.
const SIDES: [fn(&Pair) -> Figure; 2] = [|pair| pair.first, |pair| pair.last];

/// What is seen to hold of rates that a mix cannot: its entries are counted for writes only.
fn rates(phase: &Phase, ledger: &mut Ledger) {
    let Some(elapsed) = &phase.elapsed else { return };
    for what in WHATS {
        for share in [Share::All, Share::Write, Share::Read] {
            let (Some(rate), Some(count)) = (phase.count(what, share, true), phase.count(what, share, false))
            else {
                continue;
            };
            for side in SIDES {
                let (name, unit) = rate_name(what);
                let rate = named(name, unit, side(rate));
                let (name, unit) = count_name(what);
                let seconds = named("the elapsed time", "", side(elapsed));
                ledger.product(rate, 1.0, &[(named(name, unit, side(count)), 1), (seconds, -1)], 0.0);
            }
        }
    }
}

/// Writes and reads of a mix are its total.
fn mix(phase: &Phase, ledger: &mut Ledger) {
    for what in WHATS {
        let of = |share| phase.count(what, share, true);
        let (Some(writes), Some(reads), Some(all)) = (of(Share::Write), of(Share::Read), of(Share::Both))
        else {
            continue;
        };
        let (name, unit) = rate_name(what);
        for side in SIDES {
            let parts = [named("the writes", unit, side(writes)), named("the reads", unit, side(reads))];
            ledger.sum(named(name, unit, side(all)), 1.0, &parts, 0.0);
        }
    }
}

fn blocks(phase: &Phase, ledger: &mut Ledger) {
    let (Some(block), Some(file)) = (phase.block, phase.file) else { return };
    if block.value < 1.0 || file % (block.value as u64).max(1) != 0 || file == 0 {
        return;
    }
    for share in [Share::All, Share::Write, Share::Read] {
        let (Some(ios), Some(bytes)) =
            (phase.count(What::Ios, share, true), phase.count(What::Bytes, share, true))
        else {
            continue;
        };
        for side in SIDES {
            let operands =
                [(named("the IOPS", "", side(ios)), 1), (named("the block size", "bytes", block), 1)];
            ledger.product(named("the throughput", "MiB/s", side(bytes)), 1.0, &operands, 0.0);
        }
    }
}

fn latencies(latency: &Latency, ledger: &mut Ledger) {
    if let Some([least, mean, most]) = latency.bounds {
        let order = [
            named("the least latency", "", least),
            named("the mean latency", "", mean),
            named("the greatest latency", "", most),
        ];
        ledger.rising(&order, 0.0);
    }
    let rises = latency.percentiles.windows(2).all(|pair| pair[0].0 <= pair[1].0);
    let points: Vec<Named> =
        latency.percentiles.iter().map(|(_, figure)| named("the percentile", "us", *figure)).collect();
    if rises {
        ledger.rising(&points, 0.0);
    }
}
