//! `nvmf`: NVMe over TCP, RDMA or within the machine, by the kernel's target (nvmet) or a running
//! SPDK target, and the kernel's host.

use super::{
    FabricEnds, FabricTransport, FabricWire, check_initiators, digest, export_name, plan_exports,
    qualified, rdma_needs, uuid,
};
use crate::{
    Claim, ExposedDevice, Layer, PlanContext, flag, needs, required_number, required_word,
};
use anyhow::{Result, ensure};
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::nvmf::ConnectNvmf;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::spdk;
use iotax_drivers::spdk::nvmf::{ExportSpdkNvmf, METHODS as SPDK_NVMF_METHODS};
use iotax_facts::place::Place;
use iotax_host::Missing;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::nvmf::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::Op;
use iotax_units as units;
use std::path::Path;

pub struct Nvmf;

/// Port of NVMe over TCP and RDMA (IANA).
const PORT: u16 = 4420;

impl Layer for Nvmf {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match wire(spec) {
            // An SPDK target reports its own abilities (`missing_on_host`).
            FabricTransport::Tcp | FabricTransport::Inside if is_spdks(spec) => Vec::new(),
            FabricTransport::Rdma if is_spdks(spec) => rdma_needs(spec).to_vec(),
            FabricTransport::Tcp => vec!["root", "nvmet", "nvmet_tcp"],
            FabricTransport::Rdma => [&["root", "nvmet", "nvmet_rdma"], rdma_needs(spec)].concat(),
            FabricTransport::Inside => vec!["root", "nvmet", "nvme_loop"],
        }
    }

    fn needs_far(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match wire(spec) {
            FabricTransport::Tcp => vec!["root", "nvme_tcp"],
            FabricTransport::Rdma => [&["root", "nvme_rdma"], rdma_needs(spec)].concat(),
            FabricTransport::Inside => vec!["root", "nvme_loop"],
        }
    }

    fn missing_on_host(&self, spec: &LayerSpec) -> Vec<Missing> {
        let socket = spec.option("spdk").filter(|_| is_spdks(spec));
        let what = socket.and_then(|socket| {
            spdk::check_target_methods(Path::new(socket), &SPDK_NVMF_METHODS).err()
        });
        what.and_then(|what| needs::need_as_missing("spdk", what)).into_iter().collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    // nvmet opens the device for reading and writing, even if the load only reads.
    fn opens_for_writing(&self, _: &LayerSpec) -> bool {
        true
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        match op {
            Op::ExportNvmf(_) => Some("target"),
            Op::ConnectNvmf(_) => Some("host"),
            _ => None,
        }
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            below.block,
            "{}: nvmf needs a block device below it; hint: put loop between",
            spec.origin
        );
        let (wire, options) =
            (FabricWire { transport: wire(spec), first_port: PORT }, options(spec)?);
        plan_exports(spec, below, wire, context, |ends, context| {
            plan_subsystem(spec, ends, &options, context)
        })
    }
}

/// Adds the steps of one subsystem and of the hosts that connect to it, and returns those of the
/// connections.
fn plan_subsystem(
    spec: &LayerSpec,
    ends: &FabricEnds,
    options: &[String],
    context: &mut PlanContext,
) -> Result<Vec<StepId>> {
    check_target(spec, &ends.device, wire(spec))?;
    check_initiators(spec, context, &["nqn."])?;
    let name = export_name("nvmf", context);
    let nqn = qualified("nqn", &name, context);
    let host_id = |number: usize| uuid(context, &format!("{name} {number}"));
    let host_ids: Vec<String> = (0..ends.clients.len()).map(host_id).collect();
    let ours = host_ids.iter().map(|id| format!("nqn.2014-08.org.nvmexpress:uuid:{id}"));
    let hosts: Vec<String> = match context.initiators.as_slice() {
        [] => ours.collect(),
        theirs => theirs.to_vec(),
    };
    let transport = required_word(spec, "transport")?.to_owned();
    let export = match is_spdks(spec) {
        true => Op::ExportSpdkNvmf(ExportSpdkNvmf {
            bdev: ends.device.clone(),
            nqn: nqn.clone(),
            serial: format!("iotax-{name}"),
            hosts: hosts.clone(),
            transport: transport.to_ascii_uppercase(),
            at: ends.addressed(spec)?,
            has_transport: None,
        }),
        false => Op::ExportNvmf(ExportNvmf {
            device: ends.device.clone(),
            nqn: nqn.clone(),
            host_nqns: hosts.clone(),
            hosts_before: Vec::new(),
            port_id: port_id(&nqn),
            transport: transport.clone(),
            at: ends.at,
            inline_data_size: inline_data_size(spec, wire(spec))?,
        }),
    };
    context.add_in(&ends.near, "serve it over NVMe", export);
    let connect = |(client, (host_nqn, host_id)): (&Place, (String, String))| {
        let connect = ConnectNvmf {
            nqn: nqn.clone(),
            transport: transport.clone(),
            at: ends.at,
            host_nqn,
            host_id,
            options: options.to_vec(),
        };
        context.add_in(client, "connect to it over NVMe", Op::ConnectNvmf(connect))
    };
    Ok(ends.clients.iter().zip(hosts.into_iter().zip(host_ids)).map(connect).collect())
}

fn is_spdks(spec: &LayerSpec) -> bool {
    spec.option("target") == Some("spdk")
}

/// Refuses what the target cannot serve, and options that the target does not take.
fn check_target(spec: &LayerSpec, device: &PathRef, wire: FabricTransport) -> Result<()> {
    let origin = &spec.origin;
    if !is_spdks(spec) {
        let written = spec.options.contains_key("spdk");
        ensure!(
            !written,
            "{origin}: spdk without effect, as nvmet serves it; hint: target=spdk, or leave it out"
        );
        return Ok(());
    }
    let is_bdev = matches!(device, PathRef::Bdev { .. });
    ensure!(
        is_bdev,
        "{origin}: target=spdk serves a bdev, and below is {device}; hint: put spdk(...) between"
    );
    ensure!(
        wire != FabricTransport::Inside,
        "{origin}: an SPDK target has no transport=loop; hint: transport=tcp"
    );
    let inline = spec.options.contains_key("inline-data-size");
    ensure!(
        !inline,
        "{origin}: inline-data-size is nvmet's, and an SPDK target has its own; hint: leave it out"
    );
    Ok(())
}

fn wire(spec: &LayerSpec) -> FabricTransport {
    match spec.option("transport") {
        Some("rdma") => FabricTransport::Rdma,
        Some("loop") => FabricTransport::Inside,
        _ => FabricTransport::Tcp,
    }
}

/// Returns the id of nvmet's port in configfs, derived from the NQN. It is above the low numbers
/// that people choose.
fn port_id(nqn: &str) -> u16 {
    10_000 + (digest(&[nqn]) % 50_000) as u16
}

/// Returns the initiator's options as the kernel takes them: `nr_io_queues=4`.
fn options(spec: &LayerSpec) -> Result<Vec<String>> {
    let mut options = Vec::new();
    if spec.option("nr-io-queues").is_some() {
        options.push(format!("nr_io_queues={}", required_number::<u32>(spec, "nr-io-queues")?));
    }
    if spec.options.contains_key("queue-size") {
        let size = required_number::<u32>(spec, "queue-size")?;
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
                wire(spec) == FabricTransport::Tcp,
                "{}: {name} is of transport=tcp only; hint: leave it out",
                spec.origin
            );
            options.push(word.to_owned());
        }
    }
    Ok(options)
}

fn inline_data_size(spec: &LayerSpec, wire: FabricTransport) -> Result<Option<u64>> {
    let Some(word) = spec.option("inline-data-size") else { return Ok(None) };
    ensure!(
        wire != FabricTransport::Inside,
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
