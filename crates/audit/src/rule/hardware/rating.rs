//! P5 and P6: what the maker rates a drive at, and the time that its medium takes.

use super::Hardware;
use super::measured::Measured;
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::mentions::Word;
use crate::knowledge::ratings::{ABOVE_RATING, BELOW_RATED_LATENCY, Match, Rated, Writes};
use crate::knowledge::{iops_text, media::Medium, rate_text};
use crate::number::Interval;
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// P5.
pub const ABOVE: Rule = Rule {
    id: "P5",
    name: "no drive is far above its rating",
    severity: Severity::WrongConclusion,
    holds: "4k random I/Os a second and sequential bytes a second against 1.1 times the rating of the drive, of the largest capacity \
            where none is told; wrong-conclusion where the figure is called sustained, else ambiguous",
    silent: "where the drive is not known, not the only one of the page (and not named by the figure's own table), one of several as \
             one, behind a network, or the page's words around the figure tell of a cache",
    check: above,
};

/// P6.
pub const FLOOR: Rule = Rule {
    id: "P6",
    name: "no read is faster than its medium",
    severity: Severity::Ambiguous,
    holds: "the mean time of 4k random reads, one at a time, against the least time of the medium of the drive that is named; of drives \
            with a cache of SLC that of SLC, and never more than 0.75 of a rated latency",
    silent: "as P5; where depth one is not told, or several jobs are and no mean latency",
    check: floor,
};

/// A figure above its rating.
struct Over<'a> {
    measured: &'a Measured,
    rated: Rated,
    drive: Match<'a>,
    value: f64,
    rating: f64,
}

fn above(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let mut all: Vec<Over> = hardware.measured.iter().filter_map(|one| over(&hardware, one)).collect();
    all.sort_by(|one, other| (other.value / other.rating).total_cmp(&(one.value / one.rating)));
    let mut told: Vec<(String, Rated)> = Vec::new();
    for one in &all {
        let key = (one.drive.drive.name.clone(), one.rated);
        if told.contains(&key) {
            continue;
        }
        let same = all.iter().filter(|other| other.rated == one.rated && other.drive.drive.name == key.0);
        let others: Vec<Spot> =
            same.map(|other| other.measured.spot).filter(|spot| *spot != one.measured.spot).collect();
        told.push(key);
        sink.finds(told_over(one, &others));
    }
}

fn over<'a>(hardware: &'a Hardware, one: &'a Measured) -> Option<Over<'a>> {
    if one.says(Word::Cached) {
        return None;
    }
    let way = one.way()?;
    let (rated, value) = match (one.load.random?, way) {
        (true, Way::Read) if one.is_random_4k() => (Rated::RandreadIops, one.ios()?.low),
        (true, Way::Write) if one.is_random_4k() => (Rated::RandwriteIops, one.ios()?.low),
        (false, Way::Read) => (Rated::Read, one.bytes()?.low),
        (false, Way::Write) => (Rated::Write, one.bytes()?.low),
        _ => return None,
    };
    let drive = hardware.drive_of(one)?;
    let rating = drive.most(rated)?;
    // Random figures of hard disks are P8's.
    let disks =
        drive.drive.media == Medium::Hdd && matches!(rated, Rated::RandreadIops | Rated::RandwriteIops);
    (value > ABOVE_RATING * rating && !disks).then_some(Over { measured: one, rated, drive, value, rating })
}

fn told_over(one: &Over, others: &[Spot]) -> Finding {
    let sustained = one.measured.says(Word::Sustained);
    let severity = if sustained { Severity::WrongConclusion } else { Severity::Ambiguous };
    let text = |value: f64| match one.rated {
        Rated::Read | Rated::Write => rate_text(value),
        _ => format!("{} a second", iops_text(value)),
    };
    let value = match one.rated {
        Rated::Read | Rated::Write => one.measured.told_bytes(),
        _ => one.measured.told_ios(),
    };
    let (what, writes) = match one.rated {
        Rated::RandreadIops => ("4k random reads", false),
        Rated::RandwriteIops => ("4k random writes", true),
        Rated::Read => ("sequential reads", false),
        _ => ("sequential writes", true),
    };
    let why = match (writes, one.drive.drive.writes) {
        (false, _) => "blocks that were never written, or a cache, answered",
        (true, Writes::Sustained) => "a fresh drive or a cache took them; the drive's steady state is below",
        (true, Writes::Burst) => "a cache in front of the drive took them",
    };
    let name = &one.drive.drive.name;
    let message = format!(
        "{} of {what} is above what the {name} is rated at ({}): {why}",
        text(one.value),
        text(one.rating)
    );
    let arithmetic = format!(
        "{} / {} = {:.1}; rating: {}",
        text(value),
        text(one.rating),
        value / one.rating,
        one.drive.drive.source
    );
    Finding::new("P5", severity, one.measured.spot, message).by(arithmetic).against(others.iter().copied())
}

fn floor(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    let mut told: Vec<String> = Vec::new();
    let mut all: Vec<(&Measured, Interval, Match, f64)> = hardware
        .measured
        .iter()
        .filter_map(|one| {
            let time = time(one)?;
            let drive = hardware.drive_of(one)?;
            let floor = floor_of(&drive);
            (time.high < floor).then_some((one, time, drive, floor))
        })
        .collect();
    all.sort_by(|one, other| one.1.high.total_cmp(&other.1.high));
    for (one, time, drive, floor) in &all {
        let name = &drive.drive.name;
        if told.contains(name) {
            continue;
        }
        told.push(name.clone());
        let others = all.iter().filter(|other| other.2.drive.name == *name && other.0.spot != one.spot);
        let message = format!(
            "4k random reads in {:.0} us, one at a time, are not from the {} of the {name} ({:.0} us at the least): a cache, or blocks \
             that were never written",
            time.middle() / 1e3,
            drive.drive.media.name(),
            floor / 1e3
        );
        let finding = Finding::new("P6", Severity::Ambiguous, one.spot, message);
        sink.finds(finding.against(others.map(|other| other.0.spot)));
    }
}

/// Nanoseconds of a random read of 4 KiB, one at a time.
fn time(one: &Measured) -> Option<Interval> {
    if !one.is_random_4k() || one.load.depth != Some(1) || one.says(Word::Cached) {
        return None;
    }
    // Reads of a mix wait for writes; they are never faster.
    let reads = one.way() == Some(Way::Read);
    match (one.mean_ns, one.load.jobs.unwrap_or(1)) {
        (Some(mean), _) if reads => Some(mean),
        (None, 1) if reads => Interval::exact(1e9).over(one.ios()?),
        _ => None,
    }
}

fn floor_of(drive: &Match) -> f64 {
    let medium = if drive.has_slc_cache() { Medium::Slc } else { drive.drive.media };
    let rated =
        drive.least(Rated::RandreadLatency).map_or(f64::INFINITY, |latency| BELOW_RATED_LATENCY * latency);
    medium.read_floor_ns().min(rated)
}
