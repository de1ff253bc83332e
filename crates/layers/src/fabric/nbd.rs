//! `nbd`: a qemu-nbd with direct I/O, and the kernel's NBD device over it.

use super::{FabricEnds, FabricTransport, FabricWire, plan_exports};
use crate::{Claim, ExposedDevice, Layer, PlanContext, guest, required_number};
use anyhow::{Context, Result, ensure};
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_facts::place::Place;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::nbd::HELP;
use iotax_model::stack::LayerSpec;
use iotax_qemu::option_value::OptionValue;
use iotax_steps::op::{ConnectNbd, ExportNbd, NbdServer, Op, Spawn};
use std::path::Path;

pub struct Nbd;

/// Port of NBD (IANA).
const PORT: u16 = 10809;

impl Layer for Nbd {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "qemu-nbd"]
    }

    fn needs_far(&self, _: &LayerSpec) -> Vec<&'static str> {
        vec!["root", "nbd", "nbd-client"]
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::ConnectNbd(_)).then_some("client")
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            context.initiators.is_empty(),
            "{}: NBD cannot restrict access by initiator name; hint: iscsi or nvmf",
            spec.origin
        );
        let connections = required_number::<u32>(spec, "connections")?;
        ensure!(
            connections <= 16,
            "{}: connections = {connections}, at most 16 are made",
            spec.origin
        );
        let transport = if spec.option("transport") == Some("unix") {
            FabricTransport::Inside
        } else {
            FabricTransport::Tcp
        };
        let wire = FabricWire { transport, first_port: PORT };
        plan_exports(spec, below, wire, context, |ends, context| {
            plan_server(below, ends, connections, context)
        })
    }
}

/// Adds the steps of one server and of the clients that connect to it, and returns those of the
/// connections.
fn plan_server(
    below: &ExposedDevice,
    ends: &FabricEnds,
    connections: u32,
    context: &mut PlanContext,
) -> Result<Vec<StepId>> {
    let instance = context.instance("nbd");
    let name = format!("iotax-{}-{instance}", context.tag.run_id);
    let directory = context.directory_in(&ends.near);
    let server = match ends.at {
        Some(at) => NbdServer::Tcp(at.into()),
        None => NbdServer::Unix(directory.join(format!("{instance}.sock"))),
    };
    let from_all = connections * ends.clients.len() as u32;
    let image = served_image(&ends.device, below)?;
    let argv = argv(&name, &server, from_all, image, !context.writable)?;
    let socket = match &server {
        NbdServer::Unix(socket) => Some(socket.clone()),
        NbdServer::Tcp(_) => None,
    };
    let log = directory.join(format!("{instance}.log"));
    let spawn = Spawn {
        what: format!("qemu-nbd {instance}"),
        tag: export_word(&name),
        argv,
        belows: vec![ends.device.clone()],
        makes: socket.iter().cloned().chain([log.clone()]).collect(),
        log,
        ready: socket,
    };
    let backing = ends.device.clone();
    let export = ExportNbd { spawn, backing, name: name.clone(), server: server.clone() };
    context.add_in(&ends.near, "serve it over NBD", Op::ExportNbd(export));
    let connect = |client: &Place| {
        let connect = ConnectNbd { name: name.clone(), server: server.clone(), connections };
        context.add_in(client, "connect to it over NBD", Op::ConnectNbd(connect))
    };
    Ok(ends.clients.iter().map(connect).collect())
}

fn export_word(name: &str) -> String {
    format!("--export-name={name}")
}

/// Describes what is served to qemu-nbd: only the usable bytes of a device.
fn served_image(device: &PathRef, below: &ExposedDevice) -> Result<OptionValue> {
    let image = OptionValue::new("driver", "raw")
        .set("offset", "0")
        .set("size", below.bytes.to_string())
        .set("file.driver", if below.block { "host_device" } else { "file" });
    Ok(match device {
        // The path has its commas doubled. A path that a step yields has none, and is known later.
        PathRef::Path(path) => image.set("file.filename", word_of(path)?),
        _ => image.set("file.filename", guest::below_placeholder(0)),
    })
}

/// Returns the command line of a qemu-nbd that stays between connections.
fn argv(
    name: &str,
    server: &NbdServer,
    connections: u32,
    image: OptionValue,
    read_only: bool,
) -> Result<Vec<String>> {
    let mut argv: Vec<String> =
        ["qemu-nbd", "--persistent", "--cache=none", "--aio=native"].map(String::from).into();
    argv.push(format!("--shared={connections}"));
    argv.push(export_word(name));
    match server {
        NbdServer::Tcp(at) => {
            argv.extend([format!("--bind={}", at.ip()), format!("--port={}", at.port())])
        }
        NbdServer::Unix(socket) => argv.push(format!("--socket={}", word_of(socket)?)),
    }
    if read_only {
        argv.push("--read-only".into());
    }
    let image = image.into_word().into_string().ok().context("a path that is not UTF-8")?;
    argv.extend(["--image-opts".into(), image]);
    Ok(argv)
}

fn word_of(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is not UTF-8", path.display()))
}
