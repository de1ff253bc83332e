//! `loop`: a block device over a file.

use super::OptionKind::Flag;
use super::{Capability, LayerHelp, option};
use crate::stack::Face;
use iotax_facts::need::{Requirement, SearchedThing, everywhere, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "loop",
    elsewhere: &[("losetup", "loop")],
    example: "file:/srv/x.img,size=4GiB | loop",
    options: &[option("direct-io", Flag).also(&["direct_io"]).with_default("true")],
    below: Face::Any,
    capabilities: &[Capability::needing("loop", "layer loop", "/dev/x | loop")],
    requires: &[
        program!("losetup", "for the layer loop", "mount util-linux", "util-linux", "util-linux"),
        Requirement {
            id: "loop-devices",
            why: "for the layer loop",
            supply: &[everywhere("modprobe loop (in a container: run on the host itself)")],
            finds: &[SearchedThing::File("/dev/loop-control")],
        },
    ],
    programs: &["losetup"],
    ..LayerHelp::PLAIN
};
