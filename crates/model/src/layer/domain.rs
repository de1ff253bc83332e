//! `domain`: changes the settings of an existing virtual machine for a visit, and restores them
//! afterwards.

use super::OptionKind::{Count, Number, Word};
use super::comparable::{Concept, How};
use super::{LayerHelp, option};

/// Entry of the layer. Settings of the virtual machine that are not written stay as they are.
pub const HELP: LayerHelp = LayerHelp {
    name: "domain",
    elsewhere: &[
        ("libvirt", "domain"),
        ("proxmox", "domain"),
        ("esxi", "domain"),
        ("machine", "domain"),
    ],
    example: "ssh:vm1:/dev/vdb | domain(cache=none,io=native,queues=4)",
    options: &[
        option("cache", Word(&["none", "writethrough", "writeback", "directsync"])),
        option("io", Word(&["native", "threads", "io_uring"])),
        option("queues", Count),
        option("iothread", Number),
        option(
            "mode",
            Word(&["persistent", "independent_persistent", "independent_nonpersistent"]),
        ),
        option("latency", Word(&["low", "normal", "high"])),
    ],
    restarts_place: true,
    comparable: &[
        (Concept::CacheMode, How::Option("cache")),
        (Concept::DiskQueues, How::Option("queues")),
    ],
    ..LayerHelp::PLAIN
};
