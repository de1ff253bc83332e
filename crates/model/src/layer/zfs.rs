//! `zfs`: a pool, and a volume or a file in it.

use super::OptionKind::{Count, Flag, Size, Word};
use super::comparable::{Concept, How, Setting};
use super::layout::{Joined, LayoutSpread, enough};
use super::{Capability, LayerHelp, MemoryCache, States, option};
use crate::stack::LayerSpec;
use iotax_facts::need::{Requirement, SearchedThing, debian, everywhere};

pub const HELP: LayerHelp = LayerHelp {
    name: "zfs",
    elsewhere: &[("zpool", "zfs"), ("zvol", "zfs"), ("raidz", "zfs(raidz)")],
    example: "[/dev/nvme1n1,/dev/nvme2n1] | zfs(stripe,compression=lz4)",
    options: &[
        option("vdev", Word(&["stripe", "mirror", "raidz", "raidz2"])).with_default("stripe"),
        option("kind", Word(&["zvol", "dataset"])).with_default("zvol"),
        option("ashift", Count).with_default("12"),
        option("volblocksize", Size).with_default("16KiB"),
        option("recordsize", Size).with_default("128KiB"),
        option("compression", Word(&["off", "lz4", "zstd"])).with_default("off"),
        option("dedup", Word(&["off", "on"])).with_default("off"),
        option("sync", Word(&["standard", "always", "disabled"])).with_default("standard"),
        option("primarycache", Word(&["all", "metadata", "none"])).with_default("all"),
        option("atime", Word(&["off", "on"])).with_default("off"),
        option("size", Size),
        option("thin", Flag).with_default("true"),
        option("arc-max", Size).also(&["arc_max", "zfs_arc_max"]),
    ],
    positional: Some("vdev"),
    joins: true,
    layout: Some(pool_layout),
    redundancy: vdev_redundancy,
    states: Some(States { source: "zpool status", of: "mirror, raidz, raidz2", out: false }),
    block: Some(block),
    memory_cache: Some(MemoryCache {
        name: "ARC",
        keeps: ("primarycache", "all"),
        limit: "arc-max",
        usual_share: 2,
        hint: "primarycache=metadata, a smaller arc-max, or more data",
    }),
    comparable: &[
        (Concept::Promise, How::Option("sync")),
        (Concept::ReadsBelow, How::Option("primarycache")),
        (Concept::Provisioning, How::By(provisioning)),
        // Versions of ZFS differ in their default compression.
        (Concept::Compression, How::Option("compression")),
        (Concept::Deduplication, How::Option("dedup")),
    ],
    notes: &[(
        "sync",
        "disabled",
        "ZFS acknowledges flushes and does nothing (sync=disabled): what was written in the last seconds is lost with the machine, and \
         there is no durable figure",
    )],
    drops_flushes: &[("sync", "disabled")],
    capabilities: &[Capability::needing("zfs", "layer zfs", "/dev/x | zfs")],
    requires: &[Requirement {
        id: "zfs",
        why: "for the layer zfs",
        supply: &[
            debian(
                "apt-get install zfsutils-linux zfs-dkms (Debian: in contrib; Ubuntu needs the first only)",
            ),
            everywhere("install OpenZFS 2.0 or newer, its tools and its module"),
        ],
        finds: &[SearchedThing::Program("zpool"), SearchedThing::Module("zfs")],
    }],
    programs: &["zfs"],
    adds_io: Some("copies, parity and metadata of the pool"),
    ..LayerHelp::PLAIN
};

/// Returns true if the layer gives a file in a file system of the pool, false if it gives a volume.
pub fn is_dataset(layer: &LayerSpec) -> bool {
    layer.option("kind") == Some("dataset")
}

/// Returns the option that sets the block size: `recordsize` of a dataset, `volblocksize` of a
/// volume.
pub fn block_option(layer: &LayerSpec) -> &'static str {
    if is_dataset(layer) { "recordsize" } else { "volblocksize" }
}

fn block(layer: &LayerSpec) -> u64 {
    layer.option_bytes(block_option(layer)).unwrap_or_default()
}

fn vdev_redundancy(layer: &LayerSpec, _: usize) -> u32 {
    match layer.option("vdev") {
        // One disk of one mirror: two of different mirrors may be lost only by chance.
        Some("mirror" | "raidz") => 1,
        Some("raidz2") => 2,
        _ => 0,
    }
}

fn provisioning(layer: &LayerSpec) -> Option<Setting> {
    let is_thin = !is_dataset(layer) && layer.option("thin") != Some("false");
    Setting::some_setting("thin zvol", "thin").filter(|_| is_thin)
}

fn pool_layout(layer: &LayerSpec, drives: u64) -> Result<Joined, String> {
    let block = block(layer);
    let raidz = |parity: u64| {
        let ashift =
            layer.option_number("ashift").filter(|shift| (9..=16).contains(shift)).unwrap_or(12);
        enough(drives, parity).map(|()| LayoutSpread::Raidz { parity, block, sector: 1 << ashift })
    };
    let (spread, name) = match layer.option("vdev").unwrap_or_default() {
        "stripe" => (LayoutSpread::Striped { over: drives }, "ZFS stripe"),
        // Mirrors of two, and a stripe of these.
        "mirror" => {
            return Ok(LayoutSpread::Mirrored { copies: 2, groups: true }.join_as("ZFS mirrors"));
        }
        "raidz" | "raidz1" => (raidz(1)?, "raidz"),
        "raidz2" => (raidz(2)?, "raidz2"),
        "raidz3" => (raidz(3)?, "raidz3"),
        other => {
            return Err(format!("what a vdev of type {other} asks of its drives is not known"));
        }
    };
    Ok(spread.join_as(name).in_turns(block_option(layer), block))
}
