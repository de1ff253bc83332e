//! `ceph`: a temporary Ceph cluster on several files or devices, with a pool for RBD images.

use super::OptionKind::{Count, Size, Word};
use super::{Capability, LayerHelp, States, option};
use crate::stack::Face;
use crate::stack::LayerSpec;
use iotax_facts::need::{Requirement, SearchedThing, debian, everywhere, fedora, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "ceph",
    elsewhere: &[("rbd", "ceph")],
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | ceph(size=3) | vm(cache=writeback)",
    options: &[
        option("size", Count).with_default("3"),
        option("min-size", Count).also(&["min_size"]),
        option("pg", Count).also(&["pg_num", "pg-num"]).with_default("16"),
        option("object-size", Size).also(&["object_size"]).with_default("4MiB"),
        option("image-size", Size).also(&["image_size"]),
        option("cache-policy", Word(&["writearound", "writeback", "writethrough"]))
            .also(&["cache_policy", "rbd_cache_policy"])
            .with_default("writearound"),
        option("osd-memory", Size).also(&["osd_memory_target"]).with_default("1GiB"),
    ],
    gives: Face::Rbd,
    only_here: true,
    joins: true,
    gives_parts: true,
    layout: Some(|_, _| Err("BlueStore's write amplification depends on the workload".to_owned())),
    redundancy: replica_redundancy,
    caches_reads: Some("the cache of the OSDs (osd-memory)"),
    states: Some(States { source: "ceph -s", of: "size=2, 3", out: true }),
    capabilities: &[Capability::with_need_ids(
        "ceph",
        "layer ceph: a temporary cluster with RBD images",
        &["ceph", "ceph-common", "qemu-rbd", "root", "losetup", "loop-devices"],
    )],
    requires: &[
        program!(
            "ceph-common",
            ["ceph", "rbd"],
            "for images of Ceph",
            "ceph-common",
            "ceph-common",
            "Ceph's common tools"
        ),
        program!(
            "ceph",
            ["ceph-mon", "ceph-mgr", "ceph-osd", "monmaptool", "ceph-authtool"],
            "for the layer ceph",
            "ceph-mon ceph-mgr ceph-osd ceph-common",
            "ceph-mon ceph-mgr ceph-osd ceph-common",
            "Ceph's mon, mgr, osd and common tools"
        ),
        // QEMU itself reports whether it has the driver.
        Requirement {
            id: "qemu-rbd",
            why: "for QEMU's rbd driver",
            supply: &[
                debian("apt-get install qemu-block-extra qemu-utils"),
                fedora("dnf install qemu-block-rbd qemu-img"),
                everywhere("install QEMU's block driver rbd, and qemu-img"),
            ],
            finds: &[SearchedThing::Program("qemu-img")],
        },
    ],
    programs: &["ceph"],
    adds_io: Some("copies and metadata of the OSDs"),
    ..LayerHelp::PLAIN
};

/// Ids of what this host needs for an RBD image that iotax did not create.
pub const MEDIUM_NEEDS: [&str; 2] = ["ceph-common", "qemu-rbd"];

/// Returns the most bytes of writes that librbd's cache holds back from an image on these layers: 0
/// if the `ceph` layer's cache policy is writethrough, else Ceph's default `rbd_cache_max_dirty` of
/// 24 MiB.
pub fn held_back(layers: &[LayerSpec]) -> u64 {
    let policy = layers.iter().rfind(|layer| layer.name == HELP.name);
    let policy = policy.and_then(|layer| layer.option("cache-policy"));
    if policy == Some("writethrough") { 0 } else { 24 << 20 }
}

fn copies(layer: &LayerSpec) -> u64 {
    layer.option_number("size").unwrap_or_default()
}

/// Returns how many copies must be up for Ceph to serve I/O: `min-size`, or Ceph's default of `size
/// - size / 2`.
pub fn min_size(layer: &LayerSpec) -> u64 {
    layer.option_number("min-size").unwrap_or_else(|| copies(layer) - copies(layer) / 2)
}

fn replica_redundancy(layer: &LayerSpec, members: usize) -> u32 {
    let copies = copies(layer).min(members as u64);
    copies.saturating_sub(min_size(layer)) as u32
}
