//! Rules that no slip is made for, and why: the table of rules has no line without the one or the other.

/// What most of them have in common.
const NEEDS: &str = "takes several commands and outputs that belong together, which pages of the pool do not have; held by its unit tests \
                     and by published pages";

/// Rules and reasons.
pub const WITHOUT: &[(&str, &str)] = &[
    ("F18", "says how fio 3.13 and later print groups: true of each such output, so a slip changes nothing"),
    ("F26", NEEDS),
    ("M4", NEEDS),
    ("M5", NEEDS),
    ("M6", NEEDS),
    ("M10", "says what a run of iperf3 was (directions, retransmissions): no figure of it is wrong"),
    ("M11", NEEDS),
    ("M14", NEEDS),
    ("N9", "says of how many runs means are: a wrong figure makes it silent"),
    ("S5", "a claim without data has nothing to slip from; held by its unit tests and by published pages"),
    ("S6", NEEDS),
    ("S8", NEEDS),
    ("S9", NEEDS),
    ("S10", NEEDS),
    ("T5", "sums, means and extremes of tables are not in the pages yet; held by its unit tests"),
    ("T6", NEEDS),
    ("T7", NEEDS),
    ("T8", NEEDS),
    ("T12", "says how a chart is told: true of each such title"),
    ("X10", "percentiles of several jobs in a table are not in the pages yet; held by its unit tests"),
    ("X14", NEEDS),
    (
        "X21",
        "cells that are equal to the last digit by mistake are not in the pages yet; held by its unit tests",
    ),
];
