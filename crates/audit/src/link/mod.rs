//! Finds which figures are computed from which, by structure only. A ratio is linked to its
//! operands by the row or column that it shares with them, and by one form that holds for at least
//! three cells or a head that names both. A link by value alone is noise: among sixty figures of a
//! page, a printed "94 %" fits dozens of pairs by chance.

mod change;
mod form;
pub mod grid;
mod names;
pub(crate) mod near;
mod ratio;
pub mod words;

use crate::number::{Interval, NumberUnit, PrefixBase, Quantity};
use crate::page::AuditedPage;
use crate::prose::Sentence;
use grid::Grid;

pub use form::LinkForm;
pub use names::{mentions, name_words};

/// A derived figure and its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkEnds {
    pub derived: Quantity,
    pub form: LinkForm,
    pub numerator: Quantity,
    pub denominator: Quantity,
}

/// A derived figure with its operands and its subject.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedLink {
    pub ends: LinkEnds,
    pub why: LinkReason,
    /// Subject of the figure, for messages: row and column of the table, or `the change of ...`.
    pub of: String,
    /// Names of the two operands on the page.
    pub names: [String; 2],
}

impl std::ops::Deref for DerivedLink {
    type Target = LinkEnds;

    fn deref(&self) -> &LinkEnds {
        &self.ends
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkReason {
    /// The form holds for this many cells.
    Held(usize),
    /// The head or the sentence gives the names of both operands.
    Named,
    /// A sign or a word marks percentages in brackets as changes from the first figure.
    Signed,
    /// The sentence has both operands next to the figure.
    Told,
}

impl LinkEnds {
    /// Returns the result of the printed operands, in the unit of the derived figure. `None` if the
    /// divisor may be zero.
    pub fn recomputed(&self) -> Option<Interval> {
        self.result(self.numerator.interval(), self.denominator.interval())
    }

    /// Returns the result of the operands' printed values, without rounding intervals.
    pub fn central(&self) -> Option<f64> {
        let [above, below] = [&self.numerator, &self.denominator]
            .map(|operand| Interval::exact(operand.figure.value));
        Some(self.result(above, below)?.middle())
    }

    fn result(&self, numerator: Interval, denominator: Interval) -> Option<Interval> {
        Some(self.signed(self.form.quotient(numerator, denominator, self.derived.unit)?))
    }

    /// Gives a change of unknown direction the printed sign.
    fn signed(&self, given: Interval) -> Interval {
        match self.form == LinkForm::Change && self.derived.figure.value < 0.0 {
            true => Interval { low: -given.high, high: -given.low },
            false => given,
        }
    }

    /// Returns how unlikely it is that the ratio fits by chance, in bits; zero if anything would
    /// fit.
    fn surprise(&self) -> f64 {
        let Some(given) = self.recomputed() else { return 0.0 };
        // For equal operands any reading gives about 1.
        if self.numerator.interval().overlaps_with(self.denominator.interval()) {
            return 0.0;
        }
        let whole = if self.derived.unit == NumberUnit::Percent { 100.0 } else { 1.0 };
        let printed = self.derived.interval();
        let width = ((printed.high - printed.low) + (given.high - given.low)) / whole;
        // Ratios of figures that are next to each other lie around 1. Chance is taken to be even up
        // to this ratio's distance from 1.
        let value = self.derived.figure.value / whole;
        let apart = match self.form {
            LinkForm::Share | LinkForm::Multiple => (value - 1.0).abs().min(value.abs()),
            _ => value.abs(),
        };
        // For two operands far apart, any change is about the whole: `100 %`, `-1.00`.
        let operands = self.numerator.figure.value / self.denominator.figure.value;
        let saturated =
            !matches!(self.form, LinkForm::Share | LinkForm::Multiple) && operands < 0.05;
        if saturated {
            return 0.0;
        }
        // `0.0 %` fits any two operands that are far apart.
        if value.abs() < width {
            return 0.0;
        }
        (-(width / (2.0 * apart.max(0.05))).log2()).max(0.0)
    }

    /// Returns true if the operands can give the printed figure. `273 K` and `14.0 M` may also be
    /// 1024-based.
    pub fn gives_printed(&self) -> bool {
        self.recomputed()
            .is_some_and(|recomputed| recomputed.overlaps_with(self.derived.interval()))
            || self.holds_of_1024()
    }

    fn holds_of_1024(&self) -> bool {
        let [above, below] = [&self.numerator, &self.denominator];
        let prefixed =
            [above, below].iter().all(|one| one.base == PrefixBase::Decimal && one.scale > 1.0);
        if !prefixed
            || above.scale == below.scale
            || !matches!(above.unit, NumberUnit::Bare | NumberUnit::Bytes)
        {
            return false;
        }
        let power = ((above.scale / below.scale).log10() / 3.0).round() as i32;
        if power == 0 {
            return false;
        }
        let numerator = above.interval().scaled(1.024f64.powi(power));
        let given = self.result(numerator, below.interval());
        given.is_some_and(|given| given.overlaps_with(self.derived.interval()))
    }
}

/// Returns every derived figure of a page with known operands, in its grids and in its sentences.
pub fn links(page: &AuditedPage, grids: &[Grid], sentences: &[Sentence]) -> Vec<DerivedLink> {
    // The words of a sentence take precedence over what its figures fit.
    let mut links = change::links(page, sentences);
    links.extend(grids.iter().flat_map(ratio::links));
    let mut seen = std::collections::HashSet::new();
    links.retain(|link| seen.insert(link.derived.figure.spot));
    links
}

fn is_ratio(quantity: &Quantity) -> bool {
    matches!(quantity.unit, NumberUnit::Percent | NumberUnit::Times)
}

/// Returns true if one figure can be divided by the other.
pub(crate) fn comparable(left: &Quantity, right: &Quantity) -> bool {
    let plain = |unit| if unit == NumberUnit::PerSecond { NumberUnit::Bare } else { unit };
    plain(left.unit) == plain(right.unit)
        && left.unit != NumberUnit::Times
        && right.figure.value > 0.0
}

#[cfg(test)]
mod tests;
