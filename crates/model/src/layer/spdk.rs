//! `spdk(...)`: a bdev of a running SPDK target.

use super::OptionKind::{Path, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::layout::{Joined, LayoutSpread};
use super::{Capability, LayerHelp, States, option};
use crate::stack::Face;
use crate::stack::LayerSpec;

pub use iotax_facts::spdk::USUAL_SOCKET;

/// Option of another layer that names the SPDK target of the bdev below. It is set from the option
/// `rpc` of the layer that makes the bdev.
pub const SOCKET: &str = "spdk";

pub const HELP: LayerHelp = LayerHelp {
    name: "spdk",
    example: "[/dev/nvme1n1,/dev/nvme2n1] | spdk(raid=raid1) | vm(attach=vhost-user-blk)",
    options: &[
        option("rpc", Path).with_default(USUAL_SOCKET),
        option("raid", Word(&["none", "raid0", "raid1", "raid5f", "concat"])).with_default("none"),
        option("strip-size", Size).with_default("64KiB"),
        option("aio", Word(&["libaio", "io_uring"])).with_default("libaio"),
        option("lvol", Word(&["none", "thick", "thin"])).with_default("none"),
        option("cluster-size", Size).also(&["cluster_size"]).with_default("4MiB"),
        option("size", Size),
    ],
    below: Face::Any,
    gives: Face::Bdev,
    joins: true,
    layout: Some(spdk_layout),
    redundancy: bdev_redundancy,
    states: Some(States { source: "bdev_raid_get_bdevs", of: "raid1, raid5f", out: false }),
    comparable: &[(
        Concept::Provisioning,
        How::By(|layer| {
            Setting::some_setting("thin lvol", "thin")
                .filter(|_| layer.option("lvol") == Some("thin"))
        }),
    )],
    notes: &[
        (
            "raid",
            "raid1",
            "SPDK has no first sync, so copies of what was never written through the array are as unequal as the members were",
        ),
        (
            "raid",
            "raid5f",
            "SPDK has no first sync, so parity of what was never written through the array was never computed: after a failure it \
             would give back other data than was read before",
        ),
    ],
    capabilities: &[Capability::with_need_ids(
        "spdk",
        "a guest's disk served by a running SPDK target",
        &["qemu", "guest-kernel", "spdk"],
    )],
    adds_io: Some("copies and parity of its RAID"),
    ..LayerHelp::PLAIN
};

fn bdev_redundancy(layer: &LayerSpec, members: usize) -> u32 {
    match layer.option("raid") {
        Some("raid1") => (members as u32).saturating_sub(1),
        Some("raid5f") => 1,
        _ => 0,
    }
}

fn spdk_layout(layer: &LayerSpec, drives: u64) -> Result<Joined, String> {
    let strip = layer.option_bytes("strip-size").unwrap_or_default();
    let level = layer.option("raid").unwrap_or_default();
    let spread = match level {
        "raid0" => LayoutSpread::Striped { over: drives },
        "raid1" => LayoutSpread::Mirrored { copies: drives, groups: true },
        "concat" => LayoutSpread::ONE_BY_ONE,
        "raid5f" => LayoutSpread::parity(drives, 1, strip, true)?,
        other => return Err(format!("what SPDK's {other} asks of its drives is not known")),
    };
    let joined = spread.join_as(format!("SPDK {level}"));
    let has_turns = matches!(level, "raid0" | "raid5f");
    Ok(if has_turns { joined.in_turns("strip-size", strip) } else { joined })
}
