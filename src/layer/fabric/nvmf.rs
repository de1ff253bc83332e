//! `nvmf`: NVMe over TCP, RDMA or within the machine, by the kernel's target (nvmet) and its host.

use super::{ADDRESS, Ends, Wire, digest, only, port, qualified, rdma_needs, uuid};
use crate::layer::catalog::{LayerHelp, OptionDef, OptionKind};
use crate::layer::{Claim, Exposed, Layer, PlanContext, flag, number, word};
use crate::scenario::LayerSpec;
use crate::step::op::{ConnectNvmf, ExportNvmf, Op};
use crate::units;
use anyhow::{Result, ensure};

/// Its words.
pub const HELP: LayerHelp = LayerHelp {
    name: "nvmf",
    help: "NVMe over a fabric: the kernel's target and host",
    example: "/dev/nvme1n1 | nvmf(tcp)",
    options: OPTIONS,
    positional: Some("transport"),
    fabric: true,
    ..LayerHelp::PLAIN
};

const OPTIONS: &[OptionDef] = &[
    OptionDef {
        name: "transport",
        aliases: &["trtype"],
        kind: OptionKind::Word(&["tcp", "rdma", "loop"]),
        default: Some("tcp"),
        help: "what carries it; loop: nothing, within one machine",
    },
    ADDRESS,
    port("where the target listens; not written: 4420, or the next that no other stack has"),
    OptionDef {
        name: "target",
        aliases: &[],
        kind: OptionKind::Word(&["kernel"]),
        default: Some("kernel"),
        help: "who serves it: nvmet",
    },
    OptionDef {
        name: "nr-io-queues",
        aliases: &["queues", "nr_io_queues"],
        kind: OptionKind::Count,
        default: None,
        help: "queues of the host; not written: one for each of its processors",
    },
    OptionDef {
        name: "queue-size",
        aliases: &["queue_size"],
        kind: OptionKind::Count,
        default: None,
        help: "commands that fit a queue, 16 to 1024; not written: the kernel's 128",
    },
    OptionDef {
        name: "inline-data-size",
        aliases: &["inline_data_size"],
        kind: OptionKind::Size,
        default: None,
        help: "data of a write that comes with its command; not written: the kernel's choice",
    },
    OptionDef {
        name: "hdr-digest",
        aliases: &["hdr_digest"],
        kind: OptionKind::Flag,
        default: Some("false"),
        help: "a CRC of every header (tcp)",
    },
    OptionDef {
        name: "data-digest",
        aliases: &["data_digest"],
        kind: OptionKind::Flag,
        default: Some("false"),
        help: "a CRC of all data (tcp)",
    },
];

/// The layer.
pub struct Nvmf;

/// Where NVMe over TCP and RDMA listens (IANA).
const PORT: u16 = 4420;

impl Layer for Nvmf {
    fn name(&self) -> &'static str {
        "nvmf"
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match wire(spec) {
            Wire::Tcp => vec!["root", "nvmet", "nvmet_tcp"],
            Wire::Rdma => [&["root", "nvmet", "nvmet_rdma"], rdma_needs(spec)].concat(),
            Wire::Inside => vec!["root", "nvmet", "nvme_loop"],
        }
    }

    fn needs_far(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match wire(spec) {
            Wire::Tcp => vec!["root", "nvme_tcp"],
            Wire::Rdma => [&["root", "nvme_rdma"], rdma_needs(spec)].concat(),
            Wire::Inside => vec!["root", "nvme_loop"],
        }
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    /// nvmet opens what it serves for reading and writing, whatever will come.
    fn opens_for_writing(&self, _: &LayerSpec) -> bool {
        true
    }

    fn plan(&self, spec: &LayerSpec, below: &Exposed, context: &mut PlanContext) -> Result<Exposed> {
        let device = only(spec, below)?.clone();
        ensure!(below.block, "{}: nvmf needs a block device below it; hint: put loop between", spec.origin);
        let (wire, options) = (wire(spec), options(spec)?);
        let inline_data_size = inline_data_size(spec, wire)?;
        let ends = Ends::plan(spec, below, wire, PORT, context)?;
        let name = context.instance("nvmf");
        let (nqn, host_id) = (qualified("nqn", &name, context), uuid(context, &name));
        let host_nqn = format!("nqn.2014-08.org.nvmexpress:uuid:{host_id}");
        let transport = word(spec, "transport")?.to_owned();
        let export = ExportNvmf {
            device,
            nqn: nqn.clone(),
            host_nqn: host_nqn.clone(),
            port_id: port_id(&nqn),
            transport: transport.clone(),
            at: ends.at,
            inline_data_size,
        };
        context.add_in(&ends.near, "serve it over NVMe", Op::ExportNvmf(export));
        let connect = ConnectNvmf { nqn, transport, at: ends.at, host_nqn, host_id, options };
        let step = context.add_in(&ends.far, "connect to it over NVMe", Op::ConnectNvmf(connect));
        Ok(ends.exposed(step, below, context))
    }
}

fn wire(spec: &LayerSpec) -> Wire {
    match spec.option("transport") {
        Some("rdma") => Wire::Rdma,
        Some("loop") => Wire::Inside,
        _ => Wire::Tcp,
    }
}

/// A number for the port in configfs, above those that people count with.
fn port_id(nqn: &str) -> u16 {
    10_000 + (digest(&[nqn]) % 50_000) as u16
}

/// Options of the host in the kernel's words.
fn options(spec: &LayerSpec) -> Result<Vec<String>> {
    let mut options = Vec::new();
    if spec.option("nr-io-queues").is_some() {
        options.push(format!("nr_io_queues={}", number::<u32>(spec, "nr-io-queues")?));
    }
    if spec.option("queue-size").is_some() {
        let size = number::<u32>(spec, "queue-size")?;
        ensure!(
            (16..=1024).contains(&size),
            "{}: queue-size = {size}, and the kernel takes 16 to 1024",
            spec.origin
        );
        options.push(format!("queue_size={size}"));
    }
    for (name, word) in [("hdr-digest", "hdr_digest"), ("data-digest", "data_digest")] {
        if flag(spec, name) {
            ensure!(
                wire(spec) == Wire::Tcp,
                "{}: {name} is of transport=tcp only; hint: leave it out",
                spec.origin
            );
            options.push(word.to_owned());
        }
    }
    Ok(options)
}

fn inline_data_size(spec: &LayerSpec, wire: Wire) -> Result<Option<u64>> {
    let Some(word) = spec.option("inline-data-size") else { return Ok(None) };
    ensure!(
        wire != Wire::Inside,
        "{}: inline-data-size is of what leaves the machine; hint: leave it out, or transport=tcp",
        spec.origin
    );
    let bytes = units::parse_bytes(word).ok();
    ensure!(
        bytes.is_some_and(|bytes| bytes <= 1 << 30),
        "{}: inline-data-size = {word} is too much",
        spec.origin
    );
    Ok(bytes)
}
