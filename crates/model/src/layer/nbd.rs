//! `nbd`: an export by qemu-nbd, attached by the kernel's NBD client.

use super::OptionKind::{Count, Word};
use super::comparable::{Concept, How};
use super::fabric::{ADDRESS, PORT, digests, transport};
use super::{Capability, LayerHelp, option};
use crate::stack::Face;
use iotax_facts::need::{module, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "nbd",
    example: "file:/srv/x.img,size=4GiB | nbd(unix)",
    options: &[
        option("transport", Word(&["tcp", "unix"])).with_default("tcp"),
        ADDRESS,
        PORT,
        option("connections", Count).with_default("1"),
    ],
    positional: Some("transport"),
    below: Face::Any,
    fabric: true,
    comparable: &[(Concept::Transport, How::By(transport)), (Concept::Digests, How::By(digests))],
    capabilities: &[Capability::needing("nbd", "layer nbd", "/dev/x | nbd")],
    requires: &[
        module!("nbd", "nbd", "BLK_DEV_NBD", "for the client of nbd"),
        program!("nbd-client", "for the client of nbd", "nbd-client", "nbd", "nbd-client"),
        program!("qemu-nbd", "for the server of nbd", "qemu-utils", "qemu-img", "qemu-utils"),
    ],
    programs: &["nbd-client"],
    ..LayerHelp::PLAIN
};
