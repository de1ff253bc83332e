//! Slips of figures that a machine, a command or a sentence bounds: beyond their bounds.

use super::Slip;
use crate::selfcheck::draft::{Draft, Kind, Target};
use crate::selfcheck::pages::bounded::exceed;
use crate::selfcheck::random::Random;

const BOUNDED: &[Kind] = &[Kind::Bounded];

macro_rules! beyond {
    ($($rule:literal, $name:literal, $help:literal;)*) => {
        &[$(Slip {
            name: $name,
            help: $help,
            kinds: BOUNDED,
            rules: &[$rule],
            bound: 0.95,
            inject: |draft, random| page(draft, random, $rule),
        }),*]
    };
}

/// All of them.
pub(super) const ALL: &[Slip] = beyond![
    "P1", "bound: above the network", "two to three GB/s over one 10GbE";
    "P2", "bound: above a stated limit", "more than the limit that a sentence states";
    "P3", "bound: a cause that is not full", "a rate that is said to be limited by a link and fills half of it";
    "P4", "bound: two systems at one ceiling", "both systems at what their link carries";
    "P5", "bound: above the rating", "more I/Os a second than the drive is rated at";
    "P6", "bound: faster than the medium", "reads one at a time in less than flash takes";
    "P7", "bound: a guest above its host", "three times the host's I/Os and more";
    "P10", "bound: one rate under every load", "four loads within a few percent, far below the drives";
    "P11", "bound: a sum of drives for parity", "the drives' rates summed as what an array of RAID 6 can do";
    "P12", "bound: more machines than threads", "virtual processors for more threads than there are";
    "P13", "bound: a rate a core above the drives", "a rate a core that times the cores is more than the drives have";
    "M7", "method: dd through the page cache", "no oflag=direct";
    "M8", "method: zeros on what compresses", "a pool with compression, filled with zeros";
    "M9", "method: a depth without effect", "an engine that has one I/O in flight at a depth of 32";
    "M12", "method: a server of an older generation", "drives of PCIe 4.0 in a server of PCIe 3.0";
    "M13", "method: a side without figures", "a comparison in words with figures of one side";
    "P14", "bound: one in flight", "a bottleneck from large blocks that went one at a time";
];

fn page(draft: &mut Draft, random: &mut Random, rule: &str) -> Option<Vec<Target>> {
    exceed(draft, random, rule).map(|_| vec![Target::Page])
}
