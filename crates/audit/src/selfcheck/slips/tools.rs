//! Slips in outputs of other tools than fio: a digit typed wrong.

use super::Slip;
use super::edit::{change_any, mistyped};
use crate::selfcheck::draft::{Draft, Kind, Target};
use crate::selfcheck::random::Random;

const RAW: &[Kind] = &[Kind::Raw];
const TOOLS: &[Kind] = &[Kind::Tools];

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
    Slip {
        name: "vdbench: a digit of the average rate",
        help: "one of the first two digits of the rate of the line avg_",
        kinds: TOOLS,
        rules: &["X23"],
        bound: 0.95,
        inject: |draft, random| {
            digit(draft, random, "interval        i/o   MB/sec", ["avg_2-6", "avg_2-6 "], &[' '])
        },
    },
    Slip {
        name: "HCIBench: a digit of the sum",
        help: "one of the first two digits of the I/Os a second of all machines",
        kinds: TOOLS,
        rules: &["X28"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "hci-vdb-lab-0", ["IOPS\t", "= "], &[' ']),
    },
    Slip {
        name: "UnixBench: a digit of a result",
        help: "one of the first two digits of a result beside its index",
        kinds: TOOLS,
        rules: &["X25"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "INDEX VALUES", ["Dhrystone 2", "116700.0 "], &[' ']),
    },
    Slip {
        name: "UnixBench: a digit of the score",
        help: "one of the first two digits of the final score",
        kinds: TOOLS,
        rules: &["X25"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "INDEX VALUES", ["FINAL SCORE", "SCORE"], &['\n']),
    },
    Slip {
        name: "DiskSpd: a digit of the total bytes",
        help: "one of the first two digits of the bytes of all threads",
        kinds: TOOLS,
        rules: &["X31"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "Command Line: diskspd", ["total:", "total:"], &[' ']),
    },
    Slip {
        name: "elbencho: a digit of the throughput",
        help: "one of the first two digits of the throughput of the last thread that is done",
        kinds: TOOLS,
        rules: &["X32"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "RESULT TYPE", ["Throughput MiB/s", ":"], &[' ']),
    },
    Slip {
        name: "iperf3: a digit of the sum",
        help: "one of the first two digits of the transfer of all streams in the last second",
        kinds: TOOLS,
        rules: &["X24"],
        bound: 0.95,
        inject: |draft, random| digit(draft, random, "iperf Done", ["[SUM]", "sec"], &[' ']),
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
