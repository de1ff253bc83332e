//! `partition`: a partition table with one partition.

use super::OptionKind::{Size, Word};
use super::{Capability, LayerHelp, option};
use iotax_facts::need::program;

pub const HELP: LayerHelp = LayerHelp {
    name: "partition",
    example: "/dev/nvme1n1 | partition(align=1MiB)",
    options: &[
        option("table", Word(&["gpt", "dos"])).with_default("gpt"),
        option("align", Size).with_default("1MiB"),
        option("size", Size),
    ],
    capabilities: &[Capability::needing("partition", "layer partition", "/dev/x | partition")],
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
