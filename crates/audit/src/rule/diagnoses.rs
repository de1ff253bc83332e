//! What rules tell under an id of its own, since the catalogue has one for it: the rule that finds it looks, these have the words.

use super::{Evidence, Rule, Sink};
use crate::finding::Severity;

const fn told(
    id: &'static str,
    name: &'static str,
    severity: Severity,
    holds: &'static str,
    silent: &'static str,
) -> Rule {
    Rule { id, name, severity, holds, silent, check: by_another }
}

/// Nothing is left to look for: the rule that is named in `silent` has looked.
fn by_another(_: &Evidence, _: &mut Sink) {}

/// Of F1 to F3.
pub const LOST_CARRY: Rule = told(
    "N2",
    "fio 2.20 to 3.25 loses a carry when it prints figures",
    Severity::WrongFigure,
    "what was issued, printed as that version prints it, is what a sound one prints",
    "where F1, F2 and F3 are, and of versions that print it right",
);

/// Of T1.
pub const CUT_OFF: Rule = told(
    "N4",
    "a ratio is rounded, not cut off",
    Severity::Cosmetic,
    "the printed digits are those of the ratio, rounded",
    "where T1 is",
);

/// Of T1.
pub const ROUNDED_TWICE: Rule = told(
    "N5",
    "a ratio is rounded once",
    Severity::Cosmetic,
    "the printed ratio is also that of the figures before they were rounded, where an output of the page tells those",
    "where T1 is, and of hedged figures",
);

/// Of T1.
pub const FACTOR_TEN: Rule = told(
    "N6",
    "a ratio is not off by a factor of ten",
    Severity::WrongFigure,
    "printed / recomputed is not within 0.5 % of 10, 100 or 1000, either way; where the ratio is in line with the others of its column and \
     what the operands give is not, an operand may be off instead, and none is corrected",
    "where T1 is",
);

/// Of T1.
pub const OTHER_BASE: Rule = told(
    "N7",
    "a ratio does not take 1000 for 1024",
    Severity::WrongFigure,
    "printed / recomputed is not 1.024, 1.049 or 1.074, either way",
    "where T1 is, of few digits, and of what is not counted in bytes",
);

/// Of T9.
pub const HALF: Rule = told(
    "T10",
    "no unit has half of what its equals have",
    Severity::WrongFigure,
    "twice the figure is not within the spread of nominally equal units",
    "where T9 is",
);
