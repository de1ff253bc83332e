//! `librbd`: an image of a Ceph cluster as a file of this host.

use super::OptionKind::Word;
use super::comparable::{Concept, How, Setting};
use super::{Capability, LayerHelp, option};
use crate::stack::Face;
use crate::stack::LayerSpec;
use iotax_facts::need::{Requirement, SearchedThing, everywhere};

/// Note for reports. One process serves the exported file, in QEMU up to 10.0 one I/O at a time.
const SERIAL: &str = "QEMU exports the image through FUSE, with few I/Os at a time and serialized writes: at high \
    iodepth this measures the export, not librbd";

pub const HELP: LayerHelp = LayerHelp {
    name: "librbd",
    elsewhere: &[("rbd-nbd", "librbd"), ("rbd-fuse", "librbd")],
    example: "[/dev/nvme1n1,/dev/nvme2n1,/dev/nvme3n1] | ceph(size=3) | librbd(cache=none)",
    options: &[option("cache", Word(&["none", "writeback"])).with_default("none")],
    positional: Some("cache"),
    below: Face::Rbd,
    gives: Face::File,
    only_here: true,
    comparable: &[
        (Concept::CacheMode, How::Option("cache")),
        (Concept::WriteCache, How::By(write_cache)),
    ],
    notes: &[("cache", "none", SERIAL), ("cache", "writeback", SERIAL)],
    capabilities: &[Capability::with_need_ids(
        "librbd",
        "layer librbd: an RBD image as a file on this host",
        &["ceph-common", "qemu-rbd", "qemu-storage-daemon", "fuse", "root"],
    )],
    requires: &[Requirement {
        id: "fuse",
        why: "for the layer librbd",
        supply: &[everywhere("modprobe fuse (in a container: run on the host itself)")],
        finds: &[SearchedThing::File("/dev/fuse")],
    }],
    ..LayerHelp::PLAIN
};

/// Returns the setting of librbd's cache if it holds writes back (`cache=writeback`).
pub fn write_cache(layer: &LayerSpec) -> Option<Setting> {
    let is_on = layer.option("cache") == Some("writeback");
    Setting::some_setting("librbd's cache holds writes back", "writeback").filter(|_| is_on)
}
