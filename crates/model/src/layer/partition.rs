//! `partition`: a partition table with one partition.

use super::OptionKind::{Size, Word};
use super::{Capability, LayerHelp, option};
use iotax_facts::need::program;

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "partition",
    help: "a partition table with one partition",
    example: "/dev/nvme1n1 | partition(align=1MiB)",
    options: &[
        option("table", Word(&["gpt", "dos"]), "which partition table").default("gpt"),
        option("align", Size, "the byte at which the partition begins").default("1MiB"),
        option("size", Size, "bytes of the partition; not written: all that there are"),
    ],
    capabilities: &[Capability::of("partition", "layer partition", "/dev/x | partition")],
    requires: &[program!(
        "sfdisk",
        ["sfdisk", "partx", "wipefs"],
        "for the layer partition",
        "fdisk",
        "util-linux",
        "util-linux"
    )],
    ..LayerHelp::PLAIN
};
