//! Paths that a plan knows, or that an earlier step yields.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Path known when the plan is made, output of an earlier step (a loop device's number is not known
/// beforehand), or a disk that a guest finds by its serial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathRef {
    Path(PathBuf),
    Yield(StepId),
    /// The disk with this serial, asked of the place where the load runs.
    Serial(String),
    /// The disk at this PCI address (`0000:00:10.0`) of the place where the load runs.
    Pci(String),
    /// A bdev of a running SPDK target, which is no file or device of any kernel.
    Bdev {
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

impl PathRef {
    /// Returns the path itself, once resolved.
    ///
    /// # Errors
    /// When an earlier step has not yielded it yet, only a guest can know it, or it has none.
    pub fn resolved_path(&self) -> anyhow::Result<&Path> {
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RbdImage {
    pub conf: PathBuf,
    pub pool: String,
    pub image: String,
}

pub type StepId = u32;
