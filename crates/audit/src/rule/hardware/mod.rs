//! Rules that hold figures against what hardware can do. They share one look at the page: what it names, and what was measured on what.
//! A figure is tied to a link or a drive by structure (the title, head or label of its own table) or where the page names only one; else
//! the rules are silent.

use crate::evidence::{Evidence, Sink};
use crate::knowledge::mentions::Mentions;
use crate::knowledge::ratings::{Match, Ratings};
use crate::number::Figure;
use measured::{Measured, Tie, only};

mod concurrency;
mod disks;
mod link;
mod measured;
mod rating;

/// P1, P2, P4, P5, P8 and P14.
pub(super) fn check(evidence: &Evidence, sink: &mut Sink) {
    let mentions = Mentions::of(evidence.page, evidence.lines_outside_outputs(), evidence.ratings);
    let measured = if mentions.too_large { Vec::new() } else { measured::of(evidence) };
    let hardware = Hardware { mentions, measured, ratings: evidence.ratings };
    let checks = [link::check, rating::check, disks::check, concurrency::check];
    checks.into_iter().for_each(|check| check(&hardware, evidence, sink));
}

/// What rules about hardware look at.
struct Hardware<'a> {
    /// What the page names.
    mentions: Mentions,
    /// What was measured: of outputs, then of tables, in their order.
    measured: Vec<Measured>,
    /// The ratings that figures are held against.
    ratings: &'a Ratings,
}

/// The one with the largest least value.
fn worst<'a>(all: &[&'a Measured], value: impl Fn(&Measured) -> Option<Figure>) -> Option<&'a Measured> {
    let valued = all.iter().filter_map(|one| Some((value(one)?.low, *one)));
    valued.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, one)| one)
}

impl<'a> Hardware<'a> {
    /// The rating of the one drive that a figure is of; `None` where several drives answered together, or nobody can say which did.
    fn drive_of(&self, measured: &Measured) -> Option<Match<'a>> {
        if measured.says("several") || measured.says("fabric") {
            return None;
        }
        let (drive, capacity) = measured.drive.or_else(|| self.only_drive())?;
        self.ratings.match_of(drive, capacity.or_else(|| self.capacity_of(drive)))
    }

    /// The only drive that the page names, one of it, and no other maker's.
    fn only_drive(&self) -> Option<Tie> {
        let only = only(&self.mentions.drives, &self.mentions.makers, self.ratings);
        Some((only.filter(|_| !self.mentions.has("several"))?, None))
    }

    /// The only capacity of a drive that the page names.
    fn capacity_of(&self, drive: usize) -> Option<f64> {
        let mine = self.mentions.drives.iter().filter(|one| one.drive == drive);
        let mut named = mine.filter_map(|one| one.capacity);
        let first = named.next()?;
        named.all(|other| (other / first - 1.0).abs() < 0.05).then_some(first)
    }
}
