//! `readahead`: how far the kernel reads ahead of buffered reads in order (`blockdev --setra`).

use super::OptionKind::Size;
use super::{Capability, LayerHelp, option};

pub const HELP: LayerHelp = LayerHelp {
    name: "readahead",
    elsewhere: &[("blockdev", "readahead(4MiB)"), ("setra", "readahead(4MiB)")],
    example: "/dev/nvme1n1 | readahead(4MiB)",
    options: &[option("size", Size)],
    positional: Some("size"),
    one_of: &["size"],
    capabilities: &[Capability::needing(
        "readahead",
        "layer readahead",
        "/dev/x | readahead(4MiB)",
    )],
    only_buffered: true,
    ..LayerHelp::PLAIN
};
