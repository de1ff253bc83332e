//! `iscsi`: iSCSI or iSER.

use super::OptionKind::{Count, Flag, Word};
use super::comparable::{Concept, How};
use super::fabric::{ADDRESS, digests, port, transport};
use super::{Capability, Face, InFlight, LayerHelp, OptionDef, option};
use iotax_facts::need::{module, program};

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "iscsi",
    elsewhere: &[("iser", "iscsi(iser)"), ("lio", "iscsi(tcp)")],
    values_elsewhere: &[("rdma", "iscsi(iser)")],
    help: "iSCSI: the kernel's target (LIO) and open-iscsi",
    example: "/dev/nvme1n1 | iscsi(iser)",
    options: &[
        option("transport", Word(&["tcp", "iser"]), "what carries it; iser: RDMA").default("tcp"),
        ADDRESS,
        port("where the target listens; not written: 3260, or the next that no other stack has"),
        option(
            "queue-depth",
            Count,
            "commands of the disk at a time (node.session.queue_depth), 1 to 1024; not written: open-iscsi's 32",
        )
        .also(&["queue_depth"])
        .default("32"),
        attribute("emulate-3pc", &["emulate_3pc"], "LIO copies by itself (EXTENDED COPY)"),
        attribute("emulate-tpu", &["emulate_tpu"], "LIO takes UNMAP, where what is below can discard"),
        attribute(
            "emulate-tpws",
            &["emulate_tpws"],
            "LIO takes WRITE SAME with UNMAP, where what is below can discard",
        ),
        attribute("emulate-caw", &["emulate_caw"], "LIO compares and writes in one command"),
        attribute("is-nonrot", &["is_nonrot"], "LIO says that the disk does not rotate"),
        option("max-write-same-len", Count, "blocks of one WRITE SAME; not written: LIO's choice")
            .also(&["max_write_same_len"]),
    ],
    positional: Some("transport"),
    below: Face::Any,
    fabric: true,
    in_flight: Some(InFlight { option: "queue-depth", queues: None }),
    comparable: &[(Concept::Transport, How::By(transport)), (Concept::Digests, How::By(digests))],
    capabilities: &[
        Capability::of("iscsi(tcp)", "layer iscsi(tcp)", "/dev/x | iscsi(tcp)"),
        Capability::of("iscsi(iser)", "layer iscsi(iser)", "/dev/x | iscsi(iser)"),
    ],
    requires: &[
        module!("iscsi_target_mod", "iscsi_target_mod", "ISCSI_TARGET", "for the target of iscsi"),
        module!("ib_isert", "ib_isert", "INFINIBAND_ISERT", "for the target of iscsi(iser)"),
        module!("iscsi_tcp", "iscsi_tcp", "ISCSI_TCP", "for the initiator of iscsi(tcp)"),
        module!("ib_iser", "ib_iser", "INFINIBAND_ISER", "for the initiator of iscsi(iser)"),
        program!(
            "open-iscsi",
            ["iscsid"],
            "for the initiator of iscsi",
            "open-iscsi",
            "iscsi-initiator-utils",
            "open-iscsi"
        ),
    ],
    programs: &["iscsiadm"],
    ..LayerHelp::PLAIN
};

/// An attribute of LIO's; not written: its choice.
const fn attribute(name: &'static str, aliases: &'static [&'static str], help: &'static str) -> OptionDef {
    option(name, Flag, help).also(aliases)
}
