//! Steps as data: what changes a machine is written down before it is done, and undone from what
//! was written down. Layers make steps; only the executor here performs them, by the
//! [`place_executor::PlaceExecutor`] of their place. Nothing here decides what to build.
//!
//! Modules: `op/` the operations, one file and one entry each, every one a
//! [`resource::ManagedResource`] or a [`resource::ResourceChange`]; [`journal`], [`executor`],
//! [`clean`] what is written down, done and undone; [`system`] this machine, `simulated` its twin
//! for tests. [`tool`], [`json_socket`], [`process`], `leftover` how programs are run, asked and
//! waited for; [`md`], [`lvm`], [`zfs`], [`dm`], [`loops`], [`partition`], [`ceph`], [`spdk`],
//! [`nvmet`], [`nvmf`], [`iscsi`], [`lio`], [`nbd`], [`softrdma`], [`vfio`] what the tools of one
//! system make; [`vhost_user`] what a socket serves; [`settings`] and [`queue`] how what was made
//! really is. [`guest`] QEMU, its kernel, boot and disks. [`wire`] the protocol, [`agent_handler`]
//! and [`remote_executor`] its two ends, [`agent`] the program that is copied. [`engine`] what
//! loads a target, [`durability`] the writer and verifier of trials, [`agentless`] hosts without an
//! agent, [`stops`] when this process was stopped.
#![forbid(unsafe_code)]

pub mod agent;
pub mod agent_handler;
pub mod agentless;
pub mod ceph;
pub mod clean;
pub mod dm;
pub mod durability;
pub mod engine;
pub mod executor;
pub mod export;
pub mod guest;
pub mod hypervisor;
mod image;
pub mod iscsi;
pub mod journal;
pub mod json_socket;
mod leftover;
mod leftover_superblocks;
pub mod lio;
pub mod loops;
pub mod lvm;
pub mod md;
pub mod nbd;
pub mod nvmet;
pub mod nvmf;
pub mod op;
pub mod partition;
pub mod place_executor;
pub mod process;
pub mod queue;
pub mod remote_executor;
pub mod resource;
pub mod settings;
#[cfg(test)]
mod simulated;
pub mod softrdma;
pub mod spdk;
pub mod stops;
pub mod system;
pub mod threads;
pub mod tool;
pub mod vfio;
pub mod vhost_user;
pub mod wire;
pub mod zfs;

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Number of a step in its plan.
pub type StepId = u32;

pub use iotax_facts::array as state;
pub use iotax_facts::place::Place;

/// A path known when the plan is made, or one that an earlier step yields (a loop device's
/// number is not known beforehand), or a disk that a guest knows by its serial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRef {
    Path(PathBuf),
    /// Yielded by that step.
    Yield(StepId),
    /// The disk with this serial, asked of the place where the load runs.
    Serial(String),
    /// The disk at this PCI address (`0000:00:10.0`) of the place where the load runs.
    Pci(String),
    /// A bdev of a running SPDK target, which is no file or device of any kernel.
    Bdev {
        /// The target's JSON-RPC socket.
        rpc: PathBuf,
        /// Name of the bdev there, or an alias of it.
        name: String,
    },
    /// A pool of a Ceph cluster: each layer on it makes an image of its own there.
    RbdPool {
        conf: PathBuf,
        pool: String,
    },
    /// An image in such a pool, which is no file or device of any kernel.
    Rbd(Box<RbdImage>),
    /// No device: a place alone, for probes.
    Nothing,
}

/// An image of Ceph's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RbdImage {
    pub conf: PathBuf,
    pub pool: String,
    pub image: String,
}

impl PathRef {
    /// Returns the path itself, once resolved.
    ///
    /// # Errors
    /// When an earlier step has not yielded it yet, only a guest can know it, or it has none.
    pub fn path(&self) -> anyhow::Result<&Path> {
        match self {
            PathRef::Path(path) => Ok(path),
            PathRef::Yield(step) => {
                anyhow::bail!("the path that step {step} yields is not known yet")
            }
            PathRef::Pci(address) => {
                anyhow::bail!("the disk at PCI address {address} is only known in its guest")
            }
            PathRef::Serial(serial) => {
                anyhow::bail!("the disk with serial {serial} is only known in its guest")
            }
            PathRef::Bdev { name, .. } => {
                anyhow::bail!("the SPDK bdev {name} is not a block device, so it has no path")
            }
            PathRef::RbdPool { .. } | PathRef::Rbd(_) | PathRef::Nothing => {
                anyhow::bail!("{self} is not a block device, so it has no path")
            }
        }
    }

    /// Returns the target's socket and the name of a bdev.
    ///
    /// # Errors
    /// When it is not a bdev.
    pub fn bdev(&self) -> anyhow::Result<(&PathBuf, &str)> {
        match self {
            PathRef::Bdev { rpc, name } => Ok((rpc, name)),
            other => anyhow::bail!("{other} is not an SPDK bdev"),
        }
    }
}

impl std::fmt::Display for PathRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PathRef::Path(path) => write!(f, "{}", path.display()),
            // Counted from one, as in the lists of a plan.
            PathRef::Yield(step) => write!(f, "<device of step {}>", step + 1),
            PathRef::Serial(serial) => write!(f, "<disk {serial}>"),
            PathRef::Pci(address) => write!(f, "<disk at PCI {address}>"),
            PathRef::Bdev { name, .. } => write!(f, "bdev {name}"),
            PathRef::RbdPool { pool, .. } => write!(f, "rbd:{pool}"),
            PathRef::Rbd(rbd) => write!(f, "rbd:{}/{}", rbd.pool, rbd.image),
            PathRef::Nothing => f.write_str("cpu"),
        }
    }
}

/// Change of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Position in the plan.
    pub id: StepId,
    /// Place where it is executed.
    pub place: Place,
    /// Purpose of the step, one clause for `plan`.
    pub why: String,
    pub op: op::Op,
}

/// Output of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutput {
    /// A device or a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Inode of a file that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Bytes of a file that was made: with the inode, its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// True if it was there before and is ours from an earlier run: not undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reused: bool,
    /// A process that was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessId>,
    /// Settings of the queue of a disk that was taken away.
    #[serde(default, skip_serializing_if = "queue::QueueSettings::is_empty")]
    pub queue: queue::QueueSettings,
}

impl StepOutput {
    /// Makes the output for what is found at a path.
    pub fn found_at(path: impl Into<PathBuf>) -> StepOutput {
        StepOutput { path: Some(path.into()), ..StepOutput::default() }
    }

    /// Shows the path or the process to a reader.
    pub fn shown(&self) -> String {
        match (&self.path, &self.process) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(process)) => format!("process {}", process.pid),
            (None, None) => "something".into(),
        }
    }
}

/// A process, so that a number used again is never mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    pub pid: u32,
    /// Field 22 of /proc/PID/stat, clock ticks since boot.
    pub start_time: u64,
}

/// Returns the end of a run's id, which is enough to distinguish runs: at most 11 letters, for
/// names that may not be long.
pub fn short_id(run_id: &str) -> &str {
    let from = run_id.char_indices().rev().nth(10).map_or(0, |(at, _)| at);
    run_id[from..].trim_start_matches('-')
}

/// Identity of a run whose steps are performed.
#[derive(Clone, Debug)]
pub struct RunTag {
    /// The run's id; every name that a step makes carries it.
    pub run_id: String,
    pub run_dir: PathBuf,
}

impl RunTag {
    /// Returns the run's folder in a place.
    pub fn directory_in(&self, place: &Place) -> PathBuf {
        match place {
            Place::Host => self.run_dir.clone(),
            _ => Path::new("/run").join(format!("iotax-{}", self.run_id)),
        }
    }

    /// Returns true if a name carries the run's id, or the end of it that short names have. Names
    /// of iSCSI and NVMe are in small letters.
    pub fn is_in(&self, name: &str) -> bool {
        name.to_ascii_lowercase().contains(&short_id(&self.run_id).to_ascii_lowercase())
    }

    pub fn in_place(&self, place: &Place) -> RunTag {
        RunTag { run_id: self.run_id.clone(), run_dir: self.directory_in(place) }
    }

    /// Makes the tag of a run that is only looked at: what its steps name does not exist, but is as
    /// fully named as that of a real one.
    pub fn of_none() -> RunTag {
        RunTag { run_id: "RUN".into(), run_dir: "/RUN-DIRECTORY".into() }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod volume_tests;
