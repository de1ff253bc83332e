//! Rules that hold figures against what hardware can do. They share one look at the page: what it names, and what was measured on what.
//!
//! A figure is tied to a link or a drive by structure (the title, head or label of its own table) or where the page names only one; else
//! the rules are silent.

use super::{Evidence, Sink};
use crate::knowledge::mentions::{Mentions, Word};
use crate::knowledge::ratings::{Match, Ratings};
use std::rc::Rc;

mod budget;
mod cache;
mod concurrency;
mod cpu;
mod front;
mod link;
mod load;
mod measured;
mod raid;
mod rating;
mod shared;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use measured::{Measured, Origin};

pub(crate) use load::Load;

pub use budget::{BUDGET as P12, PER_CORE as P13};
pub use cache::{BASE as P7, DISKS as P8};
pub use concurrency::RULE as P14;
pub use cpu::RULE as P15;
pub use front::RULE as P10;
pub use link::{ABOVE as P1, CAUSE as P3, STATED as P2};
pub use raid::RULE as P11;
pub use rating::{ABOVE as P5, FLOOR as P6};
pub use shared::RULE as P4;

/// What rules about hardware look at.
pub struct Hardware {
    /// What the page names.
    pub mentions: Mentions,
    /// What was measured: of outputs, then of tables, in their order.
    pub measured: Vec<Measured>,
    /// The ratings that figures are held against.
    pub ratings: Ratings,
}

/// The one with the largest value.
fn worst<'a>(all: &[&'a Measured], value: impl Fn(&Measured) -> Option<f64>) -> Option<&'a Measured> {
    let valued = all.iter().filter_map(|one| Some((value(one)?, *one)));
    valued.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, one)| one)
}

impl Sink {
    /// What the page names and what was measured on it: looked up once a page.
    fn hardware(&mut self, evidence: &Evidence) -> Rc<Hardware> {
        Rc::clone(self.hardware.get_or_insert_with(|| Rc::new(Hardware::of(evidence))))
    }
}

impl Hardware {
    fn of(evidence: &Evidence) -> Hardware {
        let mentions = Mentions::of(evidence.page, evidence.outputs, evidence.tables, evidence.ratings);
        let measured = match mentions.too_large {
            true => Vec::new(),
            false => measured::of(evidence, &mentions),
        };
        Hardware { mentions, measured, ratings: evidence.ratings.clone() }
    }

    /// Indices of lines that may be sentences: outside outputs and tables, and no longer than so many bytes; none of a page that is too
    /// large.
    fn prose<'a>(&'a self, evidence: &'a Evidence, longest: usize) -> impl Iterator<Item = usize> + 'a {
        let lines = evidence.text_lines().take_while(|_| !self.mentions.too_large);
        lines.filter(move |at| evidence.page.line(*at).len() < longest)
    }

    /// What was measured in a table.
    fn of_table(&self, table: usize) -> &[Measured] {
        let before =
            |wanted: usize| self.measured.partition_point(|one| one.origin < Origin::Cell(wanted, 0, 0));
        &self.measured[before(table)..before(table + 1)]
    }

    /// The rating of the one drive that a figure is of; `None` where several drives answered together, or nobody can say which did.
    fn drive_of(&self, measured: &Measured) -> Option<Match<'_>> {
        if measured.says(Word::Several) || measured.says(Word::Fabric) {
            return None;
        }
        let own = measured.drive.or_else(|| self.only_drive())?;
        let capacity = own.capacity.or_else(|| self.capacity_of(own.drive));
        self.ratings.match_of(own.drive, capacity)
    }

    /// The only drive that the page names, one of it, and no other maker's.
    fn only_drive(&self) -> Option<measured::Tie> {
        let first = self.mentions.drives.first()?;
        let alone = self
            .mentions
            .drives
            .iter()
            .all(|named| named.drive == first.drive && named.count.unwrap_or(1) == 1);
        let several = self.mentions.has(Word::Several);
        let own = measured::makers_of(first.drive, &self.ratings);
        let others = self.mentions.makers.iter().any(|maker| !own.contains(maker));
        (alone && !several && !others).then_some(measured::Tie { drive: first.drive, capacity: None })
    }

    /// The only capacity of a drive that the page names.
    fn capacity_of(&self, drive: usize) -> Option<f64> {
        let mut named = self
            .mentions
            .drives
            .iter()
            .filter(|named| named.drive == drive)
            .filter_map(|named| named.capacity);
        let first = named.next()?;
        named.all(|other| (other / first - 1.0).abs() < 0.05).then_some(first)
    }
}
