//! Slips in outputs of other tools than fio: a digit typed wrong.

use super::Slip;
use super::edit::{change_any, mistyped};
use crate::selfcheck::draft::{Draft, Kind, Target};
use crate::selfcheck::random::Random;

const RAW: &[Kind] = &[Kind::Raw];

/// All of them.
pub(super) const ALL: &[Slip] = &[
    Slip {
        name: "sysbench: a digit of the events a second",
        help: "one of the first two digits",
        kinds: RAW,
        rules: &["X27"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "sysbench", ["events per second:", ":"], &[]),
    },
    Slip {
        name: "sysbench: a digit of the memory's rate",
        help: "one of the first two digits of MiB a second",
        kinds: RAW,
        rules: &["X27"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "sysbench", ["transferred (", "("], &[' ']),
    },
    Slip {
        name: "mbw: a digit of a rate",
        help: "one of the first two digits of the rate of the first copy",
        kinds: RAW,
        rules: &["X26"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "Method: MEMCPY", ["0\t", "Copy: "], &[' ']),
    },
    Slip {
        name: "mbw: a digit of the mean",
        help: "one of the first two digits of the rate of AVG",
        kinds: RAW,
        rules: &["X26"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "Method: MEMCPY", ["AVG", "Copy: "], &[' ']),
    },
    Slip {
        name: "dd: a digit of the rate",
        help: "one of the digits",
        kinds: RAW,
        rules: &["X30"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "records out", ["copied, ", " s, "], &[' ']),
    },
];

/// One of the first two digits of a field of an output in which a text stands.
fn digit(
    draft: &mut Draft,
    random: &mut Random,
    of: &str,
    field: [&str; 2],
    behind: &[char],
) -> Option<Vec<Target>> {
    let kind = |lines: &[String]| lines.iter().any(|line| line.contains(of));
    let found = change_any(draft, random, &kind, field, behind, &|text, random| mistyped(text, 2, random));
    found.map(|(item, line)| vec![Target::Raw(item, line)])
}
