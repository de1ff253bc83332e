//! `iscsi`: iSCSI or iSER.

use super::OptionKind::{Count, Flag, Word};
use super::comparable::{Concept, How};
use super::fabric::{ADDRESS, PORT, digests, transport};
use super::{Capability, InFlight, LayerHelp, OptionDef, option};
use crate::stack::Face;
use iotax_facts::need::{module, program};

pub const HELP: LayerHelp = LayerHelp {
    name: "iscsi",
    elsewhere: &[("iser", "iscsi(iser)"), ("lio", "iscsi(tcp)")],
    values_elsewhere: &[("rdma", "iscsi(iser)")],
    example: "/dev/nvme1n1 | iscsi(iser)",
    options: &[
        option("transport", Word(&["tcp", "iser"])).with_default("tcp"),
        ADDRESS,
        PORT,
        option("queue-depth", Count).also(&["queue_depth"]).with_default("32"),
        attribute("emulate-3pc", &["emulate_3pc"]),
        attribute("emulate-tpu", &["emulate_tpu"]),
        attribute("emulate-tpws", &["emulate_tpws"]),
        attribute("emulate-caw", &["emulate_caw"]),
        attribute("is-nonrot", &["is_nonrot"]),
        option("max-write-same-len", Count).also(&["max_write_same_len"]),
    ],
    positional: Some("transport"),
    below: Face::Any,
    fabric: true,
    in_flight: Some(InFlight { option: "queue-depth", queues: None }),
    comparable: &[(Concept::Transport, How::By(transport)), (Concept::Digests, How::By(digests))],
    capabilities: &[
        Capability::needing("iscsi(tcp)", "layer iscsi(tcp)", "/dev/x | iscsi(tcp)"),
        Capability::needing("iscsi(iser)", "layer iscsi(iser)", "/dev/x | iscsi(iser)"),
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

/// Returns the option that sets an attribute of LIO. LIO chooses the value if the option is not
/// written.
const fn attribute(name: &'static str, aliases: &'static [&'static str]) -> OptionDef {
    option(name, Flag).also(aliases)
}
