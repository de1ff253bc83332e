//! P5: what the maker rates a drive at.

use super::Hardware;
use super::measured::Measured;
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::media::Medium;
use crate::knowledge::ratings::{ABOVE_RATING, Match, Rated, Writes};
use crate::knowledge::{iops_text, rate_text};

/// Sustained writes that are so much above their rating are none.
const FAR: f64 = 2.0;

/// A figure above its rating.
struct Over<'a> {
    measured: &'a Measured,
    rated: Rated,
    drive: Match<'a>,
    value: f64,
    rating: f64,
}

pub(super) fn check(hardware: &Hardware, _: &Evidence, sink: &mut Sink) {
    let mut all: Vec<Over> = hardware.measured.iter().filter_map(|one| over(hardware, one)).collect();
    all.sort_by(|one, other| (other.value / other.rating).total_cmp(&(one.value / one.rating)));
    // The furthest above of each rating of a drive, with the others.
    while !all.is_empty() {
        let (rated, drive) = (all[0].rated, all[0].drive.drive);
        let alike = |one: &Over| one.rated == rated && one.drive.drive.name == drive.name;
        let (same, rest): (Vec<Over>, Vec<Over>) = all.into_iter().partition(alike);
        sink.finds(finding(&same[0]).against(same[1..].iter().map(|one| one.measured.spot)));
        all = rest;
    }
}

fn over<'a>(hardware: &'a Hardware, one: &'a Measured) -> Option<Over<'a>> {
    let small = one.load.bs == Some(4096);
    let (rated, figure) = match (one.load.random?, one.load.way?) {
        (true, Way::Read) if small => (Rated::RandreadIops, one.ios()?),
        (true, Way::Write) if small => (Rated::RandwriteIops, one.ios()?),
        (false, Way::Read) => (Rated::Read, one.bytes()?),
        (false, Way::Write) => (Rated::Write, one.bytes()?),
        _ => return None,
    };
    let drive = hardware.drive_of(one).filter(|_| !one.says("cached"))?;
    let rating = drive.most(rated)?;
    let of_disk = drive.drive.media == Medium::Hdd && one.load.random == Some(true);
    let above = figure.low > ABOVE_RATING * rating && !of_disk;
    above.then_some(Over { measured: one, rated, drive, value: figure.value, rating })
}

fn finding(one: &Over) -> Finding {
    let drive = one.drive.drive;
    let bytes = matches!(one.rated, Rated::Read | Rated::Write);
    let text = |value: f64| if bytes { rate_text(value) } else { format!("{} a second", iops_text(value)) };
    let is_write = matches!(one.rated, Rated::Write | Rated::RandwriteIops);
    let what = [["4k random reads", "4k random writes"], ["sequential reads", "sequential writes"]];
    let what = what[usize::from(bytes)][usize::from(is_write)];
    let why = match (is_write, drive.writes) {
        (false, _) => "blocks that were never written, or a cache, answered",
        (true, Writes::Sustained) => "a fresh drive or a cache took them; the drive's steady state is below",
        (true, Writes::Burst) => "a cache in front of the drive took them",
    };
    let (value, rating) = (text(one.value), text(one.rating));
    let message = format!("{value} of {what} is above what the {} is rated at ({rating}): {why}", drive.name);
    let times = one.value / one.rating;
    let sustained = is_write && drive.writes == Writes::Sustained && one.measured.says("sustained");
    let severity = if sustained && times > FAR { Severity::WrongConclusion } else { Severity::Ambiguous };
    Finding::new("P5", severity, one.measured.spot, message)
        .by(format!("{value} / {rating} = {times:.1}; rating: {}", drive.source))
}
