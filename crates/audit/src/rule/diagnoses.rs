//! Findings with an id of their own, of rules that look for them under another: each only has its words here.

use super::Rule;
use crate::finding::Severity::{self, Cosmetic, WrongFigure};

const fn told(severity: Severity, id: Text, name: Text, holds: Text, silent: Text) -> Rule {
    Rule { id, name, severity, holds, silent, check: |_, _| {} }
}

type Text = &'static str;

/// N2 is found by F1 to F3, T10 by T9, the others by T1.
pub const TOLD: [Rule; 6] = [
    told(
        WrongFigure,
        "N2",
        "fio 2.20 to 3.25 loses a carry when it prints figures",
        "what was issued, printed as that version prints it, is what a sound one prints",
        "where F1, F2 and F3 are, and of versions that print it right",
    ),
    told(
        Cosmetic,
        "N4",
        "a ratio is rounded, not cut off",
        "the printed digits are those of the ratio, rounded",
        "where T1 is",
    ),
    told(
        Cosmetic,
        "N5",
        "a ratio is rounded once",
        "the printed ratio is also that of the figures before they were rounded, as an output of the page has them",
        "where T1 is, and of hedged figures",
    ),
    told(
        WrongFigure,
        "N6",
        "a ratio is not off by a factor of ten",
        "printed / recomputed is not within 0.5 % of 10, 100 or 1000, either way; an operand may be the one that is off",
        "where T1 is",
    ),
    told(
        WrongFigure,
        "N7",
        "a ratio does not take 1000 for 1024",
        "printed / recomputed is not 1.024, 1.049 or 1.074, either way",
        "where T1 is, of few digits, and of what is not counted in bytes",
    ),
    told(
        WrongFigure,
        "T10",
        "no unit has half of what its equals have",
        "twice the figure is not within the spread of nominally equal units",
        "where T9 is",
    ),
];
