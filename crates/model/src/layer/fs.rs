//! `fs(xfs)`: a new file system, and a file in it that is loaded.

use super::OptionKind::{Size, Word};
use super::layout::{Joined, LayoutSpread};
use super::{Capability, LayerHelp, option};
use crate::stack::Face;
use crate::stack::LayerSpec;
use iotax_facts::need::program;
use iotax_units::GIB;

pub const HELP: LayerHelp = LayerHelp {
    name: "fs",
    elsewhere: &[("xfs", "fs(xfs)"), ("ext4", "fs(ext4)"), ("btrfs", "fs(btrfs)")],
    values_elsewhere: &[("zfs", "zfs")],
    example: "file:/srv/x.img,size=4GiB | loop | fs(xfs)",
    options: &[
        option("type", Word(&["xfs", "ext4", "btrfs"])),
        option("block-size", Size).also(&["block_size"]),
        option("data", Word(&["single", "raid0", "raid1", "raid10"])).with_default("single"),
        option("metadata", Word(&["single", "dup", "raid0", "raid1", "raid10"])),
        option("mount", Word(&["noatime", "relatime"])).with_default("noatime"),
    ],
    positional: Some("type"),
    one_of: &["type"],
    gives: Face::File,
    joins: true,
    layout: Some(btrfs_layout),
    capabilities: &[
        Capability::needing("fs(xfs)", "layer fs(xfs)", "/dev/x | fs(xfs)"),
        Capability::needing("fs(ext4)", "layer fs(ext4)", "/dev/x | fs(ext4)"),
        Capability::needing("fs(btrfs)", "layer fs(btrfs)", "/dev/x | fs(btrfs)"),
    ],
    requires: &[
        program!("mkfs.xfs", "for the layer fs(xfs)", "xfsprogs", "xfsprogs", "xfsprogs"),
        program!("mkfs.ext4", "for the layer fs(ext4)", "e2fsprogs", "e2fsprogs", "e2fsprogs"),
        program!(
            "mkfs.btrfs",
            "for the layer fs(btrfs)",
            "btrfs-progs",
            "btrfs-progs",
            "btrfs-progs"
        ),
    ],
    programs: &["mkfs.xfs", "mkfs.ext4", "mkfs.btrfs"],
    adds_io: Some("the journal and metadata of its file system"),
    ..LayerHelp::PLAIN
};

/// Largest chunk of data that btrfs allocates, in bytes. Each chunk is on the drive that has most
/// room left.
const BTRFS_CHUNK: u64 = GIB;

/// Returns the layout of btrfs, the only file system here that uses several devices. Fails for data
/// profiles other than single, raid0, raid1 and raid10.
fn btrfs_layout(layer: &LayerSpec, drives: u64) -> Result<Joined, String> {
    let profile = layer.option("data").unwrap_or_default();
    let spread = match profile {
        "single" => LayoutSpread::Linear { chunk: Some(BTRFS_CHUNK) },
        "raid0" => LayoutSpread::Striped { over: drives },
        "raid1" | "raid10" => LayoutSpread::Mirrored { copies: 2, groups: false },
        other => return Err(format!("what btrfs's {other} asks of its drives is not known")),
    };
    Ok(spread.join_as(format!("btrfs {profile}")))
}
