//! `iscsi`: iSCSI or iSER, by the kernel's target (LIO) and open-iscsi.

use super::{
    FabricEnds, FabricTransport, FabricWire, check_initiators, export_name, plan_exports,
    qualified, rdma_needs,
};
use crate::{Claim, ExposedDevice, Layer, PlanContext, required_number};
use anyhow::{Result, ensure};
use iotax_drivers::iscsi::ConnectIscsi;
use iotax_drivers::path_ref::StepId;
use iotax_facts::place::Place;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::iscsi::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{ExportIscsi, Op, StartIscsid};
use std::net::SocketAddr;

/// Options that LIO gets as attributes, in this order. LIO's names have `_` for `-`.
const ATTRIBUTES: &[&str] = &[
    "emulate-3pc",
    "emulate-tpu",
    "emulate-tpws",
    "emulate-caw",
    "is-nonrot",
    "max-write-same-len",
];

pub struct Iscsi;

/// Port of iSCSI (IANA).
const PORT: u16 = 3260;

impl Layer for Iscsi {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match iser(spec) {
            true => [&["root", "iscsi_target_mod", "ib_isert"], rdma_needs(spec)].concat(),
            false => vec!["root", "iscsi_target_mod"],
        }
    }

    fn needs_far(&self, spec: &LayerSpec) -> Vec<&'static str> {
        match iser(spec) {
            true => [&["root", "open-iscsi", "ib_iser"], rdma_needs(spec)].concat(),
            false => vec!["root", "open-iscsi", "iscsi_tcp"],
        }
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        match op {
            Op::ExportIscsi(_) => Some("target"),
            Op::ConnectIscsi(_) => Some("initiator"),
            _ => None,
        }
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let settings = session_settings(spec)?;
        let transport = if iser(spec) { FabricTransport::Rdma } else { FabricTransport::Tcp };
        let wire = FabricWire { transport, first_port: PORT };
        plan_exports(spec, below, wire, context, |ends, context| {
            plan_target(spec, below, ends, &settings, context)
        })
    }
}

/// Adds the steps of one target and of the initiators that log in to it, and returns those of the
/// logins.
fn plan_target(
    spec: &LayerSpec,
    below: &ExposedDevice,
    ends: &FabricEnds,
    settings: &[(String, String)],
    context: &mut PlanContext,
) -> Result<Vec<StepId>> {
    let portal = SocketAddr::from(ends.addressed(spec)?);
    check_initiators(spec, context, &["iqn.", "eui.", "naa."])?;
    let instance = export_name("iscsi", context);
    let name = format!("iotax-{}-{instance}", context.tag.run_id);
    let iqn = qualified("iqn", &instance, context);
    let named = |number: usize| qualified("iqn", &format!("{instance}-initiator{number}"), context);
    let initiators: Vec<String> = match context.initiators.as_slice() {
        [] => (0..ends.clients.len()).map(named).collect(),
        theirs => theirs.to_vec(),
    };
    let export = ExportIscsi {
        backing: ends.device.clone(),
        block: below.block,
        bytes: below.bytes,
        read_only: !context.writable,
        name: name.clone(),
        serial: name.clone(),
        attributes: attributes(spec),
        iqn: iqn.clone(),
        initiators: initiators.clone(),
        portal,
        iser: iser(spec),
    };
    context.add_in(&ends.near, "serve it over iSCSI", Op::ExportIscsi(export));
    let log_in = |(client, initiator): (&Place, String)| {
        start_iscsid(iser(spec), client, context);
        let connect = ConnectIscsi {
            iqn: iqn.clone(),
            portal,
            iface: name.clone(),
            initiator,
            iser: iser(spec),
            settings: settings.to_vec(),
        };
        context.add_in(client, "log in to it over iSCSI", Op::ConnectIscsi(connect))
    };
    Ok(ends.clients.iter().zip(initiators).map(log_in).collect())
}

fn iser(spec: &LayerSpec) -> bool {
    spec.option("transport") == Some("iser")
}

/// Adds the step that starts iscsid, unless the plan has it: one daemon in a place serves all
/// sessions there.
fn start_iscsid(iser: bool, place: &Place, context: &mut PlanContext) {
    let directory = context.directory_in(place);
    let start = Op::StartIscsid(StartIscsid { directory, iser });
    if !context.steps.iter().any(|step| step.place == *place && step.op == start) {
        context.add_in(place, "have an iscsid there", start);
    }
}

fn session_settings(spec: &LayerSpec) -> Result<Vec<(String, String)>> {
    if !spec.options.contains_key("queue-depth") {
        return Ok(Vec::new());
    }
    let depth = required_number::<u32>(spec, "queue-depth")?;
    ensure!(
        (1..=1024).contains(&depth),
        "{}: queue-depth = {depth}, and open-iscsi takes 1 to 1024",
        spec.origin
    );
    // The commands of a session are those of its one disk; open-iscsi takes powers of two from 2
    // on.
    let commands = depth.next_power_of_two().max(128);
    let setting = |name: &str, value: u32| (name.to_owned(), value.to_string());
    Ok(vec![setting("node.session.queue_depth", depth), setting("node.session.cmds_max", commands)])
}

fn attributes(spec: &LayerSpec) -> Vec<(String, String)> {
    let attribute = |name: &&str| {
        let value = match spec.option(name)? {
            "true" => "1",
            "false" => "0",
            other => other,
        };
        Some((name.replace('-', "_"), value.to_owned()))
    };
    ATTRIBUTES.iter().filter_map(attribute).collect()
}
