//! `nvmf`: NVMe over a fabric.

use super::OptionKind::{Count, Flag, Path, Size, Word};
use super::comparable::{Concept, How};
use super::fabric::{ADDRESS, PORT, digests, transport};
use super::{Capability, InFlight, LayerHelp, option};
use crate::stack::Face;
use iotax_facts::need::module;

pub const HELP: LayerHelp = LayerHelp {
    name: "nvmf",
    elsewhere: &[
        ("nvme-of", "nvmf(tcp)"),
        ("nvmeof", "nvmf(tcp)"),
        ("nvmet", "nvmf(tcp)"),
        ("nvme-tcp", "nvmf(tcp)"),
        ("nvme-rdma", "nvmf(rdma)"),
    ],
    values_elsewhere: &[("iser", "iscsi(iser)")],
    example: "/dev/nvme1n1 | nvmf(tcp)",
    options: &[
        option("transport", Word(&["tcp", "rdma", "loop"])).also(&["trtype"]).with_default("tcp"),
        ADDRESS,
        PORT,
        option("target", Word(&["kernel", "spdk"])).with_default("kernel"),
        option("spdk", Path),
        option("nr-io-queues", Count).also(&["queues", "nr_io_queues"]),
        option("queue-size", Count).also(&["queue_size"]).with_default("128"),
        option("inline-data-size", Size).also(&["inline_data_size"]),
        option("hdr-digest", Flag).also(&["hdr_digest"]).with_default("false"),
        option("data-digest", Flag).also(&["data_digest"]).with_default("false"),
    ],
    positional: Some("transport"),
    fabric: true,
    over: &[(Face::Bdev, "target", &["spdk"])],
    in_flight: Some(InFlight { option: "queue-size", queues: Some("nr-io-queues") }),
    comparable: &[
        (Concept::Transport, How::By(transport)),
        (Concept::Digests, How::By(digests)),
        (Concept::HostQueues, How::Option("nr-io-queues")),
    ],
    capabilities: &[
        Capability::needing("nvmf(tcp)", "layer nvmf(tcp)", "/dev/x | nvmf(tcp)"),
        Capability::needing("nvmf(rdma)", "layer nvmf(rdma)", "/dev/x | nvmf(rdma)"),
        Capability::needing("nvmf(loop)", "layer nvmf(loop)", "/dev/x | nvmf(loop)"),
    ],
    requires: &[
        module!("nvmet", "nvmet", "NVME_TARGET", "for the target of nvmf"),
        module!("nvmet_tcp", "nvmet-tcp", "NVME_TARGET_TCP", "for the target of nvmf(tcp)"),
        module!("nvmet_rdma", "nvmet-rdma", "NVME_TARGET_RDMA", "for the target of nvmf(rdma)"),
        module!("nvme_loop", "nvme-loop", "NVME_TARGET_LOOP", "for nvmf(loop)"),
        module!("nvme_tcp", "nvme-tcp", "NVME_TCP", "for the host of nvmf(tcp)"),
        module!("nvme_rdma", "nvme-rdma", "NVME_RDMA", "for the host of nvmf(rdma)"),
    ],
    ..LayerHelp::PLAIN
};
