//! `krbd`: an image of a Ceph cluster as a block device of this host, by the kernel's own client.

use super::OptionKind::{Count, Word};
use super::{Capability, InFlight, LayerHelp, option};
use crate::stack::Face;
use iotax_facts::need::{Requirement, SearchedThing, everywhere};

pub const HELP: LayerHelp = LayerHelp {
    name: "krbd",
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | ceph(size=3) | krbd",
    options: &[
        option("queue-depth", Count).also(&["queue_depth"]).with_default("128"),
        option("read-from-replica", Word(&["no", "balance"]))
            .also(&["read_from_replica"])
            .with_default("no"),
        option("ms-mode", Word(&["legacy", "crc", "secure", "prefer-crc", "prefer-secure"]))
            .also(&["ms_mode"])
            .with_default("prefer-crc"),
    ],
    below: Face::Rbd,
    only_here: true,
    // One queue per processor: `rbd map` has no option for it.
    in_flight: Some(InFlight { option: "queue-depth", queues: Some("queues") }),
    capabilities: &[Capability::with_need_ids(
        "krbd",
        "layer krbd: an RBD image mapped by the kernel",
        &["ceph-common", "rbd", "root"],
    )],
    requires: &[Requirement {
        id: "rbd",
        why: "for the layer krbd",
        supply: &[everywhere(
            "modprobe rbd; if there is no such module, boot a kernel with CONFIG_BLK_DEV_RBD (grep BLK_DEV_RBD \
             /boot/config-* shows which have it)",
        )],
        finds: &[SearchedThing::Module("rbd")],
    }],
    programs: &["rbd"],
    ..LayerHelp::PLAIN
};
