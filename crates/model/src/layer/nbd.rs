//! `nbd`: a qemu-nbd and the kernel's client.

use super::OptionKind::{Count, Word};
use super::comparable::{Concept, How};
use super::fabric::{ADDRESS, digests, port, transport};
use super::{Capability, Face, LayerHelp, option};
use iotax_facts::need::{module, program};

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "nbd",
    help: "NBD: a qemu-nbd and the kernel's client",
    example: "file:/srv/x.img,size=4GiB | nbd(unix)",
    options: &[
        option("transport", Word(&["tcp", "unix"]), "what carries it; unix: a socket within one machine")
            .default("tcp"),
        ADDRESS,
        port("where the server listens; not written: 10809, or the next that no other stack has"),
        option("connections", Count, "connections of the client, at most 16").default("1"),
    ],
    positional: Some("transport"),
    below: Face::Any,
    fabric: true,
    comparable: &[(Concept::Transport, How::By(transport)), (Concept::Digests, How::By(digests))],
    capabilities: &[Capability::of("nbd", "layer nbd", "/dev/x | nbd")],
    requires: &[
        module!("nbd", "nbd", "BLK_DEV_NBD", "for the client of nbd"),
        program!("nbd-client", "for the client of nbd", "nbd-client", "nbd", "nbd-client"),
        program!("qemu-nbd", "for the server of nbd", "qemu-utils", "qemu-img", "qemu-utils"),
    ],
    programs: &["nbd-client"],
    ..LayerHelp::PLAIN
};
