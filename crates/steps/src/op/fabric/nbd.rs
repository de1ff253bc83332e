//! Exports a device by NBD with a qemu-nbd of one named export, and connects the kernel's client to
//! it. The export's name carries the run's id, and is in the command lines of both ends.

use crate::op::Spawn;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::export;
use iotax_drivers::nbd::{self, NbdAddress};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Address at which an export is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NbdServer {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl NbdServer {
    fn borrowed(&self) -> NbdAddress<'_> {
        match self {
            NbdServer::Tcp(at) => NbdAddress::Tcp(*at),
            NbdServer::Unix(socket) => NbdAddress::Unix(socket),
        }
    }
}

impl std::fmt::Display for NbdServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NbdServer::Tcp(at) => at.fmt(f),
            NbdServer::Unix(socket) => socket.display().fmt(f),
        }
    }
}

/// Process that serves an export. Before it is started, its backing and its address are checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportNbd {
    pub spawn: Spawn,
    pub backing: PathRef,
    pub name: String,
    pub server: NbdServer,
}

impl Operation for ExportNbd {
    fn describe(&self) -> String {
        self.spawn.describe()
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        self.spawn.commands_by_hand(out)
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.spawn.belows.iter_mut().chain([&mut self.backing]).collect()
    }

    fn own_resources<'a>(&'a self, made: &'a StepOutput) -> Vec<Own<'a>> {
        self.spawn.own_resources(made)
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        self.spawn.undo_summary(made)
    }

    fn undo_by_hand(&self, tag: &RunTag, made: &StepOutput) -> Option<String> {
        self.spawn.undo_by_hand(tag, made)
    }
}

impl ManagedResource for ExportNbd {
    fn outlives_reboot(&self) -> bool {
        self.spawn.outlives_reboot()
    }

    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        export::check_free(self.backing.resolved_path()?)?;
        if let NbdServer::Tcp(at) = self.server {
            export::check_address(at.ip(), Some(at.port()))?;
        }
        self.spawn.make_resource(system, tag)
    }

    fn find_resource(&self, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>> {
        self.spawn.find_resource(tag, others)
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        tag: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        self.spawn.remove_resource(system, tag, made)
    }

    fn io_threads(&self, made: &StepOutput) -> Result<Vec<ServingThread>> {
        self.spawn.io_threads(made)
    }
}

/// Block device of the kernel's client over connections to an NBD export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectNbd {
    pub name: String,
    pub server: NbdServer,
    pub connections: u32,
}

impl Operation for ConnectNbd {
    fn describe(&self) -> String {
        let Self { name, server, connections, .. } = self;
        format!("nbd-client: connect to {name} at {server} ({connections} x)")
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let words = nbd::nbd_client_args(
            &self.name,
            self.server.borrowed(),
            self.connections,
            Path::new("/dev/nbd0"),
        );
        vec![
            "modprobe nbd".to_owned(),
            "# /dev/nbd0, or another one that is free".to_owned(),
            format!("nbd-client {}", shell::quote_line(words)),
            format!("{out}=/dev/nbd0"),
        ]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("disconnected", &self.name))
    }

    fn undo_by_hand(&self, _: &RunTag, made: &StepOutput) -> Option<String> {
        made.path.as_ref().map(|device| format!("nbd-client -d {}", shell::path(device)))
    }
}

impl ManagedResource for ConnectNbd {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let device = nbd::connect(&self.name, self.server.borrowed(), self.connections)?;
        Ok(StepOutput::found_at(device))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let probe = Probe::of_files(Path::new("/"));
        let made =
            || StepOutput { path: nbd::device_of(&probe, &self.name), ..StepOutput::default() };
        Ok(nbd::is_connected(&self.name)?.then(made))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        nbd::disconnect(&self.name)
    }
}
