//! P10: what stands before the compared layers is the limit.

use super::Hardware;
use super::measured::{Measured, Origin};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::iops_text;
use crate::knowledge::mentions::Word;
use crate::knowledge::ratings::{Match, Rated};
use crate::rule::{Evidence, Rule, Sink};

/// P10.
pub const RULE: Rule = Rule {
    id: "P10",
    name: "rates that do not depend on the load are those of the path",
    severity: Severity::WrongConclusion,
    holds: "four or more small random loads of one table whose I/Os a second differ by less than 30 % and are below a quarter of what the \
            drives are rated at for that mix, reads below a tenth; wrong-conclusion where two or more tables of the page are so",
    silent: "where the page does not name one model of drive with its number, or no fabric, guest or array is before them",
    check,
};

/// What differs by less does not depend on the load.
const SPREAD: f64 = 0.30;
/// Drives that are used less are not the limit.
const OF_DRIVES: f64 = 0.25;
const OF_READS: f64 = 0.10;
/// Fewer loads tell nothing.
const LOADS: usize = 4;
const SMALL: u64 = 16 << 10;

fn check(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let Some((drive, count)) = drives(&hardware) else { return };
    let capped: Vec<Vec<&Measured>> = (0..evidence.tables.len())
        .map(|table| of_table(&hardware, table))
        .filter(|rows| flat(rows, &drive, count))
        .collect();
    let Some(first) = capped.first() else { return };
    let severity = if capped.len() > 1 { Severity::WrongConclusion } else { Severity::Ambiguous };
    let (low, high) = range(capped.iter().flatten().copied());
    let reads = drive.least(Rated::RandreadIops).unwrap_or(0.0) * f64::from(count);
    let message = format!(
        "whatever the mix, {} to {} I/Os a second, where {count} drives are rated at {} reads: the path before them is the limit, not what \
         is compared behind it",
        iops_text(low),
        iops_text(high),
        iops_text(reads)
    );
    let arithmetic = format!(
        "{} / {} = {:.1} %; rating: {}",
        iops_text(high),
        iops_text(reads),
        100.0 * high / reads,
        drive.drive.source
    );
    let spot = first[0].spot;
    let others = capped.iter().flatten().map(|one| one.spot).filter(|other| *other != spot);
    sink.finds(Finding::new("P10", severity, spot, message).by(arithmetic).against(others));
}

/// The one model that the page has several of.
fn drives(hardware: &Hardware) -> Option<(Match<'_>, u32)> {
    let mut several = hardware.mentions.drives.iter().filter(|named| named.count.unwrap_or(1) > 1);
    let first = several.next()?;
    if several.any(|other| other.drive != first.drive || other.count != first.count) {
        return None;
    }
    let capacity = first.capacity.or_else(|| hardware.capacity_of(first.drive));
    Some((hardware.ratings.match_of(first.drive, capacity)?, first.count?))
}

/// The small random loads of a table, in one column.
fn of_table(hardware: &Hardware, table: usize) -> Vec<&Measured> {
    let before = [Word::Fabric, Word::Guest, Word::Several];
    let mine = |one: &&Measured| {
        let small = one.load.bs.is_some_and(|bytes| bytes <= SMALL) && one.load.random == Some(true);
        let queued = one.load.depth != Some(1);
        small && queued && one.iops.is_some() && before.into_iter().any(|word| one.says(word))
    };
    let all: Vec<&Measured> = hardware.of_table(table).iter().filter(mine).collect();
    let column = |one: &Measured| match one.origin {
        Origin::Cell(_, _, column) => column,
        Origin::Output(_) => 0,
    };
    let first = all.first().map_or(0, |one| column(one));
    all.into_iter().filter(|one| column(one) == first).collect()
}

fn range<'a>(all: impl Iterator<Item = &'a Measured>) -> (f64, f64) {
    let values = all.filter_map(|one| one.iops).map(|iops| iops.middle());
    values.fold((f64::INFINITY, 0.0), |(low, high), value| (low.min(value), high.max(value)))
}

fn flat(rows: &[&Measured], drive: &Match, count: u32) -> bool {
    let mut loads: Vec<_> =
        rows.iter().map(|one| (one.load.bs, one.load.way, one.load.reads.map(f64::to_bits))).collect();
    loads.sort_by_key(|(bs, way, reads)| (*bs, way.map(|way| way as u8), *reads));
    loads.dedup();
    let (low, high) = range(rows.iter().copied());
    if loads.len() < LOADS || high / low - 1.0 > SPREAD {
        return false;
    }
    let share = |one: &&Measured| Some(one.iops?.high / (f64::from(count) * able(one, drive)?));
    let shares: Option<Vec<f64>> = rows.iter().map(share).collect();
    let reads = rows
        .iter()
        .zip(shares.iter().flatten())
        .any(|(one, share)| one.way() == Some(Way::Read) && *share < OF_READS);
    reads && shares.is_some_and(|shares| shares.iter().all(|share| *share < OF_DRIVES))
}

/// I/Os a second of a drive for a mix: its ratings are of 4k, larger blocks take as much longer as they are larger.
fn able(one: &Measured, drive: &Match) -> Option<f64> {
    let [reads, writes] = [drive.least(Rated::RandreadIops)?, drive.least(Rated::RandwriteIops)?];
    let share = match one.load.way? {
        Way::Read => 1.0,
        Way::Write => 0.0,
        _ => one.load.reads?,
    };
    let larger = (one.load.bs? as f64 / 4096.0).max(1.0);
    Some(1.0 / ((share / reads + (1.0 - share) / writes) * larger))
}
