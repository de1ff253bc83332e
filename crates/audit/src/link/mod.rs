//! Which figures are computed from which: by structure only. A ratio is linked to its operands by the row or column that it
//! shares with them and by one form that holds for at least three cells, or by a head that names both. A link by value alone is
//! noise: among sixty figures of a page a printed "94 %" fits dozens of pairs by chance.

mod across;
mod base_row;
mod bracketed;
mod changes;
mod columns;
mod form;
mod made;
mod names;
mod sentences;
mod shares;

use crate::number::{Interval, Quantity, Unit};
use crate::page::Page;
use crate::prose::Clause;
use crate::table::Table;

pub use form::Form;
pub use made::{Made, What};
pub use names::{mentions, parts};

/// A derived figure with its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The ratio, loss or gain.
    pub derived: Quantity,
    /// How it is computed.
    pub form: Form,
    /// What is divided.
    pub numerator: Quantity,
    /// By what.
    pub denominator: Quantity,
    /// What ties them: `the form holds for 4 cells of this column`, `the head names both`.
    pub why: Why,
    /// What it is of, for sentences: row and column of the table.
    pub of: String,
    /// What the page calls the two.
    pub names: [String; 2],
}

/// What ties a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The form holds for so many cells.
    Held(usize),
    /// The head, or the sentence, names both operands.
    Named,
    /// The sentence states both operands beside it.
    Told,
}

impl Link {
    /// What the printed operands give, in the unit of the derived figure.
    pub fn recomputed(&self) -> Option<Interval> {
        self.form.of(self.numerator.interval(), self.denominator.interval(), self.derived.unit)
    }

    /// The same from the operands' printed values, without their rounding.
    pub fn central(&self) -> Option<f64> {
        let exact = |quantity: &Quantity| Interval::exact(quantity.figure.value);
        Some(self.form.of(exact(&self.numerator), exact(&self.denominator), self.derived.unit)?.middle())
    }

    /// Whether it is told finely enough to tell this form from others: of `3 / 2`, which is anything from 1 to 2.3, it is not, nor of
    /// `2x`. Equal operands are in any ratio of 1, of all forms.
    fn tells(&self) -> bool {
        let share = self.numerator.interval().over(self.denominator.interval());
        let printed = self.derived.interval();
        let coarse =
            self.derived.unit == Unit::Times && printed.high - printed.low > COARSE * printed.middle();
        let equal = self.numerator.interval().meets(self.denominator.interval());
        !coarse && !equal && share.is_some_and(|share| share.high - share.low <= COARSE * share.middle())
    }

    /// Whether the ratio is printed finely enough to tell its operands from others: `2` fits most that differ.
    fn fine(&self) -> bool {
        let printed = self.derived.interval();
        printed.high - printed.low <= FINE * printed.middle().abs()
    }

    /// Whether the printed figure is one that the operands give.
    pub fn holds(&self) -> bool {
        self.recomputed().is_some_and(|recomputed| recomputed.meets(self.derived.interval()))
    }
}

/// A share of operands that may be off by more than that of itself fits any figure.
const COARSE: f64 = 0.25;

/// A ratio whose last digit is more than that of itself fits too much.
const FINE: f64 = 0.1;

/// Fewer cells that a form holds for are chance.
pub const LEAST: usize = 3;

/// Every derived figure of a page's tables and sentences whose operands are known.
pub fn links(page: &Page, tables: &[Table], clauses: &[Clause]) -> Vec<Link> {
    let mut links = Vec::new();
    for table in tables {
        links.extend(columns::links(table));
        links.extend(shares::links(table));
    }
    links.extend(across::links(tables));
    let tied = links.iter().map(|link| link.derived.figure.spot).collect();
    links.extend(tables.iter().flat_map(|table| base_row::links(page, table, &tied)));
    links.extend(tables.iter().flat_map(|table| bracketed::links(table, &tied)));
    links.extend(changes::links(page, clauses));
    links.extend(sentences::links(page, clauses, tables));
    let mut seen = std::collections::HashSet::new();
    links.retain(|link| seen.insert(link.derived.figure.spot));
    links
}

/// Whether a figure is a ratio.
fn is_ratio(quantity: &Quantity) -> bool {
    matches!(quantity.unit, Unit::Percent | Unit::Times)
}

/// Whether one can be divided by the other.
pub(crate) fn comparable(left: &Quantity, right: &Quantity) -> bool {
    let plain = |unit| if unit == Unit::PerSecond { Unit::Bare } else { unit };
    plain(left.unit) == plain(right.unit) && !is_ratio(left) && right.figure.value > 0.0
}

/// Of links that one form or another might make, those that structure allows: enough of them hold, or the head names them.
fn settled(mut candidates: Vec<Vec<Link>>, named: impl Fn(&[Link]) -> bool) -> Vec<Link> {
    let held = |links: &[Link]| links.iter().filter(|link| link.holds()).count();
    candidates.retain(|links| !links.is_empty());
    let best = candidates
        .iter()
        .enumerate()
        .max_by_key(|(at, links)| (held(links), named(links), std::cmp::Reverse(*at)));
    let Some((_, best)) = best else { return Vec::new() };
    let count = held(best);
    let telling = best.iter().filter(|link| link.holds() && link.tells()).count();
    if telling >= LEAST && 5 * count >= 3 * best.len() {
        return best.iter().cloned().map(|link| Link { why: Why::Held(count), ..link }).collect();
    }
    // Too few to see the form by itself: the head must name it, and one of several must hold where there are several.
    let by_name = candidates.iter().filter(|links| named(links)).max_by_key(|links| held(links));
    match by_name {
        Some(links) if links.len() == 1 || 2 * held(links) >= links.len() => {
            links.iter().cloned().map(|link| Link { why: Why::Named, ..link }).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
